"""One situation, spelled as a log of each format, and the report that the program makes of it.

A situation is a list of steps (`step(tokens, *calls)`) and of what lies between them (`user()`,
`hook()`, `compaction()` …). Calls are verbs (`read`, `edit`, `test` …); each format says them with
the tools, arguments and error texts of a product that writes it (see `dialects`).
Numbers in `Expect` are counted from 1, as in the cases and on screen.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from dialects import DIALECTS, Call

from loopaudit.__main__ import main

Line = dict[str, Any]
START = 1_777_629_600.0  # 2026-05-01T10:00:00Z
SESSION = "5d0c7a1e-3b52-4f0e-9a66-0f5f3c2b1a00"


# -- situations -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    tokens: int
    calls: tuple[Call, ...] = ()
    text: str | None = None
    seconds: float = 10.0  # since the step before
    model: str | None = None


@dataclass(frozen=True)
class Event:
    """What lies between steps: user, hook, reminder, compaction, interrupt, limit, attempt."""

    kind: str
    text: str = ""
    tokens: int = 0  # of a compaction
    status: int | None = None  # of a failed API attempt


Entry = Step | Event


def step(tokens: int, *calls: Call, text: str | None = None, **more: Any) -> Step:
    return Step(tokens, calls, text, **more)


def user(text: str = "please go on") -> Event:
    return Event("user", text)


def hook(text: str) -> Event:
    return Event("hook", text)


def compaction(tokens: int) -> Event:
    return Event("compaction", "Summary of what was done so far.", tokens)


def interrupt() -> Event:
    return Event("interrupt")


def attempt(status: int) -> Event:
    return Event("attempt", "Overloaded", status=status)


def verb(name: str) -> Callable[..., Call]:
    """`read = verb("read")`: a call with the verb's own arguments, a result, and how it ended."""

    def make(args: dict[str, Any] | None = None, result: Any = "ok", **more: Any) -> Call:
        return Call(name, args or {}, result, **more)

    return make


# -- formats --------------------------------------------------------------------------------------

#: what a format cannot tell, and why; such situations are not tried in it, or tried without it
LACKS: dict[str, dict[str, str]] = {
    "loopaudit": {},
    "claude_code": {"compaction tokens": "the line of a compaction does not tell what it cost"},
    "codex": {},
    "openai_chat": {
        "usage": "chat messages hold no usage",
        "hook": "a hook's text is a user message like any other",
        "compaction": "a shortened history is another conversation",
        "interrupt": "a conversation just ends",
        "attempt": "failed requests leave no message",
    },
    "anthropic_messages": {
        "hook": "a hook's text is a user message like any other",
        "compaction": "it is billed inside the response that follows",
        "interrupt": "a conversation just ends",
        "attempt": "failed requests leave no message",
    },
    "http_log": {
        "hook": "a hook's text is a user message like any other",
        "compaction": "a shortened history is another conversation",
        "interrupt": "a conversation just ends",
    },
}
FORMATS = tuple(LACKS)
#: events without which a situation is another one
ESSENTIAL = ("hook", "compaction")


def lacking(format_name: str, entries: Iterable[Entry]) -> str | None:
    """Why a situation cannot be told in a format; None if it can."""
    for entry in entries:
        if isinstance(entry, Event) and entry.kind in ESSENTIAL:
            why = LACKS[format_name].get(entry.kind)
            if why:
                return f"{format_name} tells no {entry.kind}: {why}"
    return None


def spelled(format_name: str, entries: Sequence[Entry], session: str = SESSION) -> list[Line]:
    """The lines of a log."""
    dialect = DIALECTS[format_name]
    said = [
        replace(e, calls=tuple(dialect(c) for c in e.calls)) if isinstance(e, Step) else e
        for e in entries
    ]
    return WRITERS[format_name](said, session)


def iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.") + "000Z"


def split(tokens: int) -> tuple[int, int, int]:
    """(fresh, cached, output) of a response: a tenth output, half of the rest cached."""
    output = tokens // 10
    cached = (tokens - output) // 2
    return tokens - output - cached, cached, output


def _native(entries: Sequence[Entry], session: str) -> list[Line]:
    lines: list[Line] = [
        {"loopaudit": 1},
        {"type": "run", "run": session, "session": session, "at": iso(START)},
    ]
    at, numbers = START, count(1)
    for index, entry in enumerate(entries, 1):
        if isinstance(entry, Event) and entry.kind == "attempt":
            lines.append({"type": "attempt", "http_status": entry.status, "message": entry.text})
        elif isinstance(entry, Event) and entry.kind != "compaction":
            lines.append({"type": "boundary", "kind": entry.kind, "at": iso(at)})
            if entry.text:
                lines[-1]["text"] = entry.text
        else:
            at += entry.seconds if isinstance(entry, Step) else 10
            fresh, cached, output = split(entry.tokens)
            line: Line = {"type": "response", "id": f"m{index}", "at": iso(at), "model": "gpt-5"}
            line["usage"] = {"fresh_input": fresh, "cache_read": cached, "output": output}
            if entry.text:
                line["text"] = entry.text
            if isinstance(entry, Event):
                line["kind"] = "compaction"
            else:
                line["model"] = entry.model or "gpt-5"
                line["calls"] = [_native_call(c, f"t{next(numbers)}") for c in entry.calls]
            lines.append(line)
    return lines


def _native_call(call: Call, ident: str) -> Line:
    line: Line = {"id": call.id or ident, "tool": call.verb, "args": call.args}
    if call.result is not None:
        line["result"] = call.result
    for key, value in (
        ("error", call.error),
        ("http_status", call.status),
        ("exit_code", call.code),
        ("status", call.ended),
    ):
        if value:
            line[key] = value
    return line


def _claude(entries: Sequence[Entry], session: str) -> list[Line]:
    lines: list[Line] = []
    at, numbers = START, count(1)

    def put(kind: str, **more: Any) -> None:
        number = len(lines)
        lines.append(
            {
                "parentUuid": f"{session[:8]}-{number - 1}" if number else None,
                "isSidechain": False,
                "userType": "external",
                "cwd": "/home/noor/app",
                "sessionId": session,
                "version": "2.1.40",
                "gitBranch": "main",
                "type": kind,
                "uuid": f"{session[:8]}-{number}",
                "timestamp": iso(at),
                **more,
            }
        )

    def said(content: Any, **more: Any) -> None:
        put("user", message={"role": "user", "content": content}, **more)

    for index, entry in enumerate(entries, 1):
        if isinstance(entry, Step):
            at += entry.seconds
            fresh, cached, output = split(entry.tokens)
            usage = {
                "input_tokens": fresh,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": cached,
                "output_tokens": output,
            }
            blocks: list[Line] = [{"type": "text", "text": entry.text}] if entry.text else []
            calls = [(c.id or f"toolu_{session[:4]}{next(numbers):04d}", c) for c in entry.calls]
            for ident, call in calls:
                block = {"type": "tool_use", "id": ident, "name": call.verb, "input": call.args}
                blocks.append(block)
            for block in blocks:  # one line for each block, the usage on each
                message = {
                    "id": f"msg_{session[:4]}{index:04d}",
                    "type": "message",
                    "role": "assistant",
                    "model": entry.model or "claude-sonnet-4-5-20250929",
                    "content": [block],
                    "stop_reason": "tool_use" if calls else "end_turn",
                    "usage": usage,
                }
                put("assistant", message=message, requestId=f"req_{session[:4]}{index:04d}")
            for ident, call in calls:
                if call.result is None:
                    continue
                answer = {"tool_use_id": ident, "type": "tool_result", "content": call.result}
                if call.error or call.ended:
                    answer["is_error"] = True
                said([answer], toolUseResult=str(call.result))
        elif entry.kind == "user":
            said(entry.text)
        elif entry.kind == "hook":
            said(f"Stop hook feedback:\n[~/hooks/stop.sh]: {entry.text}", isMeta=True)
        elif entry.kind == "interrupt":
            said([{"type": "text", "text": "[Request interrupted by user]"}])
        elif entry.kind == "compaction":
            facts = {"trigger": "auto", "preTokens": 155_000}
            put("system", subtype="compact_boundary", content="Compacted", compactMetadata=facts)
            told = f"This session is being continued from a previous conversation. {entry.text}"
            said(told, isCompactSummary=True, isVisibleInTranscriptOnly=True)
        elif entry.kind == "attempt":
            error = {"status": entry.status, "error": {"type": "overloaded_error"}}
            put("system", subtype="api_error", error=error, retryInMs=500, retryAttempt=1)
    return lines


def _codex(entries: Sequence[Entry], session: str) -> list[Line]:
    lines: list[Line] = []
    at, numbers = START, count(1)
    total = [0, 0, 0]

    def put(line_type: str, **payload: Any) -> None:
        lines.append({"timestamp": iso(at), "type": line_type, "payload": payload})

    def spent(tokens: int) -> None:
        """The counter, told twice: after the response, and when rate limits are refreshed."""
        fresh, cached, output = split(tokens)
        last = (fresh + cached, cached, output)
        total[:] = [a + b for a, b in zip(total, last, strict=True)]
        info = {
            name: {
                "input_tokens": row[0],
                "cached_input_tokens": row[1],
                "output_tokens": row[2],
                "reasoning_output_tokens": 0,
                "total_tokens": row[0] + row[2],
            }
            for name, row in (("total_token_usage", total), ("last_token_usage", last))
        }
        for percent in (4.0, 4.1):
            limits = {"primary": {"used_percent": percent}}
            put("event_msg", type="token_count", info=info, rate_limits=limits)

    def said(text: str) -> None:
        part = {"type": "input_text", "text": text}
        put("response_item", type="message", role="user", content=[part])

    put(
        "session_meta",
        id=session,
        timestamp=iso(at),
        cwd="/home/noor/app",
        originator="codex_cli_rs",
        cli_version="0.148.0",
        source="cli",
        model_provider="openai",
    )
    put("turn_context", cwd="/home/noor/app", model="gpt-5-codex", approval_policy="never")
    said("<environment_context>\n<cwd>/home/noor/app</cwd>\n</environment_context>")
    for entry in entries:
        if isinstance(entry, Step):
            at += entry.seconds
            put("response_item", type="reasoning", summary=[], encrypted_content="gAAAAAB")
            if entry.text:
                part = {"type": "output_text", "text": entry.text}
                put("response_item", type="message", role="assistant", content=[part])
                put("event_msg", type="agent_message", message=entry.text)
            calls = [(c.id or f"call_{session[:4]}{next(numbers):04d}", c) for c in entry.calls]
            for ident, call in calls:
                if isinstance(call.args, str):
                    more = {"type": "custom_tool_call", "input": call.args, "status": "completed"}
                else:
                    more = {"type": "function_call", "arguments": json.dumps(call.args)}
                put("response_item", name=call.verb, call_id=ident, **more)
            spent(entry.tokens)
            for ident, call in calls:
                if call.result is not None:
                    custom = "custom_tool" if isinstance(call.args, str) else "function"
                    answer = {"type": f"{custom}_call_output", "call_id": ident}
                    put("response_item", output=call.result, **answer)
        elif entry.kind == "user":
            said(entry.text)
            put("event_msg", type="user_message", message=entry.text, kind="plain")
        elif entry.kind == "hook":
            said(f'<hook_prompt hook_run_id="h1">{entry.text}</hook_prompt>')
        elif entry.kind == "interrupt":
            put("event_msg", type="turn_aborted", reason="interrupted")
        elif entry.kind == "compaction":
            at += 10
            spent(entry.tokens)
            put("compacted", message=entry.text, replacement_history=[])
            put("event_msg", type="context_compacted")
        elif entry.kind == "attempt":
            message = f"Reconnecting... 1/5 (unexpected status {entry.status})"
            put("event_msg", type="stream_error", message=message)
    return lines


def _messages(entries: Sequence[Entry]) -> list[tuple[Line, Step | None]]:
    """Chat messages of the OpenAI kind, assistant messages with their step."""
    numbers = count(1)
    found: list[tuple[Line, Step | None]] = [
        ({"role": "system", "content": "You are a careful engineer."}, None)
    ]
    for entry in entries:
        if isinstance(entry, Event):
            if entry.kind == "user":
                found.append(({"role": "user", "content": entry.text}, None))
            continue
        message: Line = {"role": "assistant", "content": entry.text}
        calls = [(c.id or f"call_{next(numbers):04d}", c) for c in entry.calls]
        if calls:
            message["tool_calls"] = [
                {
                    "id": ident,
                    "type": "function",
                    "function": {"name": c.verb, "arguments": json.dumps(c.args)},
                }
                for ident, c in calls
            ]
        found.append((message, entry))
        for ident, call in calls:
            if call.result is not None:
                answer = {"role": "tool", "tool_call_id": ident, "content": _text(call.result)}
                found.append((answer, None))
    return found


def _text(result: Any) -> str:
    return result if isinstance(result, str) else json.dumps(result)


def _chat(entries: Sequence[Entry], session: str) -> list[Line]:
    return [message for message, _ in _messages(entries)]


def _http(entries: Sequence[Entry], session: str) -> list[Line]:
    """Requests with the whole history, and their responses."""
    lines: list[Line] = []
    history: list[Line] = []
    at = START

    def put(status: int, response: Line) -> None:
        lines.append(
            {
                "url": "https://api.openai.com/v1/chat/completions",
                "method": "POST",
                "time": iso(at),
                "request": {"model": "gpt-5-mini", "messages": list(history)},
                "status": status,
                "response": response,
            }
        )

    failures = [e for e in entries if isinstance(e, Event) and e.kind == "attempt"]
    for message, entry in _messages(entries):
        if entry is not None:
            for failure in failures:
                error = {"message": failure.text, "type": "overloaded_error"}
                put(failure.status or 500, {"error": error})
            failures = []
            at += entry.seconds
            fresh, cached, output = split(entry.tokens)
            usage = {
                "prompt_tokens": fresh + cached,
                "prompt_tokens_details": {"cached_tokens": cached},
                "completion_tokens": output,
                "total_tokens": entry.tokens,
            }
            finish = "tool_calls" if entry.calls else "stop"
            put(
                200,
                {
                    "id": f"chatcmpl-{len(lines):04d}",
                    "object": "chat.completion",
                    "created": int(at),
                    "model": entry.model or "gpt-5-mini-2025-08-07",
                    "choices": [{"index": 0, "message": message, "finish_reason": finish}],
                    "usage": usage,
                },
            )
        history.append(message)
    if history[-1]["role"] == "tool":  # what the last calls brought stands in the next request
        put(500, {"error": {"message": "the agent was closed", "type": "server_error"}})
    return lines


def _anthropic(entries: Sequence[Entry], session: str) -> list[Line]:
    lines: list[Line] = []
    numbers = count(1)
    for index, entry in enumerate(entries, 1):
        if isinstance(entry, Event):
            if entry.kind == "user":
                lines.append({"role": "user", "content": entry.text})
            continue
        calls = [(c.id or f"toolu_{next(numbers):04d}", c) for c in entry.calls]
        content: list[Line] = [{"type": "text", "text": entry.text}] if entry.text else []
        for ident, c in calls:
            content.append({"type": "tool_use", "id": ident, "name": c.verb, "input": c.args})
        fresh, cached, output = split(entry.tokens)
        lines.append(
            {
                "id": f"msg_{index:04d}",
                "type": "message",
                "role": "assistant",
                "model": entry.model or "claude-sonnet-4-5-20250929",
                "content": content,
                "stop_reason": "tool_use" if calls else "end_turn",
                "usage": {
                    "input_tokens": fresh,
                    "cache_read_input_tokens": cached,
                    "cache_creation_input_tokens": 0,
                    "output_tokens": output,
                },
            }
        )
        results = [
            {
                "type": "tool_result",
                "tool_use_id": ident,
                "content": _text(c.result),
                **({"is_error": True} if c.error or c.ended else {}),
            }
            for ident, c in calls
            if c.result is not None
        ]
        if results:
            lines.append({"role": "user", "content": results})
    return lines


WRITERS: dict[str, Callable[[Sequence[Entry], str], list[Line]]] = {
    "loopaudit": _native,
    "claude_code": _claude,
    "codex": _codex,
    "openai_chat": _chat,
    "anthropic_messages": _anthropic,
    "http_log": _http,
}


# -- the program ----------------------------------------------------------------------------------


def put(path: Path, lines: Iterable[Line]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    path.write_text(text, encoding="utf-8")
    return path


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


def command(*arguments: str | Path) -> Ended:
    """The real program in this process."""
    out, err = io.StringIO(), io.StringIO()
    code: Any = None
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main([str(a) for a in arguments])
        except SystemExit as end:
            code = end.code
    return Ended(int(code or 0), out.getvalue(), err.getvalue())


def report(*paths: Path, options: Sequence[str] = ()) -> dict[str, Any]:
    """The JSON report over logs."""
    ended = command("report", *paths, "--format", "json", "--processes", "1", *options)
    assert ended.code in (0, 3), ended.err
    found: dict[str, Any] = json.loads(ended.out)
    assert found["failures"] == []
    return found


def told(tmp_path: Path, format_name: str, entries: Sequence[Entry]) -> dict[str, Any]:
    """The report on one situation in one format. Nothing of the log may be lost."""
    names = {
        "claude_code": f"-home-noor-app/{SESSION}.jsonl",
        "codex": f"rollout-2026-05-01T10-00-00-{SESSION}.jsonl",
    }
    path = put(tmp_path / names.get(format_name, "log.jsonl"), spelled(format_name, entries))
    found = report(path)
    assert [i["format"] for i in found["inputs"]] == [format_name]
    assert found["skips"] == []
    return found


# -- what is expected -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Expect:
    """A finding. `waste` are its charged steps; `tokens` their sum."""

    rule: str
    first: int
    onset: int
    waste: tuple[int, ...]
    tokens: int
    retryable: str
    ended: str = "end_of_log"
    period: int | None = None
    occurrences: int | None = None
    reason: str | None = None  # words that one of the reasons holds


def seen(finding: dict[str, Any]) -> dict[str, Any]:
    """A finding of the JSON report in the terms of `Expect`."""
    return {
        "rule": finding["rule"],
        "first": finding["first_seen"]["step"] + 1,
        "onset": finding["onset"]["step"] + 1,
        "waste": tuple(e["step"] + 1 for e in finding["waste"]["steps"]),
        "tokens": finding["waste"]["tokens"],
        "retryable": finding["retryable"],
        "ended": finding["ended_by"],
    }


def check(
    found: dict[str, Any],
    format_name: str,
    expect: Expect | None,
    total: int,
    kinds: Iterable[str] = (),
    calm: bool = True,
) -> None:
    """Compare a report with what is expected of it, exactly."""
    lacks = LACKS[format_name]
    assert found["totals"]["tokens"]["total"] == (None if "usage" in lacks else total)
    missing = set(kinds) - {near["kind"] for near in found["not_loops"]}
    assert not missing, (missing, found["not_loops"])
    if expect is None:
        assert found["findings"] == []
        stops = [v for g in found["guards"] for v in g["verdicts"] if v["level"] == "stop"]
        assert stops == [] or not calm
        return
    assert len(found["findings"]) == 1, found["findings"]
    (finding,) = found["findings"]
    ended = "end_of_log" if expect.ended == "user" and "interrupt" in lacks else expect.ended
    assert seen(finding) == {
        "rule": expect.rule,
        "first": expect.first,
        "onset": expect.onset,
        "waste": expect.waste,
        "tokens": None if "usage" in lacks else expect.tokens,
        "retryable": expect.retryable,
        "ended": ended,
    }
    if expect.period:
        assert finding["period"] == expect.period
    if expect.occurrences:
        assert finding["occurrences"] == expect.occurrences
    if expect.reason:
        assert expect.reason in " ".join(finding["reasons"])
