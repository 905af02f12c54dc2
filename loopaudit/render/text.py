"""Makes text from logs inert and fits it into columns: for terminals, Markdown and HTML."""

from __future__ import annotations

import html as _html
import re
from collections.abc import Iterator

from rich.cells import cell_len

# Controls (C0, DEL, C1) and everything that shows nothing or reorders what is shown: Unicode's
# Default_Ignorable_Code_Point plus line and paragraph separators. U+FE0F stays: it only makes an
# emoji coloured.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_NO_BYTE = re.compile("[\ud800-\udc7f\udd00-\udfff]")
# `##[group]` and `##vso[…]` are commands to CI runners wherever they stand in a line
_RUNNER = re.compile(r"##(?=\w*\[)")
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
REPLACEMENT = "\ufffd"


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    code = ord(char)
    if char in _NAMED:
        return _NAMED[char]
    return (
        f"\\x{code:02x}"
        if code < 0x100
        else f"\\u{code:04x}"
        if code < 0x10000
        else f"\\U{code:08x}"
    )


def inert(text: str) -> str:
    """One line that a terminal shows as it stands: what would act or hide is written out."""
    return _RUNNER.sub("# #", _UNSAFE.sub(_escape, valid(text)))


def valid(text: str) -> str:
    """Text that encodes as UTF-8: lone surrogates become U+FFFD, nothing else changes.

    Surrogates that stand for undecoded bytes (a file name under LANG=C) are read as UTF-8 first.
    """
    if _SURROGATE.search(text) is None:
        return text
    escaped = _NO_BYTE.sub(REPLACEMENT, text)
    return escaped.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def json_inert(document: str) -> str:
    r"""A JSON document with hidden and reordering characters written as `\u` escapes.

    They can stand only inside strings, where the escape means the same. Line feeds of the document
    itself stay; raw C0 controls do not occur in valid JSON.
    """
    return _UNSAFE.sub(_json_escape, valid(document))


def _json_escape(match: re.Match[str]) -> str:
    char = match.group()
    code = ord(char)
    if code < 0x20:
        return char
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def html(text: str) -> str:
    """Log text for HTML, also inside quoted attributes."""
    return _html.escape(inert(text))


def code_span(text: str) -> str:
    """Log text for Markdown: a code span, in which links, mentions, HTML and marks are inert.

    The fence is longer than any run of backticks inside; a bar is escaped for use in tables.
    """
    body = inert(text).replace("|", "\\|")
    longest = max((len(run) for run in re.findall("`+", body)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if longest or not body.strip() else ""
    return f"{fence}{pad}{body}{pad}{fence}"


def cut(text: str, width: int) -> str:
    """At most `width` columns of a line; "…" marks what is missing. Wide characters count two."""
    # a flood of combining marks has no width, so the number of characters is bounded as well
    if len(text) <= 4 * width and cell_len(text) <= width:
        return text
    return _head(text, max(width - 1, 0)) + "…"


def cut_middle(text: str, width: int) -> str:
    """Like `cut`, but keeps both ends: of a path the name counts most."""
    if len(text) <= 4 * width and cell_len(text) <= width:
        return text
    front = max((width - 1) // 3, 0)
    return _head(text, front) + "…" + _head(text[::-1], max(width - 1 - front, 0))[::-1]


def _head(text: str, width: int) -> str:
    used = 0
    for index, char in enumerate(text):
        used += cell_len(char)
        if used > width or index >= 4 * width:
            return text[:index]
    return text


def wrap(text: str, width: int) -> Iterator[str]:
    """Lines of at most `width` columns, broken at spaces; within a word only where it must be."""
    line = ""
    for word in text.split(" "):
        if line and cell_len(line) + 1 + cell_len(word) > width:
            yield line
            line = ""
        while cell_len(word) > width:
            head = _head(word, width) or word[0]
            yield head
            word = word[len(head) :]
        line = f"{line} {word}" if line else word
    yield line
