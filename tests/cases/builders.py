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
from pathlib import Path
from typing import Any

from dialects import DIALECTS, Call
from writers import WRITERS, Entry, Event, Line, Step

from loopaudit.__main__ import main

SESSION = "5d0c7a1e-3b52-4f0e-9a66-0f5f3c2b1a00"


# -- situations -----------------------------------------------------------------------------------


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

REQUESTS = {
    "hook": "a hook's text is a user message like any other",
    "compaction": "a shortened history is another conversation",
    "interrupt": "a conversation just ends",
}
#: what a format cannot tell, and why; such situations are not tried in it, or tried without it
LACKS: dict[str, dict[str, str]] = {
    "loopaudit": {},
    "claude_code": {"compaction tokens": "the line of a compaction does not tell what it cost"},
    "codex": {},
    "codex shell": {},
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
    "http_log": REQUESTS,
    "http_log responses": REQUESTS,
    "http_log gemini": REQUESTS,
    "vercel_ai": {"usage": "messages hold no usage", "attempt": "nor failed requests", **REQUESTS},
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
    names["codex shell"] = names["codex"]
    path = put(tmp_path / names.get(format_name, "log.jsonl"), spelled(format_name, entries))
    found = report(path)
    assert [i["format"] for i in found["inputs"]] == [format_name.split()[0]]
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
    ended: str = "end_of_log"  # "interrupt": by the user, where the format tells it
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
    ended = expect.ended
    if ended == "interrupt":
        ended = "end_of_log" if "interrupt" in lacks else "user"
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
