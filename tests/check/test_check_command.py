"""`loopaudit check` through the real program: every exit code in every format, and all it says."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
from gate_files import BROKEN, ENDS, FORMATS, HOSTILE, log, run, settings
from program import run as program
from rich.cells import cell_len

from loopaudit.check.codes import CODES

#: fuses warns and stops from 10 and 20 on
MISSES = (
    "[check]\nguards = ['fuses']\nunreachable = 'off'\nmin_runs = 1\n"
    "[check.limits]\nloops_missed = 0\n"
)
#: what GitLab wants of a code quality report (docs.gitlab.com, "Code Quality report format")
GITLAB = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"enum": sorted(CODES)},
            "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "properties": {
                    "path": {"type": "string", "pattern": "^[^/]"},
                    "lines": {
                        "type": "object",
                        "required": ["begin"],
                        "properties": {"begin": {"type": "integer", "minimum": 1}},
                    },
                },
            },
        },
    },
}
SARIF = Path(__file__).with_name("sarif-2.1.0-part.json")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    log(tmp_path, [run("good", True, 1), run("bad", False, 12)])
    (tmp_path / "broken_one.py").write_text(BROKEN, encoding="utf-8")
    return tmp_path


def gate(folder: Path, *arguments: str, **environment: str) -> Any:
    environment = {"PYTHONPATH": str(folder), **environment}
    return program("check", "runs.jsonl", "-q", *arguments, cwd=folder, env=environment)


def reasons(folder: Path, *arguments: str) -> list[tuple[str, str]]:
    made = gate(folder, "-f", "json", *arguments)
    document = json.loads(made.out)
    assert document["exit_code"] == made.code
    assert {j["code"] for j in document["judgements"]} <= set(CODES)
    return [(j["code"], j["level"]) for j in document["judgements"]]


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("code", ENDS)
def test_every_exit_code_in_every_format(folder: Path, code: int, kind: str) -> None:
    settings(folder, ENDS[code])
    made = gate(folder, "-f", kind)
    assert made.code == code, made.err
    if code == 2:
        assert made.out == ""
        return
    words = {0: "PASS", 1: "FAIL", 3: "CANNOT SAY", 4: "BROKEN"}[code]
    match kind:
        case "text" | "github":
            assert made.out.splitlines()[-1].startswith(words)
        case "markdown":
            assert made.out.startswith("<!-- loopaudit check -->\n### loopaudit: " + words)
        case "json":
            assert json.loads(made.out)["exit_code"] == code
        case "junit":
            suites = ElementTree.fromstring(made.out)
            assert suites.find(".//property[@name='exit_code']").get("value") == str(code)
            assert int(suites.get("failures", "0")) == {1: 1, 4: 2}.get(code, 0)
            assert int(suites.get("errors", "0")) == (1 if code == 3 else 0) or code == 4
        case "sarif":
            document = json.loads(made.out)
            jsonschema.validate(document, json.loads(SARIF.read_text(encoding="utf-8")))
            assert document["runs"][0]["invocations"][0]["exitCode"] == code
            levels = {r["level"] for r in document["runs"][0]["results"]}
            assert ("error" in levels) == (code in (1, 4))
        case "gitlab":
            jsonschema.validate(json.loads(made.out), GITLAB)


def test_nothing_to_check_does_not_pass(folder: Path) -> None:
    made = gate(folder)
    assert made.code == 2
    assert "nothing to check" in made.err


def test_an_empty_folder_cannot_be_judged(tmp_path: Path) -> None:
    settings(tmp_path, ENDS[0])
    (tmp_path / "logs").mkdir()
    made = program("check", "logs", "-q", "-f", "json", cwd=tmp_path)
    assert made.code == 3
    assert ("nothing-measured", "cannot say") in [
        (j["code"], j["level"]) for j in json.loads(made.out)["judgements"]
    ]


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ("steps_per_run = 17", ("steps-per-run", "ok")),  # the stuck run has 17: equal passes
        ("steps_per_run = 16", ("steps-per-run", "error")),
        ("steps_per_run = { warn = 16 }", ("steps-per-run", "warn")),
        ("steps_per_run = { warn = 10, error = 20 }", ("steps-per-run", "warn")),
        ("tokens_per_run = 10", ("not-measured", "cannot say")),
        ("seconds_per_run = 10", ("not-measured", "cannot say")),
        ("cost_usd = 1", ("not-measured", "cannot say")),
        ("cost_usd_per_run = 1", ("not-measured", "cannot say")),
        ("waste_tokens = 1", ("not-measured", "cannot say")),
        ("waste_usd_per_run = 1", ("not-measured", "cannot say")),
        ("loops_missed = 0", ("too-few-runs", "cannot say")),
        ("false_stops = 0", ("too-few-runs", "cannot say")),
    ],
)
def test_each_limit(folder: Path, limits: str, expected: tuple[str, str]) -> None:
    settings(folder, f"[check]\nunreachable = 'off'\n[check.limits]\n{limits}\n")
    assert reasons(folder) == [expected]


@pytest.mark.parametrize(
    ("limit", "level"),
    [("0.4", "error"), ("0.5", "ok"), ("{ warn = 0.4, error = 0.6 }", "warn")],
)
def test_a_share_of_healthy_runs(tmp_path: Path, limit: str, level: str) -> None:
    runs = [run(f"good{n}", True, 5 if n % 2 else 1) for n in range(20)]  # 10 repeat themselves
    log(tmp_path, runs)
    settings(tmp_path, f"[check]\nunreachable = 'off'\n[check.limits]\nfalse_stops = {limit}\n")
    assert reasons(tmp_path) == [("false-stops", level)]


def test_loops_that_a_guard_misses(tmp_path: Path) -> None:
    log(tmp_path, [run(f"bad{n}", False, 12) for n in range(20)])
    settings(tmp_path, "[check]\nunreachable = 'off'\n[check.limits]\nloops_missed = 0\n")
    assert reasons(tmp_path) == [("loops-missed", "ok")]
    # fuses warns and stops from 10 and 20 on: none of 12 repeats is stopped
    assert reasons(tmp_path, "--guard", "fuses") == [("loops-missed", "error")]


def test_money_and_tokens(tmp_path: Path) -> None:
    from program import event_lines

    usage = {"fresh_input": 1_000, "output": 100}
    records: list[dict[str, Any]] = [{"type": "run", "run": "r1"}]
    for n in range(6):
        call = {"id": f"c{n}", "tool": "t", "args": {"n": 1}, "result": "same"}
        records.append(
            {"type": "response", "id": f"m{n}", "model": "m1", "usage": usage, "calls": [call]}
        )
    event_lines(tmp_path / "runs.jsonl", records)
    prices = "[[prices.model]]\nmodel = 'm1'\ninput = 1\noutput = 10\n"
    # 6 responses of 1,100 tokens and $0.002; the first of six equal calls is no waste
    for limit, expected in (
        ("cost_usd = 0.012", ("cost", "ok")),
        ("cost_usd = 0.011", ("cost", "error")),
        ("cost_usd_per_run = 0.011", ("cost-per-run", "error")),
        ("waste_usd = 0.01", ("waste", "ok")),
        ("waste_usd = 0.0099", ("waste", "error")),
        ("waste_usd_per_run = 0.0099", ("waste-per-run", "error")),
        ("waste_tokens = 5_500", ("waste", "ok")),
        ("waste_tokens_per_run = 5_499", ("waste-per-run", "error")),
        ("tokens_per_run = 6_600", ("tokens-per-run", "ok")),
        ("tokens_per_run = 6_599", ("tokens-per-run", "error")),
    ):
        text = f"[check]\nunreachable = 'off'\n[check.limits]\n{limit}\n"
        settings(tmp_path, text + prices)
        assert reasons(tmp_path) == [expected], limit
        if "usd" in limit:
            settings(tmp_path, text)  # without the price nobody can say
            assert reasons(tmp_path) == [("unpriced", "cannot say")]


def test_limits_of_one_type_only(tmp_path: Path) -> None:
    log(tmp_path, [run("a", True, 1, task="short"), run("b", True, 12, task="long")])
    settings(
        tmp_path,
        "[check]\nunreachable = 'off'\n[check.limits]\nsteps_per_run = 6\n"
        "[check.task_types.long]\nsteps_per_run = 20\n",
    )
    assert reasons(tmp_path) == [("steps-per-run", "ok")] * 2


def test_thresholds_out_of_reach(folder: Path) -> None:
    text = (
        "[check]\nguards = ['mine']\nunreachable = '{}'\n[check.limits]\nsteps_per_run = 50\n"
        "[guards.mine]\nextends = 'fuses:demo'\n[[guards.mine.rule]]\nsignal = 'generic_repeat'\n"
        "stop = 40\n"
    )  # fmt: skip
    for answer, level, code in (("error", "error", 1), ("warn", "warn", 0)):
        settings(folder, text.format(answer))
        assert ("unreachable-threshold", level) in reasons(folder)
        assert gate(folder).code == code
    settings(folder, text.format("off"))
    assert "unreachable-threshold" not in dict(reasons(folder))


# -- baseline -------------------------------------------------------------------------------------


def keep(folder: Path, *arguments: str) -> Any:
    return program("baseline", "update", "runs.jsonl", "--reason", "as wanted", "--by", "ann",
                   *arguments, cwd=folder)  # fmt: skip


def test_a_lower_threshold_turns_it_red_with_the_run_named(folder: Path) -> None:
    assert keep(folder).code == 0
    assert gate(folder).code == 0
    settings(
        folder,
        "[[guards.loopaudit.rule]]\nsignal = 'same_call_same_result'\nwarn = 1\nstop = 2\n",
    )
    made = gate(folder, "-f", "json")
    assert made.code == 1
    document = json.loads(made.out)
    changed = {c["run"]: c for c in document["changes"]}
    assert set(changed) == {"runs:bad"}
    # the repeats are steps 6, 7, 8 …, counted from 0: the second one is made in step 6
    assert changed["runs:bad"]["before"]["stop"]["step"] == 7
    assert changed["runs:bad"]["after"]["stop"] == {
        "step": 6, "level": "stop", "signal": "same_call_same_result", "threshold": 2.0
    }  # fmt: skip
    text = gate(folder).out
    assert "[verdict-changed] errands, loopaudit: run runs:bad:" in " ".join(text.split())
    assert "loopaudit show runs:bad runs.jsonl" in text
    # the change is accepted on purpose
    again = keep(folder)
    assert "1 verdicts changed" in again.out
    assert gate(folder).code == 0


def test_the_commands_to_look_are_run_as_printed(tmp_path: Path) -> None:
    """Names that a shell would take apart, too."""
    odd = run("bad one; $(x) 'q'", False, 12)
    log(tmp_path, [run("good", True, 1), odd])
    keep(tmp_path)
    settings(
        tmp_path,
        "[[guards.loopaudit.rule]]\nsignal = 'same_call_same_result'\nwarn = 1\nstop = 2\n",
    )
    for kind in ("text", "github"):
        made = gate(tmp_path, "-f", kind)
        assert made.code == 1
        found = re.findall(r"loopaudit (show .*)$", made.out, re.MULTILINE)
        assert found
        for command in found:
            shown = program(*shlex.split(command.replace("%25", "%")), cwd=tmp_path)
            assert shown.code == 0, shown.err
            assert "step" in shown.out


def test_the_text_fits_80_columns(folder: Path) -> None:
    runs = [run(f"r{n}", True, 1, task="長い名前の仕事" * 4) for n in range(3)]
    log(folder, runs)
    settings(folder, "[check]\nunreachable = 'off'\n[check.limits]\nsteps_per_run = 50\n")
    keep(folder)
    log(folder, [*runs, run("more", False, 12, task="長い名前の仕事" * 4)])
    made = gate(folder, "--guard", "loopaudit", "--guard", "watchdog:production")
    for line in made.out.splitlines():
        assert cell_len(line) <= 80 or "loopaudit show" in line, line
    assert "runs 3 -> 4" in made.out


def test_changes_can_warn_or_be_ignored(folder: Path) -> None:
    keep(folder)
    rule = "[[guards.loopaudit.rule]]\nsignal = 'same_call_same_result'\nwarn = 1\nstop = 2\n"
    settings(folder, f"[check]\nverdict_changes = 'warn'\n{rule}")
    assert ("verdict-changed", "warn") in reasons(folder)
    settings(folder, f"[check]\nverdict_changes = 'off'\n{rule}")
    assert "verdict-changed" not in dict(reasons(folder))


def test_a_baseline_says_who_when_and_why(folder: Path) -> None:
    assert program("baseline", "update", "runs.jsonl", cwd=folder).code == 2
    keep(folder)
    data = json.loads((folder / ".loopaudit" / "baseline.json").read_text(encoding="utf-8"))
    assert data["by"] == "ann"
    assert data["reason"] == "as wanted"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", data["at"])
    assert set(data["runs"]) == {"runs:good", "runs:bad"}
    shown = program("baseline", "show", cwd=folder)
    assert shown.code == 0
    assert "as wanted" in shown.out


def test_other_runs_are_told_and_not_failed(folder: Path) -> None:
    keep(folder)
    log(folder, [run("good", True, 1), run("new", True, 1)])
    assert ("corpus-changed", "note") in reasons(folder)
    assert gate(folder).code == 0


def test_a_baseline_named_must_be_there(folder: Path) -> None:
    made = gate(folder, "--baseline", "none.json")
    assert made.code == 2
    assert "no baseline none.json" in made.err


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", '{"loopaudit_baseline": 9}', "\x00"])
def test_a_broken_baseline_is_an_error_of_use(folder: Path, text: str) -> None:
    (folder / "base.json").write_text(text, encoding="utf-8")
    made = gate(folder, "--baseline", "base.json")
    assert made.code == 2
    assert "base.json" in made.err
    assert "Traceback" not in made.err


# -- suppressions and labels ----------------------------------------------------------------------


def finding_of(folder: Path) -> str:
    report = program("report", "runs.jsonl", "-f", "json", "-q", cwd=folder).json
    (finding,) = report["findings"]
    return str(finding["id"])


def test_a_suppression_holds_until_its_day_is_over(tmp_path: Path) -> None:
    log(tmp_path, [run(f"good{n}", True, 1) for n in range(3)] + [run("bad", False, 12)])
    name = finding_of(tmp_path)
    text = MISSES
    settings(tmp_path, text)
    assert reasons(tmp_path) == [("loops-missed", "error")]
    rule = f"[[check.suppress]]\nfinding = '{name}'\nreason = 'ticket 12'\nuntil = 2030-06-30\n"
    settings(tmp_path, text + rule)
    assert reasons(tmp_path) == [("loops-missed", "ok")]
    last, after = "1909008000", "1909094400"  # 2030-06-30 and 2030-07-01, 00:00 UTC
    assert gate(tmp_path, SOURCE_DATE_EPOCH=last).code == 0
    expired = gate(tmp_path, SOURCE_DATE_EPOCH=after)
    assert expired.code == 1
    assert "[suppression-expired]" in expired.out
    assert "ticket 12" in expired.out


def test_a_suppression_of_nothing_warns_and_needs_a_reason(folder: Path) -> None:
    rule = "[[check.suppress]]\nfinding = '0123456789abcdef'\n"
    settings(folder, ENDS[0] + rule + "reason = 'old'\n")
    assert ("suppression-unused", "warn") in reasons(folder)
    settings(folder, ENDS[0] + rule)
    made = gate(folder)
    assert made.code == 2
    assert "loopaudit.toml:3" in made.err


def test_a_users_label_counts(tmp_path: Path) -> None:
    log(tmp_path, [run("bad", False, 12)])
    name = finding_of(tmp_path)
    settings(tmp_path, MISSES)
    assert reasons(tmp_path) == [("loops-missed", "error")]
    assert program("label", name, "not-a-loop", cwd=tmp_path).code == 2
    made = program("label", name[:6], "not-a-loop", "runs.jsonl", "--reason", "a poll",
                   "--by", "ann", cwd=tmp_path)  # fmt: skip
    assert made.code == 0, made.err
    line = json.loads((tmp_path / ".loopaudit" / "labels.jsonl").read_text(encoding="utf-8"))
    assert line["finding"] == name
    assert line["reason"] == "a poll"
    assert reasons(tmp_path) == [("loops-missed", "ok")]  # none left to miss
    assert program("label", name, "loop", "--reason", "it was", cwd=tmp_path).code == 0
    assert reasons(tmp_path) == [("loops-missed", "error")]


def test_a_broken_labels_file_is_told_with_its_line(folder: Path) -> None:
    settings(folder, ENDS[0])
    (folder / ".loopaudit").mkdir()
    (folder / ".loopaudit" / "labels.jsonl").write_text('\n{"finding": 1}\n', encoding="utf-8")
    made = gate(folder)
    assert made.code == 2
    assert "labels.jsonl:2" in made.err


# -- comparing ------------------------------------------------------------------------------------


def test_against_other_settings(folder: Path) -> None:
    other = folder / "other.toml"
    other.write_text(
        "[[guards.loopaudit.rule]]\nsignal = 'same_call_same_result'\nwarn = 1\nstop = 2\n",
        encoding="utf-8",
    )
    made = gate(folder, "--against", "other.toml", "-f", "json")
    document = json.loads(made.out)
    assert [c["run"] for c in document["changes"]] == ["runs:bad"]
    assert document["changes"][0]["before"]["stop"]["step"] == 6
    assert document["changes"][0]["after"]["stop"]["step"] == 7
    assert made.code == 0  # nothing got worse: stopped later, not interrupted or missed


def test_against_another_guard(folder: Path) -> None:
    made = gate(folder, "--guard", "fuses", "--against-guard", "loopaudit", "-f", "json")
    assert made.code == 1
    document = json.loads(made.out)
    broken = [j for j in document["judgements"] if j["level"] == "error"]
    assert [(j["code"], j["message"]) for j in broken] == [("regression", "loops missed: 0 -> 1")]
    assert [c["worse"] for c in document["changes"]] == ["a stuck run is no longer stopped"]
    assert gate(folder, "--guard", "loopaudit", "--against-guard", "fuses").code == 0


# -- what must be inert ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", FORMATS)
def test_text_of_logs_is_inert(tmp_path: Path, kind: str) -> None:
    one = run("bad", False, 12, task=HOSTILE.replace("\ud83d", ""))
    one["id"] = HOSTILE
    log(tmp_path, [one])
    settings(tmp_path, "[check.limits]\nsteps_per_run = 10\nfalse_stops = 0.1\n")
    made = gate(tmp_path, "-f", kind)
    assert made.code == 1, made.err
    text = made.out
    assert "\x1b" not in text
    assert "\r" not in text
    assert "\u202e" not in text
    if kind in ("json", "sarif", "gitlab"):
        document = json.loads(text)
        if kind == "sarif":
            jsonschema.validate(document, json.loads(SARIF.read_text(encoding="utf-8")))
    elif kind == "junit":
        assert ElementTree.fromstring(text).get("failures") == "1"
    elif kind == "github":
        commands = [line for line in text.splitlines() if line.startswith("::")]
        assert all(re.match(r"::(error|warning|notice) [^:]*::", line) for line in commands)
        assert not any(line.startswith("::set-output") for line in text.splitlines())
    elif kind == "markdown":
        outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
        assert "<script>" not in outside
        assert "@team" not in outside
        assert "](http" not in outside
    else:
        assert not any(line.lstrip().startswith("::") for line in text.splitlines())


def test_markdown_only_if_changed(folder: Path) -> None:
    keep(folder)
    settings(folder, "[check]\nunreachable = 'off'\n")
    assert gate(folder, "-f", "markdown", "--only-if-changed").out == ""
    assert gate(folder, "-f", "markdown").out.startswith("<!-- loopaudit check -->")
    settings(folder, ENDS[1])
    assert "steps-per-run" in gate(folder, "-f", "markdown", "--only-if-changed").out


def test_the_step_summary_of_github(folder: Path) -> None:
    settings(folder, ENDS[1])
    summary = folder / "summary.md"
    assert gate(folder, "-f", "github", GITHUB_STEP_SUMMARY=str(summary)).code == 1
    assert "### loopaudit: FAIL" in summary.read_text(encoding="utf-8")


def test_two_runs_give_the_same_bytes(folder: Path) -> None:
    settings(folder, ENDS[1])
    for kind in FORMATS:
        assert gate(folder, "-f", kind).out == gate(folder, "-f", kind, "--processes", "2").out


def test_a_copy_of_the_sample_logs_goes_red(root: Path, tmp_path: Path) -> None:
    shutil.copytree(root / "sample_logs", tmp_path / "sample_logs")
    settings(tmp_path, "[check]\npaths = ['sample_logs']\nunreachable = 'off'\n")
    assert program("baseline", "update", "--reason", "now", cwd=tmp_path).code == 0
    assert program("check", "-q", cwd=tmp_path).code == 0
    settings(
        tmp_path,
        "[check]\npaths = ['sample_logs']\nunreachable = 'off'\n"
        "[[guards.loopaudit.rule]]\nsignal = 'same_call_same_result'\nstop = 2\n",
    )
    made = program("check", "-q", "-f", "json", cwd=tmp_path)
    assert made.code == 1
    runs = {c["run"] for c in made.json["changes"]}
    assert "b81f6d20-4c7e-4a95-8f13-d2e90c5a7b64" in runs  # the runaway session
