"""A thousand threshold combinations over 100,000 generated sessions, from one pass.

    python tests/benchmarks/sweep.py [--sessions 100000] [--combinations 1000]

Prints the time of the pass (detectors over every step), of everything after it (tables, all
combinations, their scores), of a replay of one combination (measured on a part and scaled), the
peak memory, and whether a random sample of combinations equals that replay. Ends with 1 where a
goal is missed: 5 s after the pass, 1,000 times faster than replaying, 2 GB, equality.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import time
from array import array
from collections.abc import Iterator
from dataclasses import replace

from loopaudit.guards import presets
from loopaudit.guards.preset import Preset
from loopaudit.guards.session import GuardSession
from loopaudit.model import Call, CallStatus, Run, Step, Usage
from loopaudit.replay.crossing import record, with_thresholds
from loopaudit.replay.replay import replay_run
from loopaudit.replay.standing import KnownBy, Standing
from loopaudit.tune import build
from loopaudit.tune.corpus import NEVER, Sample, Unit
from loopaudit.tune.corpus import runs as arrays
from loopaudit.tune.score import score
from loopaudit.tune.sweep import Pick, Sweep

SIGNALS = ("same_call_same_result", "nothing_new", "failing_steps", "cycle")
MEAN_STEPS = 44
SLOWEST, LEAST_FASTER, MOST_BYTES = 5.0, 1_000, 2 * 10**9
_PART = 400  # sessions replayed to time a replay and to compare
_COMPARED = 25  # combinations


def guard() -> Preset:
    """Five signals that stop: repeats, nothing new, failing steps, cycles, and the step limit."""
    own, steps = presets.load("loopaudit", env={}), presets.load("backstop", env={}).rule("steps")
    rules = [rule for rule in own.rules if rule.signal in SIGNALS]
    assert steps is not None
    assert len(rules) == len(SIGNALS)
    return replace(own, set="sweep", rules=(*rules, steps), task_types={})


def session(number: int) -> tuple[Run, bool]:
    """One session by its number, and whether it is stuck: a third of them loop to their end."""
    dice = random.Random(number)
    stuck = dice.random() < 0.33
    length = max(3, int(dice.gammavariate(2, MEAN_STEPS / 2)))
    onset = dice.randrange(length) if stuck else length
    kind = dice.randrange(3)
    run = Run(f"s{number}", "generated", "generated")
    for position in range(length):
        step = Step(position, run.path, position + 1)
        step.usage = Usage(fresh_input=dice.randrange(100, 3_000), output=dice.randrange(10, 400))
        looping = position >= onset or dice.random() < 0.12
        tool, key, result = dice.randrange(6), dice.getrandbits(30), dice.getrandbits(30)
        if looping:
            tool, key, result = 1, 7, 11
            if kind == 1:
                key = result = 7 + position % 2
        call = Call(position, position, 0, None, f"tool{tool}", key, position + 1)
        failed = (looping and kind == 2) or dice.random() < 0.05
        call.status = CallStatus.ERROR if failed else CallStatus.OK
        call.result, call.size = result, 100
        if failed:
            call.key = dice.getrandbits(30)
            call.error_key = result
        step.calls.append(call)
        run.steps.append(step)
    return run, stuck


def samples(count: int, preset: Preset) -> Iterator[tuple[Sample, float]]:
    """Each session as it is kept, and the seconds its detectors took."""
    for number in range(count):
        run, stuck = session(number)
        began = time.process_time()
        crossings = record(run, preset)
        took = time.process_time() - began
        tokens = array("q", [s.usage.total or 0 for s in run.steps if s.usage is not None])
        calls = array("i", [1]) * len(run.steps)
        kept = Sample(
            run.id, run.path, run.id, None, None, "t",
            Standing.STUCK if stuck else Standing.HEALTHY, KnownBy.OUTCOME, len(run.steps),
            len(run.steps) - 1 if stuck else -1, int(stuck), calls, tokens, None,
            {preset.name: crossings},
        )  # fmt: skip
        yield kept, took


def picks(sweep: Sweep, number: int) -> list[Pick]:
    dice = random.Random(20261201)
    sizes = [len(d.choices) for d in sweep.dimensions]
    return [tuple(dice.randrange(size) for size in sizes) for _ in range(number)]


def chosen(sweep: Sweep, pick: Pick, preset: Preset) -> Preset:
    return with_thresholds(
        preset,
        {
            (d.signal, d.level, d.poll): d.choices[n].threshold
            for d, n in zip(sweep.dimensions, pick, strict=True)
        },
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sessions", type=int, default=100_000)
    parser.add_argument("--combinations", type=int, default=1_000)
    asked = parser.parse_args()
    preset = guard()

    kept: list[Sample] = []
    passed = 0.0
    for one, took in samples(asked.sessions, preset):
        kept.append(one)
        passed += took
    steps = sum(s.steps for s in kept)
    print(f"{len(kept):,} sessions, {steps:,} steps; one pass {passed:,.1f} s of CPU")

    wall, began = time.perf_counter(), time.process_time()
    whole = arrays(kept, Unit.TOKENS)
    sweep = build.sweep(preset, whole.samples, range(len(whole)))
    tables = time.process_time() - began
    wanted = picks(sweep, asked.combinations)
    scores = [score(whole, sweep.first(pick)) for pick in wanted]
    after, wall = time.process_time() - began, time.perf_counter() - wall
    best = max(s.net(1.0) for s in scores)
    print(
        f"{len(wanted):,} combinations after the pass: {after:.2f} s of CPU ({wall:.2f} s wall),"
        f" of which tables {tables:.2f} s; best net {best:,.0f} tokens"
    )

    place = {s.id: n for n, s in enumerate(whole.samples)}
    part = [session(number)[0] for number in range(min(_PART, asked.sessions))]
    own_steps = sum(len(run.steps) for run in part)
    wrong, spent = 0, 0.0
    for pick in wanted[:_COMPARED]:
        set_so = chosen(sweep, pick, preset)
        began = time.process_time()
        plain = [
            next(
                (
                    trip.saves_from
                    for trip in replay_run(run, [GuardSession(set_so, missing=run.missing)])[0]
                    if trip.level.stops
                ),
                NEVER,
            )
            for run in part
        ]
        spent += time.process_time() - began
        found = sweep.first(pick)
        wrong += sum(
            int(found[place[run.id]]) != step for run, step in zip(part, plain, strict=True)
        )
    compared = min(_COMPARED, len(wanted))
    naive = spent / compared / own_steps * steps * len(wanted)
    faster = naive / after
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(
        f"replaying each combination would take {naive / 3600:,.1f} h: {faster:,.0f} times longer"
    )
    print(f"{compared} combinations on {len(part)} sessions against the replay: {wrong} differ")
    print(f"peak memory {peak / 10**6:,.0f} MB")
    missed = [
        name
        for name, kept_goal in (
            ("time", after <= SLOWEST),
            ("factor", faster >= LEAST_FASTER),
            ("memory", peak < MOST_BYTES),
            ("equality", not wrong),
        )
        if not kept_goal
    ]
    print(f"missed: {', '.join(missed)}" if missed else "all goals kept")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
