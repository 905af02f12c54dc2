"""Codex calls and their answers, from the items that hold them."""

from __future__ import annotations

from typing import Any

import orjson

from loopaudit.formats.coding.codex_events import Ended
from loopaudit.formats.coding.codex_text import output
from loopaudit.formats.shapes import Json, table, words
from loopaudit.keys import digest
from loopaudit.model import CallPiece, CallStatus, ResultPiece

_NAMES = {"local_shell_call": "local_shell", "tool_search_call": "tool_search"}


def call_of(item: Json, line: int, at: float | None) -> CallPiece:
    """A call that is answered by another item. A namespace other than the default is named."""
    kind = str(item.get("type"))
    tool = words(item.get("name")) or words(table(item, "function").get("name"))
    tool = tool or _NAMES.get(kind, "?")
    space = words(item.get("namespace"))
    if space and space != "functions":
        tool = f"{space}.{tool}"
    args = item.get("action") if kind == "local_shell_call" else item.get("arguments")
    if args is None:
        args = item.get("input")
    ident = words(item.get("call_id")) or words(item.get("id"))
    return CallPiece(ident, tool, _parsed(args), at, line)


def own_tool(item: Json, line: int, at: float | None, run: str) -> tuple[CallPiece, ResultPiece]:
    """A call of a tool of the provider (web search, pictures): the item is its end, too."""
    tool = str(item.get("type")).removesuffix("_call")
    ident = words(item.get("id")) or words(item.get("call_id"))
    args = item.get("action")
    if args is None:
        args = {"prompt": item.get("revised_prompt")}
    picture = words(item.get("result"))
    failed = item.get("status") in ("failed", "error", "incomplete")
    answer = ResultPiece(
        run=run,
        line=line,
        call_id=ident,
        text=f"[image {digest(picture):016x}]" if picture else None,
        at=at,
        status=CallStatus.ERROR if failed else CallStatus.OK,
        tool=tool,
    )
    return CallPiece(ident, tool, args, at, line), answer


def answer_of(
    item: Json, line: int, at: float | None, run: str, ended: Ended | None
) -> ResultPiece:
    """The output of a call; an event beside it may know better how the call ended."""
    call = words(item.get("call_id"))
    value = item.get("output")
    if value is None:
        value = item.get("tools")
    facts = item.get("result")
    if value is None and type(facts) is dict:
        value = {"output": facts.get("stdout"), "metadata": {"exit_code": facts.get("exitCode")}}
    text, status, code, spent = output(value)
    if ended is not None:
        if status is CallStatus.OK and ended.status is not None:
            status = ended.status
        code = ended.exit_code if code is None else code
        spent = ended.duration if spent is None else spent
    return ResultPiece(
        run=run,
        line=line,
        call_id=call,
        text=text,
        at=at,
        status=status,
        tool=words(item.get("name")) if call is None else None,
        exit_code=code,
        duration=spent,
    )


def _parsed(args: Any) -> Any:
    """Arguments are JSON in text; patches and code stay text, as does what was cut."""
    if type(args) is str and args.lstrip()[:1] in ("{", "["):
        try:
            return orjson.loads(args)
        except ValueError:
            return args
    return args
