"""How results say that a command failed, and what a person wrote."""

import pytest

from loopaudit.formats.coding.outputs import ended, exit_code
from loopaudit.formats.coding.spoken import spoken


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("cat: x\nCommand failed with exit code: 1.", 1),  # Kimi
        ("Error: Command failed (exit code: 2)\nls: x", 2),  # Droid
        ("Output: a\nError: (none)\nExit Code: 3\nSignal: 0", 3),  # Gemini CLI
        ("1 failing\n\nCommand exited with code 4", 4),  # pi
        ("ok\n<exited with exit code 0>", 0),  # Copilot
        ("<command exited with exit code 5>", 5),
        ("out\nExit code 6", 6),  # Crush
        ("Exit code: 127\nnot found", 127),
        ("Process exited with code 7", 7),
        ("Command executed in '/w'. Exit code: 8\nOutput:\nx", 8),  # Roo
        ("The command failed with exit code: 9\nOutput:\nx", 9),  # Antigravity
        ("FAIL\texample\nexit status 1", 1),  # go
        ("echo done\nexit 1", None),  # a script that was printed
        ("the exit code of the program is 1, as it should be", None),
        ("tests that check exit codes: 12", None),
        ("status: 404", None),
        ("", None),
    ],
)
def test_an_exit_code_is_a_line_of_its_own(text, code):
    assert exit_code(text) == code


def test_a_file_that_holds_such_a_line_has_not_failed():
    text = "how to read a log\nexit code: 1"
    assert ended(text, None, "read_file") == ("ok", None)
    assert ended(text, False, "view") == ("ok", None)
    assert ended(text, None, "run_shell_command") == ("error", 1)
    assert ended(text, None) == ("error", 1)  # the tool is not known


@pytest.mark.parametrize(
    ("text", "flag", "status"),
    [
        ("anything", True, "error"),
        ("The user doesn't want to proceed with this tool use.", True, "rejected"),
        ("Error: User rejected the edit", True, "rejected"),
        ("The user has declined to run this tool.", None, "rejected"),
        ("Tool execution aborted", True, "interrupted"),
        ("Operation aborted", True, "interrupted"),
        ("User rejected is a string in this file", False, "ok"),
        ("Error: no such file", None, "error"),
        ("Error: no such file", False, "ok"),  # the flag is the log's own word
        ("0 errors", None, "ok"),
        ({"error": "gone"}, None, "error"),
        (None, None, "ok"),
        (None, True, "error"),
    ],
)
def test_the_flag_goes_before_the_words(text, flag, status):
    assert ended(text, flag)[0] == status


@pytest.mark.parametrize(
    ("text", "kind", "own"),
    [
        ("Go.", "user", "Go."),
        ("<user_query>\nGo.\n</user_query>", "user", "Go."),
        ("<system-reminder>x</system-reminder>\nGo.", "user", "Go."),
        ("<system-reminder>x</system-reminder>", "reminder", None),
        ("<context>mine</context>", "user", "<context>mine</context>"),  # people write this, too
        ("if a < b and c > d", "user", "if a < b and c > d"),
        ("", "user", None),
        (None, "user", None),
    ],
)
def test_what_a_person_wrote(text, kind, own):
    found, said = spoken(text)
    assert found == kind
    assert kind == "reminder" or said == own
