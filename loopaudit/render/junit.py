"""The check as JUnit XML: a suite a task type, a case a reason.

A broken limit is a failure, "cannot say" an error, a warning passes with a word in `system-out`.
"""

from __future__ import annotations

from typing import TextIO
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent

from loopaudit.check.codes import CODES, Level
from loopaudit.check.result import CheckResult, Judgement
from loopaudit.render.check_rows import command
from loopaudit.render.text import inert

_MOST_SPOTS = 20
_ALL = "all task types"


def write(result: CheckResult, stream: TextIO) -> None:
    root = Element("testsuites", name="loopaudit check")
    by_type: dict[str, list[Judgement]] = {}
    for one in result.judgements:
        by_type.setdefault(one.task_type or _ALL, []).append(one)
    totals = [0, 0, 0]
    for task_type, judgements in sorted(by_type.items()):
        failures = sum(j.level is Level.ERROR for j in judgements)
        errors = sum(j.level is Level.UNKNOWN for j in judgements)
        for place, number in enumerate((len(judgements), failures, errors)):
            totals[place] += number
        suite = SubElement(
            root, "testsuite", name=_plain(task_type), tests=str(len(judgements)),
            failures=str(failures), errors=str(errors), skipped="0", time="0",
        )  # fmt: skip
        for number, one in enumerate(judgements, 1):
            _case(suite, one, number)
    for name, number in zip(("tests", "failures", "errors"), totals, strict=True):
        root.set(name, str(number))
    properties = SubElement(Element("unused"), "properties")
    SubElement(properties, "property", name="exit_code", value=str(int(result.code)))
    if len(root):
        root[0].insert(0, properties)
    indent(root)
    stream.write('<?xml version="1.0" encoding="UTF-8"?>\n')
    ElementTree(root).write(stream, encoding="unicode")
    stream.write("\n")


def _case(suite: Element, one: Judgement, number: int) -> None:
    parts = [CODES[one.code].title, one.limit or "", one.guard or ""]
    name = ", ".join(part for part in parts if part)
    case = SubElement(
        suite, "testcase", classname=f"loopaudit.{one.code}", name=_plain(f"{number}. {name}"),
        time="0",
    )  # fmt: skip
    places = [f"{s.path}:{s.line}  {command(s)}" for s in one.spots[:_MOST_SPOTS]]
    if one.spots:
        case.set("file", _plain(one.spots[0].path))
        case.set("line", str(one.spots[0].line))
    text = "\n".join(_plain(line) for line in (one.message, *places))
    kind = {Level.ERROR: "failure", Level.UNKNOWN: "error"}.get(one.level)
    if kind is not None:
        said = SubElement(case, kind, message=_plain(one.message), type=one.code)
        said.text = text
    else:
        SubElement(case, "system-out").text = f"{one.level}: {text}"


def _plain(text: str) -> str:
    """What XML 1.0 can hold: no controls, no lone surrogates, no noncharacters."""
    return "".join(c for c in inert(text) if c not in "\ufffe\uffff")
