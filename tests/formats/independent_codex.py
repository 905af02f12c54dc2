"""A second program that counts Codex rollouts: `token_count` events whose counter has moved.

Shares no line with loopaudit. A response is told by `last_token_usage`; cached tokens lie inside
the input. Calls and outputs are counted by their item types.
"""

import json

CALLS = {
    "function_call",
    "custom_tool_call",
    "local_shell_call",
    "web_search_call",
    "tool_search_call",
    "image_generation_call",
    "tool_call",
}


def lines(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        for text in file:
            if text.strip():
                yield json.loads(text)


def tokens(path):
    """(input outside the cache, cached, output, reasoning inside output) of one file."""
    fresh = cached = output = reasoning = 0
    counter = None
    for line in lines(path):
        payload = line.get("payload") or {}
        if line.get("type") != "event_msg" or payload.get("type") != "token_count":
            continue
        info = payload.get("info") or {}
        last = info.get("last_token_usage")
        if last is None or info.get("total_token_usage") == counter:
            continue
        counter = info.get("total_token_usage")
        cached += last.get("cached_input_tokens") or 0
        fresh += last["input_tokens"] - (last.get("cached_input_tokens") or 0)
        output += last["output_tokens"]
        reasoning += last.get("reasoning_output_tokens") or 0
    return fresh, cached, output, reasoning


def calls(path):
    kinds = [(line.get("payload") or line).get("type") for line in lines(path)]
    return sum(kind in CALLS for kind in kinds)
