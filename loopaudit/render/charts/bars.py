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

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: bars at most; what is left is one bar of its own
MOST = 15
#: a longer span of days is drawn by months
MOST_DAYS = 180
_UNKNOWN = "(not told)"
_TIMES = ("day", "week", "month")


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar. `useful` and `waste` are USD, or tokens where nothing has a price."""

    name: str
    useful: Decimal
    waste: Decimal
    partial: bool = False  # a day that was not over, or cut by --since or --until
    unpriced: int = 0  # tokens without a price


@dataclass(slots=True)
class Bars:
    by: str
    money: bool
    bars: list[Bar] = field(default_factory=list)
    folded: int = 0  # values that the last bar sums up

    def rows(self) -> list[dict[str, Any]]:
        """The numbers as a table."""
        unit = "usd" if self.money else "tokens"
        return [
            {
                self.by: bar.name,
                f"useful_{unit}": bar.useful,
                f"waste_{unit}": bar.waste,
                "partial": bar.partial,
                "unpriced_tokens": bar.unpriced,
            }
            for bar in self.bars
        ]


def bars(costs: Costs, partial: Sequence[str] = ()) -> Bars:
    """Rows of one dimension as bars: days in order and without holes, others dearest first."""
    [by] = costs.by
    money = bool(costs.total.pico)
    out = Bars(by, money)
    found = []
    for row in costs.rows:
        name = row.key[0] or _UNKNOWN
        amounts = row.amounts
        whole = Decimal((amounts.pico if money else amounts.tokens) or 0)
        lost = Decimal((amounts.waste_pico if money else amounts.waste_tokens) or 0)
        if money:
            whole, lost = whole.scaleb(-12), lost.scaleb(-12)
        partly = name in partial
        found.append(Bar(name, whole - lost, lost, partly, amounts.unpriced_tokens))
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
            without = sum(bar.unpriced for bar in rest)
            out.bars.append(Bar(f"{len(rest)} others", useful, waste, False, without))
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
            bar, so_far = known[name], months.get(name[:7], Bar(name[:7], Decimal(0), Decimal(0)))
            months[name[:7]] = Bar(
                name[:7],
                so_far.useful + bar.useful,
                so_far.waste + bar.waste,
                so_far.partial or bar.partial,
                so_far.unpriced + bar.unpriced,
            )
        return [*months.values(), *rest], "month"
    names = [(first + timedelta(days=n)).isoformat() for n in range((last - first).days + 1)]
    return [known.get(name, Bar(name, Decimal(0), Decimal(0))) for name in names] + rest, "day"


def draw(data: Bars, zone: str, price_date: str | None) -> Figure:
    """Stacked: useful below, loop waste on top as a layer of its own; partial days hatched."""
    what = "Cost" if data.money else "Tokens"
    upright = data.by in _TIMES
    title = f"{what} {'per' if upright else 'by'} {data.by}"
    if data.money:
        title += ", list price" + (f" of {price_date}" if price_date else "") + ", not a bill"
    unpriced = sum(bar.unpriced for bar in data.bars)
    notes = [f"days in {zone}"] if upright else []
    if data.folded:
        notes.append(f"the {MOST} dearest; {data.folded:,} others in one bar")
    if unpriced and data.money:
        notes.append(f"lower bound: {unpriced:,} tokens without a price")
    drawn, axes = figure(title, " · ".join(notes), rows=0 if upright else len(data.bars))
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
        axes.set_yticks(places, [label(bar.name) for bar in data.bars])
        axes.grid(visible=False, axis="y")
        axes.grid(visible=True, axis="x")
    for patches in (first, second):
        for patch, bar in zip(patches, data.bars, strict=True):
            if bar.partial:
                patch.set_hatch(PARTIAL_HATCH)
                patch.set_alpha(0.75)
    legend(drawn, axes, _partial() if any(bar.partial for bar in data.bars) else None)
    (dollars if data.money else counts)(axes, "y" if upright else "x")
    return drawn


def _partial() -> dict[str, Any]:
    from matplotlib.patches import Patch

    return {"partial day": Patch(facecolor=BLUE, alpha=0.75, hatch=PARTIAL_HATCH)}


def _days(axes: Any, data: Bars) -> None:
    """Some eight dates on the axis, whatever the number of days."""
    step = max(1, -(-len(data.bars) // 8))
    places = list(range(0, len(data.bars), step))
    axes.set_xticks(places, [data.bars[i].name for i in places], fontsize=8.5)
    axes.set_xlim(-0.6, len(data.bars) - 0.4)
