"""The contract of rules, formats and presets, held against `sample_logs`.

Every rule has one log that trips it and a near miss that must not; every format has a sample that
is read by its own reader without being told; every preset loads and runs.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path

import pytest

from loopaudit import plugins
from loopaudit.cli.catalog import rules
from loopaudit.findings import EndedBy, Report, Rule
from loopaudit.guards import presets
from loopaudit.replay.audit import AuditOptions, audit
from loopaudit.settings import Settings

SAMPLES = Path(__file__).resolve().parents[1] / "sample_logs"
RULES = rules()

#: a set of the user's, for the rules whose numbers no built-in set judges by
_OWN = {
    "policy": "each",
    "rule": [
        {"signal": signal, "detector": f"loopaudit.detectors.{place}", "warn": limit}
        for signal, place, limit in (
            ("gap", "timeouts:Gap", 300),
            ("retries_over_policy", "retries:Retries", 4),
            ("wait_outside_interval", "retries:Retries", 1),
            ("nested_retries", "retries:Retries", 1),
            ("same_meaning", "paraphrases:Paraphrases", 3),
        )
    ],
}
_SETTINGS = Settings(values={"guards": {"own": _OWN}})
_REPORTED = {rule.signal for rule in presets.load("loopaudit").rules if rule.report is not None}


def run(path: Path, guard: str = "loopaudit") -> Report:
    return audit(
        AuditOptions([str(path)], guards=(guard,), processes=1, settings=_SETTINGS, now=2e9)
    )


def judged_by(signal: str) -> str:
    """The first set that has thresholds for this signal."""
    for name in ("loopaudit", "fuses", "watchdog", "backstop", "backstop:demo", "own"):
        rule = presets.load(name, {"own": _OWN}).rule(signal)
        if rule and rule.thresholds.levels:
            return name
    raise AssertionError(f"no guard set judges by {signal}")


def verdicts(report: Report, signal: str) -> set[str]:
    return {
        verdict.trip.level.value
        for guard in report.guards
        for verdict in guard.verdicts
        if verdict.trip.detector == signal
    }


# -- rules ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_trips_on_its_log(rule: str) -> None:
    signal = RULES[rule].signal
    report = run(SAMPLES / "rules" / f"{rule}.trips.jsonl", judged_by(signal))
    found = [finding.rule for finding in report.findings]
    assert found == ([rule] if signal in _REPORTED else [])
    assert verdicts(report, signal)


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_is_silent_on_its_near_miss(rule: str) -> None:
    signal = RULES[rule].signal
    report = run(SAMPLES / "rules" / f"{rule}.near_miss.jsonl", judged_by(signal))
    assert report.totals.responses >= 1
    assert report.findings == []
    if signal not in _REPORTED:  # of the others a guard may warn before they are worth a finding
        assert verdicts(report, signal) == set()


def test_every_rule_has_both_logs_and_no_log_is_left_over() -> None:
    found = {path.name for path in (SAMPLES / "rules").iterdir()}
    assert found == {f"{rule}.{kind}.jsonl" for rule in RULES for kind in ("trips", "near_miss")}


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.id)
def test_a_rule_carries_its_own_documentation(rule: Rule) -> None:
    for field in ("title", "looks_for", "not_counted", "evidence", "remedy"):
        assert len(getattr(rule, field)) > 10, field
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.id)
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", rule.signal)


# -- formats --------------------------------------------------------------------------------------


SESSION = "claude_code/-home-noor-dev-harbour-api/3f0c9a52-7d1e-4b68-9c34-5a2e8d7f1b06"
WRAPPED = "codex/rollout-2026-09-22T14-05-00-019f3a6e-52c1-7d40-9b8e-2f6a7c1d0e93"
BARE = "codex/rollout-2025-07-18T16-40-02-5b1e7c90-3a42-4d8f-b6c1-0e9f2a7d4b38"
COPILOT = "copilot_cli/d2b7f6c0-1e4a-4c55-8f0b-93a1c7e5d412"
PI = "pi/2026-05-20T18-00-00-000Z_0199f0c2-5d7e-7a31-b8c4-6e2f1d0a9b57"
DROID = "factory_droid/8e4b6a90-2c1d-4f7e-9a35-b0c8d2e4f617"
#: folders whose files are parts of an input, not inputs
PARTS = ("opencode/storage/message/", "opencode/storage/part/")
#: file -> format, responses, calls, failed calls, tokens: counted by hand in the files
FILES: dict[str, tuple[str, int, int, int, int | None]] = {
    f"{SESSION}.jsonl": ("claude_code", 7, 7, 1, 92_287),
    f"{SESSION}/subagents/agent-a7c41e09b.jsonl": ("claude_code", 3, 2, 0, 20_881),
    f"{WRAPPED}.jsonl": ("codex", 6, 5, 1, 40_475),
    f"{BARE}.jsonl": ("codex", 3, 2, 0, None),
    "codex_exec/exec.jsonl": ("codex_exec", 2, 1, 1, 5_120),
    "gemini_cli/session-2026-03-04T09-10-5b2e7c11.json": ("gemini_cli", 3, 2, 1, 28_200),
    "gemini_cli/session-2026-04-02T16-20-91d0aa35.jsonl": ("gemini_cli", 2, 1, 0, 1_090),
    "qwen_code/e0c3b1f4-58d2-4b0c-9a6e-1f7d2c9b8a40.jsonl": ("qwen_code", 3, 2, 1, 24_630),
    f"{COPILOT}/events.jsonl": ("copilot_cli", 3, 3, 1, 9_080),
    f"{PI}.jsonl": ("pi", 3, 2, 1, 9_460),
    "openclaw_telemetry/telemetry.jsonl": ("openclaw_telemetry", 2, 1, 0, 18_155),
    "opencode/export.json": ("opencode", 3, 2, 1, 15_646),
    "opencode/storage/session/p1/ses_5aa9.json": ("opencode", 2, 1, 0, 880),
    "goose/20251002_090000.jsonl": ("goose", 2, 1, 0, 2_440),
    "goose/sessions.db": ("goose", 2, 1, 1, 1_500),
    "crush/crush.db": ("crush", 2, 1, 0, None),
    "cline/1764100000000/ui_messages.json": ("cline", 3, 3, 1, 13_098),
    "cline/1764100000000/api_conversation_history.json": ("cline", 0, 0, 0, None),
    "kimi_cli/session_6d0f/agents/main/wire.jsonl": ("kimi_cli", 3, 2, 1, 69_640),
    "kimi_cli/session_6d0f/state.json": ("kimi_cli", 0, 0, 0, None),
    "kimi_cli/old/wire.jsonl": ("kimi_cli", 2, 1, 0, 2_110),
    f"{DROID}.jsonl": ("factory_droid", 2, 1, 1, 10_001),
    f"{DROID}.settings.json": ("factory_droid", 0, 0, 0, None),
    "factory_droid/stream.jsonl": ("factory_droid", 2, 1, 0, 440),
    "amp/T-5d8e1f20-7a4b-4c93-8e60-1b2c3d4e5f60.json": ("amp", 2, 1, 1, 18_038),
    "cursor/2f7a1c90/2f7a1c90.jsonl": ("cursor", 2, 1, 0, None),
    "antigravity/transcript.jsonl": ("antigravity", 2, 1, 0, None),
    "hermes/session_20260510.json": ("hermes", 2, 1, 1, None),
    "grok/chat_history.jsonl": ("grok", 2, 1, 0, None),
    "grok/summary.json": ("grok", 0, 0, 0, None),
    "inspect/tide_tables.json": ("inspect", 4, 2, 1, 1_847),
    "tau_bench/parcels.json": ("tau_bench", 3, 2, 1, None),
    "tau2_bench/parcels.json": ("tau2_bench", 2, 1, 1, 1_895),
    "atif/trajectory.json": ("atif", 4, 2, 1, 2_600),
    "swe_agent/moss__parser-12.traj": ("swe_agent", 3, 3, 1, 4_300),
    "mini_swe_agent/moss__parser-12.traj.json": ("mini_swe_agent", 3, 2, 1, 1_710),
    "openhands_v0/trajectory.json": ("openhands_v0", 2, 2, 1, 4_455),
    "openhands_v0/output.jsonl": ("openhands_v0", 2, 2, 0, None),
    "openhands_v1/events.jsonl": ("openhands_v1", 2, 1, 1, 3_175),
    "intercode/bash_two_tasks.json": ("intercode", 4, 4, 1, None),
    "devai/agent_12.json": ("devai", 3, 2, 1, 3_065),
    "who_and_when/17.json": ("who_and_when", 2, 1, 1, None),
    "magentic_one/talk.json": ("magentic_one", 3, 1, 0, None),
    "langchain_messages/conversation.json": ("langchain_messages", 2, 1, 1, 692),
    "langchain_messages/dumpd.jsonl": ("langchain_messages", 2, 1, 1, 692),
    "langgraph/history.json": ("langgraph", 2, 1, 1, 692),
    "smolagents/full_steps.json": ("smolagents", 3, 3, 1, 1_402),
    "autogen/task_result.json": ("autogen", 2, 1, 1, 463),
    "ag2/chat_result.json": ("ag2", 2, 1, 1, 463),
    "crewai/crew_output.json": ("crewai", 2, 1, 1, 463),
    "crewai/task_log.json": ("crewai", 1, 0, 0, None),
    "browser_use/history.json": ("browser_use", 2, 3, 1, None),
    "labelled_runs/runs.jsonl": ("labelled_runs", 5, 5, 1, None),
    "openai_chat/conversation_a_line.jsonl": ("openai_chat", 12, 7, 1, None),
    "openai_chat/message_a_line.jsonl": ("openai_chat", 4, 4, 1, None),
    "openai_chat/array.json": ("openai_chat", 3, 2, 0, None),
    "openai_responses/items.jsonl": ("openai_responses", 3, 2, 1, None),
    "openai_responses/items.json": ("openai_responses", 3, 2, 0, None),
    "anthropic_messages/messages.jsonl": ("anthropic_messages", 4, 4, 1, None),
    "anthropic_messages/messages.json": ("anthropic_messages", 2, 1, 0, None),
    "vercel_ai/messages.json": ("vercel_ai", 4, 3, 1, None),
    "vercel_ai/steps.json": ("vercel_ai", 3, 2, 1, 1_208),
    "gemini_generate/contents.json": ("gemini_generate", 3, 2, 1, None),
    "openai_agents/trace.jsonl": ("openai_agents", 3, 3, 1, 832),
    "openai_agents/raw_responses.json": ("openai_agents", 2, 1, 0, 499),
    "otel/agent.otlp.jsonl": ("otel", 3, 2, 1, 745),
    "otel/events.otlp.jsonl": ("otel", 2, 1, 0, 231),
    "otel/console.jsonl": ("otel", 2, 2, 1, 395),
    "langsmith/runs.jsonl": ("langsmith", 3, 2, 1, 491),
    "langfuse/trace.json": ("langfuse", 2, 1, 1, 278),
    "mlflow/trace.json": ("mlflow", 2, 1, 1, 293),
    "http_log/chat_requests.jsonl": ("http_log", 4, 3, 1, 829),
    "http_log/gemini_requests.jsonl": ("http_log", 3, 2, 1, 560),
    "http_log/cassette.yaml": ("http_log", 2, 1, 0, 233),
}


@pytest.mark.parametrize("name", FILES)
def test_a_sample_is_read_by_its_own_reader(name: str) -> None:
    report = run(SAMPLES / name)
    assert report.skips == []
    assert report.failures == []
    (entry,) = report.inputs
    totals = report.totals
    found = (totals.responses, totals.calls, totals.calls_failed, totals.tokens.total)
    assert (entry.format, *found) == FILES[name]
    assert entry.confidence >= 0.8
    assert report.findings == []


def test_every_format_has_a_sample_and_no_sample_is_left_over() -> None:
    assert {entry[0] for entry in FILES.values()} | {"loopaudit"} == set(plugins.FORMATS)
    found = {
        path.relative_to(SAMPLES).as_posix()
        for path in SAMPLES.rglob("*")
        if path.is_file() and "rules" not in path.parts and not path.name.endswith(".meta.json")
    }
    assert {name for name in found if not name.startswith(PARTS)} == {*FILES, "runaway.jsonl"}


def test_a_sub_agent_is_linked_to_its_parent() -> None:
    report = run(SAMPLES / "claude_code")
    parents = {summary.id: summary.parent for summary in report.runs}
    assert len(parents) == 2
    (child,) = [run for run, parent in parents.items() if parent is not None]
    assert parents[child] in parents
    assert report.totals.tokens.total == 92_287 + 20_881


def test_the_runaway_session_tells_its_story() -> None:
    """97 responses; from step 13 on 28 rounds of edit, read, test, none of which brought anything.

    The test run of the first round had failed alike in step 10: 82 steps are waste.
    """
    report = run(SAMPLES / "runaway.jsonl")
    (loop,) = report.findings
    assert (report.totals.responses, report.totals.calls) == (97, 96)
    assert report.totals.tokens.total == tokens_by_message(SAMPLES / "runaway.jsonl")
    assert (loop.rule, loop.period, loop.occurrences) == ("cycle", 3, 28)
    assert (loop.onset.step, loop.last.step, len(loop.waste.steps)) == (14, 95, 82)
    assert loop.ended_by is EndedBy.USER
    assert report.totals.usd is not None
    assert loop.waste.usd is not None
    assert report.totals.usd > loop.waste.usd > Decimal(9)


def tokens_by_message(path: Path) -> int:
    """Each message's usage once, added up without any part of loopaudit."""
    usage = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        message = json.loads(line).get("message", {})
        if "usage" in message:
            usage[message["id"]] = message["usage"]
    kinds = ("input", "cache_creation_input", "cache_read_input", "output")
    return sum(entry[f"{kind}_tokens"] for entry in usage.values() for kind in kinds)


def test_the_whole_folder_is_read_without_a_loss() -> None:
    report = run(SAMPLES)
    assert report.skips == []
    assert report.failures == []
    assert {entry.format for entry in report.inputs} == set(plugins.FORMATS)
    reported = {rule.id for rule in RULES.values() if rule.signal in _REPORTED}
    assert {finding.rule for finding in report.findings} >= reported


# -- presets --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", presets.names())
def test_every_preset_loads_and_judges(name: str) -> None:
    preset = presets.load(name)
    assert preset.name == name
    assert preset.description
    assert preset.rules or preset.limits
    report = run(SAMPLES / "rules" / "same-call-same-result.trips.jsonl", name)
    assert [guard.preset for guard in report.guards] == [name]
    assert report.failures == []
