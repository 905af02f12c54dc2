"""All rules that exist: each detector module keeps its own in `RULES`."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from loopaudit import detectors
from loopaudit.findings import Rule


def rules() -> dict[str, Rule]:
    """Every rule by its id, in order of their names."""
    found: dict[str, Rule] = {}
    for module in pkgutil.iter_modules(detectors.__path__):
        for rule in getattr(import_module(f"{detectors.__name__}.{module.name}"), "RULES", ()):
            found[rule.id] = rule
    return dict(sorted(found.items()))


def titles() -> dict[str, str]:
    return {rule.id: rule.title for rule in rules().values()}
