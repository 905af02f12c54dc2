"""--estimate: outputs that were written before they ended become a quarter of what can be seen."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from billing import Record, audited, costs, log, run, said, user

from loopaudit.findings import Completeness


def cut_off(name: str, output: int | None, *tools: str, **more: Any) -> Record:
    """A response whose output is a placeholder."""
    record = said(name, 100, output or 0, *tools, **more)
    record["usage"]["mark"] = "lower_bound"
    if output is None:
        del record["usage"]["output"]
    return record


@pytest.mark.parametrize(
    ("record", "output"),
    [
        (cut_off("a", 1, text="x" * 400), 100),
        (cut_off("a", 1, text="x" * 401), 101),  # a part of a token is a token
        (cut_off("a", 8, text="x" * 20), 8),  # what is recorded is more
        (cut_off("a", 8, text="x" * 40), 10),
        (cut_off("a", 9, text="x" * 400), 9),  # no placeholder
        (cut_off("a", 1, text="研究" * 100), 50),  # characters, not bytes
        (cut_off("a", 1, "run", text="x" * 40), 13),  # and {"n":"a-0"}: 51 characters
        (cut_off("a", 1), 1),  # nothing to be seen
        (said("a", 100, 1, text="x" * 400), 1),  # reported as it is
    ],
)
def test_the_larger_of_recorded_and_seen(tmp_path: Path, record: Record, output: int) -> None:
    path = log(tmp_path, "e", [run("r"), record])
    total = costs(path, by="session", estimate=True).total
    assert (total.output, total.tokens) == (output, 100 + output)
    assert total.usd == Decimal(100 + 10 * output) / 10**6


def test_it_is_marked_and_explained(tmp_path: Path) -> None:
    path = log(tmp_path, "e", [run("r"), cut_off("a", 1, text="x" * 400)])
    report, _ = audited(path, estimate=True)
    assert report.totals.completeness is Completeness.ESTIMATED
    assert report.totals.reasons == [
        "1 response with estimated usage: output from its visible characters, four a token"
    ]


def test_without_the_flag_nothing_changes(tmp_path: Path) -> None:
    path = log(tmp_path, "e", [run("r"), cut_off("a", 1, text="x" * 400)])
    report, _ = audited(path)
    assert (report.totals.tokens.output, report.totals.completeness) == (
        1,
        Completeness.LOWER_BOUND,
    )


def test_an_output_that_is_missing_stays_missing(tmp_path: Path) -> None:
    path = log(tmp_path, "e", [run("r"), cut_off("a", None, text="x" * 400)])
    report, _ = audited(path, estimate=True)
    assert report.totals.tokens.output is None
    assert report.totals.completeness is Completeness.LOWER_BOUND


def test_a_mode_named_in_the_note_is_still_priced(tmp_path: Path) -> None:
    record = cut_off("a", 1, text="x" * 400)
    record["usage"]["note"] = "batch"
    record["model"] = "claude-opus-4-5"
    path = log(tmp_path, "e", [run("r"), record])
    # list price $5 / $25 a million, half in a batch
    assert costs(path, by="session", estimate=True).total.usd == Decimal("0.0015")


def test_a_log_without_usage_is_counted(tmp_path: Path) -> None:
    path = log(tmp_path, "n", [run("r"), user(), said("a", text="x" * 400)])
    silent, _ = audited(path)
    assert silent.totals.tokens.total is None
    assert silent.totals.reasons == ["1 response without usage"]
    report, _ = audited(path, estimate=True)
    assert report.totals.tokens.total
    assert report.totals.completeness is Completeness.ESTIMATED
    assert [r.partition(":")[0] for r in report.totals.reasons] == [
        "1 response with estimated usage"
    ]
