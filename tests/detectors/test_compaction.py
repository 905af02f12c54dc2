"""Rounds from one compaction to the next that brought nothing new."""

from __future__ import annotations

from transcripts import Judged, Record, boundary, call, compaction, judged, step, user


def read(name: str, text: str = "text") -> Record:
    return step(10, call("read", {"path": name}, text))


def count(found: Judged) -> int:
    return int(found.count_of("compact_and_re_read"))


def rounds(*contents: str, mark: list[Record] | None = None) -> Judged:
    """Rounds of reads named by letters, each ended by a compaction."""
    marks = [compaction(50)] if mark is None else mark
    return judged(*[r for names in contents for r in (*map(read, names), *marks)])


def test_rounds_are_counted_with_the_one_that_was_new() -> None:
    assert count(rounds("ab", "ab", "ab")) == 3
    found = rounds("ab", "ab", "ab", "ab").only
    assert (found.rule, found.occurrences) == ("compact-and-re-read", 4)
    assert [w.step for w in found.waste.steps] == [6, 7, 8, 9, 10, 11]


def test_the_order_of_reading_does_not_matter() -> None:
    assert count(rounds("abc", "cab", "bca")) == 3


def test_a_round_with_one_new_call_starts_again() -> None:
    assert count(rounds("ab", "ab", "abc", "ab")) == 2


def test_a_changed_result_is_new() -> None:
    found = judged(read("a", "1"), compaction(9), read("a", "2"), compaction(9), read("a", "3"))
    assert count(found) == 0


def test_a_user_message_starts_again() -> None:
    assert count(rounds("ab", "ab", mark=[compaction(50), user()])) == 0


def test_a_compaction_as_step_and_boundary_is_one() -> None:
    both = rounds("ab", "ab", "ab", mark=[compaction(50), boundary("compaction")])
    assert count(both) == 3
    assert [w.step for w in both.only.waste.steps] == [6, 7, 8]


def test_a_boundary_before_its_step_still_charges_the_step() -> None:
    both = rounds("ab", "ab", "ab", mark=[boundary("compaction"), compaction(50)])
    assert [w.step for w in both.only.waste.steps] == [6, 7, 8]


def test_a_log_without_a_response_for_the_compaction() -> None:
    found = rounds("ab", "ab", "ab", mark=[boundary("compaction")]).only
    assert [w.step for w in found.waste.steps] == [4, 5]


def test_compactions_in_a_row_without_any_call() -> None:
    assert judged(read("a"), *[compaction(50)] * 4).findings == []
