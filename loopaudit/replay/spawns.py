"""What a run tells of the agents it starts: kept when its steps are not."""

from __future__ import annotations

from collections.abc import Callable

from loopaudit.ingest.results import mask_digest
from loopaudit.model import CallStatus, Run
from loopaudit.replay.results import Spawn


def spawns(run: Run, mask: Callable[[str], str]) -> list[Spawn]:
    """The calls of a run that start agents, in order."""
    found = []
    only = all(call.spawns for step in run.steps for call in step.calls)
    for step in run.steps:
        if step.inherited:
            continue
        for call in step.calls:
            if not call.spawns:
                continue
            args = call.args or ""
            whole = bool(args) and call.args_size == len(args)
            found.append(
                Spawn(
                    id=call.id,
                    key=call.key,
                    masked=mask_digest(f"{call.tool} {args}", mask) if whole else None,
                    step=step.index,
                    call=call.index,
                    alone=len(step.calls) == 1,
                    only=only,
                    interrupted=call.status is CallStatus.INTERRUPTED,
                    line=call.line,
                    path=step.path,
                    at=step.at if call.started is None else call.started,
                    tool=call.tool,
                    text=f"{call.tool} {args}"[:200],
                )
            )
    return found


def asked(run: Run, mask: Callable[[str], str]) -> int | None:
    """Digest of what the run was asked to do, as far as it is kept."""
    return mask_digest(run.prompt, mask) if run.prompt else None
