"""Counts of request/response logs and cassettes by a second program: standard library and yaml.

Looks at answers only, one by one, and searches streams for the last usage they hold: (input with
caches, cached input, output) of all answers, their number and the number of failed requests.

Usage: independent_http_log.py FILE…
"""

import gzip
import json
import sys

import yaml


def count(path):
    responses = failed = 0
    totals = [0, 0, 0]
    for status, body in answers(path):
        if isinstance(body, bytes):
            body = (gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body).decode()
        if status >= 400:
            failed += 1
            continue
        responses += 1
        usage = {}
        for value in values(body):
            value = value.get("response", value)
            usage = value.get("usage") or value.get("usageMetadata") or usage
        for index, tokens in enumerate(three(usage)):
            totals[index] += tokens
    return {"responses": responses, "failed": failed, "tokens": tuple(totals)}


def values(body):
    if not isinstance(body, str):
        return [body]
    if body.lstrip().startswith("{"):
        return [json.loads(body)]
    lines = [line[6:] for line in body.splitlines() if line.startswith("data: {")]
    return map(json.loads, lines)


def answers(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if path.endswith(".yaml"):
        for call in yaml.safe_load(text)["interactions"]:
            yield call["response"]["status"]["code"], call["response"]["body"]["string"]
    else:
        for line in [text] if path.endswith(".json") else text.splitlines():
            record = json.loads(line)
            yield record.get("status", 200), record["response"]


def three(usage):
    if "promptTokenCount" in usage:
        output = usage["candidatesTokenCount"] + usage.get("thoughtsTokenCount", 0)
        return usage["promptTokenCount"], usage.get("cachedContentTokenCount", 0), output
    details = usage.get("input_tokens_details") or usage.get("prompt_tokens_details")
    if details is not None:
        whole = usage.get("input_tokens", usage.get("prompt_tokens"))
        output = usage.get("output_tokens", usage.get("completion_tokens"))
        return whole, details["cached_tokens"] or 0, output
    read = usage.get("cache_read_input_tokens", 0)
    written = usage.get("cache_creation_input_tokens", 0)
    return usage.get("input_tokens", 0) + read + written, read, usage.get("output_tokens", 0)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(name, count(name))
