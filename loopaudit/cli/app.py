"""The command line as a whole: a table of commands, each imported only when it is run."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from loopaudit import __version__
from loopaudit.errors import UsageError

#: command -> (module with a typer app of one command, line for `--help`)
COMMANDS: dict[str, tuple[str, str]] = {
    "report": ("loopaudit.cli.report", "What loops there are, what they wasted, what stops them."),
    "show": ("loopaudit.cli.show", "The steps of one run, around the onset of its loops."),
    "sources": ("loopaudit.cli.sources", "Where the agents of this machine keep their logs."),
    "cost": ("loopaudit.cli.cost", "What tokens and money went to, and which budgets they broke."),
    "chart": ("loopaudit.cli.chart", "A chart of a run or a folder: PNG, SVG, PDF."),
    "export": ("loopaudit.cli.export", "Runs, steps and findings as CSV or Parquet."),
    "query": ("loopaudit.cli.query", "SQL over runs, steps and findings."),
    "live": ("loopaudit.cli.live", "A mock agent under the same guards, step by step."),
    "drill": ("loopaudit.cli.drill", "All scenarios against your guards: what would run away."),
    "tune": ("loopaudit.cli.tune", "Which thresholds pay, for each task type, on your own runs."),
    "check": ("loopaudit.cli.check", "The gate for CI: limits, a baseline, what changed."),
    "baseline": ("loopaudit.cli.baseline", "Keep the verdicts of today for check, with a reason."),
    "label": ("loopaudit.cli.label", "Say of a finding that it is a loop, or is not."),
    "convert": ("loopaudit.cli.convert", "Logs as JSON lines, Parquet or ATIF, redacted."),
    "cache": ("loopaudit.cli.cache", "What is kept of logs that were read, and its end."),
    "spark": ("loopaudit.cli.spark", "Results of very many logs, by Spark on many machines."),
    "explain": ("loopaudit.cli.explain", "What a rule, guard, format or price is and means."),
    "schema": ("loopaudit.cli.schema", "JSON Schema of the report, of costs, or of our own logs."),
}


#: options of the program itself; every other one belongs to a command
_OWN = ("--version", "-V", "--help", "-h")


class LazyGroup(TyperGroup):
    """Knows its commands by the table; `--help` imports none of them."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        own = import_module(COMMANDS[cmd_name][0]).app
        command = get_command(own)
        command.name = cmd_name
        command.help = own.info.help  # an app of one command takes its help from the function alone
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, says) for name, (_, says) in COMMANDS.items()])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """`loopaudit FOLDER` is `loopaudit report FOLDER`."""
        first = args[0]
        if first not in COMMANDS:
            if first == "-" or os.path.lexists(first):
                return "report", self.get_command(ctx, "report"), args
            close = get_close_matches(first, COMMANDS, 1)
            hint = f"did you mean loopaudit {close[0]}?" if close else "loopaudit --help"
            raise UsageError(f"no command and no file is called {first!r}", hint)
        return super().resolve_command(ctx, args)


def command(app_help: str) -> dict[str, Any]:
    """Settings of a command's own typer app."""
    return {
        "help": app_help,
        "add_completion": False,
        "rich_markup_mode": None,
        "pretty_exceptions_enable": False,
        "context_settings": {"help_option_names": ["-h", "--help"]},
    }


app = typer.Typer(
    cls=LazyGroup,
    **command(
        "Offline auditor of AI-agent transcripts: where loops began, what they wasted, which guard"
        " would have stopped them. Nothing leaves this machine."
    ),
)


@app.callback(epilog="`loopaudit PATH` is short for `loopaudit report PATH`.")
def _root(
    version: Annotated[
        bool, typer.Option("--version", "-V", help="Print the version and end.", is_eager=True)
    ] = False,
) -> None:
    if version:
        print(f"loopaudit {__version__}")
        raise typer.Exit


def run(arguments: Sequence[str]) -> int:
    """Runs one command; its exit code. Errors of the framework come out as `UsageError`."""
    group = get_command(app)
    if not arguments:
        with group.make_context("loopaudit", [], resilient_parsing=True) as ctx:
            print(group.get_help(ctx), file=sys.stderr)
        raise UsageError("no command given", "loopaudit report PATH")
    arguments = list(arguments)
    if arguments[0].startswith("-") and arguments[0] not in _OWN and arguments[0] != "-":
        arguments.insert(0, "report")  # options before PATH in the short form
    try:
        with group.make_context("loopaudit", arguments) as ctx:
            code = group.invoke(ctx)
    except typer.Exit as leaving:
        return leaving.exit_code
    except typer.Abort:
        raise KeyboardInterrupt from None
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        # what was typed wrong, in the framework's words (its class differs between versions)
        path = getattr(getattr(error, "ctx", None), "command_path", "loopaudit")
        raise UsageError(" ".join(error.format_message().split()), f"{path} --help") from None
    return code if isinstance(code, int) else 0
