"""What the columns of the tables runs, steps and findings mean, with their units."""

from __future__ import annotations

from typing import Any

_TOKENS = {
    "fresh_input": "input tokens that no cache held; null: not told",
    "cache_read": "input tokens read from the provider's cache",
    "output": "output tokens, reasoning included",
    "tokens": "tokens of all buckets together",
}

COLUMNS: dict[str, dict[str, str]] = {
    "runs": {
        "run": "id of the run; steps and findings name it",
        "parent": "id of the run that started it",
        "session": "session as the log names it",
        "path": "log file",
        "format": "format of the log",
        "agent": "program that wrote the log, or agent as the log names it",
        "version": "version of that program",
        "models": "models, with commas between",
        "project": "project or working folder",
        "task_type": "kind of work",
        "task_type_source": "what the kind of work was told from",
        "outcome": "how the run ended for its user; null: not known",
        "outcome_by": "who judged it",
        "outcome_source": "what the judgement was told from",
        "steps": "model responses that the run itself paid for",
        "calls": "calls of tools",
        "calls_failed": "calls of tools that failed",
        "started": "first time in the run, UTC",
        "ended": "last time in the run, UTC",
        "fresh_input": _TOKENS["fresh_input"],
        "cache_read": _TOKENS["cache_read"],
        "cache_write": "input tokens written to the cache, of all lifetimes",
        "output": _TOKENS["output"],
        "reasoning": "tokens of reasoning, part of output",
        "tokens": _TOKENS["tokens"],
        "usd": "cost at list price, USD; a lower bound where a step has no price",
        "recorded_usd": "cost as the log tells it, USD",
        "waste_steps": "steps of which loops wasted all or a part",
        "waste_tokens": "tokens that loops wasted",
        "waste_usd": "the same at list price, USD",
        "loops": "findings in the run",
    },
    "steps": {
        "run": "id of the run that paid for the step",
        "step": "number of the step in its run, from 1",
        "line": "line of the log, from 1",
        "at": "time of the response, UTC",
        "model": "model as the log names it",
        "compaction": "whether the response made a summary of the context",
        "calls": "calls of tools",
        "failed": "calls of tools that failed",
        "fresh_input": _TOKENS["fresh_input"],
        "cache_read": _TOKENS["cache_read"],
        "cache_write_5m": "input tokens written to the cache for five minutes",
        "cache_write_1h": "input tokens written to the cache for an hour",
        "cache_write_unsplit": "input tokens written to the cache, for how long is not told",
        "output": _TOKENS["output"],
        "reasoning": "tokens of reasoning, part of output",
        "web_searches": "searches of the web by the provider, a number and no tokens",
        "tokens": _TOKENS["tokens"],
        "usage": "how the tokens are known: reported, estimated, lower_bound, absent",
        "usd": "cost at list price, USD; null: no usage or no price",
        "wasted_part": "part of the step that loops wasted, 0 to 1",
    },
    "findings": {
        "finding": "id of the finding, the same in every output",
        "rule": "rule that found it; loopaudit explain RULE tells of it",
        "run": "id of the run",
        "tool": "tool that was called again",
        "key": "hash of what was repeated",
        "path": "log file of the onset",
        "first_seen_step": "step at which it was first done, from 1",
        "onset_step": "first step that was one too many, from 1",
        "onset_line": "line of the log of that step, from 1",
        "onset_at": "time of that step, UTC",
        "last_step": "last step of the loop, from 1",
        "occurrences": "times it was done",
        "period": "calls in one turn of the loop",
        "ended_by": "what ended the loop",
        "retryable": "whether the error could go away by itself",
        "confidence": "0 to 1",
        "waste_steps": "steps of which it wasted all or a part",
        "waste_tokens": "tokens that it wasted",
        "waste_usd": "the same at list price, USD",
        "waste_share": "part of the run's tokens that it wasted, 0 to 1",
        "estimated": "whether the waste is an estimate",
    },
}


def columns() -> dict[str, list[dict[str, Any]]]:
    """The columns of each table in order: name, type, what it holds."""
    from loopaudit.render import frames

    kinds = {"runs": frames.RUNS, "steps": frames.STEPS, "findings": frames.FINDINGS}
    return {
        table: [
            {"column": name, "type": _words(kind), "holds": COLUMNS[table][name]}
            for name, kind in schema.items()
        ]
        for table, schema in kinds.items()
    }


def _words(kind: Any) -> str:
    names = {
        "String": "text",
        "Int64": "whole number",
        "Float64": "number",
        "Boolean": "true or false",
    }
    text = str(kind)
    if text.startswith("Decimal"):
        return "exact decimal"
    return "time" if text.startswith("Datetime") else names[text]
