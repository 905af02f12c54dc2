"""Holds what was measured against the limits of a task type."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

from loopaudit.check.codes import Level
from loopaudit.check.options import LIMITS, SHARES, CheckOptions, Limit
from loopaudit.check.result import Judgement, Spot
from loopaudit.check.snapshot import Measured, Snapshot, TypeRow


def judgements(new: Snapshot, task_type: str, options: CheckOptions) -> Iterator[Judgement]:
    """One or more for each limit that holds for the type."""
    row = new.types[task_type]
    own = [m for m in new.measured if m.task_type == task_type]
    for name, limit in options.of(task_type).items():
        made: Iterable[Judgement]
        if name in SHARES:
            made = _shares(name, limit, row, new, task_type, options.min_runs)
        elif name.endswith("_per_run"):
            made = [_per_run(name, limit, own, task_type)]
        else:
            made = [_total(name, limit, own, task_type)]
        yield from made


def _shares(
    name: str, limit: Limit, row: TypeRow, new: Snapshot, task_type: str, least: int
) -> Iterator[Judgement]:
    """Of healthy runs that each guard interrupts, or of loops that it misses."""
    of = row.healthy if name == "false_stops" else row.loops
    what = "healthy runs interrupted" if name == "false_stops" else "loops missed"
    noun = "healthy runs" if name == "false_stops" else "loops"
    for guard in new.guards:
        hits = (row.interrupted if name == "false_stops" else row.missed).get(guard, 0)
        made = Judgement(LIMITS[name], Level.OK, "", task_type, guard, name, limit.lowest, None, of)
        if name == "loops_missed" and not of:
            yield replace(made, message="no loops to miss")
            continue
        if of < least:
            message = f"too few {noun} ({of} < {least}) to judge a share of {what}; {hits} are"
            yield replace(made, code="too-few-runs", level=Level.UNKNOWN, message=message)
            continue
        share = hits / of
        level = limit.level(share)
        spots = tuple(_interrupted(new, task_type, guard)) if name == "false_stops" else ()
        spots = spots or tuple(_missed(new, task_type, guard))
        yield replace(
            made,
            level=level,
            measured=share,
            allowed=_bound(limit, level),
            message=f"{share:.2%} {what} ({hits} of {of}), limit {_bound(limit, level):.2%}",
            spots=spots if level is not Level.OK else (),
        )


def _interrupted(new: Snapshot, task_type: str, guard: str) -> Iterator[Spot]:
    for one in new.measured:
        row = new.runs[one.id]
        stop = row.outcomes[guard].stop
        if one.task_type == task_type and row.standing == "healthy" and stop is not None:
            yield spot_of(one, stop.step)


def _missed(new: Snapshot, task_type: str, guard: str) -> Iterator[Spot]:
    for one in new.measured:
        if one.task_type != task_type:
            continue
        trips = one.item.found.trips.get(guard, ())
        first = min((t.saves_from for t in trips if t.level.stops), default=None)
        for finding in one.findings:
            if first is None or first > finding.last.step:
                place = finding.onset
                yield Spot(one.id, place.path, place.line, place.step, finding.id)


def _bound(limit: Limit, level: Level) -> float:
    """The number that was broken; of what passed the one that fails first."""
    if level is Level.ERROR and limit.error is not None:
        return limit.error
    return limit.lowest


def _value(one: Measured, name: str) -> float | Decimal | None:
    return {
        "waste_usd": one.waste_usd,
        "waste_tokens": one.waste_tokens,
        "cost_usd": one.cost_usd,
        "waste_usd_per_run": one.waste_usd,
        "waste_tokens_per_run": one.waste_tokens,
        "cost_usd_per_run": one.cost_usd,
        "tokens_per_run": one.tokens,
        "steps_per_run": one.steps,
        "seconds_per_run": one.seconds,
    }[name]


def _per_run(name: str, limit: Limit, own: Sequence[Measured], task_type: str) -> Judgement:
    """Each run by itself: the worst one decides, all that break the limit are named."""
    known = [(float(v), m) for m in own if (v := _value(m, name)) is not None]
    broken = sorted(
        ((v, m) for v, m in known if limit.level(v) is not Level.OK), key=lambda p: (-p[0], p[1].id)
    )
    worst = max((v for v, _ in known), default=None)
    made = Judgement(
        LIMITS[name], Level.OK, "", task_type, None, name, limit.lowest, worst, len(own)
    )
    if broken:
        level = limit.level(broken[0][0])
        spots = tuple(spot_of(m, _worst_step(m, name, limit)) for _, m in broken)
        bound = _bound(limit, level)
        return replace(
            made, level=level, allowed=bound, spots=spots,
            message=f"{_amount(broken[0][0], name)} in run {broken[0][1].id}, limit"
            f" {_amount(bound, name)}; broken by {len(broken)} of {len(own)} runs",
        )  # fmt: skip
    if (unsure := _unsure(name, own)) is not None:
        code, message = unsure
        return replace(made, code=code, level=Level.UNKNOWN, message=message)
    most = "nothing" if worst is None else f"at most {_amount(worst, name)}"
    return replace(made, message=f"{most} in a run, limit {_amount(limit.lowest, name)}")


def _total(name: str, limit: Limit, own: Sequence[Measured], task_type: str) -> Judgement:
    known = [v for m in own if (v := _value(m, name)) is not None]
    total = float(sum(known))
    level = limit.level(total)
    made = Judgement(
        LIMITS[name], level, "", task_type, None, name, _bound(limit, level), total, len(own)
    )
    text = f"{_amount(total, name)} in {len(own)} runs, limit {_amount(_bound(limit, level), name)}"
    if level is not Level.OK:
        ranked = sorted(
            (m for m in own if _value(m, name)), key=lambda m: (-float(_value(m, name) or 0), m.id)
        )
        return replace(made, message=text, spots=tuple(spot_of(m) for m in ranked))
    if (unsure := _unsure(name, own)) is not None:
        code, message = unsure
        return replace(made, code=code, level=Level.UNKNOWN, message=message)
    return replace(made, message=text)


def _unsure(name: str, own: Sequence[Measured]) -> tuple[str, str] | None:
    """Why a limit that is not broken by what is known may be broken all the same."""
    if "usd" in name:
        unpriced = sum(m.unpriced for m in own)
        if unpriced:
            return "unpriced", f"{name}: {unpriced:,} tokens without a price"
    silent = sum(_value(m, name) is None for m in own)
    if silent:
        what = "times" if name == "seconds_per_run" else "usage"
        return "not-measured", f"{name}: {silent} of {len(own)} runs have no {what}"
    return None


def _amount(value: float, name: str) -> str:
    if "usd" in name:
        return f"${value:,.4f}" if abs(value) < 1 else f"${value:,.2f}"
    if name == "seconds_per_run":
        return f"{value:,.10g} s"
    return f"{value:,.10g} {'steps' if name == 'steps_per_run' else 'tokens'}"


def _worst_step(one: Measured, name: str, limit: Limit) -> int | None:
    """The step with which the limit was broken, where it is a sum over steps."""
    table, bound = one.item.found.columns, limit.lowest
    if name == "steps_per_run":
        return min(int(bound), len(table) - 1)
    if name == "tokens_per_run":
        spent = 0
        for step in one.item.priced.own:
            spent += max(table.total[step], 0)
            if spent > bound:
                return step
    return None


def spot_of(one: Measured, step: int | None = None) -> Spot:
    """A place in the run: of a step, else the onset of its costliest loop, else its first line."""
    found = one.item.found
    table, run = found.columns, found.run
    if step is not None and 0 <= step < len(table):
        return Spot(one.id, table.paths.get(step, run.path), max(table.line[step], 1), step)
    if step is not None and len(table):  # before a step that never came
        return spot_of(one, len(table) - 1)
    if one.findings:
        worst = max(one.findings, key=lambda f: (len(f.waste.steps), -f.onset.step))
        place = worst.onset
        return Spot(one.id, place.path, max(place.line, 1), place.step, worst.id)
    return Spot(one.id, run.path, max(table.line[0], 1) if len(table) else 1)
