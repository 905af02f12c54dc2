"""Codex forks: copied events carry the parent's names, a child's own responses its own."""

import pytest
from codex_records import call, event, meta, of, output, read, told

from loopaudit.model import ResponsePiece, RunPiece

PARENT = "019fc8be-0000-7000-8000-000000000001"
CHILD = "019fc8be-0000-7000-8000-000000000002"
GRANDCHILD = "019fc8be-0000-7000-8000-000000000003"


def usage(records):
    """Tokens by response id of one file."""
    return {p.id: p.usage.total for p in of(ResponsePiece, records)}


def over_all(*files):
    """Tokens of all files, each response once, whatever the order."""
    found = {}
    for records in files:
        found.update(usage(records))
    return sum(found.values())


def parent(**more):
    return [meta(PARENT, 0, **more), told(40, 40, 20), told(100, 60, 40)]


def fork(thread=CHILD, origin=PARENT, second=600, **more):
    return meta(thread, second, forked_from_id=origin, **more)


def test_c5_a_past_copied_in_one_second_is_the_parents():
    child = [fork(), told(40, 40, 600), told(100, 60, 600.4), told(150, 50, 660)]
    assert over_all(parent(), child) == 150
    assert over_all(child, parent()) == 150
    assert over_all(child) == 150  # inherited, where only the child is given
    assert set(usage(parent())) <= set(usage(child))


def test_c5_a_child_that_counts_from_zero_is_all_its_own():
    child = [fork(), told(30, 30, 620), told(70, 40, 640)]
    assert over_all(parent(), child) == 170
    assert not set(usage(parent())) & set(usage(child))


def test_children_that_count_from_zero_may_be_equal():
    # two reviewers with one prompt: the same figures, and two bills
    twin = [fork(GRANDCHILD), told(30, 30, 620), told(70, 40, 640)]
    child = [fork(), told(30, 30, 620), told(70, 40, 640)]
    assert over_all(parent(), child, twin) == 240


def test_a_child_from_zero_may_be_equal_to_its_parent():
    child = [fork(), told(40, 40, 620), told(100, 60, 640)]
    assert over_all(parent(), child) == 200


def test_a_quick_child_from_zero_keeps_its_tokens():
    child = [fork(), told(30, 30, 601), told(70, 40, 603)]
    assert over_all(parent(), child) == 170


@pytest.mark.parametrize("spread", [0.0, 1.98])
def test_a_copy_may_take_two_seconds(spread):
    copied = [told(40, 40, 600), told(100, 60, 600 + spread)]
    assert over_all(parent(), [fork(), *copied, told(150, 50, 700)]) == 150


def test_a_copy_may_keep_the_old_times():
    source = {"subagent": {"thread_spawn": {"parent_thread_id": PARENT}}}
    child = [meta(CHILD, 600, source=source), *parent()[1:], told(150, 50, 700)]
    assert over_all(parent(), child) == 150


def test_a_copy_that_embeds_its_parents_head_is_known_by_it():
    child = [fork(), meta(PARENT, 610), told(40, 40, 620), told(100, 60, 620), told(150, 50, 700)]
    assert over_all(parent(), child) == 150
    reader, _ = read(child)
    assert reader.ignored == {"session_meta of another thread (copied history)": 1}


def test_a_resumed_log_without_reference_is_known_by_the_embedded_head():
    child = [meta(CHILD, 600), meta(PARENT, 600), told(40, 40, 600), told(150, 110, 700)]
    assert over_all(parent(), child) == 100 + 110


def test_a_fork_of_a_fork_copies_the_forks_own_past_too():
    child = [fork(), meta(PARENT, 600), told(40, 40, 600), told(100, 60, 600), told(150, 50, 660)]
    grandchild = [
        fork(GRANDCHILD, CHILD, 900),
        *(meta(CHILD, 900), meta(PARENT, 900)),
        *(told(40, 40, 900), told(100, 60, 900), told(150, 50, 900.2), told(170, 20, 960)),
    ]
    assert over_all(parent(), child, grandchild) == 170


def test_a_counter_inherited_whole_counts_the_last_response_only():
    child = [fork(), told(3_000_000, 9_035, 620), told(3_010_000, 10_000, 640)]
    assert over_all(child) == 19_035


def test_a_child_whose_counter_drops_after_the_copy_goes_on_under_its_own_name():
    child = [fork(), told(40, 40, 600), told(100, 60, 600), told(40, 40, 660), told(90, 50, 700)]
    assert over_all(parent(), child) == 190


def test_copied_events_written_again_do_not_count():
    child = [fork(), told(40, 40, 600), told(100, 60, 600), told(100, 60, 601), told(150, 50, 660)]
    assert over_all(parent(), child) == 150


def test_own_calls_after_a_copy_without_items_are_the_childs():
    # a spawned agent's copy keeps usage events and leaves items out
    child = [
        *(fork(), told(40, 40, 600), told(100, 60, 600), event("task_started", 601)),
        *(call("c1", 650), told(150, 50, 660), output("c1", "x", 661)),
    ]
    pieces = of(ResponsePiece, child)
    assert [(p.usage.total, len(p.calls)) for p in pieces] == [(40, 0), (60, 0), (50, 1)]


def test_a_copy_is_said_in_the_run():
    child = [fork(), told(40, 40, 600), told(150, 110, 660)]
    assert {p.forked_from for p in of(RunPiece, child)} == {PARENT}
    spawned = [meta(CHILD, 600, parent_thread_id=PARENT), told(40, 40, 600)]
    assert [p.forked_from for p in of(RunPiece, spawned)] == [None, PARENT]
    fresh = [meta(CHILD, 600, parent_thread_id=PARENT), told(40, 40, 630)]
    assert [p.forked_from for p in of(RunPiece, fresh)] == [None]


def test_unrelated_threads_with_equal_figures_stay_two():
    other = [meta(CHILD, 0), told(40, 40, 20), told(100, 60, 40)]
    assert over_all(parent(), other) == 200


def test_an_archived_copy_of_a_thread_has_the_same_names():
    assert usage(parent()) == usage(parent())
    assert over_all(parent(), parent()) == 100
