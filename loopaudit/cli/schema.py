"""`loopaudit schema`: the JSON Schema of what is written as JSON, and the columns of the tables."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from loopaudit.cli.app import command

app = typer.Typer(
    **command(
        "JSON Schema of the report, of costs, or of our own logs; or the columns of the tables."
    )
)


class Document(StrEnum):
    REPORT = "report"
    COST = "cost"
    LOG = "log"
    TABLES = "tables"


@app.command()
def schema(
    document: Annotated[
        Document,
        typer.Argument(
            metavar="[report|cost|log|tables]",
            help="`report --format json`, `cost --format json`, a line of our log format,"
            " or the columns of `export` and `query`.",
        ),
    ] = Document.REPORT,
) -> None:
    import json

    if document is Document.TABLES:
        from loopaudit.render.columns import columns

        for name, rows in columns().items():
            print(name)
            for row in rows:
                print(f"  {row['column']:<20}{row['type']:<15}{row['holds']}")
        return
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
