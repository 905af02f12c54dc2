"""The first screen answers what somebody asks at 2 a.m., and says what it does not know."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from example import T0, report
from rich.cells import cell_len
from snapshot import check

from loopaudit.findings import (
    Completeness,
    EndedBy,
    Failure,
    Level,
    Report,
    Stop,
    Tokens,
    Totals,
    Waste,
)
from loopaudit.render.savings import guard_sentence
from loopaudit.render.screen import Screen
from loopaudit.render.terminal import write

TITLES = {"repeated-call": "same call, same answer, nothing changed in between"}
PLAIN = Screen(titles=TITLES)


def screen(found: Report, shown: Screen = PLAIN) -> str:
    stream = io.StringIO()
    write(found, stream, shown)
    return stream.getvalue()


def flat(found: Report, shown: Screen = PLAIN) -> str:
    """The screen as one line, so that a test does not depend on where lines break."""
    return " ".join(screen(found, shown).split())


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("first_screen_80.txt", PLAIN),
        ("first_screen_120_why.txt", replace(PLAIN, width=120, why=True)),
    ],
)
def test_layout(name: str, shown: Screen) -> None:
    check(name, screen(report(), shown))


@pytest.mark.parametrize("width", [72, 80, 120])
@pytest.mark.parametrize("why", [False, True])
def test_no_line_is_wider_than_the_screen(width: int, why: bool) -> None:
    text = screen(report(), replace(PLAIN, width=width, why=why, top=0))
    wide = [
        line
        for line in text.splitlines()
        if cell_len(line) > width and not line.startswith("  look ")  # to be copied
    ]
    assert not wide


def test_colour_only_repeats_what_the_words_say() -> None:
    coloured = screen(report(), replace(PLAIN, colour=True))
    assert "\x1b[1;31m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == screen(report())


def test_hostile_log_text_is_inert() -> None:
    text = screen(report(), replace(PLAIN, why=True, top=0))
    text.encode()
    assert not any((ord(c) < 32 and c != "\n") or 0x7F <= ord(c) < 0xA0 for c in text)
    assert "\u202e" not in text
    assert "odd\ufffd" in text


def test_log_text_cannot_command_a_ci_runner() -> None:
    found = report()
    found.findings[0].reasons = ["x" * 70 + " ::error file=a::b ##[add-path]c"]
    lines = screen(found).splitlines()
    assert not any(line.lstrip().startswith("::") for line in lines)
    assert "##[" not in "\n".join(lines)


def test_steps_count_from_1_with_place_and_time() -> None:
    assert "began step 212 2026-05-01 14:07:31Z logs/c4f1.jsonl:1904" in flat(report())


def test_times_are_shown_in_the_zone_asked_for() -> None:
    berlin = replace(PLAIN, zone=ZoneInfo("Europe/Berlin"), zone_name="Europe/Berlin")
    text = flat(report(), berlin)
    assert "2026-05-01 16:07:31 logs/c4f1.jsonl:1904" in text
    assert "15:28 to 17:02 Europe/Berlin" in text


def test_what_a_guard_would_have_saved_is_a_range_from_first_stop_to_first_warning() -> None:
    assert (
        "loopaudit: warn at step 213 (same-result, limit 3), stop at step 215 (limit 5):"
        " saves $28.90 to $29.30"
    ) in flat(report())
    assert "watchdog:demo: would not have stepped in" in flat(report())
    # on this run a detector of `fuses` lacked what it needs
    assert (
        "fuses:demo: would not have stepped in, as far as a log without results can tell"
        in flat(report())
    )


def stop(level: Level, step: int, usd: str | None, tokens: int | None = None) -> Stop:
    return Stop("g", "d", level, 3, step, tokens, None if usd is None else Decimal(usd), step + 1)


@pytest.mark.parametrize(
    ("stops", "tail"),
    [
        ([stop(Level.STOP, 4, "2")], "stop at step 5 (d, limit 3): saves up to $2.00"),
        (
            [stop(Level.WARN, 4, "2")],
            "warn at step 5 (d, limit 3), never stop: saves up to $2.00 if obeyed",
        ),
        (
            [stop(Level.STOP, 9, None, 1000), stop(Level.REPAIR, 4, None, 5000)],
            "ask for a repair at step 5 (d, limit 3), stop at step 10 (limit 3):"
            " saves 1,000 to 5,000 tokens",
        ),
        (
            [stop(Level.STOP, 4, None)],
            "stop at step 5 (d, limit 3): savings unknown: the log has no usage",
        ),
        ([stop(Level.STOP, 4, "0.0004")], "stop at step 5 (d, limit 3): saves up to $0.0004"),
    ],
)
def test_sentence_of_a_guard(stops: list[Stop], tail: str) -> None:
    assert guard_sentence(stops, 3).endswith(tail)


def test_a_log_that_still_grows_is_said_to_run_with_the_age_of_its_last_event() -> None:
    assert "STILL RUNNING logs/d2e0.jsonl, last event 12 s ago" in flat(report())
    found = report()
    found.runs[0].still_running = True
    found.findings[0].ended_by = EndedBy.END_OF_LOG
    assert "ended STILL GOING" in flat(found)
    assert "STILL GOING" not in flat(report())


def test_an_old_log_with_a_cut_tail_is_said_to_end_in_the_middle() -> None:
    found = report()
    found.meta["cut_tails"] = ["logs/c4f1.jsonl", "logs/d2e0.jsonl"]
    found.meta["now"] = T0 + 5600 + 86400 * 3
    text = flat(found)
    assert "ENDS IN MID-LINE logs/c4f1.jsonl, last event 3 d 0 h ago" in text
    assert "ENDS IN MID-LINE logs/d2e0.jsonl" not in text  # that one still runs


def test_findings_beyond_top_are_counted_not_lost() -> None:
    text = flat(report(), replace(PLAIN, top=1))
    assert "LOOP 2" not in text
    assert "and 2 smaller loops, $1.23 together (--top 0 shows all)" in text
    assert "LOOP 3" in flat(report(), replace(PLAIN, top=0))


# -- unknown is never nothing ---------------------------------------------------------------------


def test_without_usage_cost_and_waste_are_unknown() -> None:
    found = report()
    found.totals = Totals(runs=4, responses=412, calls=7, waste=found.findings[2].waste)
    found.findings = found.findings[2:]
    text = flat(found)
    assert "Tokens and cost unknown: the log has no usage" in text
    assert "1 loop, 30 redundant steps; waste unknown: the log has no usage" in text
    assert "$0.00" not in text


def test_without_a_price_the_cost_is_unknown_and_the_model_is_named() -> None:
    totals = Totals(
        runs=1,
        responses=2,
        tokens=Tokens(900, None, None, 100, None, 1000),
        unpriced_tokens=1000,
        unpriced_models=["glm-x:thinking"],
        completeness=Completeness.LOWER_BOUND,
    )
    text = flat(Report("0", totals=totals))
    assert "Cost unknown: no price for glm-x:thinking" in text
    assert "$" not in text


@pytest.mark.parametrize(
    ("completeness", "shown"),
    [
        (Completeness.COMPLETE, " 1,000 tokens: 900 fresh, 100 output $0.50 at list prices"),
        (Completeness.ESTIMATED, " ~1,000 tokens: 900 fresh, 100 output ~$0.50 at"),
        (Completeness.LOWER_BOUND, " at least 1,000 tokens: 900 fresh, 100 output at least $0.50"),
        (Completeness.PARTIAL, " at least 1,000 tokens: 900 fresh, 100 output at least $0.50"),
    ],
)
def test_figures_carry_their_mark(completeness: Completeness, shown: str) -> None:
    tokens = Tokens(900, None, None, 100, None, 1000)
    totals = Totals(
        runs=1,
        tokens=tokens,
        usd=Decimal("0.5"),
        price_date="2026-05-01",
        completeness=completeness,
    )
    assert shown in flat(Report("0", totals=totals))
    assert "of 2026-05-01, not a bill" in flat(Report("0", totals=totals))


def test_unpriced_tokens_make_the_money_a_lower_bound() -> None:
    tokens = Tokens(900, None, None, 100, None, 1000)
    totals = Totals(runs=1, tokens=tokens, usd=Decimal("0.5"), unpriced_tokens=7)
    assert "at least $0.50" in flat(Report("0", totals=totals))


def test_tiny_and_estimated_waste() -> None:
    found = report()
    found.findings[0].waste = Waste([], 12, 0, Decimal("0.0003"), 0.001, True)
    assert "wasted ~$0.0003: ~12 tokens, ~<1 % of the run" in flat(found)


# -- quiet cases ----------------------------------------------------------------------------------


def test_no_loops_is_said_plainly() -> None:
    found = report()
    found.findings = []
    text = flat(found)
    assert "No loops found in 4 runs." in text
    assert "LOOP" not in text
    assert "loops wasted" not in text


def test_an_empty_report_shows_that_nothing_was_measured() -> None:
    text = flat(Report("0"))
    assert "Nothing measured" in text
    assert "No loops" not in text
    assert "Complete" not in text


def test_nothing_is_left_out_in_silence() -> None:
    assert "Not read: 2 records, 12 files not named like a log (--why lists" in flat(report())
    text = flat(report(), replace(PLAIN, why=True))
    assert "logs/c4f1.jsonl:77 not JSON: cut in the middle" in text
    assert "Repaired: 3 × half an emoji" in text


def test_a_failure_of_an_extension_is_shown_with_its_owner() -> None:
    found = report()
    found.failures = [Failure("my_detector", "c4f1a9", None, "ValueError: no\nway")]
    assert "BROKEN my_detector on run c4f1a9: ValueError: no\\nway" in flat(found)


def test_a_healthy_run_that_a_guard_would_stop_is_counted_apart() -> None:
    # runs stopped, of them without a loop, mean loop, tokens saved, runs that cannot be judged
    assert "fuses:demo 2 1 12.2 steps up to 44 % 1 run" in flat(report())


def test_names_of_a_million_characters_fit_on_the_screen() -> None:
    found = report()
    for finding in found.findings:
        finding.run = finding.tool = finding.call = "r" * 1_000_000
    found.totals.unpriced_models = ["m" * 1_000_000] * 3
    found.totals.reasons = ["x" * 1_000_000]
    stream = io.StringIO()
    write(found, stream, Screen(why=True))
    assert len(stream.getvalue()) < 50_000
