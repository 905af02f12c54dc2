"""Texts, handovers, refusals, batches, varied questions, growing commands: each shape, its other
side, and more healthy work than loops, in every format that can tell it.

The right answers were worked out from the rules before the program was asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from builders import (
    FORMATS,
    LACKS,
    Expect,
    check,
    command,
    compaction,
    lacking,
    put,
    report,
    spelled,
    step,
    told,
    user,
    verb,
)
from dialects import Call
from writers import Entry

read, edit, write, run_tests = map(verb, ("read", "edit", "write", "test"))
sh, grep, send, fetch, poll = map(verb, ("sh", "grep", "send", "fetch", "poll"))
OWN = ("loopaudit",)
CODING = ("loopaudit", "claude_code", "codex", "codex shell")
#: formats in which a response may hold several calls that stay one response
BATCHES = ("loopaudit", "claude_code", "codex", "anthropic_messages", "http_log")
#: the others: Vercel's messages without a call look like any chat; in a history of the Responses
#: API, texts in a row are one message, so the next request seems to go on from another one
TALKING = tuple(f for f in FORMATS if f not in ("vercel_ai", "http_log responses"))


@dataclass(frozen=True)
class Case:
    entries: Sequence[Entry]
    total: int
    expect: Expect | None = None
    formats: tuple[str, ...] = FORMATS
    calm: bool = True


def asked(*entries: Entry) -> list[Entry]:
    return [user("Do what the ticket says."), *entries]


CASES: dict[str, Case] = {}
READ = step(500, read({"path": "a.py"}, "text"))

# -- the same text from response to response -------------------------------------------------------

DONE = "I have finished the work and I am waiting for your next instruction."
CASES["a monologue"] = Case(
    asked(READ, *(step(400, text=DONE) for _ in range(4))),
    2_100,
    Expect("same-text", 2, 3, (3, 4, 5), 1_200, "n/a"),
    formats=TALKING,
)
CASES["a monologue that tells the time"] = Case(
    asked(READ, *(step(400, text=f"It is 10:0{i}:00. Still waiting.") for i in range(4))),
    2_100,
    Expect("same-text", 2, 3, (3, 4, 5), 1_200, "n/a"),
    formats=TALKING,
)
CASES["two sentences in turns"] = Case(
    asked(*(step(400, text=t) for _ in range(3) for t in ("Shall I go on?", "Yes, go on."))),
    2_400,
    Expect("same-text", 1, 3, (3, 4, 5, 6), 1_600, "n/a"),
    formats=TALKING,
)
CASES["a monologue, then work"] = Case(
    asked(*(step(400, text=DONE) for _ in range(3)), READ, step(400, text="There it is.")),
    2_100,
    Expect("same-text", 1, 2, (2, 3), 800, "n/a", ended="recovered"),
    formats=TALKING,
)
CASES["said twice"] = Case(asked(READ, *(step(400, text=DONE) for _ in range(2))), 1_300)
CASES["the same answer to a person each time"] = Case(
    [e for i in range(5) for e in (user(f"And file {i}?"), step(400, text="It is fine."))],
    2_000,
    formats=TALKING,
)
CASES["the same words before different calls"] = Case(
    asked(
        *(
            step(400, read({"path": f"f{i}.py"}, f"text {i}"), text="Let me look at the next file.")
            for i in range(8)
        )
    ),
    3_200,
)
CASES["the same words between new calls"] = Case(
    asked(
        *(
            e
            for i in range(5)
            for e in (
                step(400, text="Now the next one."),
                step(400, read({"path": f"f{i}.py"}, f"text {i}")),
            )
        )
    ),
    4_000,
)
CASES["different answers in a row"] = Case(
    asked(
        *(step(400, text=f"Part {n}: the {n} chapter.") for n in ("one", "two", "three", "four"))
    ),
    1_600,
    formats=TALKING,
)

# -- text that repeats itself inside a response ----------------------------------------------------


def chants(text: str, *, then: Sequence[Entry] = ()) -> list[Entry]:
    return asked(READ, step(1_000, text=text), *then)


INTRO = "The sum is rounded twice: once for each line, and once more for the tax at the end. "
LOUD = {
    "a word": INTRO + "word " * 800,
    "a sentence": INTRO + "Let me check the file again. " * 60,
    "a paragraph": INTRO + ("The total is one cent off.\nI will look at it once more.\n\n" * 40),
    "a list item": INTRO + "- check the total\n" * 90,
    "capitals": INTRO + "STOP " * 500,
    "Chinese": "我先看一下这个模块。" + "我再看一下文件。" * 120,
    "blank lines": INTRO + "\n" * 4_000,
    "a counter": INTRO
    + "".join(f"Attempt {i}: let me look at the file again and see. " for i in range(90)),
    "nearly the same": INTRO
    + "".join(
        f"I am {('so', 'very', 'truly')[i % 3]} sorry for the {('error', 'mistake')[i % 2]}. "
        "Let me try that again. "
        for i in range(70)
    ),
    "a long stretch, and then a word of good-bye": INTRO
    + "Let me check the file again. " * 100
    + "Good, that is all there is to say about the matter.",
}
QUIET = {
    "a table": "".join(f"| {i} | file_{i}.py | passed |\n" for i in range(120)),
    "a list": "".join(f"- [x] check {i}: passed, no cent lost\n" for i in range(120)),
    "numbers": "".join(f"{i}, {i * i}, {i % 7}\n" for i in range(300)),
    "code": "```python\n"
    + "".join(f"    assert round_up({i}.5) == {i + 1}\n" for i in range(120))
    + "```\nThese are the checks.",
    "a rule": "Summary\n" + "-" * 300 + "\nAll 48 checks passed.",
    "a refrain": "Oh the cent, the cent, the cent. " * 12 + "And so the song ends, as it began.",
    "nine times": "word " * 9,
    "a long answer that was cut off": " ".join(
        f"Module {chr(97 + i % 26)}{i} computes {i * 37 % 101} items of kind {i * 53 % 97};"
        for i in range(200)
    ),
    "Chinese prose": "第一章讲税率，第二章讲舍入，第三章讲发票，第四章讲退款，第五章讲对账。" * 3
    + "以上是全部内容。",
}
for name, text in LOUD.items():
    CASES[f"inside one response: {name}"] = Case(
        chants(text),
        1_500,
        # a share of the output, a tenth of the tokens; it is checked apart below
        Expect("text-repeats-itself", 2, 2, (2,), -1, "n/a"),
    )
for name, text in QUIET.items():
    CASES[f"no repetition: {name}"] = Case(chants(text), 1_500)

# -- agents that hand the task to each other -------------------------------------------------------


def hands(tool: str, words: str, **args: str) -> Call:
    return verb(tool)({**args, "reason": words}, "The conversation was handed over.")


HANDOVERS = {
    "transfer_to_…": ("transfer_to_billing", "transfer_to_support", {}, {}),
    "handoff with a name": ("handoff", "handoff", {"to": "billing"}, {"to": "support"}),
    "hand_off_to_agent": (
        "hand_off_to_agent",
        "hand_off_to_agent",
        {"agent_name": "billing"},
        {"agent_name": "support"},
    ),
    "camel case": ("transferToBilling", "transferBackToSupport", {}, {}),
    "Chinese": ("转交客服", "转交财务", {}, {}),
    "MCP": ("mcp__desk__transfer_to_billing", "mcp__desk__transfer_to_support", {}, {}),
}
for name, (one, two, to_one, to_two) in HANDOVERS.items():
    CASES[f"handed back and forth in other words: {name}"] = Case(
        asked(
            *(
                s
                for i in range(4)
                for s in (
                    step(800, hands(one, f"this is about money, part {i}", **to_one)),
                    step(800, hands(two, f"this is not about money, part {i}", **to_two)),
                )
            )
        ),
        6_400,
        Expect("handed-back-and-forth", 1, 3, tuple(range(3, 9)), 4_800, "n/a"),
    )
CASES["three agents in a circle"] = Case(
    asked(
        *(
            step(800, hands(f"transfer_to_{a}", f"take it, {i}"))
            for i in range(3)
            for a in ("billing", "support", "sales")
        )
    ),
    7_200,
    Expect("handed-back-and-forth", 1, 4, tuple(range(4, 10)), 4_800, "n/a"),
)
CASES["handed over with work between"] = Case(
    asked(
        *(
            s
            for i in range(4)
            for s in (
                step(800, hands("transfer_to_billing", "an invoice")),
                step(800, verb("get_invoice")({"number": i}, f"total {i}.50")),
                step(800, hands("transfer_to_support", "a log-in")),
                step(800, verb("get_account")({"number": i}, f"locked since day {i}")),
            )
        )
    ),
    12_800,
)
CASES["a supervisor sends the same agent to work"] = Case(
    asked(
        *(
            s
            for i in range(5)
            for s in (
                step(800, verb("transfer_to_researcher")({}, "Successfully transferred")),
                step(800, verb("web_search")({"q": f"chapter {i}"}, f"found {i} pages")),
                step(800, verb("transfer_back_to_supervisor")({}, "Successfully transferred")),
            )
        )
    ),
    12_000,
)
CASES["handed on from agent to agent"] = Case(
    asked(
        *(
            step(800, hands(f"transfer_to_{a}", "please take it"))
            for a in ("triage", "billing", "refunds", "support")
        )
    ),
    3_200,
)
CASES["the user speaks between handovers"] = Case(
    [
        e
        for i in range(4)
        for e in (user(f"Question {i}"), step(800, hands("transfer_to_billing", "money")))
    ],
    3_200,
)

# -- calls that were refused -----------------------------------------------------------------------

PUSH = {"command": "git push origin main"}


def refused(number: int, ended: str = "blocked") -> Entry:
    return step(600, sh(PUSH, f"Blocked by the guard, {9 - number} tries left", ended=ended))


CASES["refused again, the refusal in other words"] = Case(
    asked(*(refused(n) for n in range(4))),
    2_400,
    Expect("refused-again", 1, 2, (2, 3, 4), 1_800, "no", ended="guard"),
    formats=OWN,
)
CASES["refused again between other calls"] = Case(
    asked(
        *(
            s
            for n in range(4)
            for s in (refused(n, "rejected"), step(600, read({"path": f"f{n}"}, f"t{n}")))
        )
    ),
    4_800,
    Expect("refused-again", 1, 3, (3, 5, 7), 1_800, "no"),
    formats=OWN,
)
DENIED = "The user doesn't want to proceed with this tool use. The tool use was rejected."
CASES["refused again in Claude Code"] = Case(
    asked(*(step(600, sh(PUSH, DENIED, ended="rejected")) for _ in range(4))),
    2_400,
    Expect("refused-again", 1, 2, (2, 3, 4), 1_800, "no"),
    formats=("claude_code",),
)
CASES["refused, and then let through"] = Case(
    asked(refused(0), refused(1), step(600, sh(PUSH, "main -> main"))),
    1_800,
    formats=OWN,
    calm=False,
)
CASES["refused, and something was done about it"] = Case(
    asked(
        *(
            s
            for n in range(4)
            for s in (
                refused(n),
                step(600, edit({"path": "a.py", "old": str(n), "new": str(n + 1)})),
            )
        )
    ),
    4_800,
    formats=OWN,
    calm=False,
)
CASES["the user speaks between refusals"] = Case(
    [e for n in range(4) for e in (user(f"Try {n}"), refused(n, "rejected"))], 2_400, formats=OWN
)
CASES["different calls are refused"] = Case(
    asked(
        *(
            step(600, sh({"command": f"rm -rf d{n}"}, f"refused: d{n}", ended="rejected"))
            for n in range(4)
        )
    ),
    2_400,
    formats=OWN,
)

# -- one batch several times in one response -------------------------------------------------------

PRICE, STOCK = verb("get_price"), verb("get_stock")
BATCH = (PRICE({"sku": 1}, "2.50"), STOCK({"sku": 1}, "14 pieces"))
CASES["a batch four times in one response"] = Case(
    asked(step(900, *BATCH * 4), step(300, text="14 pieces at 2.50.")),
    1_200,
    Expect("batch-emitted-again", 1, 1, (), 0, "n/a", ended="recovered"),
    formats=BATCHES,
)
CASES["a batch three times behind another call"] = Case(
    asked(step(900, read({"path": "a"}, "A"), *BATCH * 3), step(300, text="14 pieces.")),
    1_200,
    Expect("batch-emitted-again", 1, 1, (), 0, "n/a", ended="recovered"),
    formats=BATCHES,
)
CASES["one call twelve times in one response"] = Case(
    asked(step(900, *[PRICE({"sku": 1}, "2.50")] * 12), step(300, text="2.50.")),
    1_200,
    Expect("batch-emitted-again", 1, 1, (), 0, "n/a", ended="recovered"),
    formats=BATCHES,
)
CASES["six equal calls side by side"] = Case(
    asked(step(900, *[PRICE({"sku": 1}, "2.50")] * 6), step(300, text="2.50.")),
    1_200,
    formats=BATCHES,
)
CASES["twelve throws of a die"] = Case(
    asked(
        step(900, *(verb("roll_dice")({"sides": 6}, str(1 + i * 5 % 6)) for i in range(12))),
        step(300, text="Twelve throws."),
    ),
    1_200,
    formats=BATCHES,
)
CASES["a fan-out of twenty"] = Case(
    asked(step(900, *(PRICE({"sku": i}, f"{i}.50") for i in range(20))), step(300, text="All.")),
    1_200,
    formats=BATCHES,
)
CASES["a batch twice"] = Case(
    asked(step(900, *BATCH * 2), step(300, text="14 pieces at 2.50.")), 1_200, formats=BATCHES
)
CASES["pairs that differ"] = Case(
    asked(
        step(
            900,
            *(
                c
                for i in range(5)
                for c in (PRICE({"sku": i}, f"{i}.50"), STOCK({"sku": i}, f"{i} pieces"))
            ),
        ),
        step(300, text="Five."),
    ),
    1_200,
    formats=BATCHES,
)

# -- varied questions, one answer ------------------------------------------------------------------

NO_ANSWER = "The archive's opening hours are not part of this collection. Ask the front desk."
QUESTIONS = (
    "opening hours archive",
    "archive hours",
    "when is the archive open",
    "archive open sunday",
    "archive timetable",
    "reading room hours",
)
ASK = verb("ask_library")
CASES["six questions, one answer"] = Case(
    asked(*(step(700, ASK({"question": q}, NO_ANSWER)) for q in QUESTIONS)),
    4_200,
    Expect("same-answer", 1, 2, (2, 3, 4, 5, 6), 3_500, "n/a"),
)
CASES["six questions, one answer, in Chinese"] = Case(
    asked(
        *(
            step(
                700,
                verb("查询知识库")(
                    {"问题": q}, "该问题不在本知识库的服务范围之内，请联系前台工作人员。"
                ),
            )
            for q in QUESTIONS
        )
    ),
    4_200,
    Expect("same-answer", 1, 2, (2, 3, 4, 5, 6), 3_500, "n/a"),
)
CASES["six questions, one answer, other work between"] = Case(
    asked(
        *(
            s
            for i, q in enumerate(QUESTIONS)
            for s in (
                step(700, ASK({"question": q}, NO_ANSWER)),
                step(300, read({"path": f"f{i}.py"}, f"text {i}")),
            )
        )
    ),
    6_000,
    Expect("same-answer", 1, 3, (3, 5, 7, 9, 11), 3_500, "n/a"),
)
CASES["four questions, one answer"] = Case(
    asked(*(step(700, ASK({"question": q}, NO_ANSWER)) for q in QUESTIONS[:4])), 2_800
)
CASES["another answer in the middle"] = Case(
    asked(
        *(
            step(700, ASK({"question": q}, NO_ANSWER if i != 3 else "Open from ten to five."))
            for i, q in enumerate(QUESTIONS)
        )
    ),
    4_200,
)
CASES["the user speaks in the middle of the questions"] = Case(
    [e for q in QUESTIONS for e in (user("And this?"), step(700, ASK({"question": q}, NO_ANSWER)))],
    4_200,
)
CASES["questions side by side"] = Case(
    asked(step(900, *(ASK({"question": q}, NO_ANSWER) for q in QUESTIONS))), 900, formats=BATCHES
)
CASES["yes to each of ten checks"] = Case(
    asked(*(step(300, verb("is_open")({"port": 8_000 + i}, "yes")) for i in range(10))), 3_000
)
CASES["twenty writes all answer alike"] = Case(
    asked(
        *(
            step(300, write({"path": f"f{i}.txt", "text": f"{i}"}, "The file was written to disk."))
            for i in range(20)
        )
    ),
    6_000,
)
for tool, receipt in (
    ("add_to_list", "The book was put on your list."),
    ("mark_as_read", "The message was marked as read."),
    ("think", "Your thought has been logged."),
    ("TodoWrite", "Todos have been modified successfully. Ensure that you continue to use them."),
    ("computer", "The action was carried out."),
    ("browser_scroll", "Scrolled the page, see the screenshot."),
    ("记录日志", "这条日志已经成功写入到系统的日志文件之中了。"),
):
    CASES[f"receipts of {tool}"] = Case(
        asked(*(step(300, verb(tool)({"value": f"item {i}"}, receipt)) for i in range(8))), 2_400
    )
for name, make in {
    "a tool": lambda n: grep({"pattern": n}, "Found 1 file\n/home/noor/app/tariff/money.py"),
    "a command": lambda n: sh({"command": f"rg -l {n} src"}, "src/tariff/money.py src/tax.py"),
    "a command elsewhere": lambda n: sh(
        {"command": f"cd src && grep -rn {n} ."}, "./tariff/money.py:3: import tax, cents, total"
    ),
}.items():
    # no finding; that the guard rule `known_answers` stops here at the fifth is a tuned choice
    CASES[f"seven names in one file, by {name}"] = Case(
        asked(*(step(300, make(n)) for n in ("a", "b", "c", "d", "e", "f", "g"))),
        2_100,
        calm=False,
    )
CASES["ten files that all are empty"] = Case(
    asked(*(step(300, read({"path": f"p{i}/__init__.py"}, "")) for i in range(10))), 3_000
)
CASES["thirty files, each another"] = Case(
    asked(*(step(300, read({"path": f"f{i}.py"}, f"text {i}")) for i in range(30))), 9_000
)

# -- a command that grows --------------------------------------------------------------------------


def grows(parts: Sequence[str], answers: Sequence[str], tool: str = "sh") -> list[Entry]:
    commands = ["".join(parts[: n + 1]) for n in range(len(parts))]
    calls = (verb(tool)({"command": c}, a) for c, a in zip(commands, answers, strict=True))
    return asked(*(step(400, c) for c in calls))


PARTS = ("ls src", " | sort", " | uniq", " | head -50", " | cat", " | tail -40")
CASES["a command that grows"] = Case(
    grows(PARTS, ["money.py tax.py"] * 6),
    2_400,
    Expect("growing-command", 1, 2, (2, 3, 4, 5, 6), 2_000, "n/a"),
)
CASES["a query that grows"] = Case(
    asked(
        *(
            step(400, verb("search_code")({"query": q, "limit": 5}, "tariff/money.py:1"))
            for q in (
                "round",
                "round up",
                "round up cent",
                "round up cent tax",
                "round up cent tax x",
            )
        )
    ),
    2_000,
    Expect("growing-command", 1, 2, (2, 3, 4, 5), 1_600, "n/a"),
)
CASES["a command that grows at its front"] = Case(
    asked(
        *(
            step(400, sh({"command": c}, "money.py"))
            for c in ("ls src", "date; ls src", "pwd; date; ls src", "id; pwd; date; ls src")
        )
    ),
    1_600,
    Expect("growing-command", 1, 2, (2, 3, 4), 1_200, "n/a"),
)
CASES["a command that grows and finds more"] = Case(
    grows(PARTS, [f"money.py and {n} others" for n in range(6)]), 2_400
)
CASES["three commands that grow"] = Case(grows(PARTS[:3], ["money.py"] * 3), 1_200)
CASES["a command that shrinks"] = Case(
    asked(
        *(
            step(400, sh({"command": c}, "money.py"))
            for c in ("ls a b c d", "ls a b c", "ls a b", "ls a")
        )
    ),
    1_600,
)
CASES["changes that grow"] = Case(
    asked(
        *(
            step(400, sh({"command": "mkdir " + " ".join(f"d{i}" for i in range(n + 1))}, ""))
            for n in range(6)
        )
    ),
    2_400,
    formats=CODING,
)
CASES["the user speaks while a command grows"] = Case(
    [e for entry in grows(PARTS, ["money.py"] * 6)[1:] for e in (user("More."), entry)], 2_400
)

# -- loops inside loops ----------------------------------------------------------------------------

SPEC, CODE = (step(1_000, read({"path": p}, p * 9)) for p in ("spec.md", "a.py"))
CASES["a cycle within rounds of compaction"] = Case(
    asked(*(e for _ in range(4) for e in (SPEC, CODE, SPEC, CODE, compaction(500)))),
    18_000,
    # the second round trip repeats the first; after the first compaction each file is read once
    # unpunished (memory was lost once); from then on every step is waste, compactions too
    Expect(
        "compact-and-re-read",
        1,
        3,
        (3, 4, *range(8, 21)),
        2_000 + 2_000 + 500 + 2 * (4_000 + 500),
        "n/a",
    ),
    formats=("loopaudit", "codex"),
)
A, B, C = (step(300, read({"path": p}, p * 9)) for p in ("a.py", "b.py", "c.py"))
CASES["a call within a cycle"] = Case(
    asked(*(s for _ in range(4) for s in (A, A, A, B))),
    4_800,
    Expect("cycle", 1, 2, (2, 3, *range(5, 17)), 300 * 14, "n/a", period=4),
)
CASES["a cycle within a cycle"] = Case(
    asked(*(s for _ in range(3) for s in (A, B, A, B, C))),
    4_500,
    Expect("cycle", 1, 3, (3, 4, *range(6, 16)), 300 * 12, "n/a", period=5),
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
    expect = case.expect
    if expect is not None and expect.tokens < 0:
        share = within_a_response(found, format_name)
        expect = Expect(
            *(getattr(expect, f) for f in ("rule", "first", "onset", "waste")), share, "n/a"
        )
    check(found, format_name, expect, case.total, calm=case.calm)


def within_a_response(found: dict, format_name: str) -> int:
    """Checks where the repetition begins, and that the waste is a share of the output (100)."""
    (finding,) = found["findings"]
    waste = finding["waste"]
    (entry,) = waste["steps"]
    assert 0 < finding["onset"]["char_offset"] < 600
    if "usage" in LACKS[format_name]:
        assert waste["tokens"] is None
    else:
        assert 60 <= waste["tokens"] <= 100
        assert waste["tokens"] == round(1_000 * entry["part"])
    assert waste["estimated"] or waste["tokens"] is None
    return waste["tokens"]


def test_a7_one_answer_that_repeats_a_word(tmp_path: Path) -> None:
    """2,500 in and 8,192 out, of which 40 are useful; then 8,192 of nothing else."""
    useful = "The sum is rounded line by line, and the tax once more at the end of the invoice. "
    useful = (useful * 3)[:200]
    lines = [
        {"loopaudit": 1},
        {"type": "boundary", "kind": "user", "text": "Why?"},
        {
            "type": "response",
            "id": "m1",
            "usage": {"fresh_input": 1_800, "output": 200},
            "calls": [{"id": "t1", "tool": "read", "args": {"path": "a"}, "result": "A"}],
        },
        {
            "type": "response",
            "id": "m2",
            "usage": {"fresh_input": 2_500, "output": 8_192},
            "text": useful + "word " * 8_152,
            "finish": "max_tokens",
        },
        {
            "type": "response",
            "id": "m3",
            "usage": {"fresh_input": 10_700, "output": 8_192},
            "text": "word " * 8_192,
            "finish": "max_tokens",
        },
        {"type": "boundary", "kind": "interrupt"},
    ]

    found = report(put(tmp_path / "a7.jsonl", lines))
    (loop,) = found["findings"]
    assert (loop["rule"], loop["ended_by"]) == ("text-repeats-itself", "user")
    assert [e["step"] for e in loop["waste"]["steps"]] == [1, 2]
    assert (loop["first_seen"]["step"], loop["onset"]["step"]) == (1, 1)
    assert loop["onset"]["char_offset"] == pytest.approx(200, abs=6)
    assert loop["waste"]["tokens"] == pytest.approx(27_044, abs=3)
    assert loop["waste"]["estimated"]
    assert found["totals"]["tokens"]["total"] == 31_584


def test_cycles_as_long_as_the_user_sets(tmp_path: Path) -> None:

    entries = asked(
        *(step(500, read({"path": f"f{n}.py"}, f"text {n}")) for _ in range(4) for n in range(15))
    )
    path = put(tmp_path / "long.jsonl", spelled("loopaudit", entries))
    (loop,) = report(path)["findings"]
    assert (loop["rule"], loop["occurrences"]) == ("same-call-same-result", 4)
    settings = tmp_path / "loopaudit.toml"
    settings.write_text("[guards.loopaudit.detector.cycles.options]\nlongest = 20\n")
    ended = command("report", path, "--config", settings, "--format", "json")
    assert ended.code == 0, ended.err
    (loop,) = report(path, options=("--config", str(settings)))["findings"]
    assert (loop["rule"], loop["period"], loop["occurrences"]) == ("cycle", 15, 4)


def test_money_of_a_part_is_that_of_the_output(tmp_path: Path) -> None:
    """$1 a million in, $10 a million out: 2,000 in, 1,000 out, of which 900 characters of 1,000."""
    text = ("The sum is rounded twice, line by line and at the end. " * 2)[:99] + "\n"
    lines = [
        {"loopaudit": 1},
        {"type": "boundary", "kind": "user", "text": "Why?"},
        {
            "type": "response",
            "id": "m1",
            "model": "m",
            "usage": {"fresh_input": 2_000, "output": 1_000},
            "text": text + "0123456 8b" * 91,
        },
    ]
    settings = tmp_path / "loopaudit.toml"
    settings.write_text('[[prices.model]]\nmodel = "m"\ninput = 1.0\noutput = 10.0\n')
    path = put(tmp_path / "log.jsonl", lines)
    found = report(path, options=("--config", str(settings)))
    (loop,) = found["findings"]
    # of 1,010 characters 90 x 10 are redundant: 891 tokens of output
    assert loop["onset"]["char_offset"] == 110
    assert loop["waste"]["tokens"] == round(1_000 * 900 / 1_010)
    assert float(loop["waste"]["usd"]) == pytest.approx(0.01 * 900 / 1_010, abs=1e-6)
    assert loop["waste"]["estimated"]
    total = float(found["totals"]["usd"])
    assert total == pytest.approx(0.012)
