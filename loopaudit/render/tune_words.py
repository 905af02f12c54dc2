"""Why a threshold is recommended for one task type, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from loopaudit.render import figures as f
from loopaudit.render.screen import Screen
from loopaudit.render.text import inert
from loopaudit.render.tune_figures import amount, counted_in, percent, rate, threshold
from loopaudit.replay.standing import RULES_IN_WORDS, KnownBy
from loopaudit.tune.advice import Advice, Row, Trade
from loopaudit.tune.corpus import Unit
from loopaudit.tune.tune import Tuning


def lines(tuning: Tuning, task_type: str, screen: Screen) -> Iterator[str]:
    for advice in tuning.advice:
        if advice.task_type == task_type:
            yield screen.style(f"{inert(task_type)} under {inert(advice.guard)}", "bold")
            for sentence in _sentences(advice, tuning):
                yield from screen.row(sentence, indent=2)


def _sentences(advice: Advice, tuning: Tuning) -> Iterator[str]:
    yield (
        f"There are {f.count(advice.healthy, 'healthy run')} and"
        f" {f.count(advice.stuck, 'stuck one')}, {advice.with_loop:,} of them with a loop."
        f" Amounts are {counted_in(advice.unit)}."
    )
    if KnownBy.RULE in advice.by:
        yield f"How they stand is no fact but a rule: {RULES_IN_WORDS}."
    if advice.refused:
        yield f"That is no ground for advice: {advice.refused}."
        return
    together = advice.together
    assert together is not None
    if not together.pays:
        yield (
            "No threshold pays here: on the runs to choose by, what the best combination saves does"
            " not exceed, beyond chance, the work that its false stops would kill."
        )
        return
    best, held = together.best["all"], together.best["held out"]
    unit = "" if advice.unit is Unit.USD else f" {advice.unit}"
    proof = (
        f"On the half held out by {advice.way} it saves {amount(held.net, advice.unit)}{unit} net"
        f" and interrupts {rate(held.score.healthy, held.healthy)} healthy runs: {together.held}."
    )
    if not together.advised:
        yield (
            "Keep what is set now: the best that was found on one half of the runs did not hold on"
            f" runs that had no part in the choice. {proof}"
        )
        return
    for trade in advice.trades:
        yield from _of_trade(trade, advice)
    for trade in advice.warns:
        yield from _of_warning(trade)
    yield (
        f"Together they stop {f.count(best.score.stopped, 'run')}: {best.score.stuck:,} that were"
        f" stuck, saving up to {amount(best.score.saved, advice.unit)}{unit}, and"
        f" {best.score.healthy:,} healthy ones, which have to spend"
        f" {amount(best.score.spent, advice.unit)}{unit} again."
    )
    if best.score.warned:
        yield (
            f"Before that they warn {best.score.warned_stuck:,} stuck runs and"
            f" {rate(best.score.warned_healthy, best.healthy)} of the healthy ones."
        )
    yield proof
    cap = percent(tuning.options.max_false_stops)
    if advice.healthy < advice.needed:
        yield (
            f"{f.count(advice.healthy, 'healthy run')} cannot prove that at most {cap} % are"
            f" interrupted; {advice.needed:,} without a false stop would."
        )


def _of_trade(trade: Trade, advice: Advice) -> Iterator[str]:
    dimension = trade.dimension
    now = threshold(dimension.choices[dimension.now], dimension)
    best = threshold(trade.recommended, dimension)
    name = inert(dimension.name)
    if trade.kept or not any(row.figures.score.stopped for row in trade.rows):
        return
    chosen = next((n for n, row in enumerate(trade.rows) if row.recommended), None)
    if chosen is None:
        yield (
            f"{name}: never stop on it (now {now}); what it catches the others catch, or it kills"
            " more than it saves."
        )
        return
    row = trade.rows[chosen]
    instead = " as now" if best == now else f" instead of {now}"
    yield f"{name}: {best}{instead}. {_told(row, advice)}"
    below = trade.rows[chosen - 1] if chosen else None
    if below is not None and below.figures.score.healthy > row.figures.score.healthy:
        more = below.figures.score.healthy - row.figures.score.healthy
        yield (
            f"One step lower, at {threshold(below.choice, dimension)}, it would interrupt"
            f" {f.count(more, 'more healthy run', 'more healthy runs')}."
        )


def _of_warning(trade: Trade) -> Iterator[str]:
    dimension = trade.dimension
    now = threshold(dimension.choices[dimension.now], dimension)
    best = threshold(trade.recommended, dimension)
    if best != now and not trade.kept:
        yield f"{inert(dimension.title)}: {best} instead of {now}."


def _told(row: Row, advice: Advice) -> str:
    made = row.figures
    text = (
        f"Alone it stops {made.score.stuck:,} of {made.stuck:,} stuck runs and"
        f" {made.score.healthy:,} of {made.healthy:,} healthy ones"
    )
    if made.right is not None and made.by_length is not None:
        text += (
            f"; {percent(made.right)} % of those it stops are stuck, where a stop by length alone"
            f" at the same steps would meet {percent(made.by_length)} %"
        )
    return f"{text}."
