"""One finding on the screen: what, where it began, how it ended, its waste, what stops it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from shlex import quote

from loopaudit.findings import EndedBy, Finding, GuardResult, Place, Retryable, RunSummary, Waste
from loopaudit.render import figures as f
from loopaudit.render.savings import guard_sentence
from loopaudit.render.screen import Screen
from loopaudit.render.text import cut, cut_middle, inert

ENDED = {
    EndedBy.RECOVERED: "the agent left it by itself",
    EndedBy.GUARD: "stopped by a guard",
    EndedBy.USER: "stopped by the user",
    EndedBy.LIMIT: "stopped by a limit",
    EndedBy.END_OF_LOG: "never: it went on to the end of the log",
}
RETRYABLE = {
    Retryable.YES: "retryable",
    Retryable.NO: "not retryable",
    Retryable.NOT_APPLICABLE: "nothing failed",
}
_LABEL = 9  # columns before the text of a row
_SURE = 0.8  # confidence called high
_TIMES = re.compile(r"(.+) (\d+) times")
_TELLING = {"results", "arguments"}  # without them repeats cannot be seen; limits still can


def wasted(waste: Waste, of: str, *, bounded: bool = False) -> str:
    """Money first. `bounded`: what the share is a share of is not known to the last token."""
    mark = "~" if waste.estimated else ""
    if waste.tokens is None:
        return "unknown: the log has no usage"
    cost = waste.usd if waste.tokens else waste.amounts[1]  # of nothing wasted it is known
    text = "" if cost is None else f"{mark}{f.money(cost)}: "
    text += f"{mark}{f.full(waste.tokens)} tokens"
    if waste.cache_read:
        text += f" ({f.short(waste.cache_read)} cache reads)"
    if waste.share is not None:
        text += f", {'~' if bounded or waste.estimated else ''}{f.share(waste.share)} of {of}"
    return text + ("; cost unknown" if cost is None else "")


def loop(
    number: int,
    finding: Finding,
    run: RunSummary | None,
    guards: Sequence[GuardResult],
    screen: Screen,
    of: str = "the run",
) -> Iterator[str]:
    """`of`: what the share of the waste is a share of."""
    title = screen.titles.get(finding.rule, "")
    head = f"LOOP {number}  {inert(finding.rule)}" + (f": {title}" if title else "")
    yield from screen.row(head, "bold")
    what = inert(finding.call or finding.tool or "")
    if what:
        yield "  " + cut(what, screen.width - 2)
    for label, text, styles in _rows(finding, run, screen, of):
        if text:
            yield from screen.row(text, *styles, indent=2, label=label.ljust(_LABEL - 2))
    for label, text in _guards(finding, guards):
        yield from screen.row(text, indent=2, label=label.ljust(_LABEL - 2))
    parts = finding.advice_parts
    if parts is not None:
        yield from screen.row(inert(parts.cause), indent=2, label="cause".ljust(_LABEL - 2))
        if screen.why:
            yield from screen.row(inert(parts.find), indent=2, label="check".ljust(_LABEL - 2))
    if finding.advice:
        yield from screen.row(inert(finding.advice), indent=2, label="advice".ljust(_LABEL - 2))
    yield "  " + "id".ljust(_LABEL - 2) + inert(finding.id)
    # one line however long, so that it can be copied
    yield "  " + "look".ljust(_LABEL - 2) + screen.style(_look(finding), "dim")


def _rows(
    finding: Finding, run: RunSummary | None, screen: Screen, of: str
) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    going = finding.ended_by is EndedBy.END_OF_LOG and run is not None and run.still_running
    ended = "STILL GOING" if going else ENDED[finding.ended_by]
    sure = f"{_confidence(finding.confidence)} confidence"
    if finding.confidence < _SURE and finding.confidence_reason:
        sure += f" ({inert(finding.confidence_reason)})"
    yield "first", _place(finding.first_seen, screen, finding.onset), ()
    yield "began", _place(finding.onset, screen), ("bold",)
    yield "where", _where(finding, run, screen), ()
    yield "lasted", _lasted(finding, run), ()
    yield "ended", f"{ended}; {RETRYABLE[finding.retryable]}; {sure}", _alarm(going)
    yield "wasted", _spent(finding, of), ("red",)
    yield "also", _also(finding, screen), ()


def _spent(finding: Finding, of: str) -> str:
    """What a loop wasted; of failed API attempts, time and input, and what is not known of them."""
    waste = finding.waste
    if not waste.unknown:
        return wasted(waste, of if finding.onset.run == finding.last.run else "these agents")
    parts = [] if waste.waited is None else [f"{f.duration(waste.waited)} of waiting"]
    if waste.resent is not None:
        parts.append(f"{f.full(waste.resent)} input tokens sent again")
    known = ", ".join(parts)
    return f"{known}{'; ' if known else ''}not known: {'; '.join(waste.unknown)}"


def _also(finding: Finding, screen: Screen) -> str:
    """Other rules that saw it, each once; one line, but with `--why` all of them."""
    seen: dict[str, list[str]] = {}
    for text in finding.reasons:
        rule, colon, what = inert(text).partition(": ")
        if rule != finding.rule:
            seen.setdefault(rule if colon else "", []).append(what if colon else rule)
    parts = [f"{rule}: {_merged(what)}" if rule else "; ".join(what) for rule, what in seen.items()]
    if screen.why:
        return "; ".join(parts)
    room, kept = screen.width - _LABEL - 4, 1
    while kept < len(parts) and len("; ".join(parts[: kept + 1])) <= room:
        kept += 1
    return cut("; ".join(parts[:kept]), room) + ("; …" if kept < len(parts) else "")


def _merged(what: Sequence[str]) -> str:
    """`Edit 22 times`, `Edit 6 times` -> `Edit 22 and 6 times`"""
    times: dict[str, list[str]] = {}
    others = []
    for text in what:
        match = _TIMES.fullmatch(text)
        if match is None:
            others.append(text)
        else:
            times.setdefault(match[1], []).append(match[2])
    parts = [f"{tool} {' and '.join(many)}" for tool, many in times.items()]
    return ", ".join([*others, *([", ".join(parts) + " times"] if parts else [])])


def _alarm(going: bool) -> tuple[str, ...]:
    return ("bold", "red") if going else ()


def _guards(finding: Finding, guards: Sequence[GuardResult]) -> Iterator[tuple[str, str]]:
    """One sentence per guard; those that would have done nothing share one."""
    label = "guards"
    idle: dict[str, list[str]] = {}
    for guard in guards:
        stops = [stop for stop in finding.stops if stop.guard == guard.preset]
        if stops:
            across = finding.onset.run != finding.last.run  # then steps are of several runs
            onset = -1 if across else finding.onset.step
            yield label, f"{inert(guard.preset)}: {guard_sentence(stops, onset)}"
            label = ""
            continue
        lacking = {item.needs for item in guard.undecidable if item.run == finding.run}
        needs = sorted(lacking & _TELLING)
        limit = f", as far as a log without {' and '.join(needs)} can tell" if needs else ""
        idle.setdefault(limit, []).append(guard.preset)
    for limit, names in idle.items():
        yield label, inert(f"{', '.join(names)}: would not have stepped in{limit}")
        label = ""


def _confidence(value: float) -> str:
    return "high" if value >= _SURE else "medium" if value >= 0.5 else "low"


def _place(place: Place, screen: Screen, other: Place | None = None) -> str:
    """Step, time and file:line; of the file of `other`, which is told in full, the line only."""
    when = "" if place.at is None else f.moment(place.at, screen.zone)
    if when and screen.zone_name == "UTC":
        when += "Z"
    step = f"{place.step + 1:,}"
    if place.char_offset is not None:
        step += f", from character {place.char_offset + 1:,}"
    text = f"step {step:<4}  {when}".rstrip()
    if other is not None and (place.path, place.run) == (other.path, other.run):
        return f"{text}  line {place.line:,}"
    end = f":{place.line}"
    room = screen.width - _LABEL
    path = inert(place.path)
    # on the same line, else on the next one in full, else both of its ends
    return f"{text}  {cut_middle(path, max(room - len(end), 16))}{end}"


def _where(finding: Finding, run: RunSummary | None, screen: Screen) -> str:
    """A bar of the run with the loop in it; none where it spans several runs or a single step."""
    if run is None or run.steps < 2 or finding.onset.run != finding.last.run:
        return ""
    first, last = finding.onset.step, min(finding.last.step, run.steps - 1)
    if first >= run.steps:
        return ""  # attempts after the last response
    tail = f" steps {first + 1:,}-{last + 1:,} of {run.steps:,}"
    tail = tail.replace("steps", "step").replace(f"-{last + 1:,}", "") if first == last else tail
    return screen.bar(first, last, run.steps, min(40, screen.width - _LABEL - 2 - len(tail))) + tail


def _lasted(finding: Finding, run: RunSummary | None) -> str:
    if finding.onset.run != finding.last.run:
        return _lasted_across(finding)
    steps = finding.last.step - finding.onset.step + 1
    redundant = len({step.step for step in finding.waste.steps})
    parts = [
        f.count(steps, "step")
        + (f" ({redundant:,} redundant)" if redundant and redundant != steps else "")
    ]
    if finding.interruptions:
        parts.append(f.count(len(finding.interruptions), "interruption"))
    began, last = finding.onset.at, finding.last.at
    if began is not None and last is not None:
        parts.append(f.duration(last - began))
    if began is not None and run is not None and run.started is not None:
        parts.append(f"from {f.duration(began - run.started)} into the run")
    parts.append(f"to step {finding.last.step + 1:,} (line {finding.last.line:,})")
    period = finding.period or 1
    noun = f"round of {period}" if period > 1 else "time"
    often = f.count(finding.occurrences, noun, f"rounds of {period}" if period > 1 else None)
    text = f"{', '.join(parts)}; {often}"
    if finding.listed_steps:
        more = f.count(len(finding.listed_steps), "more step")
        text += f"; {more} redundant in part, not charged"
    return text


def _lasted_across(finding: Finding) -> str:
    """Over several runs steps do not add up: agents are counted."""
    agents = len({entry.run for entry in finding.waste.steps} | {finding.last.run})
    parts = [f.count(agents, "agent"), f"{f.count(len(finding.waste.steps), 'step')} redundant"]
    began, last = finding.onset.at, finding.last.at
    if began is not None and last is not None:
        parts.append(f.duration(last - began))
    return f"{', '.join(parts)}; {f.count(finding.occurrences, 'time')}"


def _common(paths: set[str]) -> str:
    """The folder that holds all of `paths`, relative where they are; one path stays as it is."""
    one = min(paths)
    try:
        folder = one if len(paths) == 1 else os.path.commonpath([*map(os.path.abspath, paths)])
        return folder if len(paths) == 1 or os.path.isabs(one) else os.path.relpath(folder)
    except ValueError:  # on different drives
        return one


def _look(finding: Finding) -> str:
    run, path = finding.onset.run, finding.onset.path
    if run != finding.last.run:  # over several runs: where all of them lie
        path = _common({place.path for place in (finding.first_seen, finding.onset, finding.last)})
    return f"loopaudit show {quote(inert(run[:200]))} {quote(inert(path))}"
