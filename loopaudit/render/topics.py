"""Pages of `explain` on task types, labels of runs and outcomes, with the rules in force."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from loopaudit.render.screen import Screen
from loopaudit.render.text import inert
from loopaudit.replay import endings
from loopaudit.task_types import Rule

#: pages by name, as `explain` without a name lists them
TOPICS = {
    "task-types": "which rules give a run its type of task, in the order in which they are tried",
    "labels": "outcomes and task types of runs from a file of your own (--labels)",
    "outcomes": "what became of a run: the log, else labels, else rules; which rules",
    "map": "any JSON lines, read by a mapping in TOML (--map)",
}

LABELS_EXAMPLE = """\
run,path,outcome,task_type
b81f6d20-4c7e-4a95-8f13-d2e90c5a7b64,,failure,
,logs/nightly/*.jsonl,,research
,ticket-12.jsonl,0.5,multi_tool_chain
"""
_LABELS = (
    "`--labels FILE` on report, show, cost, chart, export, query, tune, check and baseline, or"
    ' `runs = "labels.csv"` in `[labels]` of the settings. CSV with a head line, or JSON lines with'
    " the same names.",
    "run: id of a run, or of its session. path: the log, by its name, by the end of its path, or by"
    " a glob. A row needs one of them; with both, both must fit. A session or path labels the runs"
    " that nobody in it started, not their sub-agents.",
    "outcome: success, failure or partial (also pass, fail, true, false, resolved, or a grade from"
    " 0 to 1). task_type: any name. Other columns are not read, and that is said.",
    "An id counts before a session, a session before a path, a path before a glob; of rows that fit"
    " equally well the last. An outcome in the log counts before a label, unless `over_log = true`"
    " in `[labels]`; an exit status that is neither success nor failure does not. A task type of a"
    " label counts before that of the log. Labels that fit no run, and those that contradict, are"
    " told on stderr and in the JSON report.",
    "This is not the file of `loopaudit label`, which keeps verdicts on findings: is this loop one?"
    " That lies at `findings` of `[labels]` (.loopaudit/labels.jsonl).",
)


def task_types_page(rules: Sequence[Rule], screen: Screen) -> Iterator[str]:
    """The rules in force, as in settings."""
    yield from screen.row(f"task-types: {TOPICS['task-types']}", "bold")
    for text in (
        "`--task-type` counts first, then a labels file (explain labels), then what the log itself"
        " says, then these rules; the first that fits gives the type. All that a rule names must"
        " fit; globs ignore case. The limits of each type stand in the guards (explain"
        " backstop).",
        "Put your own under [[task_types.rule]] in the settings: they are tried before ours."
        " `built_in = false` in [task_types] does without ours; a rule with `logged` may rename the"
        " type that a log gives.",
    ):
        yield from screen.row(text, indent=2)
    for number, rule in enumerate(rules, 1):
        yield ""
        where = f"  ({inert(rule.place)})" if rule.place else ""
        why = f": {inert(rule.why)}" if rule.why else ""
        yield from screen.row(f"{number}. {inert(rule.type)}{why}{where}", "bold", indent=2)
        for name, value in rule.asks():
            yield from screen.row(inert(value), indent=5, label=name.ljust(19))


def labels_page(screen: Screen) -> Iterator[str]:
    yield from screen.row(f"labels: {TOPICS['labels']}", "bold")
    for text in _LABELS:
        yield from screen.row(text, indent=2)
    yield ""
    for line in LABELS_EXAMPLE.splitlines():
        yield f"  {line}"


def outcomes_page(screen: Screen) -> Iterator[str]:
    yield from screen.row(f"outcomes: {TOPICS['outcomes']}", "bold")
    for text in (
        "log: a score, reward, verdict or exit status that the log records. labels file: a label of"
        " yours (explain labels). inferred: nobody told, and a rule looks at how the run ended; it"
        " says nothing of whether the task was done well. Each outcome is shown with its source"
        " everywhere: report --why, show, JSON, CSV, Parquet, SQL, the page and the incident.",
        "tune and check take a run by its outcome where a log or a label tells it; by a rule of"
        " their own, and said to be, otherwise. The rules, in order:",
    ):
        yield from screen.row(text, indent=2)
    for name, says in endings.RULES.items():
        yield from screen.row(says, indent=2, label=name.ljust(13))
    yield from screen.row("A run that is still written has no outcome yet.", indent=2)


def topic_pages(screen: Screen, rules: Sequence[Rule]) -> Mapping[str, Iterator[str]]:
    """All pages by name but that of `map`, which the reader of mapped logs has."""
    return {
        "task-types": task_types_page(rules, screen),
        "labels": labels_page(screen),
        "outcomes": outcomes_page(screen),
    }
