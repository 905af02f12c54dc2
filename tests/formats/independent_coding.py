"""Counts calls and tokens of coding agents' logs with plain JSON and none of loopaudit's code.

Each function takes the records of one file and gives (calls, failed calls, tokens of all kinds).
"""

import json
from pathlib import Path


def records(path):
    """JSON values of a file: one document, or lines, of which one may hold two values."""
    text = Path(path).read_text(encoding="utf-8")
    try:
        return [json.loads(text)]
    except ValueError:
        pass
    found, decoder = [], json.JSONDecoder()
    for line in text.splitlines():
        at = 0
        while at < len(line.rstrip()):
            value, at = decoder.raw_decode(line, at)
            found.append(value)
    return found


def gemini_cli(values):
    messages = {}
    for value in values:
        for message in value.get("messages", [value]):
            if message.get("type") == "gemini":
                messages[message["id"]] = message
    calls = [call for m in messages.values() for call in m.get("toolCalls", [])]
    failed = sum(call["status"] == "error" for call in calls)
    return len(calls), failed, sum(m.get("tokens", {}).get("total", 0) for m in messages.values())


def pi(values):
    inside = [value["message"] for value in values if value.get("type") == "message"]
    return _pi(inside)


def openclaw_telemetry(values):
    messages = {}
    for value in values:
        if value["type"] == "agent.end":
            for message in value["messages"]:
                key = (value["sessionKey"], message["timestamp"], json.dumps(message["content"]))
                messages[key] = message
    return _pi(messages.values())


def _pi(messages):
    calls = failed = tokens = 0
    for message in messages:
        if message["role"] == "assistant":
            calls += sum(block["type"] == "toolCall" for block in message["content"])
            used = message.get("usage", {})
            tokens += sum(used.get(k, 0) for k in ("input", "output", "cacheRead", "cacheWrite"))
        elif message["role"] == "toolResult" and message.get("isError"):
            # a call that the user stopped has not failed
            failed += "aborted" not in message["content"][0]["text"][:40]
    return calls, failed, tokens


def copilot_cli(values):
    outputs, calls, failed = {}, set(), 0
    for value in values:
        data = value["data"]
        if value["type"] == "assistant.message":
            key = data.get("apiCallId") or data.get("messageId")
            outputs[key] = max(outputs.get(key, 0), data.get("outputTokens") or 0)
            calls |= {request["toolCallId"] for request in data["toolRequests"]}
        failed += value["type"] == "tool.execution_complete" and not data["success"]
    return len(calls), failed, sum(outputs.values())


def kimi_cli(values):
    """Every `usage.record` once: each step has one, and the compaction."""
    calls = failed = tokens = 0
    for value in values:
        event = value.get("event", {})
        calls += event.get("type") == "tool.call"
        failed += event.get("type") == "tool.result" and event["result"].get("isError") is True
        if value.get("type") == "usage.record":
            tokens += sum(value["usage"].values())
    return calls, failed, tokens


def qwen_code(values):
    calls = tokens = 0
    for value in values:
        parts = value.get("message", {}).get("parts", [])
        calls += sum("functionCall" in part for part in parts)
        used = value.get("usageMetadata", {})
        tokens += used.get("promptTokenCount", 0) + used.get("candidatesTokenCount", 0)
    return calls, 0, tokens
