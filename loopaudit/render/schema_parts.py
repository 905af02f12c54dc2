"""What the schemas of all JSON outputs are made of: text, counts, money, and null for not known."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def record(properties: dict[str, Schema], says: str = "") -> Schema:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return schema | ({"description": says} if says else {})


def list_of(items: Schema, says: str = "") -> Schema:
    return {"type": "array", "items": items} | ({"description": says} if says else {})


def maybe(schema: Schema, says: str = "") -> Schema:
    """The value, or null where it is not known."""
    open_to_null = {**schema, "type": [schema["type"], "null"]}
    return open_to_null | ({"description": says} if says else {})


def one_of(values: Any, says: str = "") -> Schema:
    schema = {"type": "string", "enum": [str(value) for value in values]}
    return schema | ({"description": says} if says else {})


TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
COUNT: Schema = {"type": "integer", "minimum": 0}
LINE: Schema = {"type": "integer", "minimum": 1}
NUMBER: Schema = {"type": "number"}
SECONDS: Schema = {"type": "number", "minimum": 0}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
MONEY: Schema = {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?$"}
TIME: Schema = {
    "type": "string",
    "pattern": r"^[0-9]{4,}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(\.[0-9]+)?(Z|[+-][0-9:]+)$",
}
