"""Operations whose phases are spans of their own, as BeeAI writes them: `….start-12`,
`….success-12`, `….finish-12`. They are put together into the span of the start."""

from __future__ import annotations

import re

from loopaudit.formats.tracing.span_calls import lend, lend_result
from loopaudit.formats.tracing.spans import Kind, Span

_PHASE = re.compile(
    r"((?:backend|tool|agent)\..+)\.(start|success|finish|error|retry|update|partial_update"
    r"|new_?token)-(\d{1,9})",
    re.IGNORECASE,
)


def join_phases(spans: dict[tuple[str, str], Span]) -> None:
    """Make one span of each such operation; the others are left to be ignored by name."""
    phases: dict[tuple[str, str, str], list[tuple[str, Span]]] = {}
    for span in spans.values():
        match = _PHASE.fullmatch(span.name)
        if match is not None:
            key = (span.trace, match[1], match[3])
            phases.setdefault(key, []).append((match[2].lower(), span))
    for (_, operation, _), found in phases.items():
        began = next((span for phase, span in found if phase == "start"), None)
        for phase, span in found:
            if span is began and span.kind in (Kind.MODEL, Kind.TOOL):
                span.end = None
                continue
            told = span.kind
            span.kind, span.what = Kind.OTHER, f"{operation.partition('.')[0]} {phase}"
            if began is None or began is span:
                continue
            if began.kind is Kind.MODEL and told is Kind.MODEL:
                lend(span, began)
            elif began.kind is Kind.TOOL and phase in ("success", "error"):
                lend_result(span, began)
                began.failed = began.failed or phase == "error"
            ends = phase in ("success", "error", "finish")
            if ends and span.start is not None and (began.end is None or phase != "finish"):
                began.end = span.start
