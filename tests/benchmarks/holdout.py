"""Does the advice of `tune` hold on runs that nobody looked at? Many splits instead of one.

    python -m tests.benchmarks.holdout FOLDER [--splits 20]

For each task type and guard set, and each of so many splits by seed, half of the runs are set
aside, unseen; `tune` works on the other half: it chooses on one half of that and confirms on the
other. Printed are, per type: how often a choice paid, how often it broke the cap or lost on the
runs held out (before any advice), how often what is set was confirmed as it is, how often a change
was advised, and what those changes did to the unseen runs: how often more than the cap was
interrupted or the net saving negative, and the rate over all splits. A set of few runs breaks the
cap with a single one: the rate over all splits tells more.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from loopaudit.guards.preset import Preset
from loopaudit.replay.audit import AuditOptions, analyse
from loopaudit.replay.standing import Standing, judged
from loopaudit.tune.advice import Advice, advise, aim_of, measure
from loopaudit.tune.corpus import Sample, sample, unit_of
from loopaudit.tune.options import TuneOptions
from loopaudit.tune.split import SESSION, split

GUARDS = ("loopaudit", "limits")
SEED = 1_000  # of the runs set aside: none of the seeds within


def samples(folder: str) -> tuple[list[Preset], list[Sample]]:
    """The runs of a folder, counted by each guard set, those of known standing."""
    from loopaudit.guards import presets
    from loopaudit.tune.tune import limits, traced

    guards = [presets.load("loopaudit", env={}), limits()]
    _, audited = analyse(AuditOptions(paths=[folder], traced=traced(guards)))
    found = [sample(item, judged(item, {}), item.found.run.id) for item in audited]
    return guards, [one for one in found if one.standing is not Standing.UNKNOWN]


def on_unseen(guard: Preset, runs: Sequence[Sample], seed: int, tally: Tally) -> None:
    """One split: advice on one half of the runs, its effect on the other."""
    import numpy

    from loopaudit.tune.build import sweep
    from loopaudit.tune.corpus import runs as arrays

    options, unit = TuneOptions(), unit_of(runs)
    seen_at, unseen_at = split(runs, SESSION, SEED + seed)
    seen, unseen = [runs[n] for n in seen_at], [runs[n] for n in unseen_at]
    into = Advice(guard.name, "", unit, SESSION, {}, {}, 0, 0, 0)
    together = advise(guard, seen, unit, SESSION, options, into, seed).together
    if together is None or not together.pays:
        return
    held = together.best["held out"]
    tally.pays += 1
    tally.held_over += (held.false_stops or 0.0) > options.max_false_stops
    tally.held_loses += held.net <= 0
    if not together.advised:
        return
    if all(t.best == t.dimension.choices[t.dimension.now] for t in into.trades):
        tally.as_now += 1
        return
    tally.advised += 1
    whole = arrays([*seen, *unseen], unit)
    place = {id(one): n for n, one in enumerate(whole.samples)}
    # the same values to try as within: those of the training half of the seen half
    inner = arrays(seen, unit).samples
    training = [place[id(inner[n])] for n in split(inner, SESSION, seed)[0]]
    made = sweep(guard, whole.samples, training)
    best = {t.dimension.title: t.best for t in (*into.trades, *into.warns)}
    pick = tuple(d.choices.index(best[d.title]) for d in made.dimensions)
    at = numpy.array(sorted(place[id(one)] for one in unseen), dtype=numpy.int64)
    figures = measure(whole.part(at), made.first(pick)[at], aim_of(options))
    tally.over += (figures.false_stops or 0.0) > options.max_false_stops
    tally.loses += figures.net <= 0
    tally.interrupted += figures.score.healthy
    tally.healthy += figures.healthy
    tally.net += figures.net


class Tally:
    """What became of the splits of one type under one guard set."""

    def __init__(self) -> None:
        self.pays = self.held_over = self.held_loses = self.as_now = self.advised = 0
        self.over = self.loses = self.interrupted = self.healthy = 0
        self.net = 0.0

    def row(self, splits: int) -> str:
        rate = f"{self.interrupted / self.healthy:6.2%}" if self.healthy else "     -"
        net = f"{self.net / self.advised:9,.0f}" if self.advised else "        -"
        return (
            f"{self.pays:>4} of {splits} {self.held_over:>5} {self.held_loses:>6}"
            f" {self.as_now:>6} {self.advised:>7} {self.over:>7} {self.loses:>6} {rate} {net}"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--splits", type=int, default=20)
    asked = parser.parse_args()
    guards, found = samples(asked.folder)
    print(f"{'':32}            held out                   on unseen runs")
    print(
        f"{'task type':21}{'guard':11}    it pays > 2 %  loses as now advised   > 2 %  loses   rate"
        "  mean net"
    )
    whole = Tally()
    for task_type in sorted({one.task_type for one in found}):
        own = [one for one in found if one.task_type == task_type]
        for guard in guards:
            tally = Tally()
            for seed in range(asked.splits):
                on_unseen(guard.for_task(task_type), own, seed, tally)
            print(f"{task_type:21}{guard.name:11}{tally.row(asked.splits)}", flush=True)
            for name, value in vars(tally).items():
                setattr(whole, name, getattr(whole, name) + value)
    print(
        f"all: a change was advised {whole.advised} times; of these {whole.over} interrupted more"
        f" than 2 % of the unseen healthy runs ({whole.interrupted} of {whole.healthy} over all),"
        f" {whole.loses} had a negative net saving"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
