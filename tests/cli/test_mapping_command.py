"""Logs that no reader knows: by a mapping, by a reader of one's own, as the README shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from program import run

README = Path(__file__).resolve().parents[2] / "README.md"
LOG = "".join(f'{{"step": {n}, "fn": "search", "in": "tide", "out": "none"}}\n' for n in range(6))
MAP = '[call]\ntool = "fn"\narguments = "in"\nresult = "out"\n'
READER = """
from loopaudit.formats.base import Format, Reader
from loopaudit.model import CallPiece, ResponsePiece, ResultPiece

class Steps(Reader):
    def feed(self, line, record):
        self.used += 1
        yield ResponsePiece("r", line, calls=(CallPiece(None, record["fn"], record["in"]),))
        yield ResultPiece("r", line, None, record["out"])

def sniff(sample):
    return 0.9 if all("fn" in record for record in sample.records) else 0.0

FORMAT = Format("steps", "our steps", sniff, Steps, "Steps of our own agent.")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "steps.jsonl").write_text(LOG)
    (tmp_path / "steps.toml").write_text(MAP)
    return tmp_path


def test_an_unknown_log_says_so_and_a_mapping_reads_it(folder: Path) -> None:
    ended = run("report", "steps.jsonl", cwd=folder)
    assert ended.code == 2
    assert "no reader knows this log" in ended.err
    assert "--map" in ended.err
    ended = run("report", "steps.jsonl", "--map", "steps.toml", cwd=folder)
    assert ended.code == 0
    assert "6 responses, 6 calls" in ended.out
    assert "Read as map:steps.toml" in ended.out
    assert "LOOP 1  same-call-same-result" in ended.out


@pytest.mark.parametrize("command", ["show", "cost"])
def test_other_commands_take_a_mapping_too(folder: Path, command: str) -> None:
    where = ("steps.jsonl",) if command == "cost" else ("steps", "steps.jsonl")
    assert run(command, *where, "--map", "steps.toml", cwd=folder).code == 0


def test_a_wrong_mapping_is_one_line_with_its_place(folder: Path) -> None:
    (folder / "steps.toml").write_text('[call]\ntool = "fn"\nresults = "out"\n')
    ended = run("report", "steps.jsonl", "--map", "steps.toml", cwd=folder)
    assert ended.code == 2
    assert ended.err.startswith("loopaudit: steps.toml:3: [call] has no key 'results'")
    ended = run("report", "steps.jsonl", "--map", "none.toml", cwd=folder)
    assert ended.code == 2
    assert "none.toml" in ended.err
    ended = run("report", "x", "--map", "steps.toml", "--log-format", "codex", cwd=folder)
    assert ended.code == 2


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_mapping_and_a_reader_named_in_settings_are_chosen_by_content(
    folder: Path, processes: str
) -> None:
    """Several files, so that workers must know them, too."""
    (folder / "rules").mkdir()
    (folder / "rules/steps.toml").write_text('detect = ["fn"]\n' + MAP)
    (folder / "rules/own.py").write_text(READER.replace('"fn"', '"gn"'))
    (folder / "loopaudit.toml").write_text(
        '[plugins.formats]\nsteps = "map:rules/steps.toml"\nown = "rules/own.py:FORMAT"\n'
    )
    for number in range(4):
        (folder / f"other{number}.jsonl").write_text(LOG.replace('"fn"', '"gn"'))
    ended = run("report", ".", "--processes", processes, cwd=folder)
    assert ended.code == 0
    assert "5 sessions, 30 responses, 30 calls" in ended.out
    assert "steps 4 files, map:steps.toml 1 file" in ended.out


def test_a_reader_of_ones_own_that_is_broken_names_its_owner(folder: Path) -> None:
    settings = folder / "loopaudit.toml"
    (folder / "own.py").write_text("1 / 0\n")
    settings.write_text('[plugins.formats]\nown = "own.py:FORMAT"\n')
    ended = run("report", "steps.jsonl", cwd=folder)
    assert ended.code == 4
    assert "log format own" in ended.err
    assert "ZeroDivisionError" in ended.err
    settings.write_text('[plugins.formats]\ncodex = "own.py:FORMAT"\n')
    ended = run("report", "steps.jsonl", cwd=folder)
    assert ended.code == 2
    assert "loopaudit.toml:2" in ended.err
    settings.write_text('[plugins.formats]\nown = "own"\n')
    assert run("report", "steps.jsonl", cwd=folder).code == 2


def test_explain_has_a_page_with_an_example_that_is_whole(tmp_path: Path) -> None:
    ended = run("explain", "map")
    assert ended.code == 0
    assert "[call]" in ended.out
    example = ended.out.split("\n\n", 1)[1]
    (tmp_path / "page.toml").write_text(example)
    (tmp_path / "x.jsonl").write_text('{"event": "question", "conversation": "c1", "text": "?"}\n')
    done = run("report", "x.jsonl", "--map", "page.toml", cwd=tmp_path)
    assert done.code in (0, 3)


def test_the_example_of_the_readme_runs(tmp_path: Path) -> None:
    text = README.read_text(encoding="utf-8")
    section = text.split("### Any other log", 1)[1].split("\n## ", 1)[0]
    log, mapping = re.findall(r"```(?:json|toml)\n(.*?)```", section, re.DOTALL)[:2]
    command = re.search(r"\$ loopaudit (report .+)", section)
    assert command is not None
    (tmp_path / "steps.jsonl").write_text(log)
    (tmp_path / "steps.toml").write_text(mapping)
    ended = run(*command[1].split(), cwd=tmp_path)
    assert ended.code == 0
    assert "2 responses, 2 calls (1 failed)" in ended.out
    assert "1,250 tokens: 1,200 fresh, 50 output" in ended.out
