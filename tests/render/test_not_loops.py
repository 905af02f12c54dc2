"""Every kind of what is not counted has a page, and names a rule that exists."""

from __future__ import annotations

from loopaudit.cli.catalog import rules
from loopaudit.detectors import batches, handoffs, ranges, repeats
from loopaudit.render.not_loops import KINDS
from loopaudit.replay.hindsight import BELOW


def test_every_kind_has_a_page() -> None:
    said = {*BELOW.values(), *repeats._WORDS, ranges.PAGING, "unchanged-poll"}
    said |= {handoffs.WITH_WORK, batches.SIDE_BY_SIDE}
    assert said <= set(KINDS)


def test_every_page_names_a_rule() -> None:
    assert {rule for _, rule in KINDS.values()} <= set(rules())
