"""The cache file: what it keeps it gives back whole or not at all, whatever happens to it."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from loopaudit.store import Shelf, clear
from loopaudit.store.shelf import FILE

MOST = 50_000_000


def key(number: int) -> bytes:
    return number.to_bytes(8, "little") * 2


def rows(numbers: range, size: int = 3_000, salt: int = 0) -> list[tuple[bytes, bytes, bytes]]:
    return [(key(n), b"about %d" % n, random.Random(n + salt).randbytes(size)) for n in numbers]


def fill(folder: Path, *kept: tuple[bytes, bytes, bytes], most: int = MOST) -> Shelf:
    shelf = Shelf(folder, most)
    shelf.put(kept)
    shelf.close()
    return shelf


def read(folder: Path, numbers: range) -> dict[bytes, tuple[bytes, bytes]]:
    shelf = Shelf(folder, MOST)
    found = shelf.get([key(n) for n in numbers])
    shelf.close()
    return found


def test_what_was_put_is_there_and_nothing_else(tmp_path: Path) -> None:
    kept = rows(range(20))
    fill(tmp_path / "c", *kept)
    assert read(tmp_path / "c", range(40)) == {k: (about, data) for k, about, data in kept}


def test_a_newer_row_takes_the_place_of_the_older(tmp_path: Path) -> None:
    fill(tmp_path, (key(1), b"old", b"1"))
    fill(tmp_path, (key(1), b"new", b"2"))
    assert read(tmp_path, range(3)) == {key(1): (b"new", b"2")}


def test_keys_that_begin_alike_are_told_apart(tmp_path: Path) -> None:
    fill(tmp_path, (b"12345678" + b"a" * 8, b"", b"a"))
    shelf = Shelf(tmp_path, MOST)
    assert shelf.get([b"12345678" + b"b" * 8]) == {}


def test_only_the_user_can_read_it(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "cache"
    fill(folder, *rows(range(2)))
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / FILE).stat().st_mode & 0o777 == 0o600


def test_nothing_is_made_by_looking(tmp_path: Path) -> None:
    assert read(tmp_path / "c", range(3)) == {}
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("what", ["folder", "file"])
def test_what_others_can_write_is_not_used(tmp_path: Path, what: str) -> None:
    folder = tmp_path / "c"
    fill(folder, *rows(range(2)))
    (folder if what == "folder" else folder / FILE).chmod(0o777)
    shelf = Shelf(folder, MOST)
    assert shelf.get([key(1)]) == {}
    assert "can be written by others" in shelf.trouble
    shelf.put(rows(range(5, 6)))  # nor written
    (folder if what == "folder" else folder / FILE).chmod(0o700)
    assert key(5) not in read(folder, range(10))


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    fill(tmp_path / "real", *rows(range(2)))
    (tmp_path / "link").symlink_to(tmp_path / "real")
    shelf = Shelf(tmp_path / "link", MOST)
    assert shelf.get([key(1)]) == {}
    assert "is a link" in shelf.trouble


def test_a_folder_that_cannot_be_made_is_told_and_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    shelf = fill(tmp_path / "file" / "c", *rows(range(2)))
    assert shelf.trouble
    assert read(tmp_path / "file" / "c", range(3)) == {}


def test_a_damaged_file_gives_what_is_whole_or_nothing(tmp_path: Path) -> None:
    kept = {k: (about, data) for k, about, data in rows(range(60))}
    for number in range(40):
        folder = tmp_path / str(number)
        fill(folder, *rows(range(60)))
        file = folder / FILE
        data = bytearray(file.read_bytes())
        chance = random.Random(number)
        if number % 4 == 0:
            del data[chance.randrange(len(data)) :]
        for _ in range(0 if number % 4 == 0 else 1 + number % 7):
            if data:
                data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        if number % 4 == 1:
            start = chance.randrange(len(data))
            data[start : start + 20_000] = bytes(len(data[start : start + 20_000]))
        file.write_bytes(data)
        for found, value in read(folder, range(60)).items():
            assert kept[found] == value
        fill(folder, *rows(range(60)))  # and it is written again, or made anew the time after
        fill(folder, *rows(range(60)))
        assert read(folder, range(60)).items() <= kept.items()


def test_what_is_no_database_is_made_anew(tmp_path: Path) -> None:
    fill(tmp_path, *rows(range(3)))
    (tmp_path / FILE).write_bytes(b"a shopping list, for instance" * 1000)
    assert read(tmp_path, range(3)) == {}
    fill(tmp_path, *rows(range(3)))
    assert len(read(tmp_path, range(3))) == 3


def test_an_empty_file_is_one_that_is_being_made(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    (tmp_path / FILE).touch(0o600)
    assert read(tmp_path, range(3)) == {}
    assert (tmp_path / FILE).exists()
    fill(tmp_path, *rows(range(3)))
    assert len(read(tmp_path, range(3))) == 3


def started(code: str, folder: Path) -> subprocess.Popen[str]:
    root = str(Path(__file__).resolve().parents[2])
    head = "import sys, os, signal\nfrom pathlib import Path\nfrom loopaudit.store import Shelf\n"
    head += "folder = Path(sys.argv[1])\nkey = lambda n: n.to_bytes(8, 'little') * 2\n"
    return subprocess.Popen(
        [sys.executable, "-c", head + textwrap.dedent(code), str(folder)],
        text=True,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": root},
    )


def test_a_writer_that_is_killed_leaves_what_was_there_before(tmp_path: Path) -> None:
    fill(tmp_path, (key(1), b"before", b"1"))
    writer = started(
        """
        shelf = Shelf(folder, 10**9)
        connection = shelf._open(writes=True)
        connection.execute("PRAGMA cache_size = 10")  # what is too much goes to the file at once
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("UPDATE kept SET data = zeroblob(5000000), about = 'after'")
        connection.execute("INSERT INTO kept VALUES (99, 'k', 1, 1, 'a', zeroblob(9000000), 's')")
        os.kill(os.getpid(), signal.SIGKILL)
        """,
        tmp_path,
    )
    writer.communicate()
    assert writer.returncode == -9
    assert (tmp_path / FILE).stat().st_size > 5_000_000  # it was in the middle of it
    assert read(tmp_path, range(3)) == {key(1): (b"before", b"1")}


def test_several_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    code = """
        import loopaudit.store.shelf
        loopaudit.store.shelf._WAIT = 30.0  # this machine may be busy
        first = int(os.environ["FIRST"])
        for n in range(first, first + 40):
            shelf = Shelf(folder, 10**9)
            shelf.put([(key(n), b"a", bytes([n]) * 20_000), (key(1000), b"of all", b"same")])
            found = shelf.get([key(1000)])
            shelf.close()
            assert not shelf.trouble, shelf.trouble
            assert found == {key(1000): (b"of all", b"same")}
        """
    writers = []
    for first in (0, 100, 200):
        os.environ["FIRST"] = str(first)
        writers.append(started(code, tmp_path))
    assert [w.wait() for w in writers] == [0, 0, 0]
    found = read(tmp_path, range(300))
    assert len(found) == 120
    assert all(
        data == bytes([int.from_bytes(k[:8], "little")]) * 20_000 for k, (_, data) in found.items()
    )


def test_a_full_disk_costs_what_could_not_be_kept(tmp_path: Path) -> None:
    before = rows(range(5))
    fill(tmp_path, *before)

    writer = started(
        """
        import resource
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        shelf = Shelf(folder, 10**9)
        shelf.put([(key(n), b"a", bytes(50_000)) for n in range(100, 120)])
        shelf.close()
        print(shelf.trouble)
        """,
        tmp_path,
    )
    told, _ = writer.communicate()
    assert writer.returncode == 0
    assert told.strip()
    found = read(tmp_path, range(200))
    assert found == {k: (about, data) for k, about, data in before}


def test_a_file_that_can_only_be_read_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = rows(range(3))
    fill(tmp_path, *kept)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    shelf = Shelf(tmp_path, MOST)
    assert len(shelf.get([key(n) for n in range(3)])) == 3
    shelf.put(rows(range(7, 8)))
    assert "cannot be written" in shelf.trouble


def test_the_oldest_in_use_go_when_it_is_too_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1_700_000_000.0
    monkeypatch.setattr("time.time", lambda: now)
    most = 2_000_000
    for n in range(60):
        now += 10_000
        fill(tmp_path, *rows(range(n, n + 1), size=100_000), most=most)
        assert read(tmp_path, range(1))  # the first is in use all the time
        assert (tmp_path / FILE).stat().st_size < most * 1.2
    found = {int.from_bytes(k[:8], "little") for k in read(tmp_path, range(60))}
    assert 0 in found
    assert found == {0, *range(60 - len(found) + 1, 60)}
    assert len(found) >= 10


def test_clearing_frees_it_all(tmp_path: Path) -> None:
    fill(tmp_path, *rows(range(30)))
    size = (tmp_path / FILE).stat().st_size
    assert clear(tmp_path) >= size
    assert not list(tmp_path.iterdir())
    assert clear(tmp_path) == 0
    assert clear(tmp_path / "nowhere") == 0


def test_what_it_holds(tmp_path: Path) -> None:
    assert Shelf(tmp_path, MOST).use() is None
    fill(tmp_path, *rows(range(4)))
    use = Shelf(tmp_path, MOST).use()
    assert use is not None
    assert (use.entries, use.size) == (4, (tmp_path / FILE).stat().st_size)


def test_a_locked_file_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loopaudit.store.shelf._WAIT", 0.05)
    fill(tmp_path, *rows(range(4)))
    other = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    shelf = Shelf(tmp_path, MOST)
    assert shelf.get([key(1)]) == {}
    assert "locked" in shelf.trouble
    other.execute("ROLLBACK")
    assert len(read(tmp_path, range(4))) == 4
