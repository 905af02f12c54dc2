"""Takes secrets and personal strings out of pieces; what was equal stays equal.

Each distinct string gets a placeholder with a number (`<email-1>`), the same wherever it stands:
calls and results that were the same are the same afterwards, and those that differed differ. What
is found: keys and tokens of well-known services by their form, values after words such as
`password`, private keys, sign-in parts of addresses, e-mail addresses, user names in home folders,
public IP addresses, numbers of phones, cards, accounts and identity cards; of the run its user and
host (`forms`). A form that nobody listed is not found: look before you share.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from loopaudit.convert.forms import FORMS, HINT, is_harmless
from loopaudit.model import (
    AttemptPiece,
    BoundaryPiece,
    Piece,
    ResponsePiece,
    ResultPiece,
    RunPiece,
)

_NAMED = re.compile(
    r"(?:^|[_.-])(?:password|passwd|pwd|secret|token|api_?key|access_?key|private_?key"
    r"|authorization|credentials?|cookie)s?$",
    re.IGNORECASE,
)
_DEEPEST = 200
#: what may hold words of a person or a program; ids too, which some servers make of what was given
_TEXTS: dict[type, tuple[str, ...]] = {
    ResponsePiece: ("run", "id", "text", "finish", "same_step_as"),
    ResultPiece: ("run", "call_id", "tool", "code"),
    AttemptPiece: ("run", "message", "code"),
    BoundaryPiece: ("run", "text"),
}
_OF_RUN = (
    *("run", "session", "parent", "parent_call", "agent", "task_type", "project", "prompt"),
    *("forked_from", "outcome", "outcome_source", "version"),
)


class Redactor:
    """Redacts values one after the other, and counts what it took out, by kind."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}  # distinct strings
        self._names: dict[tuple[str, str], str] = {}

    def text(self, text: str) -> str:
        if HINT.search(text) is None:
            return text
        for kind, pattern in FORMS:
            text = pattern.sub(lambda match, kind=kind: self._replaced(kind, match), text)  # type: ignore[misc]
        return text

    def value(self, value: Any, depth: int = 0) -> Any:
        """Texts and keys of any JSON value; under a key such as `password` the whole value."""
        if isinstance(value, str):
            return self.text(value)
        if depth > _DEEPEST and isinstance(value, list | dict):
            return "<nested too deep to redact>"
        if isinstance(value, list):
            return [self.value(item, depth + 1) for item in value]
        if not isinstance(value, dict):
            return value
        out = {}
        for key, inner in value.items():
            named = isinstance(key, str) and _NAMED.search(key) is not None
            if named and isinstance(inner, str) and inner:
                out[key] = self._name("secret", inner)
            else:
                clean = self.text(key) if isinstance(key, str) else key
                out[clean] = self.value(inner, depth + 1)
        return out

    def piece(self, piece: Piece) -> Piece:
        """The piece without what it should not tell."""
        if isinstance(piece, RunPiece):
            return self._run(piece)
        changed: dict[str, Any] = self._texts(piece, _TEXTS[type(piece)])
        if isinstance(piece, ResponsePiece):
            changed["calls"] = tuple(
                replace(call, args=self.value(call.args), **self._texts(call, ("id", "tool")))
                for call in piece.calls
            )
        elif isinstance(piece, ResultPiece):
            changed["text"] = self.value(piece.text)
        return replace(piece, **changed)

    def _texts(self, piece: Any, names: tuple[str, ...]) -> dict[str, Any]:
        return {name: self._some(getattr(piece, name)) for name in names}

    def _run(self, piece: RunPiece) -> RunPiece:
        changed: dict[str, Any] = self._texts(piece, _OF_RUN)
        for name in ("user", "host"):
            value = getattr(piece, name)
            changed[name] = None if value is None else self._name(name, value)
        metadata = None if piece.metadata is None else self.value(dict(piece.metadata))
        return replace(piece, metadata=metadata, **changed)

    def _some(self, text: str | None) -> str | None:
        return None if text is None else self.text(text)

    def _replaced(self, kind: str, match: re.Match[str]) -> str:
        group = match.lastindex or 0
        found = match[group]
        if is_harmless(kind, found):
            return match[0]
        start, end = match.span(group)
        whole, offset = match[0], match.start()
        return whole[: start - offset] + self._name(kind, found) + whole[end - offset :]

    def _name(self, kind: str, found: str) -> str:
        known = self._names.get((kind, found))
        if known is None:
            number = self.counts[kind] = self.counts.get(kind, 0) + 1
            known = self._names[kind, found] = f"<{kind}-{number}>"
        return known
