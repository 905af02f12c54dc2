"""Group talks as text: who said what, in order; what others ask of a speaker are its calls.

Two kinds share this: an orchestrator that hands out work ("Orchestrator (-> WebSurfer)"), as
Magentic-One and hand-made logs of it have it, and experts of which one runs the code that stands in
the message before (AutoGen's group chats).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from loopaudit.formats.text_actions import fenced
from loopaudit.formats.tool_messages import status_of
from loopaudit.model import (
    BoundaryKind,
    BoundaryPiece,
    CallPiece,
    CallStatus,
    Piece,
    ResponsePiece,
    ResultPiece,
)

_ASKS = re.compile(r"(?P<who>[\w ]{1,60}) \(-> (?P<whom>[^)]{1,60})\)\Z")
_THINKS = re.compile(r"[\w ]{1,60} \(thought\)\Z")
_ENDS = re.compile(r"[\w ]{1,60} \(termination condition\)\Z")
_CODE_LANGUAGES = ("python", "py", "sh", "bash", "shell", "")
_EXIT = re.compile(r"\s*exitcode: (-?\d{1,6})\b")
_USERS = frozenset(("human", "user"))

#: line, speaker, text
Turn = tuple[int, str, str]


def is_orchestrated(speakers: Iterable[str]) -> bool:
    return any(_ASKS.match(speaker) or _THINKS.match(speaker) for speaker in speakers)


def orchestrated(turns: Sequence[Turn]) -> Iterable[Piece]:
    """Pieces of an orchestrator's talk; run still empty.

    A thought and the request that follows from it are one response of the orchestrator. What the
    one who was asked says is the result. Lines such as "Next speaker …" are the harness's.
    """
    response = 0
    thinking = False  # the response is open for its request
    open_for: str | None = None
    for line, speaker, text in turns:
        asks = _ASKS.match(speaker)
        if speaker in _USERS:
            yield BoundaryPiece("", line, BoundaryKind.USER, text=text)
        elif asks:
            response += not thinking
            thinking, open_for = False, asks.group("whom")
            call = CallPiece(f"ask {response}", open_for, text)
            yield ResponsePiece("", line, id=f"turn {response}", calls=(call,))
        elif _THINKS.match(speaker):
            if text.startswith(("Next speaker", "Request satisfied", "Stalled", "Initiating")):
                continue
            response, thinking = response + 1, True
            yield ResponsePiece("", line, id=f"turn {response}", text=text)
        elif _ENDS.match(speaker):
            if "max" in text[:200].lower():
                yield BoundaryPiece("", line, BoundaryKind.LIMIT, text=text)
        elif speaker == open_for:
            open_for = None
            yield ResultPiece("", line, f"ask {response}", text, status=status_of(text))
        else:  # speaks without being asked
            response, thinking = response + 1, False
            yield ResponsePiece("", line, id=f"turn {response}", text=text)


def group_talk(turns: Sequence[Turn], executor: str = "Computer_terminal") -> Iterable[Piece]:
    """Pieces of a talk of experts; run still empty. The first message is the task."""
    for index, (line, speaker, text) in enumerate(turns):
        if index == 0 or speaker in _USERS:
            yield BoundaryPiece("", line, BoundaryKind.USER, text=text)
        elif speaker == executor:
            if index and code_in(turns[index - 1][2]):
                told = _EXIT.match(text)
                code = int(told.group(1)) if told else None
                status = CallStatus.ERROR if code else CallStatus.OK
                status = status_of(text) if code is None else status
                yield ResultPiece("", line, None, text, status=status, exit_code=code)
            else:
                yield BoundaryPiece("", line, BoundaryKind.REMINDER, text=text)
        else:
            ran = index + 1 < len(turns) and turns[index + 1][1] == executor
            code_text = code_in(text) if ran else ""
            call = (CallPiece(None, executor, {"code": code_text}),) if code_text else ()
            yield ResponsePiece("", line, text=text, calls=call)


def code_in(text: str) -> str:
    """The code that an executor would run: all its blocks, in order."""
    return "\n\n".join(fenced(text, *_CODE_LANGUAGES))
