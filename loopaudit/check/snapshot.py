"""What guards do to a corpus, small enough to be kept: a verdict for each run, figures a type.

The baseline is such a snapshot with who made it, why and when. Steps are counted from 0 in it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any

from loopaudit.errors import ConfigError
from loopaudit.findings import Finding, Trip
from loopaudit.money import usd
from loopaudit.replay.audit import AuditedRun
from loopaudit.replay.finding_labels import Label
from loopaudit.replay.results import UNKNOWN
from loopaudit.replay.standing import Standing, judged
from loopaudit.replay.totals import charge, union, unpriced_tokens

SCHEMA_VERSION = 1
NO_TYPE = "(no type)"


@dataclass(frozen=True, slots=True)
class Act:
    """Something a guard does: at which step, and by which rule."""

    step: int
    level: str
    signal: str
    threshold: float

    def words(self) -> str:
        return (
            f"{self.level} at step {self.step + 1:,} ({self.signal}, limit {self.threshold:,.10g})"
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one guard does to one run: its first act, and its first stop."""

    first: Act | None = None
    stop: Act | None = None

    @property
    def does(self) -> tuple[tuple[int, str, str] | None, ...]:
        """What counts when two are compared: a threshold that changes nothing else does not."""
        acts = (self.first, self.stop)
        return tuple(None if a is None else (a.step, a.level, a.signal) for a in acts)

    def words(self) -> str:
        if self.first is None:
            return "nothing"
        if self.stop is None or self.stop == self.first:
            return self.first.words()
        return f"{self.first.words()}, {self.stop.words()}"


@dataclass(slots=True)
class RunRow:
    """One run as it is kept."""

    task_type: str
    standing: str
    path: str
    outcomes: dict[str, Outcome] = field(default_factory=dict)  # by guard


@dataclass(slots=True)
class TypeRow:
    """Figures of one task type. Money in exact dollars; None: not known."""

    runs: int = 0
    healthy: int = 0
    loops: int = 0
    interrupted: dict[str, int] = field(default_factory=dict)  # by guard
    missed: dict[str, int] = field(default_factory=dict)
    waste_tokens: int | None = None
    waste_usd: Decimal | None = None
    cost_usd: Decimal | None = None


@dataclass(slots=True)
class Measured:
    """What the limits are held against, of one run. None: the log does not tell."""

    id: str
    task_type: str
    item: AuditedRun
    findings: list[Finding]  # that count
    steps: int
    seconds: float | None
    tokens: int | None
    cost_usd: Decimal | None
    unpriced: int  # tokens
    waste_tokens: int | None
    waste_usd: Decimal | None


@dataclass(slots=True)
class Snapshot:
    digest: str
    runs: dict[str, RunRow] = field(default_factory=dict)
    types: dict[str, TypeRow] = field(default_factory=dict)
    guards: tuple[str, ...] = ()
    made: dict[str, str] = field(default_factory=dict)  # by, at, reason, version, paths
    measured: list[Measured] = field(default_factory=list)  # not kept


def take(
    audited: Sequence[AuditedRun],
    guards: Sequence[str],
    labels: Mapping[str, Label],
    suppressed: Collection[str] = (),
) -> Snapshot:
    """The snapshot of what was audited, runs in order of their ids."""
    found = Snapshot("", guards=tuple(guards))
    for item in sorted(audited, key=lambda i: i.found.run.id):
        run = item.found.run
        stands = judged(item, dict(labels))
        counted = [f for f in stands.loops if f.id not in suppressed]
        task_type = run.task_type or NO_TYPE
        row = RunRow(task_type, stands.standing, run.path)
        kind = found.types.setdefault(task_type, TypeRow())
        kind.runs += 1
        kind.healthy += stands.standing is Standing.HEALTHY
        kind.loops += len(counted)
        for guard in guards:
            trips = [
                t for t in item.found.trips.get(guard, ()) if t.step not in item.found.inherited
            ]
            outcome = row.outcomes[guard] = _outcome(trips)
            stops = [t.saves_from for t in trips if t.level.stops]
            first = min(stops, default=None)
            hit = stands.standing is Standing.HEALTHY and outcome.stop is not None
            kind.interrupted[guard] = kind.interrupted.get(guard, 0) + hit
            missed = sum(first is None or first > f.last.step for f in counted)
            kind.missed[guard] = kind.missed.get(guard, 0) + missed
        found.runs[run.id] = row
        one = _measured(item, task_type, counted)
        found.measured.append(one)
        kind.waste_tokens = _plus(kind.waste_tokens, one.waste_tokens)
        kind.waste_usd = _plus(kind.waste_usd, one.waste_usd)
        kind.cost_usd = _plus(kind.cost_usd, one.cost_usd)
    found.types = dict(sorted(found.types.items()))
    lines = [f"{m.id}\t{m.task_type}\t{m.steps}" for m in found.measured]
    found.digest = sha256("\n".join(lines).encode("utf-8", "replace")).hexdigest()[:16]
    return found


def _plus(a: Any, b: Any) -> Any:
    return b if a is None else a if b is None else a + b


def _outcome(trips: Sequence[Trip]) -> Outcome:
    first = next((t for t in trips), None)
    stop = next((t for t in trips if t.level.stops), None)
    return Outcome(_act(first), _act(stop))


def _act(trip: Trip | None) -> Act | None:
    if trip is None:
        return None
    return Act(trip.step, str(trip.level), trip.detector, float(trip.threshold))


def _measured(item: AuditedRun, task_type: str, counted: list[Finding]) -> Measured:
    found, priced, run = item.found, item.priced, item.found.run
    waste = charge(union(counted), found, priced, None)
    costs = [priced.cost[i] for i in priced.own if priced.cost[i] != UNKNOWN]
    times = [t for t in found.columns.at if t == t]
    seconds = None
    if run.started is not None and run.ended is not None and times:
        seconds = max(0.0, run.ended - run.started)
    known = item.summary.tokens.total
    return Measured(
        id=run.id,
        task_type=task_type,
        item=item,
        findings=counted,
        steps=sum(not found.columns.compaction[i] for i in priced.own),
        seconds=seconds,
        tokens=known,
        cost_usd=usd(sum(costs)) if costs else None,
        unpriced=sum(unpriced_tokens(found.columns, priced, i) for i in priced.own),
        waste_tokens=None if known is None else waste.tokens,
        waste_usd=waste.usd if waste.usd is not None or not costs else Decimal(0),
    )


# -- the file -------------------------------------------------------------------------------------


def write(snapshot: Snapshot, path: Path) -> None:
    """Writes the baseline, one run a line. Raises `OSError`."""
    head = {
        "loopaudit_baseline": SCHEMA_VERSION,
        **snapshot.made,
        "corpus": snapshot.digest,
        "guards": list(snapshot.guards),
    }
    lines = [f" {_dumps(key)}: {_dumps(value)}" for key, value in head.items()]
    types = [f"  {_dumps(name)}: {_dumps(_type_out(row))}" for name, row in snapshot.types.items()]
    runs = [f"  {_dumps(name)}: {_dumps(_run_out(row))}" for name, row in snapshot.runs.items()]
    for name, rows in (("task_types", types), ("runs", runs)):
        lines.append(f' "{name}": {{\n' + ",\n".join(rows) + "\n }")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True)


def _type_out(row: TypeRow) -> dict[str, Any]:
    money = {k: None if v is None else f"{v:f}" for k, v in
             (("waste_usd", row.waste_usd), ("cost_usd", row.cost_usd))}  # fmt: skip
    return {
        "runs": row.runs,
        "healthy": row.healthy,
        "loops": row.loops,
        "interrupted": row.interrupted,
        "missed": row.missed,
        "waste_tokens": row.waste_tokens,
        **money,
    }


def _run_out(row: RunRow) -> dict[str, Any]:
    return {
        "task_type": row.task_type,
        "standing": row.standing,
        "path": row.path,
        "guards": {
            guard: [_act_out(outcome.first), _act_out(outcome.stop)]
            for guard, outcome in row.outcomes.items()
        },
    }


def _act_out(act: Act | None) -> list[Any] | None:
    return None if act is None else [act.step, act.level, act.signal, act.threshold]


def read(path: Path) -> Snapshot | None:
    """The baseline; None where there is no file. Raises `ConfigError` where it cannot be used."""
    if path.exists() and not path.is_file():  # a device may never end
        raise ConfigError("cannot read the baseline: not a file", path=str(path))
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise ConfigError(f"cannot read the baseline: {reason}", path=str(path)) from None
    hint = "make it anew: loopaudit baseline update --reason …"
    try:
        data: Any = json.loads(text)
        if data["loopaudit_baseline"] != SCHEMA_VERSION:
            raise ConfigError("a baseline of another version", hint, path=str(path))
        return _read(data)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, ArithmeticError):
        raise ConfigError("not a baseline of loopaudit", hint, path=str(path)) from None


def _read(data: Any) -> Snapshot:
    found = Snapshot(str(data["corpus"]), guards=tuple(map(str, data["guards"])))
    found.made = {
        key: str(value) for key, value in data.items() if isinstance(value, str) and key != "corpus"
    }
    for name, row in data["runs"].items():
        outcomes = {
            str(guard): Outcome(_act_in(first), _act_in(stop))
            for guard, (first, stop) in row["guards"].items()
        }
        found.runs[name] = RunRow(
            str(row["task_type"]), str(row["standing"]), str(row["path"]), outcomes
        )
    for name, row in data["task_types"].items():
        found.types[name] = TypeRow(
            runs=int(row["runs"]),
            healthy=int(row["healthy"]),
            loops=int(row["loops"]),
            interrupted={str(k): int(v) for k, v in row["interrupted"].items()},
            missed={str(k): int(v) for k, v in row["missed"].items()},
            waste_tokens=None if row["waste_tokens"] is None else int(row["waste_tokens"]),
            waste_usd=None if row["waste_usd"] is None else Decimal(row["waste_usd"]),
            cost_usd=None if row["cost_usd"] is None else Decimal(row["cost_usd"]),
        )
    return found


def _act_in(value: Any) -> Act | None:
    if value is None:
        return None
    step, level, signal, threshold = value
    return Act(int(step), str(level), str(signal), float(threshold))
