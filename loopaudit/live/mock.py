"""The mock model and its tools: they play a `Scenario`, the same each time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from random import Random
from typing import Any

from loopaudit.keys import canonical
from loopaudit.live.clock import Clock
from loopaudit.live.model import Asked, Delta, Message, ModelError, Offered
from loopaudit.live.scenario import Answer, Scenario, ScriptedTool, Turn, spoken
from loopaudit.live.tools import Answered, timed_out
from loopaudit.model import Usage

#: characters of text that make a token, in Latin script and in others: a mock's round figures
_LATIN, _OTHER = 4, 1


class MockModel:
    """Answers as the scenario says; after messages of a guard as its `[heeds]` says.

    Tokens grow with what is sent again each step, as on a real bill; what a guard says is not
    counted, so that a guarded run costs what the same steps cost unguarded.
    """

    name = "mock"

    def __init__(self, scenario: Scenario, clock: Clock, seed: int = 0, language: str = "en"):
        self._scenario = scenario
        self._clock = clock
        self._random = Random(seed)
        self._language = language
        self._turns: Iterator[Turn] = iter(())
        self._request = -1  # user messages so far
        self._step = 0  # of this request
        self._heeding = False
        self._failures: list[Any] = []
        self._turn: Turn | None = None
        self._calls = 0

    def stream(self, messages: Sequence[Message], tools: Sequence[Offered]) -> Iterator[Delta]:
        """One attempt. Raises `ModelError` where the script says that it fails."""
        if self._turn is None:
            self._turn = self._next(messages)
            self._failures = list(self._turn.fails)
        turn = self._turn
        if self._failures:
            failure = self._failures.pop(0)
            raise ModelError(
                failure.message,
                status=failure.status,
                code=failure.code,
                retry_after=failure.retry_after,
            )
        self._turn = None
        self._clock.sleep(turn.seconds)
        text = self._fill(spoken(turn.say, self._language))
        asked: list[Asked] = []
        for scripted in turn.calls:
            self._calls += 1
            args = {} if scripted.args is None else self._fill(scripted.args)
            asked.append(Asked(f"call_{self._calls}", scripted.tool, args))
        if text:
            half = len(text) // 2
            yield Delta(text=text[:half])
            yield Delta(text=text[half:])
        for call in asked:
            yield Delta(call=call)
        usage = self._usage(turn, messages, text, asked)
        yield Delta(usage=usage, finish="tool_use" if asked else "stop")

    def _next(self, messages: Sequence[Message]) -> Turn:
        request = sum(message.role == "user" and not message.injected for message in messages)
        if request != self._request:
            self._request, self._step, self._heeding = request, 0, False
            self._turns = self._played(self._scenario.turns, self._scenario.again)
        self._step += 1
        if not self._heeding and self._heeds(messages):
            self._heeding = True
            self._turns = self._played(self._scenario.heeds, False)
        return next(self._turns, Turn(say=self._last_words()))

    def _heeds(self, messages: Sequence[Message]) -> bool:
        after = self._scenario.heeds_after
        if after is None:
            return False
        said = 0
        for message in reversed(messages):
            if message.role == "user":
                if not message.injected:
                    break
                said += 1
        return said >= after

    @staticmethod
    def _played(turns: Sequence[Turn], again: bool) -> Iterator[Turn]:
        while turns:
            for turn in turns:
                left = turn.times
                while turn.times == 0 or left > 0:
                    left -= 1
                    yield turn
            if not again:
                return

    def _last_words(self) -> str:
        return "好了。" if self._language == "zh" else "Done."

    def _usage(
        self, turn: Turn, messages: Sequence[Message], text: str | None, asked: Sequence[Asked]
    ) -> Usage:
        scenario = self._scenario
        output = scenario.output if turn.output is None else turn.output
        if turn.input is not None:
            return Usage(fresh_input=turn.input, output=output)
        sent = scenario.input
        if scenario.grows:
            sent += sum(_tokens(message) for message in messages if not message.injected)
        if not scenario.cached:
            return Usage(fresh_input=sent, output=output)
        last = next(
            (i for i in range(len(messages), 0, -1) if messages[i - 1].role == "assistant"), 0
        )
        fresh = sum(_tokens(message) for message in messages[last:] if not message.injected)
        return Usage(fresh_input=fresh, cache_read=max(0, sent - fresh), output=output)

    def _fill(self, value: Any) -> Any:
        return filled(value, self._step, self._clock, self._random)


class MockTool:
    """Answers as the scenario says, one answer a call; the last one stays."""

    scripted = True

    def __init__(self, tool: ScriptedTool, clock: Clock, seed: int = 0, language: str = "en"):
        self.name = tool.name
        self.offer = Offered(
            tool.name, spoken(tool.about, language) or "", _schema(tool.parameters)
        )
        self._tool = tool
        self._clock = clock
        self._random = Random(f"{seed}/{tool.name}")
        self._used = 0

    def run(self, args: Any) -> Answered:
        """The answer, with the seconds it takes; the caller lets them pass."""
        answers = self._tool.answers
        answer = answers[min(self._used, len(answers) - 1)]
        self._used += 1
        seconds = self._tool.seconds if answer.seconds is None else answer.seconds
        limit = self._tool.timeout
        if limit is not None and seconds > limit:
            return timed_out(limit)
        return Answered(
            self._text(answer),
            answer.error,
            answer.status,
            answer.code,
            answer.exit_code,
            seconds,
        )

    def _text(self, answer: Answer) -> Any:
        return filled(answer.text, self._used, self._clock, self._random)


def filled(value: Any, n: int, clock: Clock, random: Random) -> Any:
    """`value` with `<n>`, `<id>`, `<time>` and `<percent>` filled in, at every depth."""
    if isinstance(value, str):
        if "<" not in value:
            return value
        value = value.replace("<n>", str(n)).replace("<percent>", str(min(100, 10 * n)))
        if "<id>" in value:
            value = value.replace("<id>", f"{random.getrandbits(64):016x}")
        if "<time>" in value:
            now = datetime.fromtimestamp(clock.now(), UTC).isoformat(timespec="milliseconds")
            value = value.replace("<time>", now.replace("+00:00", "Z"))
        return value
    if isinstance(value, dict):
        return {key: filled(item, n, clock, random) for key, item in value.items()}
    if isinstance(value, list):
        return [filled(item, n, clock, random) for item in value]
    return value


def _tokens(message: Message) -> int:
    """About as many tokens as a message takes, the same each time."""
    text = message.text or ""
    for call in message.calls:
        text += call.tool + canonical(call.args).decode("utf-8", "replace")
    latin = sum(character < "\u0250" for character in text)
    return latin // _LATIN + (len(text) - latin) // _OTHER + 4


def _schema(parameters: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in parameters.items()},
        "required": sorted(parameters),
    }


def tools_of(scenario: Scenario, clock: Clock, seed: int, language: str) -> list[MockTool]:
    return [MockTool(tool, clock, seed, language) for tool in scenario.tools]
