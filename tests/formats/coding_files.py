"""Reads records of coding agents into runs, and says what is in them."""

import json
from collections import Counter
from pathlib import Path

from loopaudit import plugins
from loopaudit.ingest.reading import read_sources
from loopaudit.ingest.runs import RunAssembler
from loopaudit.ingest.sources import discover
from loopaudit.model import BUCKETS

NAMES = (
    *("gemini_cli", "qwen_code", "copilot_cli", "pi", "openclaw_telemetry", "opencode", "goose"),
    *("cline", "kimi_cli", "factory_droid", "amp", "crush", "cursor", "antigravity", "hermes"),
    *("grok", "codex_exec"),
)


def form(name):
    return plugins.load(plugins.FORMATS[name], name)


def runs_of(name, records, path="logs/night.jsonl"):
    """(reader, {run id: run}) of `records`, one a line."""
    reader = form(name).reader(path)
    build = RunAssembler(path, name)
    build.start_file(path, name, reader)
    for line, record in enumerate(records, 1):
        for piece in reader.feed(line, record):
            build.add(piece)
    for piece in reader.end():
        build.add(piece)
    runs = {run.id: run for run in build.finish(reader.missing)}
    for mention in build.mentioned:
        runs.setdefault(mention.id, mention)
    return reader, runs


def run_of(name, records, path="logs/night.jsonl"):
    """The only run of `records`."""
    _, runs = runs_of(name, records, path)
    (run,) = runs.values()
    return run


def ingest(*paths):
    """All that `ingest` reads behind `paths`, each input for itself."""
    found = discover([str(path) for path in paths])
    return found, [
        read_sources([source], lambda p, f: RunAssembler(p, f)) for source in found.sources
    ]


def tokens(run):
    """Sums by bucket, without those that are not there."""
    sums = Counter()
    for step in run.steps:
        for bucket in BUCKETS:
            amount = getattr(step.usage, bucket) if step.usage else None
            if amount is not None:
                sums[bucket] += amount
    return dict(sums)


def statuses(run):
    return [call.status.value for call in run.calls]


def kinds(run):
    """Kinds of the boundaries, in order."""
    before = [boundary.kind.value for step in run.steps for boundary in step.before]
    return before + [boundary.kind.value for boundary in run.after]


def attempts(run):
    return [a for step in run.steps for a in step.attempts] + run.attempts_after


def write_lines(path, records):
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path
