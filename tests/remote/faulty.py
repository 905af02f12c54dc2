"""A proxy on loopback that passes requests on to a server and can be told to fail."""

from __future__ import annotations

import http.client
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType


class Faulty:
    """`asked` are paths with ranges; every `fails`-th request is answered 503 or cut in the middle;
    `most` is how many requests were under way at once."""

    def __init__(self, port: int, fails: int = 0) -> None:
        self.fails = fails
        self.asked: list[str] = []
        self.most = 0
        self.failed = 0
        self.down = False  # connections are closed without an answer
        self._now = self._count = 0
        self._lock = threading.Lock()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                proxy._answer(self, port)

            do_HEAD = do_GET

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Faulty:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, request: BaseHTTPRequestHandler, port: int) -> None:
        with self._lock:
            self._count += 1
            self._now += 1
            self.most = max(self.most, self._now)
            number = self._count
            if request.command == "GET":
                self.asked.append(f"{request.path} {request.headers.get('Range', '')}")
        try:
            if self.down:
                request.close_connection = True
                return
            bad = self.fails and number % self.fails == 0
            self.failed += bool(bad)
            if bad and number % (2 * self.fails):
                request.send_response(503)
                request.send_header("Content-Length", "0")
                request.end_headers()
                return
            # the signature covers the host that was asked
            onward = http.client.HTTPConnection("127.0.0.1", port)
            onward.putrequest(request.command, request.path, skip_host=True)
            for name, value in request.headers.items():
                onward.putheader(name, value)
            onward.endheaders()
            answer = onward.getresponse()
            data = answer.read()
            onward.close()
            request.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("connection", "transfer-encoding", "date", "server"):
                    request.send_header(name, value)
            request.end_headers()
            if request.command == "GET":
                request.wfile.write(data[: len(data) // 2] if bad else data)
            if bad:
                request.close_connection = True
        finally:
            with self._lock:
                self._now -= 1
