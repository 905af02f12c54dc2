"""`loopaudit spark`: the results of very many logs, made on many machines."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

import typer

from loopaudit.cli.app import command
from loopaudit.cli.flags import Agents, Config, LogFormat, Mapping, Paths, Quiet, TaskType
from loopaudit.errors import ExitCode, InputError, NothingMeasured, UsageError

app = typer.Typer(
    **command(
        "Reads logs with Spark and writes results as Parquet: one row a run. report, tune, chart"
        " and check take the folder in place of the logs and say the same. Executors need"
        " loopaudit, and read the logs themselves: URLs, or paths that all machines share."
    )
)


@app.command()
def spark(
    paths: Paths = None,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="OUT", help="Folder or URL; must not be there.")
    ] = "loopaudit-results",
    master: Annotated[
        str | None,
        typer.Option(metavar="URL", help="local[4], spark://…, yarn; default: as Spark is set up."),
    ] = None,
    conf: Annotated[
        list[str] | None,
        typer.Option("--conf", metavar="KEY=VALUE", help="A setting of Spark. Repeatable."),
    ] = None,
    partitions: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Default: one for each 128 MB of logs."),
    ] = None,
    guard: Annotated[
        list[str] | None,
        typer.Option(
            "--guard",
            "-g",
            metavar="NAME",
            help="Results for these guards; default: all that the settings name. Repeatable.",
        ),
    ] = None,
    agent: Agents = None,
    task_type: TaskType = None,
    mapping: Mapping = None,
    log_format: LogFormat = None,
    excerpts: Annotated[bool, typer.Option("--excerpts", help="Keep excerpts of texts.")] = False,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Estimate tokens that a log does not tell.")
    ] = False,
    config: Config = None,
    quiet: Quiet = False,
) -> int:
    from loopaudit import files, settings
    from loopaudit.cli import options as given
    from loopaudit.spark import of_options, with_guards

    if not files.is_remote(output) and os.path.lexists(output):
        raise UsageError(f"-o {output}: is there already", "name a new folder")
    asked = given.audit_options(
        paths or [],
        settings.load(config),
        agents=agent or (),
        guards=tuple(guard or ()),
        task_type=task_type,
        log_format=log_format,
        mapping=None if mapping is None else os.path.abspath(mapping),
        quiet=quiet,
    )
    asked.excerpts, asked.estimate = excerpts, estimate
    asked = with_guards(asked)
    session = _session(master, conf or [], quiet=quiet)
    try:
        of_options(session, asked, partitions).write.parquet(output)
        written = session.read.parquet(output)
        runs = written.where("run is not null").count()
    except Exception as error:
        raise _told(error, output) from error
    finally:
        session.stop()
    if not runs:
        raise NothingMeasured(
            f"{', '.join(asked.paths)}: no run found", "loopaudit report says why"
        )
    if not quiet:
        print(f"loopaudit: wrote {runs:,} runs to {output}", file=sys.stderr)
    return ExitCode.PASS


def _session(master: str | None, conf: list[str], *, quiet: bool) -> Any:
    """Raises `UsageError`."""
    try:
        import pyarrow  # noqa: F401
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise UsageError(
            f"Spark is not installed ({error.name})", "pip install 'loopaudit[spark]'"
        ) from None
    builder: Any = SparkSession.builder
    builder = builder.appName("loopaudit").config("spark.log.level", "ERROR")
    if quiet or not sys.stderr.isatty():
        builder = builder.config("spark.ui.showConsoleProgress", "false")
    if master is not None:
        builder = builder.master(master)
        if master.startswith("local"):
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
            builder = builder.config("spark.ui.enabled", "false")
    for setting in conf:
        key, equals, value = setting.partition("=")
        if not equals:
            raise UsageError(f"--conf {setting}: not KEY=VALUE")
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except Exception as error:
        java = "JAVA_GATEWAY_EXITED" in str(error) or "JAVA_HOME" in str(error)
        hint = "Spark needs Java 17 or newer" if java else ""
        raise UsageError(f"Spark does not start: {_line(error)}", hint) from None


def _told(error: Exception, output: str) -> Exception:
    """What Spark says over many lines, in one; our own errors as they are."""
    from loopaudit.errors import LoopauditError

    if isinstance(error, LoopauditError):
        return error
    text = str(error)
    if "PATH_ALREADY_EXISTS" in text:
        return UsageError(f"-o {output}: is there already", "name a new folder")
    if "No module named 'loopaudit" in text:
        return UsageError("loopaudit is not installed on the executors", "pip install it there")
    return InputError(f"Spark failed: {_line(error)}", "LOOPAUDIT_DEBUG=1 shows all of it")


def _line(error: Exception) -> str:
    """The line of a long message that says most: the last of a Python traceback, else the first."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    marks = [n for n, line in enumerate(lines) if line.startswith("Traceback")]
    if marks:
        inside = [n for n, line in enumerate(lines) if n > marks[0] and line.startswith("File ")]
        after = [line for line in lines[(inside or marks)[-1] + 1 :] if ": " in line]
        lines = after or lines
    return (lines[0] if lines else type(error).__name__)[:200]
