"""Counts of OpenAI Agents traces and raw responses by a second program: standard library only.

Usage: independent_openai_agents.py FILE…
"""

import json
import sys


def count(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    found = dict.fromkeys(("responses", "calls", "results", "failed", "users"), 0)
    usages = []
    if text.startswith("["):
        for response in json.loads(text):
            found["responses"] += 1
            usages.append(response["usage"])
            found["calls"] += sum(o["type"] == "function_call" for o in response["output"])
    else:
        longest = []
        for span in map(json.loads, text.splitlines()):
            data = span.get("span_data", {})
            if data.get("type") == "generation":
                found["responses"] += 1
                usages.append(data["usage"])
                for message in data["output"]:
                    found["calls"] += len(message.get("tool_calls") or [])
                longest = max(longest, data["input"], key=len)
            elif data.get("type") == "function":
                found["results"] += 1
                found["failed"] += span["error"] is not None
        found["users"] = sum(message["role"] == "user" for message in longest)
    cached = sum(u["input_tokens_details"]["cached_tokens"] for u in usages)
    whole = sum(u["input_tokens"] for u in usages)
    found["tokens"] = (whole, cached, sum(u["output_tokens"] for u in usages))
    return found


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(name, count(name))
