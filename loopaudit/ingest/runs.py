"""Pieces to runs: merge the pieces of a response, pair results with calls, drop what stands twice.

Rules, the same for all formats:
- Pieces with one response id in one run are one response: usage is the field-wise maximum, calls
  are united by call id (the last arguments win), the first time counts.
- Calls without response id that stand again with the same call id, arguments and time are a copy.
- A result answers the oldest unanswered call of its id; without id, the oldest unanswered call.
- A result that comes before its call waits for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from sys import intern, maxsize

from loopaudit.effects import ToolTable
from loopaudit.effects.table import NO_EFFECT
from loopaudit.formats.base import Reader
from loopaudit.ingest.again import Again
from loopaudit.ingest.chants import LEAST, chant
from loopaudit.ingest.counting import Context, Tokenizer
from loopaudit.ingest.pairing import Pairing
from loopaudit.ingest.repeated import Repeated
from loopaudit.ingest.results import Keep, fill_result, mask_digest, quote, result_text
from loopaudit.ingest.steps import grown, larger, number, span
from loopaudit.keys import call_key, canonical, digest
from loopaudit.model import (
    Attempt,
    AttemptPiece,
    Boundary,
    BoundaryKind,
    BoundaryPiece,
    Call,
    CallPiece,
    Piece,
    ResponsePiece,
    ResultPiece,
    Run,
    RunPiece,
    Step,
    UsageMark,
)
from loopaudit.retry import classify

#: Texts of first occurrences are held, in bytes a run, so that a later repeat can be compared
#: masked; past this they are read again from the log, or masked at once where that cannot be.
HELD_TEXT = 2_000_000
#: what is kept of tags and attributes of a run
_MOST_METADATA, _LONGEST_METADATA = 100, 500

_TASK = 1_000  # characters of a text that is held until it is known whether another comes

_RUN_FIELDS = (
    "session",
    "parent",
    "parent_call",
    "agent",
    "task_type",
    "outcome",
    "outcome_source",
    "project",
    "user",
    "host",
    "version",
    "prompt",
    "forked_from",
)


@dataclass(slots=True)
class _Builder:
    """A run under construction."""

    run: Run
    repeated: Repeated
    pairing: Pairing = field(default_factory=Pairing)
    steps: dict[str, Step] = field(default_factory=dict)  # by response id
    texts: dict[str, set[int]] = field(default_factory=dict)  # digests of the texts of open steps
    seen: set[tuple[str, int, float]] = field(default_factory=set)  # id, key, time of calls
    model: str | None = None  # of the run as a whole, where a response names none
    before: list[Boundary] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    context: Context | None = None  # while the run tells no usage, where that is to be counted
    told: bool = False  # a text that no user wrote
    injected: tuple[Boundary, str] | None = None  # the first such text, while it is not masked
    written: tuple[Step, object] | None = None  # arguments of the newest call
    talk: tuple[Step, list[str]] | None = None  # the newest response, while it called no tool
    talked: tuple[Step, str] | None = None  # the one before it that called none, see `_said`


class RunAssembler:
    """Builds the runs of one job (one file, or several that hold parts of the same runs)."""

    def __init__(
        self,
        path: str,
        format_name: str,
        *,
        keep: Keep | None = None,
        tools: ToolTable | None = None,
        mask: Callable[[str], str] | None = None,
        placeholder_outputs: bool = False,
        tokenizer: Tokenizer | None = None,
        live: bool = False,
    ) -> None:
        """With a `tokenizer` the tokens of runs that tell none are counted.

        `live`: a guard looks at the run while it grows (see `growing`), so every result is masked
        at once, not only when its call repeats.
        """
        self.path = path
        self.format = format_name
        self.keep = keep or Keep()
        self.tools = tools or ToolTable()
        self.mask = mask
        self.placeholder_outputs = placeholder_outputs
        self.tokenizer = tokenizer
        self.live = live
        self.words = True  # results are read for failures that the log does not flag
        self.streamed = True  # a call told again with other arguments is the same, gone on
        self.mentioned: list[Run] = []
        self.held_text = HELD_TEXT
        self._rereaders: dict[str, Again] = {}
        self._builders: dict[str, _Builder] = {}
        self._add = {
            ResponsePiece: self._response,
            ResultPiece: self._result,
            BoundaryPiece: self._boundary,
            AttemptPiece: self._attempt,
            RunPiece: self._run,
        }

    def start_file(
        self,
        path: str,
        format_name: str,
        reader: Reader,
        rereader: Again | None = None,
        *,
        in_memory: bool = False,
    ) -> None:
        """Go on with another file that holds parts of the same runs.

        `in_memory`: the whole input is held until its end, so texts of it cost nothing more.
        """
        self.path, self.format = path, format_name
        self.held_text = maxsize if in_memory else HELD_TEXT * (8 if reader.unnamed_calls else 1)
        if rereader is not None:
            self._rereaders[path] = rereader
        self.placeholder_outputs = reader.placeholder_outputs
        self.words = not reader.flags_failures
        self.streamed = reader.streamed_calls

    def add(self, piece: Piece) -> None:
        self._add[type(piece)](piece)  # type: ignore[operator]

    def growing(self, run_id: str) -> Run:
        """The run as far as it is built; what came since its last step is its end."""
        builder = self._builder(run_id)
        if builder.talk is not None:
            self._said(builder)
        builder.run.after, builder.run.attempts_after = builder.before, builder.attempts
        return builder.run

    def finish(self, missing: Iterable[str] = ()) -> list[Run]:
        """The runs in order of appearance.

        A run without any step or boundary is only mentioned here, as a parent mentions its
        sub-agents: it goes to `mentioned`.
        """
        lacks = frozenset(missing)
        runs: list[Run] = []
        self.mentioned = []
        for builder in self._builders.values():
            run = builder.run
            run.after = builder.before
            run.attempts_after = builder.attempts
            run.missing = lacks
            run.orphan_results += builder.pairing.early
            if builder.context is not None:
                builder.context.fill()
            if builder.talk is not None:
                self._said(builder)
            number(run, self.placeholder_outputs)
            if builder.model is not None:  # said of the run as a whole
                for step in run.steps:
                    step.model = step.model or builder.model
            known = run.steps or run.after or run.attempts_after
            (runs if known else self.mentioned).append(run)
        self._builders = {}
        return runs

    # -- pieces -----------------------------------------------------------------------------------

    def _builder(self, run_id: str) -> _Builder:
        builder = self._builders.get(run_id)
        if builder is None:
            run = Run(id=run_id, path=self.path, format=self.format)
            builder = _Builder(run, Repeated(self.mask, partial(self._rereader, run)))
            if self.tokenizer is not None:
                builder.context = Context(self.tokenizer)
            self._builders[run_id] = builder
        return builder

    def _run(self, piece: RunPiece) -> None:
        builder = self._builder(piece.run)
        run = builder.run
        for name in _RUN_FIELDS:
            value = getattr(piece, name)
            if value is not None and (getattr(run, name) is None or name.startswith("outcome")):
                setattr(run, name, value[:2_000] if name == "prompt" else value)
        for name, text in (piece.metadata or {}).items():
            if len(run.metadata) < _MOST_METADATA:
                run.metadata.setdefault(name, text[:_LONGEST_METADATA])
        if piece.model is not None:
            builder.model = intern(piece.model)
        span(run, piece.at)

    def _boundary(self, piece: BoundaryPiece) -> None:
        builder = self._builder(piece.run)
        text = piece.text
        boundary = Boundary(piece.kind, piece.line, self.path, piece.at)
        builder.before.append(boundary)
        if text:
            boundary.text = text[:200]
            if piece.kind is not BoundaryKind.USER:
                self._injected(builder, boundary, text)
        if builder.context is not None:
            if piece.kind is BoundaryKind.COMPACTION:
                builder.context.forgot()
            if text:
                builder.context.heard(text)
        span(builder.run, piece.at)

    def _injected(self, builder: _Builder, boundary: Boundary, text: str) -> None:
        """Most threads of sub-agents are told one thing, their task, which is compared with
        nothing: the first text of a run is masked when a second one comes."""
        if not builder.told and not self.live and len(text) <= _TASK:
            builder.injected = boundary, text
        else:
            boundary.text_key = mask_digest(text, self.mask)
            if builder.injected is not None:
                (first, said), builder.injected = builder.injected, None
                first.text_key = mask_digest(said, self.mask)
        builder.told = True

    def _attempt(self, piece: AttemptPiece) -> None:
        builder = self._builder(piece.run)
        builder.attempts.append(
            Attempt(
                line=piece.line,
                at=piece.at,
                error=classify(http_status=piece.http_status, code=piece.code, text=piece.message),
                http_status=piece.http_status,
                code=piece.code,
                message=piece.message[:200] if piece.message else None,
                wait=piece.wait,
                retry_after=piece.retry_after,
                number=piece.number,
                limit=piece.limit,
                gave_up=piece.gave_up,
                layer=piece.layer,
            )
        )
        span(builder.run, piece.at)

    def _response(self, piece: ResponsePiece) -> None:
        builder = self._builders.get(piece.run) or self._builder(piece.run)
        if piece.id is not None:
            step = builder.steps.get(piece.same_step_as or piece.id)
            if step is not None:
                self._merge(builder, step, piece)
                return
        elif piece.calls and self._copied(builder, piece):
            builder.run.duplicates += 1
            return
        self._open(builder, piece)

    def _copied(self, builder: _Builder, piece: ResponsePiece) -> bool:
        """Whether all calls of a response without id stand in the run already."""
        if piece.at is None:
            return False
        for call in piece.calls:
            if call.id is None:
                return False
            key = self._key(call.tool, call.args, canonical(call.args))
            if (call.id, key, call.at or piece.at) not in builder.seen:
                return False
        return True

    def _open(self, builder: _Builder, piece: ResponsePiece) -> None:
        at, usage = piece.at, piece.usage
        step = Step(0, self.path, piece.line, piece.id, piece.kind, at, piece.ended or at)
        if piece.model:
            step.model = intern(piece.model)
        if piece.finish:
            step.finish = intern(piece.finish)
        if piece.service:
            step.service = intern(piece.service)
        step.usage, step.cost = usage, piece.cost
        if builder.attempts:
            step.attempts, builder.attempts = builder.attempts, []
        if builder.before:
            step.before, builder.before = builder.before, []
        builder.run.steps.append(step)
        if piece.id is not None:
            builder.steps[piece.id] = step
        if builder.talk is not None:
            self._said(builder)
        if builder.talked is not None and any(b.kind is BoundaryKind.USER for b in step.before):
            builder.talked = None
        if builder.context is not None:
            builder.context.opened(step)
            self._usage_told(builder, piece)
        if piece.text:
            self._text(builder, step, piece.text)
        for position, call in enumerate(piece.calls):
            self._call(builder, step, call, piece, position, 0)
        span(builder.run, at)
        if piece.ended is not None:
            span(builder.run, piece.ended)

    @staticmethod
    def _usage_told(builder: _Builder, piece: ResponsePiece) -> None:
        if piece.usage is not None and piece.usage.mark is not UsageMark.ABSENT:
            builder.context = None

    def _merge(self, builder: _Builder, step: Step, piece: ResponsePiece) -> None:
        if step.path != self.path and builder.before:  # another file tells them again
            step.before = step.before or builder.before
            builder.before = []
        if builder.context is not None:
            self._usage_told(builder, piece)
        if piece.usage is not None:
            step.usage = piece.usage if step.usage is None else larger(step.usage, piece.usage)
        if piece.text:
            self._text(builder, step, piece.text)
        before = len(step.calls)
        for call in piece.calls:
            self._call(builder, step, call, piece, len(step.calls), before)
        if piece.finish is not None:
            step.finish = intern(piece.finish)
        if step.model is None and piece.model:
            step.model = intern(piece.model)
        if step.cost is None:
            step.cost = piece.cost
        if piece.at is not None:
            if step.at is None or piece.at < step.at:
                step.at = piece.at
            if step.ended is None or piece.at > step.ended:
                step.ended = piece.at
            span(builder.run, piece.at)

    def _text(self, builder: _Builder, step: Step, text: str) -> None:
        key = digest(text)
        if step.id is not None:
            texts = builder.texts.get(step.id)
            if texts is None:
                if len(builder.texts) > 256:  # pieces of a response stand near each other
                    builder.texts.clear()
                texts = builder.texts[step.id] = set()
            if key in texts:
                return
            texts.add(key)
        step.text_key = key if step.text_key is None else digest(f"{step.text_key}:{key}")
        if len(text) >= LEAST and (found := chant(text)) is not None:
            step.chant = found._replace(offset=step.text_size + found.offset)
        step.text_size += len(text)
        if builder.talk is not None and builder.talk[0] is step:
            builder.talk[1].append(text)
        elif not step.calls:
            builder.talk = (step, [text])
        if builder.context is not None:
            builder.context.said(step, text)
        if self.keep.text and len(step.text or "") < self.keep.text:
            step.text = ((step.text or "") + text)[: self.keep.text]

    def _said(self, builder: _Builder) -> None:
        """The newest response is complete: what it said, if it called no tool.

        What a user answered at once is compared with nothing, so it is not masked.
        """
        assert builder.talk is not None
        (step, texts), builder.talk = builder.talk, None
        text, before = "".join(texts), builder.talked
        builder.talked = step, text
        if before is not None:
            first, said = before
            if first.said is None:
                first.said = mask_digest(said, self.mask)
        if before is not None or self.live:
            step.said = mask_digest(text, self.mask)

    def _key(self, tool: str, args: object, arguments: bytes) -> int:
        """Digest of a call without the arguments that are bookkeeping. `arguments`: as a whole."""
        essential = self.tools.essential(tool, args)
        return call_key(tool, arguments if essential is args else canonical(essential))

    def _call(
        self,
        builder: _Builder,
        step: Step,
        piece: CallPiece,
        response: ResponsePiece,
        position: int,
        before: int,
    ) -> None:
        """`before`: calls of the step that other pieces told, one of which this may be."""
        tool, ident = intern(piece.tool), piece.id
        arguments = canonical(piece.args)
        key = self._key(tool, piece.args, arguments)
        if before and ident is not None and response.id is not None:
            alike = [c for c in step.calls[:before] if c.id == ident and c.tool == tool]
            if any(known.key == key for known in alike):
                builder.run.duplicates += 1
                return
            written = builder.written
            if alike and (
                self.streamed
                or response.streamed
                or (written is not None and written[0] is step and grown(written[1], piece.args))
            ):
                known = alike[-1]
                builder.written = step, piece.args
                builder.repeated.forget(known)
                known.key = key
                self._describe(builder, known, piece.args, arguments)
                return
        if not self.streamed:
            builder.written = step, piece.args
        call = Call(0, 0, position, ident, tool, key, piece.line or response.line)
        call.started = at = piece.at or response.at
        self._describe(builder, call, piece.args, arguments)
        if builder.context is not None:
            builder.context.said(step, arguments.decode("utf-8", "replace"))
        if step.calls:
            step.calls.append(call)
        else:
            builder.talk = None
            step.calls = [call]  # exactly one place: most responses hold one call
        if ident is not None and response.id is None and at is not None:
            builder.seen.add((ident, key, at))
        early = builder.pairing.called(call)
        if early is not None:
            self._attach(builder, call, early, self.path)

    def _describe(self, builder: _Builder, call: Call, args: object, arguments: bytes) -> None:
        call.args = arguments[: self.keep.args].decode("utf-8", "replace")
        plain = arguments.isascii()
        size = len(arguments if plain else arguments.decode("utf-8", "replace"))
        call.args_size = 0 if args is None else size
        effect = self.tools.classify(call.tool, args)
        if effect is not NO_EFFECT or call.mutates or call.polls or call.spawns or call.target:
            call.mutates, call.polls, call.spawns, call.target = effect
        builder.repeated.called(call)

    # -- results ----------------------------------------------------------------------------------

    def _result(self, piece: ResultPiece) -> None:
        builder = self._builders.get(piece.run) or self._builder(piece.run)
        span(builder.run, piece.at)
        call = builder.pairing.answered_by(piece)
        if call is not None:
            self._attach(builder, call, piece, self.path)
        elif piece.call_id is None:
            builder.run.orphan_results += 1
        elif builder.pairing.knows(piece.call_id):
            builder.run.duplicates += 1
        else:
            builder.pairing.keep(piece.call_id, piece)

    def _attach(self, builder: _Builder, call: Call, piece: ResultPiece, path: str) -> None:
        if path != builder.run.path:
            call.result_path = path
        at, duration = piece.at, piece.duration
        call.result_line, call.status = piece.line, piece.status
        call.http_status, call.code, call.exit_code = piece.http_status, piece.code, piece.exit_code
        call.ended = at
        if duration is not None:
            if at is None and call.started is not None:
                call.ended = call.started + duration
            elif at is not None and call.started is None:
                call.started = at - duration
        builder.pairing.settle()
        if piece.text is None:
            return  # an end without a recorded result: nothing to compare
        text = piece.text if type(piece.text) is str else result_text(piece.text)
        if builder.context is not None:
            builder.context.heard(text)
        fill_result(call, text, self.keep, self.words and not piece.flagged)
        if self.live:
            call.masked = mask_digest(text, self.mask)
            call.text = call.text or quote(text)
        else:
            builder.repeated.answered(call, text, self.held_text)

    def _rereader(self, run: Run, call: Call) -> Again | None:
        """What can read the result of `call` again; None where nothing can."""
        if call.id is None:
            return None
        return self._rereaders.get(call.result_path or run.path)
