"""What a result says in words: nothing found, not done yet; and what only sounds like it."""

from __future__ import annotations

import pytest

from loopaudit.ingest.outcomes import not_yet, nothing_done, nothing_found


@pytest.mark.parametrize(
    "text",
    [
        "No matches found",
        "no files found",
        "found 0 matching files",
        "0 hits",
        "zero results for that query",
        "NOTHING FOUND",
        "page not found",
        "query: Not found",
        "未找到文件",
        "没有匹配的行",
        "共无结果",
    ],
)
def test_nothing_found(text: str) -> None:
    assert nothing_found(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "10 hits",  # the 0 is part of a number
        "piano results",
        "cannot founder",
        "no great or good or bad files",  # too far apart
        "nothing foundational",
        "no matched set",
        "3 files, 12 rows",
        "无法打开",
        "no matches found\n" + "x" * 240,  # a long answer holds content too
    ],
)
def test_something_found(text: str) -> None:
    assert not nothing_found(text)


@pytest.mark.parametrize(
    "text",
    [
        "Status: running",
        '{"state": "in_progress"}',
        '{\\"phase\\": \\"still building\\"}',
        "stage=DEPLOYING",
        "The job is still working",
        "deployment not ready yet",
        "Not yet finished.",
        "progress: 45%",
        "Completed 3.5 %",
        "7% done",
        "downloaded - 99%",
        "pending...",
        "Please wait",
        "[运行中]",
        "状态：排队中",
        "仍在构建",
        "正在处理",
        "任务尚未完成",
        "进度 40%",
    ],
)
def test_not_yet(text: str) -> None:
    assert not_yet(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Status: done",
        "status: running-total 5",
        "status: running late",
        "estate: running",  # no word of its own
        "still lifes",
        "knot ready",
        "not readying",
        "completed 100%",  # done
        "a waiting room",
        "pending changes: 3",
        "117% done",  # no share
        "状态：完成",
        "进行得很好",
        "status: running" + " " * 240,
    ],
)
def test_done(text: str) -> None:
    assert not not_yet(text)


def test_a_change_that_was_not_made() -> None:
    assert nothing_done("Error: no replacement was performed")
    assert nothing_done("hunk #2 FAILED at 10")
    assert not nothing_done("The file was edited. No errors.")
