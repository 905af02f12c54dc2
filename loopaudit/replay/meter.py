"""Rules over the whole service: the steps of all runs, merged by time, through one meter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from loopaudit.guards.preset import Preset
from loopaudit.guards.service import ServiceSession
from loopaudit.model import Step
from loopaudit.money import usd
from loopaudit.replay.replay import replay_service
from loopaudit.replay.results import UNKNOWN, RunResult
from loopaudit.replay.totals import Priced


def meter(runs: Sequence[tuple[RunResult, Priced]], presets: Iterable[Preset]) -> None:
    """Put the verdicts of each service-wide rule with the trips of the run they fall on."""
    by_id = {found.run.id: found for found, _ in runs}
    for preset in presets:
        if all(rule.detector_class.scope != "service" for rule in preset.rules):
            continue
        steps = [(found.run.id, _steps(found, priced)) for found, priced in runs]
        for verdict in replay_service(steps, ServiceSession(preset)):
            by_id[verdict.run].trips[preset.name].extend([verdict.trip])
        for found in by_id.values():
            found.trips[preset.name].sort(key=lambda trip: trip.step)


def _steps(found: RunResult, priced: Priced) -> list[Step]:
    """What a meter needs of the steps that count: when, how many tokens, how much money.

    A cost that the log records comes before the list price.
    """
    table = found.columns
    cost = [r if r != UNKNOWN else p for r, p in zip(table.cost, priced.cost, strict=True)]
    return [
        Step(
            index=i,
            path=found.run.path,
            line=table.line[i],
            at=table.at[i] if table.at[i] == table.at[i] else None,
            usage=table.usage(i),
            cost=usd(cost[i]) if cost[i] != UNKNOWN else None,
        )
        for i in priced.own
    ]
