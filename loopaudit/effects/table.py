"""The table of tools: from a tool's name and arguments to its effect."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from copy import deepcopy
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib.resources import files
from sys import intern
from typing import Any, NamedTuple

import orjson

from loopaudit.effects.shell import Shell
from loopaudit.errors import ConfigError
from loopaudit.model import Target


class Effect(NamedTuple):
    """What one call does. No flag means: nothing of the kind is known of it."""

    mutates: bool = False  # changes state
    polls: bool = False  # a known wait or poll
    spawns: bool = False  # starts another agent
    target: Target | None = None  # the file it works on, and the lines it reads


NO_EFFECT = Effect()
POLLS = Effect(polls=True)
SPAWNS = Effect(spawns=True)
MUTATES = Effect(mutates=True)

_Place = Callable[..., tuple[str, int | None]]
_Classify = Callable[[Any], Effect]

_LISTS = (
    "mutates",
    "polls",
    "spawns",
    "reads",
    "shells",
    "programs",
    "plain",
    "mutating_commands",
    "reading_commands",
    "polling_commands",
    "wrappers",
)
_FLAGS = ("mutates", "polls", "spawns", "reads", "shells", "programs")
_CHANGES = ("add", "remove", "replace")
_SEPARATOR = re.compile(r"__|[./:]")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_RANGE = re.compile(r"\s*([0-9]{1,9})\s*(?:[-,:]|\.\.|to)\s*([0-9]{1,9}|-1)\s*\Z")
#: text handed to a tool named like a shell that is a program, not a command
_PROGRAM = re.compile(r"\s*(?:const|let|var|await|import|export|async|function|def|from|//|/\*)\b")


class ToolTable:
    """`classify(tool, args)` tells what a call does.

    `user` is the `[tools]` table of the settings: each list of effects.toml may be given as a list
    (added to the built-in one) or as a table of `add`, `remove` and `replace`. Raises
    `ConfigError`; `place` finds path and line of a setting for its message.
    """

    def __init__(self, user: Mapping[str, Any] | None = None, place: _Place | None = None) -> None:
        self._user = dict(user or {})
        table = _merged(self._user, place)
        self._exact: dict[str, str] = {}
        self._patterns: list[tuple[str, str]] = []
        for flag in ("plain", *_FLAGS):
            for name in table[flag]:
                if "*" in name:
                    self._patterns.append((name.lower(), flag))
                else:
                    self._exact[_fold(name)] = flag
        self._patterns.sort(key=lambda pattern: pattern[1] != "plain")
        for number, rule in enumerate(table["by_argument"]):
            for name in rule["tools"]:
                self._exact[_fold(name)] = f"by_argument {number}"
        self._by_argument = [_by_argument(rule, self._read) for rule in table["by_argument"]]
        self._names: dict[str, tuple[str, ...]] = {
            key: tuple(names) for key, names in table["arguments"].items()
        }
        self._shell = Shell(
            table["mutating_commands"],
            table["reading_commands"],
            table["polling_commands"],
            table["wrappers"],
            table["options_with_value"],
        )
        self._tools: dict[str, _Classify] = {}
        self._notes = {key: frozenset(names) for key, names in table["bookkeeping"].items()}
        self._noted: dict[str, frozenset[str]] = {}  # bookkeeping arguments by tool
        self._beside = [words.split(None, 1) for words in table["bookkeeping"]["beside"]]

    def __reduce__(self) -> tuple[type[ToolTable], tuple[dict[str, Any]]]:
        return ToolTable, (self._user,)  # for worker processes

    def classify(self, tool: str, args: Any) -> Effect:
        """Effect of a call. `args` may be any value; an unknown tool has no effect."""
        known = self._tools.get(tool)
        if known is None:
            known = self._tools[tool] = self._resolve(tool)
        return known(args)

    def essential(self, tool: str, args: Any) -> Any:
        """The arguments without bookkeeping; the same object where there is none."""
        if type(args) is not dict:
            return args
        notes = self._noted.get(tool)
        if notes is None:
            notes = self._notes["any"] | self._notes.get(self._flag(tool) or "", frozenset())
            self._noted[tool] = notes
        if not notes.isdisjoint(args):
            args = {key: value for key, value in args.items() if key not in notes}
        for ref, name in self._beside:
            if ref in args and args.get(name):
                args = {key: value for key, value in args.items() if key != ref}
        return args

    def _resolve(self, tool: str) -> _Classify:
        flag = self._flag(tool)
        if flag is None or flag == "plain":
            return _nothing
        if flag == "polls":
            return lambda args: POLLS
        if flag == "spawns":
            return lambda args: SPAWNS
        if flag == "mutates":
            return self._write
        if flag == "reads":
            return self._read
        if flag == "shells":
            return self._command
        if flag == "programs":
            return self._program
        return self._by_argument[int(flag.split()[1])]

    def _flag(self, tool: str) -> str | None:
        parts = _SEPARATOR.split(tool)
        names = (tool,) if len(parts) == 1 else (tool, parts[-1])
        for name in names:
            flag = self._exact.get(_fold(name))
            if flag is not None:
                return flag
        for name in names:
            snake = _CAMEL.sub("_", name).replace("-", "_").lower()
            for pattern, flag in self._patterns:
                if fnmatchcase(snake, pattern):
                    return flag
        return None

    # -- kinds of tools ---------------------------------------------------------------------------

    def _write(self, args: Any) -> Effect:
        path = self._path(args)
        return MUTATES if path is None else Effect(True, False, False, Target(intern(path)))

    def _read(self, args: Any) -> Effect:
        args = _object(args)
        path = self._path(args)
        if path is None:
            return NO_EFFECT
        if len(args) == 1:
            return Effect(False, False, False, Target(intern(path)))
        return Effect(False, False, False, Target(intern(path), *self._lines(args)))

    def _command(self, args: Any) -> Effect:
        args = _object(args)
        if isinstance(args, dict):
            command: Any = None
            for name in self._names["command"]:
                command = args.get(name)
                if command is not None:
                    break
            else:
                action = args.get("action")  # local_shell_call
                command = action.get("command") if isinstance(action, dict) else None
        else:
            command = args
        if isinstance(command, str):
            if not command.strip():
                return NO_EFFECT if command is args else POLLS  # asks a running command for more
            if command is args and _PROGRAM.match(command):
                return NO_EFFECT
            effect = self._shell.effect(command)
        elif isinstance(command, list) and command and all(type(w) is str for w in command):
            effect = self._shell.effect_of_words(command)
        else:
            return NO_EFFECT
        target = effect.target
        if effect.mutates and target is None:
            text = command if isinstance(command, str) else command[-1]
            if "*** Begin Patch" in text[:400]:
                path = _patched(text)
                target = None if path is None else Target(intern(path))
        return Effect(effect.mutates, effect.polls, False, target)

    def _program(self, args: Any) -> Effect:
        args = _object(args)
        code = _first_of(args, self._names["code"]) if isinstance(args, dict) else args
        if type(code) is not str:
            return NO_EFFECT
        return MUTATES if self._shell.effect_of_program(code).mutates else NO_EFFECT

    # -- arguments --------------------------------------------------------------------------------

    def _path(self, args: Any) -> str | None:
        args = _object(args)
        if isinstance(args, dict):
            for name in self._names["path"]:
                path = args.get(name)
                if type(path) is str and path:
                    return path[2:] if path.startswith("./") else path
            for name in self._names["patch"]:
                patch = args.get(name)
                if type(patch) is str:
                    return _patched(patch)
        elif isinstance(args, str):
            return _patched(args)
        return None

    def _lines(self, args: dict[str, Any]) -> tuple[int | None, int | None]:
        """First and last line asked for, 1-based; None where the argument does not tell."""
        names = self._names
        span = _first_of(args, names["range"])
        if span is not None:
            return _span(span)
        first = _line(_first_of(args, names["first"]))
        last = _line(_first_of(args, names["last"]))
        if first is not None or last is not None:
            return max(1, first or 1), last
        offset = _line(_first_of(args, names["offset"]))
        limit = _line(_first_of(args, names["limit"]))
        if offset is None and limit is None:
            return None, None
        # an offset of 0 is the first line, whether the tool counts from 0 or from 1
        first = max(1, offset or 1)
        return first, None if limit is None else first + max(limit, 1) - 1


# -- settings -------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _built_in() -> dict[str, Any]:
    return tomllib.loads((files("loopaudit.effects") / "effects.toml").read_text("utf-8"))


def _merged(user: Mapping[str, Any], place: _Place | None) -> dict[str, Any]:
    table = deepcopy(_built_in())
    for key, value in user.items():
        if key in _LISTS:
            table[key] = _changed(table[key], value, key, place)
        elif key in ("options_with_value", "arguments", "bookkeeping"):
            if not isinstance(value, Mapping):
                raise _error("must be a table of lists", place, key)
            if key != "options_with_value":
                for name in value:
                    if name not in table[key]:
                        raise _error(_unknown(name, table[key]), place, key, name)
            for name, words in value.items():
                table[key][name] = _changed(table[key].get(name, []), words, name, place, key)
        elif key == "by_argument":
            table[key] = [*table[key], *_rules(value, place)]
        else:
            raise _error(
                _unknown(key, (*_LISTS, "by_argument", "arguments", "bookkeeping")), place, key
            )
    return table


def _changed(
    names: list[str], value: Any, key: str, place: _Place | None, *above: str
) -> list[str]:
    if isinstance(value, Mapping):
        for word, part in value.items():
            if word not in _CHANGES:
                raise _error(_unknown(word, _CHANGES), place, *above, key, word)
            _check_names(part, place, *above, key, word)
        removed = {_fold(name) for name in value.get("remove", ())}
        kept = [name for name in value.get("replace", names) if _fold(name) not in removed]
        return [*kept, *value.get("add", ())]
    _check_names(value, place, *above, key)
    return [*names, *value]


def _check_names(value: Any, place: _Place | None, *keys: str) -> None:
    if not isinstance(value, list) or not all(type(n) is str and n.strip() for n in value):
        raise _error("must be a list of names", place, *keys)


def _rules(value: Any, place: _Place | None) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        raise _error("must be an array of tables", place, "by_argument")
    for rule in value:
        if not isinstance(rule, Mapping) or type(rule.get("argument")) is not str:
            raise _error('needs `tools` and `argument = "name"`', place, "by_argument")
        for key in ("tools", "mutates", "polls", "reads", "other_names"):
            words = rule.get(key, [])
            if not isinstance(words, list) or not all(type(word) is str for word in words):
                raise _error(f"`{key}` must be a list of texts", place, "by_argument")
        if not rule.get("tools"):
            raise _error('needs `tools = ["name"]`', place, "by_argument")
    return [dict(rule) for rule in value]


def _unknown(name: object, known: Any) -> str:
    return f"unknown key {name!r}; known are {', '.join(known)}"


def _error(message: str, place: _Place | None, *keys: str) -> ConfigError:
    path, line = place("tools", *keys) if place else ("", None)
    return ConfigError(
        f"[tools] {'.'.join(str(key) for key in keys)}: {message}",
        'lists of names of tools or commands, e.g. polls = ["wait_for_build"]',
        path=path,
        line=line,
    )


# -- helpers of the hot path ----------------------------------------------------------------------


def _nothing(args: Any) -> Effect:
    return NO_EFFECT


def _fold(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "").replace(" ", "")


def _by_argument(rule: Mapping[str, Any], read: _Classify) -> _Classify:
    names = (rule["argument"], *rule.get("other_names", ()))
    mutates = frozenset(rule.get("mutates", ()))
    polls = frozenset(rule.get("polls", ()))
    reads = frozenset(rule.get("reads", ()))
    first_word = rule.get("first_word", False)

    def classify(args: Any) -> Effect:
        args = _object(args)
        if not isinstance(args, dict):
            return NO_EFFECT
        value = _first_of(args, names)
        if value is None:
            value = ""
        if type(value) is not str:
            return NO_EFFECT
        if first_word:
            value = value[:200].lower().split(None, 1)[0] if value.strip() else ""
        if value in mutates:
            target = read(args).target
            return (
                MUTATES
                if target is None
                else Effect(True, False, False, Target(intern(target.path)))
            )
        if value in polls:
            return POLLS
        return read(args) if value in reads else NO_EFFECT

    return classify


def _object(args: Any) -> Any:
    """Arguments that were left as JSON text are read."""
    if type(args) is str and args[:1] == "{":
        try:
            return orjson.loads(args)
        except ValueError:
            return args
    return args


def _first_of(args: dict[str, Any], names: tuple[str, ...]) -> Any:
    for name in names:
        if name in args:
            return args[name]
    return None


def _line(value: Any) -> int | None:
    """A line number; texts and whole floats are taken, booleans and absurd numbers are not."""
    if type(value) is int:
        return value if 0 <= value < 1_000_000_000 else None
    if type(value) is float:
        return int(value) if value.is_integer() and 0 <= value < 1e9 else None
    if type(value) is str and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    return None


def _span(value: Any) -> tuple[int | None, int | None]:
    """`[1, 40]`, `"1-40"`, `"7"`; -1 is the end of the file."""
    if isinstance(value, list) and len(value) == 2:
        first, last = _line(value[0]), _line(value[1])
        return (None, None) if first is None else (max(1, first), last)
    if isinstance(value, str):
        found = _RANGE.match(value[:40])
        if found:
            return max(1, int(found[1])), None if found[2] == "-1" else int(found[2])
    single = _line(value)
    return (None, None) if single is None else (max(1, single), max(1, single))


_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.MULTILINE)


def _patched(patch: str) -> str | None:
    """The file of a patch that touches just one."""
    paths = {path.strip() for path in _PATCHED.findall(patch[:200_000])}
    return paths.pop() if len(paths) == 1 else None
