"""Text that repeats itself: within one response, or from response to response with nothing done."""

from __future__ import annotations

from collections.abc import Sequence

from loopaudit.detectors.base import ERROR, MODEL_STEP, NONE, OK, USER, Detector
from loopaudit.findings import Reading, Rule
from loopaudit.model import Boundary, BoundaryKind, Step

INSIDE = "text_repeats_itself"
ACROSS = "same_text"

RULES: tuple[Rule, ...] = (
    Rule(
        id="text-repeats-itself",
        title="A response repeated the same words until it was cut off or gave up",
        looks_for=(
            "One stretch of visible text, a word or a paragraph, ten times or more within one "
            "response, or prose that goes on with hardly a new sequence of three words. Only what "
            "follows the first time is waste: a share of the response's output, which is an "
            "estimate by characters."
        ),
        not_counted=(
            "Tables, lists and code, whose lines are alike but not equal; rules and rows of zeros "
            "below 1,000 characters; a refrain after which the text goes on (below 1,000 "
            "characters). A long answer that was cut off is none."
        ),
        evidence=(
            "claude-code#66950, claude-code#44689, claude-code#78753. Gemini CLI stops at ten "
            "equal stretches of 50 characters (and misses what stands in lists, or fires on "
            "blanks), OpenRouter's agent at four of up to 16 tokens."
        ),
        remedy=(
            "Set a limit of output tokens per task and a penalty on repeats, cut a stream off at "
            "the tenth repeat, and do not send such a response back as context: it is continued."
        ),
        signal=INSIDE,
        cause="no-cut",
        family="text",
    ),
    Rule(
        id="same-text",
        title="The agent said the same again and again, and did nothing",
        looks_for=(
            "Three responses or more without a call and with the same visible text (times and ids "
            "masked), with no user message and no new call between them."
        ),
        not_counted=(
            "Answers to a person, however alike; a text that comes with a call; a call between "
            "that had not been made, or that brought something else. Answers to a hook are left to "
            "hook-ping-pong. A log that tells of no message to the agent: somebody may have asked."
        ),
        evidence="OpenHands ends a monologue of three messages, whatever they say.",
        remedy=(
            "Take a response without a call for the end of the turn, and give the prompt a way to "
            "say that it is done or stuck; do not send `continue` without anything new."
        ),
        signal=ACROSS,
        cause="no-stop",
        family="text",
    ),
)

_INJECTED = (BoundaryKind.HOOK, BoundaryKind.REMINDER, BoundaryKind.GUARD)
#: a response is repetition as a whole from this share of its text on, if the one before was too
_WHOLE = 0.9


class _Row:
    """Responses in a row that repeat one stretch."""

    __slots__ = ("first", "key", "times")

    def __init__(self, key: int, first: int) -> None:
        self.key = key
        self.first = first
        self.times = 0


class _Said:
    """One text, as said without a call."""

    __slots__ = ("told",)

    def __init__(self, first: int) -> None:
        self.told = (Reading(ACROSS, 1, first, None, (ACROSS, first), first),)


class Texts(Detector):
    """Readings: `text_repeats_itself` (times in a row of responses), `same_text` (responses)."""

    signals = (INSIDE, ACROSS)

    def __init__(self) -> None:
        self._row: _Row | None = None
        self._said: dict[int, _Said] = {}  # since the last user message or new call
        self._done: set[int] = set()  # calls with their results, since something was said
        self._asked = False  # by a hook, since the last response
        self._heard = False  # the log tells what was said to the agent

    def boundary(self, boundary: Boundary) -> Sequence[Reading]:
        kind = boundary.kind
        if kind is USER:
            self._row = None
            self._asked = False
            self._heard = True
            self._forget()
        elif kind in _INJECTED:
            self._asked = self._heard = True
        return NONE

    def _forget(self) -> None:
        if self._said:
            self._said = {}
            self._done = set()

    def step_ended(self, step: Step) -> Sequence[Reading]:
        asked, self._asked = self._asked, False
        if step.chant is not None:
            return self._inside(step)
        self._row = None
        if step.calls:
            if self._said:
                self._look(step)
        elif step.said is not None and self._heard and not asked and step.kind is MODEL_STEP:
            return self._across(step, step.said)
        return NONE

    def _look(self, step: Step) -> None:
        """A call that is new, or brings something new, is no monologue."""
        before = len(self._done)
        for call in step.calls:
            result = call.result_key or 0
            if call.status is OK or call.status is ERROR:
                self._done.add(call.key ^ (result >> 1))
        if len(self._done) > before:
            self._said = {}

    def _inside(self, step: Step) -> Sequence[Reading]:
        chant, row = step.chant, self._row
        assert chant is not None
        goes_on = row is not None and row.key == chant.key
        if row is None or not goes_on:
            row = self._row = _Row(chant.key, step.index)
        row.times += chant.times
        share = chant.size / max(step.text_size, chant.size)
        whole = goes_on and share >= _WHOLE and not step.calls
        return (
            Reading(
                signal=INSIDE,
                count=row.times,
                step=step.index,
                group=(INSIDE, row.first),
                first_step=row.first,
                redundant_steps=(step.index,) if whole else (),
                redundant_text=None if whole else (chant.offset, share),
                note=f"{chant.size:,} characters of {max(step.text_size, chant.size):,}",
            ),
        )

    def _across(self, step: Step, said: int) -> Sequence[Reading]:
        known = self._said.get(said)
        if known is None:
            self._said[said] = _Said(step.index)
            return NONE
        reading = known.told[0]
        reading.count += 1
        reading.step = step.index
        reading.redundant_steps = (step.index,)
        return known.told
