"""Counts of Vercel AI SDK files by a second program: standard library only.

Usage: independent_vercel_ai.py FILE…
"""

import json
import sys


def count(path):
    """Of model messages or of steps; a failed result is `error-text` or a `tool-error` part."""
    with open(path, encoding="utf-8") as file:
        entries = json.load(file)
    found = dict.fromkeys(("responses", "calls", "results", "failed", "users"), 0)
    whole = cached = output = 0
    usage = False
    for entry in entries:
        if "usage" in entry:
            usage = True
            whole += entry["usage"]["inputTokens"]
            cached += entry["usage"]["cachedInputTokens"]
            output += entry["usage"]["outputTokens"]
        found["responses"] += "usage" in entry or entry["role"] == "assistant"
        for part in entry["content"]:
            found["calls"] += part["type"] == "tool-call"
            if part["type"] in ("tool-result", "tool-error"):
                found["results"] += 1
                found["failed"] += part["type"] == "tool-error" or (
                    part["output"].get("type") == "error-text"
                )
    found["tokens"] = (whole, cached, output) if usage else None
    return found


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(name, count(name))
