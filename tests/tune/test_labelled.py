"""Recommendations on public benchmark runs with known outcomes: the held-out half confirms them.

`python tests/tune/test_labelled.py FOLDER` writes the figures of the README anew.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))

from program import run as program

README = Path(__file__).resolve().parents[2] / "README.md"
_BLOCK = re.compile(r"(<!-- tune: labelled -->\n```text\n)(.*?)(```)", re.DOTALL)


def overview(folder: Path) -> str:
    done = program("tune", str(folder), "--brief", "-q")
    assert done.code == 0, done.err
    return done.out.partition("Overview, all runs\n")[2]


@pytest.fixture(scope="module")
def advice(shared: Path) -> dict[tuple[str, str], dict[str, Any]]:
    done = program("tune", str(shared / "labelled"), "-f", "json", "-q")
    assert done.code == 0, done.err
    return {(a["task_type"], a["guard"]): a for a in json.loads(done.out)["advice"]}


def test_each_type_has_an_answer(advice: dict[tuple[str, str], dict[str, Any]]) -> None:
    assert {kind for kind, _ in advice} == {
        "gaia/assistantbench", "hotpotqa-react", "intercode-bash", "intercode-ctf",
        "intercode-python", "intercode-sql", "tau-airline", "tau-retail",
    }  # fmt: skip
    for (kind, _), one in advice.items():
        assert one["unit"] == "calls"
        if kind == "gaia/assistantbench":  # two sets without a single success
            assert one["refused"] == "too few healthy runs (0 < 20)"
            continue
        together = one["together"]
        best = together["best"]["all"]
        assert best["false_stops_between"][0] <= best["false_stops"]
        assert best["false_stops"] <= best["false_stops_between"][1]
        if together["pays"]:
            assert best["net"] > 0
            assert together["best"]["training"]["false_stops"] <= 0.02


def test_the_held_out_half_does_not_refute(
    advice: dict[tuple[str, str], dict[str, Any]],
) -> None:
    """Large types are confirmed; of small ones chance may be all that is left to say."""
    paying = {key: a["together"] for key, a in advice.items()
              if a["together"] is not None and a["together"]["pays"]}  # fmt: skip
    assert {("hotpotqa-react", "loopaudit"), ("intercode-sql", "loopaudit")} <= set(paying)
    for (kind, guard), together in paying.items():
        assert together["held_out"] in ("confirmed", "not refuted"), (kind, guard)
        if together["best"]["all"]["healthy"] > 1_000:
            assert together["held_out"] == "confirmed", (kind, guard)
            assert together["best"]["held out"]["false_stops"] <= 0.02


def test_the_figures_of_the_readme(shared: Path) -> None:
    found = _BLOCK.search(README.read_text(encoding="utf-8"))
    assert found is not None
    assert found[2] == overview(shared / "labelled"), (
        "run: python tests/tune/test_labelled.py ../shared/labelled"
    )


if __name__ == "__main__":
    text = overview(Path(sys.argv[1]))
    README.write_text(
        _BLOCK.sub(lambda m: m[1] + text + m[3], README.read_text(encoding="utf-8")),
        encoding="utf-8",
    )
