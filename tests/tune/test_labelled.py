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
    return done.out.partition("\n\n")[2]


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
        if together["advised"]:
            assert best["net"] > 0
            for part in ("held out", "all"):
                assert together["best"][part]["false_stops"] <= 0.02
            assert together["best"]["held out"]["net"] > 0
        for trade in (*one["stops"], *one["warnings"]):
            if not together["advised"]:
                assert trade["recommended"] == trade["now"]


def test_the_held_out_half_confirms_large_types(
    advice: dict[tuple[str, str], dict[str, Any]],
) -> None:
    """Of small ones chance may be all that is left to say: then nothing is advised."""
    advised = {key for key, a in advice.items() if a["together"] and a["together"]["advised"]}
    assert {
        ("hotpotqa-react", "loopaudit"), ("hotpotqa-react", "limits"),
        ("intercode-sql", "loopaudit"), ("intercode-sql", "limits"),
    } <= advised  # fmt: skip
    for key, one in advice.items():
        if one["together"] and one["together"]["pays"] and key not in advised:
            assert one["together"]["held_out"] in ("not proven", "refuted")


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
