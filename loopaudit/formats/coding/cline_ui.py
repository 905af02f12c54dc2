"""What the user of a Cline-like agent saw: requests with usage, tools, commands, errors."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, TypeGuard

from loopaudit.formats.coding.outputs import ended
from loopaudit.formats.coding.sessions import load
from loopaudit.formats.shapes import Json, count, dollars, name, number, seconds, table, words
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
    StepKind,
    Usage,
)

_STATUS = re.compile(r"\b([45]\d\d)\b")
_PEOPLE = frozenset(("task", "user_feedback", "user_feedback_diff"))


class Ui:
    """Collects the messages of one task; nothing is told before the last is read."""

    def __init__(self, run: str) -> None:
        self.run = run
        self._pieces: list[Piece] = []
        self._step: ResponsePiece | None = None
        self._command: ResultPiece | None = None  # output that is still coming
        self._seen: set[str] = set()  # tools of the step, which are asked and said

    def alone(self) -> list[Piece]:
        """All that the interface shows: calls, of which only commands and MCP have results."""
        return self._pieces

    def with_calls(self, told: list[Piece]) -> list[Piece] | None:
        """The requests with the calls and results of the conversation, response by response; None
        where they do not fit together. A request that got no answer may be missing there."""
        asked = [p for p in self._pieces if _is_request(p)]
        answers = _by_response(told)
        if len(asked) != len(answers):
            asked = [p for p in asked if p.usage is not None]
        if not answers or len(asked) != len(answers):
            return None
        paired = {id(piece) for piece in asked}
        rest = iter(answers)
        pieces: list[Piece] = []
        for piece in self._pieces:
            if isinstance(piece, ResultPiece):
                continue
            if isinstance(piece, ResponsePiece) and id(piece) in paired:
                answer, results = next(rest)
                calls = tuple(
                    replace(c, at=piece.ended or piece.at, line=piece.line) for c in answer.calls
                )
                pieces.append(
                    replace(
                        piece,
                        calls=calls,
                        text=answer.text or piece.text,
                        usage=piece.usage or answer.usage,
                        model=piece.model or answer.model,
                    )
                )
                pieces += [replace(r, line=piece.line, at=r.at) for r in results]
            else:
                pieces.append(piece)
        return pieces

    def read(self, line: int, item: Json) -> None:
        at = seconds(item.get("ts"))
        kind = words(item.get("say")) or words(item.get("ask")) or ""
        text = words(item.get("text"))
        if item.get("partial") is True:
            return
        if kind != "command_output":
            self._command = None
        if kind == "api_req_started":
            self._request(line, at, item, load(text))
        elif kind in ("text", "completion_result") and self._step is not None:
            if text and text not in (self._step.text or ""):
                self._step.text = f"{self._step.text}\n{text}" if self._step.text else text
                self._step.ended = at
            if kind == "completion_result":
                self._outcome(line, kind)
        elif kind == "reasoning" and self._step is not None:
            self._step.thinking_chars += len(text or "")
        elif kind in _PEOPLE:
            self._pieces.append(BoundaryPiece(self.run, line, BoundaryKind.USER, at, text))
        elif kind in ("tool", "command", "use_mcp_server", "browser_action"):
            self._call(line, at, kind, text, load(text))
        elif kind in ("command_output", "mcp_server_response"):
            self._output(line, at, kind, text)
        else:
            self._event(line, at, kind, text, load(text))

    def _request(self, line: int, at: float | None, item: Json, facts: Any) -> None:
        facts = facts if isinstance(facts, dict) else {}
        if self._step is not None and at is not None and self._step.at == at:
            self._step.usage = _usage(facts) or self._step.usage  # told again when it has ended
            self._step.cost = dollars(facts.get("cost")) or self._step.cost
            return
        self._seen = set()
        usage = _usage(facts)
        info = table(item, "modelInfo")
        self._step = ResponsePiece(
            self.run,
            line,
            at=at,
            model=name(info.get("modelId")),
            usage=usage,
            cost=dollars(facts.get("cost")) or None,
            service=name(info.get("providerId")),
        )
        self._pieces.append(self._step)
        status = table(facts, "retryStatus")
        if status:
            self._pieces.insert(-1, self._retry(line, at, status))
        if facts.get("cancelReason") == "user_cancelled":
            self._pieces.append(BoundaryPiece(self.run, line, BoundaryKind.INTERRUPT, at))
        elif facts.get("cancelReason"):
            said = words(facts.get("streamingFailedMessage"))
            self._pieces.append(_failure(self.run, line, at, said, gave_up=False))

    def _call(self, line: int, at: float | None, kind: str, text: str | None, facts: Any) -> None:
        step = self._step
        if step is None or text is None or text in self._seen:
            return
        self._seen.add(text)
        if kind == "command":
            call = CallPiece(None, "execute_command", {"command": text}, at, line)
        elif not isinstance(facts, dict):
            call = CallPiece(None, kind, text, at, line)
        elif kind == "use_mcp_server":
            server, tool = name(facts.get("serverName")), name(facts.get("toolName"))
            called = f"{server}.{tool}" if tool else "access_mcp_resource"
            call = CallPiece(None, called, load(facts.get("arguments")), at, line)
        else:
            given = {k: v for k, v in facts.items() if k not in ("tool", "id", "content")}
            if facts.get("tool") in ("newFileCreated", "editedExistingFile"):
                given["content"] = facts.get("content", facts.get("diff"))
            call = CallPiece(None, name(facts.get("tool")) or kind, given, at, line)
        step.calls = (*step.calls, call)

    def _output(self, line: int, at: float | None, kind: str, text: str | None) -> None:
        if self._step is None or not self._step.calls:
            return
        if self._command is not None:  # commands print in pieces
            self._command.text = f"{self._command.text}\n{text or ''}"
            self._command.at = at
            self._command.status, self._command.exit_code = ended(self._command.text)
            return
        tool = "execute_command" if kind == "command_output" else self._step.calls[-1].tool
        status, code = ended(text or "")
        result = ResultPiece(self.run, line, None, text or "", at, status, tool, exit_code=code)
        self._pieces.append(result)
        if kind == "command_output":
            self._command = result

    def _event(self, line: int, at: float | None, kind: str, text: str | None, facts: Any) -> None:
        run = self.run
        if kind == "error_retry" and isinstance(facts, dict):
            self._pieces.append(self._retry(line, at, facts))
        elif kind == "api_req_failed":
            self._pieces.append(_failure(run, line, at, text, gave_up=True))
        elif kind == "api_req_retry_delayed":
            self._pieces.append(_failure(run, line, at, text, gave_up=False))
        elif kind == "mistake_limit_reached":
            self._pieces.append(BoundaryPiece(run, line, BoundaryKind.GUARD, at, text))
        elif kind in ("resume_task", "resume_completed_task"):
            self._pieces.append(BoundaryPiece(run, line, BoundaryKind.RESUME, at))
        elif kind in ("api_req_deleted", "deleted_api_reqs"):  # sums of messages that are gone
            usage = _usage(facts)
            cost = dollars(facts.get("cost")) if isinstance(facts, dict) else None
            if usage is not None or cost:
                step = ResponsePiece(run, line, at=at, usage=usage, cost=cost or None)
                step.kind = StepKind.COMPACTION  # spent, but no step that can be counted
                self._pieces.append(step)
        elif kind in ("condense_context", "summarize_task"):
            cost = dollars(facts.get("cost")) if isinstance(facts, dict) else None
            if cost:
                self._pieces.append(
                    ResponsePiece(run, line, at=at, cost=cost, kind=StepKind.COMPACTION)
                )
            self._pieces.append(BoundaryPiece(run, line, BoundaryKind.COMPACTION, at))
        elif kind in ("diff_error", "error") and self._step is not None and self._step.calls:
            self._pieces.append(ResultPiece(run, line, None, text or "", at, CallStatus.ERROR))

    def _outcome(self, line: int, kind: str) -> None:
        source = "completion_result message"
        self._pieces.append(RunPiece(self.run, line, outcome=kind, outcome_source=source))

    def _retry(self, line: int, at: float | None, facts: Json) -> AttemptPiece:
        said = words(facts.get("errorMessage", facts.get("errorSnippet")))
        piece = _failure(self.run, line, at, said, gave_up=facts.get("failed") is True)
        piece.number, piece.limit = count(facts.get("attempt")), count(facts.get("maxAttempts"))
        piece.wait = number(facts.get("delaySeconds", facts.get("delaySec")))
        return piece


def _failure(
    run: str, line: int, at: float | None, said: str | None, *, gave_up: bool
) -> AttemptPiece:
    status = _STATUS.search((said or "")[:80])
    return AttemptPiece(
        run,
        line,
        at,
        http_status=int(status.group(1)) if status else None,
        message=said,
        gave_up=gave_up,
        layer="cline",
    )


def _usage(facts: Any) -> Usage | None:
    return named_usage(
        facts, fresh="tokensIn", read="cacheReads", write="cacheWrites", output="tokensOut"
    )


def _is_request(piece: Piece) -> TypeGuard[ResponsePiece]:
    return isinstance(piece, ResponsePiece) and piece.kind is StepKind.MODEL


def _by_response(told: list[Piece]) -> list[tuple[ResponsePiece, list[ResultPiece]]]:
    found: list[tuple[ResponsePiece, list[ResultPiece]]] = []
    for piece in told:
        if isinstance(piece, ResponsePiece):
            found.append((piece, []))
        elif isinstance(piece, ResultPiece) and found:
            found[-1][1].append(piece)
    return found
