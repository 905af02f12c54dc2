"""`loopaudit live`: a mock agent under the very guards of the replay."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from loopaudit.cli.app import command
from loopaudit.cli.flags import Config
from loopaudit.errors import UsageError

if TYPE_CHECKING:
    from loopaudit.guards.preset import Preset
    from loopaudit.live.play import Ways
    from loopaudit.live.scenario import Scenario
    from loopaudit.money import PriceBook
    from loopaudit.render.screen import Screen

app = typer.Typer(
    **command(
        "Plays a scenario with a mock model and mock tools under the guards of the replay, step by"
        " step; time is scripted, so it takes none and is the same each time. Without --scenario"
        " and --prompt it asks for prompts; they share one budget."
    )
)


class Format(StrEnum):
    TEXT = "text"
    JSON = "json"


@app.command()
def live(
    scenario: Annotated[
        list[str] | None,
        typer.Option(
            "--scenario", "-s", metavar="NAME", help="A scenario, all, or a TOML file. Repeatable."
        ),
    ] = None,
    prompt: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="A user message; its trigger word chooses the scenario."),
    ] = None,
    guard: Annotated[
        list[str] | None,
        typer.Option(
            "--guard", "-g", metavar="PRESET", help="Guard set, e.g. fuses:demo. Repeatable."
        ),
    ] = None,
    no_guard: Annotated[bool, typer.Option("--no-guard", help="Nothing is judged.")] = False,
    compare: Annotated[
        bool,
        typer.Option("--compare", help="Without guard and under each, beside the prediction."),
    ] = False,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="openai:NAME", help="A real model in place of the mock one (extra `live`)."
        ),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Of an OpenAI-compatible server, for --model."),
    ] = None,
    record: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the transcript here, for `loopaudit report`."),
    ] = None,
    format: Annotated[
        Format, typer.Option("--format", "-f", help="Of --compare and --list.")
    ] = Format.TEXT,
    language: Annotated[str, typer.Option("--lang", metavar="en|zh", help="Of the texts.")] = "en",
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of waits and made-up ids.")] = 0,
    real_time: Annotated[
        bool, typer.Option("--real-time", help="Really wait where time is scripted.")
    ] = False,
    listing: Annotated[bool, typer.Option("--list", help="The scenarios, and end.")] = False,
    config: Config = None,
) -> int:
    from loopaudit import settings
    from loopaudit.cli import living
    from loopaudit.cli import options as given
    from loopaudit.cli.output import coloured, width
    from loopaudit.render.screen import Screen

    screen = Screen(width(sys.stdout), coloured(sys.stdout))
    if listing:
        return _list(screen, language, format)
    if no_guard and guard:
        raise UsageError("--guard and --no-guard exclude each other")
    if compare and record:
        raise UsageError("--record takes one run, --compare plays many", "record without --compare")
    chosen = settings.load(config)
    names = guard or given.preferences(chosen).guards or ("loopaudit",)
    guards = [] if no_guard else living.guards(chosen, names)
    ways = living.ways(chosen, language, seed, real_time)
    if base_url is not None and model is None:
        raise UsageError("--base-url is for --model", "--model openai:NAME")
    if prompt is not None and scenario:
        raise UsageError("--prompt chooses the scenario itself", "give one of the two")
    played = living.scenarios(scenario or ())
    if model is not None:
        from functools import partial

        from loopaudit.money import PriceBook

        if compare:
            raise UsageError("--compare plays the mock model only", "leave out --model")
        place = partial(chosen.place, "prices")
        book = PriceBook(chosen.table("prices"), place=place)
        return _real(model, base_url, played, prompt, guards, ways, book, screen, record)
    if compare:
        return _compare(played or living.scenarios(("all",)), guards, ways, screen, format)
    if played:
        return _play(played, guards, ways, screen, record)
    prompts = [prompt] if prompt is not None else _lines()
    return _talk(prompts, guards, ways, screen, record)


def _list(screen: Screen, language: str, format: Format) -> int:
    from loopaudit.live.scenario import spoken
    from loopaudit.live.scenario_file import built_in
    from loopaudit.render.screen import put

    if format is Format.JSON:
        names = [{"scenario": one.name, "ends": one.ends} for one in built_in().values()]
        print(json.dumps(names, indent=2))
        return 0
    lines: list[str] = []
    for one in built_in().values():
        about = spoken(one.about, language) or ""
        lines += screen.row(f"{about} [{one.ends}]", label=f"{one.name:20} ")
        lines += screen.row(f"say: {', '.join(one.trigger)}", "dim", indent=21)
    put(lines, sys.stdout)
    return 0


def _compare(
    played: list[Scenario], guards: list[Preset], ways: Ways, screen: Screen, format: Format
) -> int:
    from loopaudit.live.compare import compare
    from loopaudit.render.live_tables import comparison, comparison_json
    from loopaudit.render.screen import put

    if not guards:
        raise UsageError("--compare needs a guard to compare with", "--guard PRESET")
    rows = compare(played, guards, ways)
    if format is Format.JSON:
        print(json.dumps(comparison_json(rows), indent=2, ensure_ascii=False))
    else:
        put(comparison(rows, screen), sys.stdout)
    return 0


def _play(
    played: list[Scenario], guards: list[Preset], ways: Ways, screen: Screen, record: str | None
) -> int:
    from loopaudit.cli.recording import recording
    from loopaudit.live.play import play
    from loopaudit.render.live import Narrator, closing
    from loopaudit.render.screen import put

    with recording(record) as stream:
        for number, one in enumerate(played):
            if len(played) > 1:
                put(screen.row(f"== {one.name}", "bold"), sys.stdout)
            narrator = Narrator(sys.stdout, screen, guards, agents=one.agents)
            outcomes = play(
                one, guards, ways, record=stream, header=number == 0, watch=narrator.tell
            )
            put([closing(outcomes)], sys.stdout)
    return 0


def _real(
    model: str,
    base_url: str | None,
    played: list[Scenario],
    prompt: str | None,
    guards: list[Preset],
    ways: Ways,
    book: PriceBook,
    screen: Screen,
    record: str | None,
) -> int:
    """A real model with the scenario's user messages and mock tools, in real time."""
    from loopaudit.cli.recording import recording
    from loopaudit.live.endpoint import Endpoint
    from loopaudit.live.real import run_real
    from loopaudit.live.scenario_file import find, triggered
    from loopaudit.render.live import Narrator, closing
    from loopaudit.render.screen import put

    vendor, _, name = model.partition(":")
    if vendor != "openai" or not name:
        raise UsageError(f"--model {model!r} is not known", "--model openai:NAME")
    if len(played) > 1:
        raise UsageError("--model plays one scenario", "one --scenario, or --prompt")
    scenario = played[0] if played else triggered(prompt or "") or find("normal")
    endpoint = Endpoint(name, base_url)
    with recording(record) as stream:
        narrator = Narrator(sys.stdout, screen, guards)
        real = run_real(endpoint, scenario, guards, ways, book, prompt, stream)
        for event in real.events:
            narrator.tell(0, event)
        put([closing([real.outcome])], sys.stdout)
    return 0


def _talk(
    prompts: Iterable[str],
    guards: list[Preset],
    ways: Ways,
    screen: Screen,
    record: str | None,
) -> int:
    from loopaudit.cli.recording import recording
    from loopaudit.live.prompts import Prompted
    from loopaudit.render.live import Narrator, closing
    from loopaudit.render.screen import put

    with recording(record) as stream:
        narrator = Narrator(sys.stdout, screen, guards)
        talk = Prompted(guards, ways, stream)
        for text in prompts:
            for event in talk.ask(text):
                narrator.tell(0, event)
            if talk.over:
                break
        put([closing([talk.close()])], sys.stdout)
    return 0


def _lines() -> Iterator[str]:
    """Prompts from the terminal, or line by line from what is piped in."""
    if sys.stdin is None:
        raise UsageError("standard input is closed", "--scenario NAME or --prompt TEXT")
    asking = sys.stdin.isatty()
    while True:
        if asking:
            print("> ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line:
            return
        if line.strip():
            yield line.strip()
