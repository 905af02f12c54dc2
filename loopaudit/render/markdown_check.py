"""The check as Markdown for one comment of a pull request that is updated, not repeated.

The first line is a hidden marker by which a workflow finds its comment again. All text from logs
stands in code spans, in which links, mentions and HTML are inert.
"""

from __future__ import annotations

from collections.abc import Iterator

from loopaudit.check.result import CheckResult, Judgement
from loopaudit.render.check_rows import HEAD, TOLD, change_words, command, rows
from loopaudit.render.text import code_span

MARKER = "<!-- loopaudit check -->"
_MOST = 20  # reasons and runs shown; a comment holds 65,536 characters
_LONGEST = 300  # characters of one text


def lines(result: CheckResult) -> Iterator[str]:
    yield MARKER
    yield f"### loopaudit: {result.verdict}"
    yield ""
    found = list(rows(result))
    if found:
        if result.old is not None:
            yield f"Old -> new, against {_span(result.old_name)}"
            yield ""
        yield f"| {' | '.join(HEAD)} |"
        yield "|---|---|--:|---|---|---|---|"
        for row in found:
            yield f"| {' | '.join(_span(c) if n < 2 else c for n, c in enumerate(row))} |"
        yield ""
    told = [one for level in TOLD for one in result.at(level)]
    for one in told[:_MOST]:
        yield from _one(one)
    if len(told) > _MOST:
        yield f"- and {len(told) - _MOST:,} more"
    if result.changes:
        yield ""
        yield f"<details><summary>Runs whose verdict changed: {len(result.changes):,}</summary>"
        yield ""
        for change in result.changes[:_MOST]:
            text = f"{change.guard}: {change_words(change)}"
            yield f"- {_span(change.run)} {_span(text)}: {_span(command(change.spot))}"
        if len(result.changes) > _MOST:
            yield f"- and {len(result.changes) - _MOST:,} more"
        yield ""
        yield "</details>"


def _one(one: Judgement) -> Iterator[str]:
    where = " ".join(_span(part) for part in (one.task_type, one.guard) if part)
    level = one.level.value
    yield f"- **{level}** `{one.code}` {where}{': ' if where else ''}{_span(one.message)}"
    for spot in one.spots[:3]:
        yield f"  - {_span(f'{spot.path}:{spot.line}')} {_span(command(spot))}"
    if len(one.spots) > 3:
        yield f"  - and {len(one.spots) - 3:,} more"


def _span(text: str) -> str:
    return code_span(text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…")
