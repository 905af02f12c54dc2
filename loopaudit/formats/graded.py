"""Outcomes as the graders of benchmarks write them, in one vocabulary.

"success" and "failure" where the grade is plain, "partial" for what lies between; the source keeps
the figure. What is no grade (an exit status) stays as it is written.
"""

from __future__ import annotations

import math
from typing import Any

SUCCESS, FAILURE, PARTIAL = "success", "failure", "partial"

#: grades in words: Inspect's letters, verdicts of harnesses
_WORDS = {
    **dict.fromkeys(("c", "correct", "pass", "passed", "success", "yes", "true"), SUCCESS),
    **dict.fromkeys(
        ("i", "incorrect", "n", "noanswer", "fail", "failed", "failure", "no", "false"), FAILURE
    ),
    **dict.fromkeys(("p", "partial"), PARTIAL),
}


def graded(value: Any, source: str, *, best: float = 1.0) -> tuple[str, str] | tuple[None, None]:
    """(outcome, source) of one grade: a verdict, a letter, or a number from 0 to `best`.

    Numbers outside that range, and words that are no grade, give (None, None).
    """
    if isinstance(value, bool):
        return (SUCCESS if value else FAILURE), source
    if isinstance(value, str):
        known = _WORDS.get(value.strip().lower())
        return (known, source) if known else (None, None)
    if not isinstance(value, int | float):
        return None, None
    if (isinstance(value, float) and not math.isfinite(value)) or not 0 <= value <= best:
        return None, None
    if value == best:
        return SUCCESS, source
    if value == 0:
        return FAILURE, source
    return PARTIAL, f"{source} {value:g}"
