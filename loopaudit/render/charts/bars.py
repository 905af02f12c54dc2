"""Cost and waste by day, model, agent, type of task, tool or project: stacked bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from loopaudit.cost.attribution import Costs
from loopaudit.render.charts.style import (
    BLUE,
    PARTIAL_HATCH,
    WASTE,
    WASTE_HATCH,
    counts,
    dollars,
    figure,
    label,
    legend,
)
from loopaudit.render.figures import count

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: bars at most; what is left is one bar of its own
MOST = 15
#: a longer span of days is drawn by months
MOST_DAYS = 180
_UNKNOWN = "(not told)"
_TIMES = ("day", "week", "month")
_NAMED = {"task-type": "type of task"}
_FEWEST = 6  # bars that an axis of time has room for, so that one day is no wall


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar. `useful` and `waste` are USD, or tokens where nothing has a price."""

    name: str
    useful: Decimal
    waste: Decimal
    partial: bool = False  # a day, week or month that was not over, or cut by --since or --until
    unpriced: int = 0  # tokens without a price
    absent: int = 0  # responses without usage
    known: bool = True  # not one of its responses has a price, or usage


@dataclass(slots=True)
class Bars:
    by: str
    money: bool
    bars: list[Bar] = field(default_factory=list)
    folded: int = 0  # values that the last bar sums up
    free: bool = False  # all of it has a price, and that is 0

    def rows(self) -> list[dict[str, Any]]:
        """The numbers as a table."""
        unit = "usd" if self.money else "tokens"
        return [
            {
                self.by: bar.name,
                f"useful_{unit}": bar.useful if bar.known else None,
                f"waste_{unit}": bar.waste if bar.known else None,
                "partial": bar.partial,
                "unpriced_tokens": bar.unpriced,
                "responses_without_usage": bar.absent,
            }
            for bar in self.bars
        ]


def bars(costs: Costs, partial: Sequence[str] = ()) -> Bars:
    """Rows of one dimension as bars: days in order and without holes, others dearest first."""
    [by] = costs.by
    money = bool(costs.total.pico)
    out = Bars(by, money, free=costs.total.pico == 0)
    found = []
    for row in costs.rows:
        name = row.key[0] or _UNKNOWN
        amounts = row.amounts
        amount = amounts.pico if money else amounts.tokens
        whole = Decimal(amount or 0)
        lost = Decimal((amounts.waste_pico if money else amounts.waste_tokens) or 0)
        if money:
            whole, lost = whole.scaleb(-12), lost.scaleb(-12)
        marks = (name in partial, amounts.unpriced_tokens, amounts.absent, amount is not None)
        found.append(Bar(name, whole - lost, lost, *marks))
    if by == "day":
        out.bars, out.by = _every_day(found)
    elif by in _TIMES:
        out.bars = sorted(found, key=lambda bar: bar.name)
    else:
        found.sort(key=lambda bar: (-(bar.useful + bar.waste), bar.name))
        out.bars, rest = found[:MOST], found[MOST:]
        if rest:
            out.folded = len(rest)
            useful = sum((bar.useful for bar in rest), Decimal(0))
            waste = sum((bar.waste for bar in rest), Decimal(0))
            without, absent = sum(bar.unpriced for bar in rest), sum(bar.absent for bar in rest)
            known = any(bar.known for bar in rest)
            marks = (False, without, absent, known)
            out.bars.append(Bar(f"{len(rest):,} others", useful, waste, *marks))
    return out


def _every_day(found: list[Bar]) -> tuple[list[Bar], str]:
    """Days in order, those without any cost too; months where there are too many days to see."""
    known = {bar.name: bar for bar in found}
    days = sorted(name for name in known if name != _UNKNOWN)
    rest = [known[_UNKNOWN]] if _UNKNOWN in known else []
    if not days:
        return rest, "day"
    first, last = date.fromisoformat(days[0]), date.fromisoformat(days[-1])
    if (last - first).days >= MOST_DAYS:
        months: dict[str, Bar] = {}
        for name in days:
            bar, nothing = known[name], Bar(name[:7], Decimal(0), Decimal(0), known=False)
            so_far = months.get(name[:7], nothing)
            months[name[:7]] = Bar(
                name[:7],
                so_far.useful + bar.useful,
                so_far.waste + bar.waste,
                so_far.partial or bar.partial,
                so_far.unpriced + bar.unpriced,
                so_far.absent + bar.absent,
                so_far.known or bar.known,
            )
        return [*months.values(), *rest], "month"
    names = [(first + timedelta(days=n)).isoformat() for n in range((last - first).days + 1)]
    return [known.get(name, Bar(name, Decimal(0), Decimal(0))) for name in names] + rest, "day"


def draw(data: Bars, zone: str, price_date: str | None) -> Figure:
    """Stacked: useful below, loop waste on top as a layer of its own; partial days hatched."""
    what = "Cost" if data.money else "Tokens"
    upright = data.by in _TIMES
    title = f"{what} {'per' if upright else 'by'} {_NAMED.get(data.by, data.by)}"
    if data.money:
        title += ", list price" + (f" of {price_date}" if price_date else "") + ", not a bill"
    drawn, axes = figure(title, _notes(data, zone), rows=0 if upright else len(data.bars))
    places = list(range(len(data.bars)))
    useful = [float(bar.useful) for bar in data.bars]
    waste = [float(bar.waste) for bar in data.bars]
    if upright:
        first = axes.bar(places, useful, 0.85, color=BLUE, label="useful")
        second = axes.bar(
            places, waste, 0.85, useful, color=WASTE, hatch=WASTE_HATCH, label="loop waste"
        )
        _days(axes, data)
    else:
        places.reverse()
        first = axes.barh(places, useful, 0.75, color=BLUE, label="useful")
        second = axes.barh(
            places, waste, 0.75, useful, color=WASTE, hatch=WASTE_HATCH, label="loop waste"
        )
        axes.set_yticks(places, [label(bar.name, ends="/" in bar.name) for bar in data.bars])
        axes.set_ylim(-0.6, len(places) - 0.4)
        axes.grid(visible=False, axis="y")
        axes.grid(visible=True, axis="x")
    for patches, hatch in ((first, PARTIAL_HATCH), (second, PARTIAL_HATCH + WASTE_HATCH)):
        for patch, bar in zip(patches, data.bars, strict=True):
            if bar.partial:
                patch.set_hatch(hatch)
                patch.set_alpha(0.75)
    _unknown(axes, data, upright)
    legend(drawn, axes, _partial(data.by) if any(bar.partial for bar in data.bars) else None)
    (dollars if data.money else counts)(axes, "y" if upright else "x")
    unit = "USD, list price" if data.money else "tokens"
    (axes.set_ylabel if upright else axes.set_xlabel)(unit)
    highest = max((a + b for a, b in zip(useful, waste, strict=True)), default=0.0)
    (axes.set_ylim if upright else axes.set_xlim)(0, 1.05 * highest or 1)
    return drawn


def _notes(data: Bars, zone: str) -> str:
    """Below the title: the zone, what is folded, and what the bars do not hold."""
    notes = [f"{data.by}s in {zone}"] if data.by in _TIMES else []
    if data.folded:
        notes.append(f"the {MOST} dearest; {data.folded:,} others in one bar")
    unpriced, absent = (sum(getattr(b, n) for b in data.bars) for n in ("unpriced", "absent"))
    lacks = [f"{unpriced:,} tokens without a price"] if unpriced and data.money else []
    lacks += [f"{count(absent, 'response')} without usage"] if absent else []
    if lacks:
        notes.append(f"lower bound: {', '.join(lacks)}")
    if not data.money:
        notes.append("all of it costs $0.00 at list price" if data.free else "no price is known")
    return " · ".join(notes)


def _unknown(axes: Axes, data: Bars, upright: bool) -> None:
    """A bar of which nothing is known is not one of 0."""
    for number, bar in enumerate(data.bars):
        if not bar.known:
            at = (number, 0) if upright else (0, len(data.bars) - 1 - number)
            shift: Any = (
                {"ha": "center", "va": "bottom"} if upright else {"ha": "left", "va": "center"}
            )
            offset = (0, 3) if upright else (3, 0)
            axes.annotate(
                "unknown",
                at,
                xytext=offset,
                textcoords="offset points",
                fontsize=8,
                rotation=90 if upright else 0,
                **shift,
            )


def _partial(by: str) -> dict[str, Any]:
    from matplotlib.patches import Patch

    return {f"partial {by}": Patch(facecolor=BLUE, alpha=0.75, hatch=PARTIAL_HATCH)}


def _days(axes: Any, data: Bars) -> None:
    """Some eight dates on the axis, whatever the number of days."""
    step = max(1, -(-len(data.bars) // 8))
    places = list(range(0, len(data.bars), step))
    axes.set_xticks(places, [data.bars[i].name for i in places], fontsize=8.5)
    middle, half = (len(data.bars) - 1) / 2, max(len(data.bars), _FEWEST) / 2 + 0.1
    axes.set_xlim(middle - half, middle + half)
