"""The report on a generated corpus equals the truth that its generator wrote down."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.truth import compare, families


@pytest.fixture(scope="module")
def generated(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("generated")
    generator = str(shared / "bench/gen.py")
    command = [sys.executable, generator, str(folder), "--size", "40M", "--seed", "11"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return folder


def report(folder: Path, *options: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "loopaudit", "report", str(folder / "projects")]
    run = subprocess.run([*command, "-f", "json", *options], stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(run.stdout)
    return found


@pytest.mark.parametrize(
    "options",
    ["--processes 1 --no-cache", "--processes 2 --no-cache", "--processes 1", "--processes 2"],
)
def test_tokens_money_and_planted_loops_are_the_truth(generated: Path, options: str) -> None:
    """Without the cache; then with it, the last run finding it filled."""
    truth = json.loads((generated / "truth.json").read_bytes())
    assert truth["loops"]
    found = report(generated, *options.split())
    assert compare(truth, found, families(generated / "projects"))[0] == []
