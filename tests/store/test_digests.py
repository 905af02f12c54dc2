"""One digest for equal data in every process, another for any difference."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from loopaudit.guards import presets
from loopaudit.masks import from_settings
from loopaudit.replay.audit import AuditOptions, make_plan
from loopaudit.settings import load
from loopaudit.store import digests
from loopaudit.store.digests import NotPlain, digest, program

_VALUES = [
    None, True, False, 1, 0, -1, 1.0, 0.0, "", "1", "None", b"1", Decimal("1"), Decimal("1.0"),
    date(2026, 1, 1), [], [1], [[1]], [1, 2], [12], ["1", "2"], ["12"], ["1\x1f2"], {}, {1: 2},
    {"a": 1, "b": 2}, {"a": [1, "b"], 2: 3}, {1, 2}, frozenset(), 2**70, "half \ud83d",
    "é", "e\u0301",
]  # fmt: skip


def test_different_values_have_different_digests() -> None:
    assert len({digest(value) for value in _VALUES}) == len(_VALUES)
    assert digest("a", "b") != digest("ab") != digest(["a", "b"])


def test_equal_values_have_one_digest_in_every_process() -> None:
    code = (
        "from loopaudit.store.digests import digest;"
        "from loopaudit.replay.audit import AuditOptions, make_plan;"
        "print(digest({'b', 'a', 'c', 'longer'}).hex());"
        "print(digest(make_plan(AuditOptions([]))).hex())"
    )
    seen = set()
    for seed in ("1", "2", "3"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        told = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        seen.add(told.stdout)
    assert len(seen) == 1


def test_what_is_more_than_data_has_none() -> None:
    for value in (lambda: 1, object(), open, [lambda x: x], {"a": object}, Path(), 1j):
        with pytest.raises(NotPlain):
            digest(value)


def test_every_setting_that_decides_a_result_is_in_the_digest_of_a_plan(tmp_path: Path) -> None:
    plan = make_plan(AuditOptions([]))
    other = load(environment={"LOOPAUDIT_MASKS_EXTRA": '["run [0-9]+"]'}, folder=tmp_path)
    tools = load(environment={"LOOPAUDIT_TOOLS_POLLS": '["wait_for_it"]'}, folder=tmp_path)
    fuses = presets.load("fuses:demo")
    changed = replace(fuses, limits={**fuses.limits, "token_budget": 1})
    rules = (replace(plan.default.rules[0], options={"n": 3}), *plan.default.rules[1:])
    plans = [
        plan,
        replace(plan, task_type="research"),
        replace(plan, log_format="codex"),
        replace(plan, count_tokens=True),
        replace(plan, keep=replace(plan.keep, args=500)),
        replace(plan, mask=from_settings(other.table("masks"))),
        make_plan(AuditOptions([], settings=tools)),
        make_plan(AuditOptions([], guards=("fuses:demo",))),
        make_plan(AuditOptions([], guards=("fuses:production",))),
        make_plan(AuditOptions([], guards=("fuses:demo", "loopaudit"))),
        replace(plan, guards=(changed,)),
        replace(plan, default=replace(plan.default, rules=rules)),
        replace(plan, traced=(fuses,)),
    ]
    assert len({digest(one) for one in plans}) == len(plans)
    assert digest(make_plan(AuditOptions([]))) == digest(plan)


def test_a_limit_from_the_environment_is_in_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    from loopaudit.guards.presets import variables

    plan = make_plan(AuditOptions([], guards=("watchdog",)))
    name = next(iter(sorted(variables({}))))
    monkeypatch.setenv(name, "7")
    assert digest(make_plan(AuditOptions([], guards=("watchdog",)))) != digest(plan)


def test_an_edited_checkout_is_another_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = tmp_path / "loopaudit"
    for name in ("store/digests.py", "ingest/runs.py", "guards/a.toml", "render/text.py"):
        (room / name).parent.mkdir(parents=True, exist_ok=True)
        (room / name).write_text("x = 1\n")
    monkeypatch.setattr(digests, "__file__", str(room / "store" / "digests.py"))

    def told(*leave_out: str) -> bytes:
        found = program(leave_out)
        assert found is not None
        return found[0]

    first, less = told(), told("render")
    assert first != less
    assert told() == first
    (room / "render" / "text.py").write_text("x = 2\n")
    assert told() != first
    assert told("render") == less  # what is left out decides nothing
    for change in (
        lambda: (room / "ingest" / "runs.py").write_text("x = 3\n"),
        lambda: (room / "guards" / "a.toml").unlink(),
        lambda: (room / "ingest" / "new.py").write_text(""),
        lambda: (room / "ingest" / "new.py").rename(room / "ingest" / "newer.py"),
    ):
        before = told("render")
        change()
        assert told("render") != before
    os.utime(room / "store" / "digests.py", (time.time() + 60, time.time() + 60))
    found = program()
    assert found is not None
    assert found[1] > time.time() + 30  # its newest file


def test_other_packages_make_it_another_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    before = program()
    (tmp_path / "orjson-99.dist-info").mkdir()
    assert program() != before


def test_packed_into_one_file_it_cannot_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digests, "__file__", "/nowhere/loopaudit.pyz/loopaudit/store/digests.py")
    assert program() is None
