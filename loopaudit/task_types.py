"""Infers which type of task a run is: guards have limits per type.

What is written wins: the log's own task type (`--task-type` comes before it and is set by the
caller). Then the user's rules, in order; then the stated ones below. A recorded run is looked at as
a whole, which a live guard could not do: it is told its type.

A user's rule in settings; all that it names must fit, globs ignore case:

    [[task_types.rule]]
    type = "research"
    path = "*/reports/*"        # the log file, or the project it worked in
    agent = "researcher*"
    model = "claude-*"
    tools = ["web_*"]           # every tool used fits one of these; a run without calls does not
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

from loopaudit.model import Boundary, BoundaryKind, Run
from loopaudit.settings import Place, Table

#: the types of `backstop`, each with its built-in rule in words, in the order of trial
BUILT_IN = {
    "sub_agent": "another run started it",
    "single_tool_qa": "one user message, and at most one tool, which can do one thing only",
    "research": "more than half of its calls search, read or browse the web",
    "multi_tool_chain": "any other run that calls tools",
}

#: words in names of tools for the web
_WEB = re.compile(
    "web|website|browse|browser|browsing|url|crawl|crawler|scrape|scraper|google|bing|duckduckgo"
    "|tavily|exa|serp|serper|serpapi|wikipedia|arxiv|scholar|pubmed|perplexity"
)
#: words in names of tools that can do anything: one of them is no single-purpose tool
_GENERAL = re.compile(
    "bash|sh|shell|zsh|powershell|terminal|command|cmd|exec|execute|run|python|code|repl|notebook"
    "|interpreter|computer|task|agent"
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_a-zA-Z]+")


@dataclass(frozen=True, slots=True)
class Rule:
    """A user's rule; an empty tuple asks for nothing."""

    type: str
    path: tuple[str, ...] = ()
    agent: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()

    def fits(self, run: Run) -> bool:
        models = {step.model for step in run.steps if step.model}
        used = {call.tool for step in run.steps for call in step.calls} if self.tools else set()
        return (
            (not self.path or _any(self.path, (run.path, run.project)))
            and (not self.agent or _any(self.agent, (run.agent,)))
            and (not self.model or _any(self.model, models))
            and (not self.tools or (bool(used) and all(_any(self.tools, (u,)) for u in used)))
        )


Rules = Sequence[Rule] | Mapping[str, Any]


def read(table: Any, place: Place | None = None) -> tuple[Rule, ...]:
    """Rules of the settings table `[task_types]`. Raises `ConfigError`."""
    types = Table(table, "[task_types]", place)
    types.only(("rule",))
    return tuple(_rule(row) for row in types.tables("rule"))


def _rule(row: Table) -> Rule:
    row.only(("type", "path", "agent", "model", "tools"))
    wanted = row.text("type")
    if wanted is None:
        raise row.wrong(None, "type is missing", f"one of {', '.join(BUILT_IN)}, or your own")
    asked = {
        key: tuple(glob.lower() for glob in row.texts(key))
        for key in ("path", "agent", "model", "tools")
    }
    if not any(asked.values()):
        raise row.wrong(None, "asks for nothing", "name a path, agent, model or tools")
    return Rule(wanted, **asked)


def infer(run: Run, rules: Rules = ()) -> str | None:
    """The task type of a run; None where nothing tells. `rules`: read, or `[task_types]` itself."""
    if run.task_type:
        return run.task_type
    for rule in _read_once(rules) if isinstance(rules, Mapping) else rules:
        if rule.fits(run):
            return rule.type
    return _built_in(run)


_last: list[tuple[Mapping[str, Any], tuple[Rule, ...]]] = []


def _read_once(table: Mapping[str, Any]) -> tuple[Rule, ...]:
    """`read`, remembered for the table of last time: every run is asked with the same one."""
    if not _last or _last[0][0] is not table:
        _last[:] = [(table, read(table))]
    return _last[0][1]


def _built_in(run: Run) -> str | None:
    if run.parent is not None:
        return "sub_agent"
    tools: dict[str, int] = {}
    for step in run.steps:
        for call in step.calls:
            tools[call.tool] = tools.get(call.tool, 0) + 1
    if not tools and not run.steps:
        return None
    special = not any(named(tool, _GENERAL) for tool in tools)
    if len(tools) <= 1 and special and _user_messages(run) <= 1:
        return "single_tool_qa"
    web = sum(count for tool, count in tools.items() if named(tool, _WEB))
    if 2 * web > sum(tools.values()):
        return "research"
    return "multi_tool_chain" if tools else None


def _user_messages(run: Run) -> int:
    def count(boundaries: Sequence[Boundary]) -> int:
        return sum(boundary.kind is BoundaryKind.USER for boundary in boundaries)

    return sum(count(step.before) for step in run.steps) + count(run.after)


@lru_cache(maxsize=4096)
def named(tool: object, kind: re.Pattern[str]) -> bool:
    """Whether a word of a tool's name is of a kind: `WebFetch`, `web_fetch`, `mcp__web-fetch`."""
    return any(kind.fullmatch(word.lower()) for word in _WORD.findall(str(tool)))


def _any(globs: tuple[str, ...], values: Any) -> bool:
    return any(value and fnmatchcase(value.lower(), glob) for value in values for glob in globs)
