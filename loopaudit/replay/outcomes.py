"""Settles what became of each run: the log says it, else the user's labels file, else a rule.

What a log says counts first where it is a grade (success, failure, partial, or a word that plainly
means one of the first two). Other words of a log, such as an exit status, give way to a label; so
do all of them with `over_log` in `[labels]`. A label that a log contradicts is told.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from enum import StrEnum

from loopaudit.findings import OutcomeBy
from loopaudit.formats.graded import PARTIAL
from loopaudit.replay.endings import of_cut_log
from loopaudit.replay.results import RunResult
from loopaudit.replay.run_labels import Matcher, RunLabels, Said, Use, roots

_WELL = re.compile(r"success|succeeded|passed|pass|solved|resolved|ok|true|completed|correct", re.I)
_BADLY = re.compile(
    r"fail\w*|error\w*|unresolved|unsolved|wrong|incorrect|false|stuck|looped|timeout|aborted", re.I
)


class Meaning(StrEnum):
    WELL = "well"
    BADLY = "badly"
    BETWEEN = "between"
    UNKNOWN = "unknown"


def meaning(outcome: str | None) -> Meaning:
    """What a recorded outcome means; words that nobody knows mean nothing."""
    word = (outcome or "").strip()
    if _WELL.fullmatch(word):
        return Meaning.WELL
    if _BADLY.fullmatch(word):
        return Meaning.BADLY
    return Meaning.BETWEEN if word == PARTIAL else Meaning.UNKNOWN


def settle(
    runs: Sequence[RunResult], labels: RunLabels | None, cut_logs: Collection[str]
) -> Use | None:
    """Give each run its outcome and who says it. What became of the labels, where there are any."""
    rows = None if labels is None else Matcher(labels)
    roots_here = roots([found.run for found in runs]) if rows is not None else set()
    labelled = 0
    contradicted: list[str] = []
    for found in runs:
        run = found.run
        found.outcome_by = OutcomeBy.LOG if run.outcome is not None else None
        said = None
        if rows is not None:
            said = rows.of(run, root=(run.path, run.id) in roots_here)
        if said is not None and labels is not None:
            labelled += 1
            contradicted += _label(found, said, labels)
        if found.outcome_by is None:
            ended = of_cut_log(found.ending, run.path in cut_logs)
            if ended is not None:
                run.outcome, run.outcome_source = ended.outcome, ended.rule
                found.outcome_by = OutcomeBy.INFERRED
    if rows is None:
        return None
    use = rows.use(labelled)
    use.disagreements += contradicted
    return use


def _label(found: RunResult, said: Said, labels: RunLabels) -> list[str]:
    """Take the outcome of a label, unless the log's own counts; told where they differ."""
    run, label = found.run, said.outcome
    if label is None:
        return []
    logged = meaning(run.outcome)
    differs = logged not in (Meaning.UNKNOWN, meaning(label))
    wins = labels.over_log or logged is Meaning.UNKNOWN
    told = []
    if differs:
        source = f" ({run.outcome_source})" if run.outcome_source else ""
        counts = "the label" if wins else "the log"
        told.append(
            f"line {said.outcome_line} says {label} of {run.id}, its log {run.outcome}{source};"
            f" {counts} counts"
        )
    if wins:
        run.outcome = label
        run.outcome_source = f"{os.path.basename(labels.file)}:{said.outcome_line}"
        found.outcome_by = OutcomeBy.LABELS
    return told
