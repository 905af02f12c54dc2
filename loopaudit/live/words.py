"""What guards say to the model, in its language."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def _table() -> dict[str, dict[str, str]]:
    return tomllib.loads((files("loopaudit") / "live" / "messages.toml").read_text("utf-8"))


def said(what: str, language: str = "en", **fields: Any) -> str:
    """The message of an action ("warn", "stop", …) or "refused", its fields filled in."""
    texts = _table()[what]
    numbers = {key: _shown(value) for key, value in fields.items()}
    return texts.get(language, texts["en"]).format(**numbers)


def _shown(value: Any) -> str:
    return f"{value:,.10g}" if isinstance(value, int | float) else str(value)
