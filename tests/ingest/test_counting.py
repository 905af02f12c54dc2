"""Logs without usage: what was said and heard is counted, and marked as counted."""

from __future__ import annotations

import pytest
from transcripts import Record, boundary, call, compaction, run_of, step, user

from loopaudit.formats.native.events import FORMAT
from loopaudit.ingest.counting import (
    BY_LENGTH,
    BY_TOKENIZER,
    CLAUDE,
    Tokenizer,
    family_of,
    tokenizer,
)
from loopaudit.ingest.runs import RunAssembler
from loopaudit.model import Run, UsageMark

#: a token a character: sums that can be done in the head
LETTERS = Tokenizer(len, "letters")


def counted(*records: Record) -> Run:
    reader, assembler = FORMAT.reader("log.jsonl"), RunAssembler("log", "x", tokenizer=LETTERS)
    for line, record in enumerate(records, 1):
        for piece in reader.feed(line, record):
            assembler.add(piece)
    (run,) = assembler.finish()
    return run


def sizes(run: Run) -> list[tuple[int | None, int | None]]:
    """Input and output of each response."""
    return [(s.usage.fresh_input, s.usage.output) for s in run.steps if s.usage is not None]


def test_a_response_is_sent_all_that_came_before() -> None:
    run = counted(
        user("x" * 10),
        step(None, text="y" * 3),
        user("x" * 5),
        step(None, call("read", {"a": 1}, "z" * 100), text="yy"),  # {"a":1} has 7 letters
        step(None, text="done"),
    )
    assert sizes(run) == [(10, 3), (18, 2 + 7), (127, 4)]
    usages = [s.usage for s in run.steps]
    assert {u.mark for u in usages if u} == {UsageMark.ESTIMATED}
    assert {u.note for u in usages if u} == {"letters"}


def test_a_compaction_forgets_all_but_its_summary() -> None:
    said = compaction(0)
    del said["usage"]
    said["text"] = "s" * 20
    run = counted(user("x" * 500), said, step(None, text="y"))
    assert sizes(run) == [(500, 20), (20, 1)]
    run = counted(user("x" * 500), boundary("compaction", "s" * 30), step(None, text="y"))
    assert sizes(run) == [(30, 1)]


def test_pieces_of_one_response_are_one_response() -> None:
    pieces = [step(None, text="ab", id="m1"), step(None, text="cde", id="m1")]
    run = counted(user("x" * 10), pieces[0], pieces[1], pieces[1], step(None, text="f", id="m2"))
    assert sizes(run) == [(10, 5), (15, 1)]


@pytest.mark.parametrize("where", [0, 1])
def test_a_run_that_tells_some_usage_is_left_alone(where: int) -> None:
    records = [step(None, text="y" * 40), step(None, text="y" * 40)]
    records[where] = step(100, text="y" * 40)
    run = counted(user("x" * 10), *records)
    assert [s.usage is not None for s in run.steps] == [where == 0, where == 1]
    told = run.steps[where].usage
    assert told is not None
    assert (told.total, told.mark) == (100, UsageMark.REPORTED)


def test_without_a_tokenizer_nothing_is_counted() -> None:
    assert run_of(user("hello"), step(None, text="hello")).steps[0].usage is None


def test_the_real_tokenizer() -> None:
    pytest.importorskip("toktok")
    found = tokenizer()
    assert found.note == BY_TOKENIZER
    assert found.count("") == 0
    assert found.count("hello world") == 2  # as tiktoken's o200k_base has it
    assert found.count("half an emoji \ud83d") > 3


@pytest.mark.parametrize(
    ("model", "percent"),
    [
        ("gpt-5.2", None),
        ("gemini-2.5-pro", None),
        (None, None),
        ("claude-3-5-sonnet-20241022", 118),
        ("claude-sonnet-4-20250514", 118),  # the date is no minor version
        ("claude-opus-4-6", 118),
        ("us.anthropic.claude-opus-4-7-v1:0", 162),
        ("anthropic/claude-opus-4.7", 162),
        ("claude-opus-5", 162),
        ("claude-opus-4-10", 162),
        ("qwen3-coder-plus", 111),
    ],
)
def test_families_of_models_have_factors(model: str | None, percent: int | None) -> None:
    family = family_of(model)
    assert (None if family is None else family.percent) == percent


def test_a_factor_is_applied_to_each_response_and_stated() -> None:
    """Ten letters said to a Claude (1.18 a letter, rounded up), then to a GPT, in one run."""
    reader = FORMAT.reader("log.jsonl")
    assembler = RunAssembler("log", "x", tokenizer=LETTERS._replace(by_family=True))
    records = [
        user("x" * 10),
        step(None, text="y" * 3, model="claude-opus-4-5"),
        step(None, text="y", model="gpt-5"),
    ]
    for line, record in enumerate(records, 1):
        for piece in reader.feed(line, record):
            assembler.add(piece)
    (run,) = assembler.finish()
    assert sizes(run) == [(12, 4), (13, 1)]
    notes = [s.usage.note for s in run.steps if s.usage is not None]
    assert notes == [CLAUDE.note, "letters"]
    assert "1.18 times for Claude up to 4.6" in CLAUDE.note


def test_without_the_extra_length_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "toktok", None)
    tokenizer.cache_clear()
    try:
        found = tokenizer()
        assert (found.note, found.count("hello"), found.count("")) == (BY_LENGTH, 2, 0)
    finally:
        tokenizer.cache_clear()
