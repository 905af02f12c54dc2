"""ATIF trajectories (harbor, Terminal-Bench): steps of system, user and agent, versions 1.0 to 1.8.

One document or line is one trajectory; sub-agents stand inside it or in files of their own, which
it names. Usage is each step's: cached tokens lie inside the prompt. `final_metrics` is the sum,
with what summarising sub-agents used in files of their own; it counts only where no step tells its
usage. Steps copied from an earlier trajectory are left out. There is no flag for failures, and the
reward stands in the trial's result.json. Agents that write their calls as text are read from it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loopaudit.formats.apis.openai_chat import call_id
from loopaudit.formats.base import Format, Sample
from loopaudit.formats.logreader import LogReader
from loopaudit.formats.shapes import (
    Json,
    arguments,
    count,
    dollars,
    name,
    output_of,
    rows,
    seconds,
    table,
    text_of,
    whole,
    words,
)
from loopaudit.formats.text_actions import calls_in
from loopaudit.formats.tool_messages import status_of
from loopaudit.formats.totals import share_cost, share_usage
from loopaudit.formats.usages import anthropic_usage, openai_usage
from loopaudit.model import (
    BoundaryKind,
    BoundaryPiece,
    CallPiece,
    CallStatus,
    Piece,
    ResponsePiece,
    ResultPiece,
    RunPiece,
    StepKind,
    Usage,
)

_DEPTH = 20  # sub-agents of sub-agents
#: where converters keep what ATIF has no field for
_WRITTEN = ("cache_write_tokens", "cache_creation_input_tokens", "cache_write_input_tokens")
_STATUSES = {status.value: status for status in CallStatus}
_REASONING = ("reasoning_tokens", "reasoning_output_tokens", "thoughts_tokens")
_WRITES_BESIDE = frozenset(("opencode", "openclaw"))
_REASONS_BESIDE = frozenset(("opencode",))


class AtifReader(LogReader):
    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if not isinstance(record, dict) or not isinstance(record.get("steps"), list):
            if isinstance(record, dict) and "trial_name" in record:
                self.ignored["result of a trial"] += 1
                return ()
            return self.reject(line, "no ATIF trajectory: it has no steps")
        self.used += 1
        return self._trajectory(line, record, (), None, {}, 0)

    def _trajectory(
        self,
        line: int,
        record: Json,
        keys: tuple[Any, ...],
        parent: str | None,
        started_by: dict[str, str | None],
        depth: int,
    ) -> Iterable[Piece]:
        own = name(record.get("trajectory_id")) or name(record.get("session_id"))
        run = self.new_run(own)
        agent = table(record, "agent")
        told = (name(record.get(key)) for key in ("trajectory_id", "session_id"))
        extra = table(record, "extra")
        ours = (name(extra.get("written_by")) or "").startswith("loopaudit ")
        yield RunPiece(
            run,
            self.place(line, *keys),
            session=name(record.get("session_id")),
            parent=parent or (name(extra.get("parent")) if ours else None),
            parent_call=next((started_by[key] for key in told if key in started_by), None)
            or (name(extra.get("parent_call")) if ours else None),
            agent=name(agent.get("name")),
            version=name(agent.get("version")),
            model=name(agent.get("model_name")),
        )
        pieces: list[Piece] = []
        children: dict[str, str | None] = {}  # id of a sub-agent -> call that started it
        for index, step in enumerate(record["steps"]):
            place = self.place(line, *keys, "steps", index)
            if not isinstance(step, dict):
                self.reject(place, "no step")
            elif step.get("is_copied_context") is True:
                self.ignored["step copied from an earlier trajectory"] += 1
            else:
                writer = None if ours else name(agent.get("name"))
                found = _step(step, children, index, writer)
                for piece in found:
                    piece.run, piece.line = run, place
                pieces += found
        _share_totals(pieces, table(record, "final_metrics"))
        yield from self.emit(pieces)
        inside = record.get("subagent_trajectories")
        for index, child in enumerate(inside if isinstance(inside, list) else ()):
            inner = (*keys, "subagent_trajectories", index)
            if depth < _DEPTH and isinstance(child, dict) and isinstance(child.get("steps"), list):
                yield from self._trajectory(line, child, inner, run, children, depth + 1)
            else:
                self.reject(self.place(line, *inner), "no sub-agent's trajectory")


def _step(
    step: Json, children: dict[str, str | None], index: int, agent: str | None
) -> list[Piece]:
    at = seconds(step.get("timestamp"))
    source = step.get("source")
    text = text_of(step.get("message"))
    results = rows(table(step, "observation").get("results"))
    for result in results:
        for ref in rows(result.get("subagent_trajectory_ref")):
            for key in ("trajectory_id", "session_id"):
                child = name(ref.get(key))
                if child is not None:
                    children[child] = call_id(result.get("source_call_id"))
    if source == "agent":
        return _agent_step(step, at, text, results, agent)
    managed = table(table(step, "extra"), "context_management")
    if managed.get("type") == "compaction":
        return [BoundaryPiece("", 0, BoundaryKind.COMPACTION, at, text)]
    if source == "user":
        return [BoundaryPiece("", 0, BoundaryKind.USER, at, text)]
    if source == "system" and index > 1 and text:
        return [BoundaryPiece("", 0, BoundaryKind.REMINDER, at, text)]
    return []


def _agent_step(
    step: Json, at: float | None, text: str | None, results: list[Json], agent: str | None
) -> list[Piece]:
    calls = tuple(
        CallPiece(
            call_id(item.get("tool_call_id")),
            name(item.get("function_name")) or "unknown",
            arguments(item.get("arguments")),
            seconds(table(item, "extra").get("timestamp")),
        )
        for item in rows(step.get("tool_calls"))
    )
    answered = [result for result in results if "content" in result]
    if not calls:
        calls = calls_in(text)
    metrics = table(step, "metrics")
    thinking = words(step.get("reasoning_content"))
    response = ResponsePiece(
        "",
        0,
        at=at,
        model=name(step.get("model_name")),
        text=text,
        thinking_chars=len(thinking) if thinking else 0,
        calls=calls,
        usage=_usage(metrics, agent),
        cost=dollars(metrics.get("cost_usd")) or None,  # 0: no price was known
    )
    if step.get("llm_call_count") == 0:
        response.usage = response.usage or Usage(fresh_input=0, output=0, note="no model was asked")
    pieces: list[Piece] = [response]
    known = {call.id for call in calls}
    loose = [r for r in answered if call_id(r.get("source_call_id")) not in known or not known]
    for result in answered:
        key = call_id(result.get("source_call_id"))
        if result not in loose or (key is None and len(loose) == len(calls)):
            pieces.append(_result(result, key, at))
    if loose and len(loose) != len(calls):
        # one screen for all the commands of a step: each of its open calls brought it
        taken = {call_id(r.get("source_call_id")) for r in answered}
        waiting = [call for call in calls if call.id is None or call.id not in taken]
        for call in waiting:
            pieces.append(_result(_joined(loose), call.id, at))
        if not waiting:
            said = text_of(_joined(loose).get("content"))
            pieces.append(BoundaryPiece("", 0, BoundaryKind.REMINDER, at, said))
    return pieces


def _joined(results: list[Json]) -> Json:
    if len(results) == 1:
        return results[0]
    texts = [text_of(result.get("content")) or "" for result in results]
    return {"content": "\n".join(texts), "extra": table(results[-1], "extra")}


def _result(result: Json, key: str | None, at: float | None) -> ResultPiece:
    """No flag tells a failure; some writers put one, or an exit code, into `extra`."""
    extra = table(result, "extra")
    text = output_of(result.get("content"))
    code = whole(extra.get("exit_code", extra.get("returncode")))
    flags = (extra.get("is_error"), extra.get("tool_result_is_error"))
    flag = next((found for found in flags if isinstance(found, bool)), None)
    told = extra.get("status")
    if isinstance(told, str) and told in _STATUSES:  # written by loopaudit
        status = _STATUSES[told]
    elif isinstance(flag, bool):
        status = CallStatus.ERROR if flag else CallStatus.OK
    elif code is not None:
        status = CallStatus.ERROR if code else CallStatus.OK
    else:
        status = status_of(text)
    piece = ResultPiece("", 0, key, text, at, status, exit_code=code)
    piece.flagged = told == CallStatus.OK.value
    return piece


def _usage(metrics: Json, agent: str | None = None) -> Usage | None:
    """Tokens of a step. The prompt holds what was read from and written to a cache, the completion
    the reasoning; converters of some agents (harbor 0.26) put the one or the other beside them.
    """
    extra = table(metrics, "extra")
    prompt, completion = (
        count(metrics.get("prompt_tokens")),
        count(metrics.get("completion_tokens")),
    )
    read = metrics.get("cached_tokens")
    written = next((count(extra[key]) for key in _WRITTEN if extra.get(key) is not None), None)
    outside = table(extra, "completion_tokens_details")
    thoughts = [*(extra.get(key) for key in _REASONING), outside.get("reasoning_tokens")]
    reasoning = next((found for found in map(count, thoughts) if found is not None), None)
    if agent in _WRITES_BESIDE and prompt is not None:
        prompt += written or 0
    if agent in _REASONS_BESIDE and completion is not None:
        completion += reasoning or 0
    split = table(extra, "cache_creation")
    if split and prompt is not None and "cache_read_input_tokens" in extra:  # Anthropic's own
        fresh = prompt - (count(read) or 0) - (written or 0)
        return anthropic_usage({**extra, "input_tokens": fresh, "output_tokens": completion})
    return openai_usage(
        {
            "prompt_tokens": metrics.get("prompt_tokens") if prompt is None else prompt,
            "completion_tokens": metrics.get("completion_tokens")
            if completion is None
            else completion,
            "prompt_tokens_details": {"cached_tokens": read, "cache_write_tokens": written},
            "completion_tokens_details": {"reasoning_tokens": reasoning},
        }
    )


def _share_totals(pieces: list[Piece], final: Json) -> None:
    """The sums of the trajectory, where no step tells its own part."""
    answers = [p for p in pieces if isinstance(p, ResponsePiece) and p.kind is StepKind.MODEL]
    keys = ("prompt_tokens", "completion_tokens", "cached_tokens")
    total = _usage({key: final.get(f"total_{key}") for key in keys})
    if total is not None and all(piece.usage is None for piece in answers):
        share_usage(total, answers)
    cost = dollars(final.get("total_cost_usd"))
    if cost and all(piece.cost is None for piece in answers):
        share_cost(cost, answers)


def sniff(sample: Sample) -> float:
    records = sample.records
    if not records or not all(isinstance(record, dict) for record in records):
        return 0.0
    if all(str(record.get("schema_version", "")).startswith("ATIF-") for record in records):
        return 0.99
    first = records[0]
    trial = "trial_name" in first and "verifier_result" in first and "agent_result" in first
    return 0.9 if trial else 0.0


FORMAT = Format(
    name="atif",
    title="ATIF trajectories",
    sniff=sniff,
    reader=AtifReader,
    describes=(
        "Agent trajectories as harbor and Terminal-Bench 2 write them (agent/trajectory.json), one "
        "document or line each. Failures are told in words only, and the reward stands in the "
        "trial's result.json, which is passed over."
    ),
)
