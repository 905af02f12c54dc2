"""Steps that brought nothing: what is news, what is none, and what is neither."""

from __future__ import annotations

from typing import Any

import pytest
from transcripts import Judged, Record, boundary, call, compaction, failing, judged, step, user

KNOWN, LOOK_UPS, SHARE = "known_answers", "failed_look_ups", "mostly_fruitless"
ROWS = "Rent; Post office; Bakery"
OTHER = "account; booking; customer"


def ask(query: Any, answer: Any = ROWS, **more: Any) -> Record:
    return step(100, call("run_sql", {"query": query}, answer, **more))


def wrong(query: Any, error: str) -> Record:
    return step(100, failing("run_sql", {"query": query}, error))


def search(title: str, error: str) -> Record:
    return step(100, failing("search_wiki", {"title": title}, error))


def edit(new: str = "x = 1", *, ok: bool = True) -> Record:
    make = call if ok else failing
    return step(100, make("edit", {"path": "a.py", "new": new}, "ok" if ok else "no such text"))


def known(n: int) -> list[Record]:
    """n known answers of two kinds, to calls that all differ."""
    return [ask(f"select {i}", OTHER if i % 2 else ROWS) for i in range(n)]


def new(n: int) -> list[Record]:
    return [ask(f"count {i}", f"there are {i} rows in this table") for i in range(n)]


START = [ask("first", ROWS), ask("second", OTHER)]


def counts(found: Judged, signal: str) -> list[int]:
    return [int(r.count) for r in found.readings if r.signal == signal]


def stops(found: Judged) -> set[str]:
    return {t.detector for t in found.trips if t.level.stops}


# -- known answers --------------------------------------------------------------------------------


def test_known_answers_count_from_the_second_on_and_stop_at_five() -> None:
    found = judged(*START, *known(5))
    assert counts(found, KNOWN) == [2, 3, 4, 5]
    assert stops(found) == {KNOWN}
    (trip,) = [t for t in found.trips if t.level.stops]
    assert (trip.step, trip.first_step) == (6, 2)
    assert found.findings == []


def test_four_known_answers_are_let_be() -> None:
    assert stops(judged(*START, *known(4))) == set()


@pytest.mark.parametrize(
    "between",
    [
        new(1),
        [edit()],
        [wrong("x", "syntax error near x")],
        [user()],
        [compaction(500)],
        [boundary("compaction")],
        [step(100, call("task", {"prompt": "look"}, "I looked at it"))],
    ],
    ids=["news", "edit", "error", "user", "compaction step", "compaction", "another agent"],
)
def test_a_row_of_known_answers_ends(between: list[Record]) -> None:
    found = judged(*START, *known(4), *between, *known(4))
    assert max(counts(found, KNOWN), default=0) <= 4
    assert KNOWN not in stops(found)


def test_one_new_answer_in_a_step_makes_it_fruitful() -> None:
    mixed = [
        step(
            100,
            call("run_sql", {"query": f"select {i}"}, ROWS),
            call("run_sql", {"query": f"count {i}"}, f"there are {i} rows in this table"),
        )
        for i in range(9)
    ]
    assert counts(judged(*START, *mixed), KNOWN) == []


def test_a_batch_of_known_answers_is_one_step() -> None:
    batch = step(100, *(call("run_sql", {"query": f"select {i}"}, ROWS) for i in range(6)))
    assert counts(judged(*START, batch, *known(1)), KNOWN) == [2]


def test_a_failed_edit_is_no_change_and_one_made_again_neither() -> None:
    found = judged(*START, edit(), *START, *known(2), edit(), edit(ok=False))
    assert counts(found, KNOWN)[-1] == 3  # the second edit: known; the failed one ends the row


def found_in(place: str, names: Any, tool: str = "grep") -> list[Record]:
    return [step(100, call(tool, {"pattern": f"name_{n}"}, place)) for n in names]


ONE_FILE = "src/settings/defaults.py"


def test_searches_for_different_things_that_stand_in_one_file_are_answered() -> None:
    found = judged(*found_in(ONE_FILE, range(11)))
    assert counts(found, KNOWN) == []
    assert stops(found) == set()
    listed = [
        step(100, call("bash", {"command": f"git ls-files '*{n}*'"}, ONE_FILE)) for n in range(11)
    ]
    assert stops(judged(*listed)) == set()


def test_searches_that_never_leave_known_places_are_a_loop_in_the_end() -> None:
    found = judged(*found_in(ONE_FILE, range(16)))  # the first is news, ten are let pass
    assert counts(found, KNOWN) == [2, 3, 4, 5]
    assert stops(found) == {KNOWN}


def test_searches_that_come_again_are_known() -> None:
    four = found_in(ONE_FILE, range(4))
    found = judged(*four, *four, *four)
    assert counts(found, KNOWN) == [2, 3, 4, 5, 6, 7, 8]
    assert KNOWN in stops(found)


def test_questions_that_are_no_searches_still_count() -> None:
    assert stops(judged(*START, *known(5))) == {KNOWN}


# -- what neither counts nor helps -----------------------------------------------------------------

NEITHER = {
    "wait": step(100, call("wait", {"seconds": 5}, "still running")),
    "thought": step(100, call("think", {"thought": "hm"}, "")),
    "passing fault": step(100, failing("run_sql", {"query": "q"}, "503", http_status=503)),
    "nothing found": step(100, call("search_files", {"pattern": "p"}, "No matches found")),
    "rejected": step(100, call("run_sql", {"query": "drop"}, "denied", status="rejected")),
}


@pytest.mark.parametrize("kind", NEITHER)
def test_what_neither_counts_nor_helps_alone(kind: str) -> None:
    found = judged(*START, *(NEITHER[kind] for _ in range(9)))
    for signal in (KNOWN, LOOK_UPS, SHARE):
        assert counts(found, signal) == []


@pytest.mark.parametrize("kind", ["wait", "passing fault", "rejected"])
def test_what_neither_counts_nor_helps_in_a_row(kind: str) -> None:
    rows = known(5)
    found = judged(*START, *(r for row in rows for r in (row, NEITHER[kind])))
    assert counts(found, KNOWN) == [2, 3, 4, 5]


def test_a_thought_counts_only_after_a_fruitless_step() -> None:
    thoughts = [step(100, call("think", {"thought": f"hm {i}"}, "")) for i in range(3)]
    assert counts(judged(*START, *thoughts, *known(2)), KNOWN) == [2]
    assert counts(judged(*START, *known(2), *thoughts), KNOWN) == [2, 3, 4, 5]


def test_receipts_are_no_answers() -> None:
    notes = [
        step(100, call("add_note", {"text": f"n{i}"}, "The note was added.")) for i in range(9)
    ]
    found = judged(*START, *notes)
    assert stops(found) == set()


def test_polls_the_user_asked_for_and_slow_ones() -> None:
    asked = judged(*START, user("keep checking it every minute"), *START, *known(9))
    assert counts(asked, KNOWN) == []
    slow = [
        step(
            100,
            call("run_sql", {"query": f"select {i % 2}"}, (ROWS, OTHER)[i % 2], at=100.0 * i),
            at=100.0 * i,
        )
        for i in range(12)
    ]
    assert counts(judged(*slow), KNOWN) == []


def test_look_ups_that_say_nothing_are_answers() -> None:
    for answer in ("", "[]", "None", "0 rows"):
        empty = [step(100, call("search_db", {"q": f"n{i}"}, answer)) for i in range(10)]
        assert stops(judged(*empty)) == set(), answer


# -- look-ups that fail ----------------------------------------------------------------------------


def near(i: int) -> str:
    return f"no page of this name; near: {'abcdefgh'[i] * 5}"


def test_three_failed_look_ups_stop() -> None:
    found = judged(*(search(f"page {'uvwxyz'[i]}", near(i)) for i in range(3)))
    assert counts(found, LOOK_UPS) == [2, 3]
    assert stops(found) == {LOOK_UPS}


def test_different_things_that_met_one_error_are_left_to_same_error() -> None:
    words = ("ferry", "harbour", "lighthouse", "island")
    found = judged(*(search(word, f"no page {word!r}") for word in words))
    assert LOOK_UPS not in stops(found)


def test_one_thing_in_more_and_more_words_is_not_different_things() -> None:
    titles = ("ferry", "ferry Arholma", "ferry Arholma harbour")
    found = judged(*(search(title, "no such page") for title in titles))
    assert counts(found, LOOK_UPS) == [2, 3]


def test_a_known_answer_between_neither_counts_nor_helps() -> None:
    page = "Arholma is an island in the north"
    found = judged(
        step(100, call("search_wiki", {"title": "Arholma"}, page)),
        search("one", near(0)),
        search("two", near(1)),
        step(100, call("search_wiki", {"title": "the island"}, page)),
        search("three", near(2)),
    )
    assert counts(found, LOOK_UPS) == [2, 2, 3]


@pytest.mark.parametrize("tool", ["bash", "run_sql", "python", "edit"])
def test_errors_of_programs_and_edits_say_what_to_mend(tool: str) -> None:
    tries = [step(100, failing(tool, {"command": f"do {i}"}, near(i))) for i in range(4)]
    assert LOOK_UPS not in stops(judged(*tries))


def test_a_program_between_starts_again() -> None:
    found = judged(
        search("one", near(0)),
        search("two", near(1)),
        step(100, failing("bash", {"command": "make"}, "no rule to make target")),
        search("three", near(2)),
        search("four", near(3)),
    )
    assert LOOK_UPS not in stops(found)


# -- nine steps ------------------------------------------------------------------------------------


def mix(*kinds: int) -> list[Record]:
    """1: a fruitless step, 0: a fruitful one."""
    return [
        wrong(f"try {i}", f"unknown column {'abcdefghijkl'[i]}")
        if kind
        else ask(f"count {i}", f"there are {i} rows in this table")
        for i, kind in enumerate(kinds)
    ]


def test_four_of_nine_stop_at_the_ninth_step() -> None:
    found = judged(*mix(1, 0, 1, 0, 0, 1, 0, 0, 1))
    assert counts(found, SHARE) == [4]
    assert stops(found) == {SHARE}


@pytest.mark.parametrize(
    "kinds",
    [
        (1, 0, 1, 0, 0, 0, 0, 0, 1),  # three
        (1, 0, 1, 0, 0, 1, 0, 1),  # eight steps
        (1, 1, 0, 1, 0, 1, 0, 0, 0),  # four, but the ninth is fruitful
        (1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1),  # the first ones are out of sight
    ],
)
def test_fewer_or_elsewhere_are_let_be(kinds: tuple[int, ...]) -> None:
    assert SHARE not in stops(judged(*mix(*kinds)))


def test_healthy_edit_and_test_is_left_alone() -> None:
    # the tests fail alike after every edit: each edit is a change of state
    records = []
    for i in range(12):
        records += [edit(f"x = {i}"), step(100, failing("bash", {"command": "pytest"}, "2 failed"))]
    found = judged(*records)
    for signal in (KNOWN, LOOK_UPS, SHARE):
        assert counts(found, signal) == []


def test_reading_many_files_is_left_alone() -> None:
    found = judged(
        *(step(100, call("read_file", {"path": f"f{i}"}, f"text {i}")) for i in range(40))
    )
    assert found.trips == []


def test_a_page_that_a_browser_shows_anew_is_news() -> None:
    turned = [
        step(500, call(tool, args, answer))
        for i in range(8)
        for tool, args, answer in (
            ("browser_click", {"element": "Next", "ref": f"e{i}"}, "clicked"),
            ("browser_snapshot", {}, f"page {i}"),
        )
    ]
    assert counts(judged(*turned), KNOWN) == []
