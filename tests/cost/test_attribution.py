"""Costs by each dimension, by hand; every row set adds up to the totals of the report."""

from __future__ import annotations

import json
from datetime import UTC
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from billing import audited, book, by_label, costs, log, run, said, settings, user

from loopaudit.cost.attribution import attribute
from loopaudit.cost.dimensions import NAMES
from loopaudit.findings import Completeness

BERLIN = ZoneInfo("Europe/Berlin")


# -- days (S3) ------------------------------------------------------------------------------------


def clock_change(folder: Path) -> Path:
    return log(
        folder,
        "s3",
        [
            run("r1"),
            said("a", 1_000, at="2026-03-29T00:30:00Z"),
            said("b", 2_000, at="2026-03-29T23:30:00Z"),
        ],
    )


def test_days_of_a_zone_with_a_clock_change(tmp_path: Path) -> None:
    found = by_label(costs(clock_change(tmp_path), by="day", zone=BERLIN))
    assert {day: amounts.tokens for day, amounts in found.items()} == {
        "2026-03-29": 1_000,
        "2026-03-30": 2_000,
    }


def test_the_same_log_in_utc(tmp_path: Path) -> None:
    found = by_label(costs(clock_change(tmp_path), by="day", zone=UTC))
    assert {day: amounts.tokens for day, amounts in found.items()} == {"2026-03-29": 3_000}


def test_the_longest_and_the_shortest_day(tmp_path: Path) -> None:
    hours = [f"2026-{day}T{hour:02d}:30:00Z" for day in ("03-28", "03-29") for hour in range(24)]
    hours += [f"2026-{day}T{hour:02d}:30:00Z" for day in ("10-24", "10-25") for hour in range(24)]
    path = log(tmp_path, "h", [run("r"), *(said(f"s{at}", 1, at=at) for at in hours)])
    found = by_label(costs(path, by="day", zone=BERLIN))
    assert found["2026-03-29"].responses == 23
    assert found["2026-10-25"].responses == 25


def test_weeks_start_on_monday_and_belong_to_the_year_of_their_thursday(tmp_path: Path) -> None:
    path = log(
        tmp_path,
        "w",
        [
            run("r"),
            said("a", 10, at="2026-12-31T12:00:00Z"),
            said("b", 20, at="2027-01-03T12:00:00Z"),
            said("c", 40, at="2027-01-04T12:00:00Z"),
        ],
    )
    found = by_label(costs(path, by="week"))
    assert {week: a.tokens for week, a in found.items()} == {"2026-W53": 30, "2027-W01": 40}
    found = by_label(costs(path, by="month"))
    assert {month: a.tokens for month, a in found.items()} == {"2026-12": 10, "2027-01": 60}


def test_a_response_without_a_time_is_on_no_day(tmp_path: Path) -> None:
    path = log(tmp_path, "t", [run("r"), said("a", 10, at="2026-05-01T12:00:00Z"), said("b", 5)])
    found = by_label(costs(path, by="day"))
    assert {day: a.tokens for day, a in found.items()} == {"2026-05-01": 10, None: 5}


# -- sessions and copies (C3) ---------------------------------------------------------------------


def resumed(folder: Path) -> tuple[Path, Path]:
    first = said("response-number-one", 4_000, at="2026-05-01T10:00:00Z")
    second = said("response-number-two", 5_000, at="2026-05-01T10:01:00Z")
    third = said("response-number-three", 6_000, at="2026-05-02T10:00:00Z")
    return (
        log(folder, "one", [run("A", session="A"), first, second]),
        log(folder, "two", [run("B", session="B"), first, second, third]),
    )


@pytest.mark.parametrize("turned", [False, True])
def test_copied_history_is_inherited_whatever_the_order(tmp_path: Path, turned: bool) -> None:
    files = resumed(tmp_path)
    found = costs(*(reversed(files) if turned else files), by="session")
    rows = by_label(found)
    assert found.total.tokens == 15_000
    assert (rows["A"].tokens, rows["A"].inherited_tokens) == (9_000, None)
    assert (rows["B"].tokens, rows["B"].inherited_tokens) == (6_000, 9_000)
    assert (rows["B"].responses, found.total.responses) == (1, 3)


def test_inherited_tokens_stay_on_their_own_day(tmp_path: Path) -> None:
    rows = by_label(costs(*resumed(tmp_path), by="day"))
    assert (rows["2026-05-01"].tokens, rows["2026-05-01"].inherited_tokens) == (9_000, 9_000)
    assert (rows["2026-05-02"].tokens, rows["2026-05-02"].inherited_tokens) == (6_000, None)


def family(folder: Path) -> Path:
    """main (two requests) starts a scout in the second; the scout starts one of its own."""
    return log(
        folder,
        "family",
        [
            run("main", session="S", project="/work", user="ann", outcome="passed"),
            user("2026-05-01T10:00:00Z"),
            said("m1", 100, at="2026-05-01T10:00:01Z"),
            user("2026-05-01T10:01:00Z"),
            said("m2", 200, 0, "spawn", at="2026-05-01T10:01:01Z"),
            said("m3", 400, at="2026-05-01T10:09:00Z"),
            run("scout", parent="main", parent_call="m2-0", agent="scout"),
            said("s1", 1_000, at="2026-05-01T10:02:00Z"),
            run("deep", parent="scout", agent="scout"),
            said("d1", 2_000, at="2026-05-01T10:03:00Z"),
        ],
    )


def test_a_session_holds_its_sub_agents(tmp_path: Path) -> None:
    rows = by_label(costs(family(tmp_path), by="session"))
    assert {name: a.tokens for name, a in rows.items()} == {"S": 3_700}


def test_a_sub_agent_answers_the_request_in_which_it_was_started(tmp_path: Path) -> None:
    rows = by_label(costs(family(tmp_path), by="request"))
    assert {name: a.tokens for name, a in rows.items()} == {"S #1": 100, "S #2": 3_600}


def test_without_the_id_of_the_call_the_time_tells_the_request(tmp_path: Path) -> None:
    records = [
        run("main", session="S"),
        user(),
        said("m1", 100, at="2026-05-01T10:00:01Z"),
        user(),
        said("m2", 200, at="2026-05-01T10:01:01Z"),
        run("early", parent="main"),
        said("e1", 1_000, at="2026-05-01T10:00:30Z"),
        run("before", parent="main"),
        said("b1", 5_000, at="2026-05-01T09:00:00Z"),
    ]
    rows = by_label(costs(log(tmp_path, "f", records), by="request"))
    assert {name: a.tokens for name, a in rows.items()} == {"S #1": 1_100, "S #2": 200, None: 5_000}


def test_injected_text_is_no_request(tmp_path: Path) -> None:
    hook = {"type": "boundary", "kind": "hook", "text": "go on"}
    records = [run("r", session="S"), said("a", 1), user(), said("b", 2), hook, said("c", 4)]
    rows = by_label(costs(log(tmp_path, "f", records), by="request"))
    assert {name: a.tokens for name, a in rows.items()} == {"S #0": 1, "S #1": 6}
    silent = costs(log(tmp_path, "g", [run("r2"), hook, said("d", 2)]), by="request")
    assert silent.nowhere == ["request"]


def test_agents_alone_and_with_those_they_started(tmp_path: Path) -> None:
    found = costs(family(tmp_path), by="agent")
    rows = {row.key[0]: row for row in found.rows}
    assert {name: row.amounts.tokens for name, row in rows.items()} == {"main": 700, "scout": 3_000}
    below = {name: row.below.tokens for name, row in rows.items() if row.below}
    assert below == {"main": 3_700, "scout": 3_000}  # the scout's scout is counted once
    found = costs(family(tmp_path), by="run")
    below = {row.key[0]: row.below.tokens for row in found.rows if row.below}
    assert below == {"main": 3_700, "scout": 3_000, "deep": 2_000}


def test_runs_that_start_each_other_end_somewhere(tmp_path: Path) -> None:
    records = [run("a", parent="b"), said("x", 1), run("b", parent="a"), said("y", 2)]
    found = costs(log(tmp_path, "f", records), by="session")
    assert found.total.tokens == 3


def test_project_user_and_outcome_come_down_to_sub_agents(tmp_path: Path) -> None:
    for by, label in (("project", "/work"), ("user", "ann"), ("outcome", "passed")):
        rows = by_label(costs(family(tmp_path), by=by))
        assert {name: a.tokens for name, a in rows.items()} == {label: 3_700}


def test_what_no_log_tells_is_said(tmp_path: Path) -> None:
    found = costs(family(tmp_path), by="host")
    assert found.nowhere == ["host"]
    assert {name: a.tokens for name, a in by_label(found).items()} == {None: 3_700}


# -- tools ----------------------------------------------------------------------------------------


def test_a_response_is_split_over_its_calls(tmp_path: Path) -> None:
    records = [
        run("r"),
        said("a", 900, 100, "read", "read", "grep"),  # 1,000 tokens: 334, 333, 333
        said("b", 50, 5, "grep"),
        said("c", 70, 7),
    ]
    rows = by_label(costs(log(tmp_path, "t", records), by="tool"))
    assert {tool: a.tokens for tool, a in rows.items()} == {
        "read": 667,
        "grep": 333 + 55,
        "(no tool)": 77,
    }
    assert {tool: a.calls for tool, a in rows.items()} == {"read": 2, "grep": 2, "(no tool)": 0}
    assert {tool: a.responses for tool, a in rows.items()} == {
        "read": 1,
        "grep": 1,
        "(no tool)": 1,
    }
    # 900 · $1 + 100 · $10 = $0.0019, in thirds; what does not divide goes to the first call
    assert rows["read"].pico == 633_333_334 + 633_333_333
    assert rows["grep"].usd == Decimal("0.000633333333") + Decimal("0.0001")


def test_tools_and_days_together(tmp_path: Path) -> None:
    records = [
        run("r"),
        said("a", 10, 0, "read", at="2026-05-01T12:00:00Z"),
        said("b", 20, 0, "read", at="2026-05-02T12:00:00Z"),
        said("c", 40, 0, "grep", "read", at="2026-05-02T12:01:00Z"),
    ]
    rows = by_label(costs(log(tmp_path, "t", records), by=("day", "tool")))
    assert {key: a.tokens for key, a in rows.items()} == {
        ("2026-05-01", "read"): 10,
        ("2026-05-02", "read"): 40,
        ("2026-05-02", "grep"): 20,
    }


# -- money and marks ------------------------------------------------------------------------------


def test_the_arithmetic_of_the_backstop(tmp_path: Path) -> None:
    """3,000 in and 500 out at $0.005 and $0.015 per 1k: $0.0225 a step (guards.md §3)."""
    prices = {"model": [{"model": "m", "input": 5, "output": 15}]}
    for steps, total in ((1, "0.0225"), (100, "2.25"), (1_000, "22.50")):
        records = [run("r"), *(said(f"s{n}", 3_000, 500, model="m") for n in range(steps))]
        path = log(tmp_path, f"n{steps}", records)
        report, runs = audited(path, chosen=settings(prices=prices))
        found = attribute(runs, ("model",), UTC, book(settings(prices=prices)), report)
        assert found.total.usd == Decimal(total)


def test_dearest_first_then_by_tokens_then_by_name(tmp_path: Path) -> None:
    records = [
        run("b"),
        said("1", 100),
        run("a"),
        said("2", 100),
        run("c"),
        said("3", 900, model="unknown-model"),
        run("d"),
        said("4", 50, 10),  # 50 · 1 + 10 · 10 = 150
    ]
    found = costs(log(tmp_path, "o", records), by="session")
    assert [row.key[0] for row in found.rows] == ["d", "a", "b", "c"]


def test_marks_of_a_row_are_its_own(tmp_path: Path) -> None:
    estimated = said("d", 4)
    estimated["usage"]["mark"] = "estimated"
    records = [
        run("priced"),
        said("a", 10),
        run("unpriced"),
        said("b", 20, model="unknown-model"),
        run("silent"),
        said("c"),
        run("guessed"),
        estimated,
    ]
    found = costs(log(tmp_path, "m", records), by="session")
    rows = by_label(found)
    assert {name: a.completeness.value for name, a in rows.items()} == {
        "priced": "complete",
        "unpriced": "lower_bound",
        "silent": "lower_bound",
        "guessed": "estimated",
    }
    assert (rows["unpriced"].unpriced_tokens, rows["unpriced"].usd) == (20, None)
    assert (rows["silent"].tokens, rows["silent"].absent) == (None, 1)
    assert found.total.completeness is Completeness.LOWER_BOUND


def test_a_log_that_lost_records_makes_its_rows_partial(tmp_path: Path) -> None:
    good = log(tmp_path, "good", [run("good"), said("a", 10)])
    bad = log(tmp_path, "bad", [run("bad"), said("b", 10)])
    bad.write_text(bad.read_text() + "}broken{\n" + '{"type": "run", "run": "bad"}\n')
    rows = by_label(costs(good, bad, by="session"))
    assert rows["good"].completeness is Completeness.COMPLETE
    assert rows["bad"].completeness is Completeness.PARTIAL


def test_money_of_the_log_stands_beside_the_list(tmp_path: Path) -> None:
    records = [run("r"), said("a", 1_000, cost="0.25"), said("b", 1_000)]
    found = costs(log(tmp_path, "c", records), by="model")
    assert found.rows[0].amounts.recorded_pico == 250_000_000_000
    assert found.total.usd == Decimal("0.002")


def test_a_time_window_leaves_out_what_lies_outside(tmp_path: Path) -> None:
    path = clock_change(tmp_path)
    found = costs(path, by="day", since=1_774_800_000.0)  # 2026-03-29T16:00Z
    assert [(row.key, row.amounts.tokens) for row in found.rows] == [(("2026-03-29",), 2_000)]


@pytest.mark.parametrize("by", NAMES)
def test_nothing_given_nothing_shown(tmp_path: Path, by: str) -> None:
    path = log(tmp_path, "empty", [run("r"), user()])
    found = costs(path, by=by)
    assert (found.total.tokens, found.total.pico) == (None, None)


# -- forks (C5) -----------------------------------------------------------------------------------

PARENT, CHILD = "019fc8be-0000-7000-8000-000000000001", "019fc8be-0000-7000-8000-000000000002"


def codex(folder: Path, name: str, *counters: tuple[str, int, int], **meta: Any) -> Path:
    """A Codex log of (time, total, last) counters of fresh input."""
    first = counters[0][0]
    lines: list[Any] = [
        {
            "timestamp": first,
            "type": "session_meta",
            "payload": {"id": name, "timestamp": first, "cwd": "/work", **meta},
        }
    ]
    for at, total, last in counters:
        told = {
            key: {"input_tokens": number, "output_tokens": 0, "total_tokens": number}
            for key, number in (("total_token_usage", total), ("last_token_usage", last))
        }
        payload = {"type": "token_count", "info": told}
        lines.append({"timestamp": at, "type": "event_msg", "payload": payload})
    path = folder / f"{name}.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    return path


@pytest.mark.parametrize("turned", [1, -1])
def test_a_fork_leaves_its_past_on_the_parents_day(tmp_path: Path, turned: int) -> None:
    may_1, may_2 = "2026-05-01T10:00:00Z", "2026-05-02T10:00:00Z"
    parent = codex(tmp_path, PARENT, (may_1, 40, 40), (may_1, 100, 60))
    later = "2026-05-02T11:00:00Z"
    restamped = codex(
        tmp_path,
        CHILD,
        *((may_2, 40, 40), (may_2, 100, 60), (later, 150, 50)),
        forked_from_id=PARENT,
    )
    rows = by_label(costs(*(parent, restamped)[::turned], by="day"))
    assert {day: (a.tokens, a.inherited_tokens) for day, a in rows.items()} == {
        "2026-05-01": (100, None),
        "2026-05-02": (50, 100),
    }
    rows = by_label(costs(*(parent, restamped)[::turned], by="run"))
    assert {name: (a.tokens, a.inherited_tokens) for name, a in rows.items()} == {
        PARENT: (100, None),
        CHILD: (50, 100),
    }


def test_a_fork_that_counts_from_zero_inherits_nothing(tmp_path: Path) -> None:
    parent = codex(
        tmp_path, PARENT, ("2026-05-01T10:00:00Z", 40, 40), ("2026-05-01T10:10:00Z", 100, 60)
    )
    child = codex(
        tmp_path,
        CHILD,
        *(("2026-05-02T10:20:00Z", 30, 30), ("2026-05-02T10:40:00Z", 70, 40)),
        timestamp="2026-05-02T10:00:00Z",
        forked_from_id=PARENT,
    )
    rows = by_label(costs(parent, child, by="day"))
    assert {day: (a.tokens, a.inherited_tokens) for day, a in rows.items()} == {
        "2026-05-01": (100, None),
        "2026-05-02": (70, None),
    }
