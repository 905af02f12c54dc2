"""Puts spans together into runs: who ran within whom, which call was executed when, what is new."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from loopaudit.formats.tracing.span_calls import Proposed, Step, lend, lend_result, overlap
from loopaudit.formats.tracing.span_pieces import step_pieces
from loopaudit.formats.tracing.span_tree import SpanTree, in_order
from loopaudit.formats.tracing.spans import Kind, Span, SpanStore
from loopaudit.keys import canonical
from loopaudit.model import (
    BoundaryKind,
    BoundaryPiece,
    CallPiece,
    Piece,
    ResponsePiece,
    ResultPiece,
    RunPiece,
    UsageMark,
)

SUM_ONLY = "only the sum of several responses is told: given to the last of them"
#: responses whose calls may still wait for their execution
_RECENT = 4


@dataclass(slots=True, eq=False)
class _Run:
    id: str
    first: Span
    unit: Span | None
    parent: str | None = None
    caller: Span | None = None  # the tool span that began it
    steps: list[Step] = field(default_factory=list)
    recent: list[Step] = field(default_factory=list)  # the last responses, the newest last
    seen: set[int] = field(default_factory=set)  # nodes of histories
    open: dict[str, list[Proposed]] = field(default_factory=dict)  # by id; not shown by a history
    ran: dict[str, list[Proposed]] = field(default_factory=dict)  # by id; executed

    def add(self, step: Step) -> None:
        self.steps.append(step)
        if not step.attempt:
            self.recent = [*self.recent[1 - _RECENT :], step]

    def last(self) -> Step | None:
        """The latest response."""
        return self.recent[-1] if self.recent else None


def build(store: SpanStore) -> list[Piece]:
    """The pieces of all runs in `store`, run by run in the order of their beginning."""
    return _Builder(store).build()


class _Builder:
    def __init__(self, store: SpanStore) -> None:
        self.store = store
        self.histories = store.histories
        self.tree = SpanTree(store.spans)
        self.runs: dict[tuple[str, str], _Run] = {}  # trace, id of the unit -> run
        self.opened: list[_Run] = []
        self._traces: set[str] = set()  # that have a run
        self._call_ids: dict[int, str | None] = {}  # id of a tool span -> that of its call
        self._asked: dict[int, _Run] = {}  # node of a request -> run that made it
        self._said: dict[int, _Run] = {}  # node of a request with its answer -> run
        self._sessions: dict[str, _Run] = {}  # of model spans without a parent

    def build(self) -> list[Piece]:
        spans = in_order(self.store.spans.values())
        for span in spans:
            if span.kind is Kind.MODEL and self._is_response(span):
                self._model(span)
            elif span.kind is Kind.TOOL and self._is_execution(span):
                self._tool(span)
            elif span.kind is Kind.AGENT:
                self.store.used += 1
            else:
                self.store.ignored[f"{span.what} span"] += 1
        self._sums(spans)
        return [piece for run in self.opened for piece in self._told(run)]

    def _is_response(self, span: Span) -> bool:
        inner = self.tree.inner.get(id(span))
        if inner is None:
            lasted = span.start is not None and span.end is not None and span.end > span.start
            if span.tells or span.failed or span.history is not None or lasted:
                return True
            span.what = "empty model"
            return False
        if len(inner) == 1:
            lend(span, inner[0])
        span.what = "outer model"
        return False

    def _is_execution(self, span: Span) -> bool:
        if self.tree.place(span).tool is None:
            return True
        span.what = "inner tool"
        return False

    # -- runs -------------------------------------------------------------------------------------

    def _run(self, span: Span) -> _Run:
        unit = self.tree.place(span).unit
        key = (span.trace, unit.id if unit is not None else "")
        run = self.runs.get(key) or self._goes_on(span, unit) or self._open(span, unit)
        self.runs[key] = run
        return run

    def _goes_on(self, span: Span, unit: Span | None) -> _Run | None:
        """The run whose conversation this span goes on with, where the tree does not tell."""
        bare = unit is None and span.parent is None and span.kind is Kind.MODEL
        if unit is not None and self.tree.caller(unit) is not None:
            return None  # a tool began it: a conversation of its own
        if span.history is not None:
            answered = False
            for node, piece in self.histories.up(span.history):
                run = self._said.get(node) or (self._asked.get(node) if answered else None)
                if node == span.history and run is None:
                    run = self._asked.get(node)
                    if run is not None and not run.steps[-1].attempt:
                        run = None  # the same question, answered before: another conversation
                if run is not None and (bare or run.first.trace == span.trace):
                    return run
                answered = answered or isinstance(piece, ResponsePiece)
        return self._sessions.get(span.session) if bare and span.session is not None else None

    def _open(self, span: Span, unit: Span | None) -> _Run:
        parent: _Run | None = None
        caller: Span | None = None
        around: list[Span] = [] if unit is None else [unit, *self.tree.around(unit)]
        for above in around:
            if above.kind is Kind.TOOL and caller is None:
                caller = above
            if above is not unit and self.tree.is_unit(above):
                parent = parent or self.runs.get((span.trace, above.id))
        if parent is None and caller is not None:
            parent = self.runs.get((span.trace, ""))
        if span.trace not in self._traces:
            self._traces.add(span.trace)
            own = self.store.new_run(span.trace)
        else:
            own = f"{span.trace}/{unit.id if unit is not None else 'top'}"
        run = _Run(own, span, unit, parent.id if parent else None, caller if parent else None)
        self.opened.append(run)
        if unit is None and span.parent is None and span.session is not None:
            self._sessions.setdefault(span.session, run)
        return run

    # -- responses --------------------------------------------------------------------------------

    def _model(self, span: Span) -> None:
        run = self._run(span)
        last = run.last()
        twin = last is not None and span.request is not None and last.span.request == span.request
        if last is not None and twin and overlap(last.span, span):
            lend(span, last.span)
            last.usage = last.usage or span.usage
            if not last.calls:
                self._propose(run, last)
            self.store.ignored["response told by two instrumentations"] += 1
            return
        self.store.used += 1
        step = Step(span, span.usage, attempt=span.failed and not span.tells)
        if span.history is not None:
            step.before = self._new(run, span, span.history)
            self._asked[span.history] = run
        run.add(step)
        answer = span.answer
        if step.attempt or answer is None:
            return
        if span.history is not None:
            self._said[self.histories.add([answer], span.history)] = run
        self._propose(run, step)
        for result in span.results:
            self._show(run, result, span.line, step)

    def _propose(self, run: _Run, step: Step) -> None:
        answer = step.span.answer
        for piece in answer.calls if answer is not None else ():
            call = Proposed(piece, step.span.line)
            step.calls.append(call)
            if piece.id is not None:
                run.open.setdefault(piece.id, []).append(call)

    def _new(self, run: _Run, span: Span, node: int) -> list[Piece]:
        """Boundaries that this history tells and no call before it told. Its results go to their
        calls: all that have an id, and those without that come after the last answer."""
        fresh: list[tuple[Piece, bool]] = []  # with whether it comes after the last answer
        answer: ResponsePiece | None = None
        for here, piece in self.histories.up(node):
            if here in run.seen:
                break
            run.seen.add(here)
            fresh.append((piece, answer is None and not isinstance(piece, ResponsePiece)))
            if answer is None and isinstance(piece, ResponsePiece):
                answer = piece
        out: list[Piece] = []
        last = run.last()
        for piece, trails in reversed(fresh):
            if isinstance(piece, ResultPiece):
                if trails or piece.call_id is not None:
                    self._show(run, piece, span.line, last)
            elif isinstance(piece, BoundaryPiece) and trails:
                kind = piece.kind
                if kind is BoundaryKind.USER and run.steps:
                    if answer is None:
                        continue  # a prompt of its own for this call: the harness wrote it
                    if answer.calls:
                        kind = BoundaryKind.REMINDER  # nobody speaks between a call and its result
                out.append(BoundaryPiece("", 0, kind, span.start, piece.text))
        return out

    def _show(self, run: _Run, result: ResultPiece, line: int, step: Step | None) -> None:
        """Give a result that a history shows to the oldest call that it can answer."""
        if result.call_id is not None and result.call_id in run.open:
            known = run.open[result.call_id]
            if known:
                known.pop(0).shown = (result, line)
            return
        for call in step.calls if step is not None else ():
            fits = result.tool in (None, call.piece.tool)
            if call.shown is None and fits and None in (call.piece.id, result.call_id):
                call.shown = (result, line)
                return

    # -- executions -------------------------------------------------------------------------------

    def _tool(self, span: Span) -> None:
        run = self._run(span)
        call = self._proposed(run, span)
        if call is None:
            before = self._executed(run, span)
            if before is not None and before.span is not None and overlap(before.span, span):
                lend_result(span, before.span)
                self.store.ignored["execution told by two instrumentations"] += 1
                return
            call = self._unproposed(run, span, before)
        self.store.used += 1
        call.span = span
        self._call_ids[id(span)] = call.piece.id
        if call.piece.args is None:
            call.piece.args = span.args
        call.piece.at = call.piece.at or span.start
        if span.call_id is not None:
            run.ran.setdefault(span.call_id, []).append(call)

    def _proposed(self, run: _Run, span: Span) -> Proposed | None:
        """The call of the model that this span executes."""
        if span.call_id is not None:
            for call in run.open.get(span.call_id, ()):
                if call.span is None:
                    return call
        waiting = [
            call
            for step in run.recent
            for call in step.calls
            if call.span is None
            and call.piece.tool == span.tool
            and None in (call.piece.id, span.call_id)
        ]
        args = canonical(span.args)
        same = [
            call
            for call in waiting
            if None in (call.piece.args, span.args) or canonical(call.piece.args) == args
        ]
        return next(iter(same or waiting), None)

    def _executed(self, run: _Run, span: Span) -> Proposed | None:
        """The last execution of the same call."""
        if span.call_id is not None:
            executed = run.ran.get(span.call_id)
            return executed[-1] if executed else None
        last = run.last()
        for call in reversed(last.calls if last is not None else []):
            ran = call.span is not None and call.piece.tool == span.tool
            if ran and canonical(call.piece.args) == canonical(span.args):
                return call
        return None

    def _unproposed(self, run: _Run, span: Span, before: Proposed | None) -> Proposed:
        """A call that no model span told; or, after one `before`, its second execution: what the
        next history shows is then the result of this one."""
        step = run.last()
        if step is None:
            step = Step(span, None)
            run.add(step)
        key = span.call_id or span.id
        if before is None:
            call = Proposed(CallPiece(key, span.tool or "unknown", span.args), span.line)
            run.open.setdefault(key, []).append(call)
        else:
            tries = len(run.ran.get(key, ())) + 1
            piece = CallPiece(f"{key}~{tries}", before.piece.tool, before.piece.args)
            call = Proposed(piece, span.line, shown=before.shown)
            before.shown = None
            waits = run.open.get(before.piece.id or "", [])
            run.open[before.piece.id or ""] = [call if w is before else w for w in waits]
        step.calls.append(call)
        return call

    # -- sums -------------------------------------------------------------------------------------

    def _sums(self, spans: list[Span]) -> None:
        """Usage told of an agent or of an outer model span as a whole, where none within tells."""
        sums = [
            span
            for span in spans
            if span.usage is not None
            and not self.tree.told(span)
            and (span.kind is Kind.AGENT or id(span) in self.tree.inner)
        ]
        if not sums:
            return
        depth = {id(span): len(self.tree.around(span)) for span in sums}
        within: dict[int, list[Step]] = {}
        for run in self.opened:
            for step in run.steps:
                if not step.attempt:
                    for above in self.tree.around(step.span):
                        if id(above) in depth:
                            within.setdefault(id(above), []).append(step)
        for span in sorted(sums, key=lambda s: -depth[id(s)]):
            if self.tree.told(span) or span.usage is None:
                continue
            steps = within.get(id(span))
            if not steps:
                run = self._run(span)
                steps = [Step(span, None)]
                run.add(steps[0])
                self.store.used += 1
            usage = replace(span.usage)
            if len(steps) > 1:
                usage.mark, usage.note = UsageMark.ESTIMATED, SUM_ONLY
            steps[-1].usage = usage
            self.tree.tell(span)

    # -- out --------------------------------------------------------------------------------------

    def _told(self, run: _Run) -> Iterable[Piece]:
        about = [run.first, *self.tree.around(run.first)]
        outcome = self.store.outcomes.get(run.first.trace) if run.parent is None else None
        yield RunPiece(
            run.id,
            run.first.line,
            session=_first(about, "session") or run.first.trace,
            parent=run.parent,
            parent_call=self._call_ids.get(id(run.caller)),
            agent=run.unit.agent if run.unit is not None and run.unit.agent else run.first.agent,
            outcome=outcome[0] if outcome else None,
            outcome_source=outcome[1] if outcome else None,
            metadata=self.store.about.get(run.first.trace),
            project=_first(about, "project"),
            user=_first(about, "user"),
            host=_first(about, "host"),
            version=_first(about, "version"),
            prompt=_first(about, "prompt"),
        )
        for step in run.steps:
            for piece in step_pieces(step):
                piece.run = run.id
                piece.line = piece.line or step.span.line
                yield piece


def _first(spans: list[Span], name: str) -> str | None:
    return next((value for s in spans if (value := getattr(s, name)) is not None), None)
