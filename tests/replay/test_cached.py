"""A cached result is the result of reading now, or it is not used: whatever changed since."""

from __future__ import annotations

import io
import json
import os
import pickle
import random
import shutil
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopaudit import plugins
from loopaudit.render import json_report
from loopaudit.replay import audit, cached, kept
from loopaudit.replay.audit import AuditOptions, analyse, conclude_all, read_all
from loopaudit.settings import load
from loopaudit.store.shelf import FILE

NOW = 1_900_000_000.0  # long after the sample logs
SETTLED = 0.15  # seconds after which a file that was written is relied on

Told = tuple[str, int]  # the report as JSON, and how many inputs were not read again
Tell = Callable[..., Told]


@pytest.fixture(autouse=True)
def _program(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkout that is being worked on has no cache: here it stands still."""
    monkeypatch.setattr(cached, "_program", lambda: b"this program")


@pytest.fixture
def tell(tmp_path: Path) -> Tell:
    """Report over paths with a cache of this test, settings by variables."""

    def told(*paths: Path | str, cache: bool = True, processes: int = 1, **given: Any) -> Told:
        variables = {
            "LOOPAUDIT_CACHE_DIR": str(tmp_path / "cache"),
            "LOOPAUDIT_CACHE_MIN_MB": "0",
            **{name: value for name, value in given.items() if name.isupper()},
        }
        options = AuditOptions(
            [str(path) for path in paths],
            settings=load(environment=variables, folder=tmp_path),
            cache=cache,
            processes=processes,
            **{"now": NOW, **{n: value for n, value in given.items() if not n.isupper()}},
        )
        everything = read_all(options)
        words = everything.cache.split()
        found, _ = conclude_all(everything, options)
        text = io.StringIO()
        json_report.write(found, text, excerpts=options.excerpts)
        hits = int(words[0].replace(",", "")) if words[1:2] == ["of"] else 0
        return text.getvalue(), hits

    return told


@pytest.fixture
def logs(tmp_path: Path, root: Path) -> Path:
    """A copy of the sample logs."""
    folder = tmp_path / "logs"
    shutil.copytree(root / "sample_logs", folder)
    time.sleep(SETTLED)
    return folder


@pytest.fixture
def some(tmp_path: Path, root: Path) -> Path:
    """A session with a sub-agent, one that ran away, and one of another agent."""
    folder = tmp_path / "logs"
    shutil.copytree(root / "sample_logs" / "claude_code", folder / "claude_code")
    shutil.copytree(root / "sample_logs" / "codex", folder / "codex")
    shutil.copy(root / "sample_logs" / "runaway.jsonl", folder)
    time.sleep(SETTLED)
    return folder


def inputs(folder: Path) -> int:
    """How many of the sample logs can be kept: all but sessions in a folder of many files."""
    found = audit.discover([str(folder)]).sources
    return sum(not source.store for source in found)


@pytest.mark.parametrize("processes", [1, 2])
def test_cold_warm_and_without_are_the_same_to_the_byte(
    logs: Path, tell: Tell, processes: int
) -> None:
    without, _ = tell(logs, cache=False)
    assert tell(logs, processes=processes) == (without, 0)
    again, hits = tell(logs, processes=3 - processes)
    assert again == without
    assert hits >= inputs(logs)  # and those that were read together once more
    assert tell(logs, excerpts=True)[0] == tell(logs, excerpts=True)[0]
    assert tell(logs, estimate=True)[0] == tell(logs, estimate=True, cache=False)[0]
    assert tell(logs, estimate=True)[0] == tell(logs, estimate=True, cache=False)[0]


def line_of(log: Path, number: int = 0) -> bytes:
    return log.read_bytes().splitlines(keepends=True)[number]


def _touch(log: Path) -> None:
    os.utime(log)


def _grow(log: Path) -> None:
    with log.open("ab") as stream:
        stream.write(line_of(log, -1))


def _cut(log: Path) -> None:
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-3]))


def _tear(log: Path) -> None:
    with log.open("r+b") as stream:
        stream.truncate(log.stat().st_size - 7)


def _same_size_and_time(log: Path) -> None:
    """Tokens of one response changed, digit for digit, and the old time of last write set again."""
    info, data = log.stat(), log.read_bytes()
    at = data.index(b'"output_tokens":') + len(b'"output_tokens":')
    at += data[at : at + 2].count(b" ")
    digit = b"7" if data[at : at + 1] != b"7" else b"8"
    with log.open("r+b") as stream:
        stream.seek(at)
        stream.write(digit)
    os.utime(log, ns=(info.st_atime_ns, info.st_mtime_ns))
    assert log.stat().st_size == info.st_size
    assert log.stat().st_mtime_ns == info.st_mtime_ns


def _replace(log: Path) -> None:
    """Another file of the same size and time takes its place, as editors and rsync do it."""
    info = log.stat()
    other = log.with_suffix(".tmp")
    other.write_bytes(log.read_bytes().replace(b"Edit", b"Read"))
    os.utime(other, ns=(info.st_atime_ns, info.st_mtime_ns))
    other.replace(log)


def _move(log: Path) -> None:
    log.rename(log.with_name("moved.jsonl"))


def _link(log: Path) -> None:
    other = log.parent.parent / "other"
    other.write_bytes(line_of(log))
    log.unlink()
    log.symlink_to(other)


def _second(log: Path) -> None:
    shutil.copy(log, log.with_name("copy.jsonl"))


@pytest.mark.parametrize(
    ("change", "read_anew"),
    [
        (_touch, 1),
        (_grow, 1),
        (_cut, 1),
        (_tear, 1),
        (_same_size_and_time, 1),
        (_replace, 1),
        (_move, 1),
        (_link, 1),
        (Path.unlink, 0),
        (_second, 1),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_one_file_that_changed_is_read_anew_and_no_other(
    some: Path, tell: Tell, change: Callable[[Path], None], read_anew: int
) -> None:
    before, _ = tell(some)
    all_of_them = tell(some)[1]
    change(some / "runaway.jsonl")
    time.sleep(SETTLED)
    without, _ = tell(some, cache=False)
    after, hits = tell(some)
    assert after == without
    if change is not _touch:
        assert after != before
    else:
        assert after == before
    gone = change is not _second  # a copy is one run with its original: both are read together
    assert hits == all_of_them - gone
    again, hits = tell(some)
    assert again == without
    assert hits >= all_of_them - gone + read_anew


def test_a_file_that_joins_a_run(tmp_path: Path, tell: Tell) -> None:
    """Two files hold parts of one session; then one of them changes, then goes."""
    folder = tmp_path / "logs"
    folder.mkdir()
    session = "5b0f2c1e-93a7-4d10-8a52-0c6f7d1e9b34"

    def part(name: str, first: int, last: int) -> None:
        with (folder / name).open("w") as stream:
            for n in range(first, last):
                call = {"type": "tool_use", "id": f"toolu_0123456789{n}", "name": "Bash"}
                message = {
                    "id": f"msg_0123456789abc{n}",
                    "role": "assistant",
                    "model": "claude-sonnet-4-5",
                    "content": [call | {"input": {"command": "ls"}}],
                    "usage": {"input_tokens": 10, "output_tokens": 5},
                }
                record = {
                    "type": "assistant",
                    "sessionId": session,
                    "uuid": f"u{n}",
                    "requestId": f"req_0123456789abc{n}",
                    "timestamp": f"2026-05-01T10:00:{n:02d}Z",
                    "message": message,
                }
                stream.write(json.dumps(record) + "\n")
        time.sleep(SETTLED)

    part("a.jsonl", 0, 4)
    for change in (
        lambda: None,
        lambda: part("b.jsonl", 4, 8),
        lambda: part("b.jsonl", 4, 9),
        lambda: part("a.jsonl", 0, 3),
        lambda: (folder / "a.jsonl").unlink(),
    ):
        change()
        without = tell(folder, cache=False)[0]
        assert tell(folder)[0] == without
        assert tell(folder)[0] == without
    assert '"runs"' in without


def test_a_file_that_was_not_there_is_looked_for(some: Path, tell: Tell) -> None:
    """What a reader looks at beside the log decides, too: also that it is not there."""
    beside = next(some.rglob("agent-*.meta.json"))
    kept_bytes = beside.read_bytes()
    with_it = tell(some)[0]
    beside.unlink()
    without_it = tell(some, cache=False)[0]
    assert without_it != with_it
    assert tell(some)[0] == without_it
    assert tell(some)[0] == without_it
    beside.write_bytes(kept_bytes)
    time.sleep(SETTLED)
    assert tell(some)[0] == with_it


def test_the_write_ahead_log_of_a_database(tmp_path: Path, root: Path, tell: Tell) -> None:
    shutil.copy(root / "sample_logs" / "crush" / "crush.db", tmp_path / "crush.db")
    time.sleep(SETTLED)
    before = tell(tmp_path / "crush.db")[0]
    assert tell(tmp_path / "crush.db") == (before, 1)
    writer = sqlite3.connect(tmp_path / "crush.db")
    assert writer.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
    time.sleep(SETTLED)
    tell(tmp_path / "crush.db")
    main = (tmp_path / "crush.db").stat()
    writer.execute("DELETE FROM messages WHERE rowid > 2")
    writer.commit()
    now = (tmp_path / "crush.db").stat()
    assert (main.st_mtime_ns, main.st_size) == (now.st_mtime_ns, now.st_size)  # all in the -wal
    time.sleep(SETTLED)
    after = tell(tmp_path / "crush.db")[0]
    assert after == tell(tmp_path / "crush.db", cache=False)[0] != before
    writer.close()


@pytest.mark.parametrize(
    "given",
    [
        {"guards": ("fuses:demo",)},
        {"task_type": "research"},
        {"log_format": "claude_code"},
        {"excerpts": True},
        {"estimate": True},
        {"since": 1_761_220_800.0},
        {"until": 1_761_220_800.0},
        {"LOOPAUDIT_MASKS_EXTRA": '["[a-z]+"]'},
        {"LOOPAUDIT_TOOLS_POLLS": '["Bash", "Edit", "Read"]'},
        {"LOOPAUDIT_PRICES_MODEL": '[{model="*", input=1000.0, output=1000.0}]'},
    ],
    ids=str,
)
def test_other_options_have_other_results(some: Path, tell: Tell, given: dict[str, Any]) -> None:
    plain = tell(some)[0]
    without = tell(some, cache=False, **given)[0]
    assert tell(some, **given)[0] == without
    assert tell(some, **given)[0] == without
    assert tell(some)[0] == plain


def test_other_prices_need_no_reading(some: Path, tell: Tell) -> None:
    plain, _ = tell(some)
    hits = tell(some)[1]
    prices = {"LOOPAUDIT_PRICES_MODEL": '[{model="claude-*", input=1000.0, output=1000.0}]'}
    dear = tell(some, **prices)
    assert dear == (tell(some, cache=False, **prices)[0], hits)
    assert dear[0] != plain


def test_the_age_of_a_run_is_not_kept(some: Path, tell: Tell) -> None:
    last = 1_761_222_200.0  # a little before and after the end of the session that ran away
    for now in (last, last + 300, last + 9_000, NOW):
        assert tell(some, now=now)[0] == tell(some, now=now, cache=False)[0]
    assert tell(some, now=NOW)[0].count('"still_running": true') == 0


def test_responses_without_a_time_are_priced_as_of_today(tmp_path: Path, tell: Tell) -> None:
    log = tmp_path / "chat.jsonl"
    log.write_text(
        '{"id":"chatcmpl-0123456789","object":"chat.completion","model":"gpt-4o","choices":[{"index":0,'
        '"message":{"role":"assistant","content":"ho"},"finish_reason":"stop"}],'
        '"usage":{"prompt_tokens":1000,"completion_tokens":100,"total_tokens":1100}}\n'
    )
    time.sleep(SETTLED)
    first = tell(log)
    assert '"usd":"0.00' in first[0]
    assert tell(log) == (first[0], 1)
    rows = sqlite3.connect(tmp_path / "cache" / FILE).execute("SELECT data, about FROM kept")
    for data, about in rows:
        if about:
            result, prices = kept.loads_all(data, 2)
            assert len(result.runs) == len(prices) == prices.count(None) == 1


def test_what_changes_while_it_is_read_is_not_kept(
    some: Path, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = some / "runaway.jsonl"
    run_job = cached.run_jobs

    def slowly(*args: Any, **kwargs: Any) -> Any:
        found = audit.discover([str(some)])
        assert found.sources
        _grow(log)  # between the look at the folder and the reading
        return run_job(*args, **kwargs)

    monkeypatch.setattr(cached, "run_jobs", slowly)
    tell(some)
    monkeypatch.undo()
    monkeypatch.setattr(cached, "_program", lambda: b"this program")
    time.sleep(SETTLED)
    assert tell(some)[0] == tell(some, cache=False)[0]


def test_what_was_written_just_now_is_read_again(some: Path, tell: Tell) -> None:
    """It could be written once more at what its clock calls the same moment."""
    log = some / "runaway.jsonl"
    tell(some)
    for _ in range(8):
        _grow(log)
        tell(some)
        _same_size_and_time(log)
        assert tell(some)[0] == tell(some, cache=False)[0]


def test_the_code_of_others_is_asked_each_time(tmp_path: Path, tell: Tell) -> None:
    log = tmp_path / "own.jsonl"
    log.write_text('{"own": 1, "n": 1}\n{"own": 1, "n": 2}\n')
    mapping = tmp_path / "own.toml"
    mapping.write_text('[response]\ninput = "n"\n')
    time.sleep(SETTLED)
    for _ in range(2):
        text, hits = tell(log, log_format=f"map:{mapping}")
        assert hits == 0
        assert '"fresh_input":3' in text
    names = {"LOOPAUDIT_PLUGINS_FORMATS__OWN": f"map:{mapping}"}
    try:
        for _ in range(2):
            assert tell(log, **names)[1] == 0
    finally:
        plugins.format_names().pop("own")  # known to the whole process


def test_an_edited_program_reads_anew(
    some: Path, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = tell(some)[0]
    assert tell(some)[1] > 0
    monkeypatch.setattr(cached, "_program", lambda: b"another program")
    assert tell(some) == (plain, 0)
    monkeypatch.setattr(cached, "_program", lambda: None)  # it was edited while it ran
    assert tell(some) == (plain, 0)
    monkeypatch.setattr(cached, "_program", lambda: b"another program")
    assert tell(some)[1] > 0


def rewritten(folder: Path, change: Callable[[bytes], bytes]) -> None:
    """Rows with other data and a right checksum: as another program would have made them."""
    from loopaudit.store.shelf import _sum

    with sqlite3.connect(folder / FILE) as connection:
        for number, key, about, data in connection.execute(
            "SELECT id, key, about, data FROM kept WHERE about != x''"
        ).fetchall():
            new = change(data)
            connection.execute(
                "UPDATE kept SET data = ?, sum = ? WHERE id = ?",
                (new, _sum(key, about, new), number),
            )
    connection.close()


class Evil:
    def __reduce__(self) -> Any:
        return os.system, ("touch evil",)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: pickle.dumps(Evil()),
        lambda data: pickle.dumps({"of": "another shape"}) * 2,
        lambda data: data[:-20],
        lambda data: b"",
        lambda data: b"\x80\x05cbuiltins\neval\n(V1\ntR.",
    ],
)
def test_rows_of_another_making_are_done_again(
    some: Path,
    tmp_path: Path,
    tell: Tell,
    change: Callable[[bytes], bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    plain = tell(some)[0]
    hits = tell(some)[1]
    rewritten(tmp_path / "cache", change)
    assert tell(some) == (plain, 0)
    assert not (tmp_path / "evil").exists()
    assert tell(some) == (plain, hits)


def test_only_plain_data_is_made_of_bytes() -> None:
    for thing in (Evil(), os.system, eval, Path("x"), kept.loads, pickle.loads, type):
        with pytest.raises(pickle.UnpicklingError, match="no plain data"):
            kept.loads(pickle.dumps(thing))
    for kind in kept.known().values():
        assert kind.__module__ in ("array", "decimal", "builtins") or kind.__module__.startswith(
            "loopaudit."
        )


def test_what_the_system_refused_is_tried_again(
    some: Path, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    from loopaudit.ingest import opening

    opened = opening.files.opened

    def refused(path: str) -> Any:
        if path.endswith("runaway.jsonl"):
            raise PermissionError(13, "Permission denied")
        return opened(path)

    with monkeypatch.context() as patch:
        patch.setattr(opening.files, "opened", refused)
        assert "permission denied" in tell(some)[0]
    assert tell(some)[0] == tell(some, cache=False)[0]


def test_want_of_memory_is_not_kept(
    some: Path, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    from loopaudit.replay import worker

    replay = worker.replay

    def greedy(run: Any, plan: Any) -> Any:
        if "runaway" in run.path:
            raise MemoryError
        return replay(run, plan)

    with monkeypatch.context() as patch:
        patch.setattr(worker, "replay", greedy)
        assert "not enough memory" in tell(some)[0]
    assert tell(some)[0] == tell(some, cache=False)[0]


def test_standard_input_and_small_folders_are_read_each_time(
    some: Path, tell: Tell, tmp_path: Path
) -> None:
    tell(some, LOOPAUDIT_CACHE_MIN_MB="1")
    assert not (tmp_path / "cache").exists()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    if os.fork() == 0:
        with pipe.open("wb") as stream:
            stream.write((some / "runaway.jsonl").read_bytes())
        os._exit(0)
    assert tell(pipe)[1] == 0
    os.wait()


def test_the_folder_that_one_is_in_tells_relative_paths_apart(
    tmp_path: Path, root: Path, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        shutil.copy(root / "sample_logs" / "runaway.jsonl", tmp_path / name)
        time.sleep(SETTLED)
        monkeypatch.chdir(tmp_path / name)
        assert tell("runaway.jsonl")[1] == 0
        assert tell("runaway.jsonl")[1] == 1


def test_nothing_goes_wrong_without_a_folder(some: Path, tell: Tell, tmp_path: Path) -> None:
    plain = tell(some, cache=False)[0]
    (tmp_path / "cache").write_text("a file")
    assert tell(some) == (plain, 0)
    assert tell(some, processes=2) == (plain, 0)


# -- properties -----------------------------------------------------------------------------------

CHANGES = (_touch, _grow, _cut, _tear, _same_size_and_time, _move, _second)


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ground")


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    seed=st.integers(0, 10**6),
    steps=st.lists(st.tuples(st.integers(0, 9), st.sampled_from(CHANGES)), max_size=4),
    processes=st.integers(1, 2),
)
def test_totals_never_depend_on_the_cache(
    ground: Path, root: Path, seed: int, steps: list[tuple[int, Any]], processes: int
) -> None:
    """Any changes, files named in any order, one process or two: as if it were read anew."""
    folder = ground / "logs"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    sample = root / "sample_logs"
    for log in [*sorted((sample / "rules").rglob("*.jsonl"))[:6], sample / "runaway.jsonl"]:
        shutil.copy(log, folder)
    chance = random.Random(seed)
    for step in (None, *steps):
        files = sorted(folder.glob("*.jsonl"))
        if step is not None:
            log = files[step[0] % len(files)]
            try:
                step[1](log)
            except ValueError:  # a log without usage
                _grow(log)
        time.sleep(SETTLED)
        names = [str(path) for path in sorted(folder.glob("*.jsonl"))]
        reports = []
        for cache in (True, True, False):
            chance.shuffle(names)
            variables = {"LOOPAUDIT_CACHE_DIR": str(ground / "c"), "LOOPAUDIT_CACHE_MIN_MB": "0"}
            options = AuditOptions(
                list(names),
                settings=load(environment=variables),
                cache=cache,
                processes=processes,
                now=NOW,
            )
            found, _ = analyse(options)
            reports.append((found.totals, found.runs, found.findings, found.guards, found.skips))
        assert reports[0] == reports[1] == reports[2]


@pytest.mark.parametrize("processes", [1, 2])
def test_the_corpus_cold_and_warm(shared: Path, tell: Tell, processes: int) -> None:
    corpus = shared / "corpus"
    without, _ = tell(corpus, cache=False, processes=2)
    assert tell(corpus, processes=processes)[0] == without
    warm, hits = tell(corpus, processes=processes)
    assert warm == without
    assert hits > 0.8 * len(audit.discover([str(corpus)]).sources)
