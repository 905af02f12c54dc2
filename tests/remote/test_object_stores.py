"""Logs in an object store give what the same logs give from a folder; faults give one line."""

from __future__ import annotations

import bz2
import gzip
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from bucket import ROOT, Store
from faulty import Faulty
from swift_server import GUEST

pytestmark = pytest.mark.remote


@pytest.fixture(scope="module")
def samples(store: Store) -> str:
    return store.upload(ROOT / "sample_logs", "sample_logs")


def lines(run: str, steps: int, *, size: int = 20) -> bytes:
    """A log in our own format: `steps` responses of 1,100 tokens, with texts of `size` bytes."""
    records: list[dict[str, Any]] = [{"loopaudit": 1}, {"type": "run", "run": run}]
    for number in range(steps):
        records.append(
            {
                "type": "response",
                "run": run,
                "id": f"{run}-{number}",
                "at": 1_777_642_151 + number,
                "model": "gpt-5",
                "text": f"{number} {'x' * size}",
                "usage": {"fresh_input": 1000, "output": 100},
            }
        )
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


@pytest.mark.parametrize(
    "command",
    [
        ("report", "--format", "json", "--processes", "1"),
        ("report", "--format", "json", "--processes", "2"),
        ("tune", "--format", "json"),
    ],
    ids=["report", "report-of-two-processes", "tune"],
)
def test_a_prefix_gives_what_the_folder_gives(
    store: Store, samples: str, command: tuple[str, ...]
) -> None:
    """The samples hold packed files, a database, a session in many files, files beside others."""
    there = store.run(*command, samples)
    here = store.run(*command, "sample_logs", cwd=ROOT)
    assert there.returncode == here.returncode, there.stderr
    assert len(here.stdout) > 1000

    def bare(text: str) -> str:  # the digest of a corpus is one of its paths too
        return re.sub(r'"digest": "\w+"', "", text.replace(samples, "sample_logs"))

    assert bare(there.stdout) == bare(here.stdout)
    assert bare(there.stderr) == bare(here.stderr)


def test_globs_and_single_objects(store: Store) -> None:
    keys = ("2025/a.jsonl", "2025/b.jsonl", "2026/a.jsonl", "2026/deep/c.jsonl", ".x/d.jsonl")
    for key in (*keys, "2025/notes.txt"):
        store.put(f"g/{key}", b"{}\n")

    found = store.discover(
        ["s3://logs/g/2025/a.jsonl"],
        ["s3://logs/g/*/a.jsonl"],
        ["s3://logs/g/2026*"],
        ["s3://logs/g/**/c.jsonl"],
        ["s3://logs/g/**/*.jsonl"],  # a star passes over hidden folders
        ["s3://logs/g"],  # a folder does not
        ["s3://logs/g/", "s3://logs/g/2025", "s3://logs/g/2025/a.jsonl"],
        ["s3://logs/g/2025/notes.txt"],
    )
    assert [[path.removeprefix("s3://logs/g/") for path in one] for one in found] == [
        ["2025/a.jsonl"],
        ["2025/a.jsonl", "2026/a.jsonl"],
        ["2026/a.jsonl", "2026/deep/c.jsonl"],
        ["2026/deep/c.jsonl"],
        sorted(keys[:4]),
        sorted(keys),
        sorted(keys),
        ["2025/notes.txt"],
    ]


def test_keys_with_odd_characters(store: Store) -> None:
    names = ["[h]", "a b", "c+d=&", "e#f?", "g%41", "ü漢"]
    for name in names:
        store.put(f"odd/{name}.jsonl", lines(name, 1))
    urls = [f"s3://logs/odd/{name}.jsonl" for name in names]
    assert [run["id"] for run in store.report("s3://logs/odd")["runs"]] == names
    assert [run["path"] for run in store.report(*urls)["runs"]] == urls


def test_packed_objects_are_known_by_their_bytes(store: Store) -> None:
    store.put("packed/a.jsonl.gz", gzip.compress(lines("a", 3)))
    store.put("packed/b.log", bz2.compress(lines("b", 4)))
    told = store.report("s3://logs/packed", "s3://logs/packed/b.log")
    assert told["totals"]["responses"] == 7


def test_what_is_copied_is_gone_afterwards(store: Store, samples: str, tmp_path: Path) -> None:
    for name in ("opencode", "goose"):  # a session in many files; a database
        assert (ROOT / "sample_logs" / name).is_dir()
        env = store.environment(TMPDIR=str(tmp_path))
        ended = store.run("report", "--format", "json", f"{samples}/{name}", env=env)
        assert json.loads(ended.stdout)["totals"]["responses"] > 0, ended.stderr
    assert list(tmp_path.iterdir()) == []


def test_large_objects_come_in_parts_several_at_once(store: Store) -> None:
    body = lines("large", 300, size=100_000)  # 30 MB
    store.put("large/l.jsonl", body)
    with Faulty(store.server.port) as proxy:
        env = store.environment(AWS_ENDPOINT_URL=proxy.url)
        ended = store.run("report", "--format", "json", "s3://logs/large/l.jsonl", env=env)
    assert json.loads(ended.stdout)["totals"]["tokens"]["total"] == 300 * 1100, ended.stderr
    parts = [wanted for wanted in proxy.asked if wanted.endswith("-4194303") or "=0-" not in wanted]
    assert len(parts) == len(set(parts)) == -(-len(body) // (4 << 20))  # each once
    assert proxy.most > 2


def test_small_objects_come_ahead_of_their_turn(store: Store) -> None:
    for number in range(40):
        store.put(f"small/{number:02d}.jsonl", lines(f"r{number}", 1))
    with Faulty(store.server.port) as proxy:
        env = store.environment(AWS_ENDPOINT_URL=proxy.url)
        ended = store.run("report", "--format", "json", "s3://logs/small", env=env)
    assert json.loads(ended.stdout)["totals"]["responses"] == 40, ended.stderr
    objects = [wanted for wanted in proxy.asked if ".jsonl" in wanted]
    assert len(objects) == len(set(objects)) == 40  # one request each
    assert proxy.most > 2


def test_failures_of_the_moment_are_tried_again(store: Store) -> None:
    for number in range(20):
        store.put(f"moment/{number:02d}.jsonl", lines(f"r{number}", 5))
    with Faulty(store.server.port, fails=3) as proxy:
        env = store.environment(AWS_ENDPOINT_URL=proxy.url)
        ended = store.run("report", "--format", "json", "s3://logs/moment", env=env)
    assert proxy.failed > 5
    assert json.loads(ended.stdout)["totals"]["responses"] == 100, ended.stderr


def test_convert_writes_to_a_store(store: Store, samples: str) -> None:
    source = f"{samples}/runaway.jsonl"
    wanted = store.report(source)["totals"]
    for target in ("s3://logs/out/a.jsonl", "s3://logs/out/a.parquet", "s3://logs/out/folder"):
        ended = store.run("convert", source, target)
        assert ended.returncode == 0, ended.stderr
        assert f"to {target}" in ended.stderr
        assert store.report(target)["totals"]["responses"] == wanted["responses"]
    ended = store.run("convert", source, "s3://absent/a.jsonl")
    assert (ended.returncode, ended.stderr.splitlines()[0]) == (
        2,
        "loopaudit: s3://absent/a.jsonl: no such bucket",
    )


def test_show_and_charts(store: Store, samples: str, tmp_path: Path) -> None:
    ended = store.run("show", f"{samples}/runaway.jsonl")
    assert ended.returncode == 0, ended.stderr
    assert "s3://logs/sample_logs/runaway.jsonl" in ended.stdout
    target = tmp_path / "run.png"
    ended = store.run("chart", f"{samples}/runaway.jsonl", "-o", str(target))
    assert target.read_bytes().startswith(b"\x89PNG"), ended.stderr


def test_following_is_for_local_files(store: Store, samples: str) -> None:
    ended = store.run("report", "--follow", samples)
    assert ended.returncode == 2
    assert "--follow watches local files only" in ended.stderr


BAD = {
    "no bucket": ("s3://absent/x", {}, "s3://absent/x: no such bucket"),
    "no object": ("s3://logs/absent", {}, "s3://logs/absent: no such object or folder"),
    "no match": ("s3://logs/*.absent", {}, "s3://logs/*.absent: nothing matches"),
    "no name": ("s3://", {}, "s3://: no bucket after s3://"),
    "not allowed": (
        "s3://logs/g",
        {"AWS_ACCESS_KEY_ID": GUEST[0], "AWS_SECRET_ACCESS_KEY": GUEST[1]},
        "s3://logs/g: access denied (AccessDenied)",
    ),
    "wrong secret": (
        "s3://logs/g",
        {"AWS_SECRET_ACCESS_KEY": "wrong"},
        "s3://logs/g: the credentials are not accepted (SignatureDoesNotMatch)",
    ),
    "wrong region": (
        "s3://logs/g",
        {"AWS_REGION": "us-east-1"},
        "s3://logs/g: the bucket is in another region: set AWS_REGION=eu-test-1",
    ),
    "no server": (
        "s3://logs/g",
        {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"},
        "s3://logs/g: http://127.0.0.1:9 cannot be reached",
    ),
    "no profile": (
        "s3://logs/g",
        {"AWS_ACCESS_KEY_ID": "", "AWS_PROFILE": "absent"},
        "s3://logs/g: AWS settings: The config profile (absent) could not be found",
    ),
}


@pytest.mark.parametrize("case", BAD, ids=lambda name: name.replace(" ", "-"))
def test_what_is_wrong_is_said_in_one_line(store: Store, case: str) -> None:
    url, changes, said = BAD[case]
    ended = store.run("report", url, env=store.environment(**changes))
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.splitlines()[0] == f"loopaudit: {said}"
    assert len(ended.stderr.splitlines()) == 2  # and the hint


def test_without_credentials(store: Store, tmp_path: Path) -> None:
    env = store.environment(HOME=str(tmp_path))
    del env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"]
    ended = store.run("report", "s3://logs/g", env=env)
    assert ended.returncode == 2
    assert ended.stderr.startswith("loopaudit: s3://logs/g: no AWS credentials (")


def test_a_profile_has_credentials_region_and_endpoint(
    store: Store, samples: str, tmp_path: Path
) -> None:
    (tmp_path / "config").write_text(
        f"[profile p]\nregion = eu-test-1\nendpoint_url = {store.url}\n"
        "aws_access_key_id = test:owner\naws_secret_access_key = owning\n"
    )
    kept = {k: v for k, v in store.environment().items() if not k.startswith("AWS_")}
    env = {**kept, "AWS_CONFIG_FILE": str(tmp_path / "config"), "AWS_PROFILE": "p"}
    ended = store.run("report", f"{samples}/runaway.jsonl", env=env)
    assert ended.stdout.startswith("1 session, 97 responses"), ended.stderr


def test_one_good_input_is_enough(store: Store, samples: str) -> None:
    ended = store.run("report", "--format", "json", f"{samples}/runaway.jsonl", "s3://logs/absent")
    assert ended.returncode == 0
    told = json.loads(ended.stdout)
    assert [(s["path"], s["reason"]) for s in told["skips"]] == [
        ("s3://logs/absent", "no such object or folder")
    ]


def test_without_the_extra(store: Store, tmp_path: Path) -> None:
    (tmp_path / "obstore").mkdir()
    (tmp_path / "obstore" / "__init__.py").write_text("raise ImportError")
    env = store.environment(PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}")
    ended = store.run("report", "s3://logs/g", env=env)
    assert ended.returncode == 2
    assert "pip install 'loopaudit[remote]'" in ended.stderr


PROGRAM = """
import sys
from loopaudit.ingest.sources import discover
from loopaudit.ingest.reading import read_sources
from loopaudit.ingest.runs import RunAssembler
found = discover(sys.argv[1:])
print("listed", flush=True)
sys.stdin.readline()
read = read_sources(found.sources, RunAssembler)
for skip in read.skips:
    print(skip.line, skip.reason)
"""


def listed(store: Store, url: str, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
    import sys

    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, url],
        env=env or store.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "listed\n"
    return process


def test_an_object_that_changes_is_not_read_as_another(store: Store) -> None:
    store.put("change/a.jsonl", lines("a", 3))
    process = listed(store, "s3://logs/change")
    store.put("change/a.jsonl", lines("b", 3))
    assert process.communicate("\n")[0] == "None the object changed while it was read\n"


def test_an_object_that_goes(store: Store) -> None:
    store.put("gone/a.jsonl", lines("a", 3))
    process = listed(store, "s3://logs/gone")
    store.client.delete_object(Bucket="logs", Key="gone/a.jsonl")
    assert process.communicate("\n")[0] == "None no such object\n"


def test_a_store_that_goes_down_is_waited_for_once(store: Store) -> None:
    for number in range(20):
        store.put(f"down/{number:02d}.jsonl", lines(f"r{number}", 1))
    with Faulty(store.server.port) as proxy:
        process = listed(store, "s3://logs/down", store.environment(AWS_ENDPOINT_URL=proxy.url))
        proxy.down = True
        out = process.communicate("\n", timeout=60)[0]
    assert out == f"None {proxy.url} cannot be reached\n" * 20


def test_a_web_server_gives_single_files(store: Store, tmp_path: Path) -> None:
    import threading
    from functools import partial
    from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

    (tmp_path / "a.jsonl").write_bytes(lines("a", 2))
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_port}"
        assert store.report(f"{url}/a.jsonl")["totals"]["responses"] == 2
        ended = store.run("report", f"{url}/b.jsonl")
        assert ended.stderr.startswith(f"loopaudit: {url}/b.jsonl: no such object")
    finally:
        server.shutdown()
        server.server_close()
