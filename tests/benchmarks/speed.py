"""Times the whole `report` side by side with its peers, and the start of the program.

    python tests/benchmarks/speed.py [--size 100M 1G] [--rounds 5] [--folder DIR] [--readme]
    python tests/benchmarks/speed.py --small

Installs `ccusage` (npm) and `agentwaste` (PyPI, an environment of its own) and writes the corpora
in DIR, where they are kept. Each round runs all programs in turn, none of them with a cache of
its own results; told are medians over the rounds, and the median of the ratios of each round, as
the speed of a machine swings. A ratio is loopaudit's time over the other's. Peak memory, of all
processes together, is that of one more run. The floor is `orjson.loads` of every line and nothing
else.

`--readme` puts the tables into README.md. `--small`: 100 MB, ratios only, within two minutes; a
peer that cannot be installed is left out and named.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import NamedTuple

from processes import Took, peak, timed

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
BEGIN, END = "<!-- speed -->", "<!-- /speed -->"
CCUSAGE, AGENTWASTE = "20.0.24", "0.1.1"
OURS = [sys.executable, "-m", "loopaudit"]

#: reads every line of every file with as many processes as it is told, the largest files first
_FLOOR = """
import pathlib, sys, multiprocessing
import orjson
def read(path):
    with open(path, "rb", 1 << 20) as lines:
        for line in lines:
            orjson.loads(line)
paths = sorted(pathlib.Path(sys.argv[1]).rglob("*.jsonl"), key=lambda p: -p.stat().st_size)
if sys.argv[2] == "1":
    for path in paths:
        read(path)
else:
    with multiprocessing.get_context("fork").Pool(int(sys.argv[2])) as pool:
        for _ in pool.imap_unordered(read, paths, 4):
            pass
"""
_BARE = """
import typer
app = typer.Typer()
@app.command()
def first(paths: list[str], top: int = 5, loud: bool = False) -> None:
    "Look at PATHS."
@app.command()
def second(name: str = typer.Option("x", help="A name.")) -> None:
    "Say a name."
app()
"""


class Row(NamedTuple):
    """One program on one corpus: medians over the rounds, ratios of each round to loopaudit."""

    name: str
    wall: float
    cpu: float
    mb: float  # peak, 0 where it was not looked at
    ratio: float | None  # loopaudit's wall time over its; None of loopaudit itself
    cpu_ratio: float | None


# -- what is set side by side ----------------------------------------------------------------------


def installed(folder: Path) -> tuple[dict[str, Path], list[str]]:
    """The peers, and those that cannot be had here, with the reason."""
    found: dict[str, Path] = {}
    failed: list[str] = []
    for name, get in (("ccusage", _ccusage), ("agentwaste", _agentwaste)):
        try:
            found[name] = get(folder)
        except (OSError, subprocess.CalledProcessError, StopIteration) as error:
            failed.append(f"{name} ({error})")
    return found, failed


def _ccusage(folder: Path) -> Path:
    home = folder / "ccusage"
    if not home.exists():
        home.mkdir()
        try:
            _quietly("npm", "install", "--prefix", str(home), f"ccusage@{CCUSAGE}")
        except (OSError, subprocess.CalledProcessError):
            shutil.rmtree(home)
            raise
    # the program itself, not the script in front of it, which takes 50 ms to start Node
    program = next(iter(home.glob("node_modules/@ccusage/*/bin/ccusage")))
    program.chmod(0o755)
    return program


def _agentwaste(folder: Path) -> Path:
    home = folder / "agentwaste"
    if not home.exists():
        try:
            _quietly(sys.executable, "-m", "venv", str(home))
            _quietly(str(home / "bin/pip"), "install", f"agentwaste=={AGENTWASTE}")
        except (OSError, subprocess.CalledProcessError):
            shutil.rmtree(home, ignore_errors=True)
            raise
    return home / "bin/agentwaste"


def _quietly(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


def corpus(folder: Path, size: str, generator: Path) -> Path:
    """A folder of Claude Code logs of `size`, written where it is not there."""
    place = folder / f"corpus-{size}"
    if not (place / "truth.json").exists():
        if not generator.exists():
            sys.exit(f"no generator of logs at {generator}: name one by --generator")
        shutil.rmtree(place, ignore_errors=True)
        _quietly(sys.executable, str(generator), str(place), "--size", size)
    return place


def programs(place: Path, peers: Mapping[str, Path]) -> dict[str, list[str]]:
    """Commands by name; the first is what the others are compared with."""
    projects = str(place / "projects")
    report = [*OURS, "report", projects, "--no-cache"]
    found = {"loopaudit, 2 processes": [*report, "--processes", "2"]}
    found["loopaudit, 1 process"] = [*report, "--processes", "1"]
    if "ccusage" in peers:
        found[f"ccusage {CCUSAGE}"] = [str(peers["ccusage"]), "daily", "--offline", "--json"]
    if "agentwaste" in peers:
        found[f"agentwaste {AGENTWASTE}"] = [
            *(str(peers["agentwaste"]), "--path", projects, "--days", "0")
        ]
    for number in ("2", "1"):
        name = f"`orjson.loads`, {number} process{'es' if number == '2' else ''}"
        found[name] = [sys.executable, "-c", _FLOOR, projects, number]
    return found


def beginnings(folder: Path) -> dict[str, tuple[list[str], list[str], float]]:
    """Name -> what is started, what it is compared with, the ratio that is wanted at most."""
    bare = folder / "bare.py"
    bare.write_text(_BARE, encoding="utf-8")
    app = [sys.executable, str(bare), "--help"]
    sub = [sys.executable, str(bare), "first", "--help"]
    polars = [sys.executable, "-c", "import polars"]
    one = str(ROOT / "sample_logs" / "runaway.jsonl")
    return {
        "`--help` / that of a bare typer app": ([*OURS, "--help"], app, 1.3),
        "`report --help` / that of a bare typer app": ([*OURS, "report", "--help"], sub, 1.3),
        "`--version` / `--help` of a bare typer app": ([*OURS, "--version"], app, 1.0),
        "`report` of one small log / `import polars`": (
            [*OURS, "report", one, "--no-cache"],
            polars,
            4.0,
        ),
    }


# -- measuring -------------------------------------------------------------------------------------


def compared(
    commands: Mapping[str, list[str]], more: Mapping[str, str], rounds: int, memory: bool
) -> list[Row]:
    """Every command in turn, `rounds` times, after a look at the memory of each."""
    peaks = {name: peak(command, more) if memory else 0.0 for name, command in commands.items()}
    took: list[dict[str, Took]] = [
        {name: timed(command, more) for name, command in commands.items()} for _ in range(rounds)
    ]
    first = next(iter(commands))
    return [
        Row(
            name,
            median(each[name].wall for each in took),
            median(each[name].cpu for each in took),
            peaks[name],
            None if name == first else median(e[first].wall / e[name].wall for e in took),
            None if name == first else median(e[first].cpu / e[name].cpu for e in took),
        )
        for name in commands
    ]


def started(folder: Path, more: Mapping[str, str], rounds: int) -> list[str]:
    """The start of the program beside bare ones, as rows of Markdown."""
    rows = ["| start | wall ms | the other's | ratio | at most |", "|---|---|---|---|---|"]
    for name, (ours, other, most) in beginnings(folder).items():
        pairs = [(timed(ours, more), timed(other, more)) for _ in range(rounds)]
        wall, its = (median(pair[i].wall for pair in pairs) * 1000 for i in (0, 1))
        ratio = median(a.wall / b.wall for a, b in pairs)
        rows.append(f"| {name} | {wall:.0f} | {its:.0f} | {ratio:.2f} | {most:g} |")
    return rows


def table(rows: list[Row], size: int) -> list[str]:
    lines = [
        "| program | wall s | CPU s | MB/s | peak MB | loopaudit's wall | loopaudit's CPU |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        ratios = [f"{r:.2f} x" if r is not None else "" for r in (row.ratio, row.cpu_ratio)]
        lines.append(
            f"| {row.name} | {row.wall:.2f} | {row.cpu:.2f} | {size / row.wall / 1e6:.0f} "
            f"| {row.mb:.0f} | {ratios[0]} | {ratios[1]} |"
        )
    return lines


def ratios_only(rows: list[Row]) -> list[str]:
    return [
        f"{row.name}: loopaudit's wall {row.ratio:.2f} x, CPU {row.cpu_ratio:.2f} x"
        for row in rows
        if row.ratio is not None
    ]


def renewed(text: str, lines: list[str]) -> str:
    """README with `lines` between its marks."""
    before, rest = text.split(BEGIN)
    return "\n".join([f"{before}{BEGIN}", *lines, END]) + rest.split(END)[1]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", nargs="+", default=["100M", "1G"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir(), "speed-bench"))
    parser.add_argument("--generator", type=Path, default=ROOT.parent / "shared/bench/gen.py")
    parser.add_argument("--readme", action="store_true")
    parser.add_argument("--small", action="store_true")
    given = parser.parse_args()
    sizes, rounds = (["100M"], 3) if given.small else (given.size, given.rounds)
    given.folder.mkdir(parents=True, exist_ok=True)
    peers, failed = installed(given.folder)
    for reason in failed:
        print(f"left out: {reason}", file=sys.stderr)
    lines: list[str] = []
    for size in sizes:
        place = corpus(given.folder, size, given.generator)
        more = {"CLAUDE_CONFIG_DIR": str(place), "PYTHONPATH": str(ROOT)}
        data = sum(path.stat().st_size for path in place.rglob("*.jsonl"))
        rows = compared(programs(place, peers), more, rounds, not given.small)
        own = [row.wall for row in rows[:2]]
        twice = f"Two processes take {own[0] / own[1]:.2f} of the time of one."
        if given.small:
            lines += [*ratios_only(rows), twice]
        else:
            kept = f"{data / 1e6:,.0f} MB, {rounds} rounds:"
            lines += [kept, "", *table(rows, data), "", twice, ""]
    lines += started(given.folder, {"PYTHONPATH": str(ROOT)}, 2 * rounds + 1)
    print("\n".join(lines))
    if given.readme:
        text = README.read_text(encoding="utf-8")
        README.write_text(renewed(text, lines), encoding="utf-8")


if __name__ == "__main__":
    main()
