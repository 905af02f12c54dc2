"""Claude Code messages to pieces: what the model said and called, and what tools answered."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from loopaudit.formats.coding.claude_code_text import ending, exit_code, result_text
from loopaudit.formats.coding.claude_code_threads import Threads
from loopaudit.formats.coding.claude_code_usage import UsageReader, service_of, usage_of
from loopaudit.formats.shapes import Json, dollars, number, words
from loopaudit.formats.usages import beside
from loopaudit.model import (
    BoundaryKind,
    BoundaryPiece,
    CallPiece,
    CallStatus,
    Piece,
    ResponsePiece,
    ResultPiece,
    StepKind,
)

#: the program's own tail of a sub-agent's result: its id and figures differ each time
_AGENT_TAIL = re.compile(r"\n?^agentId: (\w+)", re.MULTILINE)
_TAIL = 600  # characters at the end of a result in which that tail stands


@dataclass(slots=True)
class Place:
    """A line and the run it belongs to; pieces are added to `pieces`."""

    line: int
    run: str
    at: float | None
    pieces: list[Piece] = field(default_factory=list)

    def boundary(self, kind: BoundaryKind, text: str | None = None) -> None:
        self.pieces.append(BoundaryPiece(self.run, self.line, kind, self.at, text))


def add_response(
    place: Place, record: Json, message: Json, threads: Threads, usages: UsageReader
) -> tuple[int, int] | None:
    """Add the piece of a model response that `message` is, and the answers of server tools in it.

    Returns the numbers of calls and answers; None where the message holds nothing.
    """
    content = message.get("content")
    given = message.get("usage")
    if content is None and given is None:
        return None
    run, line = place.run, place.line
    texts: list[str] = []
    calls: list[CallPiece] = []
    results: list[Piece] = []
    thinking = 0
    for block in content if type(content) is list else ():
        kind = block.get("type") if type(block) is dict else None
        if type(kind) is not str:
            continue
        if kind == "text":
            text = block.get("text")
            if type(text) is str:
                texts.append(text)
        elif kind == "thinking":
            thought = block.get("thinking")
            if type(thought) is str:
                thinking += len(thought)
        elif kind.endswith("tool_use"):  # the provider's own tools: server_tool_use
            tool, call, args = block.get("name"), block.get("id"), block.get("input")
            tool = tool if type(tool) is str and tool else "?"
            call = call if type(call) is str else None
            calls.append(CallPiece(call, tool, args))
            threads.calls(tool, call, args)
        elif kind.endswith("tool_result"):
            results.append(_server_result(place, block))
    if type(content) is str:
        texts.append(content)
    ident = message.get("id")
    if type(ident) is not str or not ident:
        uuid = words(record.get("uuid"))
        ident = f"line:{uuid}" if uuid else None
    if type(given) is dict and given.get("iterations"):
        _add_beside(place, message, given, ident)
    usage, service = (None, None) if given is None else usages.read(run, ident, given)
    cost = record.get("costUSD")
    place.pieces.append(
        ResponsePiece(
            run,
            line,
            ident,
            place.at,
            None,
            words(message.get("model")),
            "\n".join(texts) if texts else None,
            thinking,
            tuple(calls) if calls else (),
            usage,
            None if cost is None else dollars(cost),
            words(message.get("stop_reason")),
            # a compaction runs as an agent of its own where the log has it
            StepKind.COMPACTION if "/acompact" in run else StepKind.MODEL,
            service,
        )
    )
    if results:
        place.pieces += results
    return len(calls), len(results)


def _add_beside(place: Place, message: Json, usage: Json, ident: str | None) -> None:
    """Add what the server ran within a response and bills beside it."""
    for entry in beside(usage):
        place.pieces.append(
            ResponsePiece(
                place.run,
                place.line,
                f"{ident}/{entry.name}" if ident else None,
                place.at,
                model=entry.model or words(message.get("model")),
                usage=usage_of(entry.usage),
                kind=entry.kind,
                service=service_of(usage),
            )
        )


def add_result(place: Place, record: Json, block: Json, threads: Threads) -> None:
    """Add the answer that a `tool_result` block is, and the link to a sub-agent it tells of."""
    call = words(block.get("tool_use_id")) or words(record.get("sourceToolUseID"))
    text = block.get("content")
    if type(text) is not str:
        text = result_text(text)
    plain = text if type(text) is str else ""
    status, code, spent, agent = CallStatus.OK, None, None, None
    failed = block.get("is_error")
    if failed and failed in (True, "true"):
        status = ending(plain, record.get("toolDenialKind"))
    facts = record.get("toolUseResult")
    if type(facts) is dict:
        if facts.get("interrupted") is True and "timed out" not in plain[:400]:
            status = CallStatus.INTERRUPTED
        code = words(facts.get("returnCodeInterpretation"))
        agent = words(facts.get("agentId"))
        spent = number(facts.get("totalDurationMs"))
    if agent or call in threads.spawned:  # nested results tell of their agent in the text only
        tail = _AGENT_TAIL.search(plain, max(0, len(plain) - _TAIL))
        if tail is not None:
            agent = agent or tail.group(1)
            text = plain[: tail.start()]
    if agent:
        place.pieces.append(threads.link(place.line, place.run, agent, call))
    place.pieces.append(
        ResultPiece(
            place.run,
            place.line,
            call,
            text,
            place.at,
            status,
            None,
            None,
            code,
            exit_code(plain) if status is CallStatus.ERROR else None,
            spent / 1000 if spent is not None else None,
        )
    )


def _server_result(place: Place, block: Json) -> ResultPiece:
    """The answer of a tool that the provider runs (web search); it stands inside the response."""
    content = block.get("content")
    code = words(content.get("error_code")) if type(content) is dict else None
    failed = code is not None or block.get("is_error") is True
    return ResultPiece(
        run=place.run,
        line=place.line,
        call_id=words(block.get("tool_use_id")),
        text=content,
        at=place.at,
        status=CallStatus.ERROR if failed else CallStatus.OK,
        code=code,
    )
