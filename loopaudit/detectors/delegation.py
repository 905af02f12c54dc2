"""Agents that start agents that start agents, each to do the same: seen only over several runs."""

from __future__ import annotations

from loopaudit.detectors.base import Detector
from loopaudit.findings import Rule

SIGNAL = "recursive_spawn"

RULES: tuple[Rule, ...] = (
    Rule(
        id="recursive-spawn",
        title="An agent started an agent to do the same, and that one another",
        looks_for=(
            "Calls that start an agent with the task that the calling agent, or one above it, was "
            "itself started with (times and ids masked), three times or more down one line of "
            "agents; also a line of agents of one kind that do nothing but start the next one, in "
            "whatever words. The parents are read from the logs, over all files."
        ),
        not_counted=(
            "Agents side by side, however alike their tasks; a line of agents with tasks of their "
            "own; a sub-agent that is started again after it reported."
        ),
        evidence="claude-code#72566, srid/agency#138, opencode#25681.",
        remedy=(
            "Do not offer the tool that starts agents to agents that were started by it, or give "
            "it a greatest depth; refuse a task that equals the caller's own."
        ),
        signal=SIGNAL,
        cause="no-depth",
        needs=frozenset({"arguments"}),
        family="spawn",
    ),
)


class Delegation(Detector):
    """Counted over the tree of runs by `replay.delegation`: no single run can tell."""

    signals = (SIGNAL,)
    scope = "tree"
