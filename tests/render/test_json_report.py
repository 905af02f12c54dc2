"""The JSON report keeps its frozen shape, whatever is inside."""

from __future__ import annotations

import io
import json
from dataclasses import fields, is_dataclass
from decimal import Decimal
from typing import Any

import jsonschema
import pytest
from example import report

from loopaudit.findings import Finding, Report, Totals
from loopaudit.render.json_report import write
from loopaudit.render.schema import report_schema


def written(found: Report, **more: bool) -> str:
    stream = io.StringIO()
    write(found, stream, **more)
    return stream.getvalue()


def refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


def read(found: Report, **more: bool) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(written(found, **more), parse_constant=refuse)
    jsonschema.validate(document, report_schema())
    return document


#: the contract, word for word: what each object must hold at least
CONTRACT = {
    "": "schema_version tool_version inputs skips totals runs findings not_loops guards spin"
    " failures",
    "inputs": "path format confidence lines records_used records_ignored skips runs missing",
    "skips": "path line reason",
    "totals": "runs responses calls calls_failed duplicates_removed tokens usd price_date unpriced"
    " completeness reasons waste",
    "totals.tokens": "fresh_input cache_read cache_write output total reasoning",
    "totals.unpriced": "tokens models",
    "totals.waste": "steps tokens usd share",
    "runs": "id parent path format agent task_type outcome steps calls started ended tokens usd"
    " waste",
    "runs.outcome": "label source",
    "findings": "id rule run confidence retryable call period occurrences first_seen onset last"
    " ended_by waste reasons advice stops",
    "findings.call": "tool key",
    "findings.onset": "run step call path line at char_offset",
    "findings.first_seen": "run step call path line at char_offset",
    "findings.last": "run step call path line at char_offset",
    "findings.waste": "steps tokens cache_read usd share",
    "findings.waste.steps": "run step part",
    "findings.stops": "guard detector level threshold step saved_tokens_at_most saved_usd_at_most",
    "not_loops": "run kind step reason",
    "guards": "preset runs_stopped verdicts undecidable",
    "guards.verdicts": "run step call detector level count reason recoverable budget",
    "guards.undecidable": "run detector needs",
    "spin": "mean_steps_recorded mean_steps_guarded tokens_saved_share",
}


def at(document: Any, path: str) -> Any:
    """The first object found under a path, looking into lists for one that goes on."""
    found = [document]
    for key in path.split(".") if path else ():
        found = [item[key] for item in found]
        found = [
            item for value in found for item in (value if isinstance(value, list) else [value])
        ]
    return found[0]


@pytest.mark.parametrize("path", CONTRACT)
def test_every_key_of_the_contract_is_there(path: str) -> None:
    assert set(CONTRACT[path].split()) <= set(at(read(report()), path))


def test_values_come_through() -> None:
    document = read(report())
    assert document["schema_version"] == "1"
    assert document["totals"]["usd"] == "61.3987"
    assert document["totals"]["unpriced"] == {"tokens": 40112, "models": ["glm-x"]}
    assert document["totals"]["completeness"] == "partial"
    assert document["totals"]["waste"]["steps"] == 61 + 19 + 30
    first = document["findings"][0]
    assert (first["onset"]["step"], first["onset"]["line"]) == (211, 1904)
    assert first["onset"]["at"] == "2026-05-01T14:07:31Z"
    assert (first["retryable"], first["ended_by"]) == ("no", "user")
    assert first["waste"]["steps"][0] == {"run": "c4f1a9", "step": 211, "part": 1.0}
    assert first["stops"][2]["saved_usd_at_most"] == "27.4449"
    assert document["guards"][1]["verdicts"][1] == {
        "run": "c4f1a9",
        "step": 219,
        "call": 0,
        "detector": "generic_repeat",
        "level": "stop",
        "count": 8,
        "threshold": 8,
        "reason": "exec repeated 8 times",
        "recoverable": None,
        "budget": None,
    }


def test_what_is_not_known_is_null() -> None:
    document = read(report())
    odd = document["runs"][3]
    assert odd["usd"] is odd["started"] is odd["tokens"]["total"] is odd["outcome"]["label"] is None
    lost = document["findings"][2]["waste"]
    assert lost["tokens"] is lost["usd"] is lost["share"] is None


def test_an_empty_report_is_valid() -> None:
    document = read(Report("0.1.0"))
    assert document["findings"] == document["runs"] == []
    assert document["totals"]["usd"] is None


def test_no_nan_and_no_infinity() -> None:
    found = report()
    found.findings[0].confidence = float("nan")
    found.findings[0].stops[0].threshold = float("inf")
    found.spin.mean_steps_recorded = float("nan")
    found.totals.usd = Decimal("NaN")
    found.runs[0].started = float("inf")
    document = json.loads(written(found), parse_constant=refuse)
    assert document["findings"][0]["confidence"] is None
    assert document["totals"]["usd"] is document["runs"][0]["started"] is None


def test_hostile_text_stays_escaped_and_the_output_is_valid_utf8() -> None:
    text = written(report(), excerpts=True)
    text.encode()
    assert not any(c in text for c in "\x1b\x07\u202e\ud83d")
    call = json.loads(text)["findings"][2]["call"]
    assert call["text"].startswith(
        '订单状态 {"城市":"北京","note":"\x1b[2J\x1b]0;owned\x07\u202eevil<scr'
    )
    assert json.loads(text)["findings"][2]["run"] == "odd\ufffd"


def test_excerpts_are_left_out_unless_asked_for() -> None:
    assert "pytest -q" not in written(report())
    assert "pytest -q" in written(report(), excerpts=True)


def test_same_report_same_bytes_one_item_a_line() -> None:
    assert written(report()) == written(report())
    lines = written(report()).splitlines()
    assert sum(line.startswith('{"id":"lp-') for line in lines) == 3


def test_the_schema_is_valid_and_knows_every_key_written() -> None:
    schema = report_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(read(report()), closed(schema))


def closed(schema: Any) -> Any:
    """The schema with unknown keys forbidden everywhere."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    shut = {key: closed(value) for key, value in schema.items()}
    if shut.get("type") == "object" and "properties" in shut:
        shut["additionalProperties"] = False
    return shut


def test_nothing_known_to_a_finding_or_a_total_is_dropped() -> None:
    document = read(report(), excerpts=True)
    assert {f.name for f in fields(Finding)} - {"tool", "key"} <= set(document["findings"][0])
    gone = {"unpriced_tokens", "unpriced_models"}
    assert {f.name for f in fields(Totals)} - gone <= set(document["totals"])
    assert is_dataclass(Finding)
