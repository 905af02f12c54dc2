"""Small Codex rollout lines, written for these tests, and a reader over them."""

import json

from loopaudit.formats.coding.codex import FORMAT
from loopaudit.ingest.runs import RunAssembler

THREAD = "019fc8be-0000-7000-8000-00000000000a"


def at(second):
    minute, rest = divmod(second, 60)
    return f"2026-08-03T10:{int(minute):02d}:{rest:06.3f}Z"


def line(kind, second=0, **payload):
    return {"timestamp": at(second), "type": kind, "payload": payload}


def meta(thread=THREAD, second=0, **more):
    facts = {"cwd": "/w/shop", "cli_version": "0.146.0", "model_provider": "openai"}
    return line("session_meta", second, id=thread, timestamp=at(second), **{**facts, **more})


def context(model="gpt-5.2-codex", second=0):
    return line("turn_context", second, model=model, cwd="/w/shop")


def item(kind, second=0, **more):
    return line("response_item", second, type=kind, **more)


def event(kind, second=0, **more):
    return line("event_msg", second, type=kind, **more)


def thought(second=0):
    return item("reasoning", second, summary=[{"type": "summary_text", "text": "hm"}])


def said(words, second=0):
    content = [{"type": "output_text", "text": words}]
    return item("message", second, role="assistant", content=content)


def asked(words, second=0, role="user"):
    return item("message", second, role=role, content=[{"type": "input_text", "text": words}])


def call(ident, second=0, name="shell", **arguments):
    return item("function_call", second, name=name, arguments=json.dumps(arguments), call_id=ident)


def output(ident, value="ok", second=0):
    return item("function_call_output", second, call_id=ident, output=value)


def figures(fresh, cached=0, out=0, reasoning=0):
    return {
        "input_tokens": fresh + cached,
        "cached_input_tokens": cached,
        "output_tokens": out,
        "reasoning_output_tokens": reasoning,
        "total_tokens": fresh + cached + out,
    }


def told(total, last=None, second=0, **info):
    """A token_count event of plain numbers of fresh input, or of whole figures."""
    total = figures(total) if isinstance(total, int) else total
    last = figures(last) if isinstance(last, int) else last
    facts = {"total_token_usage": total, "last_token_usage": last, **info}
    return event("token_count", second, info={k: v for k, v in facts.items() if v is not None})


def read(records, path="sessions/rollout.jsonl"):
    """(reader, pieces) of the records, one a line. Every record is accounted for."""
    reader = FORMAT.reader(str(path))
    pieces = [p for number, r in enumerate(records, 1) for p in reader.feed(number, r)]
    pieces += reader.end()
    counted = reader.used + sum(reader.ignored.values()) + len(reader.rejected)
    assert counted == len(records)
    return reader, pieces


def run_of(records, path="sessions/rollout.jsonl"):
    assembler = RunAssembler(str(path), "codex")
    for piece in read(records, path)[1]:
        assembler.add(piece)
    (run,) = [run for run in assembler.finish() if run.id != "child"]
    return run


def of(kind, records):
    return [piece for piece in read(records)[1] if isinstance(piece, kind)]
