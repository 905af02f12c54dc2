"""SQLite sources: a private copy with the write-ahead log, the originals never touched."""

import errno
import json
import os
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from loopaudit.errors import InputError
from loopaudit.formats.base import Table
from loopaudit.ingest.databases import Database
from loopaudit.ingest.reading import read_sources
from loopaudit.ingest.runs import RunAssembler
from loopaudit.ingest.sources import Source, discover

CRUSH = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, cost REAL, created_at INTEGER);
CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT, role TEXT, parts TEXT, model TEXT,
 created_at INTEGER, finished_at INTEGER, provider TEXT);
"""
TABLES = (Table("sessions", ("created_at",)), Table("messages", ("created_at",)))


def insert(connection, number):
    parts = f'[{{"type":"text","text":"answer {number}"}}]'
    row = (f"m{number}", "s-0123456789abcdef", "assistant", parts, "m", 1_760_000_000 + number)
    columns = "id, session_id, role, parts, model, created_at"
    connection.execute(f"INSERT INTO messages ({columns}) VALUES (?, ?, ?, ?, ?, ?)", row)


@pytest.fixture
def live(tmp_path):
    """A database whose last four messages stand in the write-ahead log; its writer is open."""
    path = tmp_path / "crush.db"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.executescript(CRUSH)
    connection.execute("INSERT INTO sessions VALUES ('s-0123456789abcdef', NULL, 0.5, 1760000000)")
    for number in range(6):
        insert(connection, number)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for number in range(6, 10):
        insert(connection, number)
    yield path
    connection.close()


def read(path):
    (source,) = discover([str(path)]).sources
    return read_sources([source], lambda p, f: RunAssembler(p, f))


def state(folder):
    """Bytes and times of all files but the shared-memory index, which locks change."""
    return {
        path.name: (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.iterdir())
        if not path.name.endswith("-shm")
    }


def test_what_stands_in_the_write_ahead_log_is_read(live):
    assert os.path.getsize(f"{live}-wal") > 0
    (run,) = read(live).runs
    assert [step.id for step in run.steps] == [f"m{n}" for n in range(10)]


def test_a_copy_without_the_log_lacks_the_newest_messages(live, tmp_path):
    """What would be lost: six of ten messages are in the database itself."""
    alone = tmp_path / "alone.db"
    alone.write_bytes(live.read_bytes())
    (run,) = read(alone).runs
    assert len(run.steps) == 6


def test_neither_the_database_nor_its_log_is_changed(live):
    before = state(live.parent)
    read(live)
    assert state(live.parent) == before
    assert set(before) == {"crush.db", "crush.db-wal"}


def test_a_log_left_by_a_crash_is_read_and_left_alone(live, tmp_path):
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    for suffix in ("", "-wal"):
        (crashed / f"crush.db{suffix}").write_bytes(Path(f"{live}{suffix}").read_bytes())
    before = state(crashed)
    (run,) = read(crashed / "crush.db").runs
    assert len(run.steps) == 10
    assert state(crashed) == before
    assert sorted(os.listdir(crashed)) == ["crush.db", "crush.db-wal"]


def test_a_folder_that_may_not_be_written_to_is_read(live):
    folder = live.parent
    folder.chmod(0o500)
    try:
        assert len(read(live).runs) == 1
    finally:
        folder.chmod(0o700)


def test_nothing_is_left_in_the_temporary_folder(live, tmp_path, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    read(live)
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"SQLite format 3\x00" + b"\x07" * 5_000)
    with pytest.raises(InputError):
        Database(str(broken))
    assert list(scratch.iterdir()) == []


def test_databases_are_found_in_folders_by_their_first_bytes(live):
    folder = live.parent
    (folder / "Thumbs.db").write_bytes(b"\xd0\xcf\x11\xe0 not a log")
    (folder / "notes.sqlite").write_text("no database")
    named = folder / "renamed.sqlite3"
    named.write_bytes(live.read_bytes())
    found = discover([str(folder)])
    assert [Path(source.path).name for source in found.sources] == ["crush.db", "renamed.sqlite3"]
    assert found.skips == []
    assert found.other_files == 2  # the write-ahead log is read with its database


def test_a_database_named_by_the_user_needs_no_ending(live, tmp_path):
    named = tmp_path / "session"
    named.write_bytes(live.read_bytes())
    assert len(read(named).runs) == 1


def test_a_transaction_that_broke_off_is_taken_back(tmp_path):
    """The journal holds the old pages; without it half of a transaction would be read."""
    path, crashed = tmp_path / "crush.db", tmp_path / "crashed"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript(CRUSH)
    for number in range(6):
        insert(connection, number)
    connection.execute("PRAGMA cache_size = 2")
    connection.execute("BEGIN")
    for number in range(6, 3_000):
        insert(connection, number)
    crashed.mkdir()
    for suffix in ("", "-journal"):
        (crashed / f"crush.db{suffix}").write_bytes(Path(f"{path}{suffix}").read_bytes())
    connection.execute("ROLLBACK")
    connection.close()
    before = state(crashed)
    (run,) = read(crashed / "crush.db").runs
    assert len(run.steps) == 6
    assert state(crashed) == before


def test_lines_are_rowids(live):
    (run,) = read(live).runs
    assert [step.line for step in run.steps] == list(range(1, 11))


def test_a_database_of_something_else_is_named_by_its_tables(tmp_path):
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.executescript("CREATE TABLE cookies (host TEXT); CREATE TABLE urls (url TEXT);")
    connection.close()
    (skip,) = read(path).skips
    assert skip.reason.startswith(
        "no reader knows this log; a database with the tables cookies, urls"
    )


def test_an_empty_database_has_no_runs_and_no_complaint(tmp_path):
    path = tmp_path / "crush.db"
    connection = sqlite3.connect(path)
    connection.executescript(CRUSH)
    connection.close()
    result = read(path)
    assert (result.runs, result.skips, result.failures) == ([], [], [])


def test_damage_in_the_middle_keeps_what_came_before(tmp_path):
    path = tmp_path / "crush.db"
    connection = sqlite3.connect(path)
    connection.executescript(CRUSH)
    for number in range(4_000):
        insert(connection, number)
    connection.commit()
    connection.close()
    data = bytearray(path.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 40_960] = b"\xff" * 40_960
    path.write_bytes(data)
    result = read(path)
    assert result.failures == []
    assert any("damaged" in skip.reason for skip in result.skips)


def test_columns_of_any_type_and_text_that_is_no_utf_8_are_survived(live):
    connection = sqlite3.connect(live)
    connection.execute(
        "INSERT INTO messages (id, session_id, role, parts, created_at) VALUES (?, ?, ?, ?, ?)",
        (b"\x00\xff", 7, "assistant", CRUSH.encode(), "yesterday"),
    )
    connection.execute(
        "INSERT INTO messages (id, role, parts) VALUES ('x', 'user', CAST(x'ff22' AS TEXT))"
    )
    connection.commit()
    connection.close()
    result = read(live)
    assert result.failures == []
    assert len(result.skips) == 2


def test_rows_of_a_child_table_come_with_their_parent(tmp_path):
    path = tmp_path / "pairs.db"
    connection = sqlite3.connect(path)
    connection.executescript("CREATE TABLE a (id, n); CREATE TABLE b (id, a_id, data);")
    connection.executemany("INSERT INTO a VALUES (?, ?)", [("b", 1), ("a", 2), (None, 3), ("c", 4)])
    connection.executemany(
        "INSERT INTO b VALUES (?, ?, ?)",
        [(2, "a", "x2"), (1, "a", "x1"), (3, "zz", "lost"), (4, "c", "x4"), (5, 9, "number")],
    )
    connection.commit()
    connection.close()
    database = Database(str(path))
    records = [r for _, r in database.records([Table("a", ("id",), child="b", child_key="a_id")])]
    database.close()
    assert [(r["row"]["id"], [b["data"] for b in r["b"]]) for r in records] == [
        (None, []),
        ("a", ["x1", "x2"]),
        ("b", []),
        ("c", ["x4"]),
    ]


def test_tables_that_are_not_there_are_passed_over(live):
    database = Database(str(live))
    wanted = [Table("nothing", ("id",)), *TABLES, Table("messages", ("no such column",))]
    records = list(database.records(wanted))
    database.close()
    assert len(records) == 1 + 10 + 10


def test_a_database_that_is_gone_is_one_line(tmp_path):
    result = read_sources(
        [Source(str(tmp_path / "gone.db"), 1, True)], lambda p, f: RunAssembler(p, f)
    )
    assert [skip.reason for skip in result.skips] == ["no such file or directory"]


def test_an_early_result_is_read_again_when_its_call_comes_back(tmp_path):
    """The same call at the start and after 4 MB of others: its results differ in a time only."""
    path = tmp_path / "crush.db"
    connection = sqlite3.connect(path)
    connection.executescript(CRUSH)
    columns = "id, session_id, role, parts, created_at"

    def exchange(number, given, content):
        call = {"type": "tool_call", "id": f"c{number}", "name": "bash", "input": json.dumps(given)}
        told = {"type": "tool_result", "tool_call_id": f"c{number}", "content": content}
        for role, part in (("assistant", call), ("tool", told)):
            row = (f"{role}{number}", "s-0123456789abcdef", role, json.dumps([part]), 1_760_000_000)
            connection.execute(f"INSERT INTO messages ({columns}) VALUES (?, ?, ?, ?, ?)", row)

    exchange(0, {"command": "date"}, "finished at 12:00:01\n")
    for number in range(1, 81):
        exchange(number, {"command": f"cat {number}"}, "x" * 50_000)
    exchange(81, {"command": "date"}, "finished at 12:59:59\n")
    connection.commit()
    connection.close()
    (run,) = read(path).runs
    first, last = run.calls[0], run.calls[-1]
    assert first.key == last.key
    assert first.result != last.result
    assert first.result_key == last.result_key is not None


def test_a_database_that_only_its_log_tells_of_has_grown(live):
    from loopaudit.cli.follow import state as seen_by_follow

    before = seen_by_follow([str(live)])
    connection = sqlite3.connect(live, isolation_level=None)
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    insert(connection, 99)
    assert seen_by_follow([str(live)]) != before
    connection.close()


def test_a_reader_of_lines_forced_on_a_database_says_so(live):
    (source,) = discover([str(live)]).sources
    result = read_sources([source], lambda p, f: RunAssembler(p, f), "claude_code")
    assert [skip.reason for skip in result.skips] == ["a database, and claude_code reads none"]


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_a_locked_database_without_anything_committed_is_told(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "agent.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute(f"PRAGMA journal_mode={mode}")
        writer.execute("PRAGMA user_version=1")
        writer.execute("PRAGMA locking_mode=EXCLUSIVE")
        writer.execute("BEGIN EXCLUSIVE")
        writer.execute("CREATE TABLE sessions (id TEXT)")
        with pytest.raises(InputError, match="without tables: its writer holds it locked"):
            Database(str(path))


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.EAGAIN, "Resource temporarily unavailable"), "another program holds locked"),
        (OSError(errno.ENOSPC, "No space left on device"), "no space left on device, while it was"),
    ],
)
def test_a_file_that_cannot_be_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, words: str
) -> None:
    path = tmp_path / "agent.db"
    sqlite3.connect(path).execute("CREATE TABLE sessions (id TEXT)")

    def refused(source: str, target: str) -> None:
        raise error

    monkeypatch.setattr(shutil, "copyfile", refused)
    with pytest.raises(InputError, match=words):
        Database(str(path))
