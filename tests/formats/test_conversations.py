"""Which messages of a request are new, and which conversation it belongs to."""

import time

from loopaudit.formats.conversations import Conversations, running, telling
from loopaudit.model import (
    BoundaryKind,
    BoundaryPiece,
    CallPiece,
    ResponsePiece,
    ResultPiece,
)


def user(text):
    return BoundaryPiece("", 0, BoundaryKind.USER, text=text)


def said(text=None, *calls):
    return ResponsePiece("", 0, text=text, calls=tuple(calls))


def call(key, arg=0):
    return CallPiece(key, "f", {"a": arg})


def result(key, text="ok"):
    return ResultPiece("", 0, key, text)


class Log:
    """Requests in order, each answered; tells run and new pieces of each."""

    def __init__(self):
        self.runs = 0
        self.talks = Conversations(self.new_run)

    def new_run(self, own):
        self.runs += 1
        return own or f"run {self.runs}"

    def ask(self, pieces, *answers, **options):
        match = self.talks.match(pieces, requests=True, **options)
        self.talks.extend(match, answers)
        return match.run, match.new


A1, A2 = said(None, call("k1")), said("done")
R1 = result("k1")
LONG = "call_0123456789abcdefgh"


def test_only_what_is_new_is_told():
    log = Log()
    assert log.ask([user("go")], A1) == ("run 1", [user("go")])
    assert log.ask([user("go"), A1, R1], A2) == ("run 1", [R1])
    assert log.ask([user("go"), A1, R1, A2, user("more")], A1) == ("run 1", [user("more")])


def test_conversations_that_grow_side_by_side():
    log = Log()
    for text in ("a", "b"):
        log.ask([user(text)], A1)
    assert log.ask([user("b"), A1, R1], A2) == ("run 2", [R1])
    assert log.ask([user("a"), A1, R1], A2) == ("run 1", [R1])


def test_conversations_that_are_alike_so_far_are_told_apart_by_call_ids():
    log = Log()
    one, two = (said(None, call(LONG + digit)) for digit in "12")
    log.ask([user("go")], one)
    log.ask([user("go")], two)
    assert log.ask([user("go"), one, result(LONG + "1")], A2)[0] == "run 1"
    assert log.ask([user("go"), two, result(LONG + "2")], A2)[0] == "run 2"


def test_the_same_question_answered_before_is_a_new_conversation():
    log = Log()
    assert log.ask([user("say foo")], said("foo"))[0] == "run 1"
    assert log.ask([user("say foo")], said("foo")) == ("run 2", [user("say foo")])


def test_a_question_without_an_answer_is_asked_again_in_the_same_run():
    log = Log()
    log.ask([user("go")])  # failed
    assert log.ask([user("go")], A1) == ("run 1", [])


def test_a_later_request_asked_again_adds_a_step_and_nothing_else():
    log = Log()
    log.ask([user("go")], A1)
    log.ask([user("go"), A1, R1], said("rubbish"))
    assert log.ask([user("go"), A1, R1], A2) == ("run 1", [])
    # and the conversation may go on from either answer
    assert log.ask([user("go"), A1, R1, A2, user("x")], A2) == ("run 1", [user("x")])


def test_a_history_that_parts_from_the_past_is_a_fork_of_its_own():
    log = Log()
    log.ask([user("go")], A1)
    log.ask([user("go"), A1, R1], A2)
    log.ask([user("go"), A1, R1, A2, user("x")], A2)
    match = log.talks.match([user("go"), A1, R1, A2, user("y")], requests=True)
    assert (match.run, match.new, match.forked_from) == ("run 2", [user("y")], "run 1")


def test_a_rewritten_history_is_known_by_the_last_call():
    log = Log()
    answer = said(None, call(LONG))
    log.ask([user("go"), A1, R1, A2, user("long")], answer)
    cleared = [user("go"), said("[cleared]"), answer, result(LONG)]
    assert log.ask(cleared, A2) == ("run 1", [result(LONG)])
    # ids that anybody may have tell nothing
    log = Log()
    log.ask([user("go"), A1, R1, A2, user("long")], A1)
    assert log.ask([user("other"), A1, R1], A2)[0] == "run 2"


def test_a_step_that_was_never_logged_is_told_from_the_history():
    log = Log()
    log.ask([user("go")], A1)
    unlogged = said(None, call("k2", 5))
    run, new = log.ask([user("go"), A1, R1, unlogged, result("k2")], A2)
    assert (run, new) == ("run 1", [R1, unlogged, result("k2")])


def test_the_logs_own_id_is_better_than_the_history():
    log = Log()
    assert log.ask([user("a")], A1, own="s1")[0] == "s1"
    assert log.ask([user("a")], A1, own="s2")[0] == "s2"
    assert log.ask([user("a"), A1, R1], A2, own="s1") == ("s1", [R1])
    # rewritten: one compaction, and only what follows the last answer
    run, new = log.ask([user("summary"), said("so far"), user("next")], A2, own="s1")
    assert run == "s1"
    assert [p.kind for p in new] == [BoundaryKind.COMPACTION, BoundaryKind.USER]
    # a new question without history is no compaction
    run, new = log.ask([user("unrelated")], A2, own="s1")
    assert (run, new) == ("s1", [user("unrelated")])


def test_system_prompts_decide_only_between_equals():
    log = Log()
    log.ask([user("go")], A1, system=1)
    log.ask([user("go")], A1, system=2)
    assert log.ask([user("go"), A1, R1], A2, system=1)[0] == "run 1"
    log = Log()
    log.ask([user("go")], A1, system=1)
    assert log.ask([user("go"), A1, R1], A2, system=9)[0] == "run 1"  # handed over


def test_the_other_choice_may_be_the_one_taken():
    log = Log()
    first, second = said("x", call("k1", 1)), said("y", call("k2", 2))
    log.ask([user("go")], first, second)
    run, new = log.ask([user("go"), second, result("k2")], A2)
    assert (run, new) == ("run 1", [second, result("k2")])
    log = Log()
    log.ask([user("go")], first, second)
    assert log.ask([user("go"), first, R1], A2) == ("run 1", [R1])


def test_white_space_ids_and_key_order_do_not_change_a_history():
    one = said(" text\n", CallPiece("a", "f", {"x": 1, "y": 2.0}))
    two = said("text", CallPiece("b", "f", '{"y": 2, "x": 1}'))
    assert running([one]) == running([two])
    for other in (said("text"), said("text", call("a")), user("text"), result("a", "text")):
        assert running([other]) != running([one])


def test_telling_ids():
    for key in ("toolu_01AaHKJphyeTw3GFp4Xgiekv", "call_gZQiwtvwnhkpwHGNvaxRGRRG", LONG):
        assert telling(CallPiece(key, "f", {}) if "f" not in key else CallPiece(key, "read", {}))
    for key in (None, "", "call_0", "functions.f:0", "0" * 30, "toolu_01"):
        assert not telling(CallPiece(key, "f", {}))
    assert not telling(CallPiece("functions.get_weather:0", "get_weather", {}))


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr("loopaudit.formats.conversations.MAX_STANDING", 10)
    monkeypatch.setattr("loopaudit.formats.conversations.MAX_PAST", 30)
    log = Log()
    for number in range(100):
        log.ask(
            [user(str(number))], said(None, call(f"{LONG}{number}")), own=f"conversation {number}"
        )
    talks = log.talks
    sizes = [len(x) for x in (talks._standing, talks._heads, talks._calls, talks._owners)]
    assert sizes == [10] * 4
    assert len(talks._past) == 30
    last = said(None, call(f"{LONG}99"))
    again = [user("99"), last, result(f"{LONG}99")]
    assert log.ask(again, A2, own="conversation 99") == ("conversation 99", again[2:])


def test_time_grows_with_the_conversation_only():
    pieces = [user(f"message {number}") for number in range(60_000)]
    began = time.process_time()
    Conversations(lambda own: "r").match(pieces)
    assert time.process_time() - began < 3
