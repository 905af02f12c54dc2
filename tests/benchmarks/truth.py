"""Whether the report on a generated corpus equals the corpus's own `truth.json`.

    python tests/benchmarks/truth.py CORPUS [report options …]

CORPUS is a folder written by the generator: `projects/` and `truth.json`. Compared are model
responses, calls, tokens by bucket, money to a hundredth of a cent, and every planted loop: one
finding in the same session (its sub-agents and forks are the session's), of the right rule, as long
as was planted. Explained, and counted apart:

- fewer than five failing edits are no loop (guards.md, part 4: varied arguments, from five on);
- a call that fails by chance right beside planted failures makes their row longer, by up to two;
- two rows of failing edits without a success of the tool between are one row;
- the copy of a loop in a fork that was cut off inside it is that loop as far as the fork goes.

Prints what differs; ends with 1 where anything does.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: rules by which a planted kind may be told, as the finding's own or as one of its reasons
RULES = {
    "ping_pong": {"cycle"},
    "same_call_same_result": {"same-call-same-result"},
    "same_error": {"same-call-same-result", "permanent-error-retried"},
    "edit_fail": {"failing-steps", "same-error"},
}
CHANCE = 2
FROM = 5  # failing edits
_MESSAGE = re.compile(rb'"id":"(msg_\w+)"')


def families(projects: Path) -> dict[str, str]:
    """Session id -> id of the first session (by name) that begins with the same message."""
    first: dict[bytes, str] = {}
    family: dict[str, str] = {}
    for path in sorted(projects.glob("*/*.jsonl")):
        with open(path, "rb") as lines:
            found = next((m.group(1) for m in map(_MESSAGE.search, lines) if m), b"")
        family[path.stem] = first.setdefault(found, path.stem)
    return family


@dataclass(frozen=True, slots=True)
class Found:
    rules: set[str]
    calls: int
    at: str  # of its first call


def compare(
    truth: dict[str, Any], report: dict[str, Any], family: dict[str, str]
) -> tuple[list[str], Counter[str]]:
    """What differs, and how many differences of which kind are explained."""
    totals, usage = report["totals"], truth["usage"]
    tokens = totals["tokens"]
    pairs = {
        "responses": (totals["responses"], truth["messages"]),
        "calls": (totals["calls"], truth["tool_calls"]),
        "fresh input": (tokens["fresh_input"], usage["input_tokens"]),
        "output": (tokens["output"], usage["output_tokens"]),
        "cache write": (tokens["cache_write"], usage["cache_creation_input_tokens"]),
        "cache read": (tokens["cache_read"], usage["cache_read_input_tokens"]),
        "dollars": (round(float(totals["usd"]), 4), truth["usd"]),
    }
    wrong = [
        f"{name}: {ours}, in truth {true}" for name, (ours, true) in pairs.items() if ours != true
    ]
    left: dict[str, list[Found]] = defaultdict(list)
    for finding in report["findings"]:
        session = finding["run"].split("/")[0]
        calls = finding["last"]["call"] - finding["first_seen"]["call"] + 1
        rules = {finding["rule"], *(r.partition(":")[0] for r in finding["reasons"])}
        left[family.get(session, session)].append(Found(rules, calls, finding["first_seen"]["at"]))
    explained: Counter[str] = Counter()
    begun: set[str] = set()  # times at which loops that were found begin
    open_: dict[str, list[int]] = defaultdict(list)  # planted edits not found alone, by session
    for loop in sorted(
        truth["loops"], key=lambda loop: (list(RULES).index(loop["kind"]), -loop["calls"])
    ):
        home = family[loop["session"]]
        kind, calls = loop["kind"], loop["calls"]
        chance = CHANCE if kind in ("edit_fail", "same_error") else 0
        fits = [f for f in left[home] if f.rules & RULES[kind] and 0 <= f.calls - calls <= chance]
        if fits:
            best = min(fits, key=lambda f: f.calls)
            left[home].remove(best)
            begun.add(best.at)
            explained["longer by chance failures beside it"] += best.calls > calls
        elif kind == "edit_fail":
            open_[home].append(calls)
        else:
            wrong.append(f"not found: {kind} of {calls} calls in {loop['session']}")
    for home, rows in open_.items():
        short = [calls for calls in rows if calls < FROM]
        rest = [calls for calls in rows if calls >= FROM]
        joined = [f for f in left[home] if "same-error" in f.rules and f.calls >= sum(rows)]
        if joined and len(rows) > 1:
            left[home].remove(joined[0])
            explained["rows of failing edits told as one"] += len(rows)
            continue
        explained["fewer than five failing edits"] += len(short)
        wrong += [f"not found: edit_fail of {calls} calls in {home}" for calls in rest]
    for home, findings in left.items():
        for found in findings:
            if found.at in begun:
                explained["as far as a fork goes"] += 1
            else:
                wrong.append(f"not planted: {found} in {home}")
    return wrong, +explained


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    corpus, *options = Path(sys.argv[1]), *sys.argv[2:]
    command = [sys.executable, "-m", "loopaudit", "report", str(corpus / "projects"), "--no-cache"]
    run = subprocess.run(
        [*command, "--format", "json", *options], stdout=subprocess.PIPE, check=True
    )
    truth = json.loads((corpus / "truth.json").read_bytes())
    wrong, explained = compare(truth, json.loads(run.stdout), families(corpus / "projects"))
    planted = Counter(loop["kind"] for loop in truth["loops"])
    print(f"{truth['tool_calls']:,} calls, planted: {dict(sorted(planted.items()))}")
    print(f"explained: {dict(sorted(explained.items()))}")
    print("\n".join(wrong) if wrong else "equal")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
