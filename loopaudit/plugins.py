"""Readers and detectors enter by one door: named as strings, loaded late, errors name the owner."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from functools import cache, partial
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

from loopaudit.errors import ExtensionError, LoopauditError
from loopaudit.settings import Settings
from loopaudit.settings.values import Table

#: built-in log formats, "module:attribute", in the order in which ties of confidence are broken
FORMATS: dict[str, str] = {
    "loopaudit": "loopaudit.formats.native.events:FORMAT",
    "claude_code": "loopaudit.formats.coding.claude_code:FORMAT",
    "codex": "loopaudit.formats.coding.codex:FORMAT",
    "codex_exec": "loopaudit.formats.coding.codex_exec:FORMAT",
    "gemini_cli": "loopaudit.formats.coding.gemini_cli:FORMAT",
    "qwen_code": "loopaudit.formats.coding.qwen_code:FORMAT",
    "copilot_cli": "loopaudit.formats.coding.copilot_cli:FORMAT",
    "pi": "loopaudit.formats.coding.pi:FORMAT",
    "openclaw_telemetry": "loopaudit.formats.coding.openclaw_telemetry:FORMAT",
    "opencode": "loopaudit.formats.coding.opencode:FORMAT",
    "goose": "loopaudit.formats.coding.goose:FORMAT",
    "cline": "loopaudit.formats.coding.cline:FORMAT",
    "kimi_cli": "loopaudit.formats.coding.kimi_cli:FORMAT",
    "factory_droid": "loopaudit.formats.coding.factory_droid:FORMAT",
    "amp": "loopaudit.formats.coding.amp:FORMAT",
    "crush": "loopaudit.formats.coding.crush:FORMAT",
    "cursor": "loopaudit.formats.coding.cursor:FORMAT",
    "antigravity": "loopaudit.formats.coding.antigravity:FORMAT",
    "hermes": "loopaudit.formats.coding.hermes:FORMAT",
    "grok": "loopaudit.formats.coding.grok:FORMAT",
    "inspect": "loopaudit.formats.evals.inspect:FORMAT",
    "tau_bench": "loopaudit.formats.evals.tau_bench:FORMAT",
    "tau2_bench": "loopaudit.formats.evals.tau2_bench:FORMAT",
    "atif": "loopaudit.formats.evals.atif:FORMAT",
    "swe_agent": "loopaudit.formats.evals.swe_agent:FORMAT",
    "mini_swe_agent": "loopaudit.formats.evals.mini_swe_agent:FORMAT",
    "openhands_v0": "loopaudit.formats.evals.openhands_v0:FORMAT",
    "openhands_v1": "loopaudit.formats.evals.openhands_v1:FORMAT",
    "intercode": "loopaudit.formats.evals.intercode:FORMAT",
    "devai": "loopaudit.formats.evals.devai:FORMAT",
    "who_and_when": "loopaudit.formats.evals.who_and_when:FORMAT",
    "magentic_one": "loopaudit.formats.frameworks.magentic_one:FORMAT",
    "langchain_messages": "loopaudit.formats.frameworks.langchain_messages:FORMAT",
    "langgraph": "loopaudit.formats.frameworks.langgraph:FORMAT",
    "smolagents": "loopaudit.formats.frameworks.smolagents:FORMAT",
    "autogen": "loopaudit.formats.frameworks.autogen:FORMAT",
    "ag2": "loopaudit.formats.frameworks.ag2:FORMAT",
    "crewai": "loopaudit.formats.frameworks.crewai:FORMAT",
    "browser_use": "loopaudit.formats.frameworks.browser_use:FORMAT",
    "labelled_runs": "loopaudit.formats.evals.labelled_runs:FORMAT",
    "otel": "loopaudit.formats.tracing.otel:FORMAT",
    "langsmith": "loopaudit.formats.tracing.langsmith:FORMAT",
    "langfuse": "loopaudit.formats.tracing.langfuse:FORMAT",
    "mlflow": "loopaudit.formats.tracing.mlflow:FORMAT",
    "openai_agents": "loopaudit.formats.apis.openai_agents:FORMAT",
    "openai_responses": "loopaudit.formats.apis.openai_responses:FORMAT",
    "vercel_ai": "loopaudit.formats.apis.vercel_ai:FORMAT",
    "http_log": "loopaudit.formats.apis.http_log:FORMAT",
    "anthropic_messages": "loopaudit.formats.apis.anthropic_messages:FORMAT",
    "gemini_generate": "loopaudit.formats.apis.gemini_generate:FORMAT",
    "openai_chat": "loopaudit.formats.apis.openai_chat:FORMAT",
}

FORMAT_GROUP = "loopaudit.formats"
_loaded: dict[str, Any] = {}


#: begins a reference to a mapping file, `map:FILE.toml`
MAPPED = "map:"
_MAPPER = "loopaudit.formats.native.mapped"


def load(reference: str, owner: str) -> Any:
    """The object behind "module:attribute", "FILE.py:attribute" or "map:FILE.toml".

    Raises `ExtensionError` that names `owner`, and `ConfigError` where a mapping is wrong.
    """
    if reference not in _loaded:
        module, _, attribute = reference.rpartition(":")
        try:
            if reference.startswith(MAPPED):
                _loaded[reference] = import_module(_MAPPER).mapped_format(attribute)
            elif module.endswith(".py"):
                _loaded[reference] = getattr(_from_file(module), attribute)
            else:
                _loaded[reference] = getattr(import_module(module), attribute)
        except (OSError, MemoryError, LoopauditError):  # no fault of the extension, or told already
            raise
        except Exception as error:
            raise ExtensionError(
                f"{owner}: cannot load {reference}: {type(error).__name__}: {error}",
                "fix or uninstall that extension",
            ) from error
    return _loaded[reference]


def _from_file(path: str) -> Any:
    """The module in a file that is not installed. Raises `OSError` where it is not there."""
    with open(path, "rb"):
        pass
    name = f"loopaudit_local_{abs(hash(path)):x}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def register(formats: Iterable[tuple[str, str]]) -> None:
    """Make formats of the settings known in this process: (name, reference), absolute paths."""
    for name, reference in formats:
        if format_names().get(name) != reference:
            format_names()[name] = reference


def from_settings(settings: Settings) -> tuple[tuple[str, str], ...]:
    """Formats of `[plugins.formats]`, name and reference, made known and loaded once. Files are
    relative to the settings. Raises `ConfigError` and `ExtensionError`."""
    top = settings.reader("plugins")
    top.only(("formats",))
    place = partial(settings.place, "plugins", "formats")
    table = Table(top.values.get("formats", {}), "[plugins.formats]", place)
    found = []
    for name in sorted(table.values):
        reference = table.text(name) or ""
        if name in FORMATS:
            raise table.wrong(name, f"{name} is a format of loopaudit itself", "use another name")
        where, _, what = reference.rpartition(":")
        if not where or not what:
            raise table.wrong(
                name, f"{name} must be 'module:NAME', 'FILE.py:NAME' or 'map:FILE.toml'"
            )
        folder = os.path.dirname(os.path.abspath(table.at(name)[0] or "settings"))
        if reference.startswith(MAPPED):
            reference = MAPPED + os.path.join(folder, what)
        elif where.endswith(".py"):
            reference = f"{os.path.join(folder, where)}:{what}"
        found.append((name, reference))
    register(found)
    for name, reference in found:
        load(reference, f"log format {name}")
    return tuple(found)


@cache
def format_names() -> dict[str, str]:
    """All known formats, name -> reference: built-in first, then installed ones by name, then
    those of the settings."""
    names = dict(FORMATS)
    for entry in sorted(entry_points(group=FORMAT_GROUP), key=lambda e: e.name):
        names.setdefault(entry.name, entry.value)
    return names
