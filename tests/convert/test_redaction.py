"""What is taken out and what is not. The secrets here are made up and open nothing."""

import pytest

from loopaudit.convert.redaction import Redactor
from loopaudit.model import (
    BoundaryKind,
    BoundaryPiece,
    CallPiece,
    ResponsePiece,
    ResultPiece,
    RunPiece,
)

_A, _B = "Ab3dEf6hIj9kLm2nOp5qRs8t", "Zy7xWv4uTs1rQp8oNm5lKj2i"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"export K=sk-ant-{_A}{_B}", "export K=<secret-1>"),
        (f"token ghp_{_A}{_B[:12]} here", "token <secret-1> here"),
        ("id AKIAIOSFODNN7ABCDEFG;", "id <secret-1>;"),
        (f"Authorization: Bearer {_A}", "Authorization: Bearer <secret-1>"),
        ("postgres://app:hunter2x@db/main", "postgres://app:<secret-1>@db/main"),
        ('{"password": "hunter2x"}', '{"password": "<secret-1>"}'),
        ("PASSWORD=hunter2x make", "PASSWORD=<secret-1> make"),
        (f"eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.{_A}", "<secret-1>"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nend",
            "<private-key-1>\nend",
        ),
        ("mail noor@harbour.dev now", "mail <email-1> now"),
        ("/home/noor/dev/tide.py", "/home/<user-1>/dev/tide.py"),
        ("C:\\Users\\Noor\\dev", "C:\\Users\\<user-1>\\dev"),
        ("-Users-noor-dev", "-Users-<user-1>-dev"),
        ("call +49 170 1234567 today", "call <phone-1> today"),
        ("card 4111 1111 1111 1111.", "card <card-1>."),
        ("from 203.0.113.7:443", "from <address-1>:443"),
    ],
)
def test_what_is_taken_out(text: str, expected: str) -> None:
    assert Redactor().text(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "the key to this is a token of trust",
        "password: $DB_PASSWORD",
        "api_key = os.environ['KEY']",
        "api_key=<secret-1>",
        "password=********",
        "127.0.0.1 10.1.2.3 192.168.0.1 172.20.1.1 300.1.1.1",
        "/home/user/x /Users/Shared/y /home/$USER/z",
        "someone@example.com",
        "risk-of-everything-and-more-or-less",
        "@decorator def f(a: int) -> int",
        "2026-09-21 14:00:05 1,234 tests passed",
        "git@github.com:noor/tide.git"[:3] + "hub",
        "sk-learn and pk-2",
    ],
)
def test_what_is_left(text: str) -> None:
    redactor = Redactor()
    assert redactor.text(text) == text
    assert redactor.counts == {}


def test_what_was_equal_stays_equal_and_what_differed_differs() -> None:
    redactor = Redactor()
    first = redactor.text("noor@a.dev wrote to kim@b.dev")
    second = redactor.text("kim@b.dev answered noor@a.dev")
    assert (first, second) == ("<email-1> wrote to <email-2>", "<email-2> answered <email-1>")
    assert redactor.counts == {"email": 2}


def test_values_keep_their_shape_and_named_keys_lose_their_value() -> None:
    value = {"path": "/home/noor/a", "auth_token": "x", "n": [1, None, "kim@b.dev"], "token": 5}
    assert Redactor().value(value) == {
        "path": "/home/<user-1>/a",
        "auth_token": "<secret-1>",
        "n": [1, None, "<email-1>"],
        "token": 5,
    }


def test_deep_values_are_survived() -> None:
    value: list = []
    for _ in range(50_000):
        value = [value]
    Redactor().value(value)


def test_every_text_of_a_piece() -> None:
    redactor = Redactor()
    mail = "noor@a.dev"
    answer = redactor.piece(
        ResponsePiece("r", 1, text=mail, calls=(CallPiece("c", "send", {"to": mail}),))
    )
    assert isinstance(answer, ResponsePiece)
    assert (answer.text, answer.calls[0].args) == ("<email-1>", {"to": "<email-1>"})
    result = redactor.piece(ResultPiece("r", 1, "c", {"sent": [mail]}))
    assert isinstance(result, ResultPiece)
    assert result.text == {"sent": ["<email-1>"]}
    said = redactor.piece(BoundaryPiece("r", 1, BoundaryKind.USER, text=mail))
    assert isinstance(said, BoundaryPiece)
    assert said.text == "<email-1>"
    about = redactor.piece(RunPiece("r", 1, user="noor", host="tide-7", project="/home/noor/x"))
    assert isinstance(about, RunPiece)
    assert (about.user, about.host, about.project) == ("<user-1>", "<host-1>", "/home/<user-1>/x")


def test_keys_of_values_are_redacted_too() -> None:
    clean = Redactor().value({"/home/mara/a": [{"AKIAIOSFODNN7EXAMPLE": "AKIAIOSFODNN7EXAMPLE"}]})
    assert clean == {"/home/<user-1>/a": [{"<secret-1>": "<secret-1>"}]}


def test_what_is_nested_too_deep_is_left_out() -> None:
    value: object = "AKIAIOSFODNN7EXAMPLE"
    for _ in range(300):
        value = [value]
    assert "AKIA" not in repr(Redactor().value(value))
