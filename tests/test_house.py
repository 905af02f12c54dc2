"""The house stands: imports go down only, and nothing unlisted lies visible at the top."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

import pytest

TOP_LEVEL = {"pyproject.toml", "README.md", "loopaudit", "tests", "sample_logs"}

#: rooms from the top down; a room imports rooms of lower floors and itself
FLOORS = (
    {"__main__"},
    {"cli"},
    {"render", "spark"},
    {"cost", "tune", "check", "live", "convert"},
    {"replay"},
    {"guards"},  # a session drives detectors
    {"detectors", "ingest"},
    {"formats", "plugins"},
    {"keys", "money", "retry", "effects", "task_types", "store", "places", "files"},
    {"settings"},
    {"findings"},
    {"model"},
    {"errors"},
    {"__init__"},
)
#: modules that are one room with another
SAME_ROOM = {"masks": "keys", "similarity": "keys"}
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}


def room_of(module: str) -> str:
    parts = module.split(".")
    name = parts[1] if len(parts) > 1 else "__init__"
    return SAME_ROOM.get(name, name)


def modules(root: Path) -> dict[str, Path]:
    found = {}
    for path in sorted((root / "loopaudit").rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(path: Path, known: dict[str, Path]) -> set[str]:
    """Modules of ours that a file imports anywhere, late imports included."""
    out = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            out |= {alias.name for alias in node.names if alias.name.startswith("loopaudit")}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("loopaudit"):
            assert node.level == 0
            for alias in node.names:
                deep = f"{node.module}.{alias.name}"
                out.add(deep if deep in known else str(node.module))
    return out


def test_every_room_has_a_floor(root: Path) -> None:
    rooms = {room_of(name) for name in modules(root)}
    assert rooms <= set(FLOOR_OF), f"rooms without a floor: {rooms - set(FLOOR_OF)}"


def test_imports_go_down_only(root: Path) -> None:
    known = modules(root)
    wrong = []
    for name, path in known.items():
        for other in imports(path, known):
            here, there = room_of(name), room_of(other)
            if here != there and FLOOR_OF[there] <= FLOOR_OF[here]:
                wrong.append(f"{name} imports {other}")
    assert not wrong


def test_no_circles(root: Path) -> None:
    known = modules(root)
    graph = {name: {i for i in imports(path, known) if i in known} for name, path in known.items()}
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, f"circle: {' -> '.join((*trail, name))}"
        if name not in done:
            for other in graph[name]:
                visit(other, (*trail, name))
            done.add(name)

    for name in graph:
        visit(name, ())


def test_top_level(root: Path) -> None:
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files"], capture_output=True, text=True, check=False
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    names = {line.split("/")[0] for line in listed.stdout.splitlines()}
    assert {n for n in names if not n.startswith(".")} <= TOP_LEVEL


def test_every_module_says_its_job(root: Path) -> None:
    silent = [
        n for n, p in modules(root).items() if not ast.get_docstring(ast.parse(p.read_text()))
    ]
    assert not silent


def test_test_files_have_names_of_their_own(root: Path) -> None:
    """pytest imports them by name: of two alike it would run one only."""
    names = [path.name for path in (root / "tests").rglob("*.py") if path.name != "conftest.py"]
    assert len(names) == len(set(names)), {n for n in names if names.count(n) > 1}
