"""Counts of Responses item lists by a second program: standard library only.

Usage: independent_openai_responses.py FILE…
"""

import itertools
import json
import sys

SORRY = "An error occurred while running the tool"


def count(path):
    """A response is a stretch of items that the model wrote."""
    with open(path, encoding="utf-8") as file:
        items = json.load(file)
    found = {"responses": 0, "calls": 0, "results": 0, "failed": 0, "users": 0, "tokens": None}
    for by_model, group in itertools.groupby(items, key=written_by_model):
        group = list(group)
        found["responses"] += by_model
        for item in group:
            if item.get("type") == "function_call":
                found["calls"] += 1
            elif item.get("type") == "function_call_output":
                found["results"] += 1
                found["failed"] += item["output"].startswith(SORRY)
            elif item.get("role") == "user":
                found["users"] += 1
    return found


def written_by_model(item):
    return item.get("type") == "function_call" or item.get("role") == "assistant"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(name, count(name))
