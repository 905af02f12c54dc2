"""Tells which conversation a request belongs to, and which of its messages are new.

APIs without state get the whole history at every call; only what goes beyond the call before is
new. A history is known by a running digest over its messages: role, text, calls with arguments,
results. System prompts (often changed by the minute or by a hand-over) and call ids (rewritten by
proxies) are left out; both only decide between conversations that are otherwise alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from loopaudit.formats.shapes import name
from loopaudit.keys import canonical, digest
from loopaudit.model import (
    BoundaryKind,
    BoundaryPiece,
    CallPiece,
    Piece,
    ResponsePiece,
    ResultPiece,
)

#: conversations and past histories kept in mind; beyond it the ones longest unheard of are dropped
MAX_STANDING = 20_000
MAX_PAST = 1_000_000


@dataclass(slots=True, eq=False)
class Conversation:
    run: str
    own: str | None = None  # the log's own id of it
    system: int = 0  # digest of its system prompt
    heads: list[int] = field(default_factory=list)  # digests of where it stands now
    ids: list[str] = field(default_factory=list)  # telling call ids of its last response


@dataclass(slots=True)
class Match:
    conversation: Conversation
    new: list[Piece]  # pieces beyond what was known; run and line are the caller's to set
    chain: int  # digest of the history with this request
    forked_from: str | None = None  # run whose past this conversation shares

    @property
    def run(self) -> str:
        return self.conversation.run


class Conversations:
    def __init__(self, new_run: Callable[[str | None], str]) -> None:
        self._new_run = new_run
        #: digest -> conversations that stand there, each with the answer this choice would add
        self._heads: dict[int, list[tuple[Conversation, ResponsePiece | None]]] = {}
        self._standing: dict[Conversation, None] = {}  # the one heard of last at the end
        self._past: dict[int, Conversation] = {}
        self._calls: dict[str, Conversation] = {}  # telling call id of a last response
        self._owners: dict[str, Conversation] = {}  # the log's own id

    def match(
        self,
        pieces: Sequence[Piece],
        *,
        own: object = None,
        system: int = 0,
        requests: bool = False,
    ) -> Match:
        """The conversation that `pieces`, a whole history, belongs to.

        `requests`: the histories are those of API calls. Then one that parts from a known past is
        a fork, and one that is asked again stays in its run. Without, it is a conversation of its
        own, as of two attempts at one task that happen to begin alike.
        """
        own = name(own)
        chains = running(pieces)
        whole = chains[-1] if chains else 0
        for length in range(len(chains), 0, -1):
            found = self._at(chains[length - 1], own, system, pieces, length)
            if found is not None:
                conversation, choice = found
                new = list(pieces[length:])
                if choice is not None:
                    new.insert(0, choice)
                return self._go_on(Match(conversation, new, whole), system)
        known = self._known(pieces, chains, own, system) if requests else None
        if known is not None:
            return known
        fresh = Conversation(self._new_run(own), own, system)
        if own is not None:
            self._owners[own] = fresh
        return self._go_on(Match(fresh, list(pieces), whole), system)

    def _known(
        self, pieces: Sequence[Piece], chains: list[int], own: str | None, system: int
    ) -> Match | None:
        """A request whose history is not simply the known one and more."""
        if own is None:
            return self._by_call(pieces) or self._by_past(pieces, chains, system)
        owner = self._owners.get(own)
        if owner is None:
            return None
        if chains and self._past.get(chains[-1]) is owner:  # asked again
            return self._go_on(Match(owner, [], chains[-1]), system)
        known = self._by_call(pieces, owner)
        if known is not None:
            return known
        # the log says that it is the same: its history was rewritten, as by a compaction
        last = max((i for i, p in enumerate(pieces) if isinstance(p, ResponsePiece)), default=-1)
        new = list(pieces[last + 1 :])
        if last >= 0:
            new.insert(0, BoundaryPiece("", 0, BoundaryKind.COMPACTION))
        return self._go_on(Match(owner, new, chains[-1] if chains else 0), system)

    def follow(self, after: Conversation, chain: int, pieces: Sequence[Piece]) -> Match:
        """A request that names its predecessor and so sends only what is new. `chain` is where the
        conversation stood after that predecessor: if it has gone on since, this is a fork."""
        whole = running(pieces, chain)[-1] if pieces else chain
        if whole in after.heads:  # the same request again
            return Match(after, [], whole)
        new = list(pieces)
        if chain in after.heads:
            return self._go_on(Match(after, new, whole), after.system)
        fork = Conversation(self._new_run(None), None, after.system)
        return self._go_on(Match(fork, new, whole, after.run), after.system)

    def extend(self, match: Match, choices: Sequence[ResponsePiece]) -> None:
        """Adds the answer to a matched request; several choices are alternatives of it."""
        if not choices:
            return
        conversation = match.conversation
        ends = [running([choice], match.chain)[-1] for choice in choices]
        self._stand(conversation, ends, [None, *choices[1:]])
        for end in ends:
            self._remember(end, conversation)
        self._forget_calls(conversation)
        conversation.ids = [c.id for p in choices for c in p.calls if c.id and telling(c)]
        for key in conversation.ids:
            self._calls[key] = conversation

    def _at(
        self, chain: int, own: str | None, system: int, pieces: Sequence[Piece], length: int
    ) -> tuple[Conversation, ResponsePiece | None] | None:
        """The conversation that stands where the first `length` of `pieces` lead."""
        found = [entry for entry in self._heads.get(chain, ()) if entry[0].own == own]
        if len(found) > 1:
            rest = pieces[length:]
            answered = {piece.call_id for piece in rest if isinstance(piece, ResultPiece)}
            found.sort(key=lambda e: (not answered.isdisjoint(e[0].ids), e[0].system == system))
        return found[-1] if found else None

    def _by_call(self, pieces: Sequence[Piece], owner: Conversation | None = None) -> Match | None:
        """A history that was rewritten (shortened, cleared) still holds the last call's id."""
        for index in range(len(pieces) - 1, -1, -1):
            piece = pieces[index]
            for call in piece.calls if isinstance(piece, ResponsePiece) else ():
                conversation = self._calls.get(call.id or "")
                if conversation is not None and owner in (None, conversation):
                    chain = running(pieces)[-1]
                    match = Match(conversation, list(pieces[index + 1 :]), chain)
                    return self._go_on(match, conversation.system)
        return None

    def _by_past(self, pieces: Sequence[Piece], chains: list[int], system: int) -> Match | None:
        for length in range(len(chains), 0, -1):
            conversation = self._past.get(chains[length - 1])
            if conversation is None:
                continue
            if not any(isinstance(piece, ResponsePiece) for piece in pieces[:length]):
                return None  # only the question is the same
            if length == len(chains):  # asked again
                return self._go_on(Match(conversation, [], chains[-1]), system)
            fork = Conversation(self._new_run(None), None, system)
            new = list(pieces[length:])
            match = Match(fork, new, chains[-1], forked_from=conversation.run)
            return self._go_on(match, system)
        return None

    def _go_on(self, match: Match, system: int) -> Match:
        match.conversation.system = system
        self._remember(match.chain, match.conversation)
        self._stand(match.conversation, [match.chain], [None])
        return match

    def _stand(
        self,
        conversation: Conversation,
        heads: list[int],
        choices: Sequence[ResponsePiece | None],
    ) -> None:
        self._leave(conversation)
        self._standing[conversation] = None
        if len(self._standing) > MAX_STANDING:
            oldest = next(iter(self._standing))
            self._leave(oldest)
            self._forget_calls(oldest)
            if oldest.own is not None:
                self._owners.pop(oldest.own, None)
        conversation.heads = list(dict.fromkeys(heads))
        for head, choice in zip(heads, choices, strict=True):
            standing = self._heads.setdefault(head, [])
            if all(entry[0] is not conversation for entry in standing):
                standing.append((conversation, choice))

    def _leave(self, conversation: Conversation) -> None:
        for head in conversation.heads:
            left = [entry for entry in self._heads[head] if entry[0] is not conversation]
            if left:
                self._heads[head] = left
            else:
                del self._heads[head]
        conversation.heads = []
        self._standing.pop(conversation, None)

    def _remember(self, chain: int, conversation: Conversation) -> None:
        self._past.setdefault(chain, conversation)
        if len(self._past) > MAX_PAST:
            del self._past[next(iter(self._past))]

    def _forget_calls(self, conversation: Conversation) -> None:
        for key in conversation.ids:
            if self._calls.get(key) is conversation:
                del self._calls[key]


def running(pieces: Sequence[Piece], chain: int = 0) -> list[int]:
    """The digest of the history after each piece, starting from `chain`."""
    chains = []
    for piece in pieces:
        if isinstance(piece, ResponsePiece):
            text = (piece.text or "").strip()
            if text:
                chain = _add(chain, "A", digest(text))
            for call in piece.calls:
                chain = _add(chain, f"C{call.tool}", digest(canonical(call.args)))
        elif isinstance(piece, ResultPiece):
            text = piece.text
            chain = _add(chain, "R", digest(text if isinstance(text, str) else canonical(text)))
        elif isinstance(piece, BoundaryPiece):
            chain = _add(chain, "U", digest((piece.text or "").strip()))
        chains.append(chain)
    return chains


def _add(chain: int, kind: str, value: int) -> int:
    return digest(f"{chain:x}{kind}\0{value:x}")


def telling(call: CallPiece) -> bool:
    """Whether a call id is random enough to be met nowhere else: not `call_0`, `name:3`, …"""
    key = call.id
    if key is None or len(key) < 16 or len(set(key)) < 10 or key.startswith("functions."):
        return False
    return len(call.tool) < 4 or call.tool not in key


__all__ = ["Conversation", "Conversations", "Match", "running", "telling"]
