"""Takes secrets and personal strings out of pieces; what was equal stays equal.

Each distinct string gets a placeholder with a number (`<email-1>`), the same wherever it stands:
calls and results that were the same are the same afterwards, and those that differed differ. What
is found: keys and tokens of well-known services by their form, values after words such as
`password`, private keys, sign-in parts of addresses, e-mail addresses, user names in home folders,
public IP addresses, phone and card numbers; of the run its user and host. A form that nobody listed
is not found: look before you share.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from loopaudit.model import (
    AttemptPiece,
    BoundaryPiece,
    Piece,
    ResponsePiece,
    ResultPiece,
    RunPiece,
)

#: kind -> pattern; group 1, where there is one, is what is taken out
_FORMS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern, re.DOTALL | flags))
    for kind, pattern, flags in (
        (
            "private-key",
            r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
            0,
        ),
        (
            "secret",
            r"\b(?:sk|pk|rk)[-_](?:ant-|proj-|live_|test_|or-v1-|svcacct-|lf-)?[A-Za-z0-9_-]{16,}"
            r"|\bgh[pousr]_[A-Za-z0-9]{30,}|\bgithub_pat_[A-Za-z0-9_]{30,}|\bglpat-[A-Za-z0-9_-]{18,}"
            r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[A-Za-z0-9_-]{35}|\bya29\.[A-Za-z0-9_-]{20,}"
            r"|\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bhf_[A-Za-z0-9]{30,}|\bnpm_[A-Za-z0-9]{36}"
            r"|\bpypi-[A-Za-z0-9_-]{40,}|\bdop_v1_[a-f0-9]{40,}|\blsv2_[a-z]{2}_[A-Za-z0-9_]{20,}"
            r"|\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|\bgsk_[A-Za-z0-9]{40,}"
            r"|\bxai-[A-Za-z0-9]{40,}|\btvly-[A-Za-z0-9-]{20,}|\bpplx-[A-Za-z0-9]{40,}"
            r"|\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*)?",
            0,
        ),
        ("secret", r"\b(?:Bearer|Basic|Token)\s+([A-Za-z0-9+/=._~-]{12,})", re.IGNORECASE),
        ("secret", r"[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{0,80}:([^\s/:@]{1,200})@", re.IGNORECASE),
        (
            "secret",
            r"(?:password|passwd|pwd|secret|api[_-]?key|access[_-]?key|auth[_-]?token"
            r"|access[_-]?token|refresh[_-]?token|client[_-]?secret|private[_-]?key|credential)s?"
            r"[\"']?\s{0,3}[=:]\s{0,3}[\"']?([^\s\"',;&<>]{6,200})",
            re.IGNORECASE,
        ),
        (
            "email",
            r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}"
            r"(?:\.[A-Za-z0-9-]{1,63}){0,4}\.[A-Za-z]{2,24}\b",
            0,
        ),
        (
            "user",
            r"(?:/home/|/Users/|[A-Za-z]:(?:\\\\?|/)Users(?:\\\\?|/))([^\s/\\\"':;,<>|]{1,64})",
            0,
        ),
        ("user", r"(?<![A-Za-z0-9])-(?:home|Users)-([A-Za-z0-9_]{1,64})(?=-)", 0),
        ("card", r"(?<![0-9-])(?:[0-9]{4}[ -]){3}[0-9]{4}(?![0-9-])", 0),
        (
            "phone",
            r"(?<![0-9A-Za-z+])\+[1-9][0-9]{0,2}[ ()-]{0,3}[0-9](?:[ ()-]{0,2}[0-9]){6,12}",
            0,
        ),
        ("address", r"(?<![0-9.])(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?![0-9.])", 0),
    )
)
#: a text without any of these holds nothing to find; in lower case
_HINTS = (
    *(
        "-----begin",
        "sk-",
        "sk_",
        "pk-",
        "pk_",
        "rk_",
        "gh",
        "glpat",
        "akia",
        "asia",
        "aiza",
        "ya29",
    ),
    *("xox", "hf_", "npm_", "pypi-", "dop_", "lsv2", "sg.", "gsk_", "xai-", "tvly", "pplx", "eyj"),
    *("bearer", "basic", "token", "://", "passw", "pwd", "secret", "key", "credential", "@"),
    *("/home/", "users", "-home-", "+"),
)
_NUMBERS = re.compile(r"[0-9]{1,4}[ .-][0-9]{1,4}[ .-][0-9]")
_NAMED = re.compile(
    r"(?:^|[_.-])(?:password|passwd|pwd|secret|token|api_?key|access_?key|private_?key"
    r"|authorization|credentials?|cookie)s?$",
    re.IGNORECASE,
)
_COMMON = frozenset(("user", "users", "root", "app", "runner", "ubuntu", "shared", "public", "..."))
_DEEPEST = 200


class Redactor:
    """Redacts values one after the other, and counts what it took out, by kind."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}  # distinct strings
        self._names: dict[tuple[str, str], str] = {}

    def text(self, text: str) -> str:
        lower = text.lower()
        if not any(hint in lower for hint in _HINTS) and not _NUMBERS.search(text):
            return text
        for kind, pattern in _FORMS:
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
        if isinstance(piece, ResponsePiece):
            calls = tuple(replace(call, args=self.value(call.args)) for call in piece.calls)
            return replace(
                piece, run=self.text(piece.run), text=self._some(piece.text), calls=calls
            )
        if isinstance(piece, ResultPiece):
            return replace(piece, run=self.text(piece.run), text=self.value(piece.text))
        if isinstance(piece, AttemptPiece):
            return replace(piece, run=self.text(piece.run), message=self._some(piece.message))
        if isinstance(piece, BoundaryPiece):
            return replace(piece, run=self.text(piece.run), text=self._some(piece.text))
        return self._run(piece)

    def _run(self, piece: RunPiece) -> RunPiece:
        names = ("run", "session", "parent", "agent", "project", "prompt", "forked_from", "outcome")
        changed = {name: self._some(getattr(piece, name)) for name in names}
        for name in ("user", "host"):
            value = getattr(piece, name)
            changed[name] = None if value is None else self._name(name, value)
        metadata = None if piece.metadata is None else self.value(dict(piece.metadata))
        return replace(piece, metadata=metadata, **changed)  # type: ignore[arg-type]

    def _some(self, text: str | None) -> str | None:
        return None if text is None else self.text(text)

    def _replaced(self, kind: str, match: re.Match[str]) -> str:
        group = 1 if match.re.groups else 0
        found = match[group]
        if _is_harmless(kind, found):
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


def _is_harmless(kind: str, found: str) -> bool:
    """Whether what has the form of something private is none: placeholders, local addresses."""
    if found.startswith("<") or (found and not found.strip("*•xX.")):
        return True
    if kind == "user":
        return found.lower() in _COMMON or found.startswith(("$", "{", "%", "~"))
    if kind == "address":
        parts = [int(part) for part in found.split(".")]
        return (
            max(parts) > 255
            or parts[0] in (0, 10, 127)
            or parts[:2] == [192, 168]
            or (parts[0] == 172 and 16 <= parts[1] < 32)
        )
    if kind == "email":
        return found.lower().endswith(("@example.com", "@example.org", "@users.noreply.github.com"))
    return kind == "secret" and found.startswith(("$", "${", "os.environ", "process.env"))
