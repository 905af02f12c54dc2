"""Advice on thresholds for the screen: an overview, then the trade and the proof for each type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loopaudit.render import figures as f
from loopaudit.render.screen import Screen, table
from loopaudit.render.text import inert
from loopaudit.render.tune_figures import amount, counted_in, percent, rate, threshold
from loopaudit.replay.standing import RULES_IN_WORDS, KnownBy
from loopaudit.tune.advice import Advice, Figures, Held, Row, Trade
from loopaudit.tune.corpus import Unit
from loopaudit.tune.tune import Tuning

_BAR = 12  # columns of the curve
_MOST_ROWS = 14  # values of a threshold shown; all are in JSON and CSV
_FRONT = 6
_ROOM = 90  # columns from which the curve has room

_SAID_BY = {
    KnownBy.LABEL: "a user's label",
    KnownBy.OUTCOME: "the outcome in the log",
    KnownBy.RULE: "rule",
}
_HELD = {
    Held.CONFIRMED: "confirmed: it saves there too, and keeps the cap",
    Held.NOT_REFUTED: "not confirmed, not refuted: chance explains the difference",
    Held.REFUTED: "REFUTED: do not set it",
}


def lines(tuning: Tuning, screen: Screen, *, brief: bool = False) -> Iterator[str]:
    options = tuning.options
    yield from screen.row(
        f"{f.count(tuning.runs, 'run')}, corpus {tuning.digest}. Sought: most saved, less"
        f" {options.false_stop_cost:g} times what interrupted healthy runs had spent, with at most"
        f" {percent(options.max_false_stops)} % of the healthy runs interrupted. What stops save is"
        " an upper bound: nobody knows what would have come instead."
    )
    for reason, number in sorted(tuning.left_out.items()):
        yield from screen.row(f"left out: {f.count(number, 'run')}: {reason}", "yellow")
    yield ""
    yield screen.style("Overview, all runs", "bold")
    yield from _overview(tuning.advice, options.max_false_stops)
    if brief:
        return
    for advice in tuning.advice:
        yield ""
        yield from _of_type(advice, screen, options.max_false_stops)


def _overview(advice: Sequence[Advice], cap: float) -> Iterator[str]:
    broken = False
    rows: list[tuple[str, ...]] = [
        ("task type", "guard", "runs", "net, now -> best", "healthy interrupted", "held out")
    ]
    for one in advice:
        runs = f"{one.healthy + one.stuck:,}"
        head = (inert(one.task_type), inert(one.guard), runs)
        together = one.together
        if together is None:
            rows.append((*head, one.refused, "", ""))
        elif not together.pays:
            rows.append((*head, "no threshold pays here", "", ""))
        else:
            best = together.best["all"]
            now, net = (amount(made.net, one.unit) for made in (together.now["all"], best))
            unit = "" if one.unit is Unit.USD else f" {one.unit}"
            over = (together.now["training"].false_stops or 0.0) > cap
            broken = broken or over
            saved = f"{now}{'*' if over else ''} -> {net}{unit}"
            if all(map(_as_now, one.trades)):
                saved = f"{net}{unit}, as now"
            rows.append((*head, saved, rate(best.score.healthy, best.healthy), together.held))
    yield from table(rows, right=(2,))
    if broken:
        yield f"  * interrupts more than {percent(cap)} % of the healthy runs to choose by"


def _of_type(advice: Advice, screen: Screen, cap: float) -> Iterator[str]:
    title = f"{inert(advice.task_type)} under {inert(advice.guard)}"
    yield screen.style(title, "bold")
    by = ", ".join(f"{n:,} by {_SAID_BY[KnownBy(who)]}" for who, n in advice.by.items())
    yield from screen.row(
        f"{advice.healthy:,} healthy and {advice.stuck:,} stuck runs ({by or 'none'}),"
        f" {advice.with_loop:,} of the stuck with a loop; amounts in {counted_in(advice.unit)}",
        indent=2,
    )
    if KnownBy.RULE in advice.by:
        yield from screen.row(f"by rule: {RULES_IN_WORDS}", "yellow", indent=2)
    for reason, number in sorted(advice.left_out.items()):
        yield from screen.row(f"left out: {f.count(number, 'run')}: {reason}", indent=2)
    for reason, number in advice.undecidable.items():
        yield from screen.row(f"cannot say for {f.count(number, 'run')}: {inert(reason)}", indent=2)
    if advice.replayed:
        yield from screen.row(
            "its state depends on the thresholds: each combination was replayed", indent=2
        )
    if advice.refused:
        yield from screen.row(f"no advice: {advice.refused}", "yellow", indent=2)
        return
    yield from _verdict(advice, screen, cap)
    yield from screen.row(
        "Below: loops is the share of the loops stopped before their end; again is what interrupted"
        " healthy runs had spent; right is the share of stuck runs among those stopped, length what"
        " a stop by length alone at the same steps would have had.",
        "dim",
        indent=2,
    )
    yield from _trades(advice, screen)


def _verdict(advice: Advice, screen: Screen, cap: float) -> Iterator[str]:
    together = advice.together
    assert together is not None
    if not together.pays:
        yield from screen.row(_nothing_pays(advice), "yellow", indent=2)
    else:
        for trade in advice.trades:
            set_now = threshold(trade.dimension.choices[trade.dimension.now], trade.dimension)
            best = threshold(trade.recommended, trade.dimension)
            if best != set_now:
                yield from screen.row(
                    f"{inert(trade.dimension.name)} {trade.dimension.level}: {set_now} -> {best}",
                    "green",
                    indent=2,
                )
        if all(_as_now(trade) for trade in advice.trades):
            yield from screen.row("what is set now is the best that was found", "green", indent=2)
    now_rate = together.now["training"].false_stops or 0.0
    if now_rate > cap:
        yield from screen.row(
            f"what is set now interrupts {percent(now_rate)} % of the healthy runs to choose by:"
            f" more than {percent(cap)} %",
            "yellow",
            indent=2,
        )
    rows: list[tuple[str, ...]] = [
        ("", "stops", "loops caught", "healthy interrupted", "saves", "spent again", "net (95 %)")
    ]
    for name, per in (("now", together.now), ("best", together.best)):
        if name == "best" and (not together.pays or all(map(_as_now, advice.trades))):
            break
        rows += [_figures(f"{name}, {part}", per[part], advice.unit) for part in per]
    yield from table(rows, right=(1, 4, 5))
    tried = f"{f.count(together.tried, 'combination')} tried together"
    how = "all there are" if together.everything else "not all there are"
    held = f" Held out: {_HELD[together.held]}." if together.pays else ""
    yield from screen.row(
        f"{tried}, {how}, on half of the runs; the other half is held out by {advice.way}.{held}",
        indent=2,
    )
    if together.pays and together.holds is not None:
        low, high = together.holds
        upper = "any" if high == float("inf") else f"{high:.3g}"
        yield from screen.row(
            f"The same choice holds for false-stop costs between {low:.3g} and {upper} times what"
            " had been spent.",
            indent=2,
        )
    if advice.healthy < advice.needed:
        least = rate(0, advice.healthy)
        yield from screen.row(
            f"{f.count(advice.healthy, 'healthy run')} cannot prove {percent(cap)} %: without any"
            f" false stop the rate is {least}; {advice.needed:,} would be needed.",
            "yellow",
            indent=2,
        )
    if together.pays and len(together.front) > 1:
        shown = together.front if len(together.front) <= _FRONT else together.front[-_FRONT:]
        text = "; ".join(
            f"{score.healthy:,} interrupted: {amount(score.saved, advice.unit)}"
            for _, score in shown
        )
        yield from screen.row(
            f"Most saved by healthy runs interrupted (training, {advice.unit}): {text}", indent=2
        )


def _as_now(trade: Trade) -> bool:
    return trade.recommended == trade.dimension.choices[trade.dimension.now]


def _nothing_pays(advice: Advice) -> str:
    """What is known of the best there is, though it does not pay."""
    together, unit = advice.together, advice.unit
    assert together is not None
    made = together.best["training"]
    if made.score.stopped:
        low, high = made.net_between or (0.0, 0.0)
        return (
            f"no threshold pays here: the best combination saves {amount(made.score.saved, unit)}"
            f" and costs {amount(made.score.spent, unit)} on the runs to choose by, net"
            f" {amount(made.net, unit)} (95 %: {amount(low, unit)} to {amount(high, unit)}"
            f"{': it may be chance' if made.net > 0 else ''})"
        )
    acting = [(r, t) for t in advice.trades for r in t.rows if r.figures.score.stopped]
    if not acting:
        return "no threshold pays here: none is ever reached"
    row, trade = max(acting, key=lambda pair: pair[0].figures.net)
    found = row.figures
    return (
        f"no threshold pays here: the best that stops anything, {inert(trade.dimension.name)} at"
        f" {threshold(row.choice, trade.dimension)}, saves {amount(found.score.saved, unit)} and"
        f" costs {amount(found.score.spent, unit)} on all runs, net {amount(found.net, unit)};"
        f" healthy interrupted {rate(found.score.healthy, found.healthy)}"
    )


def _figures(name: str, made: Figures, unit: Unit) -> tuple[str, ...]:
    low, high = made.net_between or (made.net, made.net)
    caught = f"{made.score.caught:,} of {made.with_loop:,}"
    if made.caught is not None:
        caught += f", {percent(made.caught)} %"
    return (
        name,
        f"{made.score.stopped:,}",
        caught,
        rate(made.score.healthy, made.healthy),
        amount(made.score.saved, unit),
        amount(made.score.spent, unit),
        f"{amount(made.net, unit)} ({amount(low, unit)} to {amount(high, unit)})",
    )


def _trades(advice: Advice, screen: Screen) -> Iterator[str]:
    silent = []
    for trade in advice.trades:
        if not any(row.figures.score.stopped for row in trade.rows):
            silent.append(inert(trade.dimension.name))
            continue
        yield ""
        yield from _trade(trade, advice, screen)
    for trade in advice.warns:
        if not any(row.figures.score.stopped for row in trade.rows):
            continue
        set_now = threshold(trade.dimension.choices[trade.dimension.now], trade.dimension)
        best = threshold(trade.recommended, trade.dimension)
        chosen = next((row for row in trade.rows if row.recommended), None)
        reach = ""
        if chosen is not None:
            reach = (
                f"; reaches {percent(chosen.figures.caught or 0)} % of the loops in time and"
                f" {rate(chosen.figures.score.healthy, chosen.figures.healthy)} healthy runs"
            )
        arrow = f"{best} as now" if _as_now(trade) else f"{set_now} -> {best}"
        why = f" ({trade.kept})" if trade.kept else ""
        yield from screen.row(
            f"{inert(trade.dimension.name)} {trade.dimension.level}: {arrow}{why}{reach}", indent=2
        )
    if silent:
        yield from screen.row(f"never reached: {', '.join(silent)}", indent=2)


def _trade(trade: Trade, advice: Advice, screen: Screen) -> Iterator[str]:
    dimension = trade.dimension
    kept = f"; left as it is, {trade.kept}" if trade.kept else ""
    yield from screen.row(
        f"{inert(dimension.name)}: {dimension.level} at … {dimension.unit}, no other rule on{kept}",
        indent=2,
    )
    rows: list[tuple[str, ...]] = [
        ("", "at", "stops", "loops", "healthy interrupted", "saves", "again", "net", "right",
         "length", "")
    ]  # fmt: skip
    shown = _shown(trade.rows)
    top = max((abs(row.figures.net) for row in shown), default=0.0)
    for row in shown:
        rows.append(_row(row, trade, advice.unit, top))
    if screen.width < _ROOM:
        rows = [row[:-1] for row in rows]
    yield from table(rows, right=(1, 2, 3, 5, 6, 7, 8, 9))


def _shown(rows: Sequence[Row]) -> list[Row]:
    """The rows that differ, and always those that are set or advised."""
    kept: list[Row] = []
    for row in rows:
        marked = row.now or row.recommended
        if marked or (row.figures.score.stopped and len(kept) < _MOST_ROWS):
            kept.append(row)
    return kept


def _row(row: Row, trade: Trade, unit: Unit, top: float) -> tuple[str, ...]:
    made = row.figures
    marks = [name for name, on in (("best", row.recommended), ("now", row.now)) if on]
    bar = ""
    if top > 0:
        size = round(abs(made.net) / top * _BAR)
        bar = ("-" if made.net < 0 else "#") * size
    return (
        ", ".join(marks),
        threshold(row.choice, trade.dimension),
        f"{made.score.stopped:,}",
        "" if made.caught is None else f"{percent(made.caught)} %",
        rate(made.score.healthy, made.healthy).partition(" of ")[0],
        amount(made.score.saved, unit),
        amount(made.score.spent, unit),
        amount(made.net, unit),
        "" if made.right is None else f"{percent(made.right)} %",
        "" if made.by_length is None else f"{percent(made.by_length)} %",
        bar,
    )
