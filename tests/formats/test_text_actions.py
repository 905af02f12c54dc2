"""Calls that agents write as text."""

import pytest

from loopaudit.formats.text_actions import calls_in, fenced


def found(text):
    return [(call.tool, call.args) for call in calls_in(text)]


def test_tags_of_functions_and_parameters():
    text = (
        "I look.\n<function=bash>\n<parameter=command>ls\n-la</parameter>\n"
        "<parameter=why>x</parameter>\n</function>\n<function=finish>\n</function>"
    )
    assert found(text) == [("bash", {"command": "ls\n-la", "why": "x"}), ("finish", {})]


def test_a_tag_that_does_not_close_ends_where_the_next_begins():
    text = "<function=a><parameter=x>1<function=b><parameter=y>2</parameter></function>"
    assert found(text) == [("a", {"x": "1"}), ("b", {"y": "2"})]


def test_keystrokes_of_terminus_as_json_and_as_xml():
    text = (
        'Plan: {"analysis": "x", "commands": [{"keystrokes": "ls\\n"}, {"keystrokes": "pwd\\n"}]}'
    )
    assert found(text) == [("bash_command", {"keystrokes": "ls\npwd\n"})]
    done = '{"commands": [], "task_complete": true}'
    assert found(done) == [("mark_task_complete", {})]
    xml = '<commands><keystrokes duration="0.1">ls\n</keystrokes></commands>'
    assert found(xml) == [("bash_command", {"keystrokes": "ls\n"})]


def test_react_lines():
    assert found("Thought 1: x\nAction 1: Search[rye bread]\n") == [("Search", "rye bread")]
    text = 'Thought: x\nAction: search\nAction Input: {"q": "rye"}\nObservation: made up'
    assert found(text) == [("search", {"q": "rye"})]
    assert found("Action: `look up`\nAction Input: rye bread") == [("look up", "rye bread")]


def test_actions_that_are_one_json_object():
    text = 'Thought:\nx\nAction:\n{"name": "find", "arguments": {"id": 7}}'
    assert found(text) == [("find", {"id": 7})]
    fenced_ = 'Action:\n```json\n{"action": "search", "action_input": "rye"}\n```'
    assert found(fenced_) == [("search", "rye")]
    assert found('Action:\n{"name": "find"}') == []


def test_only_the_first_action_runs_the_rest_is_made_up():
    text = "Action: a[1]\nObservation: 2\nAction: b[3]"
    assert found(text) == [("a", "1")]


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "Action: think hard about it, then search",
        "The Action was taken.",
        '{"commands": "ls"}',
        '{"commands": [',
        "Action: search\nno input follows",
        "<keystrokes>ls",
    ],
)
def test_words_that_call_nothing(text):
    assert found(text) == []


def test_fenced_blocks_in_the_languages_asked_for():
    text = "a\n```bash\nls\n```\nb\n```python\nx\n```\n```bash\npwd\n```\n```bash\nopen"
    assert fenced(text, "bash") == ["ls", "pwd"]
    assert fenced("no block", "bash") == []
    assert fenced(None, "bash") == []


def test_long_texts_take_linear_time():
    for text in ("Action:" * 100_000, "<function=a>" * 20_000, "Action: a[" + "]x" * 200_000):
        calls_in(text)
