"""`loopaudit schema`: the JSON Schema of the report, of costs, or of our own log format."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from loopaudit.cli.app import command

app = typer.Typer(**command("JSON Schema of the report, of costs, or of our own logs."))


class Document(StrEnum):
    REPORT = "report"
    COST = "cost"
    LOG = "log"


@app.command()
def schema(
    document: Annotated[
        Document,
        typer.Argument(
            metavar="[report|cost|log]",
            help="`report --format json`, `cost --format json`, or a line of our log format.",
        ),
    ] = Document.REPORT,
) -> None:
    import json

    if document is Document.LOG:
        from loopaudit.formats.native.schema import schema as log_schema

        found = log_schema()
    elif document is Document.COST:
        from loopaudit.render.cost_schema import cost_schema

        found = cost_schema()
    else:
        from loopaudit.render.schema import report_schema

        found = report_schema()
    print(json.dumps(found, indent=2, ensure_ascii=False))
