"""Which rule documents a signal: the module of a detector keeps its rules in `RULES`."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from loopaudit.findings import Rule


@cache
def rule_of(detector: str, signal: str) -> Rule:
    """The rule of a signal of `detector` ("module:attribute"); a bare one where none is written."""
    for rule in getattr(import_module(detector.partition(":")[0]), "RULES", ()):
        if isinstance(rule, Rule) and rule.signal == signal:
            return rule
    name = signal.replace("_", "-")
    return Rule(
        id=name, title=name, looks_for="", not_counted="", evidence="", remedy="", signal=signal
    )
