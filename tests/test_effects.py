"""What calls do, by the table of tools. Effects were decided from the manuals of the tools."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopaudit.effects import NO_EFFECT, Effect, ToolTable, shell
from loopaudit.errors import ConfigError
from loopaudit.model import Target

TABLE = ToolTable()


def flags(effect: Effect) -> str:
    return "".join(
        letter
        for letter, on in zip("mps", (effect.mutates, effect.polls, effect.spawns), strict=True)
        if on
    )


@pytest.mark.parametrize(
    ("tool", "args", "expected", "path"),
    [
        ("Edit", {"file_path": "/w/a.py", "old_string": "x", "new_string": "y"}, "m", "/w/a.py"),
        ("Write", {"file_path": "a.py", "content": ""}, "m", "a.py"),
        ("MultiEdit", {"file_path": "a.py", "edits": []}, "m", "a.py"),
        ("NotebookEdit", {"notebook_path": "n.ipynb"}, "m", "n.ipynb"),
        ("write_file", {"path": "./b.txt"}, "m", "b.txt"),
        ("replace", {"file_path": "b"}, "m", "b"),
        ("edit", {"filePath": "c.ts", "oldString": "1"}, "m", "c.ts"),
        ("delete_file", {"target_file": "d"}, "m", "d"),
        ("apply_patch", "*** Begin Patch\n*** Update File: e.py\n@@\n-a\n+b\n", "m", "e.py"),
        ("apply_patch", {"input": "*** Begin Patch\n*** Add File: f.py\n+b\n"}, "m", "f.py"),
        ("apply_patch", "*** Update File: a\n*** Update File: b\n", "m", None),
        ("str_replace_editor", {"command": "create", "path": "g.py"}, "m", "g.py"),
        ("str_replace_based_edit_tool", {"command": "str_replace", "path": "g"}, "m", "g"),
        ("str_replace_editor", {"command": "view", "path": "g.py"}, "", "g.py"),
        ("str_replace_editor", {"path": "g.py"}, "", None),
        ("send", {"to": "ops", "text": "done"}, "m", None),
        ("send_message", {}, "m", None),
        ("message", {"action": "send", "to": "x"}, "m", None),
        ("message", {"action": "read"}, "", None),
        ("create_issue", {"title": "x"}, "m", None),
        ("mcp__github__create_pull_request", {}, "m", None),
        ("mcp__filesystem__write_file", {"path": "h"}, "m", "h"),
        ("mcp__filesystem__read_file", {"path": "h"}, "", "h"),
        ("functions.apply_patch", {}, "m", None),
        ("default_api:write_file", {"file_path": "i"}, "m", "i"),
        ("book_reservation", {}, "m", None),
        ("Write-File", {"path": "k"}, "m", "k"),
        # waits and polls
        ("TaskOutput", {"task_id": "b1"}, "p", None),
        ("BashOutput", {"bash_id": "1"}, "p", None),
        ("task_output", {"id": 7}, "p", None),
        ("read_bash", {"shellId": "1"}, "p", None),
        ("wait", {}, "p", None),
        ("get_status", {}, "p", None),
        ("check_status", {}, "p", None),
        ("job_status", {}, "p", None),
        ("getDeployStatus", {}, "p", None),
        ("browser_wait_for", {}, "p", None),
        ("process", {"action": "poll", "sessionId": "a"}, "p", None),
        ("process", {"action": "kill", "sessionId": "a"}, "m", None),
        ("write_stdin", {"session_id": 3, "chars": ""}, "p", None),
        ("write_stdin", {"session_id": 3}, "p", None),
        ("write_stdin", {"session_id": 3, "chars": "y\n"}, "", None),
        ("computer", {"action": "wait", "duration": 2}, "p", None),
        ("computer", {"action": "screenshot"}, "", None),
        # agents
        ("Task", {"prompt": "look"}, "s", None),
        ("Agent", {}, "s", None),
        ("spawn", {"what": "survey"}, "s", None),
        ("spawn_agent", {}, "s", None),
        ("delegate", {}, "s", None),
        ("dispatch_agent", {}, "s", None),
        ("collab_agent_spawn", {}, "s", None),
        ("sessions_spawn", {}, "s", None),
        # none of these
        ("TodoWrite", {"todos": []}, "", None),
        ("update_plan", {"plan": []}, "", None),
        ("TaskCreate", {"subject": "x"}, "", None),
        ("git_status", {"repo": "."}, "", None),
        ("update_status", {"text": "hi"}, "", None),
        ("Grep", {"pattern": "x", "path": "src"}, "", None),
        ("Glob", {"pattern": "*"}, "", None),
        ("get_weather", {"city": "北京"}, "", None),
        ("transfer_to_human_agents", {}, "", None),
        ("postgres_query", {"sql": "select 1"}, "", None),
        ("sender_info", {}, "", None),
        ("editor_state", {}, "", None),
        ("waiter", {}, "", None),
        ("mcp__x__unknown_thing", {}, "", None),
        ("", {}, "", None),
    ],
)
def test_tools(tool: str, args: Any, expected: str, path: str | None) -> None:
    effect = TABLE.classify(tool, args)
    assert flags(effect) == expected
    assert (effect.target and effect.target.path) == path


@pytest.mark.parametrize(
    ("tool", "args", "first", "last"),
    [
        ("Read", {"file_path": "f", "offset": 41, "limit": 40}, 41, 80),
        ("Read", {"file_path": "f", "offset": 41}, 41, None),
        ("Read", {"file_path": "f", "limit": 40}, 1, 40),
        ("Read", {"file_path": "f"}, None, None),
        ("Read", {"file_path": "f", "pages": "3-5"}, 3, 5),
        ("read", {"filePath": "f", "offset": 0, "limit": 10}, 1, 10),
        ("read_file", {"path": "f", "start_line": 21, "end_line": 60}, 21, 60),
        ("read_file", {"path": "f", "end_line": 60}, 1, 60),
        ("read_file", {"path": "big.log", "lines": "1-40"}, 1, 40),
        ("read", {"path": "big.log", "lines": [41, 80]}, 41, 80),
        ("view", {"path": "f", "view_range": [10, 20]}, 10, 20),
        ("view", {"path": "f", "view_range": [10, -1]}, 10, None),
        ("ReadFile", {"path": "f", "line_offset": 100, "n_lines": 50}, 100, 149),
        ("read_file", '{"path": "f", "offset": "5", "limit": 5.0}', 5, 9),
        (
            "read_file",
            {
                "target_file": "f",
                "start_line_one_indexed": 3,
                "end_line_one_indexed_inclusive": 4,
            },
            3,
            4,
        ),
        # figures that are none
        ("Read", {"file_path": "f", "offset": True, "limit": None}, None, None),
        ("Read", {"file_path": "f", "offset": float("nan"), "limit": 5}, 1, 5),
        ("Read", {"file_path": "f", "offset": -5, "limit": 10**30}, None, None),
        ("Read", {"file_path": "f", "view_range": ["a", {}]}, None, None),
        ("Read", {"file_path": "f", "lines": "all"}, None, None),
    ],
)
def test_ranges(tool: str, args: Any, first: int | None, last: int | None) -> None:
    effect = TABLE.classify(tool, args)
    assert flags(effect) == ""
    assert effect.target is not None
    assert effect.target[1:] == (first, last)


@pytest.mark.parametrize(
    "command",
    [
        "git commit -m 'x'",
        "git -C /repo push origin main",
        "git -c user.name='A B' commit -qm x",
        "git add -A && git status",
        "git checkout -- a.py",
        "git reset --hard HEAD~1",
        "git stash",
        "git merge main",
        "git apply fix.patch",
        "git branch -D old",
        "mv a b",
        "rm -rf build",
        "cp a b",
        "mkdir -p x/y",
        "touch x",
        "chmod +x run.sh",
        "ln -s a b",
        "patch -p1 < fix.diff",
        "sed -i 's/a/b/' f",
        "sed -i.bak -e 's/a/b/' f",
        "sed -ni '1p' f",
        "sed --in-place=.bak s/a/b/ f",
        "perl -pi -e 's/a/b/' f",
        "npm install",
        "npm --prefix web ci",
        "pip install -e .",
        "python -m pip install x",
        "python3 -m venv .venv",
        "sudo apt-get -y install jq",
        "cargo add serde",
        "make install",
        "tar -xzf a.tgz",
        "tar xzf a.tgz",
        "cd /w && git commit -am x",
        "cd /w; rm x",
        "FOO=1 BAR='a b' rm x",
        "env FOO=1 rm x",
        "timeout 60 git push",
        "nohup rm -rf x &",
        "/usr/bin/git push",
        "bash -lc \"cd /w && git commit -m 'x'\"",
        "sh -c 'rm x'",
        "bash -c \"bash -c 'rm x'\"",
        "echo hi > out.txt",
        "echo hi >> out.txt",
        "make 2> err.log",
        "make &> all.log",
        "cat > a.py <<'EOF'\nprint(1)\nEOF",
        "cat <<EOF >> b.txt\nx\nEOF\nls",
        "grep x f | tee out.txt",
        "ls | xargs -n 1 rm",
        "ls | xargs -I {} mv {} d/",
        "find . -name '*.pyc' -delete",
        "find . -name '*.pyc' -exec rm {} +",
        "for f in *.txt; do rm $f; done",
        "if [ -f x ]; then rm x; fi",
        "test -f x || touch x",
        "(cd w; rm x)",
        "echo $(rm x)",
        "curl -X POST https://api.test/x",
        "kubectl apply -f x.yaml",
        "apply_patch <<'EOF'\n*** Begin Patch\nEOF",
        "Remove-Item x",
        'python -c \'open("x", "w").write(1)\'',
        "python3 - <<'EOF'\nfrom pathlib import Path\nPath('a.py').write_text('x')\nEOF",
        "node -e \"require('fs').writeFileSync('a', 'b')\"",
        "black a.py",
        "ruff check --fix a.py",
        "npx prettier --write a.ts",
    ],
)
def test_changing_commands(command: str) -> None:
    assert flags(TABLE.classify("Bash", {"command": command})) == "m"


@pytest.mark.parametrize(
    "command",
    [
        "ls -la",
        "git status",
        "git log --oneline -5",
        "git diff main...HEAD --stat",
        "git stash list",
        "git stash show -p",
        "git apply --check fix.patch",
        "git commit --dry-run",
        "git push --help",
        "git commit-graph verify",
        "grep -rn 'rm -rf' src",
        'grep "git push; rm x" log.txt',
        "echo 'a > b'",
        'echo "rm x"',
        "echo rm",
        "pytest -q 2>&1 | tail -20",
        "pytest > /dev/null 2>&1",
        "pytest 2>/dev/null",
        "ls >/dev/null; echo $?",
        "sed 's/-i/x/' f",
        "sed -n -e '1,5p' f",
        "perl -MList::Util -e 'print 1'",
        "perl -ne 'print if /i/' f",
        "tar -tzf a.tgz",
        "find . -name rm",
        "find . -exec grep -l x {} +",
        "xargs -n 1 echo < list",
        "python3 - <<'EOF'\nimport os\nrm = 1\nos.listdir('.') > []\nEOF",
        "npm test",
        "npm run install-check",
        "pip list",
        "make test",
        "cargo test",
        "which git && which rm",
        "man rm",
        "awk '$1 > 5' f",
        "[[ 3 > 2 ]] && echo yes",
        "curl -s https://api.test/x",
        "curl -s -o /dev/null -w '%{http_code}' https://api.test/x",
        "wget --spider https://api.test/x",
        "# rm -rf /\nls",
        "bash run_tests.sh",
        "rmdirs --list",
        "cat a | grep -c '->'",
        "python -c 'import sys; sys.stdout.write(1)'",
        "python3 <<'EOF'\nprint(open('a.py').read())\nEOF",
        "black --check a.py",
        "node -e 'a => b'",
        "crontab -l",
        "tee /dev/null < x",
        "'",
        '"unclosed rm',
        "$((",
        ">",
        "   ;;;  ",
    ],
)
def test_other_commands(command: str) -> None:
    assert flags(TABLE.classify("Bash", {"command": command})) == ""


@pytest.mark.parametrize(
    ("command", "polls"),
    [
        ("sleep 30 && cat build.log", True),
        ("cd /w && sleep 5; tail -3 log", True),
        ("bash -lc 'sleep 60; gh run list'", True),
        ("kubectl get pods", True),
        ("kubectl -n prod wait --for=condition=ready pod/x", True),
        ("gh run view 123", True),
        ("tail -f log", True),
        ("while ! curl -s localhost; do sleep 2; done", True),
        ("for i in 1 2 3; do curl -s localhost; sleep 5; done", True),
        ("tail -20 log", False),
        ("npm start & sleep 3 && curl -s localhost", False),
        ("grep sleep a.sh", False),
        ("kubectl describe pod x", False),
        ("kubectl apply -f x && sleep 5", False),
    ],
)
def test_polling_commands(command: str, polls: bool) -> None:
    assert TABLE.classify("Bash", {"command": command}).polls is polls


@pytest.mark.parametrize(
    ("command", "target"),
    [
        ("sed -n '1,40p' a.py", Target("a.py", 1, 40)),
        ("sed -n 41,80p a.py", Target("a.py", 41, 80)),
        ("sed -n '5p' a.py", Target("a.py", 5, 5)),
        ("sed -n '100,$p' a.py", Target("a.py", 100, None)),
        ("sed -n '10,+5p' a.py", Target("a.py", 10, 15)),
        ("cd /w && sed -n '1,40p' a.py", Target("/w/a.py", 1, 40)),
        ("cd /w && sed -n '1,40p' /x/a.py 2>/dev/null", Target("/x/a.py", 1, 40)),
        ("head -n 40 a.py", Target("a.py", 1, 40)),
        ("head -40 a.py", Target("a.py", 1, 40)),
        ("head a.py", Target("a.py", 1, 10)),
        ("tail -n +101 a.py", Target("a.py", 101, None)),
        ("tail -n +101 a.py | head -50", Target("a.py", 101, 150)),
        ("head -80 a.py | tail -40", Target("a.py", 41, 80)),
        ("tail -n 20 a.py", Target("a.py")),
        ("cat a.py", Target("a.py")),
        ("cat a.py | head -5", Target("a.py", 1, 5)),
        ("nl -ba a.py | sed -n '20,30p'", Target("a.py", 20, 30)),
        ("cat a.py b.py", None),
        ("cat a.py | grep x", None),
        ("sed -n '1,40p' a.py; sed -n '1,40p' b.py", None),
        ("sed -n '/x/,/y/p' a.py", None),
        ("sed 's/a/b/' a.py", None),
        ("head -c 100 a.bin", None),
        ("pytest | tail -20", None),
        ("grep x a.py | head -5", None),
        # a file written by a redirection
        ("cat > a.py <<'EOF'\nx\nEOF", Target("a.py")),
        ("cd /w && echo x > b && rm c", None),
    ],
)
def test_files_of_commands(command: str, target: Target | None) -> None:
    assert TABLE.classify("Bash", {"command": command}).target == target


@pytest.mark.parametrize(
    ("tool", "args", "expected"),
    [
        ("shell", {"command": ["bash", "-lc", "cd /w && git push"]}, "m"),
        ("shell", {"command": ["git", "push"]}, "m"),
        ("shell", {"command": ["git", "status"]}, ""),
        ("exec_command", {"cmd": "rm x"}, "m"),
        ("run_shell_command", {"command": "rm x"}, "m"),
        ("execute_bash", {"command": "rm x"}, "m"),
        ("execute_bash", {"command": ""}, "p"),  # OpenHands: asks a running command for more
        ("local_shell_call", {"action": {"type": "exec", "command": ["rm", "x"]}}, "m"),
        ("container.exec", {"cmd": ["rm", "x"]}, "m"),
        ("functions.shell", {"command": "rm x"}, "m"),
        ("bash", "rm x", "m"),
        ("bash", '{"command": "rm x"}', "m"),
        ("exec", "const r = await tools.run({cmd: 'ls'}); if (r.n > 3) rm", ""),
        ("bash", "", ""),
        ("bash", {}, ""),
        ("bash", {"restart": True}, ""),
        ("bash", {"command": []}, ""),
        ("bash", {"command": [1, "rm"]}, ""),
        ("bash", {"command": {"rm": 1}}, ""),
        ("bash", {"cmd": None}, ""),
        ("bash", None, ""),
        ("bash", 7, ""),
    ],
)
def test_shells(tool: str, args: Any, expected: str) -> None:
    assert flags(TABLE.classify(tool, args)) == expected


def test_a_long_here_document_is_no_command() -> None:
    body = "\n".join(["rm -rf /", "git push"] * 5_000)
    effect = TABLE.classify("Bash", {"command": f"cat <<'EOF'\n{body}\nEOF"})
    assert effect == NO_EFFECT
    effect = TABLE.classify("Bash", {"command": f"cat > x <<'EOF'\n{body}\nEOF"})
    assert effect == Effect(mutates=True, target=Target("x"))


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
_ARGUMENTS = st.dictionaries(
    st.sampled_from(
        [
            "command",
            "cmd",
            "action",
            "path",
            "file_path",
            "offset",
            "limit",
            "view_range",
            "lines",
            "chars",
            "input",
            "pages",
        ]
    ),
    _JSON,
)
_TOOLS = st.sampled_from(
    [
        "Bash",
        "shell",
        "Read",
        "view",
        "Edit",
        "apply_patch",
        "write_stdin",
        "process",
        "str_replace_editor",
        "x",
    ]
)
_COMMANDS = st.text(st.sampled_from("gitrms -n'\"`$()<>|&;\\\n#=0123,p{}[]!"), max_size=60)


@given(_TOOLS | st.text(), _JSON | _ARGUMENTS)
def test_never_raises(tool: str, args: Any) -> None:
    assert isinstance(TABLE.classify(tool, args), Effect)


@given(_COMMANDS | st.text())
def test_never_raises_on_commands(command: str) -> None:
    assert isinstance(TABLE.classify("Bash", {"command": command}), Effect)


def test_never_raises_on_depth() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert TABLE.classify("Bash", {"command": deep}) == NO_EFFECT
    assert TABLE.classify("Read", {"file_path": "f", "lines": deep}).target == Target("f")
    assert TABLE.classify("bash", "{" * 100_000) == NO_EFFECT


# -- settings -------------------------------------------------------------------------------------


def test_lists_can_be_extended() -> None:
    table = ToolTable(
        {
            "mutates": ["deploy", "mcp__db__*"],
            "polls": {"remove": ["*_status"], "add": ["ci_state"]},
            "spawns": {"replace": ["helper"]},
            "mutating_commands": ["just release"],
            "polling_commands": {"remove": ["kubectl get"]},
            "arguments": {"path": ["where"]},
            "by_argument": [{"tools": ["vm"], "argument": "op", "polls": ["state"]}],
        }
    )
    assert flags(table.classify("Deploy", {})) == "m"
    assert flags(table.classify("mcp__db__run", {})) == "m"
    assert flags(table.classify("ci_state", {})) == "p"
    assert flags(table.classify("job_status", {})) == ""
    assert flags(table.classify("wait", {})) == "p"
    assert flags(table.classify("helper", {})) == "s"
    assert flags(table.classify("Task", {})) == ""
    assert flags(table.classify("Bash", {"command": "just release 1.0"})) == "m"
    assert flags(table.classify("Bash", {"command": "kubectl get pods"})) == ""
    assert table.classify("Edit", {"where": "x"}).target == Target("x")
    assert flags(table.classify("vm", {"op": "state"})) == "p"
    # the built-in table is as it was
    assert flags(ToolTable().classify("deploy", {})) == ""
    assert flags(ToolTable().classify("Task", {})) == "s"


def test_a_table_goes_to_worker_processes() -> None:
    table = pickle.loads(pickle.dumps(ToolTable({"mutates": ["deploy"]})))
    assert flags(table.classify("deploy", {})) == "m"


@pytest.mark.parametrize(
    ("user", "says"),
    [
        ({"mutate": ["x"]}, "[tools] mutate: unknown key 'mutate'"),
        ({"mutates": "x"}, "[tools] mutates: must be a list of names"),
        ({"mutates": [1]}, "must be a list of names"),
        ({"mutates": [""]}, "must be a list of names"),
        ({"polls": {"plus": ["x"]}}, "[tools] polls.plus: unknown key 'plus'"),
        ({"polls": {"add": "x"}}, "[tools] polls.add: must be a list of names"),
        ({"arguments": {"pth": ["x"]}}, "[tools] arguments.pth: unknown key 'pth'"),
        ({"arguments": []}, "[tools] arguments: must be a table"),
        ({"options_with_value": {"git": 1}}, "must be a list of names"),
        ({"by_argument": {}}, "must be an array of tables"),
        ({"by_argument": [{"tools": ["x"]}]}, "needs `tools` and `argument"),
        ({"by_argument": [{"argument": "x"}]}, "needs `tools"),
        ({"by_argument": [{"tools": ["x"], "argument": "a", "polls": 1}]}, "`polls` must be"),
    ],
)
def test_settings_that_cannot_be_used(user: dict[str, Any], says: str) -> None:
    def place(*keys: str) -> tuple[str, int | None]:
        return "loopaudit.toml", 7

    with pytest.raises(ConfigError) as caught:
        ToolTable(user, place)
    assert caught.value.message.startswith("loopaudit.toml:7: ")
    assert says in caught.value.message
    with pytest.raises(ConfigError):
        ToolTable(user)


@given(
    st.lists(
        st.sampled_from(
            [
                "cd",
                "/a/b.py",
                "-n",
                "-49",
                "3",
                "2",
                "a=b",
                "--x=1",
                "&&",
                "||",
                "|",
                ";",
                "2>&1",
                " ",
                "&",
                "2>",
                ">",
                "x;",
                "a&&b",
                "'q'",
                "#",
                "$x",
                "(",
                "\n",
                "-",
                "=>",
                "2>&1x",
                "@%+:,",
            ]
        ),
        max_size=9,
    ),
    st.sampled_from([" ", "  ", ""]),
)
def test_words_parted_by_spaces_are_those_of_the_grammar(parts: list[str], between: str) -> None:
    command = between.join(parts)
    if shell._SPACED.fullmatch(command):
        assert command.split() == shell._TOKEN.findall(command)
