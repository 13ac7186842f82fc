"""A model server whose user message says what to stream: "bench KIND KB RATE MARK".

It answers with MARK and "-begin", waits for GET /go, streams KB × 1000 characters of KIND at RATE characters a second
in small deltas (RATE 0: no waiting, all at once), and ends with MARK and "-end". GET /go returns when the stream has
ended: {"began": t, "ended": t} in monotonic seconds, which all processes of a machine share. GET /arrivals gives the
moments at which requests for an answer came.

A process of its own, so that what it costs is neither the program's nor the reader's: `python -m tests.bench.server`
prints its port.
"""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.bench.content import KINDS, begin_of, end_of

DELTA = 8
"""Characters in a delta: two tokens or so."""
STEP = 0.005
"""Seconds between two writes."""


class Gate:
    """Where a stream waits until it may begin, and tells when it has ended."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.over = threading.Event()
        self.times = {"began": 0.0, "ended": 0.0}

    def close(self) -> None:
        self.go.clear()
        self.over.clear()


GATE = Gate()
ARRIVALS: list[float] = []


def event(delta: dict[str, str], finish: str | None = None) -> bytes:
    """One chunk of a chunked body: a server-sent event with one choice."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    data = f"data: {json.dumps({'model': 'bench', 'choices': [choice]}, ensure_ascii=False)}\n\n".encode()
    return b"%x\r\n%s\r\n" % (len(data), data)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        if self.path == "/go":
            GATE.go.set()
            GATE.over.wait()
            self.answer(GATE.times)
        elif self.path == "/arrivals":
            self.answer(ARRIVALS)
        else:
            self.answer({"object": "list", "data": [{"id": "bench", "object": "model"}]})

    def do_POST(self) -> None:
        ARRIVALS.append(time.monotonic())
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        asked = [m["content"] for m in body["messages"] if m["role"] == "user"][-1].split()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        if asked[:1] == ["bench"]:
            kind, kb, rate, mark = asked[1], float(asked[2]), int(asked[3]), asked[4]
            self.stream(KINDS[kind](int(kb * 1000)), rate, mark)
        else:
            self.wfile.write(event({"content": "A title"}))
        done = b"data: [DONE]\n\n"
        self.wfile.write(event({}, "stop") + b"%x\r\n%s\r\n0\r\n\r\n" % (len(done), done))

    def stream(self, text: str, rate: int, mark: str) -> None:
        pieces = [event({"content": text[at : at + DELTA]}) for at in range(0, len(text), DELTA)]
        if rate:
            GATE.close()
            self.wfile.write(event({"content": f"{begin_of(mark)}\n\n"}))
            GATE.go.wait()
        began, sent = time.monotonic(), 0
        while sent < len(pieces):
            due = min(int((time.monotonic() - began) * rate) // DELTA, len(pieces)) if rate else len(pieces)
            self.wfile.write(b"".join(pieces[sent:due]))
            sent = due
            if rate:
                time.sleep(STEP)
        self.wfile.write(event({"content": f"\n```\n\n{end_of(mark)}"}))
        if rate:
            GATE.times.update(began=began, ended=time.monotonic())
            GATE.over.set()

    def answer(self, data: object) -> None:
        raw = json.dumps(data).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
