"""Logs that flag nothing tell in words that a call was not let through."""

from __future__ import annotations

import pytest

from loopaudit.ingest.outcomes import refused


@pytest.mark.parametrize(
    "text",
    [
        "The user doesn't want to proceed with this tool use. The tool use was rejected",
        "User rejected the command",
        "Permission denied by hook: no pushes",
        "Error: command blocked by policy",
        "Tool call denied by user",
        "exec command rejected by user",
        "This action was blocked by a PreToolUse hook",
        "Permission to use Bash has been denied.",
        "rejected by approval policy",
        "The tool call was denied: not in the allowlist",
        "The user chose to reject this edit",
        "用户拒绝执行此命令",
        "权限被拒绝：策略禁止",
        "操作已被系统拦截",
    ],
)
def test_refusals(text: str) -> None:
    assert refused(text)


@pytest.mark.parametrize(
    "text",
    [
        "ls: cannot open directory '/root': Permission denied",
        "permission denied for relation t1",
        "HTTP 403 access denied",
        "ssh: connect to host: Connection refused",
        "The request was blocked by CORS policy: no header",
        "Request denied: invalid token",
        "Orders rejected by user: 4",
        "The refund request was rejected because the order is older than 30 days",
        "blocked by: #12, #14",
        "The user table has 3 rows",
        "用户拒绝率为 3%",
        "用户列表：张三",
        "command not allowed",
        "User rejected the command\n" + "and then the story goes on. " * 20,
    ],
)
def test_what_a_tool_says_of_its_own_matter(text: str) -> None:
    assert not refused(text)
