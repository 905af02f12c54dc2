"""A report built by hand: three loops in four runs, guards, gaps of every kind, hostile names."""

from __future__ import annotations

from decimal import Decimal

from loopaudit.findings import (
    Completeness,
    EndedBy,
    Finding,
    GuardResult,
    InputSummary,
    Level,
    NotLoop,
    OutcomeBy,
    Place,
    Report,
    Retryable,
    RunSummary,
    Spin,
    Stop,
    Tokens,
    Totals,
    Trip,
    Undecidable,
    Verdict,
    Waste,
    WasteStep,
)
from loopaudit.model import Skip

T0 = 1_777_642_151.0  # 2026-05-01T13:29:11Z
MAIN = "logs/c4f1.jsonl"
SIDE = "logs/agents/agent-7b.jsonl"
SLOW = "logs/d2e0.jsonl"
ODD = "logs/北京/odd.jsonl"


def place(run: str, step: int, path: str, line: int, after: float | None) -> Place:
    return Place(run, step, 0, path, line, None if after is None else T0 + after)


def waste(run: str, steps: range, tokens: int | None, read: int | None, usd: str | None, share):
    return Waste(
        [WasteStep(run, step) for step in steps],
        tokens,
        read,
        None if usd is None else Decimal(usd),
        share,
    )


def stop(guard: str, detector: str, level: Level, limit: float, step: int, tokens: int, usd: str):
    return Stop(guard, detector, level, limit, step, tokens, Decimal(usd), step + 1)


def run(id: str, path: str, **more) -> RunSummary:
    fields = {
        "parent": None,
        "format": "claude_code",
        "agent": None,
        "task_type": None,
        "outcome": None,
        "outcome_source": None,
        "steps": 10,
        "calls": 12,
        "calls_failed": 0,
        "started": None,
        "ended": None,
        "tokens": Tokens(),
        "usd": None,
    }
    return RunSummary(id=id, path=path, **(fields | more))


def report() -> Report:
    pytest_loop = Finding(
        rule="repeated-call",
        run="c4f1a9",
        occurrences=64,
        first_seen=place("c4f1a9", 208, MAIN, 1881, 2161),
        onset=place("c4f1a9", 211, MAIN, 1904, 2300),
        last=place("c4f1a9", 271, MAIN, 2416, 5129),
        ended_by=EndedBy.USER,
        retryable=Retryable.NO,
        confidence=0.95,
        tool="exec",
        key="9f3c1a20b7d4e655",
        call='exec {"command":"pytest -q"}',
        waste=waste("c4f1a9", range(211, 272), 9_104_220, 8_600_000, "29.80", 0.494),
        reasons=["same call, same failure 64 times; nothing was edited in between"],
        advice="Say in the prompt when to give up.",
        stops=[
            stop("loopaudit", "same_result", Level.WARN, 3, 212, 8_960_000, "29.30"),
            stop("loopaudit", "same_result", Level.STOP, 5, 214, 8_700_000, "28.90"),
            stop("fuses:demo", "generic_repeat", Level.WARN, 5, 216, 8_400_000, "27.4449"),
            stop("fuses:demo", "generic_repeat", Level.STOP, 8, 219, 7_980_000, "26.10"),
        ],
        id="lp-5f2c",
    )
    retry_storm = Finding(
        rule="permanent-error-retried",
        run="7b",
        occurrences=20,
        first_seen=place("7b", 1, SIDE, 9, 900),
        onset=place("7b", 2, SIDE, 14, 903.5),
        last=place("7b", 20, SIDE, 88, 1020),
        ended_by=EndedBy.RECOVERED,
        retryable=Retryable.NO,
        confidence=0.7,
        confidence_reason="the error was classed by its words, not by a status",
        tool="fetch",
        key="00000000000000a1",
        call='fetch {"url":"https://api.example/v2/orders/17"}',
        waste=waste("7b", range(2, 21), 411_000, None, "1.2345", 0.81),
        stops=[stop("loopaudit", "permanent_error", Level.STOP, 2, 2, 411_000, "1.2345")],
        id="lp-a1",
    )
    poll = Finding(
        rule="unchanged-poll",
        run="odd\ud83d",
        occurrences=31,
        first_seen=place("odd\ud83d", 3, ODD, 12, None),
        onset=place("odd\ud83d", 4, ODD, 15, None),
        last=place("odd\ud83d", 33, ODD, 102, None),
        ended_by=EndedBy.END_OF_LOG,
        confidence=0.4,
        confidence_reason="the log has no times",
        tool="订单状态",
        call='订单状态 {"城市":"北京","note":"\x1b[2J\x1b]0;owned\x07\u202eevil<script>"}',
        period=2,
        waste=waste("odd\ud83d", range(4, 34), None, None, None, None),
        listed_steps=[7, 9],
        id="lp-odd",
    )
    verdicts = [
        Verdict(
            "c4f1a9", Trip("generic_repeat", Level.WARN, 5, 5, 216, 0, "exec repeated 5 times")
        ),
        Verdict(
            "c4f1a9", Trip("generic_repeat", Level.STOP, 8, 8, 219, 0, "exec repeated 8 times")
        ),
        Verdict("d2e0", Trip("generic_repeat", Level.STOP, 8, 8, 40, 1, "wait repeated 8 times")),
    ]
    watchdog = Verdict(
        "d2e0", Trip("no_progress", Level.REPAIR, 5, 5, 12, None, "no progress", True, 6)
    )
    return Report(
        tool_version="0.1.0",
        inputs=[
            InputSummary(MAIN, "claude_code", 0.99, 2420, 2391, {"summary": 27}, 2, 1),
            InputSummary(SIDE, "claude_code", 0.99, 90, 90, {}, 0, 1),
            InputSummary(SLOW, "claude_code", 0.99, 300, 300, {}, 0, 1),
            InputSummary(ODD, "openai_chat", 0.7, 103, 103, {}, 0, 1, ["times", "usage"]),
        ],
        skips=[
            Skip(MAIN, 77, "not JSON: cut in the middle"),
            Skip(MAIN, 1200, "not JSON: byte 0x00"),
        ],
        totals=Totals(
            runs=4,
            responses=412,
            calls=1204,
            calls_failed=137,
            duplicates_removed=212,
            tokens=Tokens(1_212_002, 15_890_000, 900_000, 212_000, 81_000, 18_214_002),
            usd=Decimal("61.3987"),
            price_date="2026-05-01",
            unpriced_tokens=40_112,
            unpriced_models=["glm-x"],
            completeness=Completeness.PARTIAL,
            reasons=["2 lines of logs/c4f1.jsonl could not be read", "1 of 4 runs has no usage"],
            waste=Waste(
                pytest_loop.waste.steps + retry_storm.waste.steps + poll.waste.steps,
                9_515_220,
                8_600_000,
                Decimal("31.0345"),
                0.5224,
            ),
        ),
        runs=[
            run(
                "c4f1a9",
                MAIN,
                steps=280,
                calls=900,
                calls_failed=101,
                started=T0,
                ended=T0 + 5600,
                tokens=Tokens(1_000_000, 15_500_000, 800_000, 180_000, None, 17_480_000),
                usd=Decimal("58.90"),
                waste=pytest_loop.waste,
                models=["claude-opus-4-5"],
                session="c4f1a9",
                project="/home/me/shop",
                version="2.1.0",
            ),
            run(
                "7b",
                SIDE,
                parent="c4f1a9",
                agent="researcher",
                steps=24,
                started=T0 + 890,
                ended=T0 + 1033,
                tokens=Tokens(112_002, 390_000, 5_000, 1_000, None, 508_002),
                usd=Decimal("1.50"),
                waste=retry_storm.waste,
            ),
            run(
                "d2e0",
                SLOW,
                steps=60,
                task_type="research",
                outcome="resolved",
                outcome_source="reward",
                outcome_by=OutcomeBy.LOG,
                task_type_source="rule: more than half of its calls search the web",
                started=T0 - 60,
                ended=T0 + 5588,
                tokens=Tokens(100_000, 0, 95_000, 31_000, None, 226_000),
                usd=Decimal("0.9987"),
                still_running=True,
            ),
            run("odd\ud83d", ODD, format="openai_chat", steps=48, waste=poll.waste),
        ],
        findings=[pytest_loop, retry_storm, poll],
        not_loops=[
            NotLoop("d2e0", "poll-with-progress", 30, "the answer changed 9 times", SLOW, 151),
            NotLoop("d2e0", "poll-with-progress", 50, "the answer changed 4 times", SLOW, 240),
            NotLoop(
                "c4f1a9", "test-after-edit", 90, "4 test runs, a file edited before each", MAIN, 700
            ),
        ],
        guards=[
            GuardResult("loopaudit", 2),
            GuardResult(
                "fuses:demo",
                2,
                verdicts,
                [Undecidable("odd\ud83d", "global_circuit_breaker", "results")],
                ["ping_pong stop 20 can never be reached in a window of 30"],
            ),
            GuardResult("watchdog:demo", 0, [watchdog]),
        ],
        spin=Spin(
            36.7,
            {"loopaudit": 3.0, "fuses:demo": 12.25, "watchdog:demo": None},
            {"loopaudit": 0.503, "fuses:demo": 0.44, "watchdog:demo": None},
        ),
        meta={"now": T0 + 5600, "other_files": 12, "repaired": {"half an emoji": 3}},
    )
