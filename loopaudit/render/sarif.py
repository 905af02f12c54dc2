"""The check as SARIF 2.1.0: a result for each place, rules from the reason codes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, TextIO
from urllib.parse import quote

from loopaudit.check.codes import CODES, Level
from loopaudit.check.result import CheckResult, Judgement, Spot
from loopaudit.render.check_rows import command, title
from loopaudit.render.text import inert, json_inert

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_LEVELS = {
    Level.ERROR: "error",
    Level.WARN: "warning",
    Level.UNKNOWN: "warning",
    Level.NOTE: "note",
}
_MOST_SPOTS = 50  # of one reason; GitHub takes 5,000 results of a run


def write(result: CheckResult, tool_version: str, stream: TextIO) -> None:
    ids = list(CODES)
    document = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "loopaudit",
                        "version": tool_version,
                        "informationUri": "https://pypi.org/project/loopaudit/",
                        "rules": [
                            {
                                "id": code.id,
                                "shortDescription": {"text": code.title},
                                "fullDescription": {"text": code.help},
                                "help": {"text": code.help},
                            }
                            for code in CODES.values()
                        ],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "invocations": [
                    {"executionSuccessful": int(result.code) < 2, "exitCode": int(result.code)}
                ],
                "results": [
                    one
                    for judgement in result.judgements
                    if judgement.level is not Level.OK
                    for one in _results(judgement, ids.index(judgement.code))
                ],
            }
        ],
    }
    stream.write(json_inert(json.dumps(document, indent=1, ensure_ascii=False)) + "\n")


def _results(one: Judgement, rule: int) -> Iterator[dict[str, Any]]:
    made: dict[str, Any] = {
        "ruleId": one.code,
        "ruleIndex": rule,
        "level": _LEVELS[one.level],
        "message": {"text": inert(title(one))},
    }
    if not one.spots:
        yield {**made, "partialFingerprints": {"loopaudit/v1": fingerprint(one)}}
    for spot in one.spots[:_MOST_SPOTS]:
        location = {
            "physicalLocation": {
                "artifactLocation": {"uri": uri(spot.path)},
                "region": {"startLine": max(spot.line, 1)},
            }
        }
        yield {
            **made,
            "message": {"text": inert(f"{title(one)} Look: {command(spot)}")},
            "locations": [location],
            "partialFingerprints": {"loopaudit/v1": fingerprint(one, spot)},
        }


def fingerprint(one: Judgement, spot: Spot | None = None) -> str:
    """The same reason on the same run keeps its fingerprint when figures or lines change."""
    parts = [one.code, one.task_type or "", one.guard or "", one.limit or ""]
    parts += [] if spot is None else [spot.finding or spot.run]
    if spot is None and one.limit is None:
        parts.append(one.message)
    return sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:32]


def uri(path: str) -> str:
    """A path as a URI reference, relative where the path is."""
    return quote(path.replace("\\", "/").encode("utf-8", "surrogateescape"), safe="/:~")
