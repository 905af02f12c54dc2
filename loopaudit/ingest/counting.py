"""Tokens of a run whose log tells none: its texts are counted, with what each response was sent.

A response is sent all that was said and heard before it, back to the last compaction. What no log
holds is not counted: the system prompt, definitions of tools, hidden reasoning. Nor is it known
what came from a cache: all input counts as fresh. So the counts are estimates, and marked so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from loopaudit.model import Step, StepKind, Usage, UsageMark

ENCODING = "o200k_base"  # of GPT-4o and later; others differ by a fifth or so
BY_TOKENIZER = f"texts counted with {ENCODING}, all input as fresh"
BY_LENGTH = "texts counted at four characters a token, all input as fresh"


class Tokenizer(NamedTuple):
    """How texts are counted, and how that is said."""

    count: Callable[[str], int]
    note: str


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

    return Tokenizer(count, BY_TOKENIZER)


def _by_length(text: str) -> int:
    return -(-len(text) // 4)


@dataclass(slots=True)
class Context:
    """What one run has said and heard so far, in tokens."""

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
        """Give every response its usage."""
        for step, usage in self.steps.values():
            step.usage = usage
