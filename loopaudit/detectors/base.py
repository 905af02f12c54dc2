"""What a detector is: events in order come in, readings go out.

Order of events for each step, in replay and live alike:

    boundary(b)*            what lies between the last step and this one
    step_started(step)      the model has answered; nothing is judged or run yet
    call_proposed(call)*    each call of the response, in order, before it runs
    call_ended(call)*       each call again, in order, once its result is known
    step_ended(step)

and once, after the boundaries that follow the last step (`run.after`):

    run_ended(run)          gives access to `run.attempts_after`: attempts that got no response

The `Call` and `Step` objects are the same ones in all events. During `call_proposed` a detector
must not look at how the call ended (live it is not known yet). Time is in the events; a detector
reads no clock, draws no random number and does no I/O. A fresh instance serves each run; one whose
`scope` is "service" gets the events of all runs, merged by time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from loopaudit.findings import Reading
from loopaudit.model import Boundary, BoundaryKind, Call, CallStatus, Run, Step, StepKind

NONE: tuple[Reading, ...] = ()

# looked up once: up to Python 3.11 an enum takes 0.1 us to find a member, at each call of a run
OK, ERROR = CallStatus.OK, CallStatus.ERROR
USER, COMPACTION = BoundaryKind.USER, BoundaryKind.COMPACTION
MODEL_STEP, COMPACTION_STEP = StepKind.MODEL, StepKind.COMPACTION


class Detector:
    """Base of all detectors: ignores every event. Override what is needed, leave the rest.

    The driver calls only methods that a subclass overrides, so an unused event costs nothing. A
    reading that grows may be one object, handed out again with a higher count: it is read before
    the next event. Another group is another object.
    """

    signals: ClassVar[tuple[str, ...]] = ()
    needs: ClassVar[frozenset[str]] = frozenset()  # of "results", "times", "usage", "arguments"
    needs_more: ClassVar[Mapping[str, frozenset[str]]] = {}  # what single signals need on top
    scope: ClassVar[str] = "run"  # or "service"

    def boundary(self, boundary: Boundary) -> Sequence[Reading]:
        return NONE

    def step_started(self, step: Step) -> Sequence[Reading]:
        return NONE

    def call_proposed(self, call: Call) -> Sequence[Reading]:
        return NONE

    def call_ended(self, call: Call) -> Sequence[Reading]:
        return NONE

    def step_ended(self, step: Step) -> Sequence[Reading]:
        return NONE

    def run_ended(self, run: Run) -> Sequence[Reading]:
        return NONE

    def dismissed(self) -> Sequence[tuple[str, int, str]]:
        """What was looked at and not counted: (kind, step, reason), asked for after the run."""
        return ()

    def most(self, signal: str, turns: int = 1) -> int | None:
        """Greatest count `signal` can reach where `turns` different calls alternate; None: any."""
        return None

    def implied(self, signal: str, count: int) -> Mapping[str, int]:
        """Counts that other signals of this detector have at least, once `signal` has `count`."""
        return {}
