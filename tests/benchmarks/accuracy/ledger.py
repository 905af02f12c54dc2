"""How far rules agree with an orchestrator that asked itself at every turn: am I in a loop?

`magentic_one` records those answers: (message, stall count, in a loop, reason). The turn number n
(from 0) comes before call n. The answers are a model's opinion, and all these runs failed; what
the calls returned is mostly the orchestrator's own line, so rules that compare results see little.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path

from .sets import Judged


@dataclass(frozen=True, slots=True)
class Agreement:
    """Turns at which rule and ledger say loop (both), only one of them, or neither."""

    both: int
    rule: int
    ledger: int
    neither: int
    runs: int  # runs in which both said so at some turn
    lead: list[int]  # calls by which the rule was later than the ledger, per such run

    @property
    def kappa(self) -> float:
        """Cohen's kappa: 0 by chance, 1 if always the same."""
        total = self.both + self.rule + self.ledger + self.neither
        seen = (self.both + self.neither) / total
        rule, ledger = (self.both + self.rule) / total, (self.both + self.ledger) / total
        chance = rule * ledger + (1 - rule) * (1 - ledger)
        return 0.0 if chance == 1 else (seen - chance) / (1 - chance)


def ledgers(path: Path) -> dict[str, list[bool]]:
    """By run, at each turn: did it say that it was in a loop?"""
    found = {}
    for line in gzip.decompress(path.read_bytes()).splitlines():
        record = json.loads(line)
        if record["calls"]:
            found[str(record["id"])] = [bool(entry[2]) for entry in record["loops"]]
    return found


def agreement(ledger: dict[str, list[bool]], runs: list[Judged], rule: str) -> Agreement:
    """A rule says loop from the call on at which it would have stopped the run."""
    counts = {(a, b): 0 for a in (True, False) for b in (True, False)}
    lead = []
    for run in runs:
        answers = ledger[run.id.rpartition(":")[2]]
        stop = run.stops[rule]
        for turn, answer in enumerate(answers[: run.steps + 1]):
            counts[stop is not None and turn >= stop, answer] += 1
        if stop is not None and True in answers:
            lead.append(stop - answers.index(True))
    return Agreement(
        counts[True, True],
        counts[True, False],
        counts[False, True],
        counts[False, False],
        len(lead),
        sorted(lead),
    )
