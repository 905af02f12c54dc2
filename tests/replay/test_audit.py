"""Across files and into totals: each response once, whatever is named first; every gap is said."""

from __future__ import annotations

import gzip
import itertools
import json
import os
from collections.abc import Callable, Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from backports import zstd

from loopaudit import plugins
from loopaudit.errors import InputError
from loopaudit.findings import Completeness, Report
from loopaudit.replay.audit import AuditOptions, audit
from loopaudit.replay.look import find_run

T0 = "2026-05-01T10:00:"


def said(id: str, second: int, session: str, tokens: int, **more: Any) -> dict[str, Any]:
    """A Claude Code line of one response that costs `tokens`, all of them fresh input but one."""
    return {
        "type": "assistant",
        "sessionId": session,
        "uuid": f"{id}-{session}",
        "timestamp": f"{T0}{second:02d}.000Z",
        "message": {
            "id": id,
            "role": "assistant",
            "model": more.pop("model", "claude-sonnet-4-5-20250929"),
            "stop_reason": "end_turn",
            "content": [{"type": "text", "text": f"answer {id}"}],
            "usage": {"input_tokens": tokens - 100, "output_tokens": 100, **more},
        },
    }


def put(path: Path, records: Iterable[Any]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
    return str(path)


def look(*paths: str | Path, **more: Any) -> Report:
    return audit(AuditOptions([str(p) for p in paths], processes=1, **more))


# -- copies across files --------------------------------------------------------------------------


@pytest.fixture
def resumed(tmp_path: Path) -> tuple[str, str]:
    """C3: B copies M1 and M2 of A, then goes on."""
    a = [said("M1", 1, "A", 4_000), said("M2", 2, "A", 5_000)]
    b = [said("M1", 1, "B", 4_000), said("M2", 2, "B", 5_000), said("M3", 9, "B", 6_000)]
    return put(tmp_path / "a.jsonl", a), put(tmp_path / "b.jsonl", b)


def test_c3_a_resumed_session_inherits_its_past(resumed: tuple[str, str]) -> None:
    for paths in (resumed, resumed[::-1]):
        report = look(*paths)
        assert report.totals.tokens.total == 15_000
        own = {r.id: (r.tokens.total, r.inherited_tokens) for r in report.runs}
        assert own == {"A": (9_000, None), "B": (6_000, 9_000)}
        assert report.totals.duplicates_removed == 2
        assert report.totals.completeness is Completeness.COMPLETE


def test_c3_the_copy_alone_counts_whole(resumed: tuple[str, str]) -> None:
    assert look(resumed[1]).totals.tokens.total == 15_000


def test_the_same_session_in_two_files_is_one_run(tmp_path: Path) -> None:
    lines = [said(f"M{i}", i, "S", 1_000) for i in range(1, 6)]
    prefix = put(tmp_path / "x" / "early.jsonl", lines[:3])
    whole = put(tmp_path / "y" / "late.jsonl", lines)
    for paths in ((prefix, whole), (whole, prefix)):
        report = look(*paths)
        assert [r.tokens.total for r in report.runs] == [5_000]
        assert report.runs[0].steps == 5


def test_short_ids_of_unrelated_logs_are_no_copies(tmp_path: Path) -> None:
    """Two sessions whose responses happen to be called alike, at other times."""
    a = put(tmp_path / "a.jsonl", [said("M1", 1, "A", 4_000)])
    b = put(tmp_path / "b.jsonl", [said("M1", 30, "B", 4_000)])
    assert look(a, b).totals.tokens.total == 8_000


def test_a_fork_that_cut_a_response_short_does_not_own_it(tmp_path: Path) -> None:
    whole = [said("M1", 1, "A", 4_000), said("M2", 2, "A", 5_000), said("M4", 8, "A", 700)]
    cut = [said("M1", 1, "B", 4_000), said("M2", 2, "B", 5_000)]
    cut[1]["message"]["usage"]["output_tokens"] = 3
    report = look(put(tmp_path / "a.jsonl", whole), put(tmp_path / "b.jsonl", cut))
    assert report.totals.tokens.total == 9_700


def test_order_of_files_never_matters(tmp_path: Path) -> None:
    files = []
    for name, ids in {"A": (1, 2, 3), "B": (1, 2, 4), "C": (1, 5), "D": (6,)}.items():
        files.append(put(tmp_path / f"{name}.jsonl", [said(f"M{i}", i, name, 1_000) for i in ids]))
    seen = set()
    for order in itertools.permutations(files):
        report = look(*order)
        seen.add(
            (
                report.totals.tokens.total,
                tuple(sorted((r.id, r.tokens.total, r.inherited_tokens) for r in report.runs)),
            )
        )
    assert len(seen) == 1
    assert next(iter(seen))[0] == 6_000


def chat(tokens: int) -> dict[str, Any]:
    """An OpenAI chat conversation: no ids of its own, so run ids come from file names."""
    return {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}]}


def test_packed_copies_of_logs_without_ids(tmp_path: Path) -> None:
    data = (json.dumps(chat(1)) + "\n").encode()
    (tmp_path / "x.jsonl").write_bytes(data)
    (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress(data))
    (tmp_path / "y.jsonl").write_bytes(data)  # an equal conversation of its own
    report = look(tmp_path)
    assert sorted(os.path.basename(r.path) for r in report.runs) == ["x.jsonl", "y.jsonl"]


def test_runs_named_after_equal_file_names_stay_apart(tmp_path: Path) -> None:
    paths = [put(tmp_path / d / "log.jsonl", [chat(1)]) for d in "ab"]
    report = look(*paths)
    assert len({r.id for r in report.runs}) == 2
    assert all(find_run(AuditOptions(list(paths)), r.id)[0].path == r.path for r in report.runs)


# -- section E ------------------------------------------------------------------------------------


def lines_of(session: str, *tokens: int) -> list[bytes]:
    return [
        json.dumps(said(f"{session}{i}", i, session, n)).encode() for i, n in enumerate(tokens, 1)
    ]


def raw(path: Path, *parts: bytes) -> Path:
    path.write_bytes(b"".join(parts))
    return path


def test_e1_cut_last_line(tmp_path: Path) -> None:
    a, b, c, d = lines_of("S", 1_000, 1_000, 1_000, 1_000)
    report = look(raw(tmp_path / "s.jsonl", a, b"\n", b, b"\n", c, b"\n", d[: len(d) // 2]))
    assert report.totals.tokens.total == 3_000
    assert [s.line for s in report.skips] == [4]
    assert "still written" in report.skips[0].reason
    assert report.totals.completeness is Completeness.COMPLETE


def test_a_cut_last_line_of_an_old_log_is_lost(tmp_path: Path) -> None:
    a, b = lines_of("S", 1_000, 1_000)
    path = raw(tmp_path / "s.jsonl", a, b"\n", b[: len(b) // 2])
    os.utime(path, (1, 1))
    report = look(path)
    assert [s.reason for s in report.skips] == ["cut last line"]
    assert report.totals.completeness is Completeness.PARTIAL


def test_a_whole_last_line_without_newline_is_no_tail(tmp_path: Path) -> None:
    a, b = lines_of("S", 1_000, 1_000)
    report = look(raw(tmp_path / "s.jsonl", a, b"\n", b))
    assert report.totals.tokens.total == 2_000
    assert report.skips == []


def test_e2_welded_and_spliced(tmp_path: Path) -> None:
    a, b, c, d, e = lines_of("S", 1_000, 1_000, 1_000, 1_000, 1_000)
    head = json.dumps(said("lost", 9, "S", 1_000)).encode()[:150]
    report = look(raw(tmp_path / "s.jsonl", a, b"\n", b, c, b"\n", head, d, b"\n", e, b"\n"))
    assert report.totals.tokens.total == 5_000
    assert [(s.line, s.reason) for s in report.skips] == [(3, "cut record")]
    assert report.totals.completeness is Completeness.PARTIAL


def test_e4_half_an_emoji(tmp_path: Path) -> None:
    record = said("M1", 1, "S", 2_000)
    record["message"]["content"].append({"type": "tool_use", "id": "t", "name": "X", "input": {}})
    record["message"]["content"][0]["text"] = "half \ud83d"
    report = look(put(tmp_path / "s.jsonl", [record]))
    assert report.totals.tokens.total == 2_000


def test_e5_not_utf8(tmp_path: Path) -> None:
    (line,) = lines_of("S", 2_000)
    report = look(raw(tmp_path / "s.jsonl", line.replace(b"answer", b"5\xb2 answer"), b"\n"))
    assert report.totals.tokens.total == 2_000
    assert report.meta["repaired"] == {"bytes that are not UTF-8": 1}


def test_e6_bom_crlf_blank_lines_line_separator(tmp_path: Path) -> None:
    a, b, c = lines_of("S", 1_000, 1_000, 1_000)
    c = c.replace(b"answer", "an\u2028swer".encode())
    report = look(
        raw(tmp_path / "s.jsonl", b"\xef\xbb\xbf", a, b"\r\n\r\n", b, b"\r\n", c, b"\r\n")
    )
    assert report.totals.tokens.total == 3_000
    assert report.skips == []


def test_e7_a_very_long_line(tmp_path: Path) -> None:
    records = [said(f"M{i}", i, "S", 1_000) for i in range(1, 6)]
    records[2]["message"]["content"][0]["text"] = "x" * 12_000_000
    assert look(put(tmp_path / "s.jsonl", records)).totals.tokens.total == 5_000


@pytest.mark.parametrize(
    "value", ["NaN", "1e400", "-5", "true", '"12"', "9" * 5_000, "null", "[1]", "1.5"]
)
def test_e8_hostile_numbers_are_missing_usage(tmp_path: Path, value: str) -> None:
    good, bad = lines_of("S", 1_000, 1_000)
    bad = bad.replace(b'"output_tokens": 100', f'"output_tokens": {value}'.encode())
    report = look(raw(tmp_path / "s.jsonl", good, b"\n", bad, b"\n"))
    assert report.totals.tokens.output == 100
    assert report.totals.completeness is not Completeness.COMPLETE
    assert report.totals.responses == 2


def test_e8_depth(tmp_path: Path) -> None:
    good, deep = lines_of("S", 1_000, 1_000)
    deep = deep[:-1] + b', "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    report = look(raw(tmp_path / "s.jsonl", good, b"\n", deep, b"\n"))
    assert report.totals.tokens.total == 2_000


def test_e10_folder_with_everything(tmp_path: Path) -> None:
    (a,) = lines_of("A", 1_000)
    (b,) = lines_of("B", 2_000)
    raw(tmp_path / "a.jsonl", a, b"\n")
    raw(tmp_path / "a.jsonl.zst", zstd.compress(a + b"\n"))
    raw(tmp_path / "b.jsonl.gz", gzip.compress(b + b"\n"))
    os.symlink(tmp_path / "nowhere", tmp_path / "c.jsonl")  # cannot be read, even by root
    raw(tmp_path / "d.jsonl")
    (tmp_path / "e.jsonl").mkdir()
    os.symlink(tmp_path, tmp_path / "up")
    report = look(tmp_path)
    assert report.totals.tokens.total == 3_000
    reasons = {os.path.basename(s.path): s.reason for s in report.skips}
    assert reasons == {
        "c.jsonl": "no such file or directory",
        "d.jsonl": "empty",
        "e.jsonl": "a folder, not a file",
    }
    assert report.totals.completeness is Completeness.PARTIAL
    assert report.totals.reasons == ["1 file could not be read"]


# -- marks ----------------------------------------------------------------------------------------


def test_c10_unpriced_is_named_and_never_zero(tmp_path: Path) -> None:
    records = [
        said("M1", 1, "S", 200_000, model="m1"),
        said("M2", 2, "S", 1_000_000, model="glm-x:thinking"),
    ]
    synthetic = said("M3", 3, "S", 100, model="<synthetic>")
    synthetic["message"]["usage"] = {"input_tokens": 0, "output_tokens": 0}
    from loopaudit.settings import Settings

    prices = {"model": [{"model": "m1", "input": 2.5, "output": 2.5}]}
    report = look(
        put(tmp_path / "s.jsonl", [*records, synthetic]),
        settings=Settings(values={"prices": prices}),
    )
    totals = report.totals
    assert totals.tokens.total == 1_200_000
    assert totals.usd == Decimal("0.50")
    assert (totals.unpriced_tokens, totals.unpriced_models) == (1_000_000, ["glm-x:thinking"])
    assert totals.completeness is Completeness.LOWER_BOUND


def test_no_usage_is_unknown_not_zero(tmp_path: Path) -> None:
    report = look(put(tmp_path / "c.jsonl", [chat(1)]))
    assert report.totals.tokens.total is None
    assert report.totals.usd is None
    assert report.runs[0].usd is None


def test_time_window(tmp_path: Path) -> None:
    path = put(tmp_path / "s.jsonl", [said(f"M{i}", i, "S", 1_000) for i in (10, 20, 30)])
    ten = 1_777_629_600.0 + 10  # 2026-05-01T10:00:10Z
    assert look(path, since=ten + 10).totals.tokens.total == 2_000
    assert look(path, until=ten + 10).totals.tokens.total == 1_000
    assert look(path, since=ten + 100).totals.runs == 0


def test_still_running(tmp_path: Path) -> None:
    path = put(tmp_path / "s.jsonl", [said("M1", 10, "S", 1_000)])
    os.utime(path, (1, 1))
    event = 1_777_629_600.0 + 10
    assert look(path, now=event + 60).runs[0].still_running
    assert not look(path, now=event + 6_000).runs[0].still_running


# -- what breaks ----------------------------------------------------------------------------------


def test_nothing_readable_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        look(tmp_path / "gone.jsonl")


def test_unknown_logs_are_named_and_do_not_end_the_run(tmp_path: Path) -> None:
    put(tmp_path / "s.jsonl", [said("M1", 1, "S", 1_000)])
    put(tmp_path / "other.jsonl", [{"colour": "green"}])
    (tmp_path / "words.jsonl").write_text("hello\nworld\n")
    report = look(tmp_path)
    assert report.totals.tokens.total == 1_000
    reasons = {os.path.basename(s.path): s.reason for s in report.skips}
    assert "no reader knows this log" in reasons["other.jsonl"]
    assert reasons["words.jsonl"] == "holds no JSON record"


def test_a_reader_that_breaks_loses_its_line_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = type(plugins.load(plugins.FORMATS["claude_code"], "t").reader("x"))
    whole: Callable[..., Any] = reader.feed

    def feed(self: Any, line: int, record: Any) -> Any:
        if line == 2:
            raise KeyError("boom")
        return whole(self, line, record)

    monkeypatch.setattr(reader, "feed", feed)
    path = put(tmp_path / "s.jsonl", [said(f"M{i}", i, "S", 1_000) for i in (1, 2, 3)])
    report = look(path)
    assert report.totals.tokens.total == 2_000
    assert [(s.line, "KeyError" in s.reason) for s in report.skips] == [(2, True)]
    assert [f.owner for f in report.failures] == ["log format claude_code"]
    assert report.totals.completeness is Completeness.PARTIAL


def test_processes_do_not_change_the_report(tmp_path: Path) -> None:
    for i in range(12):
        put(tmp_path / f"s{i}.jsonl", [said(f"M{i}-{j}", j, f"S{i}", 1_000) for j in range(1, 9)])
    one, two = (audit(AuditOptions([str(tmp_path)], processes=n, now=0.0)) for n in (1, 2))
    assert one == two


def test_a_parent_in_another_file_tells_of_its_sub_agent(tmp_path: Path) -> None:
    parent = [
        {"type": "run", "run": "P", "session": "P"},
        {"type": "response", "id": "m1", "calls": [{"id": "c9", "tool": "Task", "args": {}}]},
        {"type": "run", "run": "K", "parent": "P", "parent_call": "c9", "agent": "scout"},
    ]
    child = [{"type": "run", "run": "K", "session": "K"}, {"type": "response", "text": "hi"}]
    report = look(put(tmp_path / "p.jsonl", parent), put(tmp_path / "k.jsonl", child))
    assert {r.id: (r.parent, r.agent) for r in report.runs} == {
        "P": (None, None),
        "K": ("P", "scout"),
    }


def test_an_old_result_is_read_again_to_be_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same call every 700 lines with results that differ in a time only, long out of memory."""
    records: list[Any] = []
    for i in range(3_000):
        same = i % 700 == 0
        args = {"path": "same"} if same else {"path": f"f{i}"}
        answer = f"{'as before' if same else i} at 2026-05-01T10:00:{i % 60:02d}Z"
        call = {"id": f"call-{i}", "tool": "look", "args": args, "result": answer}
        records.append({"type": "response", "id": f"response-number-{i}", "calls": [call]})
    path = put(tmp_path / "long.jsonl", records)
    packed = tmp_path / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress(Path(path).read_bytes()))
    held = [(f.rule, f.occurrences, f.onset.step) for f in look(path).findings]
    assert held == [("same-call-same-result", 5, 700)]
    monkeypatch.setattr("loopaudit.ingest.runs.HELD_TEXT", 2_000)
    for source in (path, packed):
        findings = look(source).findings
        assert [(f.rule, f.occurrences, f.onset.step) for f in findings] == held
