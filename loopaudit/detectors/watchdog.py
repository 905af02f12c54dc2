"""Per request: repeats, failing steps and steps without progress, fed once per step.

Source of all counts and of what is progress: the `watchdog` guard set (guards.md §2).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from loopaudit.detectors.base import NONE, Detector
from loopaudit.findings import Reading
from loopaudit.model import Boundary, BoundaryKind, Call, CallStatus, Step, StepKind

REPEATED = "repeated_action"
ERRORS = "consecutive_errors"
NO_PROGRESS = "no_progress"
STEPS = "request_steps"
PROGRESS = "progress"  # the note on a `request_steps` reading of a step with progress

# a call that was not run because its sibling failed is no failure of its own, and no success
_NOT_COMPLETED = frozenset({CallStatus.ERROR, CallStatus.SIBLING})

# the command inside the canonical arguments of a shell call, which may be cut: a text or a list
_COMMAND = re.compile(
    r'"(?:command|cmd|script)":(\[(?:[^\]"]|"(?:[^"\\]|\\.)*"?)*|"(?:[^"\\]|\\.)*)'
)
_SEPARATOR = re.compile(r"&&|\|\||[;|&()]|\\n")
# what may stand before the command proper: variables, wrappers, `bash -lc`
_PREAMBLE = re.compile(
    r"\s*(?:(?:[A-Za-z_]\w*=\S*|sudo|env|time|nohup|(?:/bin/)?(?:ba|z|da)?sh\s+-l?c)\s+)*[\"']?"
)


class Watchdog(Detector):
    """Counts of the request at the end of each step; a real user message starts a new request.

    `repeated_action`: most often a call key of this step was called in the request (not
    consecutive), told only for a step without progress.
    `consecutive_errors`: steps in a row in which there were calls and all failed.
    `no_progress`: steps in a row without progress. `request_steps`: steps so far.

    A call is progress if it completed and writes a file, or is the first of its key in the request
    and returned something, or is a shell command that starts with one of `shell_prefixes`.
    `write_tools` names tools that always write; a tool that the table of tools knows to change a
    named file counts too. A compaction is no step.
    """

    signals = (REPEATED, ERRORS, NO_PROGRESS, STEPS)
    needs = frozenset({"results", "arguments"})

    def __init__(
        self,
        write_tools: Iterable[str] = (),
        shell_tools: Iterable[str] = (),
        shell_prefixes: Iterable[str] = (),
    ) -> None:
        self._write_tools = frozenset(write_tools)
        self._shell_tools = frozenset(shell_tools)
        self._prefixes = tuple(tuple(prefix.split()) for prefix in shell_prefixes)
        self._request = 0
        self._start()

    def _start(self) -> None:
        self._seen: dict[int, list[int]] = {}  # key -> calls so far, step and index of the first
        self._steps = 0
        self._errors = 0
        self._idle = 0

    def boundary(self, boundary: Boundary) -> Sequence[Reading]:
        if boundary.kind is BoundaryKind.USER:
            self._request += 1
            self._start()
        return NONE

    def step_ended(self, step: Step) -> Sequence[Reading]:
        if step.kind is StepKind.COMPACTION:
            return NONE
        self._steps += 1
        most = 0
        repeated: Call | None = None
        progress = failed = False
        all_failed = True
        for call in step.calls:
            seen = self._seen.get(call.key)
            if seen is None:
                seen = self._seen[call.key] = [0, call.step, call.index]
            before = seen[0]
            seen[0] += 1
            if before >= most:
                most, repeated = before + 1, call
            if call.status is CallStatus.OK:
                progress = progress or self._is_progress(call, before)
                all_failed = False
            elif call.status not in _NOT_COMPLETED:
                all_failed = False
            else:
                failed = failed or call.failed
        self._idle = 0 if progress else self._idle + 1
        self._errors = self._errors + 1 if failed and all_failed else 0

        index, request = step.index, self._request
        note = PROGRESS if progress else None
        readings = [Reading(STEPS, self._steps, index, group=request, note=note)]
        if progress:
            return readings
        if repeated is not None and most > 1:
            _, first_step, first_call = self._seen[repeated.key]
            readings.append(
                Reading(
                    REPEATED,
                    most,
                    index,
                    repeated.index,
                    group=(request, repeated.key),
                    first_step=first_step,
                    first_call=first_call,
                    redundant=(repeated.index,),
                )
            )
        if self._errors:
            readings.append(self._row(ERRORS, self._errors, step))
        readings.append(self._row(NO_PROGRESS, self._idle, step))
        return readings

    def _row(self, signal: str, count: int, step: Step) -> Reading:
        """A reading of `count` steps in a row, this one the last of them."""
        group = (self._request, self._steps - count)
        if count == 1:
            return Reading(signal, count, step.index, group=group)
        calls = tuple(call.index for call in step.calls)
        alone = () if calls else (step.index,)
        return Reading(
            signal, count, step.index, group=group, redundant=calls, redundant_steps=alone
        )

    def _is_progress(self, call: Call, before: int) -> bool:
        """Is this completed call, with `before` earlier ones of its key, progress?"""
        if not before and not call.blank:
            return True
        if call.tool in self._shell_tools:
            return bool(self._prefixes) and self._changes_state(call)
        return call.tool in self._write_tools or (call.mutates and call.target is not None)

    def _changes_state(self, call: Call) -> bool:
        if call.args is None:
            return call.mutates  # the command is not kept; the table of tools saw it
        match = _COMMAND.search(call.args)
        if match is None:
            return False
        command = match[1].lstrip('["').replace('","', " ")
        for part in _SEPARATOR.split(command):
            words = tuple(_PREAMBLE.sub("", part, count=1).split())
            if any(words[: len(prefix)] == prefix for prefix in self._prefixes):
                return True
        return False

    def implied(self, signal: str, count: int) -> Mapping[str, int]:
        return {NO_PROGRESS: count} if signal == ERRORS else {}
