"""The loops and near misses of the cases (A, B, S), each in every format that can tell it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from builders import (
    FORMATS,
    LACKS,
    Entry,
    Event,
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
from dialects import Call

read, edit, run_tests, sh, grep = map(verb, ("read", "edit", "test", "sh", "grep"))
poll, fetch, send = map(verb, ("poll", "fetch", "send"))


@dataclass(frozen=True)
class Case:
    entries: Sequence[Entry]
    total: int
    expect: Expect | None = None
    kinds: tuple[str, ...] = ()  # kinds of what is said not to be a loop
    calm: bool = True  # no guard of the default set would have stopped it
    but: dict[str, tuple[Expect | None, int]] = field(default_factory=dict)  # where a format lacks


def asked(*entries: Entry) -> list[Entry]:
    return [user("Do what the ticket says."), *entries]


CASES: dict[str, Case] = {}


# -- A: real loops --------------------------------------------------------------------------------


def sends(texts: Sequence[str], results: Sequence[object]) -> list[Entry]:
    return asked(
        step(900, verb("read_doc")({"name": "runbook"}, "Tell ops when the job is done.")),
        *(
            step(1_000 + 100 * i, send({"to": "ops", "text": text}, result))
            for i, (text, result) in enumerate(zip(texts, results, strict=True))
        ),
        step(1_500, text="I have told ops."),
    )


IDS = [f'{{"ok": true, "id": "m-{101 + i}"}}' for i in range(5)]
CASES["A1 success that changes only its id"] = Case(
    sends(["done"] * 5, IDS),
    8_400,
    Expect(
        "same-call-same-result",
        *(2, 3, (3, 4, 5, 6), 5_000, "n/a"),
        ended="recovered",
        occurrences=5,
        reason="4 repeated side effects",
    ),
)
CASES["A1 other side: five messages of other words"] = Case(
    sends([f"step {i} of 5 is done" for i in range(5)], IDS), 8_400
)


def a2(rounds: int, *, fails: bool = True) -> list[Entry]:
    return asked(
        *(
            s
            for i in range(rounds)
            for s in (
                step(2_000, read({"path": "a.py"}, "x = 0\n" if fails else f"x = {i}\n")),
                step(
                    2_000,
                    edit(
                        {"path": "a.py", "old": "x=1", "new": "x=2" if fails else f"x={i}"},
                        "old text not found" if fails else "ok",
                        error=fails,
                    ),
                ),
                step(2_000, run_tests({}, "1 failed: t_x", error=True)),
            )
        )
    )


CASES["A2 cycle of three with a failing edit"] = Case(
    a2(4),
    24_000,
    Expect("cycle", 1, 4, tuple(range(4, 13)), 18_000, "no", period=3, occurrences=4),
)
# nothing to report yet; that a guard stops here, at the third step without anything new, is tuned
CASES["A2 other side: two rounds"] = Case(a2(2), 12_000, calm=False)
CASES["A2 other side: the edits work"] = Case(a2(4, fails=False), 24_000)


def a3(*between: Entry) -> list[Entry]:
    entries: list[Entry] = []
    for i in range(1, 10):
        call = run_tests({}, "2 failed: t_a,t_b", error=True)
        if i % 2 == 0:
            call = read({"path": f"f{i // 2}.py"}, f"text {i // 2}")
            entries.append(step(1_400 + 100 * i, call))
            entries += between
        else:
            entries.append(step(1_400 + 100 * i, call))
    return asked(*entries)


CASES["A3 one repeated call between different calls"] = Case(
    a3(), 17_100, Expect("same-call-same-result", 1, 3, (3, 5, 7, 9), 8_000, "no")
)
CASES["A3 other side: the user speaks before each test"] = Case(a3(user("Once more.")), 17_100)


def a4(*asks: Event) -> list[Entry]:
    return asked(
        *(step(4_000, read({"path": f"f{i}.py"}, f"text {i}")) for i in range(3)),
        step(4_200, text="Done."),
        *(
            entry
            for i, ask in enumerate(asks)
            for entry in (ask, step(4_300 + 100 * i, text="Acknowledged."))
        ),
        interrupt(),
    )


BLOCKED = "cannot stop: session not matched"
CASES["A4 stop-hook ping-pong"] = Case(
    a4(*[hook(BLOCKED)] * 5),
    38_700,
    Expect("hook-ping-pong", 5, 6, (6, 7, 8, 9), 18_200, "no", ended="interrupt"),
)
CASES["A4 other side: a person says it"] = Case(a4(*[user(BLOCKED)] * 5), 38_700)
CASES["A4 other side: one answer to a hook"] = Case(a4(hook(BLOCKED)), 20_500)


def a5(rounds: int) -> list[Entry]:
    spec, code = read({"path": "spec.md"}, "the spec"), read({"path": "a.py"}, "x = 0")
    each = (step(6_000, spec), step(7_000, code), compaction(9_000))
    return asked(*(entry for _ in range(rounds) for entry in each))


CASES["A5 compact, forget, read again"] = Case(
    a5(4),
    88_000,
    Expect("compact-and-re-read", 1, 7, tuple(range(7, 13)), 44_000, "n/a"),
    # without responses of its own a compaction is no step and costs nothing that could be seen
    but={
        "claude_code": (
            Expect("compact-and-re-read", 1, 5, (5, 6, 7, 8), 26_000, "n/a"),
            52_000,
        )
    },
)
CASES["A5 other side: one memory loss"] = Case(a5(2), 44_000, but={"claude_code": (None, 26_000)})


# -- B: look like loops and are not ---------------------------------------------------------------


def polls(*answers: str) -> list[Entry]:
    return asked(*(step(500, poll({"id": 7}, answer)) for answer in answers))


CASES["B1 polling a build"] = Case(
    polls("12%", "31%", "58%", "83%", "97%", "exit 0"), 3_000, kinds=("poll-with-progress",)
)
CASES["B1 flip: nothing moves"] = Case(
    polls(*["12%"] * 12),
    6_000,
    Expect("same-call-same-result", 1, 2, tuple(range(2, 13)), 5_500, "yes"),
)
CASES["B1 other side: nine unchanged polls"] = Case(
    polls(*["12%"] * 9), 4_500, kinds=("unchanged-poll",)
)


def b3(answers: Sequence[str], *, fails: bool) -> list[Entry]:
    return asked(
        *(
            s
            for i, answer in enumerate(answers)
            for s in (
                step(
                    1_000,
                    edit(
                        {"path": "a.py", "old": f"x = {i}", "new": f"x = {i + 1}"},
                        "old text not found" if fails else "ok",
                        error=fails,
                    ),
                ),
                step(1_000, run_tests({}, answer, error=not answer.startswith("0"))),
            )
        )
    )


CASES["B3 test after each edit"] = Case(
    b3(["3 failed", "2 failed", "2 failed", "0 failed"], fails=False),
    8_000,
    kinds=("test-after-edit",),
)
CASES["B3 flip: the edits fail"] = Case(
    b3(["2 failed"] * 4, fails=True),
    8_000,
    Expect("cycle", 1, 3, tuple(range(3, 9)), 6_000, "no", period=2),
)


def pages(*spans: tuple[int, int]) -> list[Entry]:
    return [
        step(
            2_000,
            read(
                {"path": "big.log", "first": first, "last": last},
                "".join(f"event number {n}\n" for n in range(first, last + 1)),
            ),
        )
        for first, last in spans
    ]


WHOLE = [(n, n + 39) for n in range(1, 240, 40)]
SHIFTED = [(n, n + 39) for n in range(21, 220, 40)]
CASES["B4 paging a big file"] = Case(asked(*pages(*WHOLE)), 12_000, kinds=("paging",))
CASES["B4 flip: shifted windows over known lines"] = Case(
    asked(*pages(*WHOLE, *SHIFTED)),
    22_000,
    Expect("re-read-ranges", 1, 7, (7, 8, 9, 10, 11), 10_000, "n/a"),
)


def shell(tokens: int, *commands: tuple[str, str, bool]) -> list[Entry]:
    return asked(*(step(tokens, sh({"command": c}, r, error=e)) for c, r, e in commands))


CASES["B5 same tool, other files"] = Case(
    shell(
        700,
        ("mv a.txt b.txt", "", False),
        ("grep -n total a.py", "3:total = 0", False),
        ("sed -i s/total/sum/ x.ts", "", False),
        ("mv c.txt d.txt", "", False),
        ("grep -n rate c.py", "9:rate = 2", False),
        ("sed -i s/rate/share/ y.ts", "", False),
    ),
    4_200,
)

FOLDERS = ("src", "lib", "app", "core", "pkg", "code")


def fetches(*answers: tuple[str, int | None], last: str) -> list[Entry]:
    return [
        *(
            step(400, fetch({"url": "https://x.test/a"}, text, status=status, error=bool(status)))
            for text, status in answers
        ),
        step(500, text=last),
    ]


DOWN = ("Service Unavailable", 503)
CASES["B10 retry of a passing fault"] = Case(
    asked(attempt(529), attempt(529), *fetches(DOWN, DOWN, ("A page.", None), last="Here it is.")),
    1_700,
    kinds=("retry-of-transient-error",),
)
CASES["B10 flip: a lasting fault"] = Case(
    asked(*fetches(*[("Not Found", 404)] * 5, last="There is no such page.")),
    2_500,
    Expect("permanent-error-retried", 1, 2, (2, 3, 4, 5), 1_600, "no", ended="recovered"),
)


def b11() -> list[Entry]:
    def look(version: str) -> Entry:
        return step(1_000, read({"path": "cfg.toml"}, f'version = "{version}"'))

    def change(old: str, new: str) -> Entry:
        return step(1_000, edit({"path": "cfg.toml", "old": old, "new": new}))

    return asked(
        look("v1"),
        change("v1", "v2"),
        look("v2"),
        compaction(2_000),
        look("v2"),
        change("v2", "v3"),
        look("v3"),
    )


CASES["B11 read again after change or memory loss"] = Case(
    b11(),
    8_000,
    kinds=("re-read-after-change", "re-read-after-memory-loss"),
    but={"claude_code": (None, 6_000)},
)


# -- S: more --------------------------------------------------------------------------------------


CASES["S4 one finding for three detectors"] = Case(
    asked(
        step(500, read({"path": "a.py"}, "text a")),
        *fetches(*[("Not Found", 404)] * 5, last="No such page.")[:-1],
        step(500, text="No such page."),
    ),
    3_000,
    Expect("permanent-error-retried", 2, 3, (3, 4, 5, 6), 1_600, "no", ended="recovered"),
)


def s5(*between: Entry) -> list[Entry]:
    look = step(1_000, grep({"pattern": "total"}, "a.py:3:total = 0"))
    return asked(
        *[look] * 3,
        *between,
        step(1_000, read({"path": "a.py"}, "total = 0")),
        step(1_000, edit({"path": "a.py", "old": "total = 0", "new": "total = 1"})),
        step(1_000, text="Solved."),
    )


RECOVERED = Expect("same-call-same-result", 1, 2, (2, 3), 2_000, "n/a", ended="recovered")
CASES["S5 a loop that ended well, after a warning"] = Case(
    s5(Event("reminder", "you have searched for that already")), 6_000, RECOVERED
)
CASES["S5 a loop that ended well by itself"] = Case(s5(), 6_000, RECOVERED)
CASES["S5 other side: two greps"] = Case(s5()[:1] + s5()[2:], 5_000)


def tries(number: int) -> list[Entry]:
    query = verb("query_table")
    failed = [
        step(300, query({"table": f"t{i}"}, f"permission denied for relation t{i}", error=True))
        for i in range(number)
    ]
    return asked(*failed, step(300, query({"table": "t9"}, "7 rows, 3 columns")))


CASES["S7 three tries with other arguments"] = Case(tries(3), 1_200, kinds=("varied-tries",))
CASES["S7 other side: five tries"] = Case(
    tries(5), 1_800, Expect("same-error", 1, 2, (2, 3, 4, 5), 1_200, "no", ended="recovered")
)
NAMES = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta")
CASES["S9 seven questions answered"] = Case(
    asked(*(step(200, grep({"pattern": name}, "No matches found")) for name in NAMES)), 1_400
)
# each question is another one, and its answer is where to look: the same file every time
CASES["S9 variant: seven names stand in one file"] = Case(
    asked(*(step(200, grep({"pattern": name}, "src/settings/defaults.py")) for name in NAMES)),
    1_400,
)
CASES["S9 variant: the same searches in a shell"] = Case(
    asked(
        *(
            step(200, sh({"command": f"find . -name '*{name}*' -path '*src*'"}, "./src/greek.py"))
            for name in NAMES
        )
    ),
    1_400,
)


def fan_out(*orders: Sequence[int]) -> list[Entry]:
    def look(i: int) -> Call:
        return read({"path": f"f{i}.py"}, f"text {i}", id=None)

    return asked(*(step(1_000, *(look(i) for i in order)) for order in orders))


CASES["S14 a parallel fan-out is one round"] = Case(fan_out(range(5)), 1_000)
CASES["S14 equal calls side by side are one round"] = Case(
    asked(*[step(1_000, *[read({"path": "f.py"}, "text")] * 4)] * 2), 2_000
)
CASES["S14 other side: the fan-out comes again, in any order"] = Case(
    fan_out((0, 1, 2, 3, 4), (3, 4, 0, 1, 2), (4, 3, 2, 1, 0), (1, 0, 2, 4, 3)),
    4_000,
    Expect("same-call-same-result", 1, 2, (2, 3, 4), 3_000, "n/a"),
)

TRIED = [
    pytest.param(name, format_name, id=f"{name} - {format_name}")
    for name, case in CASES.items()
    for format_name in FORMATS
    if lacking(format_name, case.entries) is None
]


@pytest.mark.parametrize(("name", "format_name"), TRIED)
def test_case(name: str, format_name: str, tmp_path: Path) -> None:
    case = CASES[name]
    expect, total = case.but.get(format_name, (case.expect, case.total))
    check(
        told(tmp_path, format_name, case.entries),
        format_name,
        expect,
        total,
        case.kinds,
        calm=case.calm,
    )


def test_what_no_format_or_only_some_can_tell() -> None:
    """Every case runs in our own format, Claude Code and Codex; what the others lack is listed."""
    left_out = {
        (name, format_name)
        for name, case in CASES.items()
        for format_name in FORMATS
        if lacking(format_name, case.entries)
    }
    assert {f for _, f in left_out} == {*FORMATS} - {
        "loopaudit",
        "claude_code",
        "codex",
        "codex shell",
    }
    assert {n[:2] for n, _ in left_out} == {"A4", "A5", "B1"}  # B11
    assert all(LACKS[f] for _, f in left_out)


def test_b5_flip_the_same_error_for_varied_targets_warns(tmp_path: Path) -> None:
    missing = [
        (f"ls {n}", f"ls: cannot access '{n}': No such file or directory", True) for n in FOLDERS
    ]
    for format_name in FORMATS:
        found = told(tmp_path / format_name, format_name, shell(700, *missing))
        levels = {
            (v["detector"], v["level"]) for guard in found["guards"] for v in guard["verdicts"]
        }
        assert ("same_error", "warn") in levels, format_name
        assert not any(level == "stop" for _, level in levels), format_name
