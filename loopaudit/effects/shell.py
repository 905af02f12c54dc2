"""What a shell command does, read from its words: state changed, waiting, lines of a file read.

No shell is run and nothing is expanded. Quotes, `&&`, `;`, pipes, `cd x &&`, assignments, wrappers
such as `sudo`, `bash -lc "…"`, `find -exec` and redirections are understood. Of programs in other
languages inside a command (`python -c`, here-documents) it is only asked whether they write files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from loopaudit.model import Target

#: characters of a command that are read; what follows is nearly always the body of a file
READ = 4_000
_DEPTH = 3  # of `bash -c "bash -c …"`
_CACHED = 4_096  # commands remembered

_TOKEN = re.compile(
    r"""(?:[0-9]+|&)?>{1,2}(?:&[0-9-]?|\|)?        # redirection
    |(?:[^\s'"\\;|&()<>`$=#-]+|[-=]>?|\#|'[^']*'|"(?:[^"\\]|\\.)*"|\\.|\$(?!\())++   # word
    |\n|&&|\|\||[;|&()`]|\$\(                       # separators
    |<{1,3}-?                                       # input
    |['"<\\]                                        # unpaired""",
    re.VERBOSE | re.DOTALL,
)
#: a single command without quotes, as most are: its words are those between the spaces
_SIMPLE = re.compile(r"[A-Za-z0-9_./,:@%+ -]*")
#: plain words and operators that stand alone: the spaces part them as `_TOKEN` does, but sooner
_SPACED = re.compile(r"(?:(?:[A-Za-z0-9_./,:@%+=-]++|&&|\|\|?|;|2>&1)(?: ++|\Z))++", re.ASCII)
_HERE = re.compile(
    r"(<<-?[ \t]*(['\"\\]?)([A-Za-z_]\w*)['\"]?[^\n]*\n)(?:.*?\n)??[ \t]*\3(?=[ \t]*(?:\n|\)|\Z))",
    re.DOTALL,
)
_PROGRAM = re.compile(r"\b(?:python[0-9.]*|node|ruby|perl|php|deno|bun)\b[^\n|;&]*?(?:<<| -[ce]\b)")
_WRITES = re.compile(
    r"(?<!stdout)(?<!stderr)\.(?:write|writelines|write_text|write_bytes|save|unlink)\("
    r"|\bopen\([^()\n]{1,200},\s*(?:mode\s*=\s*)?['\"][wax]|\b(?:writeFile|appendFile)(?:Sync)?\("
    r"|\bos\.(?:remove|rename|replace|makedirs|mkdir)\(|\bshutil\.|\bFile\.write\b"
    r"|\bfs\.(?:rm|rename|mkdir|unlink|copyFile)(?:Sync)?\(|\bfile_put_contents\("
    r"|\b(?:edit_file\w*|str_replace\w*|insert_content\w*|append_file|create_file|write_file)\("
)
#: first characters of tokens that may be more than a word
_SPECIAL = frozenset("\n&|;()`$<>0123456789#")
_SEPARATORS = frozenset({"\n", "&&", "||", ";", "|", "&", "(", ")", "`", "$("})
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_COUNT = re.compile(r"[0-9]+(?:\.[0-9]+)?[smhd]?\Z")
#: no file: a device, a file descriptor, the right side of a comparison
_IGNORED = re.compile(r"/dev/|\$null|[0-9]*\Z|nul\Z", re.IGNORECASE)
_ASKS_ONLY = frozenset({"--help", "--version", "--dry-run"})
_SHELLS = frozenset(
    {"bash", "sh", "zsh", "dash", "ksh", "fish", "eval", "powershell", "pwsh", "cmd"}
)
#: shell commands inside a notebook cell
_CELL = re.compile(r"^\s*(?:!|%%(?:bash|sh|script bash)\s*\n|%sx? )(.+)", re.MULTILINE)
_TESTS = frozenset({"[[", "[", "test"})
_ASIDE = frozenset({"", "cd", "echo", "true", "export", "set", "source"})  # before the real command
_LOOPS = frozenset({"while", "until", "for"})
_EXECS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})


class ShellEffect(NamedTuple):
    mutates: bool
    polls: bool
    target: Target | None


NOTHING = ShellEffect(False, False, None)
POLLING = ShellEffect(False, True, None)


class _Rule(NamedTuple):
    words: tuple[str, ...]  # after the command's name
    kind: str  # "mutates", "reads", "polls"


class _Segment(NamedTuple):
    """A simple command: its words, and whether the one before it feeds it."""

    words: list[str]
    piped: bool
    written: list[str]  # files its output is redirected to


class Shell:
    """Reads commands by a table of commands; see effects.toml for the meaning of the lists."""

    def __init__(
        self,
        mutating: Iterable[str],
        reading: Iterable[str],
        polling: Iterable[str],
        wrappers: Iterable[str],
        options_with_value: Mapping[str, Sequence[str]],
    ) -> None:
        rules: dict[str, dict[str, list[_Rule]]] = {}  # by command, then by its first plain word
        for kind, entries in (("mutates", mutating), ("reads", reading), ("polls", polling)):
            for entry in entries:
                name, *words = entry.split()
                plain = words[0] if words and words[0][0] != "-" else ""
                known = rules.setdefault(name.lower(), {}).setdefault(plain, [])
                known.append(_Rule(tuple(words), kind))
                known.sort(key=lambda rule: -len(rule.words))
        self._rules = rules
        self._wrappers = frozenset(wrappers)
        self._valued = {name: frozenset(words) for name, words in options_with_value.items()}
        self._cache: dict[str, ShellEffect] = {}

    def effect(self, command: str) -> ShellEffect:
        known = self._cache.get(command)
        if known is None:
            if len(self._cache) >= _CACHED:
                self._cache.clear()
            known = self._cache[command] = self._read(command, 0)
        return known

    def effect_of_program(self, code: str) -> ShellEffect:
        """Of the code of a notebook cell or a script."""
        head = code[:READ]
        changes = _WRITES.search(head) is not None
        changes = changes or any(self.effect(cell[1]).mutates for cell in _CELL.finditer(head))
        return ShellEffect(True, False, None) if changes else NOTHING

    def effect_of_words(self, words: Sequence[str]) -> ShellEffect:
        """A command given as a list of arguments: `["bash", "-lc", "…"]`, `["git", "push"]`."""
        return self._judge([_Segment(list(words), False, [])], words[0] in _LOOPS, 0)

    def _read(self, command: str, depth: int) -> ShellEffect:
        head = command[:READ]
        inline = " -c" in head or " -e" in head or "<<" in head
        if inline and _PROGRAM.search(head) and _WRITES.search(head):
            return ShellEffect(True, False, None)
        if "<<" in head:
            head = _HERE.sub(r"\1", head)
            cut = head.rfind("<<")
            if len(command) > READ and cut >= 0:  # a here-document that does not end in sight
                head = head[: head.find("\n", cut) + 1 or None]
        segments = _segments(head)
        if not segments:
            return NOTHING
        opening = segments[0].words
        return self._judge(segments, bool(opening) and opening[0] in _LOOPS, depth)

    def _judge(self, segments: list[_Segment], loops: bool, depth: int) -> ShellEffect:
        changed = polls = False  # `changed`: by something else than a redirection
        first = True
        shown: Target | None = None
        written: list[str] = []
        for segment in segments:
            name, words = self._command(segment.words)
            if segment.written and name not in _TESTS:
                written += segment.written
            if name in self._rules:
                kind = self._kind(name, words)
                if kind == "mutates":
                    changed = True
                elif kind == "polls" and (first or (loops and name == "sleep")):
                    polls = True
            elif name == "find":
                changed = changed or self._find(words, depth)
            elif name in _SHELLS and depth < _DEPTH:
                inner = self._inner(name, words, depth)
                changed = changed or inner.mutates
                polls = polls or (first and inner.polls)
                shown = inner.target if len(segments) == 1 else None
            first = first and name in _ASIDE
        if changed or written:
            only = Target(written[0]) if len(written) == 1 and not changed else None
            return ShellEffect(True, False, only)
        if polls:
            return POLLING
        target = shown or _lines_read(segments)
        return NOTHING if target is None else ShellEffect(False, False, target)

    def _command(self, words: list[str]) -> tuple[str, list[str]]:
        """Name of the command without its folder, and the words after it."""
        at = 0
        while at < len(words):
            word = words[at]
            if word.isalpha() and word != "python" and word not in self._wrappers:
                return word.lower(), words[at + 1 :]
            if word in self._wrappers:
                valued = self._valued.get(word, ())
                at += 1
                while at < len(words) and (words[at][:1] == "-" or _COUNT.match(words[at])):
                    at += 2 if words[at] in valued else 1
            elif "=" in word and _ASSIGNMENT.match(word):
                at += 1
            else:
                break
        if at >= len(words):
            return "", []
        name = words[at].rpartition("/")[2].lower()
        rest = words[at + 1 :]
        if name.startswith("python") and rest[:1] == ["-m"] and len(rest) > 1:
            return rest[1], rest[2:]
        return name, rest

    def _kind(self, name: str, words: list[str]) -> str | None:
        if not _ASKS_ONLY.isdisjoint(words):
            return None
        plain = self._plain(name, words)
        rules = self._rules[name]
        known = rules.get(plain[0], []) if plain else []
        for rule in known + rules.get("", []):
            if _fits(rule.words, words, plain):
                if name == "tee" and all(word[:5] == "/dev/" for word in plain):
                    return None
                return rule.kind
        return None

    def _plain(self, name: str, words: list[str]) -> list[str]:
        """The words that are no options, nor values of options before the sub-command."""
        valued = self._valued.get(name, ())
        plain: list[str] = []
        skip = False
        for word in words:
            if skip:
                skip = False
            elif word[:1] == "-" and len(word) > 1:
                skip = word in valued and not plain
            else:
                plain.append(word)
        return plain

    def _inner(self, name: str, words: list[str], depth: int) -> ShellEffect:
        """The command inside `bash -lc "…"` or `eval "…"`."""
        if name == "eval":
            return self._read(" ".join(words), depth + 1)
        for at, word in enumerate(words[:-1]):
            if word.lower() in ("-command", "/c"):  # PowerShell, cmd
                return self._read(" ".join(words[at + 1 :]), depth + 1)
            if word[:1] == "-" and word[:2] != "--" and "c" in word:
                return self._read(words[at + 1], depth + 1)
        return NOTHING

    def _find(self, words: list[str], depth: int) -> bool:
        for at, word in enumerate(words):
            if word == "-delete":
                return True
            if word in _EXECS:
                inner = [_Segment(words[at + 1 :], False, [])]
                return depth < _DEPTH and self._judge(inner, False, depth + 1).mutates
        return False


def _fits(rule: tuple[str, ...], words: list[str], plain: list[str]) -> bool:
    at = 0  # in plain
    wanted: str | None = None  # the value an option must have
    for word in rule:
        if wanted is not None:
            if not any(a == wanted and b == word for a, b in pairwise(words)):
                return False
        elif word[0] == "-":
            if not any(_is_option(word, given) for given in words):
                return False
            wanted = word
        else:
            if at >= len(plain) or plain[at] != word:
                return False
            at += 1
    return True


def _is_option(option: str, given: str) -> bool:
    if given[:1] != "-":
        return False
    if given == option or given.startswith(option + "="):
        return True
    if len(option) != 2 or given[1:2] == "-":
        return False
    if given.startswith(option):
        return True
    cluster = given[1:5]  # "-xzf" holds -x; "-MList" holds no -i
    return cluster.isalpha() and cluster.islower() and option[1] in cluster


def _segments(command: str) -> list[_Segment]:
    """Simple commands in order. Words lose their outer quotes; comments are left out."""
    if _SIMPLE.fullmatch(command):
        words = command.split()
        return [_Segment(words, False, [])] if words else []
    segments: list[_Segment] = []
    words = []
    written: list[str] = []
    piped = into = inputs = comment = False
    spaced = _SPACED.fullmatch(command) is not None
    for token in command.split() if spaced else _TOKEN.findall(command):
        start = token[0]
        if start not in _SPECIAL and not (into or inputs or comment):
            words.append(_unquoted(token) if start in "'\"" else token)
        elif comment and token != "\n":
            continue
        elif token in _SEPARATORS:
            comment = False
            if words or written:
                segments.append(_Segment(words, piped, written))
                words, written = [], []
            piped = token == "|"
            into = inputs = False
        elif ">" in token and not token.strip("0123456789>&|-"):
            into = token[-1] in ">&|"  # "2>&1" goes to no file
        elif start == "<":
            inputs = True
        elif into:
            into = False
            target = _unquoted(token)
            if not _IGNORED.match(target):
                written.append(target)
        elif inputs:
            inputs = False
        elif start == "#":
            comment = True
        else:
            words.append(token)
    if words or written:
        segments.append(_Segment(words, piped, written))
    return segments


def _unquoted(word: str) -> str:
    if word[0] in "'\"" and word[-1] == word[0] and len(word) > 1:
        return word[1:-1]
    return word


# -- lines read -----------------------------------------------------------------------------------

_SED = re.compile(
    r"\s*([0-9]{1,9})(?:,\s*([0-9]{1,9}|\$|\+[0-9]{1,9}))?\s*p(?:\s*;\s*(?:[0-9]{1,9}\s*q)?)?\s*\Z"
)
_AWK = re.compile(
    r"\s*\(?\s*NR\s*(?:>=|==)\s*([0-9]{1,9})\s*(?:&&|,)\s*NR\s*(?:<=|==)\s*([0-9]{1,9})\s*\)?"
    r"\s*(?:\{\s*print[^}]*\})?\s*\Z"
)
_READERS = frozenset({"sed", "head", "tail", "cat", "nl", "awk"})


def _lines_read(segments: list[_Segment]) -> Target | None:
    """The file and lines that one pipeline of cat, nl, sed -n, head and tail shows."""
    folder = ""
    path: str | None = None
    first, last = 1, None
    cut = False
    for segment in segments:
        name = segment.words[0] if segment.words else ""
        if name not in _READERS or segment.piped == (path is None):
            if name != "cd" or path is not None or len(segment.words) != 2:
                return None
            folder = segment.words[1]
            continue
        selected = _selected(name, segment.words[1:])
        if selected is None:
            return None
        files, start, end, from_end = selected
        if path is None:
            if len(files) != 1:
                return None
            path = files[0]
        elif files:
            return None
        if from_end:  # the last n of an unknown number of lines
            if last is None or end is None:
                return Target(_joined(folder, path))
            first = max(first, last - end + 1)
            cut = True
        elif start > 1 or end is not None:
            cut = True
            if end is not None:
                last = first + end - 1 if last is None else min(last, first + end - 1)
            first += start - 1
    if path is None:
        return None
    return Target(_joined(folder, path), first, last) if cut else Target(_joined(folder, path))


def _selected(name: str, words: list[str]) -> tuple[list[str], int, int | None, bool] | None:
    """Files named, first and last line shown, whether counted from the end."""
    files = [word for word in words if word[:1] not in "-+"]
    options = ["-n" if word == "-ne" else word for word in words if word[:1] == "-"]
    if name in ("cat", "nl"):
        if name == "nl":
            files = [word for word in files if word not in ("a", "t", "n")]
        return files, 1, None, False
    if name == "sed":
        if "-n" not in options or not files:
            return None
        script = _SED.match(files.pop(0))
        if script is None or not {"-n", "-e"}.issuperset(options):
            return None
        start, end = int(script[1]), script[2]
        if end == "$":
            return files, start, None, False
        stop = start if end is None else start + int(end) if end[0] == "+" else int(end)
        return files, start, stop, False
    if name == "awk":
        script = _AWK.match(files.pop(0)) if files and not options else None
        return None if script is None else (files, int(script[1]), int(script[2]), False)
    count = "10"
    for at, word in enumerate(words):
        if word in ("-n", "--lines") and at + 1 < len(words):
            count = words[at + 1]
            files = [file for file in files if file != count]
        elif word.startswith("--lines="):
            count = word[8:]
        elif word[:2] == "-n" and len(word) > 2:
            count = word[2:]
        elif word[:1] == "-" and word[1:].isdecimal():
            count = word[1:]
        elif word[:1] == "-":
            return None  # bytes, following, quiet …
    number = count.lstrip("+")
    if not number.isdecimal() or len(number) > 9:
        return None
    if name == "tail":
        if count[0] == "+":
            return files, max(1, int(number)), None, False
        return files, 1, int(number), True
    return files, 1, int(number), False


def _joined(folder: str, path: str) -> str:
    return f"{folder.rstrip('/')}/{path}" if folder and path[:1] not in "/~$" else path
