"""A scenario: what a mock model says and does, and what its tools answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

Text = str | Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Failure:
    """An API attempt that fails."""

    status: int | None = None
    code: str | None = None
    message: str = "error"
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """A call that the model makes."""

    tool: str
    args: Any = None


@dataclass(frozen=True, slots=True)
class Turn:
    """A response of the mock model, `times` in a row (0: for ever)."""

    say: Text | None = None
    calls: tuple[ScriptedCall, ...] = ()
    times: int = 1
    input: int | None = None
    output: int | None = None
    fails: tuple[Failure, ...] = ()
    seconds: float = 1.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool answers, after `seconds`."""

    text: Any = ""
    error: bool = False
    status: int | None = None
    code: str | None = None
    exit_code: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class ScriptedTool:
    name: str
    about: Text = ""
    parameters: Mapping[str, str] = field(default_factory=dict)  # name -> JSON type
    seconds: float = 0.2
    timeout: float | None = None
    answers: tuple[Answer, ...] = (Answer(),)


@dataclass(frozen=True, slots=True)
class Price:
    """USD per 1,000 tokens; the default is that of guards.md §3."""

    input: Decimal = Decimal("0.005")
    output: Decimal = Decimal("0.015")
    cache_read: Decimal = Decimal("0.0005")


@dataclass(frozen=True, slots=True)
class Scenario:
    name: str
    about: Text = ""
    set: str = ""
    ends: str = "runaway"
    trigger: tuple[str, ...] = ()
    task_type: str | None = None
    cap: int = 40
    agents: int = 1
    requests: tuple[Text, ...] = ("Go.",)
    tools: tuple[ScriptedTool, ...] = ()
    turns: tuple[Turn, ...] = ()
    again: bool = False
    heeds_after: int | None = None  # None: deaf
    heeds: tuple[Turn, ...] = ()
    input: int = 1_000
    output: int = 80
    grows: bool = True
    cached: bool = False
    price: Price = Price()


ENDS = ("runaway", "well", "costly")


def spoken(text: Text | None, language: str) -> str | None:
    """A text in the language asked for, else in English, else in any."""
    if text is None or isinstance(text, str):
        return text
    return text.get(language) or text.get("en") or next(iter(text.values()), None)
