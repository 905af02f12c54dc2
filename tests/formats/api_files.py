"""Reads files with one reader, without the opener of `ingest`."""

import json
from pathlib import Path

import yaml

from loopaudit.formats.base import Sample
from loopaudit.plugins import FORMATS, load

API_FORMATS = (
    *("loopaudit", "openai_agents", "openai_responses", "vercel_ai", "http_log"),
    *("anthropic_messages", "gemini_generate", "openai_chat"),
)


def form(name):
    return load(FORMATS[name], name)


def values_of(path):
    """(values, whether the file is one document); lines that are no JSON are left out."""
    path = Path(path)
    text = path.read_text(encoding="utf-8", errors="replace").lstrip("\ufeff")
    if path.suffix in (".yaml", ".yml"):
        return [yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))], True
    lines = [line for line in text.split("\n") if line.strip()]
    values = []
    for line in lines:
        try:
            values.append(json.loads(line))
        except ValueError:
            continue
    if len(values) == len(lines):
        return values, len(values) == 1 and isinstance(values[0], list)
    try:
        return [json.loads(text)], True
    except ValueError:
        return values, False


def sample_of(path):
    values, document = values_of(path)
    return Sample(str(path), values[:64], document)


def feed(name, values, path="logs/night.jsonl"):
    """Reader and pieces of the values, one a line."""
    reader = form(name).reader(str(path))
    pieces = [piece for line, value in enumerate(values, 1) for piece in reader.feed(line, value)]
    return reader, pieces + list(reader.end())


def read_file(name, path):
    return feed(name, values_of(path)[0], path)
