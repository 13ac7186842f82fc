#!/usr/bin/env python3
"""A loopback Streamable HTTP server that misbehaves by URL path; standard library only.

  mcp_bad_http_server.py [PORT]      prints "http://127.0.0.1:PORT"; use PORT/<mode> as an MCP url

normal       JSON answers, session id
sse          keepalive comment, `event: ping`, empty data, log, then the answer
slow/N       comments every quarter of a second, N of them, then the answer
hang         comments until nobody listens any more
expire       the first session answers 404 to tools/call once initialized again it works;   expire_always   404 for ever
die          connection dropped without an answer   ssedie   SSE stream dropped before the answer (no event id)
resume       SSE closed early with id + retry 700; GET with Last-Event-ID brings the answer (too early: 500)
401          401 with WWW-Authenticate              html     502 with an HTML body
redirect     307 to /normal                         cross    307 to another origin (localhost): must not be followed
astray       307 to what is no URL
legacy_sse   POST answers 405; GET opens the 2024-11-05 stream with an `endpoint` event
modern       2026-07-28 only: needs headers and _meta, refuses initialize with -32022
GET /_seen   JSON list of [mode, HTTP method, rpc method, session id, protocol version, had Authorization]
"""

import http.server
import json
import queue
import socket
import sys
import time

SEEN, STATE, LEGACY = [], {}, {}


class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *a):
        pass

    def answer(self, code, obj=None, ctype="application/json", **h):
        b = obj if isinstance(obj, bytes) else b"" if obj is None else json.dumps(obj).encode()
        self.send_response(code)
        self.send_header("Content-Type", ctype)
        self.send_header("Content-Length", str(len(b)))
        for k, v in h.items():
            self.send_header(k.replace("_", "-"), v)
        self.end_headers()
        self.wfile.write(b)

    def stream(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        return lambda s: (self.wfile.write(s.encode()), self.wfile.flush())

    def drop(self):
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def note(self, rpc=None):
        mode, _, amount = self.path.strip("/").partition("/")
        self.amount = int(amount or 1)
        SEEN.append(
            [
                mode,
                self.command,
                rpc,
                self.headers.get("mcp-session-id"),
                self.headers.get("mcp-protocol-version"),
                "authorization" in self.headers,
            ]
        )
        return mode

    def do_DELETE(self):
        self.note()
        self.answer(200)

    def do_GET(self):
        if self.path == "/_seen":
            return self.answer(200, SEEN)
        mode = self.note()
        if mode == "resume" and self.headers.get("last-event-id"):
            early = time.monotonic() - STATE["closed"] < 0.65
            if early:
                return self.answer(500)
            return self.stream()("id: e2\ndata: " + json.dumps(ok(STATE["id"], "resumed")) + "\n\n")
        if mode == "legacy_sse":
            q = LEGACY["q"] = queue.Queue()
            w = self.stream()
            w("event: endpoint\ndata: /legacy_msg\n\n")
            try:
                while True:
                    try:
                        w("event: message\ndata: " + json.dumps(q.get(timeout=5)) + "\n\n")
                    except queue.Empty:
                        w(": keepalive\n\n")
            except OSError:
                return None
        return self.answer(405)

    def do_POST(self):
        m = json.loads(self.rfile.read(int(self.headers["content-length"])))
        method, id, p = m.get("method"), m.get("id"), m.get("params") or {}
        mode, sid = self.note(method), self.headers.get("mcp-session-id")
        if mode == "legacy_msg":
            if id is not None:
                LEGACY["q"].put(reply(method, id, p, "2024-11-05"))
            return self.answer(202)
        if mode == "legacy_sse":
            return self.answer(405)
        if mode == "401":
            return self.answer(401, WWW_Authenticate="Bearer")
        if mode in ("redirect", "cross"):
            host = "127.0.0.1" if mode == "redirect" else "localhost"
            return self.answer(307, Location=f"http://{host}:{self.server.server_port}/normal")
        if mode == "astray":
            return self.answer(307, Location="http://[x/")
        if mode == "modern":
            v = (p.get("_meta") or {}).get("io.modelcontextprotocol/protocolVersion")
            if v != "2026-07-28":
                return self.answer(
                    400,
                    {
                        "jsonrpc": "2.0",
                        "id": id,
                        "error": {
                            "code": -32022,
                            "message": "Unsupported protocol version",
                            "data": {"supported": ["2026-07-28"], "requested": v or p.get("protocolVersion")},
                        },
                    },
                )
            if (
                self.headers.get("mcp-protocol-version") != v
                or self.headers.get("mcp-method") != method
                or (method == "tools/call" and not self.headers.get("mcp-name"))
            ):
                return self.answer(
                    400, {"jsonrpc": "2.0", "id": id, "error": {"code": -32020, "message": "Header mismatch"}}
                )
            r = reply(method, id, p, v)
            if "result" in r:
                r["result"] |= {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
            return self.answer(200 if "result" in r else 404, r)
        if id is None:
            return self.answer(202)
        if method == "initialize":
            STATE["n"] = STATE.get("n", 0) + 1
            return self.answer(200, reply(method, id, p, "2025-11-25"), Mcp_Session_Id=f"{mode}-{STATE['n']}")
        if method == "server/discover":
            return self.answer(
                400, {"jsonrpc": "2.0", "id": id, "error": {"code": -32600, "message": "Bad Request: no session"}}
            )
        if method == "tools/call":
            if mode == "expire_always" or (mode == "expire" and STATE.setdefault("old", sid) == sid):
                return self.answer(
                    404, {"jsonrpc": "2.0", "id": None, "error": {"code": -32001, "message": "Session not found"}}
                )
            if mode == "die":
                return self.drop()
            if mode == "ssedie":
                self.stream()(": hello\n\n")
                return self.drop()
            if mode == "html":
                return self.answer(502, b"<html><h1>502 Bad Gateway</h1></html>", "text/html")
            if mode == "resume":
                self.stream()("id: e1\nretry: 700\ndata: \n\n")
                STATE.update(id=id, closed=time.monotonic())
                return None
            if mode in ("sse", "slow", "hang"):
                w = self.stream()
                for _ in range(100 if mode == "hang" else self.amount):
                    w(": keepalive\n\n")
                    time.sleep(0.05 if mode == "sse" else 0.25)
                w("event: ping\ndata: {}\n\n")
                w("event: message\r\ndata: \r\n\r\n")
                w('data: {"jsonrpc":"2.0","method":"notifications/message",\n')
                w('data: "params":{"level":"info","data":"é"}}\n\n')
                return w("data: " + json.dumps(reply(method, id, p, "")) + "\n\n")
        return self.answer(200, reply(method, id, p, "2025-11-25"))


def ok(id, text):
    return {"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": text}]}}


def reply(method, id, p, version):
    r = {
        "initialize": {
            "protocolVersion": version,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "bad-http", "version": "0"},
        },
        "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}},
        "tools/list": {
            "tools": [{"name": "echo", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}]
        },
        "ping": {},
    }.get(method)
    if method == "tools/call":
        return ok(id, str((p.get("arguments") or {}).get("text", "")))
    if r is None:
        return {"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "Method not found"}}
    return {"jsonrpc": "2.0", "id": id, "result": dict(r)}


if __name__ == "__main__":
    s = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0), H)
    s.daemon_threads = True
    print(f"http://127.0.0.1:{s.server_port}", flush=True)
    s.serve_forever()
