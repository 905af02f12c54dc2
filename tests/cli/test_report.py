"""`report` through the real program: what it prints, where, and what it ends with."""

from __future__ import annotations

import json
import os
import re
import stat
from pathlib import Path

import jsonschema
import pytest
from program import event_lines, looping, run

from loopaudit.render.schema import report_schema


def test_the_first_screen_names_the_loop_its_place_and_its_waste(log: Path) -> None:
    ended = run("report", log.name, cwd=log.parent)
    text = " ".join(ended.out.split())
    assert ended.code == 0
    assert ended.err == ""
    assert "1 session, 8 responses, 7 calls (6 failed)" in text
    assert "9,600 tokens: 8,000 fresh, 1,600 output" in text
    assert "not a bill" in text
    # steps: 1 edit, 2 the first test run (useful), 3 the first redundant one, on line 6
    assert re.search(r"began step 3 2026-05-01 13:32:11Z loop.jsonl:6 ", text)
    # 5 redundant responses of 1,000 input at $1.25 and 200 output at $10 a million: $0.01625
    assert "1 loop wasted $0.02: 6,000 tokens, 62 % of all" in text


def test_json_has_the_frozen_shape_and_the_same_facts(log: Path) -> None:
    ended = run("report", log.name, "--format", "json", cwd=log.parent)
    document = ended.json
    jsonschema.validate(document, report_schema())
    assert ended.code == 0
    (finding,) = document["findings"]
    assert finding["onset"] == {
        "run": finding["run"],
        "step": 2,
        "call": 2,  # of the run
        "path": "loop.jsonl",
        "line": 6,
        "at": "2026-05-01T13:32:11Z",
        "char_offset": finding["onset"]["char_offset"],
    }
    assert finding["waste"]["tokens"] == 6000
    assert [entry["step"] for entry in finding["waste"]["steps"]] == [2, 3, 4, 5, 6]
    assert document["totals"]["tokens"]["total"] == 9600
    assert "pytest" not in ended.out


def test_five_runs_of_a_test_after_edits_are_no_loop(tmp_path: Path) -> None:
    records = looping(1)[:2]
    for number in range(10):
        call = (
            {"tool": "edit_file", "args": {"path": "a.py", "text": number}, "result": "done"}
            if number % 2 == 0
            else {
                "tool": "exec",
                "args": {"command": "pytest -q"},
                "error": True,
                "result": "1 failed",
            }
        )
        records.append(
            {"type": "response", "id": f"m{number}", "calls": [{"id": f"t{number}", **call}]}
        )
    ended = run("report", event_lines(tmp_path / "x.jsonl", records))
    assert ended.code == 0
    assert "No loops found" in ended.out


def test_same_input_same_bytes(log: Path) -> None:
    for format in ("text", "json"):
        first = run("report", log, "--format", format)
        assert first == run("report", log, "--format", format)


def test_every_guard_asked_for_is_replayed(log: Path) -> None:
    ended = run("report", log, "-g", "fuses:demo", "-g", "watchdog:demo", "-f", "json")
    assert [guard["preset"] for guard in ended.json["guards"]] == ["fuses:demo", "watchdog:demo"]
    first = ended.json["guards"][0]["verdicts"][0]
    # the history holds 5 equal calls before the sixth, which is call 0 of step 6 (0-based)
    assert (first["step"], first["call"], first["level"]) == (6, 0, "warn")
    assert (first["detector"], first["count"]) == ("generic_repeat", 5)


def test_stdin_is_read(log: Path) -> None:
    by_name = run("report", log, "--format", "json").json
    by_pipe = run("report", "-", "--format", "json", stdin=log.read_bytes()).json
    assert by_pipe["totals"] == by_name["totals"]
    assert by_pipe["inputs"][0]["path"] == "-"


def test_output_file_is_written_whole_and_stdout_stays_empty(log: Path, tmp_path: Path) -> None:
    target = tmp_path / "out" / "r.json"
    target.parent.mkdir()
    target.write_text("old")
    ended = run("report", log, "--format", "json", "-o", target)
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    assert json.loads(target.read_text())["schema_version"] == "1"
    assert [path.name for path in target.parent.iterdir()] == ["r.json"]


def test_a_failed_report_leaves_the_old_file_alone(tmp_path: Path) -> None:
    target = tmp_path / "r.json"
    target.write_text("old")
    assert run("report", tmp_path / "nope.jsonl", "-o", target).code == 2
    assert target.read_text() == "old"


def test_times_bound_what_is_counted(log: Path) -> None:
    def tokens(*options: str) -> int | None:
        total: int | None = run("report", log, "-f", "json", *options).json["totals"]["tokens"][
            "total"
        ]
        return total

    # responses at 13:30:11 … 13:37:11 UTC, 1,200 tokens each
    assert tokens("--since", "2026-05-01T13:35:00Z") == 3 * 1200
    assert tokens("--until", "2026-05-01T13:32:00Z") == 2 * 1200
    assert tokens("--until", "2026-05-01") == 8 * 1200
    assert tokens("--since", "2026-05-01T15:35", "--tz", "Europe/Berlin") == 3 * 1200
    assert run("report", log, "--since", "2026-05-02", "-f", "json").code == 3


def test_the_window_is_named_and_what_is_outside_of_it_explained(log: Path) -> None:
    text = run("report", log, "--since", "2026-05-01T13:35:00Z").out
    assert text.startswith("In the window from 2026-05-01 13:35 UTC:\n1 session, 3 responses")
    assert "2026-05-01 13:35 to 13:37 UTC" in text
    assert "of the part in the window" in " ".join(text.split())
    late = run("report", log, "--since", "2026-05-02")
    assert late.code == 3
    assert late.err == ""
    assert "1 session, all before 2026-05-02 00:00 (last event 2026-05-01 13:37)" in " ".join(
        late.out.split()
    )


def test_a_format_that_fits_nothing_is_named(log: Path) -> None:
    ended = run("report", log.name, "--log-format", "codex", cwd=log.parent)
    assert "Nothing measured: no record of loop.jsonl fits codex" in ended.out


# -- nothing, little, or broken input -------------------------------------------------------------


def test_an_empty_folder_measures_nothing(tmp_path: Path) -> None:
    (tmp_path / "e").mkdir()
    ended = run("report", "e", cwd=tmp_path)
    assert ended.code == 3
    assert ended.out.splitlines()[0] == "Nothing measured: no log file in " + "e"
    assert ended.err == ""  # said once
    by_json = run("report", "e", "-f", "json", cwd=tmp_path)
    assert by_json.err == "loopaudit: nothing measured: no log file in e\n"
    quiet = run("report", tmp_path, "-q", "-f", "json")
    assert (quiet.code, quiet.err) == (3, "")
    jsonschema.validate(quiet.json, report_schema())


def test_no_logs_in_the_usual_places_is_said(tmp_path: Path) -> None:
    ended = run("report", env={"HOME": str(tmp_path), "CODEX_HOME": "", "CLAUDE_CONFIG_DIR": ""})
    assert ended.code == 2
    assert "no PATHS given" in ended.err


def test_usual_places_are_read_where_they_exist(tmp_path: Path, log: Path) -> None:
    place = tmp_path / ".codex" / "sessions"
    place.mkdir(parents=True)
    log.rename(place / "x.jsonl")
    ended = run("report", env={"HOME": str(tmp_path), "CODEX_HOME": "", "CLAUDE_CONFIG_DIR": ""})
    assert ended.code == 0
    assert ended.err == f"loopaudit: reading {place}\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_no_permission_on_the_only_file(log: Path) -> None:
    log.chmod(0)
    ended = run("report", log)
    log.chmod(stat.S_IRUSR | stat.S_IWUSR)
    assert ended.code == 2
    assert "permission denied" in ended.err


def test_a_file_that_is_no_log(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text("hello\nworld\n")
    ended = run("report", tmp_path / "x.jsonl")
    assert ended.code == 2
    assert len(ended.err.splitlines()) <= 2
    assert "x.jsonl" in ended.err


def test_a_folder_with_everything(tmp_path: Path, log: Path) -> None:
    """E10: what cannot be read is named, the rest is counted, --strict does not pass."""
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "up").symlink_to(tmp_path)
    (tmp_path / "dangling.jsonl").symlink_to(tmp_path / "gone")
    ended = run("report", tmp_path, "-f", "json")
    assert ended.code == 0
    assert ended.json["totals"]["tokens"]["total"] == 9600
    assert ended.json["totals"]["completeness"] == "partial"
    reasons = {Path(skip["path"]).name: skip["reason"] for skip in ended.json["skips"]}
    assert reasons["empty.jsonl"] == "empty"
    assert set(reasons) >= {"empty.jsonl", "folder.jsonl", "dangling.jsonl"}
    strict = run("report", tmp_path, "-f", "json", "--strict")
    assert strict.code == 3
    assert strict.out == ended.out
    assert "partial input" in strict.err


def test_strict_passes_on_whole_input(log: Path) -> None:
    assert run("report", log, "--strict").code == 0


@pytest.mark.parametrize("env", [{}, {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0"}])
def test_hostile_and_broken_text_is_inert(tmp_path: Path, env: dict[str, str]) -> None:
    """S10, E4 and E5: escapes, bidi overrides, half emoji and CJK, in calls and in file names."""
    path = event_lines(
        tmp_path / "北京\u202e.jsonl", looping(text="\x1b[2J\x1b]0;t\x07\u202e<script>\ud83d 中文")
    )
    for options in ([], ["--why"], ["-f", "json", "--excerpts"]):
        ended = run("report", path, *options, env=env)
        assert ended.code == 0
        assert not any(c in ended.out for c in "\x1b\x07\u202e")
        assert "北京" in ended.out
    shown = run("show", path, env=env)
    assert shown.code == 0
    assert "\\x1b[2J" in shown.out
    assert "\ufffd 中文" in shown.out


def test_verbose_tells_of_each_input_on_stderr(log: Path) -> None:
    ended = run("report", log, "-v")
    assert re.search(r"loop.jsonl: loopaudit \(confidence [01]\.\d\d\), 11 lines", ended.err)
    assert ended.out == run("report", log).out


@pytest.mark.parametrize("options", [["-f", "json"], ["-o", "x"]])
def test_follow_is_for_the_screen(log: Path, options: list[str]) -> None:
    ended = run("report", log, "--follow", *options, cwd=log.parent)
    assert ended.code == 2
    assert "--follow" in ended.err


def test_a_variable_sets_how_many_loops_are_shown(log: Path) -> None:
    other = event_lines(log.parent / "other.jsonl", looping(start=1_777_742_151))
    assert run("report", log, other).out.count("LOOP ") == 2
    assert run("report", log, other, env={"LOOPAUDIT_REPORT_TOP": "1"}).out.count("LOOP ") == 1


# -- settings -------------------------------------------------------------------------------------


def test_settings_decide_where_no_flag_does(log: Path) -> None:
    (log.parent / "loopaudit.toml").write_text(
        '[report]\ntop = 0\ntz = "Asia/Tokyo"\nguards = ["fuses:demo"]\n'
    )
    ended = run("report", log.name, cwd=log.parent)
    assert "22:32:11" in ended.out
    assert "fuses:demo" in ended.out
    ended = run("report", log.name, "--tz", "UTC", "-g", "watchdog:demo", cwd=log.parent)
    assert "13:32:11Z" in ended.out
    assert "fuses:demo" not in ended.out


def test_a_wrong_setting_is_named_with_its_line(log: Path) -> None:
    (log.parent / "loopaudit.toml").write_text("[report]\n\ntop = -1\n")
    ended = run("report", log.name, cwd=log.parent)
    assert ended.code == 2
    assert ended.err.startswith("loopaudit: loopaudit.toml:3: [report] top must be a whole number")


def test_a_wrong_key_of_tools_is_named_with_its_own_line(log: Path) -> None:
    (log.parent / "loopaudit.toml").write_text("[tools]\nzzz = 1\n")
    ended = run("report", log.name, cwd=log.parent)
    assert ended.code == 2
    assert ended.err.startswith("loopaudit: loopaudit.toml:2: [tools] zzz: unknown key 'zzz'")


def test_what_nothing_knows_is_said_and_ends_nothing(log: Path) -> None:
    ended = run("report", log, "--task-type", "gardening", env={"LOOPAUDIT_REPROT_TOP": "1"})
    assert ended.code == 0
    first, second = ended.err.splitlines()
    assert first == "loopaudit: nothing reads LOOPAUDIT_REPROT_TOP"
    assert second.startswith("loopaudit: no guard and no rule knows task type 'gardening'; known: ")
    known = {"LOOPAUDIT_WATCHDOG_HARD_MAX": "50", "LOOPAUDIT_REPORT_TOP": "1"}
    assert run("report", log, "--task-type", "research", env=known).err == ""
