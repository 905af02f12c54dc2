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


_HEX = "0123456789abcdef" * 3
_LONG = _A + _B


@pytest.mark.parametrize(
    "text",
    [
        f"aws_session_token=FwoGZXIvYXdzEBYaDKJh{_A}",
        '{"SecretAccessKey": "wJalrXUtnFEMIK7MDENGbPxRfiCYzEXAMPLEKEY9"}',
        '"{\\"password\\": \\"hunter2x\\"}"',
        f"github_pat_{_LONG}",
        f"glrt-{_A}",
        f"xapp-1-A0B1C2D3E-1234567890-{_A}",
        f"https://hooks.slack.com/services/T00000000/B00000000/{_A}",
        f"https://discord.com/api/webhooks/123456789012345678/{_LONG}",
        f"MTIzNDU2Nzg5MDEyMzQ1Njc4.GabcdE.{_A}abcde",
        f"123456789:AAF{_A}{_B[:8]}",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\nxx\n-----END PGP PRIVATE KEY BLOCK-----",
        "redis://:s3cretpass@cache:6379/0",
        "Server=db;User Id=sa;Password=Str0ngPwd!;",
        f"AccountName=x;AccountKey={_LONG}==;EndpointSuffix=core",
        f"https://x.blob.core.windows.net/c?sv=2022&sig={_A}%3D&se=2026",
        f"x-api-key: {_A}",
        "curl -u noor:hunter2secret https://x",
        f"Cookie: session={_A}; csrftoken={_B}",
        f"Set-Cookie: sid={_A}; Path=/",
        f"whsec_{_LONG}",
        f"GOCSPX-{_A}",
        f"SK{_HEX[:32]}",
        f"key-{_HEX[:32]}",
        f"dckr_pat_{_A}",
        f"dapi{_HEX[:32]}",
        f"hvs.{_LONG}",
        f"lin_api_{_LONG}",
        f"ntn_{_LONG}",
        f"figd_{_A}",
        f"shpat_{_HEX[:32]}",
        f"ABCdef12345678.atlasv1.{_LONG}",
        f"pscale_tkn_{_A}",
        f"dp.pt.{_LONG}",
        f"r8_{_LONG}",
        f"glsa_{_LONG}",
        f"LTAI5t{_A[:20]}",
        f"AKID{_A}",
        f"token={_A}",
        "mysql -uroot -phunter2secret shop",
        "machine x login noor password hunter2x",
        "the password is hunter2x!",
        "密码:hunter2x",
        "zhang.san@qq.com",
        "/mnt/c/Users/Noor/x",
        '"C:\\\\Users\\\\Noor\\\\x"',
        "2001:db8:85a3::8a2e:370:7334",
        "3c:22:fb:aa:bb:cc",
        "13812345678",
        "+86 138 1234 5678",
        "手机:13812345678,身份证11010519491231002X",
        "(415) 555-2671",
        "123-45-6789",
        "4111111111111111",
        "DE89 3704 0044 0532 0130 00",
    ],
)
def test_what_else_is_taken_out_in_every_place(text: str) -> None:
    """Forms that their services document; numbers with right check digits, made up or official
    examples. In a text, in arguments, in a key, in an id."""
    redactor = Redactor()
    clean = redactor.text(f"see {text} ok")
    assert redactor.counts, text
    assert clean != f"see {text} ok"
    call = CallPiece(text, "say", {"a": [text], text: 1})
    response = redactor.piece(ResponsePiece("r", 1, id=text, text=text, calls=(call,)))
    result = redactor.piece(ResultPiece("r", 2, text, {"out": text}, code=text))
    run = redactor.piece(RunPiece(text, 3, prompt=text, project=text, metadata={"m": text}))
    shown = repr((response, result, run))
    private = {name for _, name in redactor._names}
    assert not any(found in shown for found in private if len(found) > 4)
    assert response.calls[0].id == result.call_id  # they still belong together


@pytest.mark.parametrize(
    "text",
    [
        "std::vector a::b::c 12:30:45 fe80::1 ::1 sha256:deadbeef00",
        "4111111111111112 1782938475610293847 run 20261201123456789",  # no cards
        "11010519491231002A 110105194912310021",  # no identity card
        "DE00 3704 0044 0532 0130 00 AB12CDEF3456",  # no account
        "1700000000 1700000000000 at 0.13812345678",
        "3c9d1e2f-4155-5526-7100-123456789012",
        "ff:ff:ff:ff:ff:ff 00:00:00:00:00:00",
        "max_tokens=4096, tokens: 123456789012345678",
        "print the password field, then the secret of the house",
        "git push -u origin main; docker run --user 1000:1000 x",
        "tests/test_a.py::test_b passed 3.12.4",
    ],
)
def test_what_else_only_looks_like_it(text: str) -> None:
    assert Redactor().text(text) == text


def test_long_texts_take_time_that_grows_with_them() -> None:
    import time

    for text in ("a:" * 50_000, "ab" * 50_000, "1 " * 50_000, "token" * 20_000, "-u a" * 25_000):
        before = time.process_time()
        Redactor().text(text)
        assert time.process_time() - before < 5
