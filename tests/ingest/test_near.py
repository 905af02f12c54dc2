"""The formats nearest to an unknown log. Run as a program, it writes `near.toml` anew."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loopaudit.ingest import near
from loopaudit.ingest.head import Head
from loopaudit.ingest.sources import discover

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "loopaudit" / "ingest" / "near.toml"


def keys_in_samples() -> dict[str, list[str]]:
    """Format -> keys of the records of its sample logs that are JSON or YAML."""
    found: dict[str, set[str]] = {}
    for folder in sorted((ROOT / "sample_logs").iterdir()):
        if not folder.is_dir() or folder.name == "rules":
            continue
        for source in discover([str(folder)]).sources:
            head = Head(source, None)
            try:
                if head.format.name == folder.name and not head.format.tables:
                    values = [value for _, value in head.values or ()]
                    values += [value for _, value in head.rows if value is not None]
                    found.setdefault(folder.name, set()).update(near.keys_of(values))
            finally:
                head.close()
    return {name: sorted(keys)[:80] for name, keys in found.items() if keys}


def as_toml(found: dict[str, list[str]]) -> str:
    lines = ["# Made by tests/ingest/test_near.py from sample_logs: do not change by hand."]
    lines += [f"{name} = {json.dumps(keys)}" for name, keys in found.items()]
    return "\n".join(lines) + "\n"


def test_the_table_is_that_of_the_sample_logs() -> None:
    assert FILE.read_text(encoding="utf-8") == as_toml(keys_in_samples()), "run this file"


@pytest.mark.parametrize(
    ("record", "name", "lacks"),
    [
        ({"timestamp": "t", "type": "x", "payload_": {}, "sessionId": "s", "uuid": "u",
          "parentUuid": None, "message_": 1}, "claude_code", "message"),
        ({"trajectory": [], "inf": {}, "history": []}, "swe_agent", "info"),
    ],
)  # fmt: skip
def test_the_nearest_is_named_with_what_is_missing(
    record: dict[str, object], name: str, lacks: str
) -> None:
    found = {one.format: one for one in near.nearest([record])}
    assert name in found
    assert lacks in found[name].lacks


@pytest.mark.parametrize(
    "record",
    [{}, {"zzz": 1}, [], 7, {"a": {"b": {}}}, {"x" * 5000: 1}, {7: 8}],
)
def test_nothing_is_near_what_shares_nothing(record: object) -> None:
    assert near.nearest([record]) == []


if __name__ == "__main__":
    FILE.write_text(as_toml(keys_in_samples()), encoding="utf-8")
