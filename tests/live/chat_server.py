"""A server on loopback that speaks OpenAI's chat completions over HTTP, faults included."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        self.server.requests.append(json.loads(self.rfile.read(size)))
        self.server.keys.append(self.headers.get("Authorization"))
        number = len(self.server.requests) - 1
        answers = self.server.answers
        answers[min(number, len(answers) - 1)](self)

    def log_message(self, format: str, *args: Any) -> None:
        pass

    # -- parts of answers -------------------------------------------------------------------------

    def stream(self, *data: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for line in data:
            self.wfile.write(f"data: {line}\n\n".encode())
            self.wfile.flush()

    def whole(self, body: dict[str, Any]) -> None:
        """An answer that is not streamed."""
        self.send(200, body)

    def send(self, status: int, body: dict[str, Any], **headers: str) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(data)

    def error(self, status: int, code: str, message: str, **headers: str) -> None:
        self.send(status, {"error": {"code": code, "type": code, "message": message}}, **headers)


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, answers: list[Answer]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = answers
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


@contextmanager
def serving(*answers: Answer) -> Iterator[Server]:
    server = Server(list(answers))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def chunk(
    delta: dict[str, Any] | None = None,
    *,
    finish: str | None = None,
    usage: dict[str, Any] | None = None,
) -> str:
    choices = [] if usage else [{"index": 0, "delta": delta or {}, "finish_reason": finish}]
    return json.dumps(
        {
            "id": "c1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "m",
            "choices": choices,
            "usage": usage,
        }
    )


USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 20,
    "total_tokens": 120,
    "prompt_tokens_details": {"cached_tokens": 40},
    "completion_tokens_details": {"reasoning_tokens": 5},
}


def says(text: str) -> Answer:
    half = len(text) // 2
    return lambda handler: handler.stream(
        chunk({"role": "assistant", "content": text[:half]}),
        chunk({"content": text[half:]}),
        chunk(finish="stop"),
        chunk(usage=USAGE),
        "[DONE]",
    )


def calls(tool: str, arguments: str) -> Answer:
    """A call whose arguments come in two pieces."""
    half = len(arguments) // 2
    first = {"index": 0, "id": "t1", "type": "function"}
    return lambda handler: handler.stream(
        chunk({"tool_calls": [{**first, "function": {"name": tool, "arguments": ""}}]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": arguments[:half]}}]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": arguments[half:]}}]}),
        chunk(finish="tool_calls"),
        chunk(usage=USAGE),
        "[DONE]",
    )


def fails(status: int, code: str, message: str, **headers: str) -> Answer:
    return lambda handler: handler.error(status, code, message, **headers)


def cut(handler: Handler) -> None:
    """A stream that ends in the middle of a call."""
    handler.stream(chunk({"content": "I will"}))
    handler.close_connection = True


def malformed(handler: Handler) -> None:
    handler.stream(chunk({"content": "I"}), '{"choices": [{"delta": {"cont')


def failing_inside(handler: Handler) -> None:
    """An error object in a stream that began with status 200."""
    handler.stream(json.dumps({"error": {"code": "server_error", "message": "overloaded"}}))


def hangs(handler: Handler) -> None:
    time.sleep(3)
