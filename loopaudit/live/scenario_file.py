"""Reads scenarios: one TOML file each, which anyone can write, or several in a built-in one.

One TOML file a scenario; a text is a string, or a table by language:

    name = "dead-loop"
    about = { en = "…", zh = "…" }
    set = "fuses"                   # which guard set it was made for; free text
    ends = "runaway"                # unguarded: "runaway", "well" (a healthy run) or "costly"
    trigger = ["test loop", "测试死循环"]
    task_type = "multi_tool_chain"
    cap = 40                        # steps a request, after which an unguarded run is cut
    agents = 1                      # so many side by side, under one service budget
    requests = ["…", "…"]           # user messages; `[[turn]]` begins anew with each
    timeout = 60                    # seconds after which any call of a tool is cut

    [usage]                         # tokens of a step, where its turn names none
    input = 1200                    # of the first step of a request
    grows = true                    # each step sends the texts before it again
    output = 80
    cached = false                  # what was sent before is read from the cache

    [price]                         # USD per 1,000 tokens
    input = 0.005
    output = 0.015
    cache_read = 0.0005

    [[tool]]
    name = "get_weather"
    about = "…"
    parameters = { city = "string" }
    seconds = 0.3
    answers = ["sunny", { text = "no such city", error = true, code = "not_found", status = 404,
                          seconds = 2 }]    # one a call, the last one stays

    [[turn]]                        # in order; after the last, `again` or the end
    say = "…"
    calls = [{ tool = "get_weather", args = { city = "北京" } }]
    times = 3                       # so often in a row; 0: for ever
    usage = { input = 3000, output = 1500 }
    fails = [{ status = 429, message = "…", retry_after = 1 }]   # attempts before it succeeds
    seconds = 1.2                   # the model thinks

    again = true                    # after the last turn from the first again

    [heeds]                         # without it the model is deaf to what guards say
    after = 1                       # from so many messages on
    turns = [{ say = "…" }]         # what it does then, in place of the rest

In `say`, arguments and answers `<n>` is the number of the step in this request, `<id>` a made-up
id, `<time>` the time, `<percent>` 10 a step up to 100.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from loopaudit.errors import ConfigError, UsageError
from loopaudit.live.scenario import (
    ENDS,
    Answer,
    Failure,
    Price,
    Scenario,
    ScriptedCall,
    ScriptedTool,
    Text,
    Turn,
)
from loopaudit.settings import Layer, Place, Settings, Table
from loopaudit.settings.values import closest

_MOST_TOKENS = 10**9
_MOST_AGENTS = 1_000
_LONGEST = 1e9  # seconds


@cache
def built_in() -> dict[str, Scenario]:
    """The scenarios that come with the program, by name, in the order of their files."""
    folder = files("loopaudit") / "live" / "scenarios"
    found: dict[str, Scenario] = {}
    for entry in sorted(folder.iterdir(), key=lambda item: item.name):
        if entry.name.endswith(".toml"):
            data = tomllib.loads(entry.read_text("utf-8"))
            for table in data["scenario"]:
                scenario = read(table)
                found[scenario.name] = scenario
    return found


def find(name: str) -> Scenario:
    """A built-in scenario, or that of a TOML file. Raises `UsageError` or `ConfigError`."""
    known = built_in()
    if name in known:
        return known[name]
    path = Path(name)
    if path.suffix == ".toml" or path.exists():
        return from_file(path)
    hint = closest(name, known, f"there are: {', '.join(known)}; or name a TOML file")
    raise UsageError(f"no scenario is called {name!r}", hint)


def from_file(path: Path) -> Scenario:
    """The scenario that a user wrote. Raises `UsageError` or `ConfigError` with file and line."""
    try:
        text = path.read_text("utf-8")
        data = tomllib.loads(text)
    except OSError as error:
        raise UsageError(f"{path}: {(error.strerror or str(error)).lower()}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: {error}", "a scenario is a TOML file") from error
    return read(data, Settings((Layer(str(path), data, text),)).place)


def triggered(prompt: str) -> Scenario | None:
    """The scenario whose trigger words stand in `prompt`; the longest word wins."""
    lower = prompt.lower()
    found = [
        (len(word), scenario)
        for scenario in built_in().values()
        for word in scenario.trigger
        if word.lower() in lower
    ]
    return max(found, key=lambda pair: pair[0])[1] if found else None


def read(data: Mapping[str, Any], place: Place | None = None) -> Scenario:
    """A scenario from its table; `place` tells where a key stands. Raises `ConfigError`."""
    table = Table(data, "[scenario]", place)
    table.only(
        (
            *("name", "about", "set", "ends", "trigger", "task_type", "cap", "agents", "requests"),
            *("timeout", "usage", "price", "tool", "turn", "again", "heeds"),
        )
    )
    usage, price, heeds = table.table("usage"), table.table("price"), table.table("heeds")
    usage.only(("input", "output", "grows", "cached"))
    price.only(("input", "output", "cache_read"))
    heeds.only(("after", "turns"))
    name = table.text("name")
    if name is None:
        raise table.wrong(None, "needs a name")
    turns = tuple(_turn(row) for row in table.tables("turn"))
    if not turns:
        raise table.wrong("turn", "needs at least one [[turn]]")
    timeout = table.number("timeout", None, 0, _LONGEST)
    agents = table.integer("agents", 1, 1) or 1
    if agents > _MOST_AGENTS:
        raise table.wrong("agents", f"agents must be at most {_MOST_AGENTS:,}")
    scenario = Scenario(
        name=name,
        about=_text(table, "about") or "",
        set=table.text("set") or "",
        ends=table.text("ends", "runaway", ENDS) or "runaway",
        trigger=table.texts("trigger"),
        task_type=table.text("task_type"),
        cap=table.integer("cap", 40, 1) or 40,
        agents=agents,
        requests=_requests(table),
        tools=tuple(_tool(row, timeout) for row in table.tables("tool")),
        turns=turns,
        again=table.flag("again"),
        heeds_after=table.table("heeds").integer("after", 1, 1) if heeds.values else None,
        heeds=tuple(_turn(row) for row in heeds.tables("turns")),
        input=_tokens(usage, "input", 1_000),
        output=_tokens(usage, "output", 80),
        grows=usage.flag("grows", True),
        cached=usage.flag("cached"),
        price=Price(*(_usd(price, key) for key in ("input", "output", "cache_read"))),
    )
    known = {tool.name for tool in scenario.tools}
    for turn in (*scenario.turns, *scenario.heeds):
        for call in turn.calls:
            if call.tool not in known:
                hint = closest(call.tool, known, "write a [[tool]] of that name")
                raise table.wrong("turn", f"calls {call.tool!r}, which is no [[tool]]", hint)
    return scenario


def _requests(table: Table) -> tuple[Text, ...]:
    rows = table.values.get("requests", ["Go."])
    rows = rows if isinstance(rows, list) and rows else [rows]
    texts = Table(dict(enumerate(rows)), "[requests]", lambda *_: table.at("requests"))
    return tuple(_text(texts, key) or "" for key in texts.values)


def _text(table: Table, key: Any) -> Text | None:
    """A text, or texts by language."""
    value = table.values.get(key)
    if isinstance(value, Mapping) and value and all(isinstance(v, str) for v in value.values()):
        return dict(value)
    if value is None or isinstance(value, str):
        return value
    raise table.wrong(key, f"{key} must be a text, or a table of texts by language")


def _tokens(table: Table, key: str, default: int | None = None) -> Any:
    value = table.integer(key, default, 0)
    if value is not None and value > _MOST_TOKENS:
        raise table.wrong(key, f"{key} must be at most {_MOST_TOKENS:,} tokens")
    return value


def _usd(table: Table, key: str) -> Decimal:
    value = table.number(key, None, 0, 1e6)
    return getattr(Price(), key) if value is None else Decimal(repr(value))


def _turn(table: Table) -> Turn:
    table.only(("say", "calls", "times", "usage", "fails", "seconds"))
    usage = table.table("usage")
    usage.only(("input", "output"))
    return Turn(
        say=_text(table, "say"),
        calls=tuple(_asked(row) for row in table.tables("calls")),
        times=_whole(table, "times", 1),
        input=_tokens(usage, "input"),
        output=_tokens(usage, "output"),
        fails=tuple(_failure(row) for row in table.tables("fails")),
        seconds=table.number("seconds", 1.0, 0, _LONGEST) or 0.0,
    )


def _whole(table: Table, key: str, default: int) -> int:
    value = table.integer(key, default, 0)
    return default if value is None else value


def _asked(table: Table) -> ScriptedCall:
    table.only(("tool", "args"))
    tool = table.text("tool")
    if tool is None:
        raise table.wrong(None, "needs a tool")
    return ScriptedCall(tool, table.values.get("args"))


def _failure(table: Table) -> Failure:
    table.only(("status", "code", "message", "retry_after"))
    return Failure(
        table.integer("status", None, 100),
        table.text("code"),
        table.text("message") or "error",
        table.number("retry_after", None, 0, _LONGEST),
    )


def _tool(table: Table, timeout: float | None) -> ScriptedTool:
    table.only(("name", "about", "parameters", "seconds", "timeout", "answers"))
    name = table.text("name")
    if name is None:
        raise table.wrong(None, "needs a name")
    parameters = table.table("parameters").values
    rows = table.values.get("answers", [""])
    rows = rows if isinstance(rows, list) else [rows]
    written = {"answers": [row if isinstance(row, Mapping) else {"text": row} for row in rows]}
    answers = Table(written, table.name, lambda *_: table.at("answers"))
    return ScriptedTool(
        name=name,
        about=_text(table, "about") or "",
        parameters={str(key): str(value) for key, value in parameters.items()},
        seconds=table.number("seconds", 0.2, 0, _LONGEST) or 0.0,
        timeout=table.number("timeout", timeout, 0, _LONGEST),
        answers=tuple(_answer(row) for row in answers.tables("answers")) or (Answer(),),
    )


def _answer(table: Table) -> Answer:
    table.only(("text", "error", "status", "code", "exit_code", "seconds"))
    return Answer(
        text=table.values.get("text", ""),
        error=table.flag("error"),
        status=table.integer("status", None, 100),
        code=table.text("code"),
        exit_code=table.integer("exit_code"),
        seconds=table.number("seconds", None, 0, _LONGEST),
    )
