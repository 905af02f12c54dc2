"""The API readers on real files: right reader, nothing lost, totals as a second program counts."""

import independent_http_log
import independent_openai_agents
import independent_openai_chat
import independent_openai_responses
import independent_vercel_ai
import pytest
from api_files import API_FORMATS, form, read_file, sample_of, values_of

from loopaudit.model import AttemptPiece, BoundaryPiece, CallStatus, ResponsePiece, ResultPiece

READERS = {
    "openai-chat": ("openai_chat", independent_openai_chat),
    "openai-responses": ("openai_responses", independent_openai_responses),
    "openai-agents": ("openai_agents", independent_openai_agents),
    "vercel-ai": ("vercel_ai", independent_vercel_ai),
    "reqresp-openai-chat": ("http_log", independent_http_log),
    "reqresp-openai-responses": ("http_log", independent_http_log),
    "reqresp-anthropic-messages": ("http_log", independent_http_log),
    "reqresp-gemini-generate": ("http_log", independent_http_log),
    "http-cassette": ("http_log", independent_http_log),
    "openhands-llm-log": ("http_log", independent_http_log),
}


def files_of(shared, folders=READERS):
    found = [path for folder in folders for path in sorted((shared / "corpus" / folder).iterdir())]
    assert found
    return found


def totals(pieces):
    """Counts of pieces, and tokens as (input with caches, cache read, output) or None."""
    responses = [p for p in pieces if isinstance(p, ResponsePiece)]
    results = [p for p in pieces if isinstance(p, ResultPiece)]
    usages = [p.usage for p in responses if p.usage is not None]
    tokens = (
        sum(u.input or 0 for u in usages),
        sum(u.cache_read or 0 for u in usages),
        sum(u.output or 0 for u in usages),
    )
    return {
        "responses": len(responses),
        "calls": sum(len(p.calls) for p in responses),
        "results": len(results),
        "failed": sum(p.status is CallStatus.ERROR for p in results),
        "users": sum(isinstance(p, BoundaryPiece) for p in pieces),
        "tokens": tokens if usages else None,
    }


def test_each_file_goes_to_its_reader_and_no_other_is_as_sure(shared):
    for path in files_of(shared):
        scores = {name: form(name).sniff(sample_of(path)) for name in API_FORMATS}
        assert max(scores, key=scores.get) == READERS[path.parent.name][0], path
        assert sorted(scores.values())[-1] >= 0.9, path
        assert sorted(scores.values())[-2] < 0.5, (path, scores)


def test_files_of_other_formats_are_not_claimed(shared):
    claimed = []
    corpus = shared / "corpus"
    others = [p for p in sorted(corpus.rglob("*")) if p.is_file() and p.parent != corpus]
    others = [p for p in others if p.relative_to(corpus).parts[0] not in READERS]
    assert len(others) > 200
    for path in others:
        if path.suffix in (".eval", ".md"):
            continue
        sample = sample_of(path)
        if sample.records:
            scores = {name: form(name).sniff(sample) for name in API_FORMATS}
            claimed += [(str(path), scores)] if max(scores.values()) >= 0.5 else []
    assert claimed == []


def test_every_record_is_used_or_ignored_by_name(shared):
    for path in files_of(shared):
        reader, _ = read_file(READERS[path.parent.name][0], path)
        values, document = values_of(path)
        if path.suffix == ".yaml":
            values = values[0]["interactions"]
        elif document and path.parent.name not in ("openai-chat", "openhands-llm-log"):
            values = values[0]
        assert reader.used + reader.ignored.total() == len(values), path
        assert reader.rejected == [], path


def test_messages_items_steps_and_traces_count_as_a_second_program_counts(shared):
    for path in files_of(shared, ("openai-chat", "openai-responses", "openai-agents", "vercel-ai")):
        name, independent = READERS[path.parent.name]
        _, pieces = read_file(name, path)
        assert totals(pieces) == independent.count(str(path)), path


def test_calls_and_tokens_of_request_logs_are_those_of_a_second_program(shared):
    for path in files_of(shared, [f for f, (name, _) in READERS.items() if name == "http_log"]):
        _, pieces = read_file("http_log", path)
        found = totals(pieces)
        expected = independent_http_log.count(str(path))
        attempts = [p for p in pieces if isinstance(p, AttemptPiece)]
        assert len(attempts) == expected["failed"], path
        assert (found["tokens"] or (0, 0, 0)) == expected["tokens"], path
        answers = [p for p in pieces if isinstance(p, ResponsePiece) and p.finish is not None]
        assert len(answers) == expected["responses"], path  # a known past has no finish


TRUTH = {
    # file: (responses, calls, results, failed, tokens); None: the file does not tell
    "openai-chat/one_conversation_messages.json": (5, 4, 4, 3, None),
    "openai-responses/agents_to_input_list.json": (5, 4, 4, 3, None),
    "openai-agents/trace_export.jsonl": (5, 4, 4, 3, (1100, 256, 100)),
    "openai-agents/raw_responses.json": (5, 4, 0, 0, (1100, 256, 100)),
    "vercel-ai/response_messages.json": (4, 3, 3, 2, None),
    "vercel-ai/steps.json": (4, 3, 3, 2, (1000, 256, 80)),
}


@pytest.mark.parametrize("name", TRUTH)
def test_files_that_record_one_truth(shared, name):
    reader, pieces = read_file(READERS[name.partition("/")[0]][0], shared / "corpus" / name)
    found = totals(pieces)
    kinds = ("responses", "calls", "results", "failed", "tokens")
    assert tuple(found[kind] for kind in kinds) == TRUTH[name]
    assert ("results" in reader.missing) is (TRUTH[name][2] == 0)
    assert ("usage" in reader.missing) is (TRUTH[name][4] is None)
    calls = [c for p in pieces if isinstance(p, ResponsePiece) for c in p.calls]
    cities = [call.args["city"] for call in calls]
    assert cities == ["Atlantis"] * (len(cities) - 1) + ["Paris"]
    assert {call.tool for call in calls} == {"get_weather"}


def test_the_text_of_a_lost_error_is_found_again(shared):
    _, pieces = read_file("vercel_ai", shared / "corpus/vercel-ai/steps.json")
    texts = [p.text for p in pieces if isinstance(p, ResultPiece)]
    assert texts[:2] == ["unknown city: Atlantis"] * 2


def test_a_cassette_and_its_log_are_one_record(shared):
    for path in files_of(shared, ["http-cassette"]):
        twin = next((shared / "corpus").glob(f"reqresp-*/{path.stem}.jsonl"))
        ours, theirs = (totals(read_file("http_log", p)[1]) for p in (path, twin))
        assert ours == theirs


def test_files_of_one_conversation_share_run_and_steps(shared):
    files = files_of(shared, ["openhands-llm-log"])
    runs, steps = set(), []
    for path in files:
        _, pieces = read_file("http_log", path)
        runs |= {piece.run for piece in pieces}
        steps.append([p.id for p in pieces if isinstance(p, ResponsePiece)])
    assert len(runs) == 1
    assert [len(ids) for ids in steps] == [1, 2, 6]
    assert steps[0] == steps[1][:1]
    assert steps[1] == steps[2][:2]
