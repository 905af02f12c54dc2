"""What secrets and personal strings look like.

Forms of tokens are those that their services document, or that public scanners of secrets look for.
Numbers of cards, bank accounts and Chinese identity cards count only where their check digits do.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from ipaddress import IPv6Address

#: tokens known by how they begin: (beginning, the rest)
_TOKENS = (
    (r"(?:sk|pk|rk)[-_]", r"(?:ant-|proj-|live_|test_|or-v1-|svcacct-|lf-)?[A-Za-z0-9_-]{16,}"),
    (r"gh[pousr]_", r"[A-Za-z0-9]{30,}"),
    (r"github_pat_", r"[A-Za-z0-9_]{30,}"),
    (r"gl(?:pat|rt|dt|cbt|ptt|ft|imt|agent|soat)-", r"[A-Za-z0-9_-]{18,}"),
    (r"(?:AKIA|ASIA|ABIA|ACCA)", r"[A-Z0-9]{16}\b"),
    (r"AKID", r"[A-Za-z0-9]{13,40}\b"),  # Tencent Cloud
    (r"LTAI", r"[A-Za-z0-9]{12,26}\b"),  # Alibaba Cloud
    (r"AIza", r"[A-Za-z0-9_-]{35}"),
    (r"ya29\.", r"[A-Za-z0-9_-]{20,}"),
    (r"GOCSPX-", r"[A-Za-z0-9_-]{20,}"),
    (r"xox[abeoprs]-", r"[A-Za-z0-9-]{10,}"),
    (r"xapp-", r"[A-Za-z0-9-]{20,}"),
    (r"hf_", r"[A-Za-z0-9]{30,}"),
    (r"npm_", r"[A-Za-z0-9]{36}"),
    (r"pypi-", r"[A-Za-z0-9_-]{16,}"),
    (r"do[oprt]_v1_", r"[a-f0-9]{40,}"),
    (r"lsv2_", r"[a-z]{2}_[A-Za-z0-9_]{20,}"),
    (r"SG\.", r"[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    (r"(?:gsk_|xai-|pplx-)", r"[A-Za-z0-9]{40,}"),
    (r"tvly-", r"[A-Za-z0-9-]{20,}"),
    (r"whsec_", r"[A-Za-z0-9+/=]{20,}"),
    (r"(?:SK|AC)", r"[0-9a-f]{32}\b"),  # Twilio
    (r"key-", r"[0-9a-f]{32}\b"),  # Mailgun
    (r"dckr_(?:pat|oat)_", r"[A-Za-z0-9_-]{20,}"),
    (r"dapi", r"[a-f0-9]{32}(?:-[0-9])?\b"),
    (r"(?:hvs|hvb|hvr)\.", r"[A-Za-z0-9_-]{20,}"),
    (r"lin_(?:api|oauth)_", r"[A-Za-z0-9]{32,}"),
    (r"(?:ntn_|secret_)", r"[A-Za-z0-9]{40,}"),
    (r"fig[duo]_", r"[A-Za-z0-9_-]{20,}"),
    (r"shp(?:at|ca|pa|ss)_", r"[a-fA-F0-9]{32}"),
    (r"(?:sq0[a-z]{3}-|EAAA)", r"[A-Za-z0-9_-]{22,}"),
    (r"AGE-SECRET-KEY-1", r"[A-Z0-9]{40,}"),
    (r"[A-Za-z0-9]{14}\.atlasv1\.", r"[A-Za-z0-9_=-]{40,}"),
    (r"pscale_(?:tkn|pw|oauth)_", r"[A-Za-z0-9_.=-]{20,}"),
    (r"dp\.(?:pt|st|ct|sa|scim|audit)\.", r"[A-Za-z0-9._-]{30,}"),
    (r"sb[ps]_", r"[A-Za-z0-9_]{30,}"),
    (r"r8_", r"[A-Za-z0-9]{30,}"),
    (r"fm[12][ar]?_", r"[A-Za-z0-9+/=,_-]{30,}"),
    (r"NR(?:AK|JS|II|AA|SP)-", r"[A-Za-z0-9_-]{20,}"),
    (r"gl(?:sa|c)_", r"[A-Za-z0-9_=]{30,}"),
    (r"sntry[su]_", r"[A-Za-z0-9_=+/-]{30,}"),
    (r"[0-9]{8,10}:AA", r"[A-Za-z0-9_-]{33}"),  # Telegram
    (r"[MNO][A-Za-z0-9_-]{23,25}\.", r"[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}"),  # Discord
    (r"eyJ", r"[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*)?"),
)
_KEY_BLOCK = r"[A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_WORDS = (
    r"(?:password|passwd|passphrase|pwd|secret|api[_-]?key|access[_-]?key|account[_-]?key"
    r"|auth[_-]?token|access[_-]?token|refresh[_-]?token|session[_-]?token|security[_-]?token"
    r"|client[_-]?secret|private[_-]?key|signing[_-]?key|encryption[_-]?key|credential)s?"
)

#: kind -> pattern; group 1, where there is one, is what is taken out
FORMS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern, re.DOTALL | flags))
    for kind, pattern, flags in (
        ("private-key", rf"-----BEGIN {_KEY_BLOCK}.*?(?:-----END {_KEY_BLOCK}|\Z)", 0),
        ("secret", "|".join(rf"\b{first}{rest}" for first, rest in _TOKENS), 0),
        ("secret", r"\b(?:Bearer|Basic|Token|ApiKey)\s+([A-Za-z0-9+/=._~-]{12,})", re.IGNORECASE),
        (
            "secret",
            r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{16,})"
            r"|(?<=/)api/webhooks/([0-9]+/[A-Za-z0-9_-]{30,})",
            0,
        ),
        ("secret", r"\bcookie[\"']?\s{0,3}:\s{0,3}[\"']?([^\r\n\"']{8,4000})", re.IGNORECASE),
        ("secret", r"[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{0,80}:([^\s/:@]{1,200})@", re.IGNORECASE),
        (
            "secret",
            rf"{_WORDS}(?:\\?[\"'])?\s{{0,3}}[=:]\s{{0,3}}(?:\\?[\"'])?([^\s\"',;&<>\\]{{6,4000}})",
            re.IGNORECASE,
        ),
        (
            "secret",
            r"[?&](?:sig|signature|token|auth|key|code|x-amz-(?:signature|credential"
            r"|security-token))=([^&\s\"'<>]{8,4000})",
            re.IGNORECASE,
        ),
        (
            "secret",
            r"(?<![A-Za-z])token(?:\\?[\"'])?\s{0,3}[=:]\s{0,3}(?:\\?[\"'])?"
            r"(?=[^\s\"',;&<>\\]{0,200}[0-9])([^\s\"',;&<>\\]{16,4000})",
            re.IGNORECASE,
        ),
        ("secret", r"(?:密码|口令|密钥|令牌)\s{0,3}[:：=是为]\s{0,3}([^\s\"',;，。；]{4,200})", 0),
        (
            "secret",
            r"\bpass(?:word|phrase|code)\s+(?:is|was)\s+[\"'`]?(?=\S{0,200}[0-9!@#$%^&*])"
            r"([^\s\"'`,;<>]{5,200})",
            re.IGNORECASE,
        ),
        ("secret", r"\blogin\s+\S{1,200}\s+password\s+(\S{4,200})", re.IGNORECASE),
        (
            "secret",
            r"\s(?:-u|--user)[ =][\"']?[^\s:\"'/]{1,80}:(?![0-9]+(?:\s|$))([^\s\"'@/]{4,200})",
            0,
        ),
        ("secret", r"\b(?:mysql\w*|mariadb\w*)\b[^\n|;&]{0,200}?\s-p([^\s\"'|;&-]\S{3,200})", 0),
        ("secret", r"\bsshpass\s+-p\s?[\"']?([^\s\"']{4,200})", 0),
        (
            "email",
            r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}"
            r"(?:\.[A-Za-z0-9-]{1,63}){0,4}\.[A-Za-z]{2,24}\b",
            0,
        ),
        (
            "user",
            r"(?:/home/|/Users/|[A-Za-z]:(?:\\{1,4}|/)Users(?:\\{1,4}|/))"
            r"([^\s/\\\"':;,<>|]{1,64})",
            0,
        ),
        ("user", r"(?<![A-Za-z0-9])-(?:home|Users)-([A-Za-z0-9_]{1,64})(?=-)", 0),
        ("bank-account", r"\b[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b", 0),
        ("identity", r"(?<![0-9A-Za-z_.-])[1-8][0-9]{16}[0-9Xx](?![0-9A-Za-z_])", 0),
        (
            "card",
            r"(?<![0-9A-Za-z_.-])(?:[0-9]{4}[ -]){3}[0-9]{4}(?![0-9A-Za-z_-])"
            r"|(?<![0-9A-Za-z_.-])[3-6][0-9]{12,18}(?![0-9A-Za-z_.-])",
            0,
        ),
        (
            "phone",
            r"(?<![0-9A-Za-z+])\+[1-9][0-9]{0,2}[ ()-]{0,3}[0-9](?:[ ()-]{0,2}[0-9]){6,12}"
            r"|(?<![0-9A-Za-z_.+/-])1[3-9][0-9]{9}(?![0-9A-Za-z_.-])"
            r"|(?<![0-9A-Za-z_.-])\(?[2-9][0-9]{2}(?:\) ?|[ -])[2-9][0-9]{2}-[0-9]{4}"
            r"(?![0-9A-Za-z_-])",
            0,
        ),
        ("identity", r"(?<![0-9A-Za-z_.-])[0-8][0-9]{2}-[0-9]{2}-[0-9]{4}(?![0-9A-Za-z_-])", 0),
        ("address", r"(?<![0-9.])(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?![0-9.])", 0),
        ("address", r"(?<![\w:.-])(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}(?![\w:-])", 0),
        (
            "address",
            r"(?<![\w:.])(?=[0-9A-Fa-f]{0,4}:[0-9A-Fa-f]{0,4}:)[0-9A-Fa-f:]{6,39}(?![\w:])",
            0,
        ),
    )
)
#: a text that none of this stands in holds nothing to find
HINT = re.compile(
    "|".join(first for first, _ in _TOKENS)
    + r"|-----BEGIN|://|@|\+[0-9]|/home/|\\Users|/Users|-home-|-Users-|hooks\.slack|webhooks|密|口令|令牌"
    r"|sshpass|mysql|mariadb|(?:-u|--user)[ =]"
    r"|(?i:bearer|basic|token|apikey|cookie|passw|passp|passc|pwd|secret|key|credential)|sig="
    r"|[0-9]{1,4}[ .-][0-9]{1,4}[ .-][0-9]|[0-9]{11}|[0-9]\) ?[0-9]|[0-9]{3} [0-9]{3}-"
    r"|[0-9A-Fa-f]:[0-9A-Fa-f:]|[A-Z]{2}[0-9]{2} ?[A-Z0-9]{4}"
)
_COMMON = frozenset(("user", "users", "root", "app", "runner", "ubuntu", "shared", "public", "..."))
_EXAMPLES = ("@example.com", "@example.org", "@users.noreply.github.com")


def is_harmless(kind: str, found: str) -> bool:
    """Whether what has the form of something private is none: placeholders, local addresses."""
    if found.startswith("<") or (found and not found.strip("*•xX.")):
        return True
    check = _CHECKS.get(kind)
    return check is not None and check(found)


def _is_variable(found: str) -> bool:
    return found.startswith(("$", "{", "os.environ", "process.env", "os.getenv", "%"))


def _is_common_name(found: str) -> bool:
    return found.lower() in _COMMON or found.startswith(("$", "{", "%", "~"))


def _is_example(found: str) -> bool:
    return found.lower().endswith(_EXAMPLES)


def _is_local(found: str) -> bool:
    if ":" in found or "-" in found:
        if len(found) == 17 and found.count(found[2]) == 5:  # of a network card
            return len(set(found)) <= 2
        try:
            address = IPv6Address(found)
        except ValueError:
            return True
        # three parts at least, and a figure: `a::b` is a name in many a language
        few = found.count(":") < 3 or not any(c.isdigit() for c in found)
        return few or address.is_loopback or address.is_link_local or address.is_unspecified
    parts = [int(part) for part in found.split(".")]
    return (
        max(parts) > 255
        or parts[0] in (0, 10, 127)
        or parts[:2] == [192, 168]
        or (parts[0] == 172 and 16 <= parts[1] < 32)
    )


def _is_no_card(found: str) -> bool:
    """Luhn's sum."""
    digits = [int(c) for c in reversed(found) if c.isdigit()]
    doubled = [d if n % 2 == 0 else d * 2 - 9 * (d > 4) for n, d in enumerate(digits)]
    return sum(doubled) % 10 != 0


def _is_no_identity(found: str) -> bool:
    """The check digit of GB 11643-1999; a US number has none."""
    if "-" in found:
        return found.startswith(("000", "666")) or "-00-" in found or found.endswith("-0000")
    weighed = sum(int(d) * (pow(2, 17 - n, 11)) for n, d in enumerate(found[:17]))
    return "10X98765432"[weighed % 11] != found[17].upper()


def _is_no_account(found: str) -> bool:
    """The check digits of ISO 13616."""
    plain = found.replace(" ", "")
    moved = plain[4:] + plain[:4]
    return len(plain) < 15 or int("".join(str(int(c, 36)) for c in moved)) % 97 != 1


_CHECKS: dict[str, Callable[[str], bool]] = {
    "secret": _is_variable,
    "user": _is_common_name,
    "email": _is_example,
    "address": _is_local,
    "card": _is_no_card,
    "identity": _is_no_identity,
    "bank-account": _is_no_account,
}
