"""Infers which type of task a run is: guards have limits per type.

In this order: `--task-type`; the user's labels file; the log's own type (unless a rule of the user
names it by `logged`); the user's rules, in order; the rules of `task_types.toml`, which have the
same form. A recorded run is looked at as a whole, which a live guard could not do: it is told its
type.

A rule in settings; all that it names must fit, globs ignore case:

    [[task_types.rule]]
    type = "research"
    why = "the reports of the night"
    path = "*/reports/*"        # the log file, or the project it worked in
    agent = "researcher*"
    model = "claude-*"
    prompt = "*quarterly*"      # the beginning of the first user message
    tools = ["web_*"]           # every tool used fits one of these; a run without calls does not
    metadata = { team = "x*" }  # what the log says of a run besides: tags, attributes
    format, project, user, host, version, logged (the log's own type)    # globs as well
    sub_agent = true            # another run started it; false: none did
    max_tools, max_user_messages, min_calls, min_steps = 1
    no_tool_says, most_calls_say = ["web"]    # words in names of tools: none, more than half
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

from loopaudit.model import Boundary, BoundaryKind, Run
from loopaudit.settings import Place, Table

_GLOBS = ("path", "agent", "model", "prompt", "tools", "format", "project", "user", "host",
          "version", "logged")  # fmt: skip
_WORDS = ("no_tool_says", "most_calls_say")
_COUNTS = ("max_tools", "max_user_messages", "min_calls", "min_steps")
_KEYS = ("type", "why", *_GLOBS, "metadata", "sub_agent", *_COUNTS, *_WORDS)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_a-zA-Z]+")


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; an empty tuple or None asks for nothing."""

    type: str
    why: str = ""
    place: str = ""  # file and line of the settings, empty for a rule of our own
    path: tuple[str, ...] = ()
    agent: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    prompt: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    format: tuple[str, ...] = ()
    project: tuple[str, ...] = ()
    user: tuple[str, ...] = ()
    host: tuple[str, ...] = ()
    version: tuple[str, ...] = ()
    logged: tuple[str, ...] = ()
    metadata: tuple[tuple[str, tuple[str, ...]], ...] = ()
    sub_agent: bool | None = None
    max_tools: int | None = None
    max_user_messages: int | None = None
    min_calls: int | None = None
    min_steps: int | None = None
    no_tool_says: tuple[str, ...] = ()
    most_calls_say: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """Where the rule stands and what it asks for, in words."""
        why = self.why or ", ".join(f"{name} {value}" for name, value in self.asks())
        return f"{os.path.basename(self.place)}: {why}" if self.place else f"rule: {why}"

    def asks(self) -> list[tuple[str, str]]:
        """What it asks for, key by key, as written."""
        found = []
        for name in _KEYS[2:]:
            value = getattr(self, name)
            if value == () or value is None:
                continue
            if name == "metadata":
                value = tuple(f"{key} = {' | '.join(globs)}" for key, globs in value)
            shown = ", ".join(value) if isinstance(value, tuple) else str(value).lower()
            found.append((name, shown))
        return found

    def fits(self, run: Run) -> bool:
        return (
            (not self.path or _any(self.path, (run.path, run.project)))
            and (not self.agent or _any(self.agent, (run.agent,)))
            and (not self.format or _any(self.format, (run.format,)))
            and (not self.project or _any(self.project, (run.project,)))
            and (not self.user or _any(self.user, (run.user,)))
            and (not self.host or _any(self.host, (run.host,)))
            and (not self.version or _any(self.version, (run.version,)))
            and (not self.logged or _any(self.logged, (run.task_type,)))
            and (not self.prompt or _any(self.prompt, (run.prompt,)))
            and (self.sub_agent is None or self.sub_agent is (run.parent is not None))
            and all(_any(globs, (run.metadata.get(key),)) for key, globs in self.metadata)
            and (self.min_steps is None or len(run.steps) >= self.min_steps)
            and (not self.model or _any(self.model, {s.model for s in run.steps if s.model}))
            and (self.max_user_messages is None or _user_messages(run) <= self.max_user_messages)
            and self._fits_calls(run)
        )

    def _fits_calls(self, run: Run) -> bool:
        asked = (self.max_tools, self.min_calls, self.tools, self.no_tool_says, self.most_calls_say)
        if not any(value is not None and value != () for value in asked):
            return True
        used: dict[str, int] = {}
        for step in run.steps:
            for call in step.calls:
                used[call.tool] = used.get(call.tool, 0) + 1
        calls = sum(used.values())
        return (
            (self.max_tools is None or len(used) <= self.max_tools)
            and (self.min_calls is None or calls >= self.min_calls)
            and (not self.tools or (bool(used) and all(_any(self.tools, (u,)) for u in used)))
            and not any(_says(tool, self.no_tool_says) for tool in used)
            and (
                not self.most_calls_say
                or 2 * sum(n for tool, n in used.items() if _says(tool, self.most_calls_say))
                > calls
            )
        )


class Typed(NamedTuple):
    """A task type and what gave it; both None where nothing tells."""

    type: str | None
    source: str | None


Rules = Sequence[Rule] | Mapping[str, Any]


def read(table: Any, place: Place | None = None) -> tuple[Rule, ...]:
    """All rules in force: those of the settings table `[task_types]`, then our own.

    Raises `ConfigError`.
    """
    types = Table(table, "[task_types]", place)
    types.only(("rule", "built_in"))
    own = built_in() if types.flag("built_in", True) else ()
    return (*(_rule(row) for row in types.tables("rule")), *own)


@cache
def built_in() -> tuple[Rule, ...]:
    """The rules of `task_types.toml`."""
    import tomllib

    table = tomllib.loads((files("loopaudit") / "task_types.toml").read_text("utf-8"))
    return tuple(_rule(row) for row in Table(table, "[task_types]").tables("rule"))


def types(rules: Iterable[Rule]) -> tuple[str, ...]:
    """The types that rules give, each once."""
    return tuple(dict.fromkeys(rule.type for rule in rules))


def _rule(row: Table) -> Rule:
    row.only(_KEYS)
    wanted = row.text("type")
    if wanted is None:
        known = ", ".join(types(built_in())) if row.at()[0] else "a name"
        raise row.wrong(None, "type is missing", f"one of {known}, or your own")
    asked: dict[str, Any] = {key: _lower(row.texts(key)) for key in (*_GLOBS, *_WORDS)}
    asked |= {key: row.integer(key, least=0) for key in _COUNTS}
    if "sub_agent" in row.values:
        asked["sub_agent"] = row.flag("sub_agent")
    described = row.table("metadata")
    asked["metadata"] = tuple((key, _lower(described.texts(key))) for key in described.values)
    if not any(value is not None and value != () for value in asked.values()):
        raise row.wrong(None, "asks for nothing", "name a path, agent, model, tools, prompt …")
    path, line = row.at()
    where = f"{path}:{line}" if path and line else path
    return Rule(wanted, row.text("why") or "", where, **asked)


def _lower(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(text.lower() for text in texts)


def infer(run: Run, rules: Rules | None = None) -> str | None:
    """The task type of a run; None where nothing tells. See `typed`."""
    return typed(run, rules).type


def typed(run: Run, rules: Rules | None = None) -> Typed:
    """The task type of a run with its source. `rules`: as read, or `[task_types]` itself, or none
    for our own."""
    if rules is None:
        rules = built_in()
    every = _read_once(rules) if isinstance(rules, Mapping) else rules
    for rule in every:
        if (run.task_type is None or rule.logged) and rule.fits(run):
            return Typed(rule.type, rule.source)
    return Typed(run.task_type, "log" if run.task_type is not None else None)


_last: list[tuple[Mapping[str, Any], tuple[Rule, ...]]] = []


def _read_once(table: Mapping[str, Any]) -> tuple[Rule, ...]:
    """`read`, remembered for the table of last time: every run is asked with the same one."""
    if not _last or _last[0][0] is not table:
        _last[:] = [(table, read(table))]
    return _last[0][1]


def _user_messages(run: Run) -> int:
    def count(boundaries: Sequence[Boundary]) -> int:
        return sum(boundary.kind is BoundaryKind.USER for boundary in boundaries)

    return sum(count(step.before) for step in run.steps) + count(run.after)


@lru_cache(maxsize=4096)
def _says(tool: object, words: tuple[str, ...]) -> bool:
    """Whether a word of a tool's name is one of these: of `WebFetch`, `mcp__web-fetch` "web"."""
    return any(word.lower() in words for word in _WORD.findall(str(tool)))


def _any(globs: tuple[str, ...], values: Any) -> bool:
    return any(value and fnmatchcase(value.lower(), glob) for value in values for glob in globs)
