"""Small Claude Code lines, written for these tests, and a reader over them."""

from itertools import count

from loopaudit.formats.coding.claude_code import FORMAT
from loopaudit.ingest.runs import RunAssembler
from loopaudit.model import AttemptPiece, BoundaryPiece, ResponsePiece, ResultPiece, RunPiece

_lines = count(1)
SESSION = "11111111-2222-4333-8444-555555555555"


def at(second):
    return f"2026-03-05T10:{second // 60:02d}:{second % 60:02d}.000Z"


def usage(fresh=10, read=100, written=20, output=50, **more):
    return {
        "input_tokens": fresh,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
        "output_tokens": output,
        **more,
    }


def line(kind, second=0, **more):
    base = {
        "parentUuid": None,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/ada/shop",
        "sessionId": SESSION,
        "version": "2.1.40",
        "type": kind,
        "uuid": f"line-{next(_lines)}",
        "timestamp": at(second),
    }
    return {**base, **more}


def said(blocks, ident="msg_1", second=0, stop="end_turn", tokens=None, **more):
    message = {
        "id": ident,
        "type": "message",
        "role": "assistant",
        "model": more.pop("model", "claude-sonnet-4-5-20250929"),
        "content": blocks,
        "stop_reason": stop,
        "usage": usage() if tokens is None else tokens,
    }
    return line("assistant", second, message=message, requestId="req_1", **more)


def text(words):
    return {"type": "text", "text": words}


def call(ident, tool="Bash", **arguments):
    return {"type": "tool_use", "id": ident, "name": tool, "input": arguments}


def asked(content, second=0, **more):
    return line("user", second, message={"role": "user", "content": content}, **more)


def result(ident, content="ok", second=0, error=None, **more):
    block = {"type": "tool_result", "tool_use_id": ident, "content": content}
    if error is not None:
        block["is_error"] = error
    return asked([block], second, **more)


def embedded(message, agent="a1", second=0, caller="toolu_task", **more):
    data = {
        "type": "agent_progress",
        "message": {**message, "timestamp": at(second)},
        "normalizedMessages": [message],
        "prompt": "count the tests",
        "agentId": agent,
    }
    return line("progress", second, data=data, parentToolUseID=caller, **more)


def read(records, path="projects/shop/log.jsonl"):
    """(reader, pieces) of the records, one a line. Every record is accounted for."""
    reader = FORMAT.reader(str(path))
    pieces = [p for number, r in enumerate(records, 1) for p in reader.feed(number, r)]
    pieces += reader.end()
    counted = reader.used + sum(reader.ignored.values()) + len(reader.rejected)
    assert counted == len(records)
    return reader, pieces


def runs(records, path="projects/shop/log.jsonl"):
    reader, pieces = read(records, path)
    assembler = RunAssembler(
        str(path), "claude_code", placeholder_outputs=reader.placeholder_outputs
    )
    for piece in pieces:
        assembler.add(piece)
    return {run.id: run for run in assembler.finish()}


def of(kind, pieces):
    return [piece for piece in pieces if isinstance(piece, kind)]


def responses(records):
    return of(ResponsePiece, read(records)[1])


def results(records):
    return of(ResultPiece, read(records)[1])


def boundaries(records):
    return [(b.kind.value, b.text) for b in of(BoundaryPiece, read(records)[1])]


def attempts(records):
    return of(AttemptPiece, read(records)[1])


def run_pieces(records):
    return of(RunPiece, read(records)[1])
