"""Coding agents' logs as they are: a summary of every file of the corpus, and how it was checked.

`GOLDEN` was made by loopaudit and reviewed by hand against the files:

- Where a log tells usage, calls and tokens equal the count of a second program
  (`independent_coding`, plain JSON, none of loopaudit's code); the three pi sessions also add up to
  the dollars that they record ($42.60, $30.33, $29.74).
- Fixtures of a few lines were read from the first to the last line: antigravity (its 9 calls: two
  that plans name, seven steps that no plan names), cursor, droid, grok, hermes, openclaw, opencode,
  the small ones of copilot, gemini, kimi and qwen.
- `kimi_cli/…/assistant_tools.jsonl`: 24 steps begin, 22 end; the other two were stopped before an
  answer. 23 usage records: one for each step that ended, and the compaction, which is no response.
- `kimi_cli/…/small.jsonl`: two requests, made seven and six times, never answered.
- `copilot_cli/events_2026-07`: 35 messages of 29 API calls; 3 of 108 calls failed ("Path does not
  exist"); no shutdown event, so only outputs are known.
- `pi/v1_compact`: the same check three times in a row (lines 927 to 935), the first of which still
  fixed a file, each time asked for by the user: no loop. `npm run check` 36 times, with edits.
- `openclaw-telemetry/crux1`: two conversations, each told whole at its end.
- No file holds a loop: none has a finding, so there are no onset lines.
"""

import independent_coding
import pytest

from loopaudit.replay.audit import AuditOptions, audit

pytestmark = pytest.mark.corpus

#: file -> reader, runs, responses, calls, failed calls, tokens, (rule, onset line) of findings
FIX = "fixtures_agent-sessions"
GOLDEN = {
    "gemini_cli/12_cbfeaa512b_0.json": ("gemini_cli", 1, 4, 2, 0, 49267, []),
    "gemini_cli/51_3fab7adf0b_0.json": ("gemini_cli", 1, 2, 1, 0, 24329, []),
    "gemini_cli/c9_45f262e88d_0.json": ("gemini_cli", 1, 2, 1, 0, 24917, []),
    "gemini_cli/ec_38b74f08e3_2.json": ("gemini_cli", 0, 0, 0, 0, None, []),
    f"gemini_cli/{FIX}/jsonl_v040.jsonl": ("gemini_cli", 1, 2, 1, 0, 24152, []),
    f"gemini_cli/{FIX}/large.json": ("gemini_cli", 1, 4, 2, 0, 110, []),
    f"gemini_cli/{FIX}/schema_drift.json": ("gemini_cli", 1, 1, 0, 0, None, []),
    f"gemini_cli/{FIX}/small.json": ("gemini_cli", 1, 1, 0, 0, 15, []),
    f"qwen_code/{FIX}/019f0000-0000-7000-8000-000000000001.jsonl": (
        "qwen_code",
        1,
        2,
        1,
        0,
        None,
        [],
    ),
    f"qwen_code/{FIX}/019f0000-0000-7000-8000-000000000002.jsonl": (
        "qwen_code",
        1,
        0,
        0,
        0,
        None,
        [],
    ),
    f"qwen_code/{FIX}/019f0000-0000-7000-8000-000000000004.jsonl": (
        "qwen_code",
        1,
        2,
        1,
        0,
        16,
        [],
    ),
    f"qwen_code/{FIX}/019f0000-0000-7000-8000-000000000005.jsonl": (
        "qwen_code",
        1,
        1,
        0,
        0,
        None,
        [],
    ),
    f"qwen_code/{FIX}/019f0000000070008000000000000003.jsonl": ("qwen_code", 1, 0, 0, 0, None, []),
    f"qwen_code/{FIX}/system_telemetry.jsonl": ("qwen_code", 1, 1, 1, 0, None, []),
    "copilot_cli/events_2026-07_45f1a36c.jsonl": ("copilot_cli", 1, 29, 108, 3, 18112, []),
    f"copilot_cli/{FIX}/large.jsonl": ("copilot_cli", 1, 5, 2, 0, None, []),
    f"copilot_cli/{FIX}/schema_drift.jsonl": ("copilot_cli", 1, 2, 1, 0, None, []),
    f"copilot_cli/{FIX}/small.jsonl": ("copilot_cli", 2, 3, 2, 1, 94, []),
    f"copilot_cli/{FIX}/subdir_v1/aaaabbbb-1111-2222-3333-ccccddddeeee/events.jsonl": (
        "copilot_cli",
        1,
        2,
        1,
        0,
        26,
        [],
    ),
    f"pi/{FIX}/small.jsonl": ("pi", 1, 1, 0, 0, 19, []),
    "pi/v1_before-compaction_2025-12.jsonl": ("pi", 1, 471, 454, 10, 56570579, []),
    "pi/v1_compact_v0.27.9_2025-12.jsonl": ("pi", 1, 498, 432, 17, 43956571, []),
    "pi/v1_large-session_2025-11.jsonl": ("pi", 1, 439, 391, 18, 47609906, []),
    f"openclaw/{FIX}/large.jsonl": ("pi", 1, 3, 2, 0, None, []),
    f"openclaw/{FIX}/schema_drift.jsonl": ("pi", 1, 1, 1, 0, None, []),
    f"openclaw/{FIX}/small.jsonl": ("pi", 1, 1, 1, 0, None, []),
    "openclaw-telemetry/crux1-sample-telemetry.jsonl": (
        "openclaw_telemetry",
        2,
        8,
        7,
        0,
        126275,
        [],
    ),
    "openclaw-telemetry/sample-telemetry.jsonl": ("openclaw_telemetry", 5, 12, 14, 0, None, []),
    f"opencode/{FIX}/storage_legacy/session/proj_test/ses_s_stage0_drift.json": (
        "opencode",
        1,
        1,
        1,
        0,
        None,
        [],
    ),
    f"opencode/{FIX}/storage_v2/session/proj_test/ses_s_stage0_large.json": (
        "opencode",
        1,
        2,
        1,
        1,
        136,
        [],
    ),
    f"opencode/{FIX}/storage_v2/session/proj_test/ses_s_stage0_small.json": (
        "opencode",
        1,
        1,
        1,
        0,
        None,
        [],
    ),
    "opencode/fixtures_tokscale/msg_test001.json": ("opencode", 1, 1, 0, 0, 1800, []),
    f"kimi_cli/{FIX}/assistant_tools.jsonl": ("kimi_cli", 1, 22, 19, 1, 697193, []),
    f"kimi_cli/{FIX}/assistant_tools.state.json": ("kimi_cli", 0, 0, 0, 0, None, []),
    f"kimi_cli/{FIX}/small.jsonl": ("kimi_cli", 1, 0, 0, 0, None, []),
    f"kimi_cli/{FIX}/state.json": ("kimi_cli", 0, 0, 0, 0, None, []),
    f"kimi_cli/{FIX}/subagent_agent-0.jsonl": ("kimi_cli", 1, 3, 2, 0, 41651, []),
    f"antigravity/{FIX}/cli_schema_drift.jsonl": ("antigravity", 1, 2, 1, 0, None, []),
    f"antigravity/{FIX}/cli_small.jsonl": ("antigravity", 1, 10, 9, 0, None, []),
    f"cursor/{FIX}/large.jsonl": ("cursor", 1, 5, 2, 0, None, []),
    f"cursor/{FIX}/schema_drift.jsonl": ("cursor", 1, 2, 1, 0, None, []),
    f"cursor/{FIX}/small.jsonl": ("cursor", 1, 2, 1, 0, None, []),
    f"cursor/{FIX}/subagent/parent.jsonl": ("cursor", 1, 1, 1, 0, None, []),
    f"cursor/{FIX}/subagent/subagents/child.jsonl": ("cursor", 1, 1, 0, 0, None, []),
    f"factory_droid/{FIX}/session_store_large.jsonl": ("factory_droid", 1, 4, 1, 0, None, []),
    f"factory_droid/{FIX}/session_store_schema_drift.jsonl": (
        "factory_droid",
        1,
        1,
        0,
        0,
        None,
        [],
    ),
    f"factory_droid/{FIX}/session_store_small.jsonl": ("factory_droid", 1, 1, 1, 1, None, []),
    f"factory_droid/{FIX}/stream_json_large.jsonl": ("factory_droid", 1, 2, 1, 0, None, []),
    f"factory_droid/{FIX}/stream_json_schema_drift.jsonl": ("factory_droid", 1, 2, 1, 1, 15, []),
    f"factory_droid/{FIX}/stream_json_small.jsonl": ("factory_droid", 1, 2, 1, 0, None, []),
    f"grok/{FIX}/chat_history.jsonl": ("grok", 1, 2, 3, 0, None, []),
    f"grok/{FIX}/subagent/chat_history.jsonl": ("grok", 1, 2, 1, 0, None, []),
    f"grok/{FIX}/subagent/summary.json": ("grok", 0, 0, 0, 0, None, []),
    f"grok/{FIX}/summary.json": ("grok", 0, 0, 0, 0, None, []),
    f"hermes/{FIX}/large.json": ("hermes", 1, 2, 1, 0, None, []),
    f"hermes/{FIX}/schema_drift.json": ("hermes", 1, 1, 1, 1, None, []),
    f"hermes/{FIX}/small.json": ("hermes", 1, 1, 0, 0, None, []),
}
#: readers whose logs tell usage, or enough to count calls by another program
COUNTED = ("gemini_cli", "pi", "openclaw_telemetry", "copilot_cli", "kimi_cli", "qwen_code")
#: harvests of single lines that share one id, files in which one message is of an unknown shape,
#: totals of a session without the responses they belong to
UNCOUNTED = ("copilot_cli/fixtures", "gemini_cli/fixtures_agent-sessions/large.json", "small.jsonl")


def summary(path):
    report = audit(AuditOptions([str(path)], processes=1, now=2e9))
    totals = report.totals
    (entry,) = report.inputs
    assert report.failures == []
    assert report.skips == []
    assert entry.confidence >= 0.8
    onsets = [(finding.rule, finding.onset.line) for finding in report.findings]
    counts = (totals.responses, totals.calls, totals.calls_failed, totals.tokens.total)
    return (entry.format, len(report.runs), *counts, onsets)


@pytest.mark.parametrize("name", GOLDEN)
def test_a_file_is_read_by_its_reader_as_reviewed(shared, name):
    assert summary(shared / "corpus" / name) == GOLDEN[name]


def test_no_file_of_these_agents_is_left_out(shared):
    folders = {name.partition("/")[0] for name in GOLDEN}
    corpus = shared / "corpus"
    found = {p.relative_to(corpus).as_posix() for f in folders for p in (corpus / f).rglob("*")}
    found = {name for name in found if name.endswith((".json", ".jsonl"))}
    parts = {n for n in found if "/storage_" in n and "/session/" not in n}  # of the sessions there
    assert found - parts == set(GOLDEN)


@pytest.mark.parametrize(
    "name",
    [n for n, row in GOLDEN.items() if row[0] in COUNTED and not any(u in n for u in UNCOUNTED)],
)
def test_calls_and_tokens_equal_a_second_count(shared, name):
    reader, _, _, calls, failed, tokens, _ = GOLDEN[name]
    values = independent_coding.records(shared / "corpus" / name)
    if reader in ("kimi_cli", "openclaw_telemetry") and not tokens:
        return  # nothing but settings, or tool events alone
    assert getattr(independent_coding, reader)(values) == (calls, failed, tokens or 0)


def test_the_sessions_of_pi_add_up_to_the_dollars_they_record(shared):
    report = audit(AuditOptions([str(shared / "corpus/pi")], processes=1, now=2e9))
    recorded = {run.path.rpartition("/")[2]: run.recorded_usd for run in report.runs}
    assert {name: round(float(usd), 2) for name, usd in recorded.items() if usd is not None} == {
        "v1_before-compaction_2025-12.jsonl": 42.60,
        "v1_large-session_2025-11.jsonl": 30.33,
        "v1_compact_v0.27.9_2025-12.jsonl": 29.74,
    }
