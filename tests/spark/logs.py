"""Logs in which the same runs and responses stand in several files, in every way there is."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).resolve().parents[2] / "sample_logs"


def claude_lines(session: str, first: int, last: int, origin: str = "") -> list[dict[str, Any]]:
    """Records of Claude Code: responses `first` to `last` of a session, 1,150 tokens each, with a
    call each that fails alike; their ids are those of `origin`."""
    records: list[dict[str, Any]] = []
    for n in range(first, last):
        common = {"sessionId": session, "version": "2.0.1", "cwd": "/w", "isSidechain": False}
        at = f"2026-11-20T10:{n:02d}:00.000Z"
        call = {"type": "tool_use", "id": f"toolu_{origin or session}_{n:04d}", "name": "Bash"}
        message = {
            "id": f"msg_{origin or session}_{n:04d}",
            "role": "assistant",
            "model": "claude-sonnet-4-5-20250929",
            "content": [{**call, "input": {"command": "pytest -q"}}],
            "stop_reason": "tool_use",
            "usage": {
                "input_tokens": 100,
                "cache_read_input_tokens": 1000,
                "cache_creation_input_tokens": 0,
                "output_tokens": 50,
            },
        }
        uuid = f"{session}-{n}"
        records.append(
            {"type": "assistant", "uuid": uuid, "timestamp": at, "message": message, **common}
        )
        result = {"type": "tool_result", "tool_use_id": call["id"], "is_error": True}
        content = [{**result, "content": "1 failed: test_harbour"}]
        told = {"role": "user", "content": content}
        records.append(
            {"type": "user", "uuid": f"{uuid}r", "timestamp": at, "message": told, **common}
        )
    return records


def write(path: Path, records: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def build(root: Path) -> Path:
    """48 responses of sessions `a` to `e`, beside copies of them, and the samples."""
    logs = root / "logs"
    write(logs / "p" / "a.jsonl", claude_lines("aaaaaaaa-1111", 0, 20))
    # resumed after a had ended: the first ten responses are those of a, two are its own
    copied = claude_lines("bbbbbbbb-2222", 0, 10, "aaaaaaaa-1111")
    write(logs / "p" / "b.jsonl", copied + claude_lines("bbbbbbbb-2222", 30, 32))
    # one session in three files of one project, not in order of their names
    write(logs / "q" / "z.jsonl", claude_lines("cccccccc-3333", 0, 5))
    write(logs / "q" / "x.jsonl", claude_lines("cccccccc-3333", 5, 10))
    write(logs / "q" / "y.jsonl", claude_lines("cccccccc-3333", 10, 15))
    # the same file twice, in two folders; and an archive of it
    write(logs / "r" / "d.jsonl", claude_lines("dddddddd-4444", 0, 10))
    write(logs / "s" / "d.jsonl", claude_lines("dddddddd-4444", 0, 10))
    (logs / "r" / "d.jsonl.gz").write_bytes(gzip.compress((logs / "r" / "d.jsonl").read_bytes()))
    # a log without ids, and its archive
    plain = (SAMPLES / "openai_chat" / "conversation_a_line.jsonl").read_bytes()
    (logs / "t").mkdir()
    (logs / "t" / "chat.jsonl").write_bytes(plain)
    (logs / "t" / "chat.jsonl.gz").write_bytes(gzip.compress(plain))
    # what can be lost
    (logs / "u").mkdir()
    (logs / "u" / "empty.jsonl").write_bytes(b"")
    (logs / "u" / "notes.txt").write_text("no log")
    broken = json.dumps(claude_lines("eeeeeeee-5555", 0, 1)[0])
    (logs / "u" / "broken.jsonl").write_text(f'{broken}\n{{"type": "user", \n{broken[:100]}')
    for name in ("claude_code", "codex", "rules", "opencode", "goose"):
        shutil.copytree(SAMPLES / name, logs / name)
    for path in logs.rglob("*"):  # nobody writes there any more
        os.utime(path, (1_796_000_000, 1_796_000_000))
    return logs
