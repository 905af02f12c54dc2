"""Any JSON lines by a mapping in TOML: which field of a record is the tool, the result, the tokens.

A path is the names of keys with dots between (`usage.input`), numbers for places in lists, or a
list of keys where a name has dots itself. A record may be several things at once: a response with
the calls that it made, a call with its result.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache, partial
from typing import Any

from loopaudit.errors import ConfigError
from loopaudit.formats.base import Format, Sample
from loopaudit.formats.logreader import LogReader
from loopaudit.formats.shapes import (
    Json,
    arguments,
    dollars,
    name,
    number,
    output_of,
    seconds,
    text_of,
    user_kind,
    whole,
)
from loopaudit.formats.tool_messages import status_of
from loopaudit.formats.usages import named_usage
from loopaudit.model import (
    AttemptPiece,
    BoundaryKind,
    BoundaryPiece,
    CallPiece,
    CallStatus,
    Piece,
    ResponsePiece,
    ResultPiece,
    RunPiece,
)
from loopaudit.settings import alone
from loopaudit.settings.values import Table

PREFIX = "map:"

Path = tuple[str, ...]

#: fields of the whole record, and of each section; those marked in `_NEEDED` must be mapped
_RECORD = ("run", "session", "time", "kind", "agent", "task_type", "user_id", "project", "model")
_SECTIONS: dict[str, tuple[str, ...]] = {
    "response": (
        *("id", "text", "finish", "model", "cost", "input", "input_with_cache", "cache_read"),
        *("cache_write", "output", "reasoning", "total"),
    ),
    "call": ("id", "tool", "arguments", "response", "result", "error", "ok", "exit_code", "time"),
    "result": ("id", "tool", "result", "error", "ok", "exit_code"),
    "failure": ("message", "code", "http_status", "wait", "retry_after"),
    "user": ("text",),
    "outcome": ("value",),
}
_NEEDED = {"call": "tool", "failure": "message", "outcome": "value", "user": "text"}
_OUTCOMES = {True: "success", False: "failure"}


class Section:
    """One kind of thing in a record: when a record holds one, and where its fields stand."""

    def __init__(self, table: Table, fields: tuple[str, ...], needed: str | None) -> None:
        table.only(("when", "list", *fields))
        self.when = frozenset(map(str, _texts(table, "when")))
        self.list = _path(table, "list")
        paths = {key: _path(table, key) for key in fields}
        self.fields = {key: path for key, path in paths.items() if path is not None}
        self.needed = needed
        if not self.fields:
            raise table.wrong(None, f"maps no field; known: {', '.join(fields)}")
        if needed is not None and needed not in self.fields:
            raise table.wrong(None, f"needs {needed}")

    def get(self, record: Any, field: str) -> Any:
        path = self.fields.get(field)
        return None if path is None else at(record, path)

    def items(self, record: Json, kind: str | None) -> list[Any]:
        """What of this kind the record holds: parts of it, or the record itself."""
        if self.when and kind not in self.when:
            return []
        if self.list is not None:
            found = at(record, self.list)
            parts = found if isinstance(found, list) else []
        else:
            parts = [record]
        if self.needed is not None:
            return [part for part in parts if self.get(part, self.needed) not in (None, "")]
        if self.when:
            return parts
        return [
            part for part in parts if any(self.get(part, key) is not None for key in self.fields)
        ]


class Mapping:
    """A mapping file, checked. Raises `ConfigError` with file and line."""

    def __init__(self, path: str) -> None:
        settings = alone(path)
        top = Table(settings.values, "this mapping", settings.place)
        top.only((*_RECORD, "describes", "detect", *_SECTIONS))
        self.name = os.path.basename(path)
        self.describes = top.text("describes") or ""
        self.detect = [tuple(key.split(".")) for key in map(str, _texts(top, "detect"))]
        paths = {key: _path(top, key) for key in _RECORD}
        self.record = {key: path for key, path in paths.items() if path is not None}
        self.sections = {
            key: Section(
                Table(top.values[key], f"[{key}]", partial(settings.place, key)),
                fields,
                _NEEDED.get(key),
            )
            for key, fields in _SECTIONS.items()
            if key in top.values
        }
        if not {"response", "call"} & set(self.sections):
            raise ConfigError(
                "this mapping needs a table [response] or [call]",
                "loopaudit explain map shows one",
                path=path,
            )

    def get(self, record: Json, field: str) -> Any:
        path = self.record.get(field)
        return None if path is None else at(record, path)


def _path(table: Table, key: str) -> Path | None:
    value = table.values.get(key)
    if value is None:
        return None
    if isinstance(value, str) and value:
        return tuple(value.split("."))
    if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
        return tuple(value)
    raise table.wrong(key, f"{key} must be a path: text such as 'usage.input', or a list of keys")


def _texts(table: Table, key: str) -> list[Any]:
    value = table.values.get(key, [])
    value = value if isinstance(value, list) else [value]
    if not all(isinstance(item, str | int | bool) for item in value):
        raise table.wrong(key, f"{key} must be a value of kind, or a list of them")
    return value


def at(value: Any, path: Path) -> Any:
    """What stands at a path; None where nothing does."""
    for key in path:
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and key.isascii() and key.isdigit() and len(key) < 8:
            value = value[int(key)] if int(key) < len(value) else None
        else:
            return None
    return value


class MappedReader(LogReader):
    def __init__(self, path: str, mapping: Mapping) -> None:
        super().__init__(path)
        self._map = mapping
        self._ids: dict[str, str] = {}  # run as written -> run

    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if isinstance(record, list):  # a document that is a list of records
            out: list[Piece] = []
            for index, item in enumerate(record):
                out += self._one(self.place(line, index), item)
            return out
        return self._one(line, record)

    def _one(self, line: int, record: Any) -> list[Piece]:
        if not isinstance(record, dict):
            self.reject(line, "not a JSON object")
            return []
        pieces = list(self._pieces(record))
        if not pieces:
            kind = name(self._map.get(record, "kind"))
            self.ignored[f"{kind[:40]} record" if kind else "record that maps to nothing"] += 1
            return []
        self.used += 1
        own = name(self._map.get(record, "run"))
        run = self._ids.get(own or "")
        if run is None:
            run = self._ids[own or ""] = self.new_run(own)
            pieces.insert(0, self._about(record, own))
        return self.emit(pieces, run, line)

    def _about(self, record: Json, own: str | None) -> RunPiece:
        get = partial(self._map.get, record)
        return RunPiece(
            "",
            0,
            session=name(get("session")) or own,
            agent=name(get("agent")),
            task_type=name(get("task_type")),
            user=name(get("user_id")),
            project=name(get("project")),
        )

    def _pieces(self, record: Json) -> Iterable[Piece]:
        kind = self._map.get(record, "kind")
        kind = str(kind) if isinstance(kind, str | int) else None
        when = seconds(self._map.get(record, "time"))
        for key, section in self._map.sections.items():
            if key not in ("response", "call"):
                for part in section.items(record, kind):
                    yield from _OTHERS[key](section, part, when)
        yield from self._answer(record, kind, when)

    def _answer(self, record: Json, kind: str | None, when: float | None) -> Iterable[Piece]:
        """Responses, and calls: of the response beside them, of one by its id, or of their own."""
        sections = self._map.sections
        told, made = sections.get("response"), sections.get("call")
        answer: ResponsePiece | None = None
        for part in told.items(record, kind) if told is not None else ():
            if answer is not None:
                yield answer
            answer = _response(told, part, when) if told is not None else None
            if answer is not None:
                answer.model = answer.model or name(self._map.get(record, "model"))
        results: list[ResultPiece] = []
        for part in made.items(record, kind) if made is not None else ():
            call, result = _call(made, part, when) if made is not None else (None, None)
            if call is None or made is None:
                continue
            owner = name(made.get(part, "response"))
            if owner is not None and (answer is None or answer.id != owner):
                yield ResponsePiece("", 0, id=owner, at=when, calls=(call,))
            elif answer is None:
                yield ResponsePiece("", 0, at=when, calls=(call,))
            else:
                answer.calls += (call,)
            if result is not None:
                results.append(result)
        if answer is not None:
            yield answer
        yield from results


def _response(section: Section, part: Any, when: float | None) -> ResponsePiece:
    get = partial(section.get, part)
    counts = {key: get(key) for key in section.fields if key in _SECTIONS["response"][4:]}
    whole_input = "input_with_cache" in section.fields
    return ResponsePiece(
        "",
        0,
        id=name(get("id")),
        at=when,
        model=name(get("model")),
        text=text_of(get("text")),
        usage=named_usage(
            {key: _count(value) for key, value in counts.items() if value is not None},
            fresh="input",
            whole="input_with_cache" if whole_input else "",
            read="cache_read",
            write="cache_write",
            output="output",
            reasoning="reasoning",
            total="total",
        ),
        cost=dollars(get("cost")),
        finish=name(get("finish")),
    )


def _count(value: Any) -> Any:
    """A count; many logs write numbers as text."""
    plain = isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16
    return int(value) if plain else value


def _call(
    section: Section, part: Any, when: float | None
) -> tuple[CallPiece | None, ResultPiece | None]:
    tool = name(section.get(part, "tool"))
    if tool is None:
        return None, None
    given = section.get(part, "arguments")
    began = seconds(section.get(part, "time")) or when
    call = CallPiece(
        name(section.get(part, "id")), tool, None if given is None else arguments(given), began
    )
    answered = any(
        section.get(part, key) is not None for key in ("result", "error", "ok", "exit_code")
    )
    if not answered:
        return call, None
    return call, _result(section, part, None, call.id, tool)


def _result(
    section: Section, part: Any, when: float | None, key: str | None, tool: str | None
) -> ResultPiece:
    get = partial(section.get, part)
    error, ok, exit_code = get("error"), get("ok"), whole(get("exit_code"))
    text = output_of(get("result"))
    flagged = {"error", "ok", "exit_code"} & set(section.fields)
    failed = bool(error) and error not in ("false", "False", "none", "None", "ok", "0")
    failed |= ok is not None and not (
        ok is True or str(ok).lower() in ("true", "ok", "1", "success")
    )
    failed |= bool(exit_code)
    status = CallStatus.ERROR if failed else CallStatus.OK
    status = status if flagged else status_of(text)
    if text is None and isinstance(error, str | dict | list) and error:
        text = output_of(error)
    return ResultPiece("", 0, key, text, when, status, tool, exit_code=exit_code)


def _results(section: Section, part: Any, when: float | None) -> Iterable[Piece]:
    key, tool = name(section.get(part, "id")), name(section.get(part, "tool"))
    yield _result(section, part, when, key, tool)


def _failures(section: Section, part: Any, when: float | None) -> Iterable[Piece]:
    get = partial(section.get, part)
    message = get("message")
    yield AttemptPiece(
        "",
        0,
        when,
        whole(_count(get("http_status"))),
        name(get("code")),
        message[:2000] if isinstance(message, str) else None,
        number(get("wait")),
        number(get("retry_after")),
    )


def _users(section: Section, part: Any, when: float | None) -> Iterable[Piece]:
    text = text_of(section.get(part, "text"))
    yield BoundaryPiece("", 0, user_kind(text) if text else BoundaryKind.USER, when, text)


def _outcomes(section: Section, part: Any, when: float | None) -> Iterable[Piece]:
    value = section.get(part, "value")
    told = _OUTCOMES[value] if isinstance(value, bool) else name(value)
    yield RunPiece("", 0, outcome=told, outcome_source="the log", at=when)


_OTHERS = {"result": _results, "failure": _failures, "user": _users, "outcome": _outcomes}


@lru_cache(maxsize=16)
def mapped_format(path: str) -> Format:
    """The format that a mapping file describes. Raises `ConfigError` with file and line."""
    mapping = Mapping(path)
    return Format(
        name=f"{PREFIX}{mapping.name}",
        title=f"JSON lines by the mapping {mapping.name}",
        sniff=partial(_sniff, mapping),
        reader=lambda source: MappedReader(source, mapping),
        describes=mapping.describes,
    )


def _sniff(mapping: Mapping, sample: Sample) -> float:
    """Sure where every record has the fields of `detect`; without these never chosen."""
    records = sample.records
    if sample.document and records and isinstance(records[0], list):
        records = records[0][:64]
    if not mapping.detect or not records:
        return 0.0
    found = all(at(record, path) is not None for record in records for path in mapping.detect)
    return 0.95 if found else 0.0


#: an example with every table, for `explain map`
EXAMPLE = """\
kind = "event"                    # tells records apart, for `when` below
run = "conversation"              # without it a file is one run
time = "at"                       # also: session, agent, task_type, user_id, project,
                                  # model
detect = ["event", "conversation"]  # only for a mapping named in settings

[response]
when = ["answer"]                 # values of kind; without it: where a mapped field is there
id = "message.id"
model = "model"
text = "message.text"             # also: finish, cost
input = "usage.in"                # fresh tokens; or input_with_cache
cache_read = "usage.cached"       # also: cache_write, reasoning, total
output = "usage.out"

[call]
list = "message.tools"            # calls that lie in a list of the record
id = "id"
tool = "name"
arguments = "args"                # also, where they stand beside it: result, error, ok, exit_code

[result]
when = ["tool_done"]
id = "call"
result = "output"
error = "failed"                  # true, or the text of the error

[failure]                         # a failed request to the model
when = ["api_error"]
message = "error.text"            # also: code, http_status, wait, retry_after

[user]
when = ["question"]
text = "text"

[outcome]
value = "solved"
"""
