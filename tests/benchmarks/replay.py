"""Times the replay alone: calls a second and core through a whole guard set, by shape of run.

replay.py [--calls 1000000] [--guard loopaudit] [SHAPE ...]: user CPU seconds of this one process,
of the replay only; the steps are made beforehand, a tenth of a run at a time. The last columns show
whether a run slows down as it grows.
"""

from __future__ import annotations

import argparse
import gc
import resource
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from typing import Any

from loopaudit.guards import presets
from loopaudit.guards.session import GuardSession
from loopaudit.guards.trips import Trips
from loopaudit.keys import digest
from loopaudit.model import (
    Boundary,
    BoundaryKind,
    Call,
    CallStatus,
    Chant,
    ErrorClass,
    Step,
    StepKind,
    Target,
)
from loopaudit.replay.chains import Chains

PARTS = 10


def call(step: int, position: int, index: int, tool: str, args: str, result: str) -> Call:
    made = Call(index, step, position, f"c{index}", tool, digest(f"{tool} {args}"), step + 1)
    made.args, made.args_size = args, len(args)
    made.status = CallStatus.OK
    made.result = made.masked = digest(result)
    made.size, made.blank, made.text = len(result), False, result[:200]
    made.started, made.ended = step * 2.0, step * 2.0 + 1
    return made


def failed(made: Call, error: ErrorClass, text: str) -> Call:
    made.status, made.error, made.text = CallStatus.ERROR, error, text
    made.retryable = error in (ErrorClass.TRANSIENT, ErrorClass.THROTTLED)
    made.result = made.masked = made.error_key = digest(text)
    return made


def healthy(i: int, n: int) -> list[Call]:
    """New answers to calls that come again."""
    return [call(i, 0, n, "Read" if i % 3 else "Grep", f'{{"q":"{i % 5000}"}}', f"answer {i}")]


def distinct(i: int, n: int) -> list[Call]:
    """No call comes twice."""
    return [call(i, 0, n, "Read" if i % 3 else "Grep", f'{{"q":"{i}"}}', f"answer {i}")]


def edits(i: int, n: int) -> list[Call]:
    """Edit, test, edit, test: each edit another one, the tests alike."""
    if i % 2:
        return [call(i, 0, n, "Bash", '{"command":"pytest"}', f"{i % 7} failed, 12 passed")]
    made = call(i, 0, n, "Edit", f'{{"path":"f{i % 40}.py","new":"{i}"}}', "ok")
    made.mutates, made.target = True, Target(f"f{i % 40}.py")
    return [made]


def loop(i: int, n: int) -> list[Call]:
    """One call with one answer, for ever."""
    return [call(i, 0, n, "Bash", '{"command":"git status"}', "nothing to commit, clean")]


def sends(i: int, n: int) -> list[Call]:
    """One message sent for ever; only the id in the answer differs."""
    made = call(i, 0, n, "send_message", '{"to":"ops","text":"done"}', f"sent m-{i}")
    made.masked, made.mutates = digest("sent"), True
    return [made]


def cycle_of(period: int) -> Callable[[int, int], list[Call]]:
    def shape(i: int, n: int) -> list[Call]:
        which = i % period
        tool = ("Read", "Grep", "Bash")[which % 3]
        return [call(i, 0, n, tool, f'{{"q":{which}}}', f"{which}" * 40)]

    return shape


def failing(i: int, n: int) -> list[Call]:
    """One call, one lasting error."""
    made = call(i, 0, n, "Edit", '{"path":"a.py","old":"x","new":"y"}', "")
    made.mutates, made.target = True, Target("a.py")
    return [failed(made, ErrorClass.PERMANENT, "old text not found in a.py")]


def failing_tests(i: int, n: int) -> list[Call]:
    """One command, one unknown error."""
    made = call(i, 0, n, "Bash", '{"command":"make test"}', "")
    made.exit_code = 2
    return [failed(made, ErrorClass.UNKNOWN, "make: *** [test] Error 2: 3 of 40 tests failed")]


def throttled(i: int, n: int) -> list[Call]:
    """One call, one passing error."""
    made = call(i, 0, n, "fetch", '{"url":"https://example.org/"}', "")
    return [failed(made, ErrorClass.THROTTLED, "429 too many requests, retry later")]


def varied_tries(i: int, n: int) -> list[Call]:
    """Other arguments each time, one error that names them."""
    made = call(i, 0, n, "Bash", f'{{"command":"ls /srv/d{i}"}}', "")
    return [failed(made, ErrorClass.UNKNOWN, f"ls: cannot access '/srv/d{i}': No such directory")]


def varied_errors(i: int, n: int) -> list[Call]:
    """5,000 calls in turns, 50 errors in turns."""
    made = call(i, 0, n, "Bash" if i % 3 else "run", f'{{"command":"step {i % 5000}"}}', "")
    words = f"{('syntax', 'type', 'value', 'name', 'key')[i % 5]} error in unit w{i % 50}"
    return [failed(made, ErrorClass.UNKNOWN, words)]


def polls(i: int, n: int) -> list[Call]:
    """A known wait without end."""
    made = call(i, 0, n, "task_output", '{"id":7}', "still running: 12%")
    made.polls = True
    return [made]


def moving_polls(i: int, n: int) -> list[Call]:
    """A known wait that moves on."""
    made = call(i, 0, n, "task_output", '{"id":7}', f"still running: line {i}")
    made.polls = True
    return [made]


def growing(i: int, n: int) -> list[Call]:
    """A command that grows by a word, up to 400 words, and says the same each time."""
    words = " && ".join(f"s{k}" for k in range(i % 400 + 1))
    made = call(i, 0, n, "Bash", f'{{"command":"{words}"}}', "the build is up to date")
    made.args = (made.args or "")[:500]
    return [made]


def one_answer(i: int, n: int) -> list[Call]:
    """Varied questions, one answer."""
    return [call(i, 0, n, "ask_docs", f'{{"question":"{i}"}}', "See the manual, chapter four.")]


def re_reads(i: int, n: int) -> list[Call]:
    """Shifted windows over one file, so that no two reads are equal."""
    first = i * 7 % 9_000 + 1
    made = call(i, 0, n, "Read", f'{{"path":"big.log","offset":{i}}}', f"lines {i}")
    made.target = Target("big.log", first, first + 99)
    return [made]


def paging(i: int, n: int) -> list[Call]:
    """Each read covers new lines."""
    made = call(i, 0, n, "Read", f'{{"path":"big.log","offset":{i}}}', f"lines {i}")
    made.target = Target("big.log", i * 100 + 1, i * 100 + 100)
    return [made]


def refusals(i: int, n: int) -> list[Call]:
    """One call, refused each time."""
    made = call(i, 0, n, "Bash", '{"command":"rm -rf build"}', "denied by a rule")
    made.status = CallStatus.REJECTED
    return [made]


def handovers(i: int, n: int) -> list[Call]:
    """Two agents hand the task to each other, in other words each time."""
    tool = "transfer_to_sales" if i % 2 else "transfer_to_support"
    return [call(i, 0, n, tool, f'{{"reason":"{i}"}}', "handed over")]


def fan_out(i: int, n: int) -> list[Call]:
    """Five new calls side by side."""
    return [call(i, k, n + k, "Read", f'{{"q":{n + k}}}', f"answer {n + k}") for k in range(5)]


def batches(i: int, n: int) -> list[Call]:
    """The same five calls side by side, step after step."""
    return [call(i, k, n + k, "Read", f'{{"q":{k}}}', f"answer {k}") for k in range(5)]


def mixed(i: int, n: int) -> list[Call]:
    """Work with a loop of 30 steps, a row of errors and a wait in every 200 steps."""
    part = i % 200
    if part < 30:
        return cycle_of(3)(i, n)
    if part < 40:
        return varied_tries(i, n)
    if part < 50:
        return polls(i, n)
    if part < 60:
        return failing_tests(i, n)
    return edits(i, n) if i % 5 < 3 else healthy(i, n)


def nothing(i: int, n: int) -> list[Call]:
    return []


#: fields of steps without calls, by shape
_SAID: dict[str, dict[str, Any]] = {
    "text: new": {},
    "text: the same": {"said": 7},
    "text: chants": {"chant": Chant(10, 90, 10, 5)},
    "text: hooks": {"before": (Boundary(BoundaryKind.HOOK, 1, "p", text_key=9),)},
}

SHAPES: dict[str, Callable[[int, int], list[Call]]] = {
    "healthy": healthy,
    "distinct keys": distinct,
    "edit and test": edits,
    "paging": paging,
    "moving polls": moving_polls,
    "parallel, 5 new": fan_out,
    "equal loop": loop,
    "repeated effects": sends,
    "cycle of 2": cycle_of(2),
    "cycle of 3": cycle_of(3),
    "cycle of 6": cycle_of(6),
    "parallel, same 5": batches,
    "one lasting error": failing,
    "one unknown error": failing_tests,
    "one passing error": throttled,
    "one error, varied calls": varied_tries,
    "varied errors": varied_errors,
    "refused again": refusals,
    "unchanged polls": polls,
    "growing command": growing,
    "one answer": one_answer,
    "re-read ranges": re_reads,
    "handed back and forth": handovers,
    "mixed": mixed,
    "text: new": nothing,
    "text: the same": nothing,
    "text: chants": nothing,
    "text: hooks": nothing,
}


def steps(shape: str, count: int) -> Iterator[list[Step]]:
    """`count` calls (or steps without calls) in `PARTS` parts."""
    index = calls = 0
    for part in range(1, PARTS + 1):
        made: list[Step] = []
        while calls < count * part // PARTS:
            step = Step(index, "p", index + 1, id=f"m{index}", at=index * 2.0)
            step.calls = SHAPES[shape](index, calls)
            step.kind = StepKind.MODEL
            step.ended = step.at
            if shape in _SAID:
                step.text_key = index
                for name, value in _SAID[shape].items():
                    setattr(step, name, value)
            made.append(step)
            calls += len(step.calls) or 1
            index += 1
        yield made


def measure(shape: str, count: int, guard: str) -> tuple[str, list[float], int]:
    """The shape, microseconds a call for each part, and the peak of memory in MB."""
    preset = presets.load(guard)
    seen = Chains(preset)
    session = GuardSession(preset, observe=seen.add)
    user = Boundary(BoundaryKind.USER, 1, "p", text="do the task")
    session.boundary(user)
    trips = Trips()
    spent = []
    for made in steps(shape, count):
        gc.disable()  # as in a worker
        before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        trips.rows += session.replay(made).rows
        used = resource.getrusage(resource.RUSAGE_SELF).ru_utime - before
        spent.append(used / (count / PARTS) * 1e6)
        gc.enable()
    return shape, spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shape", nargs="*", choices=[*SHAPES, []])
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--guard", default="loopaudit")
    given = parser.parse_args()
    print("| run | calls/s | first tenth, us | last tenth, us | last / first | MB |")
    print("|---|--:|--:|--:|--:|--:|")
    for shape in given.shape or SHAPES:
        with get_context("spawn").Pool(1) as fresh:  # each with memory of its own
            name, spent, peak = fresh.apply(measure, (shape, given.calls, given.guard))
        per_call = sum(spent) / len(spent)
        print(
            f"| {name} | {1e6 / per_call:,.0f} | {spent[0]:.2f} | {spent[-1]:.2f} "
            f"| {spent[-1] / spent[0]:.2f} | {peak} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
