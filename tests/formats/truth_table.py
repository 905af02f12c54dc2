"""What each file of the corpus marked `ours` keeps of one truth, file by file.

The truth: five model calls, four tool calls of which three fail, 1,100 tokens of input of which 256
came from a cache, 100 of output of which 20 were reasoning, and one retry that no log shows. Every
row was read off the file itself. A new reader extends the table by nothing but the name of its
format; rows of formats that no reader knows yet start to count when one is listed in `plugins`.
"""

from __future__ import annotations

from typing import NamedTuple

from loopaudit import plugins

#: the file names the number and it is nought, or leaves it out: both readings are right
ZERO_OR_ABSENT = -1


class Kept(NamedTuple):
    """What one file keeps. None: the file does not tell; `why` says how that comes."""

    responses: int | None = 5
    calls: int = 4
    failed: int = 3
    input: int | None = 1_100  # everything sent, cached parts included
    cached: int | None = 256
    output: int | None = 100
    reasoning: int | None = 20  # inside output
    usd: str | None = None  # as the file itself records it
    why: str = "all of it"


WHOLE = Kept()
FOUR = Kept(4, 3, 2, 1_000, 256, 80, 16, why="the scenario of the Vercel files: four responses")


def without_usage(why: str, responses: int = 5, calls: int = 4, failed: int = 3) -> Kept:
    return Kept(responses, calls, failed, None, None, None, None, why=why)


#: folder/file of the corpus -> name of the format (the first word of it is enough), what it keeps
ROWS: dict[str, tuple[str, Kept]] = {
    "inspect/inspect_0.3.285_loop_demo.json": (
        "inspect",
        Kept(4, 4, 2, 560, 160, 40, 12, why="a scenario of its own: 4 x (100 + 40 cached), 10 out"),
    ),
    "inspect/inspect_0.3.285_loop_demo_zstd.eval": (
        "inspect",
        Kept(4, 4, 2, 560, 160, 40, 12, why="the same log, packed with zstd"),
    ),
    "otel-genai-events-old/openai_v2_2.1b0.traces.otlp.jsonl": (
        "otel",
        Kept(calls=0, failed=0, cached=None, reasoning=None, why="content and details are in logs"),
    ),
    "otel-genai-events-old/openai_v2_2.1b0.logs.otlp.jsonl": (
        "otel",
        without_usage("events hold messages; usage is on the spans of the other file"),
    ),
    "otel-genai-events-old/openai_v2_2.1b0.nocontent.logs.otlp.jsonl": (
        "otel",
        without_usage("capture is off: names and ids of calls, no results", failed=0),
    ),
    "otel-genai/genai_openai_1.3b0.traces.otlp.jsonl": ("otel", WHOLE),
    "otel-genai/genai_openai_1.3b0.logs.otlp.jsonl": ("otel", WHOLE),
    "otel-genai/genai_langchain_1.3b0.traces.otlp.jsonl": ("otel", WHOLE),
    "otel-console/python_console_exporter_genai_openai.jsonl": ("otel", WHOLE),
    "otel-js-readable/vercel_ai_6.0.326_js_readablespan.jsonl": ("otel", FOUR),
    "openinference-otlp/openinference_openai_0.1.66.traces.otlp.jsonl": ("otel", WHOLE),
    "openinference-otlp/openinference_langchain_0.1.80.traces.otlp.jsonl": ("otel", WHOLE),
    "openllmetry-otlp/openllmetry_openai_0.62.4.traces.otlp.jsonl": ("otel", WHOLE),
    "openllmetry-otlp/openllmetry_langchain_0.62.4.traces.otlp.jsonl": (
        "otel",
        Kept(reasoning=None, why="the model spans leave reasoning out"),
    ),
    "langsmith/langgraph_runs.jsonl": ("langsmith", WHOLE),
    "langchain-messages/messages_to_dict.json": ("langchain", WHOLE),
    "langchain-messages/messages_model_dump.json": ("langchain", WHOLE),
    "langchain-messages/messages_dumpd.json": ("langchain", WHOLE),
    "langgraph/state_history.json": (
        "langgraph",
        Kept(why="eleven checkpoints, each with all messages before it"),
    ),
    "mlflow/trace_to_json.json": ("mlflow", WHOLE),
    "mlflow/search_traces_records.json": ("mlflow", WHOLE),
    "mlflow/artifact_traces.json": ("mlflow", WHOLE),
    "smolagents/full_steps.json": (
        "smolagents",
        Kept(
            9,
            8,
            8,
            900,
            ZERO_OR_ABSENT,
            180,
            32,
            why="eight failing calls, one last answer; reasoning of eight in the raw response",
        ),
    ),
    "smolagents/run_result.json": (
        "smolagents",
        Kept(9, 8, 8, 900, ZERO_OR_ABSENT, 180, 32, why="the same, with its sum beside it"),
    ),
    "autogen/task_result.json": (
        "autogen",
        Kept(7, 4, 3, 1_960, None, 140, None, why="the mock answered twice more; no details"),
    ),
    "autogen/team_state.json": (
        "autogen",
        Kept(7, 4, 3, 1_960, None, 140, None, why="usage is in the thread, not in the contexts"),
    ),
    "ag2/chat_result.json": (
        "ag2",
        Kept(cached=None, reasoning=None, usd="0.000225", why="usage only as a sum of the chat"),
    ),
    "openai-responses/agents_to_input_list.json": (
        "openai_responses",
        without_usage("items alone carry no usage"),
    ),
    "openai-agents/trace_export.jsonl": ("openai_agents", WHOLE),
    "openai-agents/raw_responses.json": (
        "openai_agents",
        Kept(failed=0, why="responses only: no results of tools"),
    ),
    "openai-chat/one_conversation_messages.json": (
        "openai_chat",
        without_usage("a list of messages, no usage"),
    ),
    "crewai/output_log_file.json": (
        "crewai",
        Kept(None, 0, 0, None, None, None, None, why="start and end of the task, nothing else"),
    ),
    "crewai/crew_output.json": ("crewai", Kept(why="usage only as a sum of the crew")),
    "vercel-ai/response_messages.json": (
        "vercel_ai",
        without_usage("messages only, of four responses", 4, 3, 2),
    ),
    "vercel-ai/steps.json": ("vercel_ai", FOUR),
    "mini-swe-agent/loop_v2_format_1.1.traj.json": (
        "mini_swe_agent",
        Kept(6, 3, 3, 1_320, 320, 120, 24, "0.000246", why="three of six answers broke the form"),
    ),
}


def reader_of(row: str) -> str | None:
    """The listed format that reads a row, or None while there is none."""
    wanted = ROWS[row][0]
    if wanted in plugins.FORMATS:
        return wanted
    return next((name for name in plugins.FORMATS if name.startswith(wanted)), None)


def table() -> str:
    """All rows as text, with what is still waiting for a reader."""
    heads = ("responses", "calls", "failed", "input", "cached", "output", "reasoning")
    lines = [f"{'file':70}{'reader':18}" + "".join(f"{head:>10}" for head in heads) + "  why"]
    for row, (_, kept) in ROWS.items():
        names = {None: "–", ZERO_OR_ABSENT: "0 or –"}
        cells = [names.get(n) or f"{n:,}" for n in kept[:7]]
        reader = reader_of(row) or "no reader yet"
        lines.append(f"{row:70}{reader:18}" + "".join(f"{c:>10}" for c in cells) + f"  {kept.why}")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
