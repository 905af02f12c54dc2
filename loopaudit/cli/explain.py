"""`loopaudit explain`: pages of rules, guard presets, log formats and prices."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from loopaudit.cli.app import command
from loopaudit.cli.flags import Config
from loopaudit.errors import UsageError

if TYPE_CHECKING:
    from loopaudit.render.screen import Screen
    from loopaudit.settings import Settings

app = typer.Typer(
    **command(
        "What a rule looks for, its thresholds, evidence and remedy; what a guard preset does; what"
        " a log format holds; how a model is priced; also task-types, labels, outcomes and map."
        " Without a name: all names."
    )
)


@app.command()
def explain(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="A rule, guard preset, format, or kind of what is not counted.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="How this model name is read and priced.")
    ] = None,
    config: Config = None,
) -> None:
    from loopaudit import settings
    from loopaudit.cli.output import coloured, width
    from loopaudit.plugins import from_settings
    from loopaudit.render.screen import Screen, put

    chosen = settings.load(config)
    from_settings(chosen)
    screen = Screen(width(sys.stdout), coloured(sys.stdout))
    if model is not None:
        lines = _price(model, chosen, screen)
    elif name is None:
        lines = _overview(chosen.table("guards"), screen)
    else:
        lines = _pages(name, chosen, screen)
    put(lines, sys.stdout)


def _price(model: str, chosen: Any, screen: Screen) -> Iterator[str]:
    from loopaudit.money import PriceBook
    from loopaudit.render.text import inert

    book = PriceBook(chosen.table("prices").get("model", ()))
    for line in book.explain(model):
        yield from screen.row(inert(line))


def _overview(user: Mapping[str, Any], screen: Screen) -> Iterator[str]:
    from loopaudit import plugins
    from loopaudit.cli.catalog import rules
    from loopaudit.guards import presets
    from loopaudit.render.pages import overview

    yield from overview(
        rules().values(),
        [presets.load(name, user) for name in presets.names(user)],
        [plugins.load(where, f"format {name}") for name, where in plugins.format_names().items()],
        screen,
    )


def _pages(name: str, chosen: Settings, screen: Screen) -> Iterator[str]:
    """Every page of that name: `loopaudit` is a guard set and a format."""
    from functools import partial

    from loopaudit import plugins, task_types
    from loopaudit.cli.catalog import rules
    from loopaudit.guards import presets
    from loopaudit.render.not_loops import KINDS, kind_page
    from loopaudit.render.pages import format_page, mapping_page, preset_page, rule_page
    from loopaudit.render.topics import TOPICS, topic_pages

    user = chosen.table("guards")
    typing = task_types.read(chosen.table("task_types"), partial(chosen.place, "task_types"))
    topics = topic_pages(screen, typing)
    known = rules()
    names = presets.names(user)
    formats = plugins.format_names()
    if name not in known:  # guards, live and settings name a rule by its signal
        signals = {rule.signal.replace("_", "-"): title for title, rule in known.items()}
        name = signals.get(name.replace("_", "-"), name)
    pages = []
    if name in known:
        every = [presets.load(preset, user) for preset in names]
        pages.append(rule_page(known[name], every, screen))
    for preset_name in names:
        if name in (preset_name, preset_name.partition(":")[0]):
            preset = presets.load(preset_name, user)
            pages.append(preset_page(preset, presets.unreachable(preset), screen))
    if name in formats:
        pages.append(format_page(plugins.load(formats[name], f"format {name}"), screen))
    if name in ("map", "--map"):
        pages.append(mapping_page(screen))
    topic = name.lower().lstrip("-").replace("_", "-").replace(" ", "-")
    topic = topic if topic in TOPICS else f"{topic}s"
    if topic in topics:
        pages.append(topics[topic])
    if name in KINDS:
        pages.append(kind_page(name, screen))
    if not pages:
        sets = [preset_name.partition(":")[0] for preset_name in names]
        hint = _closest(name, dict.fromkeys([*known, *sets, *names, *formats, *KINDS, *TOPICS]))
        raise UsageError(f"nothing is called {name!r}", hint)
    for number, page in enumerate(pages):
        if number:
            yield ""
        yield from page


def _closest(name: str, names: Iterable[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, list(names), n=3)
    return f"did you mean {' or '.join(close)}?" if close else "loopaudit explain lists all names"
