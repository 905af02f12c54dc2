"""Which layer wins, where each key stands, and what a wrong file says."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from loopaudit.errors import ConfigError
from loopaudit.settings import Settings, Table, load
from loopaudit.settings.lines import positions


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def here(folder: Path, **more: Any) -> Settings:
    return load(folder=folder, **{"environment": {}, **more})


# -- finding and merging ---------------------------------------------------------------------------


def test_nothing_found(tmp_path: Path) -> None:
    settings = here(tmp_path)
    assert settings.table("report") == {}
    assert settings.place("report", "top") == ("", None)
    assert Settings().table("guards") == {}


def test_the_nearest_file_upward(tmp_path: Path) -> None:
    write(tmp_path / "loopaudit.toml", "[report]\ntop = 1\n")
    write(tmp_path / "a/loopaudit.toml", "[report]\ntop = 2\n")
    deep = tmp_path / "a/b/c"
    deep.mkdir(parents=True)
    assert here(deep).table("report") == {"top": 2}
    assert here(tmp_path).table("report") == {"top": 1}


def test_pyproject_counts_only_with_our_table(tmp_path: Path) -> None:
    write(tmp_path / "pyproject.toml", "[tool.loopaudit.report]\ntop = 1\n")
    inner = write(tmp_path / "a/pyproject.toml", '[project]\nname = "loopaudit-user"\n').parent
    assert here(inner).table("report") == {"top": 1}
    write(inner / "loopaudit.toml", "[report]\ntop = 3\n")
    write(inner / "pyproject.toml", "[tool.loopaudit.report]\ntop = 2\n")
    assert here(inner).table("report") == {"top": 3}


def test_a_broken_pyproject_that_is_not_ours(tmp_path: Path) -> None:
    write(tmp_path / "pyproject.toml", "[project\n")
    assert here(tmp_path) == Settings()


def test_a_folder_of_that_name(tmp_path: Path) -> None:
    (tmp_path / "loopaudit.toml").mkdir()
    assert here(tmp_path) == Settings()


def test_order_of_layers(tmp_path: Path) -> None:
    write(tmp_path / "loopaudit.toml", "[report]\na = 1\nb = 1\nc = 1\nd = 1\n")
    config = write(tmp_path / "ci.toml", "[report]\nb = 2\nc = 2\nd = 2\n")
    settings = here(
        tmp_path,
        config=config,
        environment={"LOOPAUDIT_REPORT_C": "3", "LOOPAUDIT_REPORT_D": "3"},
        flags={"report": {"d": 4}},
    )
    assert settings.table("report") == {"a": 1, "b": 2, "c": 3, "d": 4}
    assert settings.place("report", "a") == (str(tmp_path / "loopaudit.toml"), 2)
    assert settings.place("report", "b") == (str(config), 2)
    assert settings.place("report", "c") == ("LOOPAUDIT_REPORT_C", None)
    assert settings.place("report", "d") == ("command line", None)


def test_tables_merge_and_lists_are_replaced(tmp_path: Path) -> None:
    write(
        tmp_path / "loopaudit.toml",
        '[guards.own.limits]\nsteps = 1\nwall = 2\n[[prices.model]]\nmodel = "a"\n',
    )
    config = write(
        tmp_path / "ci.toml", '[guards.own.limits]\nwall = 3\n[[prices.model]]\nmodel = "b"\n'
    )
    settings = here(tmp_path, config=config)
    assert settings.table("guards") == {"own": {"limits": {"steps": 1, "wall": 3}}}
    assert settings.table("prices") == {"model": [{"model": "b"}]}
    assert settings.place("prices", "model", 0, "model") == (str(config), 4)


def test_config_may_be_a_pyproject_or_named_in_the_environment(tmp_path: Path) -> None:
    config = write(tmp_path / "x/pyproject.toml", "[tool.loopaudit.report]\ntop = 9\n")
    assert here(tmp_path, config=config).place("report", "top") == (str(config), 2)
    chosen = {"LOOPAUDIT_CONFIG": str(config)}
    assert here(tmp_path, environment=chosen).table("report") == {"top": 9}


def test_environment_values_and_names(tmp_path: Path) -> None:
    variables = {
        "LOOPAUDIT_REPORT_TOP": "5",
        "LOOPAUDIT_REPORT_TZ": "Europe/Berlin",
        "LOOPAUDIT_REPORT_GUARDS": '["fuses:demo"]',
        "LOOPAUDIT_REPORT_QUIET": "true",
        "LOOPAUDIT_TASK_TYPES_A__B_C": "0.5",
        "LOOPAUDIT_REPORT_ODD": "1\nevil = 2",
        "LOOPAUDIT_WATCHDOG_ERROR_LIMIT": "3",  # the preset's own business
        "LOOPAUDIT_DEBUG": "1",
        "LOOPAUDIT_REPORT": "x",
        "LOOPAUDIT_REPORT_": "x",
        "PATH": "/bin",
    }
    settings = here(tmp_path, environment=variables)
    assert settings.values == {
        "report": {
            "top": 5,
            "tz": "Europe/Berlin",
            "guards": ["fuses:demo"],
            "quiet": True,
            "odd": "1\nevil = 2",
        },
        "task_types": {"a": {"b_c": 0.5}},
    }
    assert settings.place("task_types", "a", "b_c") == ("LOOPAUDIT_TASK_TYPES_A__B_C", None)


def test_a_variable_below_a_plain_value_is_left_out(tmp_path: Path) -> None:
    variables = {"LOOPAUDIT_REPORT_A": "1", "LOOPAUDIT_REPORT_A__B": "2"}
    assert here(tmp_path, environment=variables).table("report") == {"a": 1}


def test_goes_to_workers(tmp_path: Path) -> None:
    write(tmp_path / "loopaudit.toml", "[report]\nday = 2026-01-31\ntop = 'x'\n")
    settings = here(tmp_path)
    again = pickle.loads(pickle.dumps(settings))
    assert again.table("report") == {"day": date(2026, 1, 31), "top": "x"}
    assert again.place("report", "top")[1] == 3


def test_cheap_to_import() -> None:
    code = (
        "import sys, loopaudit.settings, loopaudit.task_types;"
        "assert not {'tomllib', 'typer', 'polars', 'difflib', 'pydantic'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# -- faults ----------------------------------------------------------------------------------------


def fault(folder: Path, content: str | bytes) -> str:
    data = content if isinstance(content, bytes) else content.encode()
    (folder / "loopaudit.toml").write_bytes(data)
    with pytest.raises(ConfigError) as caught:
        here(folder)
    return str(caught.value).replace(str(folder) + os.sep, "")


def test_faults_name_path_and_line(tmp_path: Path) -> None:
    text = fault(tmp_path, "\n\n[raport]\ntop = 1\n")
    assert text == "loopaudit.toml:3: unknown table [raport] (did you mean 'report'?)"
    assert fault(tmp_path, "\nreport = 3\n").startswith("loopaudit.toml:2: report must be a table")
    assert fault(tmp_path, "x = 1\n").startswith(
        "loopaudit.toml:1: unknown table [x] (known: guards"
    )
    assert fault(tmp_path, "[report]\ntop = \n").startswith("loopaudit.toml:2: not valid TOML: ")
    assert fault(tmp_path, "[report]\na = [1,\n\n").startswith("loopaudit.toml:4: not valid TOML")
    assert fault(tmp_path, "[report]\na = 1\na = 2\n").startswith(
        "loopaudit.toml:3: not valid TOML"
    )
    assert fault(tmp_path, b"[report]\na = '\xb2'\n").startswith("loopaudit.toml:2: not UTF-8 text")
    deep = "[report]\na = " + "[" * 5000 + "]" * 5000
    assert "nested too deeply" in fault(tmp_path, deep)


def test_bom_and_crlf(tmp_path: Path) -> None:
    (tmp_path / "loopaudit.toml").write_bytes(b"\xef\xbb\xbf[report]\r\n\r\ntop = 1\r\n")
    settings = here(tmp_path)
    assert settings.table("report") == {"top": 1}
    assert settings.place("report", "top")[1] == 3


def test_a_missing_config_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone\.toml: cannot read these settings: No such file"):
        here(tmp_path, config=tmp_path / "gone.toml")
    with pytest.raises(ConfigError, match="Is a directory"):
        here(tmp_path, config=tmp_path)


def test_a_deleted_working_folder(tmp_path: Path) -> None:
    code = (
        "import os, tempfile; f = tempfile.mkdtemp(); os.chdir(f); os.rmdir(f);"
        "from loopaudit.settings import load; assert load().table('report') == {}"
    )
    path = os.pathsep.join(p for p in sys.path if p)
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": path})


def test_paths_below_the_working_folder_are_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "loopaudit.toml", "[report]\ntop = 1\n")
    monkeypatch.chdir(tmp_path)
    assert load(environment={}).place("report", "top") == ("loopaudit.toml", 2)


# -- lines -----------------------------------------------------------------------------------------

SAMPLE = '''\
# a comment with [brackets] and key = 1
title = "a # b"

[report]
top = 5
"quoted key" = 1
thresholds.same = 3  # dotted
days = [
  1,  # one
  2,
]
text = """
[report]
top = 99
"""
inline = { a = 1, b = { c = 2 } }

[guards.own]
description = \'\'\'it's [[rule]]\'\'\'

[[guards.own.rule]]
signal = "x"

[[guards.own.rule]]
signal = "y"
options = { window = 30 }
[guards.own.rule.demo]
stop = 8

[[prices.model]]
model = "a"
over = [
  { tokens = 1 },
  { tokens = 2, input = 3 },
]
[ prices . "x y" ]
z = 1979-05-27 07:32:00
[guards.own.task_types.research]
steps = 3
'''


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        (("title",), 2),
        (("report",), 4),
        (("report", "top"), 5),
        (("report", "quoted key"), 6),
        (("report", "thresholds"), 7),
        (("report", "thresholds", "same"), 7),
        (("report", "days"), 8),
        (("report", "days", 0), 9),
        (("report", "days", 1), 10),
        (("report", "text"), 12),
        (("report", "inline", "b", "c"), 16),
        (("guards", "own", "description"), 19),
        (("guards", "own", "rule"), 21),
        (("guards", "own", "rule", 0, "signal"), 22),
        (("guards", "own", "rule", 1), 24),
        (("guards", "own", "rule", 1, "signal"), 25),
        (("guards", "own", "rule", 1, "options", "window"), 26),
        (("guards", "own", "rule", 1, "demo"), 27),
        (("guards", "own", "rule", 1, "demo", "stop"), 28),
        (("prices", "model", 0), 30),
        (("prices", "model", 0, "over"), 32),
        (("prices", "model", 0, "over", 1), 34),
        (("prices", "model", 0, "over", 1, "input"), 34),
        (("prices", "x y"), 36),
        (("prices", "x y", "z"), 37),
        (("guards", "own", "task_types", "research", "steps"), 39),
    ],
)
def test_line_of_a_key(keys: tuple[str | int, ...], line: int) -> None:
    assert positions(SAMPLE)[keys] == line


def test_every_key_of_a_file_has_a_line() -> None:
    """The same keys as the standard parser finds, over every TOML file of this project."""
    import tomllib

    root = Path(__file__).resolve().parents[2]
    files = [root / "pyproject.toml", *(root / "loopaudit").rglob("*.toml")]
    for text in [SAMPLE, *(f.read_text(encoding="utf-8") for f in files)]:
        assert set(_paths(tomllib.loads(text))) == set(positions(text))


def _paths(value: Any, above: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for key, inner in items:
        found.append((*above, key))
        if isinstance(inner, dict | list):
            found += _paths(inner, (*above, key))
    return found


def test_a_missing_key_is_placed_at_its_table(tmp_path: Path) -> None:
    write(tmp_path / "loopaudit.toml", SAMPLE.replace('title = "a # b"', ""))
    settings = here(tmp_path)
    assert settings.place("report", "tops")[1] == 4
    assert settings.place("prices", "model", 0, "input")[1] == 30
    assert settings.place("prices", "model", 7)[1] == 30


# -- typed access ----------------------------------------------------------------------------------


def reader(tmp_path: Path, text: str) -> Table:
    write(tmp_path / "loopaudit.toml", text)
    return here(tmp_path).reader("report")


def test_typed_access(tmp_path: Path) -> None:
    table = reader(
        tmp_path,
        "[report]\ntop = 3\nshare = 0.5\nwhole = 2\ntz = 'UTC'\nguards = 'a'\nmany = ['a', 'b']\n"
        "quiet = true\n[report.sub]\nx = 1\n[[report.rows]]\ny = 1\n[[report.rows]]\ny = 2\n",
    )
    assert table.integer("top", least=1) == 3
    assert table.integer("none", 7) == 7
    assert table.integer("none") is None
    assert table.number("share", least=0, most=1) == 0.5
    assert table.number("whole") == 2
    assert table.text("tz") == "UTC"
    assert table.texts("guards") == ("a",)
    assert table.texts("many") == ("a", "b")
    assert table.texts("none") == ()
    assert table.flag("quiet") is True
    assert table.flag("none") is False
    assert table.table("sub").integer("x") == 1
    assert table.table("none").values == {}
    assert [row.integer("y") for row in table.tables("rows")] == [1, 2]
    assert table.tables("none") == []
    table.only(table.values)


def test_messages(tmp_path: Path) -> None:
    table = reader(
        tmp_path,
        "[report]\ntop = 'x'\nshare = 2\nnan = nan\nyes = true\ntz = ''\nmany = ['a', 1]\n"
        "mode = 'c'\nlong = '" + "y" * 200 + "'\n[[report.rows]]\ny = true\n",
    )

    def says(call: Any) -> str:
        with pytest.raises(ConfigError) as caught:
            call()
        return str(caught.value).replace(str(tmp_path) + os.sep, "")

    assert (
        says(lambda: table.integer("top", least=1))
        == "loopaudit.toml:2: [report] top must be a positive whole number, not 'x'"
    )
    assert says(lambda: table.integer("yes")).endswith("yes must be a whole number, not True")
    assert says(lambda: table.number("share", least=0, most=1)).endswith(
        "loopaudit.toml:3: [report] share must be a number from 0 up to 1, not 2"
    )
    assert "nan must be a number, not nan" in says(lambda: table.number("nan"))
    assert "tz must be a text" in says(lambda: table.text("tz"))
    assert "many must be a list of texts" in says(lambda: table.texts("many"))
    assert "mode must be one of a, b, not 'c'" in says(lambda: table.text("mode", choices="ab"))
    assert len(says(lambda: table.integer("long"))) < 150
    assert "loopaudit.toml:11: [[report.rows]] y must be a whole number" in says(
        lambda: table.tables("rows")[0].integer("y")
    )
    assert "[report] has no key 'top' (did you mean 'tops'?)" in says(lambda: table.only(("tops",)))
    assert "must be a table" in says(lambda: table.table("top"))
    assert "must be a list of tables" in says(lambda: table.tables("top"))
    assert "must be a table" in says(lambda: table.tables("many"))
