"""Totals and money of the public cases (B7, B8, C, S2, S3, S11, S13), through the command line."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from builders import Line, command, put, report, spelled, step, user, verb

T0 = "2026-05-01T10:00:"


def claude(session: str, ident: str, second: int, usage: Line, *blocks: Line, **more: Any) -> Line:
    """A Claude Code line of one response."""
    model = more.pop("model", "claude-sonnet-4-5-20250929")
    message = {
        "id": ident,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": list(blocks) or [{"type": "text", "text": f"answer {ident}"}],
        "stop_reason": more.pop("stop", "end_turn"),
        "usage": usage,
    }
    return {
        "type": "assistant",
        "sessionId": session,
        "uuid": f"{session}-{ident}-{second}",
        "timestamp": more.pop("at", f"{T0}{second:02d}.000Z"),
        "version": "2.1.40",
        "cwd": "/home/noor/app",
        "message": message,
        **more,
    }


def spent(tokens: int) -> Line:
    return {"input_tokens": tokens - 100, "output_tokens": 100}


def answer(session: str, call: str, text: str, second: int) -> Line:
    block = {"type": "tool_result", "tool_use_id": call, "content": text}
    return {
        "type": "user",
        "sessionId": session,
        "uuid": f"{session}-{call}-{second}",
        "timestamp": f"{T0}{second:02d}.000Z",
        "message": {"role": "user", "content": [block]},
    }


def tool(ident: str, name: str, **args: Any) -> Line:
    return {"type": "tool_use", "id": ident, "name": name, "input": args}


def total(found: Line) -> Any:
    return found["totals"]["tokens"]["total"]


def priced(folder: Path, **prices: float) -> list[str]:
    """Options that set the price of the model m, in dollars a million."""
    rows = "".join(f"{key} = {value}\n" for key, value in prices.items())
    path = folder / "prices.toml"
    path.write_text(f'[[prices.model]]\nmodel = "m"\n{rows}', encoding="utf-8")
    return ["--config", str(path)]


# -- B7, B8: copies that look like loops ----------------------------------------------------------


def test_b7_one_call_streamed_in_pieces_claude_code(tmp_path: Path) -> None:
    text, lines = "one two three", []
    for second, upto in enumerate((2, 4, 7, 9, 13), 1):
        block = tool("t1", "Write", file_path="/w/a", content=text[:upto])
        lines.append(claude("S", "M1", second, spent(1_200), block, stop="tool_use"))
    found = report(put(tmp_path / "s.jsonl", [*lines, answer("S", "t1", "ok", 6)]))
    assert (total(found), found["totals"]["calls"], found["findings"]) == (1_200, 1, [])


def test_b7_one_call_streamed_in_pieces_native(tmp_path: Path) -> None:
    usage = {"fresh_input": 1_000, "output": 200}
    lines: list[Line] = [{"loopaudit": 1}]
    for upto in (2, 4, 7, 9, 13):
        args = {"path": "a", "text": "one two three"[:upto]}
        calls = [{"id": "t1", "tool": "write", "args": args}]
        lines.append({"type": "response", "id": "M1", "usage": usage, "calls": calls})
    lines.append({"type": "result", "call": "t1", "result": "ok"})
    found = report(put(tmp_path / "s.jsonl", lines))
    assert (total(found), found["totals"]["calls"], found["findings"]) == (1_200, 1, [])


def test_b7_flip_five_responses_that_write_the_same(tmp_path: Path) -> None:
    lines = []
    for n in range(1, 6):
        block = tool(f"t{n}", "Write", file_path="/w/a", content="one two three")
        lines.append(claude("S", f"M{n}", 2 * n, spent(1_200), block, stop="tool_use"))
        lines.append(answer("S", f"t{n}", "ok", 2 * n + 1))
    found = report(put(tmp_path / "s.jsonl", lines))
    assert (total(found), found["totals"]["calls"], len(found["findings"])) == (6_000, 5, 1)


def replayed(session: str, copies: int, *, new_ids: bool = False) -> list[Line]:
    lines = []
    for n in range(copies):
        call, ident = (f"{session}1-{n}", f"M{n}") if new_ids else (f"{session}1", "M")
        block = tool(call, "Read", file_path="/w/notes")
        second = 10 * n if new_ids else 0
        head = claude(session, f"{ident}-{session}", second, spent(1_000), block, stop="tool_use")
        lines += [head, answer(session, call, "the notes", second + 1)]
    return lines


def test_b8_replayed_history(tmp_path: Path) -> None:
    for session in "abc":
        put(tmp_path / f"{session}.jsonl", replayed(session, 3))
    found = report(tmp_path)
    assert (total(found), found["totals"]["calls"], found["findings"]) == (3_000, 3, [])


def test_b8_flip_three_reads_of_its_own_in_each(tmp_path: Path) -> None:
    for session in "abc":
        put(tmp_path / f"{session}.jsonl", replayed(session, 3, new_ids=True))
    found = report(tmp_path)
    assert (total(found), len(found["findings"])) == (9_000, 3)
    assert found["totals"]["waste"]["tokens"] == 6_000


# -- C: totals ------------------------------------------------------------------------------------


def test_c1_one_response_three_lines(tmp_path: Path) -> None:
    blocks = (
        {"type": "thinking", "thinking": "hm", "signature": "x"},
        {"type": "text", "text": "I look."},
        tool("t1", "Read", file_path="/w/a"),
    )
    for order in itertools.permutations(zip(blocks, (1, 1, 350), strict=True)):
        lines = [
            claude(
                "S",
                "M1",
                second,
                {
                    "input_tokens": 10,
                    "cache_creation_input_tokens": 2_000,
                    "cache_read_input_tokens": 8_000,
                    "output_tokens": output,
                },
                block,
                stop="tool_use",
            )
            for second, (block, output) in enumerate(order, 1)
        ]
        found = report(put(tmp_path / "s.jsonl", lines))
        assert found["totals"]["tokens"] == {
            "fresh_input": 10,
            "cache_read": 8_000,
            "cache_write": 2_000,
            "output": 350,
            "reasoning": None,
            "total": 10_360,
        }
        assert (found["totals"]["responses"], found["totals"]["calls"]) == (1, 1)
        assert found["runs"][0]["started"] == "2026-05-01T10:00:01Z"


def test_c3_resumed_session_copies_its_past(tmp_path: Path) -> None:
    def said(session: str, n: int, tokens: int) -> Line:
        return claude(session, f"M{n}", n, spent(tokens))

    a = put(tmp_path / "a.jsonl", [said("A", 1, 4_000), said("A", 2, 5_000)])
    b = put(tmp_path / "b.jsonl", [said("B", 1, 4_000), said("B", 2, 5_000), said("B", 3, 6_000)])
    for paths in ((a, b), (b, a)):
        found = report(*paths)
        assert total(found) == 15_000
        own = {r["id"]: (r["tokens"]["total"], r["inherited_tokens"]) for r in found["runs"]}
        assert own == {"A": (9_000, None), "B": (6_000, 9_000)}
    assert total(report(b)) == 15_000


def test_c3_a_copy_alone_says_that_it_includes_what_it_inherited(tmp_path: Path) -> None:
    fork = {"forkedFrom": {"sessionId": "A", "messageUuid": "A-M2-2"}}
    lines = [
        claude("B", f"M{n}", n, spent(n * 1_000), **(fork if n < 3 else {})) for n in (1, 2, 3)
    ]
    b = put(tmp_path / "b.jsonl", lines)
    totals = report(b)["totals"]
    assert (totals["tokens"]["total"], totals["completeness"]) == (6_000, "complete")
    assert "includes inherited history" in " ".join(totals["reasons"])
    a = put(tmp_path / "a.jsonl", [claude("A", f"M{n}", n, spent(n * 1_000)) for n in (1, 2)])
    assert report(a, b)["totals"]["reasons"] == []


def codex(session: str, *counts: tuple[int, int, str], **meta: Any) -> list[Line]:
    """A rollout of one answer for each (total, last, time) of its counter."""

    def line(at: str, kind: str, **payload: Any) -> Line:
        return {"timestamp": at, "type": kind, "payload": payload}

    start = meta.pop("start", "2026-05-01T09:00:00.000Z")
    lines = [
        line(
            start, "session_meta", id=session, timestamp=start, cwd="/w", cli_version="0.1", **meta
        ),
        line(start, "turn_context", model="gpt-5-codex"),
    ]
    for whole, last, at in counts:
        part = {"type": "output_text", "text": f"answer at {whole}"}
        lines.append(line(at, "response_item", type="message", role="assistant", content=[part]))
        info = {
            name: {"input_tokens": n - n // 10, "output_tokens": n // 10, "total_tokens": n}
            for name, n in (("total_token_usage", whole), ("last_token_usage", last))
        }
        lines.append(line(at, "event_msg", type="token_count", info=info))
    return lines


def day(n: int, second: int) -> str:
    return f"2026-05-{n:02d}T10:00:{second:02d}.000Z"


def rollout(folder: Path, session: str, lines: Iterable[Line]) -> Path:
    return put(folder / f"rollout-2026-05-01T09-00-00-{session}.jsonl", lines)


PARENT = "019f3a6e-0000-7000-8000-00000000000a"
CHILD = "019f3a6e-0000-7000-8000-00000000000b"


def test_c4_counter_written_again(tmp_path: Path) -> None:
    lines = codex(PARENT, (1_200, 1_200, day(1, 1)), (3_300, 2_100, day(1, 9)))
    twice = [copy for line in lines for copy in [line] * (1 + ("token" in str(line["payload"])))]
    found = report(rollout(tmp_path, PARENT, twice))
    assert (total(found), found["totals"]["responses"]) == (3_300, 2)


def test_c4_two_real_turns_of_equal_size(tmp_path: Path) -> None:
    lines = codex(PARENT, (1_200, 1_200, day(1, 1)), (2_400, 1_200, day(1, 9)))
    found = report(rollout(tmp_path, PARENT, lines))
    assert (total(found), found["totals"]["responses"]) == (2_400, 2)


PAST = ((40, 40, day(1, 1)), (100, 60, day(1, 2)))


def forked(folder: Path, *own: tuple[int, int, str]) -> list[Path]:
    rollout(folder, PARENT, codex(PARENT, *PAST))
    child = codex(CHILD, *own, start=day(2, 0), forked_from_id=PARENT)
    rollout(folder, CHILD, child)
    return sorted(folder.glob("*.jsonl"))


def test_c5_child_replays_the_past_restamped(tmp_path: Path) -> None:
    paths = forked(tmp_path, (40, 40, day(2, 0)), (100, 60, day(2, 0)), (150, 50, day(2, 30)))
    for order in (paths, paths[::-1]):
        found = report(*order)
        assert total(found) == 150
        assert {r["id"][-1]: r["tokens"]["total"] for r in found["runs"]} == {"a": 100, "b": 50}
    days = command("cost", *paths, "--by", "day", "--tz", "UTC", "--format", "json")
    assert {r["day"]: r["tokens"] for r in json.loads(days.out)["rows"]} == {
        "2026-05-01": 100,
        "2026-05-02": 50,
    }


def test_c5_child_counts_from_zero(tmp_path: Path) -> None:
    for path_order in (1, -1):
        found = report(*forked(tmp_path, (30, 30, day(2, 9)), (70, 40, day(2, 30)))[::path_order])
        assert total(found) == 170


GRANDCHILD = "019f3a6e-0000-7000-8000-00000000000c"


def test_c5_a_fork_of_a_fork(tmp_path: Path) -> None:
    paths = forked(tmp_path, (40, 40, day(2, 0)), (100, 60, day(2, 0)), (150, 50, day(2, 30)))
    past = [(whole, last, day(3, 0)) for whole, last in ((40, 40), (100, 60), (150, 50))]
    last = codex(GRANDCHILD, *past, (190, 40, day(3, 40)), start=day(3, 0), forked_from_id=CHILD)
    paths.append(rollout(tmp_path, GRANDCHILD, last))
    for order in itertools.permutations(paths):
        found = report(*order)
        assert total(found) == 190
        assert {r["id"][-1]: r["tokens"]["total"] for r in found["runs"]} == {
            "a": 100,
            "b": 50,
            "c": 40,
        }
    assert total(report(paths[-1])) == 190
    assert "inherited" in " ".join(report(paths[-1])["totals"]["reasons"])


def test_c5_the_parent_goes_on_after_the_fork(tmp_path: Path) -> None:
    forked(tmp_path, (40, 40, day(2, 0)), (100, 60, day(2, 0)), (150, 50, day(2, 30)))
    rollout(tmp_path, PARENT, codex(PARENT, *PAST, (160, 60, day(2, 50))))
    assert total(report(tmp_path)) == 210


# -- A6, A7: their totals --------------------------------------------------------------------------


def test_a6_the_total_of_a_chain_of_agents(tmp_path: Path) -> None:
    def spawns(agent: int, tokens: int) -> Line:
        block = tool(f"toolu_{agent}", "Task", subagent_type="survey", prompt="Survey it.")
        line = claude("S", f"M{agent}", agent, spent(tokens), block, stop="tool_use")
        return {**line, "agentId": f"c{agent}", "isSidechain": True} if agent else line

    put(tmp_path / "S.jsonl", [spawns(0, 3_000)])
    for n in range(1, 6):
        path = put(tmp_path / "S" / "subagents" / f"agent-c{n}.jsonl", [spawns(n, 2_000)])
        facts = {"agentType": "survey", "toolUseId": f"toolu_{n - 1}"}
        facts |= {"parentAgentId": f"c{n - 1}"} if n > 1 else {}
        path.with_suffix(".meta.json").write_text(json.dumps(facts), encoding="utf-8")
    found = report(tmp_path)
    assert (total(found), len(found["runs"])) == (13_000, 6)
    parents = {r["id"]: r["parent"] for r in found["runs"]}
    assert parents == {"S": None, "S/c1": "S", **{f"S/c{n}": f"S/c{n - 1}" for n in range(2, 6)}}


def chat_usage(usage: Line) -> Line:
    body = {"id": "c1", "object": "chat.completion", "created": 1_777_629_600, "model": "m"}
    message = {"role": "assistant", "content": "hi"}
    return {**body, "choices": [{"index": 0, "message": message}], "usage": usage}


def gemini_usage(usage: Line) -> Line:
    content = {"role": "model", "parts": [{"text": "hi"}]}
    answer = {"candidates": [{"content": content}], "usageMetadata": usage, "modelVersion": "m"}
    url = "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent"
    request = {"contents": [{"role": "user", "parts": [{"text": "hello"}]}]}
    return {"url": url, "request": request, "status": 200, "response": answer}


SPELLINGS = {
    "openai": chat_usage(
        {
            "prompt_tokens": 10_000,
            "prompt_tokens_details": {"cached_tokens": 8_000},
            "completion_tokens": 500,
            "completion_tokens_details": {"reasoning_tokens": 300},
            "total_tokens": 10_500,
        }
    ),
    "gemini": gemini_usage(
        {
            "promptTokenCount": 10_000,
            "cachedContentTokenCount": 8_000,
            "candidatesTokenCount": 200,
            "thoughtsTokenCount": 300,
            "totalTokenCount": 10_500,
        }
    ),
    "claude": claude(
        "S",
        "M",
        1,
        {"input_tokens": 2_000, "cache_read_input_tokens": 8_000, "output_tokens": 500},
        model="m",
    ),
    "codex": codex("x", (10_500, 10_500, day(1, 1))),
}
SPELLINGS["codex"] = [
    json.loads(
        json.dumps(line)
        .replace("gpt-5-codex", "m")
        .replace(
            '"input_tokens": 9450, "output_tokens": 1050',
            '"input_tokens": 10000, "output_tokens": 500',
        )
        .replace(
            '"output_tokens": 500',
            '"cached_input_tokens": 8000, "output_tokens": 500, "reasoning_output_tokens": 300',
        )
    )
    for line in SPELLINGS["codex"]
]


@pytest.mark.parametrize("family", SPELLINGS)
def test_c7_who_includes_what(family: str, tmp_path: Path) -> None:
    lines = SPELLINGS[family]
    path = put(tmp_path / "log.jsonl", lines if isinstance(lines, list) else [lines])
    found = report(path, options=priced(tmp_path, input=2, cache_read=0.2, output=10))
    tokens = found["totals"]["tokens"]
    assert (tokens["fresh_input"], tokens["cache_read"], tokens["output"]) == (2_000, 8_000, 500)
    assert (tokens["total"], found["totals"]["usd"]) == (10_500, "0.0106")
    assert tokens["reasoning"] == (None if family == "claude" else 300)


def test_c8_two_lifetimes_of_cache_writes(tmp_path: Path) -> None:
    usage = {"input_tokens": 0, "cache_creation_input_tokens": 3_000, "output_tokens": 0}
    split = {"ephemeral_5m_input_tokens": 1_000, "ephemeral_1h_input_tokens": 2_000}
    parted = claude("S", "M", 1, {**usage, "cache_creation": split})
    found = report(put(tmp_path / "a.jsonl", [parted]))
    assert (total(found), found["totals"]["usd"]) == (3_000, "0.01575")
    assert found["totals"]["completeness"] == "complete"
    found = report(put(tmp_path / "b.jsonl", [claude("S", "M", 1, usage)]))
    assert (total(found), found["totals"]["usd"]) == (3_000, "0.01125")
    assert found["totals"]["completeness"] == "estimated"
    assert "split unknown" in " ".join(found["totals"]["reasons"])


def test_c10_price_not_known(tmp_path: Path) -> None:
    lines = [
        claude("S", "M1", 1, spent(200_000), model="m"),
        claude("S", "M2", 2, spent(1_000_000), model="glm-x:thinking"),
        claude("S", "M3", 3, {"input_tokens": 0, "output_tokens": 0}, model="<synthetic>"),
    ]
    path = put(tmp_path / "s.jsonl", lines)
    options = priced(tmp_path, input=2.5, output=2.5)
    totals = report(path, options=options)["totals"]
    assert (totals["tokens"]["total"], totals["usd"]) == (1_200_000, "0.5")
    assert totals["unpriced"] == {"tokens": 1_000_000, "models": ["glm-x:thinking"]}
    assert totals["completeness"] == "lower_bound"
    screen = " ".join(command("report", path, *options).out.split())
    assert "$0.50" in screen
    assert "1,000,000 tokens of 1 model not priced" in screen
    assert "synthetic" not in screen


# -- S: totals ------------------------------------------------------------------------------------


def unfinished(chars: int) -> list[Line]:
    usage = {"input_tokens": 900, "output_tokens": 1}
    return [
        claude("S", "M", n, usage, {"type": "text", "text": f"{n}" * (chars // 3)}, stop=None)
        for n in (1, 2, 3)
    ]


def test_s2_a_response_without_its_final_usage_is_a_lower_bound(tmp_path: Path) -> None:
    path = put(tmp_path / "s.jsonl", unfinished(2_400))
    totals = report(path)["totals"]
    assert (totals["tokens"]["total"], totals["completeness"]) == (901, "lower_bound")
    assert "before it ended" in " ".join(totals["reasons"])
    totals = report(path, options=["--estimate"])["totals"]
    assert (totals["tokens"]["output"], totals["completeness"]) == (600, "estimated")


def test_s2_flip_a_short_answer_with_its_stop_reason_is_complete(tmp_path: Path) -> None:
    lines = unfinished(3)
    lines[-1]["message"]["stop_reason"] = "end_turn"
    totals = report(put(tmp_path / "s.jsonl", lines))["totals"]
    assert (totals["tokens"]["total"], totals["completeness"]) == (901, "complete")


def test_s3_days_of_a_zone_with_a_clock_change(tmp_path: Path) -> None:
    lines = [
        claude("S", "M1", 1, spent(1_000), at="2026-03-29T00:30:00Z"),
        claude("S", "M2", 2, spent(2_000), at="2026-03-29T23:30:00Z"),
    ]
    path = put(tmp_path / "s.jsonl", lines)

    def days(zone: str) -> dict[str, int]:
        out = command("cost", path, "--by", "day", "--tz", zone, "--format", "json").out
        return {r["day"]: r["tokens"] for r in json.loads(out)["rows"]}

    assert days("Europe/Berlin") == {"2026-03-29": 1_000, "2026-03-30": 2_000}
    assert days("America/New_York") == {"2026-03-28": 1_000, "2026-03-29": 2_000}
    assert days("Asia/Kolkata") == {"2026-03-29": 1_000, "2026-03-30": 2_000}
    assert days("UTC") == {"2026-03-29": 3_000}
    assert "Europe/Berlin" in command("cost", path, "--by", "day", "--tz", "Europe/Berlin").out


def test_s11_nothing_measured_has_its_own_exit_code(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    screen = command("report", tmp_path / "empty")
    machine = command("report", tmp_path / "empty", "--format", "json")
    assert (screen.code, machine.code) == (3, 3)
    assert "Nothing measured" in screen.out
    assert "nothing measured" in machine.err
    totals = report(tmp_path / "empty")["totals"]
    assert (totals["tokens"]["total"], totals["usd"]) == (None, None)


def test_s13_parts_and_their_total(tmp_path: Path) -> None:
    usage = {"input": 700, "output": 300, "total_tokens": 1_000}
    native = {"type": "response", "id": "m", "usage": {"input": 700, "output": 300, "total": 1_000}}
    spellings = {
        "chat": [
            chat_usage({"prompt_tokens": 700, "completion_tokens": 300, "total_tokens": 1_000})
        ],
        "loose": [chat_usage({"input_tokens": 700, "output_tokens": 300, "total_tokens": 1_000})],
        "named": [chat_usage(usage)],
        "native": [{"loopaudit": 1}, native],
    }
    for name, lines in spellings.items():
        assert total(report(put(tmp_path / f"{name}.jsonl", lines))) == 1_000, name


def test_the_same_session_costs_the_same_in_every_format(tmp_path: Path) -> None:
    look = verb("read")({"path": "a"}, "text")
    entries = [user("Go."), step(1_000, look), step(2_000, text="Done.")]
    for name in ("loopaudit", "claude_code", "codex", "anthropic_messages", "http_log"):
        found = report(put(tmp_path / f"{name}.jsonl", spelled(name, entries)))
        assert (total(found), found["totals"]["completeness"]) == (3_000, "complete"), name
