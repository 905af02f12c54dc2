"""Which run a Claude Code line belongs to, and how the runs hang together.

Run ids: `<sessionId>` for the main thread, `<sessionId>/<agentId>` for a sub-agent, whether its
messages stand in a file of their own, in `agent_progress` lines of the parent's file, or in both
(then the response ids are equal and ingest drops the copies). Sub-agent lines of old logs have no
agent id: they are named after the first line of their chain. In headless output a sub-agent is
named after the call that started it.
"""

from __future__ import annotations

import os
from typing import Any

import orjson

from loopaudit import files
from loopaudit.formats.logreader import stem
from loopaudit.formats.shapes import Json, name, words
from loopaudit.keys import digest
from loopaudit.model import BoundaryPiece, Piece, ResponsePiece, RunPiece

_SPAWNING = ("Task", "Agent")
_MOST_HELD = 1_000


class Threads:
    """The runs of one file: announced once each, linked to the calls that started them."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.spawned: dict[str, str | None] = {}  # call that starts an agent -> type of the agent
        self._tasks: dict[int, str] = {}  # digest of a prompt -> call, for agents without a link
        self._runs: set[str] = set()  # announced
        self._prompted: set[str] = set()
        self._chains: dict[str, str] = {}  # uuid of a side-chain line -> uuid of its first line
        self._alias: dict[str, str] = {}  # session id -> the id under which its thread goes on
        self._held: list[tuple[str, Piece]] = []  # what stands before the first response
        self.started = False  # a response was seen
        self._last: tuple[Any, ...] = ()  # what named the run of the line before, and that run

    def session(self, record: Json) -> str:
        session = record.get("sessionId") or record.get("session_id")
        return session if type(session) is str else stem(self.path)

    def run(self, line: int, record: Json, at: float | None, pieces: list[Piece]) -> str:
        """The id of the line's run. A `RunPiece` is added to `pieces` where it is new."""
        get = record.get
        named = (get("sessionId"), get("agentId"), get("isSidechain"), get("parent_tool_use_id"))
        if self._last and named == self._last[0]:
            known: str = self._last[1]
            return known
        session = self.session(record)
        agent: Any = record.get("agentId")
        chained = agent is None and named[2] is True
        call = None
        if agent is not None:
            agent = name(agent)
        elif chained:
            agent = self._chain(record)
        else:
            call = agent = words(named[3])
        if agent and session == f"agent-{agent}":  # redacted logs: the folder names the session
            folders = self.path.replace("\\", "/").split("/")
            session = folders[-3] if folders[-2:-1] == ["subagents"] else session
        run = f"{session}/{agent}" if agent else self._alias.get(session, session)
        if run not in self._runs:
            self._announce(line, record, run, session, agent, call, at, pieces)
        # only a chain needs more than these names to be told from another
        self._last = (named, run) if named[0] is not None and not chained else ()
        return run

    def _announce(
        self,
        line: int,
        record: Json,
        run: str,
        session: str,
        agent: str | None,
        call: str | None,
        at: float | None,
        pieces: list[Piece],
    ) -> None:
        self._runs.add(run)
        facts = _metadata(self.path, agent) if agent else {}
        above = words(facts.get("parentAgentId"))
        fork = record.get("forkedFrom")
        parent = (f"{session}/{above}" if above else session) if agent else None
        pieces.append(
            RunPiece(
                run,
                line,
                session=session,
                parent=parent,
                parent_call=words(facts.get("toolUseId")) or call,
                agent=words(facts.get("agentType"))
                or words(record.get("attributionAgent"))
                or (self.spawned.get(call) if call else None),
                project=words(record.get("cwd")),
                version=words(record.get("version")),
                forked_from=words(fork.get("sessionId")) if type(fork) is dict else None,
                at=at,
            )
        )

    def embedded(
        self, line: int, record: Json, data: Json, agent: str, at: float | None, pieces: list[Piece]
    ) -> str:
        """The run of a sub-agent message that stands inside a line of its parent."""
        session = self.session(record)
        run = f"{session}/{agent}"
        if run in self._runs:
            return run
        self._runs.add(run)
        self._prompted.add(run)
        call = words(record.get("parentToolUseID"))
        outer = words(record.get("agentId"))
        pieces.append(
            RunPiece(
                run,
                line,
                session=session,
                parent=f"{session}/{outer}" if outer else session,
                parent_call=call,
                agent=self.spawned.get(call) if call else None,
                project=words(record.get("cwd")),
                version=words(record.get("version")),
                prompt=words(data.get("prompt")),
                at=at,
            )
        )
        return run

    def link(self, line: int, run: str, agent: str, call: str | None) -> RunPiece:
        """What the result of a call tells of the sub-agent that it started."""
        trunk = run.partition("/")[0]
        kind = self.spawned.get(call) if call else None
        return RunPiece(
            f"{trunk}/{agent}", line, session=trunk, parent=run, parent_call=call, agent=kind
        )

    def calls(self, tool: str, ident: str | None, args: Any) -> None:
        """Remember calls that start agents."""
        if tool in _SPAWNING and ident and type(args) is dict:
            self.spawned[ident] = words(args.get("subagent_type"))
            prompt = words(args.get("prompt"))
            if prompt:
                self._tasks[digest(prompt)] = ident

    def prompt(self, line: int, run: str, text: str, pieces: list[Piece]) -> None:
        """Add the first prompt of a run; a sub-agent's prompt finds the call that started it."""
        if run in self._prompted:
            return
        self._prompted.add(run)
        call = self._tasks.get(digest(text)) if "/" in run else None
        kind = self.spawned.get(call) if call else None
        pieces.append(RunPiece(run, line, prompt=text, parent_call=call, agent=kind))

    def _chain(self, record: Json) -> str:
        uuid = words(record.get("uuid")) or "side"
        above = words(record.get("parentUuid"))
        first = self._chains.get(above, uuid) if above else uuid
        self._chains[uuid] = first
        return first

    # A resumed log can hold the first prompt under the id of the old session and all that follows
    # under the new one. What stands before the first response is therefore held: where the response
    # answers that very line, both are one thread, under the id of the response.

    def hold(self, record: Json, pieces: list[Piece]) -> list[Piece]:
        if self.started:
            return pieces
        uuid = words(record.get("uuid")) or ""
        self._held += [(uuid, piece) for piece in pieces]
        return self.release() if len(self._held) > _MOST_HELD else []

    def begin(self, record: Json, run: str) -> list[Piece]:
        """The first response was read: what was held, under the right id."""
        self.started = True
        above = words(record.get("parentUuid"))
        old = next((piece.run for uuid, piece in self._held if uuid and uuid == above), run)
        if old != run and "/" not in old and "/" not in run:
            self._alias[old] = run
            self._last = ()
            self._held = [
                (uuid, _moved(piece, old, run))
                for uuid, piece in self._held
                if not (isinstance(piece, RunPiece) and piece.run == old and piece.prompt is None)
            ]
        return self.release()

    def release(self) -> list[Piece]:
        held, self._held = self._held, []
        return [piece for _, piece in held]


def _moved(piece: Piece, old: str, run: str) -> Piece:
    if piece.run == old and isinstance(piece, BoundaryPiece | RunPiece | ResponsePiece):
        piece.run = run
    return piece


def _metadata(path: str, agent: str) -> Json:
    """What `agent-<id>.meta.json` beside a sub-agent's file says of it; {} where there is none."""
    folder, base = os.path.split(path)
    if not base.startswith(f"agent-{agent}"):
        return {}
    try:
        name = os.path.join(folder, f"agent-{agent}.meta.json")
        facts = orjson.loads(files.whole(name, 1 << 20))
    except (OSError, ValueError):
        return {}
    return facts if type(facts) is dict else {}
