"""The comparison with other programs: the second reading agrees, and a difference is a failure."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMPARE = ROOT / "tests/benchmarks/totals/compare.py"


def line(ident: str, output: int, **more: object) -> str:
    usage = {"input_tokens": 100, "cache_read_input_tokens": 1_000, "output_tokens": output}
    message = {"id": ident, "role": "assistant", "model": "claude-opus-4-5", "usage": usage}
    record = {"type": "assistant", "sessionId": "s", "requestId": f"req-{ident}", "uuid": ident}
    record |= {"timestamp": "2026-01-05T10:00:00.000Z", "message": message, **more}
    return json.dumps(record, separators=(",", ":"))


def program(folder: Path, name: str, prints: str) -> None:
    place = folder / "node_modules/.bin" / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"#!/bin/sh\ncat <<'END'\n{prints}\nEND\n")
    place.chmod(0o755)


def peers(folder: Path, output: int) -> None:
    """Programs that print what the peers print; each response cost 100/1e6 x 5 + 1000/1e6 x 0.5
    and 25 a million of output."""
    usd = 2 * 0.001 + output * 25 / 10**6
    totals = {"inputTokens": 200, "cacheReadTokens": 2_000, "cacheCreationTokens": 0}
    program(
        folder,
        "ccusage",
        json.dumps({"totals": {**totals, "outputTokens": output, "totalCost": usd}}),
    )
    event = {"inputTokens": 200, "cacheReadTokens": 2_000, "cacheWriteTokens": 0}
    program(folder, "llm-usage", json.dumps({**event, "outputTokens": output, "costUsd": usd}))


def compare(tmp_path: Path, *folders: Path) -> tuple[int, str]:
    command = [sys.executable, str(COMPARE), *map(str, folders), "--peers", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert "Traceback" not in ended.stderr
    return ended.returncode, ended.stdout


def session(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    lines = [line("msg_0123456789abcdef", 1), line("msg_0123456789abcdef", 30)]  # one response
    lines.append(line("msg_0123456789abcdeg", 70))
    (folder / "s.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def test_equal_totals_pass(tmp_path: Path) -> None:
    peers(tmp_path, 100)
    code, shown = compare(tmp_path, session(tmp_path))
    assert code == 0, shown
    assert "UNEXPLAINED" not in shown


def test_a_difference_of_one_token_fails(tmp_path: Path) -> None:
    peers(tmp_path, 101)
    code, shown = compare(tmp_path, session(tmp_path))
    assert code == 1
    assert shown.count("UNEXPLAINED") == 2


def test_a_known_habit_explains_its_lines_and_no_more(tmp_path: Path) -> None:
    peers(tmp_path, 100)
    folder = session(tmp_path)
    inner = json.loads(line("msg_of_a_sub_agent_1", 9))
    data = {"type": "agent_progress", "agentId": "a1", "message": inner}
    outer = {
        "type": "progress",
        "data": data,
        "sessionId": "s",
        "timestamp": "2026-01-05T10:00:01.000Z",
        "uuid": "p",
    }
    with (folder / "s.jsonl").open("a") as stream:
        stream.write(json.dumps(outer, separators=(",", ":")) + "\n")
    code, shown = compare(tmp_path, folder)
    assert code == 0, shown
    assert "p/s.jsonl:4" in shown
    assert shown.count("-9") >= 2


def test_no_peer_is_not_a_pass(tmp_path: Path) -> None:
    code, shown = compare(tmp_path, session(tmp_path))
    assert code == 2
    assert "ccusage@20.0.24" in shown


def test_the_second_reading_of_the_real_sessions(shared: Path) -> None:
    """20,413 / 80,279,038 / 3,477,197 / 75,010 on the main lines, by ccusage too."""
    code = (
        "from pathlib import Path; import sys, records, stages\n"
        "real = [r for r in records.claude(Path(sys.argv[1])) if '/' not in r.path]\n"
        "found = stages.Counted(real)\n"
        "print([int(n) for n in list(found.sums().values())[:4]])\n"
        "found.records = [r for r in found.records if not r.progress]\n"
        "print([int(n) for n in list(found.sums().values())[:4]])\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, str(shared / "corpus/claude_code")],
        capture_output=True,
        text=True,
        check=True,
        cwd=COMPARE.parent,
    )
    assert ended.stdout.splitlines() == [
        "[51030, 83558648, 3877553, 75518]",
        "[20413, 80279038, 3477197, 75010]",
    ]
