"""Claude Code logs as they are: nothing lost, totals as a second program counts them."""

import json
from collections import Counter

import independent_claude
import orjson
import pytest

from loopaudit.formats.base import Sample
from loopaudit.formats.coding.claude_code import FORMAT
from loopaudit.ingest.runs import RunAssembler
from loopaudit.model import CallStatus, ResponsePiece

pytestmark = pytest.mark.corpus

#: fresh input, cache read, cache write, output of the 20 real sessions, as `ccusage` 20 counts them
MAIN_LINES = (20_413, 80_279_038, 3_477_197, 75_010)
#: the same with sub-agent responses that stand only in `agent_progress` lines
WITH_AGENTS = (51_030, 83_558_648, 3_877_553, 75_518)


def real(shared):
    files = sorted((shared / "corpus/claude_code").glob("*.jsonl"))
    assert len(files) == 20
    return files


def every(shared):
    return sorted((shared / "corpus/claude_code").rglob("*.json*"))


def read(path):
    """(reader, pieces, number of records)."""
    reader = FORMAT.reader(str(path))
    pieces = []
    records = 0
    with open(path, "rb") as file:
        for number, raw in enumerate(file, 1):
            if raw.strip():
                records += 1
                try:
                    record = orjson.loads(raw)
                except ValueError:
                    record = json.loads(raw)
                pieces += reader.feed(number, record)
    pieces += reader.end()
    return reader, pieces, records


def test_every_line_is_used_ignored_by_name_or_rejected_with_a_reason(shared):
    for path in every(shared):
        reader, _, records = read(path)
        counted = reader.used + sum(reader.ignored.values()) + len(reader.rejected)
        assert counted == records, path
        assert all(reason for _, reason in reader.rejected), path


def test_nothing_of_the_real_sessions_is_rejected_or_unknown(shared):
    for path in real(shared):
        reader, _, _ = read(path)
        assert reader.rejected == [], path
        assert not [name for name in reader.ignored if "unknown" in name], path
        assert reader.missing == set(), path


def test_every_file_is_known_by_its_content(shared):
    for path in every(shared):
        records = [json.loads(row) for row in path.read_text().splitlines()[:64] if row.strip()]
        assert FORMAT.sniff(Sample("x", records)) >= 0.6, path


def sums(paths):
    """Responses, and their tokens after the field-wise maximum per response id."""
    best = {}
    for path in paths:
        for piece in read(path)[1]:
            if isinstance(piece, ResponsePiece):
                u = piece.usage
                told = (u.fresh_input, u.cache_read, u.cache_write, u.output) if u else (0,) * 4
                seen = best.get(piece.id, (0,) * 4)
                best[piece.id] = tuple(max(a, b or 0) for a, b in zip(seen, told, strict=True))
    return len(best), tuple(sum(column) for column in zip(*best.values(), strict=True))


def test_totals_of_the_real_sessions_are_those_of_others(shared):
    files = real(shared)
    assert independent_claude.count(files, embedded=False)[1] == MAIN_LINES
    assert independent_claude.count(files)[1] == WITH_AGENTS
    assert sums(files) == (1_011, WITH_AGENTS)


def test_totals_of_each_file_equal_the_independent_count(shared):
    for path in (p for p in every(shared) if p.suffix == ".jsonl" and "edge" not in p.name):
        ours, theirs = sums([path]), independent_claude.count([path])
        assert ours[1] == theirs[1] if ours[0] else theirs[0] == 0, path
        assert ours[0] == theirs[0], path


def assembled(path):
    reader, pieces, _ = read(path)
    build = RunAssembler(str(path), FORMAT.name, placeholder_outputs=reader.placeholder_outputs)
    for piece in pieces:
        build.add(piece)
    return build.finish()


def test_runs_hold_the_same_totals_and_every_call(shared):
    for path in real(shared):
        found = assembled(path)
        steps = [step for run in found for step in run.steps]
        expected, tokens = independent_claude.count([path])
        assert len(steps) == expected, path
        assert sum(step.usage.total for step in steps) == sum(tokens), path
        calls = Counter()
        for ident, _, names in independent_claude.messages(path):
            calls[ident] += len(names)
        assert {s.id: len(s.calls) for s in steps if s.calls} == {
            ident: number for ident, number in calls.items() if number
        }, path


def test_what_the_manifest_says_of_single_files_holds(shared):
    folder = shared / "corpus/claude_code"

    def statuses(name):
        return Counter(c.status for r in assembled(folder / name) for c in r.calls)

    assert statuses("4c_02af2759b6_0.jsonl")[CallStatus.UNANSWERED] == 1
    assert statuses("60_fd31fcf44f_0.jsonl")[CallStatus.UNANSWERED] == 1
    assert statuses("ea_aad03dd419_0.jsonl")[CallStatus.SIBLING] >= 6  # one failed batch of seven
    kinds = Counter(
        b.kind.value
        for r in assembled(folder / "61_a440d894cc_0.jsonl")
        for b in [*(b for s in r.steps for b in s.before), *r.after]
    )
    assert kinds["interrupt"] == 4
    (run,) = assembled(folder / "ad_ac80fffbb8_0.jsonl")
    attempts = [a for s in run.steps for a in s.attempts] + run.attempts_after
    assert [(a.http_status, a.code, a.gave_up) for a in attempts] == [(500, "api_error", True)]
    (run,) = assembled(folder / "8c_fa910f8ef9_5.jsonl")  # two session ids, one thread
    assert run.id.startswith("4931d45a")
