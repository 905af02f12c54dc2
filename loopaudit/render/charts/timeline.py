"""A timeline of the calls of one run: what was repeated, and when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from loopaudit.findings import Finding
from loopaudit.model import BoundaryKind, CallStatus, Run
from loopaudit.render.charts.series import Span, spans
from loopaudit.render.charts.style import (
    BLUE,
    GREY,
    ORANGE,
    WASTE,
    figure,
    label,
    legend,
    whole_steps,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: rows of calls at most: the most repeated ones; all others share one row
MOST = 18


@dataclass(slots=True)
class Timeline:
    """Calls by what they repeat. `names`: a row each; `points`: one a call."""

    run: str
    names: list[str] = field(default_factory=list)
    points: list[dict[str, Any]] = field(default_factory=list)
    boundaries: list[tuple[int, str]] = field(default_factory=list)  # step, kind
    spans: list[Span] = field(default_factory=list)
    steps: int = 0


def timeline(run: Run, findings: Sequence[Finding], *, excerpts: bool = False) -> Timeline:
    """Rows by call key; with `excerpts` they show arguments, else tool and a short hash."""
    out = Timeline(run.id, spans=spans(findings), steps=len(run.steps))
    calls = run.calls
    often: dict[int, int] = {}
    first: dict[int, int] = {}
    for call in calls:
        often[call.key] = often.get(call.key, 0) + 1
        first.setdefault(call.key, call.index)
    repeated = sorted(
        (key for key, times in often.items() if times > 1), key=lambda k: (-often[k], first[k])
    )
    shown = sorted(repeated[:MOST], key=lambda key: first[key])
    row_of = {key: row for row, key in enumerate(shown)}
    for key in shown:
        call = calls[first[key]]
        what = call.args if excerpts and call.args else f"#{key & 0xFFFF:04x}"
        out.names.append(f"{call.tool} {what}  ×{often[key]}")
    rest = sum(1 for call in calls if call.key not in row_of)
    if rest:
        out.names.append(f"all other calls  ×{rest}")
    spun = {step for span in out.spans for step in range(span.onset, span.last + 1)}
    for call in calls:
        out.points.append(
            {
                "run": run.id,
                "step": call.step + 1,
                "call": call.index + 1,
                "tool": call.tool,
                "key": f"{call.key:015x}",
                "row": row_of.get(call.key, len(shown)),
                "status": call.status.value,
                "repeated": call.key in row_of,
                "in_loop": call.step in spun,
                "started": call.started,
                "ended": call.ended,
            }
        )
    for step in run.steps:
        for boundary in step.before:
            if boundary.kind in (BoundaryKind.USER, BoundaryKind.COMPACTION):
                out.boundaries.append((step.index, boundary.kind.value))
    return out


def draw(data: Timeline, when: str) -> Figure:
    """A dot a call: filled where it succeeded, a cross where it failed."""
    rows = len(data.names)
    drawn, axes = figure(f"What was repeated: {data.run}", when, rows=rows)
    for span in data.spans:
        axes.axvspan(span.onset + 0.5, span.last + 1.5, color=WASTE, alpha=0.15, linewidth=0)
    for step, kind in data.boundaries[:400]:
        line = (0, (1, 2)) if kind == BoundaryKind.USER.value else (0, (5, 2))
        axes.axvline(step + 0.5, color=GREY, linewidth=0.8, linestyle=line)
    kinds = (
        ("ok", [p for p in data.points if p["status"] == CallStatus.OK], "o", None),
        ("failed", [p for p in data.points if p["status"] == CallStatus.ERROR], "X", WASTE),
        (
            "not run or unanswered",
            [p for p in data.points if p["status"] not in (CallStatus.OK, CallStatus.ERROR)],
            "s",
            ORANGE,
        ),
    )
    for name, points, marker, colour in kinds:
        if points:
            axes.scatter(
                [p["step"] for p in points],
                [rows - 1 - p["row"] for p in points],
                s=26,
                marker=marker,
                color=colour or BLUE,
                label=name,
                rasterized=len(points) > 5_000,
            )
    axes.set_yticks(range(rows - 1, -1, -1), [label(name, 44) for name in data.names], fontsize=8)
    axes.set_ylim(-0.7, rows - 0.3)
    whole_steps(axes, 1, max(data.steps, 1))
    axes.set_xlabel("step (dotted: user message, dashed: compaction, shaded: loop)")
    legend(drawn, axes)
    return drawn
