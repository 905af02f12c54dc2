"""Readers of evaluations and frameworks on every file of the corpus: a golden summary each.

Runs, responses, calls, failed calls and tokens of each file, lines on which loops began, outcomes.
Checked by hand against the files, one a format at least:

- inspect: `inspect_0.3.285_loop_demo.json`: four model events of 100 + 40 cached input and 10
  output, as `stats.model_usage` sums them (400, 160, 40); two of four tool events have an error;
  the archive of the same run gives the same. `security-guide….eval`: 16 samples, each with a
  second model event under its scorer, which is left out. `log_message_deduplication.eval`: six
  model events, five calls of `ls` from the second on alike.
- atif: `terminus_2_…`: 682 + 750 + 820 prompt and 60 + 50 + 50 completion tokens, as
  `final_metrics`; one command of each step stands in the JSON of its message.
- swe_agent: calls are steps; tokens are `model_stats` (122,612 + 1,369 in `pydicom`).
- mini_swe_agent: `loop_v2…`: six billed responses (`api_calls: 6`), three of them refused.
- openhands_v0: `resolver_output.jsonl`: 4 + 22 responses, as many as `metrics.costs` has.
- openhands_v1: `goal_events.jsonl`: the last counter says 107,458 + 1,347; four steps of it.
- tau_bench: 1,164 calls and 73 of their results begin with "Error", by jq; 73 ids come again.
- tau2_bench: sums of `usage` and `cost` over messages of the assistant, by jq.
- intercode: turns and failures are those that the labelled set of the same files has.
- devai: sums of `step_usage`; the last `accumulated_cost` is their cost.
- autogen: sum of `models_usage`; ag2, crewai: totals of their cost blocks.
- smolagents: nine steps of 100 + 20, eight with a call in the model's words.
- langchain, langgraph: five answers of 100 … 340 input, 256 of it cached, 20 output each.
- who_and_when, magentic_one: requests to a member with the answer that follows, counted by eye.
"""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from api_files import feed, sample_of, values_of

from loopaudit.model import RunPiece
from loopaudit.plugins import FORMATS, load
from loopaudit.replay.audit import AuditOptions, audit

#: file -> format, runs, responses, calls, failed, tokens as (fresh, read, written, output) or None,
#: lines on which loops began, outcomes and how often
GOLDEN = {
    "inspect/2024-11-05T13-31-45-05-00_input-task_8zXjbRzCWrL9GXiXo2vus9.json": (
        "inspect",
        1,
        1,
        0,
        0,
        (53, None, None, 46),
        [],
        {"success": 1},
    ),
    "inspect/2025-05-12T20-28-13-04-00_no-samples.json": ("inspect", 0, 0, 0, 0, None, [], {}),
    "inspect/2025-05-12T20-28-13-04-00_popularity.json": (
        "inspect",
        3,
        3,
        0,
        0,
        (192, 0, None, 6),
        [],
        {"failure": 1, "success": 2},
    ),
    "inspect/2025-09-23T08-09-58-04-00_security-guide_LuxZJVwvymC3S3SyoJczxB.eval": (
        "inspect",
        16,
        16,
        0,
        0,
        (1003, 0, None, 283),
        [],
        {"failure": 5, "success": 11},
    ),
    "inspect/inspect_0.3.285_loop_demo.json": (
        "inspect",
        1,
        4,
        4,
        2,
        (400, 160, None, 40),
        [],
        {"success": 1},
    ),
    "inspect/inspect_0.3.285_loop_demo_zstd.eval": (
        "inspect",
        1,
        4,
        4,
        2,
        (400, 160, None, 40),
        [],
        {"success": 1},
    ),
    "inspect/log_formats.eval": ("inspect", 1, 1, 0, 0, (66, None, None, 2), [], {"failure": 1}),
    "inspect/log_message_deduplication.eval": ("inspect", 1, 6, 5, 0, None, [3], {"failure": 1}),
    "inspect/log_read_sample.eval": (
        "inspect",
        1,
        1,
        0,
        0,
        (66, None, None, 3),
        [],
        {"success": 1},
    ),
    "inspect/log_read_sample.json": (
        "inspect",
        1,
        1,
        0,
        0,
        (66, None, None, 3),
        [],
        {"success": 1},
    ),
    "inspect/log_streaming.eval": (
        "inspect",
        4,
        4,
        0,
        0,
        (252, None, None, 6),
        [],
        {"failure": 1, "success": 3},
    ),
    "inspect/log_tool_call_error.json": ("inspect", 0, 0, 0, 0, None, [], {}),
    "inspect/parallel_spans.json": ("inspect", 1, 2, 0, 0, None, [], {}),
    "atif/atif_multiagent.json": ("atif", 1, 3, 3, 1, None, [], {}),
    "atif/atif_two.jsonl": ("atif", 2, 6, 6, 2, None, [], {}),
    "atif/openhands_hello-world.trajectory.json": (
        "atif",
        1,
        2,
        2,
        0,
        (220, None, None, 80),
        [],
        {},
    ),
    "atif/openhands_hello-world.trajectory.no_function_calling.json": (
        "atif",
        1,
        2,
        2,
        0,
        (220, None, None, 80),
        [],
        {},
    ),
    "atif/terminus_2_hello-world-context-summarization-linear-history.trajectory.json": (
        "atif",
        1,
        3,
        3,
        0,
        (2252, None, None, 160),
        [],
        {},
    ),
    "swe-agent/6e44b9__sweagenttestrepo-1c2844.traj": (
        "swe_agent",
        1,
        5,
        5,
        0,
        (7141, None, None, 243),
        [],
        {"submitted": 1},
    ),
    "swe-agent/ctf_crypto_katy.traj": ("swe_agent", 1, 18, 18, 1, None, [], {"submitted": 1}),
    "swe-agent/ctf_forensics_flash.traj": ("swe_agent", 1, 4, 4, 0, None, [], {"submitted": 1}),
    "swe-agent/ctf_misc_networking_1.traj": ("swe_agent", 1, 4, 4, 0, None, [], {"submitted": 1}),
    "swe-agent/ctf_rev_rock.traj": ("swe_agent", 1, 12, 12, 1, None, [], {"submitted": 1}),
    "swe-agent/marshmallow_v1_function_calling.traj": (
        "swe_agent",
        1,
        11,
        11,
        0,
        None,
        [],
        {"submitted": 1},
    ),
    "swe-agent/pydicom__pydicom-1458.traj": (
        "swe_agent",
        1,
        12,
        12,
        1,
        (122612, None, None, 1369),
        [],
        {"submitted": 1},
    ),
    "mini-swe-agent/github_issue.traj.json": ("mini_swe_agent", 1, 10, 10, 2, None, [], {}),
    "mini-swe-agent/local.traj.json": ("mini_swe_agent", 1, 2, 2, 0, None, [], {}),
    "mini-swe-agent/loop_v2_format_1.1.traj.json": (
        "mini_swe_agent",
        1,
        6,
        3,
        3,
        (1000, 320, None, 120),
        [136],
        {"RepeatedFormatError": 1},
    ),
    "openhands-v0/example_model_output.json": ("openhands_v0", 0, 0, 0, 0, None, [], {}),
    # three edits in Python cells found "No exact match" for the text to replace
    "openhands-v0/resolver_output.jsonl": ("openhands_v0", 2, 26, 26, 3, None, [], {"success": 2}),
    "openhands-v0/traj_basic_gui_mode.json": (
        "openhands_v0",
        1,
        5,
        4,
        1,
        (22, 11793, 5482, 2024),
        [],
        {},
    ),
    "openhands-v0/traj_basic_interactions.json": (
        "openhands_v0",
        1,
        3,
        1,
        0,
        (169, 2304, None, 10),
        [],
        {},
    ),
    "openhands-v0/traj_wrong_initial_state.json": (
        "openhands_v0",
        1,
        4,
        4,
        0,
        (22, 10879, 3927, 358),
        [],
        {},
    ),
    "openhands-v1/goal_events.jsonl": ("openhands_v1", 1, 4, 2, 2, (39265, 68193, 0, 1347), [], {}),
    "openhands-v1/v1_11_5_cli_default/base_state.json": ("openhands_v1", 0, 0, 0, 0, None, [], {}),
    "tau-bench/MockAirlineDomainEnv-few_shot.jsonl": ("tau_bench", 19, 222, 105, 5, None, [], {}),
    "tau-bench/gpt-4o-airline.json": (
        "tau_bench",
        200,
        2454,
        1164,
        73,
        None,
        [16224, 29581, 30203],
        {"failure": 116, "success": 84},
    ),
    "tau-bench/tau_dataset_failed.json": ("tau_bench", 29, 503, 284, 15, None, [], {"failure": 29}),
    "tau2-bench/airline_relaxed_grok-3-mini.json": (
        "tau2_bench",
        4,
        39,
        16,
        1,
        (209549, None, None, 4740),
        [],
        {"failure": 4},
    ),
    "tau2-bench/voice_experiment/results.json": ("tau2_bench", 0, 0, 0, 0, None, [], {}),
    "tau2-bench/voice_experiment/simulations/49b22f0c-4a56-41c5-922f-bc2a56e53a23.json": (
        "tau2_bench",
        1,
        15,
        0,
        0,
        None,
        [],
        {},
    ),
    "tau2-bench/voice_experiment/simulations/7c6a3e3e-ac3f-406f-aea9-8cacb0a2e680.json": (
        "tau2_bench",
        1,
        19,
        0,
        0,
        None,
        [],
        {},
    ),
    "intercode/ic_bash_multiturn_gpt-4_10_turns_fs_1.json": (
        "intercode",
        60,
        401,
        401,
        101,
        None,
        [48, 136, 251, 312, 400],
        {"partial": 35, "success": 25},
    ),
    "intercode/ic_bash_multiturn_text-bison-001_10_turns_fs_3.json": (
        "intercode",
        60,
        514,
        514,
        133,
        None,
        [10, 72, 134, 196, 261],
        {"partial": 50, "success": 10},
    ),
    "intercode/ic_bash_react_10_turns_fs_1.json": (
        "intercode",
        60,
        290,
        290,
        74,
        None,
        [278, 354, 1358, 1556, 1832],
        {"failure": 1, "partial": 46, "success": 13},
    ),
    "intercode/ic_python_multiturn_gpt-3.5_7_turns.json": (
        "intercode",
        117,
        430,
        430,
        16,
        None,
        [1],
        {"failure": 37, "partial": 11, "success": 69},
    ),
    "devai-trajectory/OpenHands_39.json": (
        "devai",
        1,
        34,
        33,
        3,
        (508344, None, None, 4373),
        [],
        {},
    ),
    "who_and_when/Algorithm-Generated_103.json": (
        "who_and_when",
        1,
        5,
        4,
        1,
        None,
        [],
        {"failure": 1},
    ),
    "who_and_when/Algorithm-Generated_108.json": (
        "who_and_when",
        1,
        8,
        1,
        1,
        None,
        [],
        {"failure": 1},
    ),
    "who_and_when/Hand-Crafted_1.json": ("who_and_when", 1, 8, 7, 0, None, [], {"failure": 1}),
    "who_and_when/Hand-Crafted_10.json": ("who_and_when", 1, 12, 11, 0, None, [], {"failure": 1}),
    "who_and_when/Hand-Crafted_33.json": ("who_and_when", 1, 3, 2, 0, None, [], {"failure": 1}),
    "magentic-one/08cae58d-4084-4616-b6dd-dd6534e4825b.json": (
        "magentic_one",
        1,
        37,
        30,
        0,
        None,
        [],
        {},
    ),
    "magentic-one/2dfc4c37-fec1-4518-84a7-10095d30ad75.json": (
        "magentic_one",
        1,
        6,
        4,
        0,
        None,
        [],
        {},
    ),
    "magentic-one/magentic_one_ground_truth.json": ("magentic_one", 0, 0, 0, 0, None, [], {}),
    "autogen/task_result.json": ("autogen", 1, 7, 4, 3, (1960, None, None, 140), [46, 160], {}),
    "autogen/team_state.json": ("autogen", 1, 7, 4, 3, (1960, None, None, 140), [180, 294], {}),
    "ag2/chat_result.json": ("ag2", 1, 5, 4, 3, (1100, None, None, 100), [35], {}),
    "smolagents/full_steps.json": ("smolagents", 1, 9, 8, 8, (900, 0, None, 180), [143], {}),
    "smolagents/run_result.json": (
        "smolagents",
        1,
        9,
        8,
        8,
        (900, 0, None, 180),
        [146],
        {"max_steps_error": 1},
    ),
    "crewai/crew_output.json": ("crewai", 1, 5, 4, 3, (844, 256, 0, 100), [45], {}),
    "crewai/output_log_file.json": ("crewai", 1, 1, 0, 0, None, [], {}),
    "langchain-messages/messages_dumpd.json": (
        "langchain_messages",
        1,
        5,
        4,
        3,
        (844, 256, None, 100),
        [105],
        {},
    ),
    "langchain-messages/messages_model_dump.json": (
        "langchain_messages",
        1,
        5,
        4,
        3,
        (844, 256, None, 100),
        [82],
        {},
    ),
    "langchain-messages/messages_to_dict.json": (
        "langchain_messages",
        1,
        5,
        4,
        3,
        (844, 256, None, 100),
        [91],
        {},
    ),
    "langgraph/state_history.json": ("langgraph", 1, 5, 4, 3, (844, 256, None, 100), [1918], {}),
}


def summary(path):
    options = AuditOptions([str(path)], guards=("loopaudit",), processes=1, now=2e9)
    report = audit(options)
    totals, tokens = report.totals, report.totals.tokens
    outcomes: dict[str, int] = {}
    for run in report.runs:
        if run.outcome is not None and run.outcome_by == "log":  # not what was inferred
            outcomes[run.outcome] = outcomes.get(run.outcome, 0) + 1
    used = (tokens.fresh_input, tokens.cache_read, tokens.cache_write, tokens.output)
    return report, (
        report.inputs[0].format,
        len(report.runs),
        totals.responses,
        totals.calls,
        totals.calls_failed,
        None if tokens.total is None else used,
        sorted({finding.onset.line for finding in report.findings})[:5],
        dict(sorted(outcomes.items())),
    )


@pytest.mark.parametrize("name", GOLDEN)
def test_each_file_gives_its_golden_summary(shared, name):
    report, found = summary(shared / "corpus" / name)
    assert found == GOLDEN[name]
    assert report.skips == []
    assert report.failures == []
    assert report.inputs[0].confidence >= 0.9
    entry = report.inputs[0]
    assert entry.records_used + sum(entry.records_ignored.values()) > 0


FOLDERS = sorted({name.partition("/")[0] for name in GOLDEN})
OURS = [
    name
    for name, reference in FORMATS.items()
    if ".formats.evals." in reference or ".formats.frameworks." in reference
]


def test_the_table_holds_every_file_of_its_folders(shared):
    corpus = shared / "corpus"
    files = [path for folder in FOLDERS for path in (corpus / folder).rglob("*") if path.is_file()]
    assert {path.relative_to(corpus).as_posix() for path in files} == set(GOLDEN)


def test_no_file_of_another_format_is_claimed(shared):
    """And of our own formats none but the right one is nearly as sure."""
    corpus = shared / "corpus"
    checked = 0
    for path in sorted(corpus.rglob("*")):
        if not path.is_file() or path.suffix in (".eval", ".md", ".tsv"):
            continue
        sample = sample_of(path)
        if not sample.records:
            continue
        checked += 1
        name = path.relative_to(corpus).as_posix()
        scores = {form: load(FORMATS[form], form).sniff(sample) for form in OURS}
        expected = GOLDEN[name][0] if name in GOLDEN else None
        sure = {form for form, score in scores.items() if score >= 0.3}
        assert sure == ({expected} if expected else set()), (name, scores)
    assert checked > 200


# -- figures counted by another way ----------------------------------------------------------------


def load_file(shared, name):
    return json.loads((shared / "corpus" / name).read_text(encoding="utf-8"))


def test_recorded_costs_add_up_to_those_of_the_log(shared):
    grok = load_file(shared, "tau2-bench/airline_relaxed_grok-3-mini.json")
    cost = sum(Decimal(str(sim["agent_cost"])) for sim in grok["simulations"])
    expected = {
        "tau2-bench/airline_relaxed_grok-3-mini.json": cost,
        "mini-swe-agent/loop_v2_format_1.1.traj.json": Decimal("0.000246"),
        "devai-trajectory/OpenHands_39.json": Decimal("2.607315"),
        "swe-agent/pydicom__pydicom-1458.traj": Decimal("1.26719"),
        "ag2/chat_result.json": Decimal("0.000225"),
        "atif/openhands_hello-world.trajectory.json": Decimal("0.00135"),
        "openhands-v0/resolver_output.jsonl": Decimal("0.070713") + Decimal("1.152933"),
    }
    for name, money in expected.items():
        report, _ = summary(shared / "corpus" / name)
        assert abs(report.totals.recorded_usd - money) < Decimal("1e-9"), name


def test_repeated_ids_leave_no_result_behind(shared):
    """73 ids of gpt-4o-airline come again within their run, for other calls."""
    runs = load_file(shared, "tau-bench/gpt-4o-airline.json")
    repeated = 0
    for run in runs:
        ids = [c["id"] for m in run["traj"] for c in m.get("tool_calls") or []]
        repeated += len(ids) - len(set(ids))
    assert repeated == 73
    report, _ = summary(shared / "corpus" / "tau-bench/gpt-4o-airline.json")
    assert report.totals.calls == 1164
    assert report.totals.duplicates_removed == 0


def test_states_of_a_graph_repeat_what_counts_once(shared):
    states = load_file(shared, "langgraph/state_history.json")
    assert sum(len(state["values"]) for state in states) == 55
    _, pieces = feed("langgraph", values_of(shared / "corpus" / "langgraph/state_history.json")[0])
    assert len([p for p in pieces if not isinstance(p, RunPiece)]) == 10


def test_an_archive_and_a_document_of_like_runs_say_the_same(shared):
    one, two = (
        summary(shared / "corpus" / f"inspect/inspect_0.3.285_loop_demo{ending}")[0]
        for ending in (".json", "_zstd.eval")
    )
    assert one.totals.tokens == two.totals.tokens
    assert one.totals.calls_failed == two.totals.calls_failed == 2


def test_labelled_failures_of_the_same_runs(shared):
    """The labelled sets were made from these files by another program."""
    import gzip

    pairs = {
        "intercode_bash": (
            "gpt-4_10_turns_fs_1",
            "intercode/ic_bash_multiturn_gpt-4_10_turns_fs_1.json",
        ),
        "intercode_python": (
            "gpt-3.5_7_turns",
            "intercode/ic_python_multiturn_gpt-3.5_7_turns.json",
        ),
        "tau_airline": ("gpt-4o", "tau-bench/gpt-4o-airline.json"),
    }
    for labelled, (group, name) in pairs.items():
        with gzip.open(shared / "labelled" / f"{labelled}.jsonl.gz") as stream:
            runs = [json.loads(line) for line in stream]
        calls = [c for run in runs if run["group"] == group for c in run["calls"]]
        good = sum(run["success"] for run in runs if run["group"] == group)
        _, _, _, found, failed, _, _, outcomes = GOLDEN[name]
        assert (found, failed) == (len(calls), sum(c["error"] for c in calls)), name
        assert outcomes["success"] == good, name


def test_waste_of_logs_without_usage_is_unknown_and_not_zero(shared):
    """Runs without loops waste nothing, which says nothing of those with loops."""
    from loopaudit.render.terminal import _headline

    name = "intercode/ic_bash_react_10_turns_fs_1.json"
    report, _ = summary(shared / "corpus" / name)
    assert len(report.findings) > 1
    assert report.totals.waste.tokens is None
    assert _headline(report).endswith("waste unknown: the log has no usage")
