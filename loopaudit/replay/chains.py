"""Readings to chains, and chains that tell of the same steps to groups."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise

from loopaudit.detectors.catalog import rule_of
from loopaudit.findings import Reading, Rule
from loopaudit.guards.preset import Preset, PresetRule
from loopaudit.model import Attempt, Run


@dataclass(slots=True)
class Chain:
    """All readings of one signal with one group: one thing that grew."""

    rule: PresetRule
    last: Reading  # the newest
    calls: list[int] = field(default_factory=list)  # redundant calls, flat indices
    bare: list[int] = field(default_factory=list)  # steps that are redundant as a whole
    texts: dict[int, tuple[int, float]] = field(default_factory=dict)  # see `redundant_text`
    attempts: dict[int, tuple[Attempt, ...]] = field(
        default_factory=dict
    )  # by the step they led to
    steps: set[int] = field(default_factory=set)  # steps of both
    retryable: bool | None = None  # False if one failure would not pass by itself
    poll: bool = False
    reported: bool = False  # it reached the count from which it is reported
    explained: bool = False  # by the other chains of its group, whole

    @property
    def document(self) -> Rule:
        """The rule as documented."""
        return rule_of(self.rule.detector, self.rule.signal)

    @property
    def first_step(self) -> int:
        return self.last.step if self.last.first_step is None else self.last.first_step


class Chains:
    """Takes in the readings of a run as they come, and keeps what they add up to."""

    def __init__(self, preset: Preset) -> None:
        self.preset = preset
        self._found: list[Chain] = []  # in order of their first reading
        #: by signal, of the rules that report: the rule, and its chains by group
        self._by_signal: dict[str, tuple[PresetRule, dict[Hashable, Chain]]] = {
            rule.signal: (rule, {}) for rule in preset.rules if rule.report is not None
        }

    def add(self, reading: Reading) -> None:
        chain = reading.kept
        if chain is None:
            chain = reading.kept = self._chain(reading)
        if not chain:
            return
        chain.calls += reading.redundant
        if reading.redundant_steps:
            chain.bare += reading.redundant_steps
        if reading.redundant_text is not None:
            chain.texts[reading.step] = reading.redundant_text
        if reading.attempts:
            chain.attempts[reading.step] = reading.attempts
        if reading.retryable is not None:
            chain.retryable = reading.retryable and chain.retryable is not False
        if not chain.reported:
            chain.reported = reading.count >= report_from(chain.rule, reading.poll)

    def _chain(self, reading: Reading) -> Chain | bool:
        """The chain of a reading seen for the first time; False if its rule reports nothing."""
        known = self._by_signal.get(reading.signal)
        if known is None:
            return False
        rule, by_group = known
        chain = by_group.get(reading.group)
        if chain is None:
            chain = by_group[reading.group] = Chain(rule, reading)
            self._found.append(chain)
        chain.last = reading
        return chain

    def of(self, run: Run) -> list[Chain]:
        """Chains of the rules that report, in order of their first reading."""
        if self._found:
            step_of = [step.index for step in run.steps for _ in step.calls]
            for chain in self._found:
                chain.steps = {step_of[call] for call in chain.calls}
                chain.steps.update(chain.bare, chain.texts)
                chain.poll = chain.last.poll
        return self._found


def report_from(rule: PresetRule, poll: bool) -> float:
    """The count from which a finding is reported."""
    if poll and rule.poll is not None and rule.poll.report is not None:
        return rule.poll.report
    return float("inf") if rule.report is None else rule.report


def groups(run: Run, found: Sequence[Chain], preset: Preset) -> list[list[Chain]]:
    """Reported chains that tell of one loop: they share a redundant step, or take turns over one
    stretch.

    In each group the outermost loop comes first, then the chain that explains most steps; where
    they explain equally many, the one whose rule stands first in the preset.
    """
    run_chains = [chain for chain in found if chain.reported and chain.steps]
    borne = {step for chain in found if not chain.reported for step in chain.steps}
    parent = list(range(len(run_chains)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    owner: dict[int, int] = {}
    for i, chain in enumerate(run_chains):
        for step in chain.steps:
            parent[root(i)] = root(owner.setdefault(step, i))
    spans = _spans(root, run_chains)
    for (i, start, end), (j, other_start, other_end) in pairwise(spans):
        common = min(end, other_end) - max(start, other_start) + 1
        longer = max(end - start, other_end - other_start) + 1
        if common * 2 > longer:
            parent[root(j)] = root(i)
    members: dict[int, list[Chain]] = {}
    for i, chain in enumerate(run_chains):
        members.setdefault(root(i), []).append(chain)
    for group in members.values():
        _explain(run, group, borne)
    place = {rule.signal: n for n, rule in enumerate(preset.rules)}
    return [
        sorted(
            group,
            key=lambda c: (
                c.explained,
                c not in outer,
                -len(c.steps),
                place[c.rule.signal],
                c.first_step,
            ),
        )
        for group in members.values()
        for outer in [_outermost(group)]
    ]


def storms(found: Sequence[Chain], preset: Preset) -> list[list[Chain]]:
    """Reported chains about failed API attempts, those about the same response together."""
    place = {rule.signal: n for n, rule in enumerate(preset.rules)}
    members: dict[int, list[Chain]] = {}
    for chain in found:
        if chain.reported and chain.attempts and not chain.steps:
            members.setdefault(chain.last.step, []).append(chain)
    return [sorted(group, key=lambda c: place[c.rule.signal]) for group in members.values()]


def _outermost(group: list[Chain]) -> list[Chain]:
    """Rounds from compaction to compaction hold other loops: they explain why those go on, where
    they cover most of what is redundant."""
    rounds = [chain for chain in group if chain.document.family == "compaction"]
    if not rounds:
        return []
    every = set[int]().union(*(chain.steps for chain in group))
    return [chain for chain in rounds if 2 * len(chain.steps) >= len(every)]


def _explain(run: Run, group: list[Chain], borne: set[int]) -> None:
    """A row of failures adds nothing to loops that explain it whole: by their first occurrences,
    their repeats, and repeats `borne` because they are too few (retries of a passing fault). What
    was done for the first time is no waste, though it failed."""
    loops = [chain for chain in group if chain.document.family != "failure"]
    rows = [chain for chain in group if chain.document.family == "failure"]
    if not loops or not rows:
        return
    repeats = set[int]().union(*(chain.steps for chain in loops))
    known = borne.union(repeats, *(_first_round(run, chain) for chain in loops))
    for chain in rows:
        if chain.steps <= known:
            chain.explained = True
            chain.steps &= repeats
            inside = {call.index for number in chain.steps for call in run.steps[number].calls}
            chain.calls = [index for index in chain.calls if index in inside]


def _first_round(run: Run, chain: Chain) -> list[int]:
    """The steps that were repeated, as first done."""
    first, period = chain.first_step, chain.last.period or 1
    steps = (step.index for step in run.steps[first : first + 4 * period] if step.calls)
    return list(islice(steps, period))


def _spans(root: Callable[[int], int], run_chains: Sequence[Chain]) -> list[tuple[int, int, int]]:
    """(group, first, last redundant step) of each group, in order."""
    spans: dict[int, tuple[int, int]] = {}
    for i, chain in enumerate(run_chains):
        if not chain.steps:
            continue
        start, end = min(chain.steps), max(chain.steps)
        known = spans.get(root(i), (start, end))
        spans[root(i)] = (min(start, known[0]), max(end, known[1]))
    return sorted(((i, *span) for i, span in spans.items()), key=lambda s: s[1:])
