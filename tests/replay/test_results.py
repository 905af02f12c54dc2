"""Columns of a replayed run: as narrow as their numbers allow, and never another number."""

from array import array

import pytest

from loopaudit.replay.results import UNKNOWN, narrow

BYTE, SHORT, INT = 2**7, 2**15, 2**31


@pytest.mark.parametrize(
    ("numbers", "size"),
    [
        ([], 1),
        ([UNKNOWN, 0, BYTE - 1], 1),
        ([UNKNOWN, BYTE], 2),
        ([-BYTE - 1], 2),
        ([SHORT - 1, 3], 2),
        ([SHORT], 4),
        ([INT - 1, UNKNOWN], 4),
        ([0, 0, INT], 8),
        ([2**63 - 1, -(2**63)], 8),
    ],
)
def test_a_column_keeps_its_numbers_in_the_fewest_bytes(numbers: list[int], size: int) -> None:
    column = narrow(array("q", numbers))
    assert list(column) == numbers
    assert column.itemsize == size
