"""Files of tracing systems, each read whole through the program: what it is, and where it loops.

The figures were checked against the files without loopaudit. Of the files that record the known
truth (five responses, four calls, the first three failed): 100+160+220+280+340 tokens sent, 64 of
each but the first from the cache, 20 answered, 4 of them reasoning; the loop begins with the
response that makes the failed call again, the line is that of its span. By hand, span by span:
- `pydantic_ai_2.58.0_delegation.json`: `boss_agent` 54+55 sent, 5+10 answered; within its tool
  `ask_helper` the `helper_agent` 51 and 1, a run of its own.
- `openai_agents_0.24.0_oi_2.5.3_as_tool.json`: Boss 30+60 and 10+10, Helper 30 and 10 within
  `ask_helper`; nine of its spans are chains, turns and agents.
- `langsmith/langgraph_runs.jsonl`: 23 runs, of them 5 `llm` and 4 `tool`; tokens stand three times
  in each `llm` run.
- `langfuse/agno`: two generations with one generation in each; the outer tell running sums (542
  and 1,568), the inner 163+663 and 20+225, which the raw answers in the outputs confirm. The call
  `duckduckgo_search` stands in the output of the outer one alone.
- `langfuse/beeai`: three operations of the model and one of a tool, each in up to three spans;
  Langfuse counted the input itself (1,195+1,988+2,359), the answers nobody counted.
- `langfuse/langgraph-js`: 142+179 sent; 24 answered, then 35 beside 64 of reasoning (278 in all).
- `langfuse/pydantic-ai-tools-2025-12-04`: `joke_agent` runs twice in one conversation (265+417+502,
  73+53+14, three calls), `evaluator_agent` in another (131, 69, one call that nothing answers).
- `langfuse/vercel-aisdk`: of 57 and 147 tokens on two generations, one in the other, 147 count.
- `mlflow/trace_to_json.json`: ten spans; the sum on the trace is left out.
- `langfuse-chatml/*`: answers of models by observation; chains, tools and repeats are left out.
"""

import pytest
from api_files import form
from test_api_corpus import values_of

from loopaudit import plugins
from loopaudit.formats.base import Sample
from loopaudit.ingest.documents import parse_document
from loopaudit.replay.audit import AuditOptions, audit

FOLDERS = (
    *("otel-genai", "otel-genai-events-old", "otel-console", "otel-js-readable"),
    *("openinference-otlp", "openllmetry-otlp", "langsmith", "langfuse", "langfuse-chatml"),
    *("mlflow", "openai-agents"),
)
AGAIN = "permanent-error-retried"
#: file -> reader, runs, responses, calls, failed calls,
#: (fresh, cache read, cache write, output, reasoning), loops with the line of their onset
FILES = {
    "otel-genai/genai_langchain_1.3b0.traces.otlp.jsonl": (
        "otel",
        1,
        5,
        4,
        3,
        (844, 256, None, 100, 20),
        [(AGAIN, 3)],
    ),
    "otel-genai/genai_openai_1.3b0.logs.otlp.jsonl": (
        "otel",
        1,
        5,
        4,
        3,
        (844, 256, None, 100, 20),
        [(AGAIN, 2)],
    ),
    "otel-genai/genai_openai_1.3b0.traces.otlp.jsonl": (
        "otel",
        1,
        5,
        4,
        3,
        (844, 256, None, 100, 20),
        [(AGAIN, 2)],
    ),
    "otel-genai/pydantic_ai_2.58.0.json": ("otel", 2, 3, 2, 0, (184, None, None, 42, None), []),
    "otel-genai/pydantic_ai_2.58.0_delegation.json": (
        "otel",
        2,
        3,
        1,
        0,
        (160, None, None, 16, None),
        [],
    ),
    "otel-genai-events-old/openai_v2_2.1b0.logs.otlp.jsonl": (
        "otel",
        1,
        5,
        4,
        3,
        (None, None, None, None, None),
        [(AGAIN, 4)],
    ),
    "otel-genai-events-old/openai_v2_2.1b0.nocontent.logs.otlp.jsonl": (
        "otel",
        1,
        5,
        4,
        0,
        (None, None, None, None, None),
        [],
    ),
    "otel-genai-events-old/openai_v2_2.1b0.traces.otlp.jsonl": (
        "otel",
        1,
        5,
        0,
        0,
        (1100, None, None, 100, None),
        [],
    ),
    "otel-console/python_console_exporter_genai_openai.jsonl": (
        "otel",
        1,
        5,
        4,
        3,
        (844, 256, None, 100, 20),
        [(AGAIN, 48)],
    ),
    "otel-js-readable/vercel_ai_6.0.326_js_readablespan.jsonl": (
        "otel",
        1,
        4,
        3,
        2,
        (744, 256, 0, 80, 16),
        [],
    ),
    "openinference-otlp/openai_agents_0.24.0_oi_2.5.3_as_tool.json": (
        "otel",
        2,
        3,
        1,
        0,
        (120, 0, 0, 30, 0),
        [],
    ),
    "openinference-otlp/openinference_langchain_0.1.80.traces.otlp.jsonl": (
        "otel",
        1,
        5,
        4,
        3,
        (844, 256, None, 100, 20),
        [(AGAIN, 5)],
    ),
    "openinference-otlp/openinference_openai_0.1.66.traces.otlp.jsonl": (
        "otel",
        1,
        5,
        4,
        3,
        (844, 256, None, 100, 20),
        [(AGAIN, 2)],
    ),
    "openllmetry-otlp/openllmetry_langchain_0.62.4.traces.otlp.jsonl": (
        "otel",
        1,
        5,
        4,
        3,
        (844, 256, None, 100, None),
        [(AGAIN, 14)],
    ),
    "openllmetry-otlp/openllmetry_openai_0.62.4.traces.otlp.jsonl": (
        "otel",
        1,
        5,
        4,
        3,
        (844, 256, None, 100, 20),
        [(AGAIN, 2)],
    ),
    "langsmith/langgraph_runs.jsonl": (
        "langsmith",
        1,
        5,
        4,
        3,
        (844, 256, None, 100, 20),
        [(AGAIN, 8)],
    ),
    "langsmith/langsmith_py_wrap_openai_.json": ("langsmith", 1, 1, 0, 0, (9, 0, None, 9, 0), []),
    "langsmith/langsmith_py_wrap_openai_reasoning.json": (
        "langsmith",
        1,
        1,
        0,
        0,
        (43, 0, None, 2497, 1408),
        [],
    ),
    "langsmith/langsmith_py_wrap_openai_stream_no_usage.json": (
        "langsmith",
        1,
        1,
        0,
        0,
        (None, None, None, None, None),
        [],
    ),
    "langfuse/agno-2025-06-11.trace.json": (
        "langfuse",
        1,
        2,
        1,
        0,
        (826, None, None, 245, None),
        [],
    ),
    "langfuse/autogen-2025-06-06.trace.json": (
        "langfuse",
        1,
        1,
        0,
        0,
        (41, None, None, 3, None),
        [],
    ),
    "langfuse/beeai-2025-08-01.trace.json": (
        "langfuse",
        1,
        3,
        1,
        0,
        (5542, None, None, None, None),
        [],
    ),
    "langfuse/google-gemini-2025-08-01.trace.json": (
        "langfuse",
        1,
        1,
        0,
        0,
        (6, None, None, 2055, 1104),
        [],
    ),
    "langfuse/koog-2025-08-26.trace.json": (
        "langfuse",
        1,
        2,
        2,
        0,
        (215, None, None, 125, None),
        [],
    ),
    "langfuse/langgraph-js-2025-10-30.trace.json": (
        "langfuse",
        1,
        2,
        1,
        0,
        (321, 0, None, 123, 64),
        [],
    ),
    "langfuse/langgraph-python-2025-08-22.trace.json": (
        "langfuse",
        1,
        2,
        1,
        0,
        (168, 0, None, 66, 0),
        [],
    ),
    "langfuse/llamaindex-2025-06-05.trace.json": ("langfuse", 1, 1, 0, 0, (13, 0, None, 81, 0), []),
    "langfuse/openai-agents-2025-09-30.trace.json": (
        "langfuse",
        1,
        2,
        1,
        0,
        (140, 0, None, 44, 0),
        [],
    ),
    "langfuse/pydantic-ai-2025-06-06.trace.json": (
        "langfuse",
        1,
        1,
        0,
        0,
        (31, None, None, 96, None),
        [],
    ),
    "langfuse/pydantic-ai-tools-2025-06-06.trace.json": (
        "langfuse",
        1,
        1,
        0,
        0,
        (31, None, None, 96, None),
        [],
    ),
    "langfuse/pydantic-ai-tools-2025-12-04.trace.json": (
        "langfuse",
        2,
        4,
        4,
        0,
        (1315, None, None, 209, None),
        [],
    ),
    "langfuse/pydantic-ai-with-gemini-2025-12-24.trace.json": (
        "langfuse",
        1,
        1,
        0,
        0,
        (40, None, None, 159, 121),
        [],
    ),
    "langfuse/seeder_google-vertex-tools-langchain-2025-09-19.json": (
        "langfuse",
        1,
        1,
        0,
        0,
        (1200, 0, None, 15, 0),
        [],
    ),
    "langfuse/seeder_microsoft-agent-2025-10-14.json": (
        "langfuse",
        1,
        2,
        1,
        0,
        (656, None, None, 105, None),
        [],
    ),
    "langfuse/vercel-aisdk-2025-11-17.trace.json": (
        "langfuse",
        1,
        1,
        1,
        0,
        (62, None, None, 85, None),
        [],
    ),
    "langfuse-chatml/claude-agent-2025-12-22.chatml.json": (
        "langfuse",
        1,
        4,
        2,
        0,
        (None, None, None, None, None),
        [],
    ),
    "langfuse-chatml/langgraph-js-2025-10-30.chatml.json": (
        "langfuse",
        1,
        2,
        1,
        0,
        (None, None, None, None, None),
        [],
    ),
    "langfuse-chatml/vercel-aisdk-2025-11-17.chatml.json": (
        "langfuse",
        1,
        1,
        1,
        0,
        (None, None, None, None, None),
        [],
    ),
    "mlflow/artifact_traces.json": ("mlflow", 1, 5, 4, 3, (844, 256, None, 100, 20), [(AGAIN, 1)]),
    "mlflow/search_traces_records.json": (
        "mlflow",
        1,
        5,
        4,
        3,
        (844, 256, None, 100, 20),
        [(AGAIN, 1)],
    ),
    "mlflow/trace_to_json.json": ("mlflow", 1, 5, 4, 3, (844, 256, None, 100, 20), [(AGAIN, 119)]),
    "openai-agents/raw_responses.json": ("openai_agents", 1, 5, 4, 0, (844, 256, 0, 100, 20), []),
    "openai-agents/trace_export.jsonl": (
        "openai_agents",
        1,
        5,
        4,
        3,
        (844, 256, 0, 100, 20),
        [("same-call-same-result", 5)],
    ),
}


def test_every_file_has_a_row(shared):
    corpus = shared / "corpus"
    found = {f"{folder}/{p.name}" for folder in FOLDERS for p in (corpus / folder).iterdir()}
    assert found == set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_a_file_tells_what_it_holds(shared, name):
    options = AuditOptions([str(shared / "corpus" / name)], processes=1, now=2e9)
    report = audit(options)
    assert report.skips == []
    assert report.failures == []
    totals, tokens = report.totals, report.totals.tokens
    (entry,) = report.inputs
    found = (
        entry.format,
        totals.runs,
        totals.responses,
        totals.calls,
        totals.calls_failed,
        (
            tokens.fresh_input,
            tokens.cache_read,
            tokens.cache_write,
            tokens.output,
            tokens.reasoning,
        ),
        [(finding.rule, finding.onset.line) for finding in report.findings],
    )
    assert found == FILES[name]
    assert entry.confidence >= 0.9
    assert entry.records_used > 0


@pytest.mark.parametrize("name", FILES)
def test_no_other_reader_is_as_sure(shared, name):
    path = shared / "corpus" / name
    values, document = values_of(path)
    if path.suffix == ".json" or document or "console" in name:  # values over several lines
        values = [value for _, value in parse_document(path.read_bytes(), name).values]
    sample = Sample(name, values[:64], len(values) == 1)
    scores = sorted((form(other).sniff(sample), other) for other in plugins.FORMATS)
    assert scores[-1][1] == FILES[name][0]
    assert scores[-2][0] < 0.5, scores[-3:]


def test_files_of_other_formats_are_not_claimed(shared):
    corpus, claimed = shared / "corpus", []
    for path in sorted(corpus.rglob("*")):
        folder = path.relative_to(corpus).parts[0]
        if not path.is_file() or folder in FOLDERS or path.suffix not in (".json", ".jsonl"):
            continue
        values, document = values_of(path)
        sample = Sample(str(path), values[:64], document or len(values) == 1)
        for name in ("otel", "langsmith", "langfuse", "mlflow"):
            if values and form(name).sniff(sample) >= 0.3:
                claimed.append((str(path), name))
    assert claimed == []


def test_spans_and_messages_in_two_files_are_one_run(shared):
    """The older convention: usage stands in one file, messages in the other, joined by span id."""
    folder = shared / "corpus/otel-genai-events-old"
    names = ("openai_v2_2.1b0.traces.otlp.jsonl", "openai_v2_2.1b0.logs.otlp.jsonl")
    report = audit(AuditOptions([str(folder / name) for name in names], processes=1, now=2e9))
    totals = report.totals
    assert (totals.runs, totals.responses, totals.calls, totals.calls_failed) == (1, 5, 4, 3)
    assert (totals.tokens.fresh_input, totals.tokens.output) == (1100, 100)
    assert [(f.rule, f.onset.step) for f in report.findings] == [(AGAIN, 1)]
    assert report.totals.reasons == []


def test_a_trace_exported_three_times_counts_once(shared):
    """MLflow's artifact, its JSON and its row hold the same trace."""
    report = audit(AuditOptions([str(shared / "corpus/mlflow")], processes=1, now=2e9))
    totals = report.totals
    assert (totals.runs, totals.responses, totals.calls, totals.calls_failed) == (1, 5, 4, 3)
    assert totals.tokens.total == 1200
