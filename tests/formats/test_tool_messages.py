"""Failures told in words, where a format has no flag for them; and answers that only look so."""

import pytest

from loopaudit.formats.tool_messages import status_of
from loopaudit.model import CallStatus

FAILED = (
    "Error: no such file",
    "ERROR: invalid argument --fooo",
    "error: pathspec 'x' did not match any file(s) known to git",
    "Error executing tool grep: boom",
    "Error calling tool 'x'",
    "Error 404: gone",
    "An error occurred while running the tool. Please try again.",
    "MCP error -32602: bad arguments",
    "ValueError: month must be in 1..12",
    "requests.exceptions.ConnectionError: refused",
    "Traceback (most recent call last):\n  File a.py",
    '  File "/w/train.py", line 23\n    f.write(f"x\n            ^\nSyntaxError: unterminated',
    "  Cell In[1], line 6\n    x)\n     ^\nSyntaxError: unmatched ')'",
    "404 Not Found",
    "HTTP 429 Too Many Requests",
    "HTTP/1.1 503 Service Unavailable",
    "Request failed with status code 403",
    "Request timed out after 30 s",
    "Failed to open file: x",
    "Could not connect to the database",
    "Connection reset by peer",
    "<error>File not found: a.py</error>",
    "bash: foo: command not found",
    "/bin/bash: line 1: sudo: command not found",
    "cat: a.py: No such file or directory",
    "错误：参数无效",
    "调用失败：没有权限",
    "服务暂时不可用，请稍后重试",
    "系统繁忙，请稍后再试",
    '{"error": "user 17 does not exist"}',
    '{"rows": [], "error": {"code": 404, "message": "Not Found"}}',
    '{"success": false, "message": "invalid argument: city"}',
    '{"errors": [{"message": "no such field"}], "data": null}',
    '{"statusCode": 503, "message": "Service Unavailable"}',
    "{'error': 'invalid syntax (<string>, line 6)'}",
    {"error": "x"},
)
ANSWERS = (
    *("", None, [], ["Error:"], {}, 0, "Errors: 0", "error: 0 warnings: 2", "Error: none"),
    *("no Error: found", "Erroneous", "Error handling is described in chapter 4", "MCP errors"),
    *("3 failed: Error: x", "2 failed, 3 passed", "Failed: 0", "404 rows", "500 items in stock"),
    *("took 1500 ms", "status: failed", "No matches found", "time: 12:30", "Invalid dates: none"),
    "src/errors.py:12: class NotFound(Error):",
    '{"error": null, "rows": 3}',
    '{"error": "", "rows": 3}',
    '{"success": true, "error": false}',
    '{"status": "failed", "build": 17}',  # a poll of a build, answered
    '{"errors": 3, "warnings": 1}',  # a report of a linter
    '{"errors": ["E501"], "file": "a.py"}',
    '{"code": 404}',
    '{"status": 200, "message": "ok"}',
    '{"error": "cut',
    '"just text"',
)


@pytest.mark.parametrize("result", FAILED, ids=str)
def test_failures(result):
    assert status_of(result) is CallStatus.ERROR


@pytest.mark.parametrize("result", ANSWERS, ids=str)
def test_answers(result):
    assert status_of(result) is CallStatus.OK
