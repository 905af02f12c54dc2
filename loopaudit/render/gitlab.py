"""The check as a GitLab code quality report: a list of issues, each with a place."""

from __future__ import annotations

import json
from typing import Any, TextIO

from loopaudit.check.codes import Level
from loopaudit.check.result import CheckResult, Judgement, Spot
from loopaudit.render.check_rows import command, title
from loopaudit.render.sarif import fingerprint
from loopaudit.render.text import inert, json_inert

_SEVERITY = {
    Level.ERROR: "critical",
    Level.UNKNOWN: "major",
    Level.WARN: "minor",
    Level.NOTE: "info",
}
_MOST_SPOTS = 50
_NOWHERE = "loopaudit.toml"  # an issue must have a place


def write(result: CheckResult, stream: TextIO) -> None:
    issues = []
    for one in result.judgements:
        if one.level is Level.OK:
            continue
        spots: tuple[Spot | None, ...] = one.spots[:_MOST_SPOTS] or (None,)
        issues += [_issue(one, spot) for spot in spots]
    text = json.dumps(issues, indent=1, ensure_ascii=False)
    stream.write(json_inert(text) + "\n")


def _issue(one: Judgement, spot: Spot | None) -> dict[str, Any]:
    look = "" if spot is None else f" Look: {command(spot)}"
    return {
        "description": inert(title(one) + look),
        "check_name": one.code,
        "fingerprint": fingerprint(one, spot),
        "severity": _SEVERITY[one.level],
        "location": {
            "path": _NOWHERE if spot is None else inert(spot.path),
            "lines": {"begin": 1 if spot is None else max(spot.line, 1)},
        },
    }
