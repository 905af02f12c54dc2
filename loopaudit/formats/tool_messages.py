"""How a call ended, by the words of its result: for formats that have no flag for failures.

What frameworks and home-made agents put into a tool message when the tool failed: "Error: …"
(LangGraph, AutoGen, tau-bench and many agents), MCP servers, the OpenAI Agents SDK, exceptions as
Python prints them, shells, HTTP statuses, JSON bodies with an error. Only what stands at the very
start counts, and of a JSON object its outermost keys; a report about failures ("Errors: 0", a list
of lint findings, a build whose status is "failed") is an answer.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

from loopaudit.model import CallStatus

_START = 200  # characters in which a message says that it is an error
_BODY = 4_000  # characters of a JSON body that is looked into

_ERROR = re.compile(
    r"\s*(?:"
    r"(?:fatal|tool|execution|runtime|api|internal|unexpected)?\s?error\s?[:：\-–(\[]"
    r"(?!\s*(?:(?:0|none|null)\b|no\s*(?:errors?\b|\Z)))"
    r"|error (?:executing|calling|running|invoking|while|in |fetching|reading|processing|occurred"
    r"|code\b|\d{3}\b)"
    r"|an? (?:\w+ )?(?:error|exception) (?:occurred|was raised|happened)"
    r"|(?:mcp|http|ssl|os|sql) error\b|fatal:|exception\s?:|<(?:tool_use_)?error>|panic:"
    r"|traceback \(most recent call last\)"
    r"|file \"[^\"\n]{1,200}\", line \d|cell in ?\[\d{1,6}\], line \d"
    r"|(?:request|tool|tool call|call|command|operation|execution|connection|query|login|fetch)"
    r"(?: execution)? (?:failed|timed out|was rejected|error)\b"
    r"|failed to [a-z]|failed:(?!\s*\d)"
    r"|(?:could not|couldn't|cannot|can't|unable to) (?:connect|open|read|write|access|load|parse"
    r"|resolve|execute|run|import|stat|complete|process|perform|authenticate|reach|create|call"
    r"|find (?:the )?(?:file|module|command|tool|path|directory))"
    r"|(?:http(?:/\d(?:\.\d)?)?|status(?: code)?)[ :=]{1,3}[45]\d\d\b"
    r"|[45]\d\d[ :,-]{1,3}(?:bad request|unauthorized|payment required|forbidden|not found"
    r"|method not allowed|not acceptable|request timeout|conflict|gone|unprocessable|too many"
    r"|internal|not implemented|bad gateway|service|gateway|client error|server error)"
    r"|(?:connection (?:reset|refused|aborted|closed|error|timed out)"
    r"|service (?:temporarily )?unavailable|too many requests|rate limit (?:exceeded|reached)"
    r"|gateway time-?out|bad gateway|internal server error|permission denied|access denied"
    r"|unauthori[sz]ed|forbidden|timed? ?out\b|invalid (?:argument|parameter|request|input|api key)"
    r"|missing required|no such (?:file|tool|table|column|function)"
    r"|unknown (?:tool|command|function|argument|option))\b"
    r"|[\w./-]{1,40}: (?:[^\n:]{1,120}: ){0,2}(?:no such file or directory|command not found"
    r"|permission denied|cannot access|operation not permitted|syntax error|unexpected eof"
    r"|(?:unrecognized|invalid|illegal|unknown) option|option requires|missing (?:argument|operand)"
    r"|executable file not found)"
    r"|(?:错误|出错|异常|失败|报错)\s?[:：]"
    r"|(?:调用|执行|请求|操作|查询|连接|读取|写入|打开|工具|接口|命令)[^\s，。]{0,6}(?:失败|出错|错误|超时|异常)"
    r"|(?:服务|系统|服务器|网络)[^\s，。]{0,6}(?:不可用|繁忙|异常|错误|超时|过载)"
    r"|(?:没有|无|缺少)权限|权限不足|余额不足|请求过于频繁|参数(?:错误|无效)"
    r")",
    re.IGNORECASE,
)
_REPR = re.compile(r"\s*\{\s?'(?:error|err|exception)'\s?:\s?['\"{]")  # a dict as Python prints it
_EXCEPTION = re.compile(r"\s*(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Timeout)\s?[:(]")
#: one of these stands in each text that the patterns find
_HINTS = (
    *("rror", "fail", "xception", "traceback", "timed", "time", "could", "cannot", "can't"),
    *("unable", "http", "status", "connection", "unavailable", "too many", "limit", "bad "),
    *("denied", "unauthor", "forbidden", "invalid", "missing", "no such", "unknown", "fatal"),
    *("syntax", "unexpected", "option", "executable", "permitted", 'file "', "cell in"),
    *("panic", "not ", "conflict", "gone", "unprocess", "is a directory", "错", "失败", "异常"),
    *("超时", "不可用", "繁忙", "过载", "权限", "余额", "频繁", "参数"),
)
_BODY_HINTS = ("rror", "xception", "success", '"ok"', "ode", "status")
_ERROR_KEYS = ("error", "err", "exception", "errorMessage", "error_message", "errors")
_CODE_KEYS = ("status", "statusCode", "status_code", "code")


def status_of(result: Any) -> CallStatus:
    """ERROR where a result says that its call failed, else OK."""
    if isinstance(result, str):
        failed = _says(result[:_START]) or (result[:1] == "{" and _body(result))
    else:
        failed = type(result) is dict and _reports(result)
    return CallStatus.ERROR if failed else CallStatus.OK


def _says(head: str) -> bool:
    lower = head.lower()
    if not any(hint in lower for hint in _HINTS):
        return False
    return any(pattern.match(head) for pattern in (_ERROR, _EXCEPTION, _REPR))


def _body(text: str) -> bool:
    if len(text) > _BODY or not any(hint in text for hint in _BODY_HINTS):
        return False
    try:
        value = orjson.loads(text)
    except ValueError:
        return False
    return type(value) is dict and _reports(value)


def _reports(body: dict[Any, Any]) -> bool:
    """Whether a JSON body reports that what was asked for failed."""
    for key in _ERROR_KEYS:
        error = body.get(key)
        if error and (isinstance(error, str) or type(error) is dict):
            return True
        if error and type(error) is list and (len(body) == 1 or body.get("data", 0) is None):
            return True
    if body.get("success") is False or body.get("ok") is False or body.get("isError") is True:
        return True
    if body.get("status") == "error":
        return True
    return any(_is_failure(body.get(key)) for key in _CODE_KEYS) and any(
        key in body for key in ("message", "detail", "reason", "msg", "error")
    )


def _is_failure(code: Any) -> bool:
    if type(code) is str and len(code) == 3 and code.isascii() and code.isdigit():
        code = int(code)
    return type(code) is int and 400 <= code < 600
