"""Words on what is looked at and not counted: the pages of its kinds in `explain`."""

from __future__ import annotations

from collections.abc import Iterator

from loopaudit.render.screen import Screen

#: kind -> why it is no loop, what would make it one (the id of a rule or nothing)
KINDS: dict[str, tuple[str, str]] = {
    "poll-with-progress": (
        "A known wait whose answers moved on: each new answer starts the count anew.",
        "same-call-same-result",
    ),
    "unchanged-poll": (
        "A known wait with equal answers, fewer than are reported: waits have a limit of their own,"
        " higher than that of other calls.",
        "same-call-same-result",
    ),
    "changed-result": (
        "Equal calls whose answers were new: something outside the agent moves on.",
        "same-call-same-result",
    ),
    "effect-seen": (
        "Equal calls after another call had shown that something changed, for example clicks on a"
        " page that looks different afterwards.",
        "same-call-same-result",
    ),
    "test-after-edit": (
        "The same tests or build run again after a change of state. That is how work is checked,"
        " also where the tests fail again. Without a change between, the runs count.",
        "same-call-same-result",
    ),
    "re-read-after-change": (
        "A file read again after it was changed: what was known of it was no longer true.",
        "same-call-same-result",
    ),
    "re-read-after-memory-loss": (
        "A call made again once after the context was compacted: its answer may have been lost."
        " Where compaction and reading go round and round, that is a loop of its own.",
        "compact-and-re-read",
    ),
    "retry-of-transient-error": (
        "A passing error (rate limit, time-out, lost connection) that was tried again a few times.",
        "transient-error-retried",
    ),
    "paging": (
        "One file or list read in parts, each with lines that were new.",
        "re-read-ranges",
    ),
    "varied-tries": (
        "The same error met by different tries, fewer times than are reported.",
        "same-error",
    ),
    "failing-steps-below-limit": (
        "Failing steps in a row, fewer than are reported.",
        "failing-steps",
    ),
    "varied-questions": (
        "Different questions with one answer, fewer times than are reported.",
        "same-answer",
    ),
    "growing-below-limit": (
        "A command that grew and brought nothing new, fewer times than are reported.",
        "growing-command",
    ),
    "retries-within-policy": (
        "Failed attempts at the model's API, no more than the largest policies allow.",
        "retries-over-policy",
    ),
    "handover-with-work": (
        "One agent chosen again and again, with new work between: a supervisor does so.",
        "handed-back-and-forth",
    ),
    "side-by-side": (
        "Equal calls in one response: one round, for example of samples.",
        "batch-emitted-again",
    ),
}


def kind_page(kind: str, screen: Screen) -> Iterator[str]:
    says, rule = KINDS[kind]
    yield from screen.row(f"{kind}: looked at and not counted", "bold")
    yield from screen.row(says, indent=2)
    yield from screen.row(
        f"See loopaudit explain {rule} for what is counted; report --why lists each case.", indent=2
    )
