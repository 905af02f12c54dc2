"""Advice on thresholds for the screen: an overview, then the trade and the proof for each type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from loopaudit.render import figures as f
from loopaudit.render.screen import Screen, fitted, table
from loopaudit.render.text import inert
from loopaudit.render.tune_figures import amount, counted_in, percent, rate, threshold
from loopaudit.replay.standing import RULES_IN_WORDS, KnownBy
from loopaudit.tune.advice import Advice, Figures, Held, Row, Trade
from loopaudit.tune.corpus import Unit
from loopaudit.tune.tune import Tuning

_BAR = 12  # columns of the curve
_MOST_ROWS = 14  # values of a threshold shown; all are in JSON and CSV
_FRONT = 6
_ROOM = 100  # columns from which the curve, and the number of stops, have room

_SAID_BY = {
    "label": "a user's verdict on a finding",
    "outcome": "the outcome in the log",
    "labels file": "the labels file",
}


def lines(tuning: Tuning, screen: Screen, *, brief: bool = False) -> Iterator[str]:
    options = tuning.options
    yield from screen.row(
        f"{f.count(tuning.runs, 'run')}, corpus {tuning.digest}. Sought: most saved, less"
        f" {options.false_stop_cost:g} times what interrupted healthy runs had spent, with at most"
        f" {percent(options.max_false_stops)} % of the healthy runs interrupted, and at most"
        f" {percent(options.max_false_warns)} % warned. Chosen on half of the runs; advised only"
        " where the other half, held out, confirms it. What stops save is an upper bound: nobody"
        " knows what would have come instead."
    )
    for reason, number in sorted(tuning.left_out.items()):
        yield from screen.row(f"left out: {f.count(number, 'run')}: {reason}", "yellow")
    yield ""
    yield from _overview(tuning.advice, screen, options.max_false_stops)
    if brief:
        return
    for advice in tuning.advice:
        yield ""
        yield from _of_type(advice, screen, options.max_false_stops)


# -- the overview ---------------------------------------------------------------------------------

_HEAD = ("guard", "net, now -> best", "interrupted (95 %)", "held out")


def _overview(advice: Sequence[Advice], screen: Screen, cap: float) -> Iterator[str]:
    """A heading a task type, and a line a guard; the columns are those of all types."""
    told = [(one, _summary(one, cap)) for one in advice]
    full = [row for _, row in told if len(row) == len(_HEAD)]
    laid = list(table([_HEAD, *full])) if full else []
    aligned = laid and all(cell_len(line) <= screen.width for line in laid)
    guards = max((cell_len(row[0]) for _, row in told), default=0)
    if aligned:
        guards = max(guards, cell_len(_HEAD[0]))
        yield screen.style(laid.pop(0), "bold")
    before = None
    for one, row in told:
        if one.task_type != before:
            before = one.task_type
            heading = f"{inert(one.task_type)}: {one.healthy:,} healthy, {one.stuck:,} stuck runs"
            yield from screen.row(f"{heading}; in {_UNITS[one.unit]}", "bold")
        if len(row) == len(_HEAD) and aligned:
            yield laid.pop(0)
        elif len(row) == len(_HEAD):
            yield from fitted([_HEAD, row], screen.width)
        else:
            pad = " " * (guards - cell_len(row[0]))
            yield from screen.row(row[1], label=f"  {row[0]}{pad}  ")
    if any(_over(one, cap) for one in advice):
        yield from screen.row(
            f"* interrupts more than {percent(cap)} % of the healthy runs", indent=2
        )
    if any(one.together is not None and one.together.pays and not one.together.advised
           for one in advice):  # fmt: skip
        yield from screen.row(
            "NOT PROVEN, REFUTED: what was best to choose by did not hold on other runs; what is"
            " set now stays, and its figures are shown.",
            indent=2,
        )


_UNITS = {Unit.USD: "dollars", Unit.TOKENS: "tokens", Unit.CALLS: "calls"}


def _over(one: Advice, cap: float) -> bool:
    """Does what is set now break the cap, on all runs?"""
    together = one.together
    return together is not None and (together.now["all"].false_stops or 0.0) > cap


def _summary(one: Advice, cap: float) -> tuple[str, ...]:
    guard, together = inert(one.guard), one.together
    if together is None:
        return guard, one.refused
    now = amount(together.now["all"].net, one.unit) + ("*" if _over(one, cap) else "")
    if not together.pays:
        best = together.best["training"]
        low, high = (amount(n, one.unit) for n in best.net_between or (0.0, 0.0))
        tried = f"best {amount(best.net, one.unit)} ({low} to {high}) to choose by"
        return guard, f"no threshold pays here: {tried if best.score.stopped else f'now {now}'}"
    held = together.best["held out"]
    interrupted = f"{percent(held.false_stops or 0.0)} %, net {amount(held.net, one.unit)}"
    shown = together.best if together.advised else together.now
    same = not together.advised or all(map(_as_now, one.trades))
    return (
        guard,
        f"{now}, as now" if same else f"{now} -> {amount(shown['all'].net, one.unit)}",
        rate(shown["all"].score.healthy, one.healthy).partition(" of ")[0],
        f"{_word(together.held)}: {interrupted}",
    )


def _word(held: Held) -> str:
    """Loud where it did not hold."""
    return str(held) if held is Held.CONFIRMED else held.upper()


# -- one task type under one guard ----------------------------------------------------------------


def _of_type(advice: Advice, screen: Screen, cap: float) -> Iterator[str]:
    title = f"{inert(advice.task_type)} under {inert(advice.guard)}"
    yield screen.style(title, "bold")
    by = ", ".join(f"{n:,} by {_SAID_BY.get(who, who)}" for who, n in advice.by.items())
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
        "Below: * advised, + best to choose by, = set now; loops is the share of the loops stopped"
        " before their end; again is what interrupted healthy runs had spent; right is the share of"
        " stuck runs among those stopped, beside what a stop by length alone at the same steps"
        " would have had.",
        "dim",
        indent=2,
    )
    yield from _trades(advice, screen)


def _verdict(advice: Advice, screen: Screen, cap: float) -> Iterator[str]:
    together = advice.together
    assert together is not None
    changed = [t for t in (*advice.trades, *advice.warns) if not _kept(t)]
    if not together.pays:
        yield from screen.row(_nothing_pays(advice), "yellow", indent=2)
    elif not together.advised:
        yield from screen.row(_did_not_hold(advice, cap), "red", indent=2)
    elif not changed:
        yield from screen.row("what is set now is the best that was found", "green", indent=2)
    for trade in changed if together.pays else ():
        yield from screen.row(_change(trade), "green" if together.advised else "dim", indent=2)
    if _over(advice, cap):
        yield from screen.row(
            f"what is set now interrupts {percent(together.now['all'].false_stops or 0.0)} % of the"
            f" healthy runs: more than {percent(cap)} %",
            "yellow",
            indent=2,
        )
    yield from _halves(advice, screen)
    yield from _how(advice, screen)
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
            f"{score.healthy:,} and {score.warned_healthy:,}: {amount(score.saved, advice.unit)}"
            for _, score in shown
        )
        yield from screen.row(
            f"Most saved by healthy runs interrupted and warned (training, {advice.unit}): {text}",
            indent=2,
        )


def _kept(trade: Trade) -> bool:
    return trade.best == trade.dimension.choices[trade.dimension.now]


def _change(trade: Trade) -> str:
    dimension = trade.dimension
    now, best = (threshold(c, dimension) for c in (dimension.choices[dimension.now], trade.best))
    return f"{inert(dimension.title)}: {now} -> {best}"


def _did_not_hold(advice: Advice, cap: float) -> str:
    together = advice.together
    assert together is not None
    held = together.best["held out"]
    hits, of = together.left_out
    faults = []
    if (held.false_stops or 0.0) > cap:
        faults.append(
            f"on the runs held out it interrupts {rate(held.score.healthy, held.healthy)} healthy"
            f" runs, more than {percent(cap)} %"
        )
    if held.net <= 0:
        faults.append(f"on the runs held out its net saving is {amount(held.net, advice.unit)}")
    if not faults and (held.false_warns or 0.0) > 0 and together.lowered != 0:
        faults.append(
            f"on the runs held out it warns {rate(held.score.warned_healthy, held.healthy)}"
            " healthy runs"
        )
    if not faults:
        faults.append(
            f"with a fifth of the runs left out in turn it interrupts {rate(hits, of)} of those"
        )
    return (
        f"{_word(together.held)} HERE, not advised: keep what is set now. The best to choose by"
        f" (below) did not hold: {'; '.join(faults)}."
    )


def _halves(advice: Advice, screen: Screen) -> Iterator[str]:
    """What is set now and the best, on the runs to choose by, on those held out, and on all."""
    together = advice.together
    assert together is not None
    rows: list[tuple[str, ...]] = [
        ("", "loops", "interrupted", "saves", "again", "net (95 %)")
    ]  # fmt: skip
    for name, per in (("now", together.now), ("best", together.best)):
        if name == "best" and (not together.pays or all(map(_kept, advice.trades))):
            break
        rows += [_figures(f"{name}, {part}", per[part], advice.unit) for part in per]
    yield from fitted(rows, screen.width, right=(1, 3, 4))
    told = together.best["all"] if together.pays else together.now["all"]
    if told.score.warned:
        caught = f"{told.score.warned_caught:,} of {told.with_loop:,}"
        yield from screen.row(
            f"Warnings come before the stop in {caught} loops and in"
            f" {rate(told.score.warned_healthy, told.healthy)} healthy runs; were all heeded, they"
            f" would save up to {amount(told.score.more, advice.unit)} more.",
            indent=2,
        )


def _how(advice: Advice, screen: Screen) -> Iterator[str]:
    together = advice.together
    assert together is not None
    tried = f"{f.count(together.tried, 'combination')} of stops and warnings tried together"
    how = "all there are" if together.everything else "not all there are"
    hits, of = together.left_out
    limit = ""
    if together.lowered is not None:
        most = f.count(together.lowered, "threshold")
        limit = f" With more freedom that broke the cap: at most {most} may be lowered."
        if together.margin:
            limit = (
                " With less caution that broke the cap: none may be lowered, and it must hold with"
                f" each {f.count(together.margin, 'value')} lower."
            )
    yield from screen.row(
        f"{tried}, {how}, on half of the runs; the other half is held out by {advice.way}. With a"
        f" fifth of the first half left out in turn, the choice interrupted {rate(hits, of)} of the"
        f" healthy ones left out.{limit}",
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
    return (
        name,
        "" if made.caught is None else f"{percent(made.caught)} %",
        rate(made.score.healthy, made.healthy).partition(" of ")[0],
        amount(made.score.saved, unit),
        amount(made.score.spent, unit),
        f"{amount(made.net, unit)} ({amount(low, unit)} to {amount(high, unit)})",
    )


# -- the trade of each threshold ------------------------------------------------------------------


def _trades(advice: Advice, screen: Screen) -> Iterator[str]:
    silent = []
    for trade in advice.trades:
        if not any(row.figures.score.stopped for row in trade.rows):
            silent.append(inert(trade.dimension.name))
            continue
        yield ""
        yield from _trade(trade, advice, screen)
    for trade in advice.warns:
        if any(row.figures.score.stopped for row in trade.rows):
            yield from screen.row(_warning(trade), indent=2)
    if silent:
        yield from screen.row(f"never reached: {', '.join(silent)}", indent=2)


def _warning(trade: Trade) -> str:
    set_now = threshold(trade.dimension.choices[trade.dimension.now], trade.dimension)
    best = threshold(trade.recommended, trade.dimension)
    chosen = next((row for row in trade.rows if row.recommended), None)
    reach = ""
    if chosen is not None:
        reach = (
            f"; alone it reaches {percent(chosen.figures.caught or 0)} % of the loops in time and"
            f" {rate(chosen.figures.score.healthy, chosen.figures.healthy)} healthy runs"
        )
    arrow = f"{best} as now" if _as_now(trade) else f"{set_now} -> {best}"
    why = f" ({trade.kept})" if trade.kept else ""
    return f"{inert(trade.dimension.title)}: {arrow}{why}{reach}"


def _trade(trade: Trade, advice: Advice, screen: Screen) -> Iterator[str]:
    dimension = trade.dimension
    kept = f"; left as it is, {trade.kept}" if trade.kept else ""
    yield from screen.row(
        f"{inert(dimension.name)}: {dimension.level} at … {dimension.unit}, no other rule on{kept}",
        indent=2,
    )
    shown = _shown(trade.rows)
    top = max((abs(row.figures.net) for row in shown), default=0.0)
    rows: list[tuple[str, ...]] = [
        ("", "at", "loops", "interrupted", "saves", "again", "net", "right/length", "stops", "")
    ]
    rows += [_row(row, trade, advice.unit, top) for row in shown]
    if screen.width < _ROOM:
        rows = [row[:-2] for row in rows]
    yield from fitted(rows, screen.width, right=(1, 2, 4, 5, 6, 7, 8))


def _shown(rows: Sequence[Row]) -> list[Row]:
    """The rows that differ, and always those that are set or advised."""
    kept: list[Row] = []
    for row in rows:
        marked = row.now or row.recommended or row.best
        if marked or (row.figures.score.stopped and len(kept) < _MOST_ROWS):
            kept.append(row)
    return kept


def _row(row: Row, trade: Trade, unit: Unit, top: float) -> tuple[str, ...]:
    made = row.figures
    bar = ""
    if top > 0:
        size = round(abs(made.net) / top * _BAR)
        bar = ("-" if made.net < 0 else "#") * size
    right = ""
    if made.right is not None and made.by_length is not None:
        right = f"{percent(made.right)} / {percent(made.by_length)} %"
    return (
        ("*" if row.recommended else "+" if row.best else "") + ("=" if row.now else ""),
        threshold(row.choice, trade.dimension),
        "" if made.caught is None else f"{percent(made.caught)} %",
        rate(made.score.healthy, made.healthy).partition(" of ")[0],
        amount(made.score.saved, unit),
        amount(made.score.spent, unit),
        amount(made.net, unit),
        right,
        f"{made.score.stopped:,}",
        bar,
    )
