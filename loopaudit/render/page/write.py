"""Puts the content into the template; charts are inline SVG that takes the page's colours."""

from __future__ import annotations

import base64
import hashlib
import io
import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TextIO

from loopaudit.render.page.content import Given, content
from loopaudit.render.text import html

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_XML = re.compile(r"<\?xml[^>]*\?>|<!DOCTYPE[^>]*>|<metadata>.*?</metadata>|<!--.*?-->", re.DOTALL)
_SIZE = re.compile(r'<svg ([^>]*?)width="[^"]*" height="[^"]*"')


def write(given: Given, stream: TextIO) -> None:
    """The whole page. Texts are escaped by the template; only our own SVG goes in as it is."""
    from jinja2 import Environment
    from markupsafe import Markup

    script = _read("page.js")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(_read("page.html.j2"))
    values: dict[str, Any] = content(given)
    for chart in values["charts"]:
        chart["svg"] = Markup(chart["svg"])
    for item in values["details"]:
        item["chart"] = Markup(item["chart"])
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    for part in template.generate(
        page=values, css=Markup(_read("page.css")), js=Markup(script), script_hash=digest
    ):
        stream.write(part)


@cache
def _read(name: str) -> str:
    return (files("loopaudit") / "render" / "page" / name).read_text("utf-8")


def svg(draw: Callable[[], Figure], title: str) -> str:
    """A figure for the page: no fixed size, ink in the colour of the text, paper left out."""
    from loopaudit.render.charts.style import LIGHT, looks, save

    stream = io.BytesIO()
    with looks():
        save(draw(), stream, "svg")
    text = _XML.sub("", stream.getvalue().decode())
    text = _SIZE.sub(r"<svg \1", text, count=1)
    text = text.replace(LIGHT["ink"], "currentColor").replace(LIGHT["grid"], "var(--line)")
    text = text.replace(f"fill: {LIGHT['paper']}", "fill: none")
    return text.replace("<svg ", f'<svg role="img" aria-label="{html(title)}" ', 1).strip()
