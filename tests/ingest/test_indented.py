"""Lines of an indented document: what the parser of tokens says, or nothing at all."""

from __future__ import annotations

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopaudit.ingest import indented
from loopaudit.ingest.documents import _lines, locator

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=30,
)


@given(_VALUES.filter(lambda v: isinstance(v, list | dict)), st.integers(1, 4))
def test_it_says_what_the_parser_of_tokens_says(value, indent):
    for data in (
        json.dumps(value, indent=indent).encode("utf-8", "surrogatepass"),
        json.dumps(value, indent=indent, ensure_ascii=False).encode(),
        b"\n" + orjson.dumps(value, option=orjson.OPT_INDENT_2) + b"\n\n",
    ):
        locate = indented.locator(data, orjson.loads(data))
        assert locate is not None
        for path, line in _lines(data, 6).items():
            if path:
                assert locate(*path) == line


def test_the_lines_of_a_document_by_hand():
    value = {"id": "x", "messages": [{"role": "user", "parts": ["a", 1, "b"]}, {"n": {}}], "z": 1}
    locate = indented.locator(json.dumps(value, indent=2).encode(), value)
    assert locate is not None
    found = [
        locate(),
        locate("id"),
        locate("messages"),
        locate("messages", 0),
        locate("messages", 0, "role"),
        locate("messages", 0, "parts"),
        locate("messages", 0, "parts", 0),
        locate("messages", 0, "parts", 1),  # a number
        locate("messages", 0, "parts", 2),
        locate("messages", 1),
        locate("messages", 1, "n"),
        locate("messages", 1, "n", "none"),
        locate("messages", 2),
        locate("messages", "role"),
        locate("z"),
    ]
    assert found == [1, 2, 3, 4, 5, 6, 7, 6, 9, 12, 13, 13, 3, 3, 16]


@pytest.mark.parametrize(
    "text",
    [
        '{\n  "a": 1,\n  "b": [1,\n 2]\n}',  # an element at the wrong place
        '{\n  "a": {"x": [1]},\n  "b": 2\n}',  # a part that begins no line of its own
        '{\n  "a": 1,\n  "a": 2\n}',  # a key twice
        '{\n  "a": 1, "b": [],\n\n\n "c": 2}',  # as many lines, but not those
        '{"a": 1,\n  "b": 2}',
    ],
)
def test_what_is_laid_out_otherwise_is_left_to_the_parser(text):
    value = json.loads(text)
    assert indented.locator(text.encode(), value) is None
    locate = locator(text.encode(), value)
    assert locate is not None
    assert locate("b") == _lines(text.encode(), 3).get(("b",), 1)


def test_numbers_and_letters_written_otherwise_change_no_line():
    text = '{\n "a": 1.50e3,\n "b\\u00e9": [\n  -0.0,\n  "\\u00e9"\n ]\n}'
    locate = indented.locator(text.encode(), json.loads(text))
    assert locate is not None
    assert [locate("bé"), locate("bé", 1)] == [3, 5]


def test_a_document_of_one_line_has_one_line():
    for text in (b'{"a": [1, {"b": 2}]}\n', b'\n\n {"a": [1, {"b": 2}]}'):
        locate = locator(text, orjson.loads(text))
        assert locate is not None
        assert locate("a", 1, "b") == text.count(b"\n", 0, text.index(b"{")) + 1
