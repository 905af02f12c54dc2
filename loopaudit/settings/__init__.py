"""Finds and merges settings; says where each came from. Each room checks its own table.

In rising order: the defaults of each room; `loopaudit.toml`, or `[tool.loopaudit]` of
`pyproject.toml`, the nearest upward from the working directory; the file given by `--config`; the
environment (`LOOPAUDIT_REPORT_TOP=5` is `top` of `[report]`, `__` goes one table deeper); flags.
Tables are merged key by key, everything else, lists included, is replaced.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loopaudit.errors import ConfigError
from loopaudit.settings.values import Place, Table, closest

__all__ = ["TABLES", "Layer", "Place", "Settings", "Table", "alone", "load", "unknown_variables"]

#: what may stand at the top of a settings file
TABLES = (
    "guards",
    "task_types",
    "tools",
    "prices",
    "report",
    "budgets",
    "reconcile",
    "masks",
    "plugins",
    "tune",
    "check",
    "labels",
    "cache",
)

FILE = "loopaudit.toml"
PREFIX = "LOOPAUDIT_"
_OTHER_USES = ("LOOPAUDIT_CONFIG", "LOOPAUDIT_DEBUG", "LOOPAUDIT_SNAPSHOTS")
_INSIDE_PYPROJECT = ("tool", "loopaudit")


@dataclass(frozen=True, slots=True)
class Layer:
    """Settings from one source. `text` is the TOML they were read from, `inside` where in it."""

    label: str  # path as shown, "environment", "command line"
    data: Mapping[str, Any]
    text: str | None = None
    inside: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Settings:
    """All layers and their merged values. Read only; can be pickled."""

    layers: tuple[Layer, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)

    def table(self, name: str) -> dict[str, Any]:
        """The merged table `name`, empty where nobody wrote one."""
        return dict(self.values.get(name, {}))

    def reader(self, name: str) -> Table:
        """The same with typed access and messages that name file and line."""
        return Table(self.table(name), f"[{name}]", lambda *keys: self.place(name, *keys))

    def place(self, *keys: str | int) -> tuple[str, int | None]:
        """Path and line of a key, of the layer that decides it; of its table where it is missing.

        The line is None where there is no file: the path is then a variable or `command line`.
        """
        for length in range(len(keys), 0, -1):
            for layer in reversed(self.layers):
                if _holds(layer.data, keys[:length]):
                    return _locate(layer, keys[:length])
        return "", None


def load(
    config: str | Path | None = None,
    *,
    folder: str | Path | None = None,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, Any] | None = None,
) -> Settings:
    """All settings that apply in `folder` (default: the working directory).

    `config` is the file of `--config`; `flags` are nested tables. Raises `ConfigError`.
    """
    environment = os.environ if environment is None else environment
    layers = []
    start = Path(folder) if folder is not None else _here()
    nearest = _nearest(start) if start is not None else None
    if nearest is not None:
        layers.append(nearest)
    chosen = config or environment.get(f"{PREFIX}CONFIG")
    if chosen:
        layers.append(_read_chosen(Path(chosen)))
    layers.append(Layer("environment", _from_environment(environment)))
    layers.append(Layer("command line", flags or {}))
    kept = tuple(layer for layer in layers if layer.data)
    values: dict[str, Any] = {}
    for layer in kept:
        _check_tables(layer)
        values = _merge(values, layer.data)
    return Settings(kept, values)


def alone(path: str | Path) -> Settings:
    """One TOML file by itself, whatever its tables, with the lines of its keys. `ConfigError`."""
    layer = _read(Path(path))
    return Settings((layer,), layer.data)


def _nearest(folder: Path) -> Layer | None:
    """The settings file nearest upward; a `pyproject.toml` without our table is passed by."""
    folder = folder.absolute()
    for parent in (folder, *folder.parents):
        path = parent / FILE
        if os.path.isfile(path):  # unlike Path.is_file, no error where a folder may not be entered
            return _read(path)
        path = parent / "pyproject.toml"
        if os.path.isfile(path):
            found = _from_pyproject(path)
            if found is not None:
                return found
    return None


def _from_pyproject(path: Path) -> Layer | None:
    if b"loopaudit" not in _bytes(path):
        return None  # not ours to judge: it may not even be valid
    layer = _read(path, _INSIDE_PYPROJECT)
    return layer if layer.data else None


def _read_chosen(path: Path) -> Layer:
    if path.name == "pyproject.toml":
        return _read(path, _INSIDE_PYPROJECT)
    return _read(path)


def _read(path: Path, inside: tuple[str, ...] = ()) -> Layer:
    import tomllib

    shown = _shown(path)
    try:
        text = _bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ConfigError("not UTF-8 text", "save it as UTF-8", path=shown, line=line) from None
    try:
        data: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message, line = _where(str(error), text)
        raise ConfigError(f"not valid TOML: {message}", path=shown, line=line) from None
    except RecursionError:
        raise ConfigError("not usable TOML: nested too deeply", path=shown) from None
    for key in inside:
        data = data.get(key, {})
        if not isinstance(data, dict):
            raise ConfigError(f"[{'.'.join(inside)}] must be a table", path=shown)
    return Layer(shown, data, text, inside)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError(f"cannot read these settings: {reason}", path=_shown(path)) from None


def _where(message: str, text: str) -> tuple[str, int]:
    """The parser's message without its place, and the line of that place."""
    words, _, place = message.rpartition(" (at ")
    number = place.partition("line ")[2].partition(",")[0]
    line = int(number) if number.isdecimal() else text.count("\n") + 1
    return words or message, line


def _shown(path: Path) -> str:
    """A path as a user would write it: relative where it lies below the working directory."""
    folder = _here()
    if folder is not None and path.absolute().is_relative_to(folder):
        return str(path.absolute().relative_to(folder))
    return str(path)


def _here() -> Path | None:
    """The working directory, None where it has been deleted."""
    try:
        return Path.cwd()
    except OSError:
        return None


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    """Variables that name a known table; others with our prefix have other uses."""
    found: dict[str, Any] = {}
    for variable in sorted(environment):
        if not variable.startswith(PREFIX):
            continue
        rest = variable[len(PREFIX) :].lower()
        name = next((t for t in TABLES if rest.startswith(f"{t}_")), None)
        keys = [k for k in rest[len(name) :].strip("_").split("__") if k] if name else []
        if name is None or not keys:
            continue
        table = found.setdefault(name, {})
        for key in keys[:-1]:
            table = table.setdefault(key, {})
            if not isinstance(table, dict):
                break
        else:
            table[keys[-1]] = _value(environment[variable])
    return found


def unknown_variables(environment: Mapping[str, str] | None = None) -> list[str]:
    """Variables with our prefix that nobody reads, sorted: most likely mistyped."""
    environment = os.environ if environment is None else environment
    return [
        name
        for name in sorted(environment)
        if name.startswith(PREFIX)
        and name not in _OTHER_USES
        and not any(name[len(PREFIX) :].lower().startswith(f"{table}_") for table in TABLES)
    ]


def _value(text: str) -> Any:
    """A variable's text read as a TOML value, else as it is."""
    import tomllib

    try:
        read = tomllib.loads(f"value = {text}")
    except (tomllib.TOMLDecodeError, RecursionError):
        return text
    return read["value"] if len(read) == 1 else text


def _check_tables(layer: Layer) -> None:
    for name, value in layer.data.items():
        if name not in TABLES:
            path, line = _locate(layer, (name,))
            known = f"known: {', '.join(TABLES)}"
            raise ConfigError(
                f"unknown table [{name}]", closest(name, TABLES, known), **_at(path, line)
            )
        if not isinstance(value, Mapping):
            path, line = _locate(layer, (name,))
            raise ConfigError(f"{name} must be a table, written [{name}]", **_at(path, line))


def _at(path: str, line: int | None) -> dict[str, Any]:
    return {"path": path, "line": line}


def _merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        merged[key] = _merge(old, value) if both else value  # type: ignore[arg-type]
    return merged


def _holds(data: Any, keys: tuple[str | int, ...]) -> bool:
    for key in keys:
        if isinstance(data, Mapping):
            if key not in data:
                return False
            data = data[key]
        elif isinstance(data, list) and isinstance(key, int) and 0 <= key < len(data):
            data = data[key]
        else:
            return False
    return True


def _locate(layer: Layer, keys: tuple[str | int, ...]) -> tuple[str, int | None]:
    if layer.text is None:
        if layer.label == "environment":
            return PREFIX + "__".join(str(k) for k in keys).upper().replace("__", "_", 1), None
        return layer.label, None
    from loopaudit.settings.lines import positions

    return layer.label, positions(layer.text).get((*layer.inside, *keys))
