"""Counts of chat message files by a second program: standard library only, nothing of loopaudit.

Usage: independent_openai_chat.py FILE…
"""

import json
import sys


def count(path):
    """Responses, calls, results and failed results of a JSON array of messages."""
    with open(path, encoding="utf-8") as file:
        messages = json.load(file)
    found = {"responses": 0, "calls": 0, "results": 0, "failed": 0, "users": 0, "tokens": None}
    for message in messages:
        role = message["role"]
        if role == "assistant":
            found["responses"] += 1
            found["calls"] += len(message.get("tool_calls") or [])
        elif role == "user":
            found["users"] += 1
        elif role == "tool":
            found["results"] += 1
            content = message["content"]
            if isinstance(content, list):
                content = "".join(part["text"] for part in content)
            found["failed"] += content.startswith("Error:")
    return found


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(name, count(name))
