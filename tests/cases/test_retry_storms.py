"""Storms of API attempts in the default report: what was waited, sent again, and is not known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from builders import Line, attempt, command, put, report, spelled, step, user
from test_totals_cases import claude, spent

START = 1_777_629_600.0


def failed(n: int, status: int = 529, **more: Any) -> Line:
    at = f"2026-05-01T10:{n // 60:02}:{n % 60:02}Z"
    return {"type": "attempt", "at": at, "http_status": status, "message": "no", **more}


def answered(minutes: int = 30, **more: Any) -> Line:
    usage = {"fresh_input": 2_000, "cache_read": 1_000, "output": 100}
    at = f"2026-05-01T10:{minutes:02}:00Z"
    return {"type": "response", "id": "m1", "at": at, "usage": usage, "text": "Here.", **more}


def log(tmp_path: Path, *lines: Line) -> Line:
    asked = {"type": "boundary", "kind": "user", "text": "Write it."}
    return report(put(tmp_path / "log.jsonl", [{"loopaudit": 1}, asked, *lines]))


def test_a_storm_before_an_answer(tmp_path: Path) -> None:
    found = log(tmp_path, *(failed(30 * n) for n in range(20)), answered())
    (storm,) = found["findings"]
    assert (storm["rule"], storm["occurrences"]) == ("retries-over-policy", 20)
    assert (storm["first_seen"]["line"], storm["onset"]["line"], storm["last"]["line"]) == (
        3,
        4,
        22,
    )
    assert (storm["ended_by"], storm["retryable"]) == ("recovered", "yes")
    waste = storm["waste"]
    assert waste["steps"] == []
    assert waste["waited_seconds"] == 30 * 60  # from the first failure to the answer
    assert waste["resent_tokens"] == 20 * 3_000
    assert [text.partition(":")[0] for text in waste["unknown"]] == [
        "what the failed attempts cost"
    ]
    assert found["totals"]["tokens"]["total"] == 3_100
    assert found["totals"]["waste"]["tokens"] == 0  # no step was redundant
    screen = command("report", tmp_path / "log.jsonl").out
    assert "30 min of waiting, 60,000 input tokens sent again; not known:" in screen


def test_a_storm_and_no_answer_at_all(tmp_path: Path) -> None:
    found = log(tmp_path, *(failed(10 * n, 401) for n in range(36)))
    (storm,) = found["findings"]
    assert (storm["rule"], storm["occurrences"]) == ("permanent-error-retried", 36)
    assert (storm["ended_by"], storm["retryable"]) == ("end_of_log", "no")
    assert any(reason.startswith("retries-over-policy") for reason in storm["reasons"])
    assert storm["waste"]["waited_seconds"] == 350
    assert storm["waste"]["resent_tokens"] is None
    assert "how much input was sent again" in " ".join(storm["waste"]["unknown"])
    ended = command("report", tmp_path / "log.jsonl")
    assert "LOOP 1  permanent-error-retried" in ended.out
    assert command("show", "log", tmp_path / "log.jsonl").code in (0, 3)


def test_a_spent_quota_that_is_sent_as_429(tmp_path: Path) -> None:
    body = {"code": "insufficient_quota", "message": "You exceeded your current quota"}
    found = log(tmp_path, *(failed(n, 429, **body) for n in range(5)), answered())
    (storm,) = found["findings"]
    assert (storm["rule"], storm["retryable"]) == ("permanent-error-retried", "no")


def test_layers_that_multiply(tmp_path: Path) -> None:
    rounds = [
        failed(10 * r + n, 503, number=n, layer="sdk") for r in range(4) for n in (1, 2, 3)
    ] + [failed(50, 503, number=4, layer="agent")]
    (storm,) = log(tmp_path, *rounds, answered())["findings"]
    # (3 + 1) tries of the SDK times (4 + 1) of the agent
    assert (storm["rule"], storm["occurrences"]) == ("nested-retries", 20)


def test_neither_waits_nor_times(tmp_path: Path) -> None:
    lines = [{"type": "attempt", "http_status": 529} for _ in range(15)]
    (storm,) = log(tmp_path, *lines, {**answered(), "at": None})["findings"]
    assert storm["waste"]["waited_seconds"] is None
    assert any("how long it waited" in text for text in storm["waste"]["unknown"])


def test_recorded_waits(tmp_path: Path) -> None:
    lines = [{"type": "attempt", "http_status": 529, "wait": 2.5} for _ in range(15)]
    (storm,) = log(tmp_path, *lines, {**answered(), "at": None})["findings"]
    assert storm["waste"]["waited_seconds"] == 37.5


QUIET = {
    "as many as the largest policy shipped": [failed(n) for n in range(10)] + [answered()],
    "two, and an answer": [failed(0), failed(2), answered()],
    "two permanent ones": [failed(0, 400), failed(2, 400), answered()],
    "ten for each of two requests": [
        *(failed(n) for n in range(10)),
        {"type": "boundary", "kind": "user", "text": "Try again."},
        *(failed(60 + n) for n in range(10)),
        answered(),
    ],
    "three for each of eight steps": [
        line
        for s in range(8)
        for line in (
            *(failed(60 * s + n) for n in range(3)),
            answered(s + 1, id=f"m{s}", text=f"Part {s}."),
        )
    ],
    "one layer that counts its tries": [failed(n, 503, number=n + 1, layer="sdk") for n in range(8)]
    + [answered()],
}


@pytest.mark.parametrize("name", QUIET)
def test_retries_within_reason(name: str, tmp_path: Path) -> None:
    assert log(tmp_path, *QUIET[name])["findings"] == []


@pytest.mark.parametrize("form", ["loopaudit", "codex", "http_log"])
def test_a_storm_in_other_formats(form: str, tmp_path: Path) -> None:
    entries = [user("Write it."), *[attempt(529)] * 20, step(1_000, text="Here it is.")]
    names = {"codex": "rollout-2026-05-01T10-00-00-5d0c7a1e.jsonl"}
    path = put(tmp_path / names.get(form, "log.jsonl"), spelled(form, entries))
    (storm,) = report(path)["findings"]
    assert storm["rule"] in ("retries-over-policy", "nested-retries")
    assert storm["waste"]["resent_tokens"] == 20 * 900


def test_a_storm_in_claude_code(tmp_path: Path) -> None:
    lines = [claude("S", "M1", 1, spent(1_000))]
    for n in range(1, 13):
        error = {"status": 529, "error": {"type": "overloaded_error"}}
        retry = {"retryInMs": 1_000 * n, "retryAttempt": n, "maxRetries": 20}
        line = {k: v for k, v in lines[0].items() if k not in ("message", "requestId")}
        more = {"type": "system", "subtype": "api_error", "error": error, "uuid": f"e{n}"}
        lines.append({**line, **more, **retry, "timestamp": f"2026-05-01T11:00:{n:02}.000Z"})
    lines.append({**claude("S", "M2", 2, spent(1_000)), "timestamp": "2026-05-01T11:02:00.000Z"})
    (storm,) = report(put(tmp_path / "S.jsonl", lines))["findings"]
    assert (storm["rule"], storm["occurrences"]) == ("retries-over-policy", 12)
    assert storm["waste"]["waited_seconds"] == 119
