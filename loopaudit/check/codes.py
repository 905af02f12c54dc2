"""Reason codes of `check`: stable, and the same in every format."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """What an outcome means for the gate."""

    OK = "ok"
    NOTE = "note"
    WARN = "warn"
    UNKNOWN = "cannot say"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Code:
    """A reason and its documentation."""

    id: str
    title: str
    help: str


def _codes(*rows: tuple[str, str, str]) -> dict[str, Code]:
    return {row[0]: Code(*row) for row in rows}


CODES = _codes(
    (
        "false-stops",
        "Healthy runs interrupted",
        "The share of the healthy runs of a task type that a guard would have stopped.",
    ),
    (
        "loops-missed",
        "Loops missed",
        "The share of the loops of a task type that a guard did not stop before their end.",
    ),
    (
        "waste-per-run",
        "Waste of one run",
        "Tokens or money that the loops of a single run wasted.",
    ),
    ("waste", "Waste of a task type", "Tokens or money wasted by all runs of a type together."),
    ("cost", "Cost of a task type", "Money at list prices of all runs of a type together."),
    ("cost-per-run", "Cost of one run", "Money at list prices of a single run."),
    ("tokens-per-run", "Tokens of one run", "Input and output tokens of a single run."),
    ("steps-per-run", "Steps of one run", "Model responses of a single run."),
    ("seconds-per-run", "Time of one run", "Seconds from the first to the last event of a run."),
    (
        "unreachable-threshold",
        "A threshold out of reach",
        "A threshold of a guard that its own window or another rule keeps from ever being met.",
    ),
    (
        "verdict-changed",
        "A verdict changed",
        "A guard acts on a run at another step, or otherwise, than the baseline says.",
    ),
    (
        "regression",
        "Worse than what it is compared with",
        "More healthy runs are interrupted, or more loops missed, than by the other settings.",
    ),
    (
        "suppression-expired",
        "A suppression has expired",
        "Look at the finding again: fix it, or give the suppression a new date and reason.",
    ),
    ("suppression-unused", "A suppression matches nothing", "Its finding is gone: delete it."),
    ("too-few-runs", "Too few runs", "A share of so few runs cannot be judged."),
    ("nothing-measured", "Nothing measured", "The inputs hold nothing that could be judged."),
    ("not-measured", "Not told by the logs", "A limit needs what these logs do not tell."),
    ("unpriced", "Tokens without a price", "A limit of money cannot be kept or broken by them."),
    ("partial-input", "Partial input", "Under --strict: a part of the input could not be read."),
    ("broken", "loopaudit or an extension broke", "A fault of the program: please report it."),
    ("corpus-changed", "Other runs than in the baseline", "Runs were added or are gone."),
)
