"""Every file of one known truth gives exactly the part that it keeps, through the whole program."""

from decimal import Decimal

import pytest
from truth_table import ROWS, ZERO_OR_ABSENT, reader_of, table

from loopaudit.replay.audit import AuditOptions, analyse


def test_every_file_of_the_truth_has_a_row(shared):
    lines = (shared / "corpus/MANIFEST.tsv").read_text(encoding="utf-8").splitlines()
    cells = [line.split("\t") for line in lines]
    ours = {row[1] for row in cells if len(row) > 3 and row[3] == "ours"}
    print(table())
    assert ours == set(ROWS)


@pytest.mark.parametrize("row", ROWS)
def test_a_file_gives_exactly_what_it_keeps(shared, row):
    reader, kept = reader_of(row), ROWS[row][1]
    if reader is None:
        pytest.skip(f"no reader of {ROWS[row][0]} yet; the file keeps {kept}")
    report, runs = analyse(AuditOptions(paths=[str(shared / "corpus" / row)], processes=1))
    totals = report.totals
    assert not report.skips
    assert not report.failures
    assert {item.found.run.format for item in runs} == {reader}
    if kept.responses is not None:
        assert totals.responses == kept.responses
    assert (totals.calls, totals.calls_failed) == (kept.calls, kept.failed)
    tokens = totals.tokens
    sent = [n for n in (tokens.fresh_input, tokens.cache_read, tokens.cache_write) if n is not None]
    assert (sum(sent) if sent else None) == kept.input
    for found, right in (
        (tokens.cache_read, kept.cached),
        (tokens.output, kept.output),
        (tokens.reasoning, kept.reasoning),
    ):
        assert found == right or (right == ZERO_OR_ABSENT and found in (None, 0))
    assert totals.recorded_usd == (None if kept.usd is None else Decimal(kept.usd))
    if kept.input is None and kept.responses:  # said in words, never 0
        assert tokens.total is None
        assert f"{kept.responses} responses without usage" in totals.reasons
    elif kept.input is not None:
        assert tokens.total == kept.input + kept.output
