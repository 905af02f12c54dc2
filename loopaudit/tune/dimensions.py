"""What can be turned: the thresholds of a guard set, and the values to try for each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from loopaudit.findings import Level
from loopaudit.guards import presets
from loopaudit.guards.preset import Number, Overrides, Preset, PresetRule
from loopaudit.replay.crossing import Crossings

#: values tried for one threshold at most; between many, evenly by ratio
MOST_VALUES = 40
_ALL_UP_TO = 30  # whole numbers up to here are all tried
_ROUND = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)  # times a power of ten, for measured amounts
_MEASURED = ("tokens", "seconds", "usd")
#: options of detectors that are thresholds of their own: values tried beside the one set
OPTIONS: dict[str, tuple[float, ...]] = {"similarity": (0.85, 0.88, 0.9, 0.92, 0.94, 0.96, 0.98)}
#: name of the set of plain limits, which stands in no file
LIMITS = "limits"
USD_LIMIT = "usd"
#: name of the set that meters the whole service, and of its one signal
SERVICE = "service"
DAY_BUDGET = "day_budget"


@dataclass(frozen=True, slots=True)
class Choice:
    """One value to try: a threshold (None: never) and, where the rule has one, an option."""

    threshold: Number | None
    option: float | None = None


@dataclass(frozen=True, slots=True)
class Dimension:
    """One thing that can be turned."""

    signal: str
    level: Level  # what follows
    poll: bool  # the threshold for known waits
    unit: str
    over: bool
    choices: tuple[Choice, ...]  # from low to high, the last one is "never"
    now: int  # number of the choice that is set now
    option: str | None = None  # name of the option that is turned with it
    reached: int = 0  # runs that reach the lowest choice

    @property
    def name(self) -> str:
        return f"{self.signal} (waits)" if self.poll else self.signal

    @property
    def title(self) -> str:
        """Its name with what follows."""
        return f"{self.name} {self.level}"

    def earlier(self, choice: int) -> bool:
        """May a run be met earlier by this choice than by what is set now?"""
        new, old = self.choices[choice], self.choices[self.now]
        if new.threshold is None or new == old:
            return False
        return old.threshold is None or new.threshold < old.threshold or new.option is not None


def limits(user: Mapping[str, Any] | None = None, usd: float | None = None) -> Preset:
    """Step, time and token limits as one set; that of money is looked up in the prices.

    `user`: the user's guard sets; `usd`: the budget that is set for a run.
    """
    backstop, fuses = presets.load("backstop", user), presets.load("fuses", user)
    rules = [backstop.rule("steps"), backstop.rule("wall_time"), fuses.rule("token_budget")]
    return Preset(
        set=LIMITS,
        variant="default",
        description="Plain limits of steps, time and tokens",
        policy="each",
        rules=tuple(rule for rule in rules if rule is not None),
        limits={} if usd is None else {USD_LIMIT: usd},
        task_types={
            name: Overrides({**_rules(backstop, name), **_rules(fuses, name)})
            for name in (*backstop.task_types, *fuses.task_types)
        },
    )


def service(usd: float | None = None, tokens: float | None = None) -> Preset:
    """A budget of a day for all runs together; `usd`, `tokens`: as it is set."""
    rule = PresetRule(DAY_BUDGET, "loopaudit.detectors.budgets:ServiceMoney", unit="usd")
    limits = {"usd": usd, "tokens": tokens}
    return Preset(
        set=SERVICE,
        variant="default",
        description="A budget of a day for the whole service",
        policy="each",
        rules=(rule,),
        limits={unit: number for unit, number in limits.items() if number is not None},
    )


def _rules(preset: Preset, task_type: str) -> Mapping[str, PresetRule]:
    """The rules that differ for a type, of those that are plain limits."""
    own = preset.task_types.get(task_type)
    wanted = ("token_budget",) if preset.set == "fuses" else ("steps", "wall_time")
    return {} if own is None else {n: rule for n, rule in own.rules.items() if n in wanted}


def with_option(preset: Preset, rule: PresetRule, option: str, value: float) -> Preset:
    """The set with one rule only, whose option is changed."""
    changed = replace(rule, options={**rule.options, option: value})
    return replace(
        preset, set=f"{preset.name}|{option}={value:g}", variant="default", rules=(changed,),
        task_types={}, policy="each",
    )  # fmt: skip


def variants(preset: Preset) -> list[tuple[PresetRule, str, float, Preset]]:
    """The sets that must count beside `preset`, one for each value of an option to be tried."""
    return [
        (rule, option, value, with_option(preset, rule, option, value))
        for rule in preset.rules
        for option, values in OPTIONS.items()
        if option in rule.options
        for value in values
        if value != rule.options[option]
    ]


def values_of(rule: PresetRule, greatest: Iterable[float], now: Number | None) -> list[Number]:
    """Thresholds worth trying, rising. `greatest`: the greatest count of each run."""
    seen = sorted({value for value in greatest if value > 0 and math.isfinite(value)})
    if rule.unit in _MEASURED:
        found = _round_numbers(seen, whole=rule.unit == "tokens")
    else:
        most = int(seen[-1]) - rule.over if seen else 0
        # at 1 a rule would fire at the first thing it looks at; some are set so
        least = 1 if rule.over else 2
        found = [float(n) for n in range(least, min(most, _ALL_UP_TO) + 1)]
        found += [float(int(n)) for n in seen if n - rule.over > _ALL_UP_TO]
    numbers: list[Number] = [int(n) if n == int(n) else n for n in sorted(set(found))]
    numbers = _thinned(numbers)
    if now is not None and now not in numbers:
        numbers = sorted([*numbers, now])
    return numbers


def _round_numbers(seen: Sequence[float], *, whole: bool) -> list[float]:
    if not seen:
        return []
    low, high = seen[0] / 2, seen[-1]  # below the least nearly every run would be met
    found = []
    for power in range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1):
        for factor in _ROUND:
            value = float(f"{factor}e{power}")
            if low <= value <= high and (not whole or value == int(value)):
                found.append(value)
    return found


def _thinned(numbers: list[Number]) -> list[Number]:
    if len(numbers) <= MOST_VALUES:
        return numbers
    kept = [n for n in numbers if n <= _ALL_UP_TO][: MOST_VALUES // 2]
    rest = numbers[len(kept) :]
    room = MOST_VALUES - len(kept)
    places = {round(i * (len(rest) - 1) / (room - 1)) for i in range(room)}
    return kept + [rest[i] for i in sorted(places)]


def _greatest_told(one: Crossings, signal: str, poll: bool) -> float:
    """The greatest count in what could not be kept as a series."""
    counts = [c for event in one.mixed for s, c, p in event if s == signal and p == poll]
    counts += [r.count for told in one.events for r in told.readings if r.signal == signal]
    return max(map(float, counts), default=0.0)


def greatest(crossings: Iterable[Crossings], signal: str, poll: bool) -> list[float]:
    """The greatest count that each run reached."""
    found = []
    for one in crossings:
        series = one.series.get((signal, poll))
        best = series.values[-1] if series is not None else 0.0
        if one.mixed or one.events:
            best = max(best, _greatest_told(one, signal, poll))
        if best > 0:
            found.append(best)
    return found
