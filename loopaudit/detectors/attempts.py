"""Attempts at the model's API: too many, too soon or late, in layers that multiply.

Attempts are no steps, so these readings name no redundant step, but the attempts themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from loopaudit.findings import Reading, Rule
from loopaudit.model import Attempt, Boundary, BoundaryKind, ErrorClass
from loopaudit.retry import wait_interval

PERMANENT = "permanent_retried"
OVER_POLICY = "retries_over_policy"
WAIT = "wait_outside_interval"
NESTED = "nested_retries"

RULES: tuple[Rule, ...] = (
    Rule(
        id="retries-over-policy",
        title="A model step was retried more often than the policy allows",
        looks_for="Retries of one model step within one request, by one layer.",
        not_counted=(
            "A try after a new user message, and attempts that the log does not record: most "
            "tracing formats hide the retries of the SDK."
        ),
        evidence=(
            "Policies: 2 retries (openai and anthropic SDKs, backstop), 3 (fuses, Kimi CLI), 4 "
            "(Codex), 10 (Claude Code, Gemini CLI)."
        ),
        remedy="Give up sooner and tell the user; a circuit breaker spares the other agents.",
        signal=OVER_POLICY,
        cause="no-retry-class",
        family="retry",
    ),
    Rule(
        id="wait-outside-interval",
        title="A retry came sooner or later than the policy allows",
        looks_for=(
            "A wait outside [0.75, 1.25] x min(0.5 s x 2^(n-1), 30 s) before retry n, or shorter "
            "than the server asked for."
        ),
        not_counted=(
            "A longer wait that the server asked for (Retry-After). Where the log has no wait but "
            "times, only a retry that came too soon can be told."
        ),
        evidence="Interval of the fuses set; SDKs differ, so set the numbers of your client.",
        remedy="Use the client's own backoff with jitter and honour Retry-After.",
        signal=WAIT,
        cause="no-retry-class",
        family="retry",
    ),
    Rule(
        id="nested-retries",
        title="Retries inside retries multiply",
        looks_for=(
            "Attempts recorded at two layers, an inner policy that starts over or goes on after it "
            "gave up, or a call repeated by the agent whose error tells of retries inside."
        ),
        not_counted="A single layer, and a new try after a user message.",
        evidence=(
            "Attempts are the product of (retries + 1) of all layers: 12 instead of 4 "
            "(nanobot#2759), 45 instead of 15 (code_puppy#317), about 36 (cognee#4679)."
        ),
        remedy="Let one layer retry and set the retries of all others to 0.",
        signal=NESTED,
        cause="no-retry-class",
        family="retry",
    ),
)

#: errors that no wait cures
LASTING = frozenset({ErrorClass.PERMANENT, ErrorClass.QUOTA, ErrorClass.CONTEXT_OVERFLOW})
_SLACK = 0.001  # seconds; logs round to milliseconds
_INFINITY = float("inf")


def readings(
    attempts: Sequence[Attempt],
    boundaries: Sequence[Boundary],
    step: int,
    waits: Mapping[str, float],
    *,
    answered: bool,
    answered_at: float | None = None,
) -> list[Reading]:
    """Readings about the failed attempts before the response of `step`, or after the last one.

    `boundaries` lie in the same stretch; `waits` are the numbers of `retry.wait_interval`.
    """
    found: list[Reading] = []
    cuts = [b.line for b in boundaries if b.kind is BoundaryKind.USER]
    requests = list(_requests(attempts, cuts))
    # after a user message the response answers that, and retries nothing
    answered = answered and not any(cut > attempts[-1].line for cut in cuts)
    for place, request in enumerate(requests):
        last = answered and place == len(requests) - 1
        for layer in dict.fromkeys(attempt.layer for attempt in request):
            own = [attempt for attempt in request if attempt.layer == layer]
            group = (step, place, layer)
            found += _counts(own, step, group, last)
            found += _waits(own, step, group, answered_at if last else None, waits)
        found += _nested(request, step, (step, place))
    return found


def _requests(attempts: Sequence[Attempt], cuts: Sequence[int]) -> Iterator[list[Attempt]]:
    """Attempts cut at real user messages: a new request is no retry. Lines tell the order."""
    request: list[Attempt] = []
    for attempt in attempts:
        if request and any(request[-1].line < cut <= attempt.line for cut in cuts):
            yield request
            request = []
        request.append(attempt)
    if request:
        yield request


def _counts(
    attempts: list[Attempt], step: int, group: tuple[int, int, str | None], answered: bool
) -> Iterator[Reading]:
    """What one layer did for one model step of one request."""
    told = max((attempt.number or 0 for attempt in attempts), default=0)
    retries = max(len(attempts), told) - (0 if answered else 1)
    if retries > 0:
        yield Reading(
            OVER_POLICY,
            retries,
            step,
            group=(OVER_POLICY, *group),
            retryable=all(attempt.error not in LASTING for attempt in attempts),
            attempts=tuple(attempts),
        )
    lasting = [attempt for attempt in attempts if attempt.error in LASTING]
    if len(lasting) > 1:
        yield Reading(
            PERMANENT,
            len(lasting),
            step,
            group=(PERMANENT, *group),
            first_step=step,
            retryable=False,
            note=f"model API: {lasting[0].error.value}",
            attempts=tuple(attempts),
        )


def _waits(
    attempts: list[Attempt],
    step: int,
    group: tuple[int, int, str | None],
    answered_at: float | None,
    waits: Mapping[str, float],
) -> Iterator[Reading]:
    outside = 0
    for at, attempt in enumerate(attempts):
        later = attempts[at + 1].at if at + 1 < len(attempts) else answered_at
        note = _outside(attempt, attempt.number or at + 1, later, waits)
        if note is not None:
            outside += 1
            yield Reading(WAIT, outside, step, group=(WAIT, *group), note=note)


def _outside(
    attempt: Attempt, n: int, later: float | None, waits: Mapping[str, float]
) -> str | None:
    """What is wrong with the wait before retry `n`; None if nothing is, or it is not known."""
    if attempt.gave_up:
        return None
    low, high = wait_interval(n, **waits)
    if attempt.retry_after is not None and attempt.retry_after > 0:
        low = attempt.retry_after
        high = max(high, low * (1 + waits["jitter"]))
    wait, known = attempt.wait, "waited"
    if wait is None:
        if later is None or attempt.at is None:
            return None
        # an upper bound of the wait: the time holds the next attempt too
        wait, known, high = later - attempt.at, "next attempt after", _INFINITY
    if not wait >= 0 or low - _SLACK <= wait <= high + _SLACK:
        return None
    allowed = f"at least {low:.3g} s" if high == _INFINITY else f"{low:.3g}-{high:.3g} s"
    return f"{known} {wait:.3g} s, retry {n} allows {allowed}"


def _nested(request: list[Attempt], step: int, group: tuple[int, int]) -> list[Reading]:
    """Layers that multiply within one request, if there is more than one."""
    layers = dict.fromkeys(attempt.layer for attempt in request if attempt.layer is not None)
    if len(layers) > 1:
        count = 1
        for layer in layers:
            own = [attempt for attempt in request if attempt.layer == layer]
            count *= max((a.number for a in own if a.number is not None), default=len(own)) + 1
        names = " x ".join(str(layer) for layer in layers)
        return [_layered(request, count, step, group, f"layers {names}")]
    rounds = 1 + sum(_starts_over(before, after) for before, after in pairwise(request))
    if rounds < 2 or len(request) <= rounds:
        return []
    note = f"{rounds} rounds of retries without a user message"
    return [_layered(request, len(request), step, group, note)]


def _layered(
    request: list[Attempt], count: int, step: int, group: tuple[int, int], note: str
) -> Reading:
    return Reading(
        NESTED,
        count,
        step,
        group=(NESTED, *group),
        retryable=all(attempt.error not in LASTING for attempt in request),
        note=note,
        attempts=tuple(request),
    )


def _starts_over(before: Attempt, after: Attempt) -> bool:
    """Whether an outer layer began a new round; a line recorded twice is none."""
    if before.gave_up:
        return True
    if before.number is None or after.number is None:
        return False
    return after.number <= before.number and (after.at is None or after.at != before.at)
