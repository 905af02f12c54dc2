"""Looked up is replayed: every combination gives the stops that a plain replay gives."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy
import pytest

from loopaudit.guards import presets
from loopaudit.guards.preset import Preset
from loopaudit.guards.session import GuardSession
from loopaudit.model import Boundary, BoundaryKind, Call, CallStatus, Run, Step, Usage
from loopaudit.replay.crossing import record, with_thresholds
from loopaudit.replay.replay import replay_run
from loopaudit.replay.standing import KnownBy, Standing
from loopaudit.tune import build
from loopaudit.tune.corpus import NEVER, Sample
from loopaudit.tune.dimensions import limits
from loopaudit.tune.sweep import BASE_STEPS, Pick, Sweep


def wandering(number: int, seed: int = 1) -> Run:
    """A run that repeats itself, fails, polls and goes on, by a fixed seed."""
    dice = random.Random(seed * 1_000 + number)
    run = Run(f"run-{number}", f"{number}.jsonl", "test")
    moment, index, kind = 1000.0, 0, 0
    for position in range(dice.randint(1, 45)):
        moment += dice.choice((0.5, 3, 40, 90))
        step = Step(position, run.path, position + 1, id=f"r{position}", at=moment)
        step.usage = Usage(fresh_input=dice.randint(0, 2_000), output=dice.randint(1, 500))
        if dice.random() < 0.04:
            step.before = [Boundary(BoundaryKind.USER, position, run.path, at=moment)]
        if dice.random() < 0.25:
            kind = dice.randrange(6)
        for place in range(dice.choice((1, 1, 1, 2))):
            variant = position if kind == 5 else (position + place) % 2 if kind == 4 else 0
            failed = kind == 2 or dice.random() < 0.1
            call = Call(
                index, position, place, f"c{index}", f"tool{kind}", hash((kind, variant)), 1
            )
            call.status = CallStatus.ERROR if failed else CallStatus.OK
            call.result = hash((kind, variant, dice.random() < 0.2)) & 0xFFFF
            call.error_key = call.result if failed else None
            call.polls = kind == 3
            call.blank = dice.random() < 0.1
            call.started = call.ended = moment + 1
            call.size = 10
            step.calls.append(call)
            index += 1
        step.ended = moment + 2
        run.steps.append(step)
    run.started, run.ended = 1000.0, moment
    return run


RUNS = [wandering(number) for number in range(120)]
PRESETS = {
    name: presets.load(name, env={})
    for name in ("loopaudit", "fuses:demo", "fuses:production", "watchdog:demo", "watchdog")
}
PRESETS["limits"] = limits()
PRESETS["backstop"] = replace(
    (whole := presets.load("backstop:demo", env={})),
    rules=tuple(rule for rule in whole.rules if rule.signal != "similar_result"),
)


def sample(run: Run, preset: Preset) -> Sample:
    counts = [len(step.calls) for step in run.steps]
    tokens = [step.usage.total or 0 for step in run.steps if step.usage is not None]
    return Sample(
        run.id, run.path, run.id, None, 0.0, "t", Standing.STUCK, KnownBy.OUTCOME, len(run.steps),
        -1, 0, counts, tokens, [t * 10**6 for t in tokens], {preset.name: record(run, preset)},
    )  # fmt: skip


def swept(preset: Preset) -> Sweep:
    samples = [sample(run, preset) for run in RUNS]
    return build.sweep(preset, samples, range(len(samples)))


def picks(sweep: Sweep, number: int) -> list[Pick]:
    dice = random.Random(7)
    sizes = [len(d.choices) for d in sweep.dimensions]
    found = [tuple(dice.randrange(size) for size in sizes) for _ in range(number)]
    return [tuple(d.now for d in sweep.dimensions), tuple(n - 1 for n in sizes), *found]


def chosen(sweep: Sweep, pick: Pick, preset: Preset) -> Preset:
    values = {
        (d.signal, d.level, d.poll): d.choices[n].threshold
        for d, n in zip(sweep.dimensions, pick, strict=True)
    }
    changed = with_thresholds(preset, values)
    base = [v for (signal, _, _), v in values.items() if signal == BASE_STEPS]
    return (
        replace(changed, limits={**changed.limits, BASE_STEPS: base[0] or 2**40})
        if base
        else changed
    )


def plain(run: Run, preset: Preset) -> tuple[int, int]:
    """The first stop of a replay from the log itself, and the first milder act before it."""
    trips = replay_run(run, [GuardSession(preset, missing=run.missing)])[0]
    stop = next((t.saves_from for t in trips if t.level.stops), NEVER)
    mild = min((t.saves_from for t in trips if not t.level.stops), default=NEVER)
    return stop, mild if mild < stop else NEVER


def looked_up(sweep: Sweep, pick: Pick) -> list[tuple[int, int]]:
    first, warned = sweep.first(pick), sweep.warned(pick)
    mild = [NEVER] * len(first) if warned is None else warned.tolist()
    return [(a, b if b < a else NEVER) for a, b in zip(first.tolist(), mild, strict=True)]


@pytest.mark.parametrize("name", [n for n in PRESETS if n != "limits"])
def test_a_sample_of_combinations_equals_the_replay(name: str) -> None:
    """Stops and warnings together: under a policy of the first rule, one hides the other."""
    preset = PRESETS[name]
    sweep = swept(preset)
    assert sweep.replayed == name.startswith("watchdog")
    stopped = warned = 0
    for pick in picks(sweep, 12):
        expected = [plain(run, chosen(sweep, pick, preset)) for run in RUNS]
        found = looked_up(sweep, pick)
        if not sweep.replayed:
            assert found == expected
        else:  # its repairs are no warnings to be turned
            assert [stop for stop, _ in found] == [stop for stop, _ in expected]
        stopped += sum(stop != NEVER for stop, _ in expected)
        warned += sum(mild != NEVER for _, mild in expected)
    assert stopped > 100
    assert warned > 100 or sweep.replayed


def test_limits_equal_the_replay() -> None:
    preset = PRESETS["limits"]
    sweep = swept(preset)
    assert [d.title for d in sweep.dimensions] == [
        "steps stop", "wall_time stop", "token_budget stop", "usd stop", "steps converge",
    ]  # fmt: skip
    never = len(sweep.dimensions[3].choices) - 1
    for pick in picks(sweep, 12):
        pick = (*pick[:3], never, pick[4])  # money has no detector
        expected = [plain(run, chosen(sweep, pick, preset)) for run in RUNS]
        assert looked_up(sweep, pick) == expected


def test_money_is_met_with_the_step_that_spends_it() -> None:
    preset = PRESETS["limits"]
    one = sample(RUNS[0], preset)
    one.pico = [10**12, 10**12, 2 * 10**12]
    one.steps = 3
    sweep = build.sweep(preset, [one], [0])
    usd = sweep.dimensions[3]
    met = {c.threshold: int(sweep.alone(3, n)[0]) for n, c in enumerate(usd.choices)}
    assert met[2] == 2  # reached with the second step: from the third on it is saved
    assert met[3] == 3
    assert met[None] == NEVER


def test_a_part_is_the_whole_of_fewer_runs() -> None:
    for name in ("fuses:demo", "watchdog:demo", "loopaudit"):
        sweep = swept(PRESETS[name])
        some = numpy.array([3, 17, 40, 99])
        for pick in picks(sweep, 3):
            assert sweep.part(some).first(pick).tolist() == sweep.first(pick)[some].tolist()
