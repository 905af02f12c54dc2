"""The README is true: outputs are what the program prints, settings load, commands exist.

`python tests/test_readme.py` writes the outputs anew.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from loopaudit import plugins
from loopaudit.guards import presets

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
_OUTPUT = re.compile(r"(<!-- output: (?P<args>.+?) -->\n```text\n)(?P<text>.*?)(```)", re.DOTALL)


def printed(arguments: str) -> str:
    """What the program prints for these arguments, in 80 columns."""
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "loopaudit", *arguments.split()],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def renewed(text: str) -> str:
    return _OUTPUT.sub(lambda m: m.group(1) + printed(m.group("args")) + m.group(4), text)


def test_outputs_are_what_the_program_prints() -> None:
    text = README.read_text(encoding="utf-8")
    assert len(_OUTPUT.findall(text)) >= 1
    assert renewed(text) == text, "run: python tests/test_readme.py"


def test_two_commands_do_everything() -> None:
    commands = re.findall(r"^python3 -m venv .+$", README.read_text(encoding="utf-8"), re.M)
    assert len(commands) == 2
    assert commands[0].endswith("loopaudit report sample_logs")
    assert "pytest" in commands[1]


def test_settings_shown_load() -> None:
    text = README.read_text(encoding="utf-8")
    tables = [tomllib.loads(block) for block in re.findall(r"```toml\n(.*?)```", text, re.DOTALL)]
    guards = next(table["guards"] for table in tables if "guards" in table)
    assert presets.load("mine", guards).rule("generic_repeat") is not None


def test_every_format_and_preset_is_named() -> None:
    text = README.read_text(encoding="utf-8")
    for name in plugins.FORMATS:
        assert f"| `{name}` |" in text
    for name in {name.partition(":")[0] for name in presets.names()}:
        assert f"| `{name}` |" in text


if __name__ == "__main__":
    README.write_text(renewed(README.read_text(encoding="utf-8")), encoding="utf-8")
