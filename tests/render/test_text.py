"""Log text is inert on every surface, and fits its columns."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from loopaudit.render.text import code_span, cut, cut_middle, html, inert, json_inert, valid, wrap

any_text = st.text(st.characters(exclude_categories=()), max_size=80)


@pytest.mark.parametrize(
    "plain",
    [
        "pytest -q",
        "订单状态 北京",
        "café ❤️ 🙂",
        "שלום",
        'C:\\new "x" <b> & `y`',
        "a | b # c @d",
        "",
    ],
)
def test_ordinary_text_stays_as_it_is(plain: str) -> None:
    assert inert(plain) == plain
    assert valid(plain) == plain


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b[2J", "\\x1b[2J"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x9b31m", "\\x9b31m"),  # CSI as one C1 byte
        ("a\x08\x08b\x7f", "a\\x08\\x08b\\x7f"),
        ("one\ntwo\r\tx", "one\\ntwo\\r\\tx"),
        ("\u202eevil\u202c", "\\u202eevil\\u202c"),
        ("\u2066x\u2069", "\\u2066x\\u2069"),
        ("a\u200bb\ufeffc\u00ad", "a\\u200bb\\ufeffc\\xad"),
        ("\u2028\u2029", "\\u2028\\u2029"),
        ("\U000e0041", "\\U000e0041"),  # a tag character: hidden text
        ("\u3164", "\\u3164"),  # a filler that shows nothing
        ("half \ud83d emoji", "half \ufffd emoji"),
        ("##[error]x ##vso[task]y ## heading", "# #[error]x # #vso[task]y ## heading"),
    ],
)
def test_what_acts_or_hides_is_written_out(hostile: str, shown: str) -> None:
    assert inert(hostile) == shown


def test_a_file_name_under_a_bare_locale_is_read_as_utf8() -> None:
    name = "北京\u202e.jsonl".encode().decode("ascii", "surrogateescape")
    assert inert(name) == "北京\\u202e.jsonl"
    assert json.loads(json_inert(json.dumps(name, ensure_ascii=False))) == "北京\u202e.jsonl"
    assert inert("\udce9t\udc00") == "\ufffdt\ufffd"


@given(any_text)
def test_inert_text_is_one_encodable_line_without_controls(text: str) -> None:
    shown = inert(text)
    shown.encode()
    assert len(shown.splitlines()) <= 1
    assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 for c in shown)
    assert inert(shown) == shown


def test_html_escapes_marks_and_quotes() -> None:
    assert html("<script>\"'&\x1b") == "&lt;script&gt;&quot;&#x27;&amp;\\x1b"


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("ls", "`ls`"),
        ("a `b` c", "`` a `b` c ``"),
        ("```\nx", "```` ```\\nx ````"),
        ("a|b @me #1 <b>", "`a\\|b @me #1 <b>`"),
        (" ", "`   `"),
    ],
)
def test_code_span_cannot_be_left(text: str, span: str) -> None:
    assert code_span(text) == span


@given(any_text)
def test_json_stays_the_same_value_but_for_surrogates(text: str) -> None:
    document = json.dumps({"t": text}, ensure_ascii=False)
    shown = json_inert(document)
    shown.encode()
    assert json.loads(shown) == {"t": valid(text)}
    assert not any(c in shown for c in "\x7f\x9b\u202e\u200b\ufeff\u2028")


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdefg", 6, "abcde…"),
        ("北京市东城区", 6, "北京…"),  # two columns each
        ("北京市", 6, "北京市"),
    ],
)
def test_cut(text: str, width: int, shown: str) -> None:
    assert cut(text, width) == shown
    assert cell_len(shown) <= width


def test_cut_middle_keeps_the_name() -> None:
    assert cut_middle("logs/projects/very/long/c4f1.jsonl", 20) == "logs/p…ng/c4f1.jsonl"
    assert cut_middle("short.jsonl", 20) == "short.jsonl"


def test_a_flood_of_combining_marks_is_cut() -> None:
    assert len(cut("e" + "\u0301" * 10_000, 20)) <= 81


@given(any_text.map(inert), st.integers(2, 30))
def test_wrapped_lines_fit_and_lose_nothing(text: str, width: int) -> None:
    lines = list(wrap(text, width))
    assert all(cell_len(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
