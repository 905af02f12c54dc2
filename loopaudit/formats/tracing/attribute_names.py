"""Names of attributes by what they mean, for each convention: the tables behind `conventions`.

Of each list the first name that is there is taken. Sources: the conventions (GenAI, OpenInference,
OpenLLMetry) as of 2026-11, and spans that the libraries wrote.
"""

from __future__ import annotations

from loopaudit.formats.tracing.spans import Kind

# -- what kind of span ----------------------------------------------------------------------------

#: attribute that names the kind of a span -> its values; a value that is not here is "other"
KINDS: dict[str, dict[str, Kind]] = {
    "ai.operationId": {
        **dict.fromkeys(
            (
                *("ai.generateText.doGenerate", "ai.streamText.doStream"),
                *("ai.generateObject.doGenerate", "ai.streamObject.doStream"),
            ),
            Kind.MODEL,
        ),
        **dict.fromkeys(
            ("ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject"), Kind.AGENT
        ),
        "ai.toolCall": Kind.TOOL,
    },
    "gen_ai.operation.name": {
        **dict.fromkeys(
            ("chat", "generate_content", "text_completion", "completion", "responses"), Kind.MODEL
        ),
        "execute_tool": Kind.TOOL,
        "invoke_agent": Kind.AGENT,
        "invoke_workflow": Kind.AGENT,
    },
    "openinference.span.kind": {"LLM": Kind.MODEL, "TOOL": Kind.TOOL, "AGENT": Kind.AGENT},
    "mlflow.spanType": {
        **dict.fromkeys(("LLM", "CHAT_MODEL"), Kind.MODEL),
        "TOOL": Kind.TOOL,
        "AGENT": Kind.AGENT,
    },
    "langfuse.observation.type": {
        "generation": Kind.MODEL,
        "tool": Kind.TOOL,
        "agent": Kind.AGENT,
    },
    "langsmith.span.kind": {"llm": Kind.MODEL, "tool": Kind.TOOL, "agent": Kind.AGENT},
    "traceloop.span.kind": {"tool": Kind.TOOL, "agent": Kind.AGENT},
    "llm.request.type": {"chat": Kind.MODEL, "completion": Kind.MODEL},
}

# -- what stands where ----------------------------------------------------------------------------

SESSION = (
    *("gen_ai.conversation.id", "session.id", "langfuse.session.id", "mlflow.trace.session"),
    *("ai.telemetry.metadata.sessionId", "ai.telemetry.metadata.threadId"),
    *("traceloop.association.properties.session_id", "langsmith.trace.session_id"),
    *("traceloop.association.properties.thread_id", "langsmith.metadata.thread_id"),
    *("traceloop.association.properties.conversation_id", "gen_ai.session.id"),
)
USER = (
    *("user.id", "enduser.id", "langfuse.user.id", "gen_ai.user.id", "mlflow.trace.user"),
    *("ai.telemetry.metadata.userId", "traceloop.association.properties.user_id"),
)
AGENT = (
    *("gen_ai.agent.name", "agent.name", "agent_name", "ai.telemetry.functionId"),
    *("gen_ai.workflow.name", "traceloop.workflow.name", "traceloop.entity.name", "graph.node.id"),
)
MODEL = (
    *("gen_ai.response.model", "llm.response.model_name", "ai.response.model", "llm.model_name"),
    *("mlflow.llm.model", "langfuse.observation.model.name", "gen_ai.request.model"),
    *("llm.request.model_name", "ai.model.id", "model_name", "traceloop.model"),
)
RESPONSE_ID = ("gen_ai.response.id", "ai.response.id", "llm.response.id")
FINISH = ("gen_ai.response.finish_reasons", "ai.response.finishReason", "llm.finish_reason")
COST = (
    *("gen_ai.usage.cost", "gen_ai.usage.total_cost", "operation.cost", "llm.cost.total"),
    *(
        "llm.usage.cost",
        "gen_ai.cost.total",
        "mlflow.llm.cost",
        "langfuse.observation.cost_details",
    ),
)
SERVICE = (
    *("openai.response.service_tier", "gen_ai.openai.response.service_tier"),
    *("gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system", "ai.model.provider"),
)
INPUT = ("gen_ai.input.messages", "ai.prompt.messages", "mlflow.spanInputs", "gen_ai.prompt")
INPUT_TOO = (
    *("langfuse.observation.input", "input.value", "gen_ai.tool.input", "input"),
    *("traceloop.entity.input", "ai.prompt"),
)
OUTPUT = ("gen_ai.output.messages", "mlflow.spanOutputs", "gen_ai.completion")
OUTPUT_TOO = ("langfuse.observation.output", "output.value", "traceloop.entity.output", "output")
TOOL = (
    *("gen_ai.tool.name", "ai.toolCall.name", "tool.name", "tool_call.function.name", "tool_name"),
    *("mcp.tool.name", "traceloop.entity.name"),
)
CALL_ID = ("gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id", "tool.id", "tool_call_id")
ARGUMENTS = (
    *("gen_ai.tool.call.arguments", "ai.toolCall.args", "tool_arguments", "mlflow.spanInputs"),
    *("tool_call.function.arguments", "langfuse.observation.input", "input.value", "tool.input"),
    *("traceloop.entity.input", "input"),
)
RESULT = (
    *("gen_ai.tool.call.result", "ai.toolCall.result", "tool_response", "mlflow.spanOutputs"),
    *("langfuse.observation.output", "output.value", "tool.output", "traceloop.entity.output"),
    "output",
)
#: input, output, cache reads, cache writes, reasoning, total; the first whose input or output is
#: there is taken for all that it names
USAGE: tuple[tuple[tuple[str, ...], ...], ...] = (
    (
        ("ai.usage.inputTokens", "ai.usage.promptTokens"),
        ("ai.usage.outputTokens", "ai.usage.completionTokens"),
        ("ai.usage.inputTokenDetails.cacheReadTokens", "ai.usage.cachedInputTokens"),
        ("ai.usage.inputTokenDetails.cacheWriteTokens",),
        ("ai.usage.outputTokenDetails.reasoningTokens", "ai.usage.reasoningTokens"),
        ("ai.usage.totalTokens",),
    ),
    (
        ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
        ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
        (
            *("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens"),
            *("gen_ai.usage.input_tokens.cached", "gen_ai.usage.details.cache_read_tokens"),
            *("gen_ai.usage.details.cached_tokens", "gen_ai.usage.details.cache_read_input_tokens"),
        ),
        (
            *("gen_ai.usage.cache_write.input_tokens", "gen_ai.usage.cache_creation.input_tokens"),
            *(
                "gen_ai.usage.cache_creation_input_tokens",
                "gen_ai.usage.details.cache_write_tokens",
            ),
            "gen_ai.usage.details.cache_creation_input_tokens",
        ),
        (
            *("gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens"),
            *("gen_ai.usage.details.reasoning_tokens", "gen_ai.usage.output_tokens.reasoning"),
            "gen_ai.usage.details.thoughts_tokens",
        ),
        ("gen_ai.usage.total_tokens", "llm.usage.total_tokens"),
    ),
    (
        ("llm.token_count.prompt",),
        ("llm.token_count.completion",),
        (
            "llm.token_count.prompt_details.cache_read",
            "llm.token_count.prompt_details.cache_input",
        ),
        ("llm.token_count.prompt_details.cache_write",),
        ("llm.token_count.completion_details.reasoning",),
        ("llm.token_count.total",),
    ),
    (
        ("llm.usage.prompt_tokens", "gen_ai.aggregated_usage.input_tokens"),
        ("llm.usage.completion_tokens", "gen_ai.aggregated_usage.output_tokens"),
        ("gen_ai.aggregated_usage.cache_read.input_tokens",),
        ("gen_ai.aggregated_usage.cache_write.input_tokens",),
        ("gen_ai.aggregated_usage.reasoning.output_tokens",),
        ("llm.usage.total_tokens",),
    ),
)
