"""Tokens of a run whose log tells none: its texts are counted, with what each response was sent.

A response is sent all that was said and heard before it, back to the last compaction. What no log
holds is not counted: the system prompt, definitions of tools, hidden reasoning. Nor is it known
what came from a cache: all input counts as fresh. So the counts are estimates, and marked so.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from loopaudit.model import Step, StepKind, Usage, UsageMark

ENCODING = "o200k_base"  # of GPT-4o and later
BY_TOKENIZER = f"texts counted with {ENCODING}, all input as fresh"
BY_LENGTH = "texts counted at four characters a token, all input as fresh"


class Family(NamedTuple):
    """Models whose own tokenizer is not public, or not at hand: how many more tokens it gives."""

    name: str
    percent: int  # of the tokens of `ENCODING`

    @property
    def note(self) -> str:
        times = f"{self.percent / 100:g} times for {self.name}"
        return f"texts counted with {ENCODING}, {times}, all input as fresh"


#: Claude: means of 1.25 / 1.19 / 1.11 and, from 4.7 on, 1.60 / 1.81 / 1.45, as the tokenizer
#: rebuilt by ctok 1.3.0 counts code, English and JSON (Chinese: 1.44 and 1.57). Qwen: 1.07 / 1.11 /
#: 1.14 by its own tokenizer on the same kinds of text. All others: taken as they are.
CLAUDE = Family("Claude up to 4.6", 118)
CLAUDE_4_7 = Family("Claude from 4.7 on", 162)
QWEN = Family("Qwen", 111)
_CLAUDE = re.compile(r"claude-[a-z]+-(\d+)(?:[-.](\d{1,2}))?(?!\d)")

#: all that a note of this module may say
WAYS = (BY_TOKENIZER, BY_LENGTH, *(family.note for family in (CLAUDE, CLAUDE_4_7, QWEN)))


@cache
def family_of(model: str | None) -> Family | None:
    """The family that a logged name belongs to; None: its counts are those of `ENCODING`."""
    name = (model or "").lower()
    if "claude" in name:
        found = _CLAUDE.search(name)
        version = (int(found[1]), int(found[2] or 0)) if found else (0, 0)
        return CLAUDE_4_7 if version >= (4, 7) else CLAUDE
    return QWEN if "qwen" in name or "qwq" in name else None


class Tokenizer(NamedTuple):
    """How texts are counted, and how that is said."""

    count: Callable[[str], int]
    note: str
    by_family: bool = False  # its counts are those of one family, and scaled for others


@cache
def tokenizer() -> Tokenizer:
    """The real one where the extra `tokens` is installed."""
    try:
        import toktok
    except ImportError:
        return Tokenizer(_by_length, BY_LENGTH)

    def count(text: str) -> int:
        try:
            return int(toktok.batch_count([text], ENCODING, 1)[0])
        except UnicodeEncodeError:  # half an emoji
            whole = text.encode("utf-8", "replace").decode()
            return int(toktok.batch_count([whole], ENCODING, 1)[0])

    return Tokenizer(count, BY_TOKENIZER, by_family=True)


def _by_length(text: str) -> int:
    return -(-len(text) // 4)


@dataclass(slots=True)
class Context:
    """What one run has said and heard so far, in tokens of the tokenizer."""

    tokenizer: Tokenizer
    size: int = 0
    steps: dict[int, tuple[Step, Usage]] = field(default_factory=dict)  # by identity

    def opened(self, step: Step) -> None:
        usage = Usage(
            fresh_input=self.size, output=0, mark=UsageMark.ESTIMATED, note=self.tokenizer.note
        )
        self.steps[id(step)] = step, usage

    def said(self, step: Step, text: str) -> None:
        """A part of a response: what it says, or the arguments of a call."""
        usage = self.steps[id(step)][1]
        tokens = self.tokenizer.count(text)
        usage.output = (usage.output or 0) + tokens
        self.size = usage.output if step.kind is StepKind.COMPACTION else self.size + tokens

    def heard(self, text: str) -> None:
        self.size += self.tokenizer.count(text)

    def forgot(self) -> None:
        """A compaction whose summary is heard or said, if at all, after this."""
        self.size = 0

    def fill(self) -> None:
        """Give every response its usage, in tokens of its own model."""
        for step, usage in self.steps.values():
            family = family_of(step.model) if self.tokenizer.by_family else None
            if family is not None:
                usage.fresh_input = _scaled(usage.fresh_input, family)
                usage.output = _scaled(usage.output, family)
                usage.note = family.note
            step.usage = usage


def _scaled(tokens: int | None, family: Family) -> int:
    return -(-(tokens or 0) * family.percent // 100)
