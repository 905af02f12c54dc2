"""`loopaudit schema`: the JSON Schema of the report, or of our own log format."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from loopaudit.cli.app import command

app = typer.Typer(**command("JSON Schema of the report or of our own log format."))


class Document(StrEnum):
    REPORT = "report"
    LOG = "log"


@app.command()
def schema(
    document: Annotated[
        Document,
        typer.Argument(
            metavar="[report|log]", help="`report --format json`, or a line of our log format."
        ),
    ] = Document.REPORT,
) -> None:
    import json

    if document is Document.LOG:
        from loopaudit.formats.native.schema import schema as log_schema

        found = log_schema()
    else:
        from loopaudit.render.schema import report_schema

        found = report_schema()
    print(json.dumps(found, indent=2, ensure_ascii=False))
