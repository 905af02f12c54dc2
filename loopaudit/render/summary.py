"""The head of the screen: how much, what it cost, how complete that is, what still runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from loopaudit.findings import Completeness, Report, Totals
from loopaudit.render import figures as f
from loopaudit.render import outcomes
from loopaudit.render.screen import Screen, table
from loopaudit.render.text import cut, cut_middle, inert

_MOST = 3  # lines of one kind
_REASONS = 2  # why totals are no whole, told without --why
_HEADING = {
    Completeness.COMPLETE: "Complete",
    Completeness.ESTIMATED: "Estimated",
    Completeness.LOWER_BOUND: "Lower bound",
    Completeness.PARTIAL: "Partial",
}
_MARK = {
    Completeness.COMPLETE: "",
    Completeness.ESTIMATED: "~",
    Completeness.LOWER_BOUND: "at least ",
    Completeness.PARTIAL: "at least ",
}


def summary(report: Report, screen: Screen, headline: str = "") -> Iterator[str]:
    """`headline` is the answer in one sentence; it stands right below what was looked at."""
    yield from _totals(report, screen, headline)
    yield from _readers(report, screen)
    yield from outcomes.head(report, screen)
    yield from _running(report, screen)
    yield from _sessions(report, screen)


def marked(totals: Totals, amount: str) -> str:
    """An amount of the totals with `~` or `at least` before it where it is not the whole."""
    return amount if amount == "unknown" else _MARK[totals.completeness] + amount


def windowed(report: Report) -> bool:
    return report.meta.get("since") is not None or report.meta.get("until") is not None


def _totals(report: Report, screen: Screen, headline: str) -> Iterator[str]:
    totals = report.totals
    if windowed(report):
        yield from screen.row(_window(report, screen), "bold")
    if not (totals.responses or totals.calls or totals.tokens.total):
        yield from screen.row(f"Nothing measured: {why_nothing(report, screen)}", "bold")
        if not report.inputs and not report.skips:
            yield from screen.row("`loopaudit sources` lists where agents have left logs.")
        if totals.reasons:
            yield from screen.row("; ".join(inert(reason) for reason in totals.reasons), "yellow")
        return
    mark = _MARK[totals.completeness]
    children = sum(run.parent is not None for run in report.runs)
    parts = [f.count(totals.runs - children, "session")]
    if children:
        parts.append(f.count(children, "sub-agent"))
    parts.append(f.count(totals.responses, "response"))
    parts.append(
        f.count(totals.calls, "call")
        + (f" ({totals.calls_failed:,} failed)" if totals.calls_failed else "")
    )
    head, period = ", ".join(parts), _period(report, screen)
    if period and len(head) + len(period) + 2 <= screen.width:
        head, period = f"{head}; {period}", ""
    yield from screen.row(head, "bold")
    if period:
        yield from screen.row(period, "bold")
    if headline:
        yield from screen.row(headline, "bold", "red" if report.findings else "green")
    tokens = totals.tokens
    if tokens.total is None:
        said = "Tokens and cost unknown: the log has no usage"
        if totals.recorded_usd is not None:
            cost = f.money(totals.recorded_usd)
            said = f"Tokens unknown: the log has no usage; it records {cost}"
        yield from screen.row(said)
    else:
        buckets = [
            f"{f.short(amount)} {name}"
            for amount, name in (
                (tokens.fresh_input, "fresh"),
                (tokens.cache_read, "cache read"),
                (tokens.cache_write, "cache write"),
                (tokens.output, "output"),
            )
            if amount is not None
        ]
        yield from screen.row(
            f"{mark}{f.full(tokens.total)} tokens" + (f": {', '.join(buckets)}" if buckets else "")
        )
        yield from screen.row(_cost(totals, mark), "bold")
    most = None if screen.why else _REASONS
    yield from screen.row(completeness(totals, most), *completeness_style(totals))


def _window(report: Report, screen: Screen) -> str:
    since, until = report.meta.get("since"), report.meta.get("until")
    words = [] if since is None else [f"from {f.moment(since, screen.zone, seconds=False)}"]
    words += [] if until is None else [f"to {f.moment(until, screen.zone, seconds=False)}"]
    text = f"In the window {' '.join(words)} {inert(screen.zone_name)}"
    undated = sum(run.started is None for run in report.runs)
    if undated:
        is_are = "is" if undated == 1 else "are"
        text += f"; {f.count(undated, 'run')} without times {is_are} counted whole"
    return text + ":"


def why_nothing(report: Report, screen: Screen) -> str:
    """The cause, where neither a response nor a call was found to count."""
    outside = report.meta.get("outside")  # runs without a step in the window: how many, from, to
    if outside:
        number, first, last = outside
        since, until = report.meta.get("since"), report.meta.get("until")
        sessions = f.count(number, "session")
        if since is not None and last is not None and last < since:
            before = f.moment(since, screen.zone, seconds=False)
            event = f.moment(last, screen.zone, seconds=False)
            return f"{sessions}, all before {before} (last event {event})"
        if until is not None and first is not None and first >= until:
            after = f.moment(until, screen.zone, seconds=False)
            event = f.moment(first, screen.zone, seconds=False)
            return f"{sessions}, all after {after} (first event {event})"
        return f"{sessions}, none with a step in the window"
    paths = ", ".join(inert(path) for path in report.meta.get("paths", ())[:_MOST])
    if not report.inputs and not report.skips and paths:
        return f"no log file in {paths}"
    forced = report.meta.get("log_format")
    if forced and not any(item.records_used for item in report.inputs):
        return f"no record of {paths or 'the input'} fits {inert(forced)}"
    return "no model response and no tool call found"


def _readers(report: Report, screen: Screen) -> Iterator[str]:
    """Which reader took the files, and how sure that was where there is one."""
    if len(report.inputs) == 1:
        (only,) = report.inputs
        yield from screen.row(f"Read as {inert(only.format)} ({f.share(only.confidence)})")
    elif report.inputs:
        kinds = Counter(item.format for item in report.inputs).most_common()
        text = ", ".join(f"{inert(name)} {f.count(many, 'file')}" for name, many in kinds[:_MOST])
        rest = len(kinds) - _MOST
        text += f", {rest:,} more" if rest > 0 else ""
        yield from screen.row(f"Read as {text}")


def _period(report: Report, screen: Screen) -> str:
    """First and last moment of what is counted: of a run only what lies in the window."""
    since, until = report.meta.get("since"), report.meta.get("until")
    started = min((run.started for run in report.runs if run.started is not None), default=None)
    ended = max((run.ended for run in report.runs if run.ended is not None), default=None)
    if started is None or ended is None:
        return ""
    started = started if since is None else max(started, since)
    ended = ended if until is None else min(ended, until)
    first = f.moment(started, screen.zone, seconds=False)
    same_day = first[:10] == f.moment(ended, screen.zone, seconds=False)[:10]
    last = f.moment(ended, screen.zone, seconds=False, date=not same_day)
    return f"{first} to {last} {inert(screen.zone_name)}"


def _cost(totals: Totals, mark: str) -> str:
    if totals.usd is None:
        named = _some(totals.unpriced_models)
        cost = "Cost unknown: " + (f"no price for {named}" if named else "no model is named")
    else:
        if totals.unpriced_tokens and not mark.startswith("at least"):
            mark = "at least "
        date = f" of {totals.price_date}" if totals.price_date else ""
        cost = f"{mark}{f.money(totals.usd)} at list prices{date}, not a bill"
        if totals.unpriced_models:
            cost += f"; no price for {_some(totals.unpriced_models)}"
    if totals.recorded_usd is not None:
        cost += f" (the logs record {f.money(totals.recorded_usd)})"
    return cost


def completeness(totals: Totals, most: int | None = None) -> str:
    """How complete the totals are, and why; `most`: reasons told, the others are counted."""
    reasons = [inert(reason) for reason in totals.reasons]
    if totals.unpriced_tokens and not any("price" in reason for reason in reasons):
        reasons.append(f"{f.full(totals.unpriced_tokens)} tokens without a price")
    text = _HEADING[totals.completeness]
    if most is not None and len(reasons) > most + 1:
        reasons[most:] = [f"{len(reasons) - most} more reasons (--why tells them)"]
    if reasons:
        text += (", except: " if text == "Complete" else ": ") + "; ".join(reasons)
    extra = []
    if totals.duplicates_removed:
        extra.append(f"{f.count(totals.duplicates_removed, 'duplicate')} left out")
    if totals.inherited_tokens:
        extra.append(f"{f.full(totals.inherited_tokens)} tokens inherited, counted once")
    return text + (f" ({'; '.join(extra)})" if extra else "")


def _some(names: list[str]) -> str:
    return ", ".join(cut(inert(name), 60) for name in names[:3]) + (" …" if len(names) > 3 else "")


def completeness_style(totals: Totals) -> tuple[str, ...]:
    plain = totals.completeness is Completeness.COMPLETE and not totals.reasons
    return () if plain and not totals.unpriced_tokens else ("yellow",)


def _running(report: Report, screen: Screen) -> Iterator[str]:
    """Logs that still grow, and old ones whose last line was never finished."""
    running = [(run.path, run.ended) for run in report.runs if run.still_running]
    yield from _open_logs("STILL RUNNING", running, report, screen)
    cut = set(report.meta.get("cut_tails", ())) - {path for path, _ in running}
    ends = {run.path: run.ended for run in report.runs}
    yield from _open_logs(
        "ENDS IN MID-LINE", [(path, ends.get(path)) for path in sorted(cut)], report, screen
    )


def _open_logs(
    what: str, logs: Sequence[tuple[str, float | None]], report: Report, screen: Screen
) -> Iterator[str]:
    """One line for all of them: the one with the newest event, and how many more."""
    if not logs:
        return
    path, ended = max(logs, key=lambda log: (log[1] is not None, log[1] or 0, log[0]))
    now = report.meta.get("now")
    text = "" if now is None or ended is None else f", last event {f.duration(now - ended)} ago"
    text += f"; {len(logs) - 1:,} more" if len(logs) > 1 else ""
    room = max(screen.width - len(what) - 2 - len(text), 16)
    yield from screen.row(f"{what}  {cut_middle(inert(path), room)}{text}", "bold", "yellow")


def _sessions(report: Report, screen: Screen) -> Iterator[str]:
    """Where the money went, when there is more than one run."""
    if len(report.runs) < 2:
        return
    ranked = sorted(
        report.runs,
        key=lambda run: (-(run.usd or 0), -(run.tokens.total or 0), run.path, run.id),
    )[:_MOST]
    if not any(run.tokens.total for run in ranked):
        return
    yield ""
    yield screen.style("Most expensive sessions", "bold")
    rows: list[tuple[str, ...]] = [("list price", "tokens", "steps", "wasted", "log")]
    for run in ranked:
        wasted = f.share(run.waste.share) if run.waste.steps else "-"
        rows.append((f.money(run.usd), f.short(run.tokens.total), f.full(run.steps), wasted))
    used = sum(
        max(map(cell_len, column)) + 2 for column in zip(*(r[:4] for r in rows), strict=True)
    )
    room = max(screen.width - used - 2, 16)
    paths = [cut_middle(inert(run.path), room) for run in ranked]
    rows[1:] = [(*row, path) for row, path in zip(rows[1:], paths, strict=True)]
    yield from table(rows, right=(0, 1, 2, 3))
