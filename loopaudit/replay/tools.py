"""Per tool the share of its calls that were redundant, worst first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

from loopaudit.findings import Finding, ToolWaste
from loopaudit.replay.results import RunResult
from loopaudit.replay.totals import Priced


def worst_tools(
    runs: Sequence[tuple[RunResult, Priced, Sequence[Finding]]],
) -> list[ToolWaste]:
    """Tools with redundant calls, by their share of the tool's calls, then by their number.

    Calls outside the time window, and those that another run owns, count on neither side.
    """
    redundant: Counter[str] = Counter()
    for _, _, findings in runs:
        for finding in findings:
            redundant.update(finding.redundant)
    if not redundant:
        return []
    calls: Counter[str] = Counter()
    for found, priced, _ in runs:
        calls += _calls(found, priced)
    worst = [ToolWaste(tool, max(calls[tool], many), many) for tool, many in redundant.items()]
    return sorted(worst, key=lambda t: (-t.redundant / t.calls, -t.redundant, t.tool))


def _calls(found: RunResult, priced: Priced) -> Counter[str]:
    table = found.columns
    if len(priced.own) == len(table):
        return Counter({table.tools[n] or "": many for n, many in Counter(table.tool).items()})
    ends = list(accumulate(table.calls))
    counted: Counter[str] = Counter()
    for step in priced.own:
        for place in range(ends[step] - table.calls[step], ends[step]):
            counted[table.tools[table.tool[place]] or ""] += 1
    return counted
