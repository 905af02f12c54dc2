"""What to do about a finding: symptom, cause, how to make sure in the log, what to change.

Causes come in classes, after what prevents loops (guards.md §3: answers with a status, descriptions
that say when not to call, a stop condition, classes of errors, a limit per type of task).
"""

from __future__ import annotations

from dataclasses import dataclass

from loopaudit.findings import Advice, Finding, Retryable, Rule
from loopaudit.replay.chains import Chain


@dataclass(frozen=True, slots=True)
class Cause:
    """A class of causes. Texts are for any finding; `{tool}` stands for the tool at hand."""

    says: str  # the cause in one sentence
    find: str  # how to make sure in the log
    change: str  # what to change, where the rule itself has nothing closer


CAUSES: dict[str, Cause] = {
    "no-status": Cause(
        "The answer of {tool} has no field that says whether it is complete, so an answer looks "
        "like an interim state.",
        "Compare the answers at the first and at a later occurrence: is there a word that differs "
        "between `not yet`, `done` and `there is no more`?",
        "Let {tool} answer with a status, the data, a message and a field `complete`.",
    ),
    "no-end-of-wait": Cause(
        "{tool} answers at once, and nothing says how long to wait or when to give up waiting.",
        "Look at the times of the calls: how long until the state first changed, and did it ever?",
        "Let {tool} wait by itself until something changed or a time is up, and answer with the "
        "state and when to ask again; set a limit of polls per task.",
    ),
    "no-receipt": Cause(
        "The answer of {tool} is not recognised as `this is done`, so it is done again.",
        "Count the receipts between the first occurrence and the last: each is one more effect.",
        "Make {tool} refuse to do the same thing twice (an idempotency key), and answer the second "
        "time with the first receipt.",
    ),
    "no-when-not": Cause(
        "The description of {tool} does not say when not to call it, or what it can match.",
        "Put the arguments of the occurrences side by side: what varies, and would any value have "
        "been answered otherwise?",
        "Say in the description of {tool} when not to call it, which values are valid and that "
        "only an exact match is found; say it again in the error.",
    ),
    "no-stop": Cause(
        "The prompt has no stop condition and no permission to give up.",
        "Read the text of the response before the first redundant step: does it name anything that "
        "it wants to do otherwise?",
        "Give the prompt a stop condition and a permission to give up: after the second equal "
        "result say what blocks, and ask or end.",
    ),
    "no-retry-class": Cause(
        "The error does not say its class, so what cannot work is tried again, or what may pass is "
        "tried too often.",
        "Read the error at the first occurrence: does it have a status or a code, and does it say "
        "whether a retry can help?",
        "Classify errors where they arise: retry what passes, with growing waits and a limit, in "
        "one layer only; say of all others that they are final and what would work instead.",
    ),
    "no-limit": Cause(
        "Nothing bounds this type of task: no limit of steps, of depth or of output.",
        "See how many steps, agents or tokens healthy runs of this task type take (loopaudit cost "
        "--by task-type), and where this one passed that.",
        "Set a limit per task type, with a message to converge before it and a stop at it.",
    ),
    "no-cut": Cause(
        "Nothing cuts a response off that repeats itself: no limit of output, no look at the "
        "stream.",
        "Read the response from the place named on: what is the last thing in it that is new, and "
        "did it end by itself or at a limit?",
        "Set a limit of output tokens per task, and cut a stream off that repeats itself.",
    ),
    "no-depth": Cause(
        "The tool that starts agents is on offer to agents that were started by it, however deep.",
        "Put the tasks of the agents side by side, from the first one down: what does each add?",
        "Give the tool a greatest depth, and refuse a task that equals the caller's own.",
    ),
    "no-memory": Cause(
        "What was read is not kept when the context is compacted.",
        "Look at what stands between two compactions: what is read there, and how much of the "
        "context does it fill?",
        "Keep a written summary of what was read, read parts, or raise the limit at which the "
        "context is compacted.",
    ),
    "no-let-go": Cause(
        "What the hook asks for cannot be done by answering, and the hook does not let go.",
        "Read the text of the hook: does it name something that the agent can do?",
        "Let the hook fire once for one reason, and name in its text what the agent can do.",
    ),
    "no-teeth": Cause(
        "The refusal is only a sentence: the tool stays on offer and the turn goes on.",
        "Read the first refusal: does it say what may be done instead, and does the next response "
        "mention it?",
        "End the turn at the second refusal, or withdraw the tool.",
    ),
}
DEFAULT = "no-stop"


def cause_of(rule: Rule, primary: Chain, finding: Finding) -> str:
    """The class of the cause: the rule's own, made closer by what was repeated."""
    note = primary.last.note or ""
    if "side effect" in note:
        return "no-receipt"
    if primary.poll:
        return "no-end-of-wait"
    if rule.cause == "no-status" and finding.retryable is Retryable.NO:
        return "no-stop"  # the answer was clear: it failed, and nothing was done about it
    return rule.cause if rule.cause in CAUSES else DEFAULT


def advise(rule: Rule, primary: Chain, finding: Finding) -> Advice:
    """The four parts, for the tool and the places at hand. Steps are counted from 1."""
    name = cause_of(rule, primary, finding)
    cause = CAUSES[name]
    tool = finding.tool or "the tool"
    closer = name != rule.cause and rule.cause in CAUSES  # than what the rule says of itself
    change = cause.change if closer or not rule.remedy else rule.remedy
    if finding.tool and not finding.period and "{tool}" not in change:
        change = f"{finding.tool}: {change}"
    return Advice(
        symptom=_symptom(rule, finding),
        cause=cause.says.replace("{tool}", _capital(cause.says, tool)),
        find=f"{_places(finding)} {cause.find.replace('{tool}', tool)}",
        change=change.replace("{tool}", _capital(change, tool)),
    )


def _capital(text: str, tool: str) -> str:
    return "The tool" if tool == "the tool" and text.startswith("{tool}") else tool


def _symptom(rule: Rule, finding: Finding) -> str:
    first, last = finding.onset.step + 1, finding.last.step + 1
    if finding.period:
        what = f"{finding.occurrences:,} rounds of {finding.period}"
    else:
        what = f"{finding.occurrences:,} times"
        what = f"{finding.tool} {what}" if finding.tool else what
    where = f"step {first:,}" if first == last else f"steps {first:,} to {last:,}"
    if finding.onset.run != finding.last.run:
        where = f"{len({entry.run for entry in finding.waste.steps}):,} agents"
    return f"{rule.title}: {what}, {where}."


def _places(finding: Finding) -> str:
    first, onset, last = finding.first_seen, finding.onset, finding.last
    if first.path == onset.path == last.path:
        return f"Lines {first.line} (first), {onset.line} (onset) and {last.line} (last)."
    return (
        f"{first.path}:{first.line} (first), {onset.path}:{onset.line} (onset), "
        f"{last.path}:{last.line} (last)."
    )
