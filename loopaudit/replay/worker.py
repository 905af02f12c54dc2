"""One job: read its inputs, replay their runs through the guards, keep only results."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from loopaudit import plugins
from loopaudit.effects import ToolTable
from loopaudit.findings import Failure
from loopaudit.guards.presets import Preset
from loopaudit.guards.session import GuardSession
from loopaudit.ingest.counting import tokenizer
from loopaudit.ingest.head import NOBODYS
from loopaudit.ingest.opening import READING_FAILED
from loopaudit.ingest.reading import Ingested, read_sources
from loopaudit.ingest.results import Keep
from loopaudit.ingest.runs import RunAssembler
from loopaudit.ingest.sources import Source
from loopaudit.masks import mask
from loopaudit.model import Run
from loopaudit.replay.chains import Chains
from loopaudit.replay.crossing import record
from loopaudit.replay.endings import ending
from loopaudit.replay.hindsight import judge
from loopaudit.replay.replay import replay_run
from loopaudit.replay.results import JobResult, RunResult, columns
from loopaudit.replay.run_labels import RunLabels, matcher, roots
from loopaudit.replay.spawns import asked, spawns
from loopaudit.task_types import Rule, typed

#: the guard set whose findings the report shows
DEFAULT_GUARD = "loopaudit"


@dataclass(frozen=True, slots=True)
class Plan:
    """How to read and replay; picklable, the same for all jobs."""

    guards: tuple[Preset, ...]
    default: Preset  # its findings are reported; may be one of `guards`
    log_format: str | None = None
    formats: tuple[tuple[str, str], ...] = ()  # of the settings: name, reference
    task_type: str | None = None
    keep: Keep = field(default_factory=Keep)
    mask: Callable[[str], str] = mask
    tools: ToolTable = field(default_factory=ToolTable)
    task_rules: tuple[Rule, ...] | None = None  # None: our own
    labels: RunLabels | None = None  # rows that tell task types
    count_tokens: bool = False  # of runs whose log tells no usage
    traced: tuple[Preset, ...] = ()  # sets whose counts are wanted, for thresholds to be looked up


def ingest(sources: list[Source], plan: Plan) -> Ingested:
    """Read `sources` as one job."""
    plugins.register(plan.formats)
    build = partial(
        RunAssembler,
        keep=plan.keep,
        tools=plan.tools,
        mask=plan.mask,
        tokenizer=tokenizer() if plan.count_tokens else None,
    )
    return read_sources(sources, build, plan.log_format)


def run_job(sources: list[Source], plan: Plan) -> JobResult:
    """Read `sources` and replay every run found in them."""
    read = ingest(sources, plan)
    result = JobResult(
        read.inputs, [], read.skips, read.failures, read.repaired, list(read.cut_tails)
    )
    result.mentioned = read.mentioned
    _told_types(read.runs, plan)
    read.runs.reverse()
    while read.runs:
        run = read.runs.pop()
        try:
            result.runs.append(replay(run, plan))
        except MemoryError:
            raise
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
            result.failures.append(Failure("replay", run.id, run.path, message))
    return result


def lasts(result: JobResult) -> bool:
    """Would reading the same bytes again give the same? Not what broke, and not what the system
    refused: next time it may not."""
    return not result.failures and all(
        (s.line is not None or s.reason.startswith(NOBODYS))
        and not s.reason.startswith(READING_FAILED)
        and "[Errno" not in s.reason
        for s in result.skips
    )


def _told_types(runs: list[Run], plan: Plan) -> None:
    """Task types that the user names for all runs, or for some in a labels file."""
    if plan.task_type is not None:
        for run in runs:
            run.task_type, run.task_type_source = plan.task_type, "--task-type"
    elif plan.labels is not None:
        started_here = roots(runs)
        for run in runs:
            said = matcher(plan.labels).of(run, root=(run.path, run.id) in started_here)
            if said is not None and said.task_type is not None:
                place = f"{os.path.basename(plan.labels.file)}:{said.task_type_line}"
                run.task_type, run.task_type_source = said.task_type, f"labels file: {place}"


def replay(run: Run, plan: Plan) -> RunResult:
    """One run through all presets, and hindsight on what the default one counted."""
    if run.task_type_source is None:
        run.task_type, run.task_type_source = typed(run, plan.task_rules)
    counted = Chains(plan.default.for_task(run.task_type))
    loaded = plan.guards if plan.default in plan.guards else (*plan.guards, plan.default)
    sessions = [
        GuardSession(
            preset,
            task_type=run.task_type,
            missing=run.missing,
            observe=counted.add if preset is plan.default else None,
        )
        for preset in loaded
    ]
    watcher = sessions[loaded.index(plan.default)]
    trips = replay_run(run, sessions)
    findings, not_loops = judge(run, counted, watcher.dismissed())
    undecidable = [list(session.undecidable) for session in sessions]
    crossings = {preset.name: record(run, preset) for preset in plan.traced}
    del sessions, watcher, counted  # they hold on to calls, which the columns replace
    started = spawns(run, plan.mask)
    ended = ending(run)
    table, content = columns(run)
    result = RunResult(run, table, content, findings=findings, not_loops=not_loops, ending=ended)
    result.spawns, result.asked = started, asked(run, plan.mask)
    result.crossings = crossings
    for preset, verdicts, needs in zip(plan.guards, trips, undecidable, strict=False):
        result.trips[preset.name] = verdicts
        result.undecidable[preset.name] = needs
    return result
