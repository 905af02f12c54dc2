"""The numbers behind the charts: equal to the report's, unknown is not zero, days have no holes."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

import polars
import pytest

from loopaudit.cli.drawing import Asked, By, Kind, drawn
from loopaudit.cli.options import audit_options
from loopaudit.cost.dimensions import cut_by
from loopaudit.render.charts import bars as charts_bars
from loopaudit.render.charts.bars import MOST, MOST_DAYS
from loopaudit.render.charts.series import chosen, run_series
from loopaudit.render.charts.spins import _at_least, spins
from loopaudit.render.charts.style import _digits, label, looks, undrawn
from loopaudit.render.charts.timeline import timeline
from loopaudit.render.tables import write_csv, write_parquet
from loopaudit.replay.audit import AuditOptions, analyse, conclude_all, read_all
from loopaudit.replay.look import find_run
from loopaudit.settings import Settings

SAMPLES = Path(__file__).resolve().parents[3] / "sample_logs"
RUNAWAY = str(SAMPLES / "runaway.jsonl")


def options(*paths: str, **more: object) -> AuditOptions:
    return AuditOptions(list(paths), processes=1, now=2e9, **more)  # type: ignore[arg-type]


def test_the_curve_ends_at_the_totals_of_every_sample() -> None:
    report, audited = analyse(options(str(SAMPLES)))
    money, tokens, steps = Decimal(0), 0, 0
    for item in audited:
        rows = run_series(item).rows
        steps += len(rows)
        if rows:
            money += rows[-1]["running_usd"]
            tokens += rows[-1]["running_tokens"]
        assert sum(row["wasted_part"] > 0 for row in rows) == len(item.summary.waste.steps)
    assert money == report.totals.usd
    assert tokens == report.totals.tokens.total
    assert steps >= report.totals.responses > 0


def test_spans_and_marks_are_those_of_the_report() -> None:
    report, audited = analyse(options(RUNAWAY, guards=("fuses:demo", "loopaudit")))
    [finding] = report.findings
    series = run_series(audited[0])
    assert [(s.rule, s.onset, s.last) for s in series.spans] == [
        (finding.rule, finding.onset.step, finding.last.step)
    ]
    stops = {(stop.guard, stop.step) for stop in finding.stops}
    assert ("loopaudit", series.marks[-1].step) in stops


def test_unknown_is_not_zero(tmp_path: Path) -> None:
    log = tmp_path / "x.jsonl"
    log.write_text(
        '{"loopaudit": 1}\n'
        '{"type": "response", "id": "a", "text": "x", "usage": {"fresh_input": 5, "output": 1}}\n'
        '{"type": "response", "id": "b", "text": "y"}\n',
        encoding="utf-8",
    )
    _, audited = analyse(options(str(log)))
    first, second = run_series(audited[0]).rows
    assert (first["tokens"], first["usd"], first["cache_read"]) == (6, None, None)
    assert (second["tokens"], second["running_tokens"]) == (None, 6)


def test_the_run_that_wasted_most_is_chosen() -> None:
    _, audited = analyse(options(str(SAMPLES)))
    item = chosen(audited, None)
    assert item is not None
    assert item.summary.path.endswith("runaway.jsonl")
    assert chosen(audited, "no such run") is None
    assert chosen(audited, item.summary.id[:8]) is item


def test_lengths_by_hand() -> None:
    # of 2, 4, 8, 16: all have at least 2, three at least 3 and 4, two at least 5 … 8, one 9 … 16
    steps, shares = _at_least([2, 4, 8, 16], 16)
    assert dict(zip(steps, shares, strict=True)) == {0: 100, 2: 100, 4: 75, 8: 50, 16: 25, 17: 0}


def test_spins_have_the_means_of_the_report() -> None:
    report, _ = analyse(options(str(SAMPLES), guards=("fuses:demo", "loopaudit")))
    found = spins(report.findings, ["fuses:demo", "loopaudit"])
    assert sum(found.recorded) / len(found.recorded) == report.spin.mean_steps_recorded
    for guard, lengths in found.guarded.items():
        assert sum(lengths) / len(lengths) == report.spin.mean_steps_guarded[guard]


def bar(name: str, useful: int = 1) -> charts_bars.Bar:
    return charts_bars.Bar(name, Decimal(useful), Decimal(0))


def test_days_have_no_holes() -> None:
    found, by = charts_bars._every_day([bar("2026-03-01"), bar("2026-02-26"), bar("(not told)")])
    assert by == "day"
    assert [b.name for b in found] == [
        *("2026-02-26", "2026-02-27", "2026-02-28", "2026-03-01"),
        "(not told)",
    ]
    assert [b.useful for b in found] == [1, 0, 0, 1, 1]


def test_a_long_span_is_drawn_by_months_and_loses_nothing() -> None:
    days = [bar("2024-01-31", 3), bar("2025-12-01", 4), bar("2025-12-31", 5)]
    found, by = charts_bars._every_day(days)
    assert by == "month"
    assert [(b.name, b.useful) for b in found] == [("2024-01", 3), ("2025-12", 9)]
    assert MOST_DAYS < 365


@pytest.mark.parametrize("by", list(By))
def test_bars_add_up_to_the_report(by: By) -> None:
    given = audit_options([str(SAMPLES)], Settings(), processes=1, quiet=True)
    everything = read_all(given)
    report, audited = conclude_all(everything, given)
    asked = Asked(given, "UTC", 2e9, by=by)
    with looks():
        figure, rows = drawn(Kind.COST, asked, everything, report, audited)
    assert figure.axes
    assert len(rows) <= (MOST + 1 if by not in (By.DAY, By.WEEK, By.MONTH) else 400)
    known = [row for row in rows if row["useful_usd"] is not None]
    assert sum(row["useful_usd"] + row["waste_usd"] for row in known) == report.totals.usd
    if by is not By.TOOL:
        assert sum(row["waste_usd"] for row in known) == report.totals.waste.usd


def test_the_timeline_has_every_call_once() -> None:
    run, report = find_run(options(RUNAWAY), "")
    data = timeline(run, report.findings)
    assert len(data.points) == len(run.calls) == 96
    assert [name.rpartition("×")[2] for name in data.names] == ["31", "6", "28", "22", "9"]
    assert all("#" in name for name in data.names[:-1])  # no arguments unless asked for
    shown = timeline(run, report.findings, excerpts=True)
    assert any("{" in name for name in shown.names)


def test_text_of_any_script_is_drawn_or_written_out() -> None:
    hostile = "a$b^2$ \x1b[31m\u202e 北京 😀 \U00020000"
    text = label(hostile, 200)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert text.startswith("a$b^2$ ")
    from loopaudit.render.charts.style import _coverage

    for char in text:
        assert ord(char) < 0x250 or any(ord(char) in fonts for fonts in _coverage())
    assert "U+20000" in text or any(0x20000 in fonts for fonts in _coverage())


def test_a_long_run_without_a_font_is_counted() -> None:
    text = label("x" + "\U00020000" * 9 + "y", 200)
    assert text in ("x‹U+20000 U+20000 U+20000 and 6 more›y", "x" + "\U00020000" * 9 + "y")
    assert "\U00020000" in undrawn() + text


def test_money_ticks_of_one_axis_have_equal_decimals() -> None:
    assert _digits([0, 20, 100]) == 0
    assert _digits([0, 0.5, 1]) == 2
    assert _digits([0, 0.0005, 0.001]) == 4


UTC_DAY = 86_400.0


@pytest.mark.parametrize(
    ("by", "now", "since", "until", "cut"),
    [
        ("day", 10 * UTC_DAY + 5, None, None, ["1970-01-11"]),
        ("day", None, 3 * UTC_DAY, None, []),  # from midnight on: the day is whole
        ("day", None, 3 * UTC_DAY + 1, None, ["1970-01-04"]),
        ("day", None, None, 5 * UTC_DAY, []),
        ("day", None, None, 5 * UTC_DAY + 60, ["1970-01-06"]),
        ("week", None, 6 * UTC_DAY, None, ["1970-W02"]),  # a Wednesday
        ("week", None, 4 * UTC_DAY, None, []),  # a Monday
        ("month", 40 * UTC_DAY, None, None, ["1970-02"]),
        ("model", 40 * UTC_DAY, None, None, []),
    ],
)
def test_which_bars_are_partial(
    by: str, now: float | None, since: float | None, until: float | None, cut: list[str]
) -> None:
    assert cut_by(by, UTC, now, since, until) == cut


def test_a_midnight_of_the_zone_is_meant_on_the_day_of_the_clock_change() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    midnight = datetime(2026, 10, 26, tzinfo=berlin).timestamp()
    assert midnight % UTC_DAY == 82_800  # 23:00 UTC, after 25 hours
    assert cut_by("day", berlin, None, midnight, None) == []
    assert cut_by("day", berlin, None, midnight - 3600, None) == ["2026-10-25"]


def test_tables_are_read_back(tmp_path: Path) -> None:
    rows = [
        {"name": "=cmd|x", "usd": Decimal("0.000000000001"), "n": 1, "known": True},
        {"name": "北京", "usd": None, "n": None, "known": False},
    ]
    with open(tmp_path / "x.csv", "w", encoding="utf-8", newline="") as text:
        write_csv(rows, text)
    lines = (tmp_path / "x.csv").read_text(encoding="utf-8").splitlines()
    assert lines == ["name,usd,n,known", "'=cmd|x,0.000000000001,1,true", "北京,,,false"]
    with open(tmp_path / "x.parquet", "wb") as binary:
        write_parquet(rows, binary)
    frame = polars.read_parquet(tmp_path / "x.parquet")
    assert frame["usd"].to_list() == [Decimal("0.000000000001"), None]
    assert frame["n"].to_list() == [1, None]
