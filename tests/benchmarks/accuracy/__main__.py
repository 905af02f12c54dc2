"""How well the guards judge: runs with a known outcome, every shipped guard set, naive rules.

    python -m tests.benchmarks.accuracy [FOLDER]             print all figures (20 s)
    python -m tests.benchmarks.accuracy [FOLDER] --commit    and keep them: figures.json, README

FOLDER holds the sets (`*.jsonl.gz`, read by the reader `labelled_runs`); by default those beside
the checkout. A rule *kills* a success that it would have stopped before its last step, and
*catches* such a failure. After a guard's first stop nothing of the record would have happened, so
every run counts once per rule. Shares are percent; intervals are exact at 95 %.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from . import figures, ledger, tables
from .sets import DEFAULT, Set, read

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
FIGURES = HERE / "figures.json"
README = ROOT / "README.md"
SETS = ROOT.parent / "shared" / "labelled"
LEDGER = "magentic_one"
BEGIN, END = "<!-- accuracy -->\n", "\n<!-- /accuracy -->"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.accuracy")
    parser.add_argument("folder", nargs="?", type=Path, default=SETS)
    parser.add_argument("--commit", action="store_true", help="write figures.json and the README")
    options = parser.parse_args()
    sets = list(read(options.folder))
    if not sets:
        print(f"no *.jsonl.gz in {options.folder}", file=sys.stderr)
        return 2
    found = figures.figures(sets)
    for line in report(sets, found, options.folder):
        print(line)
    if options.commit:
        FIGURES.write_text(written(found), encoding="utf-8")
        README.write_text(renewed(README.read_text(encoding="utf-8"), found), encoding="utf-8")
    return 0


def report(sets: list[Set], found: figures.Figures, folder: Path) -> Iterator[str]:
    for entry in sets:
        yield from tables.of_set(entry.name, found[entry.name])
        yield from tables.fixed(entry)
        if entry.name == LEDGER:
            answers = ledger.ledgers(folder / f"{LEDGER}.jsonl.gz")
            yield "  agreement with the orchestrator's own ledger of loops"
            for rule in tables.MAIN:
                yield tables.of_ledger(rule, ledger.agreement(answers, entry.runs, rule))
        yield ""
    if figures.scored(found):
        yield from tables.over_all(found)
    calls, seconds = sum(entry.calls for entry in sets), sum(entry.seconds for entry in sets)
    yield f"\n{DEFAULT} replayed {calls:,} calls at {calls / seconds:,.0f} calls a second and core"


def written(found: figures.Figures) -> str:
    """The figures as JSON, a rule a line."""
    sets = []
    for name, entry in found.items():
        rules = ",\n  ".join(f"{json.dumps(r)}: {json.dumps(c)}" for r, c in entry["rules"].items())
        counts = json.dumps({key: value for key, value in entry.items() if key != "rules"})
        sets.append(f'{json.dumps(name)}: {counts[:-1]}, "rules": {{\n  {rules}\n }}}}')
    return "{\n " + ",\n ".join(sets) + "\n}\n"


def renewed(text: str, found: figures.Figures) -> str:
    """The README with the table of these figures."""
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise SystemExit("README.md: the marks around the table are gone")
    return head + begin + tables.readme(found) + end + tail


if __name__ == "__main__":
    sys.exit(main())
