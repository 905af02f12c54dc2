"""The workflow and the pre-commit entry of the README do what they say, as does this repository's
own gate."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from gate_files import ENDS, log, run, settings
from program import environment

from loopaudit.check import options
from loopaudit.settings import Layer, Settings
from loopaudit.tune import options as tuning


def recipe(root: Path, name: str) -> Any:
    """A YAML block of the README, by the file name in its first line."""
    text = (root / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    return yaml.safe_load(next(block for block in blocks if block.startswith(f"# {name}")))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with logs, settings, and `loopaudit` on the path."""
    (tmp_path / "logs").mkdir()
    log(tmp_path / "logs", [run("good", True, 1), run("bad", False, 12)])
    programs = tmp_path / "bin"
    programs.mkdir()
    script = programs / "loopaudit"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m loopaudit "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    return tmp_path


def shell(repository: Path, command: str, **more: str) -> subprocess.CompletedProcess[str]:
    path = f"{repository / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", command],  # as GitHub runs a step
        cwd=repository,
        env=environment(PATH=path, **more),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("code", [0, 1, 3])
def test_the_workflow(root: Path, repository: Path, code: int) -> None:
    settings(repository, "[check]\npaths = ['logs']\n" + ENDS[code])
    steps = recipe(root, ".github/workflows/loopaudit.yml")["jobs"]["thresholds"]["steps"]
    commands = [step["run"] for step in steps if step.get("run", "").startswith("loopaudit ")]
    assert len(commands) == 3
    summary = repository / "summary.md"
    ends = [shell(repository, c, GITHUB_STEP_SUMMARY=str(summary)).returncode for c in commands]
    assert ends == [code, 0, 0]  # the first step decides, the others always upload
    assert summary.read_text(encoding="utf-8").startswith("<!-- loopaudit check -->")
    wanted = [step["with"] for step in steps if "with" in step]
    assert (repository / next(w["sarif_file"] for w in wanted if "sarif_file" in w)).is_file()
    comment = repository / next(w["path"] for w in wanted if "path" in w)
    assert comment.is_file() == (code != 0)  # --only-if-changed: no news, no comment


@pytest.mark.parametrize("code", [0, 1, 2])
def test_the_pre_commit_entry(root: Path, repository: Path, code: int) -> None:
    text = ENDS[code] if code == 2 else "[check]\npaths = ['logs']\n" + ENDS[code]
    settings(repository, text)
    (hook,) = recipe(root, ".pre-commit-config.yaml")["repos"][0]["hooks"]
    assert hook["pass_filenames"] is False
    assert re.search(hook["files"], "logs/runs.jsonl")
    assert re.search(hook["files"], "loopaudit.toml")
    assert shell(repository, shlex.join(shlex.split(hook["entry"]))).returncode == code


def test_the_settings_shown_are_read(root: Path) -> None:
    text = (root / "README.md").read_text(encoding="utf-8")
    tables = [tomllib.loads(b) for b in re.findall(r"```toml\n(.*?)```", text, re.DOTALL)]
    (shown,) = [table for table in tables if "check" in table]
    read = options.read(Settings((Layer("README.md", shown),), shown))
    assert read.of("research")["steps_per_run"].error == 120
    assert read.of("other")["steps_per_run"].error == 60
    assert read.suppressed[0].until is not None
    (shown,) = [table for table in tables if "tune" in table]
    assert tuning.read(Settings((Layer("README.md", shown),), shown)) == tuning.TuneOptions()


def test_this_repository_has_a_gate_of_its_own(root: Path) -> None:
    script = (root / ".ci" / "run").read_text(encoding="utf-8")
    assert "loopaudit check" in script
    own = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["loopaudit"]
    assert own["check"]["paths"] == ["sample_logs"]
    assert (root / own["check"]["baseline"]).is_file()
