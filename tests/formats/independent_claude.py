"""A second program that counts Claude Code logs: field-wise maximum per message id, nothing else.

Shares no line with loopaudit, so that a mistake cannot stand in both. Lines of a session's own
responses and sub-agent messages inside `agent_progress` lines count; `<synthetic>` ones do not.
"""

import json

FIELDS = (
    "input_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "output_tokens",
)


def messages(path, embedded=True):
    """(message id or line number, usage, tool calls) of each line that holds a model message."""
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, text in enumerate(file, 1):
            try:
                line = json.loads(text)
            except ValueError:
                continue
            if not isinstance(line, dict):
                continue
            data = line.get("data")
            if embedded and isinstance(data, dict) and data.get("type") == "agent_progress":
                line = data.get("message") or {}
            message = line.get("message")
            if not isinstance(message, dict) or message.get("role") != "assistant":
                continue
            if message.get("model") == "<synthetic>" or line.get("isApiErrorMessage"):
                continue
            blocks = message.get("content")
            blocks = blocks if isinstance(blocks, list) else []
            calls = [b["name"] for b in blocks if b.get("type") == "tool_use"]
            yield message.get("id") or line.get("uuid") or number, message.get("usage"), calls


def count(paths, embedded=True):
    """Responses and tokens (fresh input, cache read, cache write, output) over all files."""
    best = {}
    for path in paths:
        for ident, usage, _ in messages(path, embedded):
            seen = best.setdefault(ident, dict.fromkeys(FIELDS, 0))
            for field in FIELDS:
                seen[field] = max(seen[field], (usage or {}).get(field) or 0)
    return len(best), tuple(sum(seen[field] for seen in best.values()) for field in FIELDS)
