"""What a check comes to: reasons with their places, and runs on which guards act otherwise."""

from __future__ import annotations

from dataclasses import dataclass, field

from loopaudit.check.codes import Level
from loopaudit.check.snapshot import Outcome, Snapshot
from loopaudit.errors import ExitCode


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in a log that shows why."""

    run: str
    path: str
    line: int
    step: int | None = None
    finding: str | None = None  # fingerprint


@dataclass(frozen=True, slots=True)
class Judgement:
    """One reason, whatever comes of it."""

    code: str
    level: Level
    message: str
    task_type: str | None = None
    guard: str | None = None
    limit: str | None = None  # name of the limit
    allowed: float | None = None
    measured: float | None = None
    runs: int | None = None  # of which it was measured
    spots: tuple[Spot, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """A run on which a guard now acts otherwise."""

    run: str
    task_type: str
    standing: str
    guard: str
    before: Outcome
    after: Outcome
    spot: Spot

    @property
    def worse(self) -> str:
        """In what way it got worse, "" if it did not."""
        if self.standing == "healthy" and self.after.stop and not self.before.stop:
            return "a healthy run is interrupted"
        if self.standing == "stuck" and self.before.stop and not self.after.stop:
            return "a stuck run is no longer stopped"
        return ""


@dataclass(slots=True)
class CheckResult:
    """All that `check` has to say."""

    judgements: list[Judgement]
    new: Snapshot
    old: Snapshot | None = None
    old_name: str = ""
    changes: list[Change] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)

    def sort(self) -> None:
        """Worst first; within a level by code, type, guard."""
        self.judgements.sort(
            key=lambda j: (_ORDER[j.level], j.code, j.task_type or "", j.guard or "")
        )

    def at(self, level: Level) -> list[Judgement]:
        return [j for j in self.judgements if j.level is level]

    @property
    def code(self) -> ExitCode:
        if any(j.code == "broken" for j in self.judgements):
            return ExitCode.INTERNAL
        if self.at(Level.ERROR):
            return ExitCode.LIMIT
        return ExitCode.UNKNOWN if self.at(Level.UNKNOWN) else ExitCode.PASS

    @property
    def verdict(self) -> str:
        """One line."""
        errors, warns = len(self.at(Level.ERROR)), len(self.at(Level.WARN))
        unknown = len(self.at(Level.UNKNOWN))
        words = {
            ExitCode.PASS: "PASS",
            ExitCode.LIMIT: "FAIL",
            ExitCode.UNKNOWN: "CANNOT SAY",
            ExitCode.INTERNAL: "BROKEN",
        }[self.code]
        passed = len(self.at(Level.OK))
        parts = [f"{passed} passed"]
        parts += [f"{errors} failed"] if errors else []
        parts += [f"{warns} warned"] if warns else []
        parts += [f"{unknown} cannot be said"] if unknown else []
        return f"{words}: {', '.join(parts)}; {len(self.new.runs):,} runs"

    @property
    def changed(self) -> bool:
        """Is there anything to tell beyond that all is as it was?"""
        told = (Level.ERROR, Level.WARN, Level.UNKNOWN)
        return bool(self.changes or any(j.level in told for j in self.judgements))


_ORDER = {level: n for n, level in enumerate(reversed(Level))}
