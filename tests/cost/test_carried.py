"""The carried cost of a loop: what its results cost again with every later response."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from billing import Record, by_label, compacted, costs, log, run, said, user

RESULT = "x" * 40  # 10 tokens


def again(name: str, **more: Any) -> Record:
    """The same failing test again: 100 in, 10 out, a result of 40 characters."""
    record = said(name, 100, 10, "pytest", **more)
    record["calls"][0] |= {"args": {}, "result": RESULT, "error": True}
    return record


def looping(*after: Record) -> list[Record]:
    """Three equal tests: the second and the third are redundant and leave 20 tokens each."""
    return [run("r"), user(), again("t1"), again("t2"), again("t3"), *after]


def test_later_responses_carry_what_the_loop_left(tmp_path: Path) -> None:
    after = (said("a", 100, 5, read=400), said("b", 500, 5))
    total = costs(log(tmp_path, "l", looping(*after)), by="session").total
    assert (total.waste_steps, total.waste_tokens) == (2, 220)
    assert total.carried_tokens == 40 + 40
    # read from the cache at $0.1 a million, sent anew at $1 a million
    assert total.carried_pico == 40 * 100_000 + 40 * 1_000_000


def test_redundant_responses_carry_nothing_beside_their_waste(tmp_path: Path) -> None:
    total = costs(log(tmp_path, "l", looping()), by="session").total
    assert (total.waste_tokens, total.carried_tokens, total.carried_pico) == (220, 0, 0)


def test_no_loop_carries_nothing(tmp_path: Path) -> None:
    records = [run("r"), again("t1"), said("a", 500, 5), said("b", 500, 5)]
    total = costs(log(tmp_path, "l", records), by="session").total
    assert (total.waste_steps, total.carried_tokens, total.carried_pico) == (0, 0, 0)


def test_a_compaction_forgets_it(tmp_path: Path) -> None:
    after = (said("a", 500, 5), compacted(), said("b", 500, 5), said("c", 500, 5))
    total = costs(log(tmp_path, "l", looping(*after)), by="session").total
    assert total.carried_tokens == 40


def test_the_compacting_response_still_carries_it(tmp_path: Path) -> None:
    after = (said("a", 500, 5, kind="compaction"), said("b", 500, 5))
    total = costs(log(tmp_path, "l", looping(*after)), by="session").total
    assert total.carried_tokens == 40


def test_no_response_carries_more_than_it_was_sent(tmp_path: Path) -> None:
    total = costs(log(tmp_path, "l", looping(said("a", 12, 5))), by="session").total
    assert (total.carried_tokens, total.carried_pico) == (12, 12_000_000)


def test_another_run_carries_nothing(tmp_path: Path) -> None:
    records = [*looping(), run("other"), said("a", 500, 5)]
    assert costs(log(tmp_path, "l", records), by="session").total.carried_tokens == 0


def test_without_a_price_the_tokens_are_known_and_the_money_is_not(tmp_path: Path) -> None:
    after = said("a", 500, 5, model="unknown-model")
    total = costs(log(tmp_path, "l", looping(after)), by="session").total
    assert (total.carried_tokens, total.carried_pico) == (40, None)


def test_it_is_charged_where_it_is_carried(tmp_path: Path) -> None:
    after = (said("a", 500, 5, "edit", at="2026-05-02T10:00:00Z"),)
    records = looping(*after)
    for record in records[2:5]:
        record["at"] = "2026-05-01T10:00:00Z"
    rows = by_label(costs(log(tmp_path, "l", records), by="day"))
    assert (rows["2026-05-01"].waste_tokens, rows["2026-05-01"].carried_tokens) == (220, 0)
    assert (rows["2026-05-02"].waste_tokens, rows["2026-05-02"].carried_tokens) == (0, 40)
    rows = by_label(costs(log(tmp_path, "l", records), by="tool"))
    assert (rows["pytest"].waste_tokens, rows["edit"].carried_tokens) == (220, 40)
