"""What a result says in words about its call: nothing found, nothing done, not done yet, refused.

Only whole phrases at telling places count; a log that flags failures needs none of this.
"""

from __future__ import annotations

import re

# A pattern that begins with a class of characters is skipped to by `re` itself, one that begins
# with `\b` is tried at every place: so the first letter stands first and is looked at again.

_SHORT = 240  # characters; longer answers that mention "not found" hold content too
_SAID = 400  # characters at the start of a result that say that nothing was done

#: an answer that says in words that nothing was found is an answer, not a loop (ggcode#419);
#: this and the next but one are for lower-case text
_NOTHING = re.compile(
    r"[n0z未没无](?:(?<!\w.)(?:"
    r"(?:(?<=n)o|(?<=0)|(?<=z)ero)\s+(?:\w+\s+){0,2}?"
    r"(?:matche?s?|results?|files?|hits?|entries|records|rows|occurrences)\b"
    r"|(?<=n)o(?:thing|t) found\b)"
    r"|(?<=未)找到|(?<=没)有(?:找到|匹配|结果)|(?<=无)结果)"
)
#: a change that was not made: the words of OpenHands and SWE-agent, Gemini CLI, Cline and Roo,
#: Aider, opencode, MCP's file server, Codex
_NOT_DONE = re.compile(
    r"\A\W{0,4}(?:error|failed|failure|fatal|exception|错误|失败)\b"
    r"|\A[^{\n]{0,40}(?:失败|出错)"
    r"|\bno (?:replacement|edits?|changes) (?:was|were|have been)?\s?(?:performed|made|applied)\b"
    r"|\b(?:did|does)(?: not|n't) (?:appear verbatim|match exactly|exist)\b|\bfailed to match\b"
    r"|\bno (?:exact |sufficiently similar )?match(?:es)? (?:was |were )?found\b"
    r"|\b0 occurrences found\b|\bcould not find (?:the )?(?:exact|old|string|text|search)"
    r"|\b(?:old_?(?:string|str|text)|(?:string|text|pattern) to (?:replace|find))\b"
    r"[^\n]{0,40}\bnot found\b|\bSEARCH block\b|\A\W{0,4}invalid context\b"
    r"|\bpatch (?:does not apply|failed)\b|\bhunks? (?:#?\d+ )?failed\b"
    r"|[\"'](?:success|ok|applied)[\"']\s?:\s?false\b"
    r"|\A\s?\{\s?[\"'](?:error|err)[\"']\s?:\s?[\"'{]"
    r"|未找到(?:要|需要)|找不到要|没有匹配到",
    re.IGNORECASE,
)
#: a call that was not let through: by a person, a hook, a policy. The words of Claude Code, Codex,
#: Gemini CLI, Cline, Roo, Cursor, opencode, Copilot
_BY = (
    r"(?!CORS)(?:the |an? )?(?:user|human|operator|admin\w*|hook|\w*policy|policies|rules?|guard\w*"
    r"|sandbox\w*|approval\w*|permission\w*|allow-?list|reviewer|\w+ (?:hook|policy|rule|guard))"
)
_REFUSED = re.compile(
    r"\A\W{0,4}(?:(?:error|failed|blocked|denied)\W{1,3})?(?:"
    r"(?:the |this )?(?:user|human|operator) (?:has |have )?"
    r"(?:rejected|denied|declined|refused|disallowed|did(?: not|n't) (?:approve|allow|permit|want)"
    r"|does(?: not|n't) want|chose (?:not to|to (?:reject|deny|decline)))\b"
    r"|(?:(?:the |this )?(?:\w+ )?(?:command|calls?|action|operation|request|edit|tool|execution"
    r"|access|permission|use|change|write|plan) )?(?:was |is |has been )?(?:automatically )?"
    rf"(?:rejected|denied|declined|refused|blocked|disallowed|not (?:allowed|permitted)) by {_BY}\b"
    r"|(?:the |this )?(?:tool (?:call|use|execution)|action|operation|command|edit|plan)"
    r" (?:was |is |has been )?(?:rejected|denied|declined|refused|disallowed)\b"
    r"|permission to use .{1,60} has been denied|permission for this action has been denied"
    r"|(?:该|此|这个)?(?:操作|命令|请求|工具调用|权限)?已?(?:被|由)?(?:用户|策略|规则|钩子|权限)?(?:已|系统)?"
    r"(?:拒绝|阻止|拦截|否决)(?!率)|用户(?:不同意|不允许|未批准|没有批准)|未(?:获|经)(?:得)?用户(?:批准|同意|许可)"
    r")",
    re.IGNORECASE,
)
_GOING_ON = (
    r"running|pending|in[ _-]?progress|processing|building|waiting|starting|provisioning|deploying"
)
_PENDING = re.compile(
    r"[spncdu\d状阶仍正尚进](?:(?<!\w.)(?:"
    r"(?:(?<=s)ta(?:tus|te|ge)|(?<=p)hase)\\?[\"']?\s?[:=]\s?\\?[\"']?(?:still[ _-])?"
    rf"(?:{_GOING_ON})\b(?![ -]?\w)"
    rf"|(?<=s)till (?:{_GOING_ON}|working)\b"
    r"|(?<=n)ot (?:yet )?(?:ready|finished|done|complete|completed)(?: yet)?\b"
    r"|(?:(?<=p)rogress|(?<=c)ompleted?|(?<=d)o(?:ne|wnloaded)|(?<=u)ploaded)\b"
    r"\W{0,3}\d{1,2}(?:\.\d+)?\s?%"
    r"|(?<=\d)\d?(?:\.\d+)?\s?% (?:completed?|done|finished)\b)"
    r"|(?:(?<=状)态|(?<=阶)段)\s?[:：]\s?(?:运行|进行|处理|排队|等待|构建|部署)中"
    r"|(?:(?<=仍)|(?<=正))在(?:运行|处理|构建|部署|进行|执行|排队)|(?<=尚)未(?:完成|结束|就绪)"
    r"|(?<=进)度\s?[:：]?\s?\d{1,2}(?:\.\d+)?\s?%)"
)
#: the whole answer is one word of it
_WAITING = re.compile(
    rf"\W{{0,3}}(?:{_GOING_ON}|please wait|(?:运行|处理|进行|排队|等待|构建)中)\W{{0,3}}\Z"
)


#: words of which one stands in every text that a pattern finds, in lower case: most texts have none
_HINT_NOTHING = ("no ", "0 ", "zero", "found", "未找到", "没有", "无结果")
_HINT_NOT_DONE = (
    *("error", "fail", "fatal", "exception", "no ", "not", "n't", "0 occurr", "block", "invalid"),
    *("hunk", "false", '"err"', "'err'", "错误", "失败", "出错", "未找到", "找不到", "没有匹配"),
)
_HINT_REFUSED = (
    *("reject", "denied", "declin", "refus", "block", "allow", "permit", "approve", "want"),
    *("deny", "拒绝", "阻止", "拦截", "否决", "用户"),
)
_HINT_PENDING = (
    *("running", "pending", "progress", "processing", "building", "waiting", "starting"),
    *("provisioning", "deploying", "wait", "still", "not ", "%", "中", "正在", "尚未", "仍在"),
)


def nothing_found(text: str) -> bool:
    """Whether the whole answer is that nothing was found."""
    if len(text) > _SHORT:
        return False
    lower = text.lower()
    return any(map(lower.__contains__, _HINT_NOTHING)) and _NOTHING.search(lower) is not None


def nothing_done(text: str) -> bool:
    """Whether the answer of a call that changes something is that it changed nothing."""
    text = text[:_SAID]
    lower = text.lower()
    return any(map(lower.__contains__, _HINT_NOT_DONE)) and _NOT_DONE.search(text) is not None


def refused(text: str) -> bool:
    """Whether the whole answer is that somebody, or a rule, did not let the call through."""
    if len(text) > _SHORT:
        return False
    lower = text.lower()
    return any(map(lower.__contains__, _HINT_REFUSED)) and _REFUSED.search(text) is not None


def not_yet(text: str) -> bool:
    """Whether the whole answer is that something goes on: its call waits, whatever its name."""
    if len(text) > _SHORT:
        return False
    lower = text.lower()
    if not any(map(lower.__contains__, _HINT_PENDING)):
        return False
    return _PENDING.search(lower) is not None or _WAITING.match(lower) is not None
