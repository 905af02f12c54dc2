"""Formats of others: a package with an entry point, found in its own environment; and settings."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from program import environment, run

READER = '''\
"""Reads lines of three words: the tool, its argument, its answer."""

from loopaudit.formats.base import Format, Reader, Sample
from loopaudit.model import CallPiece, ResponsePiece, ResultPiece


class Triples(Reader):
    def feed(self, line, record):
        self.used += 1
        call = CallPiece(f"c{line}", record["do"], {"on": record["on"]})
        yield ResponsePiece("all", line, id=f"r{line}", calls=(call,))
        yield ResultPiece("all", line, f"c{line}", record["got"])


def sniff(sample: Sample) -> float:
    known = [r for r in sample.records if isinstance(r, dict) and set(r) == {"do", "on", "got"}]
    return 0.95 if known and len(known) == len(sample.records) else 0.0


FORMAT = Format("triples", "lines of do, on, got", sniff, Triples, describes="Made for a test.")
'''
LOG = '{"do": "probe", "on": "pump", "got": "no answer"}\n' * 4


def installed(folder: Path, *, points: str = "triples = triples_reader:FORMAT") -> dict[str, str]:
    """The package as an installer leaves it, in a folder of its own on the path."""
    site = folder / "site"
    about = site / "triples_reader-1.0.dist-info"
    about.mkdir(parents=True)
    (site / "triples_reader.py").write_text(READER, encoding="utf-8")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: triples-reader\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[loopaudit.formats]\n{points}\n")
    (about / "RECORD").write_text("triples_reader.py,,\n")
    (folder / "log.jsonl").write_text(LOG, encoding="utf-8")
    return {"PYTHONPATH": os.pathsep.join((str(site), environment()["PYTHONPATH"]))}


def test_a_package_is_found_by_its_entry_point(tmp_path: Path) -> None:
    env = installed(tmp_path)
    made = run("report", "log.jsonl", cwd=tmp_path, env=env)
    assert made.code == 0, made.err
    assert "Read as triples (95 %)" in made.out
    assert "4 responses, 4 calls" in made.out
    assert "same-call-same-result" in made.out  # the rules see its calls as they see all others
    page = run("explain", "triples", cwd=tmp_path, env=env)
    assert page.out == "triples: lines of do, on, got\n  Made for a test.\n"
    assert "triples" in run("explain", cwd=tmp_path, env=env).out
    forced = run("report", "log.jsonl", "--log-format", "triples", cwd=tmp_path, env=env)
    assert "Read as triples (100 %)" in forced.out


def test_without_the_package_nobody_knows_the_log(tmp_path: Path) -> None:
    installed(tmp_path)
    made = run("report", "log.jsonl", cwd=tmp_path)
    assert made.code == 2
    assert "no reader knows this log; its records have do, got, on" in made.err


@pytest.mark.parametrize(
    ("points", "words"),
    [
        ("triples = triples_reader:NOTHING", "NOTHING"),
        ("triples = not_there:FORMAT", "not_there"),
    ],
)
def test_a_broken_package_is_named(tmp_path: Path, points: str, words: str) -> None:
    made = run("report", "log.jsonl", cwd=tmp_path, env=installed(tmp_path, points=points))
    assert made.code == 4
    assert "triples" in made.err
    assert words in made.err
    assert "Traceback" not in made.err


def test_the_same_reader_by_the_settings(tmp_path: Path) -> None:
    installed(tmp_path)
    (tmp_path / "loopaudit.toml").write_text(
        '[plugins.formats]\ntriples = "site/triples_reader.py:FORMAT"\n'
    )
    made = run("report", "log.jsonl", cwd=tmp_path)
    assert "Read as triples (95 %)" in made.out
    assert run("explain", "triples", cwd=tmp_path).out.startswith("triples: lines of do, on, got")
