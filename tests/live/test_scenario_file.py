"""Scenarios that users write: what is read, and errors with file and line."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from loopaudit.errors import LoopauditError, UsageError
from loopaudit.live.scenario import spoken
from loopaudit.live.scenario_file import built_in, find, triggered

WHOLE = """
name = "mine"
about = { en = "one", zh = "一" }
ends = "well"
trigger = ["my words"]
task_type = "research"
cap = 7
requests = ["first", { en = "second", zh = "第二" }]
timeout = 9
again = true

[usage]
input = 10
output = 2
grows = false
cached = true

[price]
input = 0.001
output = "0.002"

[[tool]]
name = "look"
parameters = { what = "string" }
answers = ["plain", { text = { a = 1 }, seconds = 3, error = true, status = 500, exit_code = 2 }]

[[turn]]
say = "hm"
calls = [{ tool = "look", args = { what = "<n>" } }]
times = 2
usage = { input = 5, output = 6 }
fails = [{ status = 429, retry_after = 2.5 }]
seconds = 0

[heeds]
after = 2
turns = [{ say = "ok" }]
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_everything_is_read(tmp_path: Path) -> None:
    text = WHOLE.replace('output = "0.002"', "output = 0.002")
    one = find(str(written(tmp_path, text)))
    assert (one.name, one.ends, one.cap, one.agents, one.again) == ("mine", "well", 7, 1, True)
    assert spoken(one.about, "zh") == "一"
    assert [spoken(t, "zh") for t in one.requests] == ["first", "第二"]
    assert [spoken(t, "en") for t in one.requests] == ["first", "second"]
    assert (one.input, one.output, one.grows, one.cached) == (10, 2, False, True)
    assert (one.price.input, one.price.output) == (Decimal("0.001"), Decimal("0.002"))
    [tool] = one.tools
    assert (tool.timeout, tool.seconds) == (9, 0.2)
    plain, broken = tool.answers
    assert (plain.text, plain.error, plain.seconds) == ("plain", False, None)
    assert (broken.text, broken.error, broken.status, broken.exit_code) == ({"a": 1}, True, 500, 2)
    [turn] = one.turns
    assert (turn.times, turn.input, turn.output, turn.seconds) == (2, 5, 6, 0)
    assert (turn.fails[0].status, turn.fails[0].retry_after) == (429, 2.5)
    assert one.heeds_after == 2


@pytest.mark.parametrize(
    ("change", "to", "words"),
    [
        ('output = "0.002"', 'output = "dear"', "output must be a number"),
        ("cap = 7", "cap = 0", "cap must be a positive whole number"),
        ("cap = 7", "cup = 7", "no key 'cup'"),
        ("cap = 7", "agents = 100000000", "agents must be at most 1,000"),
        ('ends = "well"', 'ends = "badly"', "ends must be one of"),
        ("times = 2", "times = -1", "times must be"),
        ("times = 2", "times = 1.5", "times must be"),
        ('say = "hm"', "say = 5", "say must be a text"),
        ("after = 2\n", "after = 0\n", "after must be"),
        ("timeout = 9", "timeout = nan", "timeout must be a number"),
        ("input = 10\n", "input = 99999999999\n", "at most"),
        ('tool = "look"', 'tool = "lock"', "calls 'lock', which is no [[tool]]"),
        ("grows = false", 'grows = "no"', "grows must be true or false"),
    ],
)
def test_errors_name_the_file_and_the_line(
    tmp_path: Path, change: str, to: str, words: str
) -> None:
    text = WHOLE if "0.002" in change else WHOLE.replace('output = "0.002"', "output = 0.002")
    assert change in text
    path = written(tmp_path, text.replace(change, to))
    with pytest.raises(LoopauditError) as caught:
        find(str(path))
    line = text[: text.index(change)].count("\n") + 1
    if "tool =" in change:
        line -= 2  # the turn that holds the call
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert words in str(caught.value)


@pytest.mark.parametrize("text", ["", "name = 'x'", "name = 'x'\nturn = 5", "not toml", "\x00"])
def test_what_is_no_scenario(tmp_path: Path, text: str) -> None:
    with pytest.raises(LoopauditError):
        find(str(written(tmp_path, text)))


def test_names_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no scenario is called"):
        find("ded-loop")
    with pytest.raises(UsageError, match="no such file"):
        find(str(tmp_path / "none.toml"))
    with pytest.raises(UsageError, match="is a directory"):
        find(str(tmp_path))


def test_trigger_words_choose_the_longest() -> None:
    def name(prompt: str) -> str | None:
        found = triggered(prompt)
        return found.name if found else None

    assert name("测试死循环") == "dead-loop"
    assert name("请运行 测试失聪死循环 谢谢") == "dead-loop-deaf"
    assert name("测试重试") == "retry"
    assert name("测试预算") == "budget"
    assert name("TEST LOOP please") == "dead-loop"
    assert name("something else") is None


def test_every_scenario_speaks_both_languages_and_has_triggers_of_its_own() -> None:
    triggers = [word for one in built_in().values() for word in one.trigger]
    assert len(set(triggers)) == len(triggers)
    for one in built_in().values():
        assert spoken(one.about, "zh") != spoken(one.about, "en")
        assert all(spoken(text, "zh") != spoken(text, "en") for text in one.requests)
        assert len(one.trigger) >= 2
