"""Grades and totals: one vocabulary of outcomes; shares that add up."""

from decimal import Decimal

import pytest

from loopaudit.formats.graded import graded
from loopaudit.formats.totals import share_cost, share_usage
from loopaudit.model import ResponsePiece, Usage, UsageMark


@pytest.mark.parametrize(
    ("value", "outcome", "source"),
    [
        (True, "success", "s"),
        (False, "failure", "s"),
        (1, "success", "s"),
        (0.0, "failure", "s"),
        (0.25, "partial", "s 0.25"),
        ("C", "success", "s"),
        (" incorrect ", "failure", "s"),
        ("P", "partial", "s"),
        (7, None, None),
        (-1, None, None),
        (float("nan"), None, None),
        ("submitted", None, None),
        (None, None, None),
        ({}, None, None),
    ],
)
def test_grades(value, outcome, source):
    assert graded(value, "s") == (outcome, source)


def test_a_grade_out_of_another_maximum():
    assert graded(2, "s", best=4) == ("partial", "s 2")
    assert graded(4, "s", best=4) == ("success", "s")


def test_shares_add_up_to_the_total():
    answers = [ResponsePiece("r", 1) for _ in range(3)]
    share_usage(Usage(fresh_input=100, output=8, cache_read=0), answers)
    assert [a.usage.fresh_input for a in answers] == [34, 33, 33]
    assert [a.usage.output for a in answers] == [3, 3, 2]
    assert {a.usage.cache_read for a in answers} == {0}
    assert {a.usage.cache_write for a in answers} == {None}
    assert {a.usage.mark for a in answers} == {UsageMark.ESTIMATED}
    share_cost(Decimal("0.10"), answers)
    assert sum(a.cost for a in answers) == Decimal("0.10")
    assert answers[1].cost == Decimal("0.033333333333")


def test_the_dust_of_floats_is_not_shared_out():
    answers = [ResponsePiece("r", 1) for _ in range(5)]
    share_cost(Decimal("0.00022499999999999994"), answers)
    assert {a.cost for a in answers} == {Decimal("0.000045")}


def test_the_total_of_one_response_is_no_estimate():
    (answer,) = [ResponsePiece("r", 1)]
    share_usage(Usage(fresh_input=5, output=1), [answer])
    assert answer.usage.mark is UsageMark.REPORTED
    share_usage(Usage(fresh_input=5), [])
    share_cost(Decimal(1), [])
