"""The whole of `tune`: audited runs in, advice for each guard set and task type out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from loopaudit.guards.preset import Preset
from loopaudit.replay.audit import AuditedRun
from loopaudit.replay.finding_labels import Label
from loopaudit.replay.standing import KnownBy, Standing, judged
from loopaudit.tune import service, split
from loopaudit.tune.advice import Advice, advise
from loopaudit.tune.corpus import NO_TYPE, Sample, sample, tells, unit_of
from loopaudit.tune.dimensions import LIMITS, SERVICE, limits, variants
from loopaudit.tune.options import TuneOptions

__all__ = ["LIMITS", "Tuning", "limits", "traced", "tune"]


@dataclass(slots=True)
class Tuning:
    """All that `tune` has to say. `digest` names the corpus: ids and lengths of its runs."""

    options: TuneOptions
    runs: int
    digest: str
    advice: list[Advice] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)  # reason -> runs


def traced(guards: Iterable[Preset]) -> tuple[Preset, ...]:
    """The sets that must count while the logs are read: each, and its variants by option."""
    found: dict[str, Preset] = {}
    for preset in guards:
        if preset.set == SERVICE:
            continue  # made of what the runs spent, see `service`
        found[preset.name] = preset
        for _, _, _, changed in variants(preset):
            found[changed.name] = changed
    return tuple(found.values())


def tune(
    audited: Sequence[AuditedRun],
    guards: Sequence[Preset],
    labels: dict[str, Label],
    options: TuneOptions,
) -> Tuning:
    """Advice in order of task types (by name), then of guard sets as given."""
    roots = _roots(audited)
    samples = []
    inherited = 0
    for item in audited:
        if item.found.inherited or len(item.priced.own) < len(item.found.columns):
            inherited += 1
            continue
        samples.append(sample(item, judged(item, labels), roots[item.found.run.id]))
    made = Tuning(options, len(samples), digest_of(samples))
    if inherited:
        made.left_out["begin with a copy of another session, or lie partly outside the time asked"
                      " for"] = inherited  # fmt: skip
    metered = [preset for preset in guards if preset.set == SERVICE]
    guards = [preset for preset in guards if preset.set != SERVICE]
    types = sorted({s.task_type for s in samples}, key=lambda t: (t == NO_TYPE, t))
    for task_type in types:
        own = [s for s in samples if s.task_type == task_type]
        for preset in guards:
            made.advice.append(_of_type(preset, task_type, own, options))
    for preset in metered:
        days, refused = service.by_day(samples)
        advice = _of_type(preset, service.ALL_TYPES, days or samples, options, refused)
        made.advice.append(advice)
    return made


def _of_type(
    preset: Preset,
    task_type: str,
    samples: Sequence[Sample],
    options: TuneOptions,
    refused: str = "",
) -> Advice:
    """`refused`: why there can be no advice, where that is known."""
    known = [s for s in samples if s.standing is not Standing.UNKNOWN]
    said = [s for s in known if s.by is not KnownBy.RULE]
    left_out: dict[str, int] = {}
    if len(known) < len(samples):
        left_out["no outcome, and a loop that ended by itself or a log still written"] = len(
            samples
        ) - len(known)
    both = {s.standing for s in said} == {Standing.HEALTHY, Standing.STUCK}
    used = said if both or len(said) >= options.min_runs else known
    if used is said and len(said) < len(known):
        left_out["no outcome recorded, while others have one"] = len(known) - len(said)
    unit = unit_of(used)
    silent = sum(not tells(s, unit) for s in used)
    if silent:
        left_out[f"no {'price' if unit == 'usd' else 'usage'}, while others have one"] = silent
        used = [s for s in used if tells(s, unit)]
    by: dict[str, int] = {}
    for one in used:
        by[one.by] = by.get(one.by, 0) + 1
    stuck = [s for s in used if s.standing is Standing.STUCK]
    into = Advice(
        guard=preset.name,
        task_type=task_type,
        unit=unit,
        way=options.hold_out or split.way_of(used),
        by=dict(sorted(by.items())),
        left_out=left_out,
        healthy=len(used) - len(stuck),
        stuck=len(stuck),
        with_loop=sum(s.loop_end >= 0 for s in stuck),
    )
    lacking: dict[str, int] = {}
    for one in used:
        crossings = one.counted.get(preset.name)
        for signal, need in crossings.undecidable if crossings is not None else ():
            what = f"{signal}: no {need} in the log"
            lacking[what] = lacking.get(what, 0) + 1
    into.undecidable = dict(sorted(lacking.items()))
    if refused:
        into.refused = refused
        return into
    for name, number in (("healthy", into.healthy), ("stuck", into.stuck)):
        if number < options.min_runs:
            into.refused = f"too few {name} runs ({number} < {options.min_runs})"
            return into
    own = preset.for_task(None if task_type == NO_TYPE else task_type)
    return advise(own, used, unit, into.way, options, into)


def _roots(audited: Sequence[AuditedRun]) -> dict[str, str]:
    """For each run the session it belongs to: that of its outermost parent."""
    parents = {item.found.run.id: item.found.run.parent for item in audited}
    sessions = {item.found.run.id: item.found.run.session for item in audited}
    roots = {}
    for name in parents:
        here, seen = name, {name}
        while (parent := parents.get(here)) is not None and parent in parents:
            if parent in seen:
                break
            seen.add(parent)
            here = parent
        roots[name] = sessions[here] or here
    return roots


def digest_of(samples: Iterable[Sample]) -> str:
    """A name for the corpus that does not depend on where it lies or in which order it is read."""
    lines = sorted(f"{s.id}\t{s.task_type}\t{s.steps}\t{sum(s.calls)}" for s in samples)
    return sha256("\n".join(lines).encode("utf-8", "replace")).hexdigest()[:16]
