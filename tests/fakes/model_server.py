"""A loopback model server that speaks real SSE and plays a script.

    with ModelServer([Reply("Hello"), Reply(calls=[("read_file", {"path": "a.py"})]), ...]) as server:
        server.base_url, server.requests

The n-th request gets the n-th reply; the last one repeats. Every request is checked for what real servers check: JSON,
roles, each call answered in order, no orphan results; a violation is answered with 400 and kept in `violations`.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from agent_core.mind import prompt


@dataclass
class Reply:
    text: str = ""
    calls: Sequence[tuple[str, dict]] = ()
    reasoning: str = ""
    piece: int = 8
    """Characters in a delta."""
    gap: float = 0.0
    """Seconds between two deltas."""
    hang: float = 0.0
    """Seconds of silence before the first byte."""
    stall: float = 0.0
    """Seconds of silence after the text, before the end."""
    call_piece: int = 0
    """Characters of a call's arguments in a delta, `gap` between two; 0: a call comes in one."""
    held: threading.Event | None = None
    """Silence after the text until this is set; of a call in pieces before its last."""
    escaped: bool = False
    """Every character beyond ASCII as \\u…: the only way to say half of a surrogate pair."""
    status: int = 200
    body: str = ""
    """For a status other than 200."""
    usage: dict = field(default_factory=lambda: {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110})


class ModelServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, replies: Sequence[Reply] | Callable[[dict, int], Reply], port: int = 0):
        self.requests: list[dict] = []
        self.distilled: list[dict] = []
        """Requests to look at a turn that has ended; no reply is used up by them."""
        self.found = "[]"
        """What is found in one."""
        self.violations: list[str] = []
        self.open_streams = 0
        self._connections: list[socket.socket] = []
        self.stopping = threading.Event()
        self._replies = replies
        self._lock = threading.Lock()
        super().__init__(("127.0.0.1", port), _Handler)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def reply_for(self, body: dict) -> Reply:
        with self._lock:
            if body["messages"][0].get("content") == prompt.text("distil"):
                self.distilled.append(body)
                return Reply(self.found)
            number = len(self.requests)
            self.requests.append(body)
        if callable(self._replies):
            return self._replies(body, number)
        return self._replies[min(number, len(self._replies) - 1)]

    def handle_error(self, request, client_address):
        pass

    def get_request(self):
        connection, address = super().get_request()
        self._connections.append(connection)
        return connection, address

    def die(self):
        """Be gone as a killed server is: nobody listens, and what was open is broken off."""
        self.__exit__()
        for connection in self._connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def __enter__(self):
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *exc):
        self.stopping.set()
        self.shutdown()
        self.server_close()


def violation(body: dict) -> str | None:
    """What a strict server would refuse in this request."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return "no messages"
    waiting: list[str] = []
    for index, message in enumerate(messages):
        role = message.get("role")
        if role not in ("system", "user", "assistant", "tool"):
            return f"message {index}: role {role!r}"
        if role == "tool":
            if not waiting or message.get("tool_call_id") != waiting[0]:
                return f"message {index}: result for {message.get('tool_call_id')!r}, expected {waiting[:1]}"
            if not isinstance(message.get("content"), str) or not message["content"]:
                return f"message {index}: empty tool result"
            waiting.pop(0)
            continue
        if waiting:
            return f"message {index}: calls {waiting} have no result"
        if role == "assistant":
            calls = message.get("tool_calls")
            if not message.get("content") and not calls:
                return f"message {index}: empty assistant message"
            for call in calls or ():
                json.loads(call["function"]["arguments"])
                waiting.append(call["id"])
        elif not message.get("content"):
            return f"message {index}: empty {role} message"
    return f"calls {waiting} have no result" if waiting else None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ModelServer

    def log_message(self, *args):
        pass

    def do_GET(self):
        self._json({"object": "list", "data": [{"id": "test-model", "object": "model"}]})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)))
        wrong = violation(body)
        reply = self.server.reply_for(body)
        if wrong is not None:
            self.server.violations.append(wrong)
            return self._json({"error": {"message": wrong, "type": "invalid_request_error"}}, 400)
        if reply.hang and self.server.stopping.wait(reply.hang):
            return None
        if reply.status != 200:
            return self._json(json.loads(reply.body or '{"error": {"message": "scripted failure"}}'), reply.status)
        if body["messages"][0].get("content") == prompt.text("distil"):
            message = {"role": "assistant", "content": reply.text}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            return self._json({"model": "test-model", "choices": [choice]})
        self.server.open_streams += 1
        try:
            self._stream(reply)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            self.server.open_streams -= 1
        return None

    def _stream(self, reply: Reply) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for key, text in (("reasoning_content", reply.reasoning), ("content", reply.text)):
            for start in range(0, len(text), reply.piece):
                delta = {key: text[start : start + reply.piece]}
                self._event({"choices": [{"index": 0, "delta": delta}]}, reply.escaped)
                if reply.gap:
                    time.sleep(reply.gap)
        if reply.stall:
            self.server.stopping.wait(reply.stall)
        if not reply.call_piece:
            self._hold(reply)
        for index, (name, arguments) in enumerate(reply.calls):
            text = json.dumps(arguments, ensure_ascii=reply.escaped)
            size = reply.call_piece or len(text)
            call: dict = {"index": index, "id": f"call_{len(self.server.requests)}_{index}", "type": "function"}
            for start in range(0, len(text), size):
                if reply.call_piece and start + size >= len(text):
                    self._hold(reply)
                named = {} if start else {"name": name}
                call["function"] = {**named, "arguments": text[start : start + size]}
                self._event({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}, reply.escaped)
                call = {"index": index}
                if reply.call_piece:
                    time.sleep(reply.gap)
        finish = "tool_calls" if reply.calls else "stop"
        self._event({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
        self._event({"choices": [], "usage": reply.usage})
        self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")

    def _hold(self, reply: Reply) -> None:
        while reply.held and not reply.held.wait(0.05) and not self.server.stopping.is_set():
            pass

    def _event(self, data: dict, escaped: bool = False) -> None:
        self._chunk(f"data: {json.dumps({'model': 'test-model', **data}, ensure_ascii=escaped)}\n\n".encode())

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _json(self, data: dict, status: int = 200) -> None:
        raw = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)
