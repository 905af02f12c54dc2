"""Whatever the logs: the rows of every dimension add up to the totals, in any order of files."""

from __future__ import annotations

import tempfile
from datetime import UTC
from pathlib import Path
from typing import Any

from billing import Record, adds_up, agrees, audited, book, log, run, settings
from hypothesis import given
from hypothesis import settings as effort
from hypothesis import strategies as st

from loopaudit.cost.attribution import attribute
from loopaudit.cost.budgets import Scope, Unit, read, spend
from loopaudit.cost.dimensions import NAMES

_counts = st.integers(0, 5_000)
_usage = st.fixed_dictionaries(
    {},
    optional={
        "fresh_input": _counts,
        "cache_read": _counts,
        "cache_write": _counts,
        "cache_write_1h": _counts,
        "output": _counts,
        "mark": st.sampled_from(["lower_bound", "estimated", "absent"]),
    },
)
_call = st.fixed_dictionaries(
    {
        "tool": st.sampled_from(["read", "grep", "spawn"]),
        "args": st.sampled_from([{}, {"a": 1}]),
        "result": st.sampled_from(["ok", "x" * 80, "12%"]),
        "error": st.booleans(),
    }
)
_response = st.fixed_dictionaries(
    {"type": st.just("response"), "calls": st.lists(_call, max_size=3)},
    optional={
        "usage": _usage,
        "at": st.integers(1_774_740_000, 1_774_920_000),
        "model": st.sampled_from(["m1", "claude-opus-4-5", "unknown-model", "<synthetic>"]),
        "text": st.sampled_from(["done", "x" * 100]),
        "cost": st.sampled_from(["0.1", "0.0003"]),
        "kind": st.sampled_from(["model", "compaction"]),
    },
)
_boundary = st.fixed_dictionaries(
    {"type": st.just("boundary"), "kind": st.sampled_from(["user", "hook", "compaction"])}
)
_run = st.fixed_dictionaries(
    {},
    optional={
        "parent": st.sampled_from(["r0", "r1", "elsewhere"]),
        "agent": st.sampled_from(["scout", "main"]),
        "task_type": st.sampled_from(["research", "chat"]),
        "outcome": st.sampled_from(["passed", "failed"]),
        "project": st.just("/work"),
    },
)
_records = st.lists(st.one_of(_response, _response, _boundary), max_size=12)
#: some responses stand in several files
_logs = st.lists(st.tuples(_run, _records), min_size=1, max_size=3)


def written(folder: Path, logs: list[tuple[Record, list[Record]]]) -> list[Path]:
    paths = []
    for number, (about, records) in enumerate(logs):
        lines: list[dict[str, Any]] = [run(f"r{number}", session=f"s{number}", **about)]
        for place, record in enumerate(records):
            if record["type"] == "response":
                shared = place < 3  # the beginning may be a copy of another log's
                record = {**record, "id": f"a-long-response-id-{'' if shared else number}-{place}"}
            lines.append(record)
        paths.append(log(folder, f"f{number}", lines))
    return paths


@effort(max_examples=30, deadline=None)
@given(_logs, st.booleans())
def test_rows_add_up_to_the_totals(logs: list[Any], estimate: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = written(Path(folder), logs)
        report, runs = audited(*paths, estimate=estimate)
        for by in (*((name,) for name in NAMES), ("day", "model"), ("agent", "tool", "request")):
            found = attribute(runs, by, UTC, book(), report)
            agrees(found.total, report)
            adds_up(found.rows, found.total)


@effort(max_examples=30, deadline=None)
@given(_logs, st.permutations(range(3)))
def test_the_order_of_files_does_not_matter(logs: list[Any], order: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = written(Path(folder), logs)
        turned = [paths[n] for n in order if n < len(paths)]
        chosen = settings(budgets={"service": {"usd": 0.01}, "run": {"tokens": 4_000}})
        results = []
        for files in (paths, turned):
            report, runs = audited(*files)
            rows = [attribute(runs, (by,), UTC, book(), report) for by in NAMES]
            results.append((rows, spend(runs, read(chosen), UTC, book())))
        assert results[0] == results[1]


@effort(max_examples=30, deadline=None)
@given(_logs)
def test_budgets_count_what_the_totals_count(logs: list[Any]) -> None:
    chosen = settings(
        budgets={name: {"usd": 0.005, "tokens": 9_000} for name in ("run", "day", "service")}
    )
    with tempfile.TemporaryDirectory() as folder:
        report, runs = audited(*written(Path(folder), logs))
        total = attribute(runs, ("run",), UTC, book(), report).total
        for scope in (Scope.RUN, Scope.DAY, Scope.SERVICE):
            for unit, amount in ((Unit.USD, total.pico), (Unit.TOKENS, total.tokens)):
                found = [
                    s
                    for s in spend(runs, read(chosen), UTC, book())
                    if (s.budget.scope, s.budget.unit) == (scope, unit)
                ]
                assert sum(s.spent for s in found) == (amount or 0)
                for spending in found:
                    for crossing in (spending.warned, spending.reached):
                        if crossing is not None:
                            assert crossing.spent + crossing.after == spending.spent
