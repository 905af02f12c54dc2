"""Further situations of the kinds of the cases: other tools, languages, errors, numbers, formats.

The right answers were worked out from the rules before the program was asked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from builders import (
    FORMATS,
    Expect,
    attempt,
    check,
    compaction,
    hook,
    interrupt,
    lacking,
    step,
    told,
    user,
    verb,
)
from writers import Entry, Event

read, edit, run_tests, sh, grep = map(verb, ("read", "edit", "test", "sh", "grep"))
poll, fetch, send, spawn = map(verb, ("poll", "fetch", "send", "spawn"))
OWN = ("loopaudit",)
CODING = ("loopaudit", "claude_code", "codex", "codex shell")
UNFLAGGED = ("openai_chat", "http_log", "http_log responses")


@dataclass(frozen=True)
class Case:
    entries: Sequence[Entry]
    total: int
    expect: Expect | None = None
    kinds: tuple[str, ...] = ()
    formats: tuple[str, ...] = FORMATS
    calm: bool = True


def asked(*entries: Entry) -> list[Entry]:
    return [user("Do what the ticket says."), *entries]


def row(
    first: int,
    count: int,
    tokens: int,
    retryable: str = "n/a",
    rule: str = "same-call-same-result",
    ended: str = "end_of_log",
) -> Expect:
    """`count` equal steps in a row from step `first`, all but the first redundant."""
    steps = tuple(range(first + 1, first + count))
    return Expect(rule, first, first + 1, steps, tokens * (count - 1), retryable, ended)


def times(n: int, entry: Entry) -> list[Entry]:
    return [entry] * n


def each(answers: Sequence[Any], make: Callable[[Any], Entry]) -> list[Entry]:
    return [make(answer) for answer in answers]


CASES: dict[str, Case] = {}

# -- A1: results that differ in nothing that matters ----------------------------------------------

look = verb("lookup_entry")


def looked(*results: Any) -> list[Entry]:
    return asked(*(step(500, look({"key": 1}, result)) for result in results))


VOLATILE: dict[str, Callable[[int], str]] = {
    "time, pid and duration": lambda i: (
        f"2026-05-01T10:0{i}:01Z worker pid 43{i}2 took 15{i} ms: queue is empty"
    ),
    "duration at the end of a sentence": lambda i: f"The queue is empty, checked in {i}2 seconds.",
    "duration in a quoted text": lambda i: json.dumps({"message": f"idle, elapsed {i}0s"}),
    "port and temporary folder": lambda i: (
        f"Listening on http://localhost:53{i}21/ (files in /tmp/tmpab{i}2cd34)"
    ),
    "UUID": lambda i: f"job 7f3c1e0a-1b2c-4d5e-8f90-00000000000{i} accepted",
    "request id": lambda i: f'{{"requestId": "a{i}b{i}c3d4e5f6", "items": []}}',
    "attempts": lambda i: f"attempt {i} of 9: the queue is empty",
    "address in memory": lambda i: f"<Queue object at 0x7f3c1a2b{i}c3d> is empty",
    "Chinese time": lambda i: f"2026年5月1日 10时0{i}分 队列为空",
    "Chinese duration": lambda i: f"队列为空，耗时 {i}3 毫秒",
    "epoch": lambda i: json.dumps({"ts": 1_777_629_600 + 60 * i, "state": "idle"}),
}
CONTENT: dict[str, Callable[[int], str]] = {
    "percent": lambda i: f"{i}0% of the rows checked",
    "count of failures": lambda i: f"{9 - i} failed, {i} passed",
    "size": lambda i: f"the file has {i}00 bytes",
    "price": lambda i: f"price: ${i}.50",
    "version": lambda i: f"latest version 1.{i}.0",
    "name": lambda i: f"next: customer {i}",
    "Chinese count": lambda i: f"排队人数：{9 - i}",
    "date": lambda i: f"due 2026-05-0{i}",
    "commit": lambda i: f"HEAD is now at {i}a1b2c{i}",
}
for name, make in VOLATILE.items():
    entries = looked(*map(make, range(1, 5)))
    CASES[f"only volatile: {name}"] = Case(entries, 2_000, row(1, 4, 500), formats=OWN)
for name, make in CONTENT.items():
    entries = looked(*map(make, range(1, 6)))
    CASES[f"content: {name}"] = Case(entries, 2_500, None, ("changed-result",), OWN)
CASES["a Chinese tool and receipt"] = Case(
    asked(
        *(
            step(
                1_000,
                verb("发送通知")(
                    {"收件人": "运维", "内容": "完成"}, f"发送成功，消息编号：M-2026{i}01"
                ),
            )
            for i in range(5)
        )
    ),
    5_000,
    row(1, 5, 1_000),
)
RECEIPTS: dict[str, tuple[Any, Callable[[int], str]]] = {
    "create_issue": ({"title": "bug"}, lambda i: f"Created issue #{i + 41}"),
    "post_comment": ({"text": "hi"}, lambda i: f'{{"ok": true, "comment": {{"id": {9_000 + i}}}}}'),
    "book_room": (
        {"room": "A"},
        lambda i: f'{{"status": "booked", "confirmation": "CNF-{i}X{i}"}}',
    ),
    "send_email": ({"to": "ada"}, lambda i: f"Message sent. Id: <{i}abc{i}@mail.example>"),
    "insert_row": ({"value": 1}, lambda i: f'{{"inserted_id": {i + 1}}}'),
    "upload_file": ({"path": "a"}, lambda i: f"Uploaded as file_{i}ab9c{i}d"),
    "place_order": ({"sku": 1}, lambda i: f'{{"order_id": "ORD-{i + 100}", "status": "created"}}'),
    "发送邮件": ({"收件人": "甲"}, lambda i: f"已发送，编号：{i + 17}"),
}
for name, (args, make) in RECEIPTS.items():
    CASES[f"only the receipt differs: {name}"] = Case(
        asked(*(step(500, verb(name)(args, make(i))) for i in range(4))),
        2_000,
        row(1, 4, 500),
        formats=OWN,
    )
CLICK, SNAPSHOT = verb("browser_click"), verb("browser_snapshot")
CASES["clicks that change nothing"] = Case(
    asked(
        *(
            s
            for i in range(4)
            for s in (
                step(500, CLICK({"element": "Submit", "ref": f"e{i + 31}"}, "clicked")),
                step(500, SNAPSHOT({}, "form: a name is required")),
            )
        )
    ),
    4_000,
    Expect("cycle", 1, 3, tuple(range(3, 9)), 3_000, "n/a", period=2),
    formats=OWN,
)
CASES["clicks that turn pages"] = Case(
    asked(
        *(
            s
            for i in range(4)
            for s in (
                step(500, CLICK({"element": "Next", "ref": f"e{i + 31}"}, "clicked")),
                step(500, SNAPSHOT({}, f"page {i + 2}")),
            )
        )
    ),
    4_000,
    kinds=("effect-seen",),
    formats=OWN,
)
CASES["keys in another order, 1 and 1.0"] = Case(
    asked(
        step(400, look({"a": 1, "b": {"x": 1, "y": 2}}, "r")),
        step(400, look({"b": {"y": 2, "x": 1.0}, "a": 1.0}, "r")),
        step(400, look({"a": 1, "b": {"y": 2.0, "x": 1}}, "r")),
    ),
    1_200,
    row(1, 3, 400),
)
for note in ("task_progress", "description", "explanation", "justification"):
    CASES[f"only a note differs: {note}"] = Case(
        asked(
            *(
                step(
                    500,
                    verb("execute_command")(
                        {"command": "pytest -q", note: f"try {i}"}, "2 failed", error=True
                    ),
                )
                for i in range(4)
            )
        ),
        2_000,
        row(1, 4, 500, "no"),
        formats=OWN,
    )
CASES["a description that is content"] = Case(
    asked(
        *(
            step(500, verb("create_issue")({"title": "bug", "description": f"case {i}"}, "created"))
            for i in range(4)
        )
    ),
    2_000,
    formats=OWN,
)

# -- A2, A3, B3: cycles, changes that fail and changes that work ----------------------------------


def rounds(number: int, *steps: Callable[[int], Entry]) -> list[Entry]:
    return asked(*(make(i) for i in range(number) for make in steps))


def after_test(text: str) -> Callable[[int], Entry]:
    return lambda i: step(1_000, run_tests({}, text, error=True))


#: how editors say that nothing was changed, where nothing else says so
REFUSALS = {
    "SWE-agent": "No replacement was performed, old_str `x = {i}` did not appear verbatim in a.py.",
    "OpenHands": "ERROR:\nNo replacement was performed, old_str `x = {i}` did not appear verbatim.",
    "Gemini CLI": "Failed to edit, 0 occurrences found for old_string (x = {i}). No edits made.",
    "Cline": "This is likely because the SEARCH block content doesn't match exactly with the file.",
    "Roo": "<error>No sufficiently similar match found at line: 3 (70% similar)</error>",
    "opencode": "oldString not found in content",
    "MCP": "Could not find exact match for edit:\nx = {i}",
    "JSON": '{{"success": false, "error": "pattern not found"}}',
    "Chinese": "错误：未找到要替换的文本 x = {i}",
}
FAILED_EDITS = Expect("cycle", 1, 3, tuple(range(3, 9)), 6_000, "no", period=2)
for name, text in REFUSALS.items():
    CASES[f"edits that fail in words: {name}"] = Case(
        rounds(
            4,
            lambda i, text=text: step(
                1_000,
                verb("replace_in_file")(
                    {"path": "a.py", "search": f"x = {i}", "replace": f"x = {i + 1}"},
                    text.format(i=i),
                ),
            ),
            after_test("2 failed"),
        ),
        8_000,
        FAILED_EDITS,
        formats=UNFLAGGED,
    )
CHANGES = (
    "sed -i s/a{i}/b{i}/ a.py",
    "git apply p{i}.diff",
    "cat > a.py <<'EOF'\nx = {i}\nEOF",
    "python3 - <<'EOF'\nfrom pathlib import Path\nPath('a.py').write_text('{i}')\nEOF",
    "npx prettier --write a{i}.ts",
    "ruff check --fix a{i}.py",
    "cp a{i}.py a.py",
)
for command in CHANGES:
    CASES[f"test after a change by a command: {command[:24]}"] = Case(
        rounds(
            4,
            lambda i, c=command: step(500, sh({"command": c.format(i=i)}, "")),
            after_test("2 failed"),
        ),
        6_000,
        kinds=("test-after-edit",),
        formats=CODING,
    )
EDITORS = ("apply_edits", "smart_edit", "rewrite_file", "patch_file", "fs_write", "code_edit")
for tool in (*EDITORS, "replace_lines", "mcp__fs__overwrite_file", "replace_symbol_body"):
    CASES[f"test after a change by {tool}"] = Case(
        rounds(
            4,
            lambda i, t=tool: step(500, verb(t)({"path": "a.py", "text": f"x = {i}"}, "done")),
            after_test("2 failed"),
        ),
        6_000,
        formats=OWN,
    )
SQL = verb("execute_sql")
CASES["a look after each change of a table"] = Case(
    rounds(
        4,
        lambda i: step(500, SQL({"query": f"UPDATE t SET a = {i}"}, "1 row changed")),
        lambda i: step(500, SQL({"query": "SELECT count(*) FROM t"}, "count: 17")),
    ),
    4_000,
    formats=OWN,
)
CASES["a look between other looks at a table"] = Case(
    rounds(
        4,
        lambda i: step(500, SQL({"query": f"SELECT a FROM t WHERE b = {i}"}, f"a: {i}1")),
        lambda i: step(500, SQL({"query": "SELECT count(*) FROM t"}, "count: 17")),
    ),
    4_000,
    Expect("same-call-same-result", 2, 4, (4, 6, 8), 1_500, "n/a"),
    formats=OWN,
)


def changed(old: str, new: str, **more: Any) -> Entry:
    return step(1_000, edit({"path": "a.py", "old": old, "new": new}, **more))


CASES["edits that undo each other"] = Case(
    rounds(
        4,
        lambda i: changed("1", "2"),
        after_test("1 failed: t_x"),
        lambda i: changed("2", "1"),
        after_test("1 failed: t_y"),
    ),
    16_000,
    Expect("cycle", 1, 5, tuple(range(5, 17)), 12_000, "no", period=4),
)
CASES["one failing edit, the tests failing in turns"] = Case(
    asked(
        *(
            s
            for i in range(8)
            for s in (changed("1", "2", error=True), after_test(f"{2 + i % 2} failed")(i))
        )
    ),
    16_000,
    # the edit of step 3 is that of step 1 already
    Expect("cycle", 1, 3, (3, *range(5, 17)), 13_000, "no", period=4),
)
CASES["period six"] = Case(
    rounds(3, *(lambda i, j=j: step(500, read({"path": f"f{j}"}, f"t{j}")) for j in range(6))),
    9_000,
    Expect("cycle", 1, 7, tuple(range(7, 19)), 6_000, "n/a", period=6),
)
CASES["rounds of parallel calls in any order"] = Case(
    asked(
        *(
            s
            for i in range(4)
            for s in (
                step(1_000, *[read({"path": p}, p * 3) for p in ("ab", "ba")[i % 2]]),
                after_test("2 failed")(i),
            )
        )
    ),
    8_000,
    Expect("cycle", 1, 3, tuple(range(3, 9)), 6_000, "no", period=2),
)
CASES["a change and its test in one response"] = Case(
    asked(
        *(
            step(
                1_000,
                edit({"path": "a.py", "old": f"{i}", "new": f"{i + 1}"}),
                run_tests({}, "2 failed", error=True),
            )
            for i in range(5)
        )
    ),
    5_000,
)
CASES["a repeat beside new work is listed, not charged"] = Case(
    asked(
        *(
            step(1_000, read({"path": "a.py"}, "A"), read({"path": f"b{i}.py"}, f"B{i}"))
            for i in range(4)
        )
    ),
    4_000,
    Expect("same-call-same-result", 1, 2, (), 0, "n/a"),
    formats=("loopaudit", "claude_code", "codex", "http_log"),
)
CASES["other files change, this one is read again"] = Case(
    asked(
        *(
            s
            for i in range(4)
            for s in (
                step(500, read({"path": "a.py"}, "text")),
                step(500, edit({"path": f"b{i}.py", "old": "1", "new": "2"})),
            )
        )
    ),
    4_000,
    Expect("same-call-same-result", 1, 3, (3, 5, 7), 1_500, "n/a"),
)
CASES["another branch before each read"] = Case(
    rounds(
        4,
        lambda i: step(600, read({"path": "a.py"}, "v1")),
        lambda i: step(300, sh({"command": f"git checkout b{i}"}, f"Switched to branch b{i}")),
    ),
    3_600,
)
FOUND = step(600, grep({"pattern": "total"}, "a.py:3:total = 0"))
CASES["a loop that begins late"] = Case(
    asked(*(step(500, read({"path": f"f{i}.py"}, f"t{i}")) for i in range(50)), *times(4, FOUND)),
    27_400,
    row(51, 4, 600),
)
CASES["a loop, then new work"] = Case(
    asked(*times(3, FOUND), *(step(500, read({"path": f"f{i}"}, f"t{i}")) for i in range(3))),
    3_300,
    row(1, 3, 600, ended="recovered"),
)
CASES["the user speaks in the middle"] = Case(
    asked(*times(2, FOUND), user("Once more, please."), *times(2, FOUND)), 2_400
)
CASES["the user interrupts in the middle"] = Case(
    asked(*times(2, FOUND), interrupt(), user("Go on."), *times(2, FOUND)), 2_400
)
CASES["the user ends it with another task"] = Case(
    asked(*times(3, FOUND), user("Stop searching."), step(500, text="I stop.")),
    2_300,
    row(1, 3, 600, ended="user"),
)
CASES["a resumed session goes on with it"] = Case(
    asked(*times(2, FOUND), Event("resume"), *times(2, FOUND)), 2_400, row(1, 4, 600), formats=OWN
)
CASES["a limit ends it"] = Case(
    asked(*times(3, FOUND), Event("limit", "max turns")),
    1_800,
    row(1, 3, 600, ended="limit"),
    formats=OWN,
)
CASES["calls that were never answered"] = Case(
    asked(*(step(400, look({"key": 1}, None)) for _ in range(5))), 2_000
)
CASES["the same task given to three agents"] = Case(
    asked(*times(3, step(1_000, spawn({"kind": "survey", "prompt": "Survey it."}, "A shop.")))),
    3_000,
    row(1, 3, 1_000),
)
CASES["two agents hand the task back and forth"] = Case(
    rounds(
        4,
        lambda i: step(1_000, verb("transfer_to_billing")({}, "transferred")),
        lambda i: step(1_000, verb("transfer_to_support")({}, "transferred")),
    ),
    8_000,
    Expect("handed-back-and-forth", 1, 3, tuple(range(3, 9)), 6_000, "n/a"),
)

# -- A4, A5, B11: hooks and memory ----------------------------------------------------------------


def hooked(*asks: str, answer: Callable[[int], Entry]) -> list[Entry]:
    pairs = ((hook(text), answer(i)) for i, text in enumerate(asks))
    return asked(step(1_000, text="Done."), *(entry for pair in pairs for entry in pair))


CASES["a hook that tells the time"] = Case(
    hooked(
        *(f"[10:3{i}:02] cannot stop: 3 todos open" for i in range(4)),
        answer=lambda i: step(1_000 + i, text="All done."),
    ),
    5_006,
    Expect("hook-ping-pong", 2, 3, (3, 4, 5), 3_006, "no"),
)
CASES["a hook that sees progress"] = Case(
    hooked(
        *(f"cannot stop: {4 - i} todos open" for i in range(4)),
        answer=lambda i: step(1_000, text="Working."),
    ),
    5_000,
)
CASES["a hook answered by new work"] = Case(
    hooked(
        *["cannot stop: tests missing"] * 4,
        answer=lambda i: step(1_000, edit({"path": f"t{i}.py", "old": "1", "new": "2"})),
    ),
    5_000,
)
SPEC = step(1_000, read({"path": "spec.md"}, "the spec"))
CASES["two losses of memory, work between"] = Case(
    asked(
        *(SPEC, compaction(500), SPEC, changed("1", "2"), compaction(500), SPEC, changed("2", "3"))
    ),
    6_000,
    formats=("loopaudit", "codex"),
)
CASES["two losses of memory, nothing between"] = Case(
    asked(SPEC, compaction(500), SPEC, compaction(500), SPEC),
    4_000,
    Expect("same-call-same-result", 1, 5, (5,), 1_000, "n/a"),
    formats=("loopaudit", "codex"),
)

# -- B1: waits ------------------------------------------------------------------------------------

WAITS = (
    *("get_build_status", "query_job_state", "check_deployment", "poll_job", "wait_for_ci"),
    *("mcp__ci__get_run_status", "getPipelineStatus", "describe_execution", "download_progress"),
)
for tool in WAITS:
    CASES[f"six unchanged answers of {tool}"] = Case(
        asked(*times(6, step(500, verb(tool)({"id": 7}, "as before")))),
        3_000,
        kinds=("unchanged-poll",),
        formats=OWN,
    )
for command in ("sleep 30 && kubectl get pods", "gh run view 123", "docker ps", "ps aux | grep x"):
    CASES[f"six unchanged answers of {command}"] = Case(
        asked(*times(6, step(500, sh({"command": command}, "api 0/1")))), 3_000, formats=CODING
    )
GOING_ON = ('{"status": "RUNNING"}', "still processing", "not ready yet", "build 12% complete")
for text in (*GOING_ON, "状态：运行中", "任务仍在执行，请稍候", "进度 12%"):
    asks = step(500, verb("ask_oracle")({"id": 7}, text))
    CASES[f"an unknown tool says {text}, six times"] = Case(
        asked(*times(6, asks)), 3_000, kinds=("unchanged-poll",)
    )
    CASES[f"an unknown tool says {text}, twelve times"] = Case(
        asked(*times(12, asks)), 6_000, row(1, 12, 500, "yes")
    )
CASES["an unknown tool says something else, six times"] = Case(
    asked(*times(6, step(500, verb("ask_oracle")({"id": 7}, "The status is unclear.")))),
    3_000,
    row(1, 6, 500),
)
CASES["only the time of a wait moves"] = Case(
    asked(*(step(500, poll({"id": 7}, f"still running, elapsed {10 * i}s")) for i in range(1, 13))),
    6_000,
    row(1, 12, 500, "yes"),
)
CASES["two jobs asked for in turns, both moving"] = Case(
    asked(
        *(step(300, poll({"id": j}, f"{i * (9 + j)}%")) for i in range(1, 8) for j in range(2)),
    ),
    4_200,
)
PAUSE_AND_LOOK = (
    step(300, sh({"command": "sleep 30"}, "")),
    step(300, verb("get_status")({"id": 4}, "queued")),
)
CASES["six rounds of a pause and a look"] = Case(asked(*PAUSE_AND_LOOK * 6), 3_600)
CASES["twelve rounds of a pause and a look"] = Case(
    asked(*PAUSE_AND_LOOK * 12),
    7_200,
    Expect("cycle", 1, 3, tuple(range(3, 25)), 6_600, "yes", period=2),
)
SLOW = step(500, verb("peek")({}, "nothing yet"), seconds=61)
TIMED = ("loopaudit", "claude_code", "codex", "http_log")
CASES["nine looks a minute apart"] = Case(asked(*times(9, SLOW)), 4_500, formats=TIMED)
CASES["eleven looks a minute apart"] = Case(
    asked(*times(11, SLOW)), 5_500, row(1, 11, 500), formats=TIMED
)
PEEK = step(500, verb("peek_queue")({"q": "mail"}, "length: 4"))
REQUESTS_TO_POLL = (
    "Keep checking the mail queue until it is empty.",
    "Look at the queue every few seconds and tell me when it moves.",
    "Monitor the queue until it changes.",
    "请每隔十秒检查一次队列，直到为空为止。",
)
for request in REQUESTS_TO_POLL:
    CASES[f"asked to poll: {request}"] = Case([user(request), *times(6, PEEK)], 3_000)
CASES["not asked to poll"] = Case(
    [user("Fix it until the tests pass."), *times(6, PEEK)], 3_000, row(1, 6, 500)
)

# -- B4: ranges -----------------------------------------------------------------------------------

READERS: dict[str, tuple[str, Callable[[int, int], Any]]] = {
    "StartLine": (
        "view_file",
        lambda a, b: {"AbsolutePath": "/w/big.log", "StartLine": a, "EndLine": b},
    ),
    "one_indexed": (
        "read_file",
        lambda a, b: {
            "target_file": "big.log",
            "start_line_one_indexed": a,
            "end_line_one_indexed_inclusive": b,
            "explanation": f"from {a}",
        },
    ),
    "offset from 0": (
        "read_file",
        lambda a, b: {"absolute_path": "/w/big.log", "offset": a - 1, "limit": b - a + 1},
    ),
    "view_range": (
        "str_replace_editor",
        lambda a, b: {"command": "view", "path": "/w/big.log", "view_range": [a, b]},
    ),
    "line_range": ("read_file", lambda a, b: {"path": "big.log", "line_range": f"{a}-{b}"}),
    "from, to": ("get_file_lines", lambda a, b: {"file": "big.log", "from": a, "to": b}),
    "n_lines": (
        "ReadFile",
        lambda a, b: {"path": "big.log", "line_offset": a, "n_lines": b - a + 1},
    ),
    "sed with a quit": (
        "bash",
        lambda a, b: {"command": f"sed -n '{a},{b}p;{b + 1}q' big.log"},
    ),
    "head and tail": (
        "bash",
        lambda a, b: {"command": f"head -n {b} big.log | tail -n {b - a + 1}"},
    ),
    "cat -n and sed": ("bash", lambda a, b: {"command": f"cat -n big.log | sed -n '{a},{b}p'"}),
    "awk": ("bash", lambda a, b: {"command": f"awk 'NR>={a} && NR<={b}' big.log"}),
    "bash -lc": ("shell", lambda a, b: {"command": ["bash", "-lc", f"sed -n '{a},{b}p' big.log"]}),
}
WHOLE = [(n, n + 39) for n in range(1, 240, 40)]
SHIFTED = [(n, n + 39) for n in range(21, 220, 40)]


def walked(tool: str, args: Callable[[int, int], Any], spans: Sequence[Any]) -> Iterator[Entry]:
    for first, last in spans:
        text = "".join(f"line {n} of the text\n" for n in range(first, last + 1))
        yield step(2_000, verb(tool)(args(first, last), text))


for name, (tool, args) in READERS.items():
    CASES[f"pages: {name}"] = Case(
        asked(*walked(tool, args, WHOLE)), 12_000, kinds=("paging",), formats=OWN
    )
    CASES[f"known lines: {name}"] = Case(
        asked(*walked(tool, args, [*WHOLE, *SHIFTED])),
        22_000,
        Expect("re-read-ranges", 1, 7, (7, 8, 9, 10, 11), 10_000, "n/a"),
        formats=OWN,
    )


def lines(spans: Sequence[tuple[int, int]]) -> Iterator[Entry]:
    for first, last in spans:
        text = "".join(f"line {n} of the text\n" for n in range(first, last + 1))
        yield step(2_000, read({"path": "big.log", "first": first, "last": last}, text))


CASES["known lines of a file that was changed"] = Case(
    asked(
        *lines(WHOLE), step(500, edit({"path": "big.log", "old": "1", "new": "2"})), *lines(SHIFTED)
    ),
    22_500,
)
CASES["known lines, another file was changed"] = Case(
    asked(
        *lines(WHOLE), step(500, edit({"path": "x.py", "old": "1", "new": "2"})), *lines(SHIFTED)
    ),
    22_500,
    Expect("re-read-ranges", 1, 8, (8, 9, 10, 11, 12), 10_000, "n/a"),
)
CASES["pages that overlap"] = Case(asked(*lines([(n, n + 59) for n in range(1, 400, 40)])), 20_000)
CASES["pages by number"] = Case(
    asked(*(step(500, verb("list_items")({"page": n}, f"items {n}0-{n}9")) for n in range(1, 9))),
    4_000,
)

# -- B5, B10, S7, S9: failures --------------------------------------------------------------------

PERMANENT = "permanent-error-retried"
TRANSIENT = "transient-error-retried"
LASTING = {
    "no such table": "no such table: orders",
    "permission": "Permission denied",
    "spent quota": "429 You exceeded your current quota (insufficient_quota)",
    "spent quota in Chinese": "调用失败：账户余额不足，请充值",
    "bad argument in Chinese": "参数错误：城市不存在",
    "unknown tool": "Unknown tool: lookup",
}
PASSING = {
    "503": "503 Service Unavailable",
    "timeout": "Request timed out after 30 s",
    "rate limit": "429 Too Many Requests, retry after 2 s",
    "refused": "connection refused",
    "busy in Chinese": "系统繁忙，请稍后再试",
    "overloaded": "Overloaded",
}


def failing(text: str) -> Entry:
    return step(400, verb("ask_service")({"q": "x"}, text, error=True))


for name, text in LASTING.items():
    CASES[f"four times: {name}"] = Case(
        asked(*times(4, failing(text))), 1_600, row(1, 4, 400, "no", PERMANENT)
    )
for name, text in PASSING.items():
    CASES[f"three times, then well: {name}"] = Case(
        asked(*times(3, failing(text)), step(400, verb("ask_service")({"q": "x"}, "42"))),
        1_600,
        kinds=("retry-of-transient-error",),
    )
    CASES[f"six times: {name}"] = Case(
        asked(*times(6, failing(text))), 2_400, row(1, 6, 400, "yes", TRANSIENT)
    )
#: failures as agents without a flag write them; nothing but the words tells
IN_WORDS = {
    '{"error": "user 17 does not exist"}': ("no", PERMANENT),
    '{"error": {"code": 404, "message": "Not Found"}}': ("no", PERMANENT),
    '{"success": false, "message": "invalid argument: city"}': ("no", PERMANENT),
    "HTTP 404: no such page": ("no", PERMANENT),
    "Request failed with status code 403": ("no", PERMANENT),
    "bash: foo: command not found": ("no", PERMANENT),
    "调用失败：没有权限": ("no", PERMANENT),
    '{"error": {"code": 503, "message": "Service Unavailable"}}': ("yes", TRANSIENT),
    "HTTP 429 Too Many Requests": ("yes", TRANSIENT),
    "服务暂时不可用，请稍后重试": ("yes", TRANSIENT),
}
for text, (retryable, rule) in IN_WORDS.items():
    CASES[f"six times in words: {text}"] = Case(
        asked(*times(6, step(400, verb("ask_service")({"q": "x"}, text)))),
        2_400,
        row(1, 6, 400, retryable, rule),
        formats=(*UNFLAGGED, "anthropic_messages") if not text.startswith("{") else UNFLAGGED,
    )
CASES["two passing faults, then a lasting one three times"] = Case(
    asked(
        *times(2, step(400, fetch({"url": "u"}, "Service Unavailable", status=503, error=True))),
        *times(3, step(400, fetch({"url": "u"}, "Not Found", status=404, error=True))),
    ),
    2_000,
    row(3, 3, 400, "no", PERMANENT),
)
FAULTS = ("syntax error near line 3", "cannot divide by zero", "widget not initialised", "boom")


def scripts(*faults: str | None) -> list[Entry]:
    return asked(
        *(
            step(300, sh({"command": f"python s{i}.py"}, f or "well", error=f is not None))
            for i, f in enumerate(faults)
        )
    )


CASES["five steps that fail in five ways"] = Case(
    scripts(*FAULTS, "unexpected token }"),
    1_500,
    row(1, 5, 300, "no", "failing-steps"),
    formats=CODING,
)
CASES["four steps that fail in four ways"] = Case(scripts(*FAULTS), 1_200, formats=CODING)
CASES["a success among the failures"] = Case(
    scripts(*FAULTS[:2], None, *FAULTS[2:], "unexpected token }"), 1_800, formats=CODING
)
DENIED = step(600, sh({"command": "git push --force"}, "blocked by policy", ended="blocked"))
CASES["a call that a guard blocks each time"] = Case(
    asked(*times(5, DENIED)), 3_000, row(1, 5, 600, "no", "refused-again", "guard"), formats=OWN
)
CASES["a call that the user rejects each time"] = Case(
    asked(*times(3, step(600, sh({"command": "rm -rf x"}, "rejected", ended="rejected")))),
    1_800,
    row(1, 3, 600, "no", "refused-again"),
    formats=OWN,
)
NAMES = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta")
for answer in ("0 rows", "[]", "", "未找到结果", "No results.", "Found 0 files", "没有匹配的记录"):
    CASES[f"seven questions, each answered by {answer!r}"] = Case(
        asked(*(step(200, verb("search_db")({"q": n}, answer)) for n in NAMES)), 1_400
    )
CASES["seven searches that end with code 1 and say nothing"] = Case(
    asked(*(step(200, sh({"command": f"rg {n} src"}, "", error=True, code=1)) for n in NAMES)),
    1_400,
    formats=CODING,
)
CASES["words of the arguments in the fixed part of an error"] = Case(
    asked(
        *(
            step(
                300,
                sh(
                    {"command": f"ls {n}"},
                    f"ls: cannot access '{n}': No such file or directory",
                    error=True,
                ),
            )
            for n in ("src", "code", "exit", "file", "directory")
        )
    ),
    1_500,
    Expect("same-error", 1, 2, (2, 3, 4, 5), 1_200, "no"),
    formats=(*CODING, "anthropic_messages"),
)
CASES["an edit before the file was read"] = Case(
    asked(
        changed("1", "2", error=True, result="File has not been read yet"),
        step(500, read({"path": "a.py"}, "1")),
        changed("1", "2"),
        after_test("0 failed")(0),
    ),
    3_500,
)
CASES["failed requests before a healthy run"] = Case(
    asked(attempt(529), attempt(529), attempt(503), step(500, text="Here it is.")),
    500,
    formats=("loopaudit", "claude_code", "codex", "http_log"),
)

TRIED = [
    pytest.param(name, format_name, id=f"{name} - {format_name}")
    for name, case in CASES.items()
    for format_name in case.formats
    if lacking(format_name, case.entries) is None
]


@pytest.mark.parametrize(("name", "format_name"), TRIED)
def test_case(name: str, format_name: str, tmp_path: Path) -> None:
    case = CASES[name]
    found = told(tmp_path, format_name, case.entries)
    check(found, format_name, case.expect, case.total, case.kinds, calm=case.calm)
