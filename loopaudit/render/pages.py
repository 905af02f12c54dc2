"""Pages of `explain`: what a rule, a guard preset or a log format is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from loopaudit.findings import Rule
from loopaudit.formats.base import Format
from loopaudit.guards.preset import Preset, PresetRule, Thresholds
from loopaudit.render.not_loops import KINDS
from loopaudit.render.screen import Screen, table
from loopaudit.render.topics import TOPICS
from loopaudit.replay.advice import CAUSES
from loopaudit.retry import RetryPolicy

_LABEL = 14


def rule_page(rule: Rule, presets: Iterable[Preset], screen: Screen) -> Iterator[str]:
    yield from screen.row(f"{rule.id}: {rule.title}", "bold")
    needs = f"a log with {' and '.join(sorted(rule.needs))}" if rule.needs else ""
    cause = CAUSES.get(rule.cause)
    for label, text in (
        ("looks for", rule.looks_for),
        ("not counted", rule.not_counted),
        ("evidence", rule.evidence),
        ("cause", cause.says.replace("{tool}", "the tool") if cause else ""),
        ("in the log", cause.find.replace("{tool}", "the tool") if cause else ""),
        ("remedy", rule.remedy),
        ("needs", needs),
    ):
        if text:
            yield from screen.row(text, indent=2, label=label.ljust(_LABEL - 2))
    label = "thresholds"
    for preset in presets:
        found = preset.rule(rule.signal)
        if found is not None:
            text = f"{preset.name}: {_thresholds(found)}"
            yield from screen.row(text, indent=2, label=label.ljust(_LABEL - 2))
            label = ""


def preset_page(preset: Preset, unreachable: Sequence[str], screen: Screen) -> Iterator[str]:
    yield from screen.row(f"{preset.name}: {preset.description}", "bold")
    if preset.source:
        yield from screen.row(preset.source, indent=2, label="source".ljust(_LABEL - 2))
    rules = [(rule.signal, _thresholds(rule)) for rule in preset.rules]
    yield from table([*rules])
    yield from _numbers("limits", preset.limits, screen)
    yield from screen.row(_retry(preset.retry), indent=2, label="retry".ljust(_LABEL - 2))
    for task, changed in preset.task_types.items():
        parts = [f"{signal} {_thresholds(rule)}" for signal, rule in changed.rules.items()]
        parts += [f"{name} {_number(value)}" for name, value in changed.limits.items()]
        yield from screen.row(f"for {task}: {'; '.join(parts)}", indent=2)
    for text in unreachable:
        yield from screen.row(f"unreachable: {text}", "yellow", indent=2)


def mapping_page(screen: Screen) -> Iterator[str]:
    from loopaudit.formats.native.mapped import EXAMPLE

    yield from screen.row("map: any JSON lines, read by a mapping in TOML", "bold")
    for text in (
        "`--map FILE.toml` reads every input by that mapping; `[plugins.formats]` in the settings "
        'gives one a name: `tickets = "map:tickets.toml"`, used where the records have the fields '
        "of `detect`, or with `--log-format tickets`. A reader in Python is named there as "
        '`"module:FORMAT"` or `"FILE.py:FORMAT"`; an installed package declares it under the '
        "entry point `loopaudit.formats` (see loopaudit/formats/base.py).",
        "On the right of each field is the path of what stands in a record: keys with dots "
        "between, numbers for places in lists, or a list of keys where a name has dots itself. All "
        "tables but one of [response] and [call] may be left out.",
    ):
        yield from screen.row(text, indent=2)
    yield ""
    for line in EXAMPLE.splitlines():
        yield f"  {line}".rstrip()


def format_page(found: Format, screen: Screen) -> Iterator[str]:
    yield from screen.row(f"{found.name}: {found.title}", "bold")
    if found.describes:
        yield from screen.row(found.describes, indent=2)
    if found.lacks:
        yield from screen.row(
            f"Such logs hold no {' and no '.join(sorted(found.lacks))}.", indent=2
        )
    if found.example:
        yield "  For example:"
        for line in found.example:  # each on one line however long, so that it can be copied
            yield f"    {line}"


def overview(
    rules: Iterable[Rule],
    presets: Iterable[Preset],
    formats: Iterable[Format],
    screen: Screen,
) -> Iterator[str]:
    for heading, entries in (
        ("Rules", [(rule.id, rule.title) for rule in rules]),
        ("Guard presets", [(preset.name, preset.description) for preset in presets]),
        ("Log formats", [(found.name, found.title) for found in formats]),
        ("Looked at and not counted", [(kind, says) for kind, (says, _) in KINDS.items()]),
        ("Further pages", list(TOPICS.items())),
    ):
        if not entries:
            continue
        yield screen.style(heading, "bold")
        widest = max(len(name) for name, _ in entries)
        for name, says in entries:
            yield from screen.row(says, indent=2, label=name.ljust(widest + 2))
        yield ""
    yield "loopaudit explain NAME tells more; loopaudit explain --model NAME shows a price."


def _numbers(label: str, numbers: Mapping[str, object], screen: Screen) -> Iterator[str]:
    if numbers:
        text = ", ".join(f"{name} {_number(value)}" for name, value in numbers.items())
        yield from screen.row(text, indent=2, label=label.ljust(_LABEL - 2))


def _retry(policy: RetryPolicy) -> str:
    classes = " and ".join(sorted(str(kind) for kind in policy.retried))
    every = ", every 429 included" if policy.every_429 else ""
    wait = f"{policy.base:g} s · {policy.factor:g}^(n-1), at most {policy.cap:g} s"
    spread = f"times {1 - policy.jitter:g} to {1 + policy.jitter:g}"
    return f"{policy.retries} retries of {classes} errors{every}; before retry n: {wait}, {spread}"


def _thresholds(rule: PresetRule) -> str:
    text = _levels(rule.thresholds) or "counts only"
    if rule.over:
        text += " (when exceeded)"
    if rule.poll is not None:
        text += f"; known waits: {_levels(rule.poll)}"
    return text


def _levels(thresholds: Thresholds) -> str:
    parts = [] if thresholds.report is None else [f"report {_number(thresholds.report)}"]
    parts += [f"{level} {_number(number)}" for level, number in reversed(thresholds.levels)]
    return ", ".join(parts)


def _number(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return (
        f"{value:,}"
        if isinstance(value, int)
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )
