#!/usr/bin/env python3
"""A stdio MCP server that misbehaves on demand; standard library only.

  mcp_bad_server.py MODE [MODE...]        modes combine

Start-up:   banner      non-JSON lines on stdout before and between frames
            slow=SEC    sleeps before reading anything (npx cold start)
            stderr=KB   floods stderr with KB kilobytes before the first answer and per call
            die         exits 3 at once, one line on stderr
            nodiscover=silent|error|exit   answer to a request before initialize (default error -32601)
            modern      speaks 2026-07-28 only: initialize gets -32022
Listing:    pages=N     tools/list in N pages;  loop: the cursor never advances
            tools=N     N extra tools           names: names that are invalid, >64 chars, colliding
            schemas     the schema features providers reject
Framing:    crlf, blank, utf8raw, badutf8, escaped (\\u2028, lone surrogate, NUL), batch
Traffic:    serverreq   sends ping, roots/list, sampling/createMessage, elicitation/create requests with ids
                        that collide with the client's, and an unknown method, before each tools/call answer
            chatter     progress + log + unknown notifications before each answer
            headers     Content-Length before each message, both ways
Record:     log=FILE    appends "method tool-name-or-requestId" of every message received, or
                        "response result-or-error"
Tools:      echo{text}  slow{seconds}  crash{}  hang{}  big{mb}  media{}  fail{}  env{name}  cwd{}  spawn{}  grow{}
            not listed: ask{} asks a person for a colour, steps{count} tells of its progress each 0.1 s
"""

import base64
import json
import os
import queue
import subprocess
import sys
import threading
import time

modes = {}
for a in sys.argv[1:]:
    k, _, v = a.partition("=")
    modes[k] = v
out, lock, answers = sys.stdout.buffer, threading.Lock(), queue.SimpleQueue()


def raw(b):
    with lock:
        out.write(b)
        out.flush()


def send(m):
    b = json.dumps(m, ensure_ascii="escaped" in modes or "utf8raw" not in modes)
    b = b.encode("utf-8", "surrogatepass")
    if "batch" in modes and "id" in m and "method" not in m:
        b = b"[" + b + b"]"
    if "headers" in modes:
        raw(b"Content-Length: %d\r\nX-Other: 1\r\n\r\n" % len(b) + b)
        return
    if "blank" in modes:
        raw(b"\n  \n")
    raw(b + (b"\r\n" if "crlf" in modes else b"\n"))
    if "banner" in modes:
        raw(b"[info] handled something (this line is not JSON)\n")


def flood():
    if "stderr" in modes:
        sys.stderr.write(("x" * 1023 + "\n") * int(modes["stderr"]))
        sys.stderr.flush()


def tool(name, props=None, schema=None, **kw):
    return {
        "name": name,
        "description": name,
        "inputSchema": schema or {"type": "object", "properties": props or {}},
        **kw,
    }


def tools():
    s, n = {"type": "string"}, {"type": "number"}
    t = [
        tool("echo", {"text": s}, annotations={"readOnlyHint": True}),
        tool("slow", {"seconds": n}),
        tool("crash"),
        tool("hang"),
        tool("big", {"mb": n}),
        tool("media"),
        tool("fail"),
        tool("env", {"name": s}),
        tool("cwd"),
        tool("spawn"),
        tool("grow", annotations={"destructiveHint": True}),
    ]
    t += [tool(f"extra_{i}") for i in range(int(modes.get("tools") or 0))]
    if "grown" in modes:
        t.append(tool("grown"))
    if "names" in modes:
        t += [tool(x) for x in ("a.b", "a/b", "a_b", "a b", "naïve", "x" * 90 + "1", "x" * 90 + "2", "1st", "")]
    if "schemas" in modes:
        t += [
            tool("no_properties", schema={"type": "object"}),
            tool("null_props", schema={"type": "object", "properties": None}),
            tool("empty", schema={}),
            tool("bool", schema=True),
            tool(
                "top_anyof",
                schema={
                    "type": "object",
                    "properties": {"a": s, "b": s},
                    "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
                },
            ),
            tool("type_list", schema={"type": "object", "properties": {"a": {"type": ["string", "null"]}}}),
            tool("array_no_items", schema={"type": "object", "properties": {"a": {"type": "array"}}}),
            tool(
                "defs",
                schema={
                    "type": "object",
                    "$defs": {"N": {"type": "object", "properties": {"next": {"$ref": "#/$defs/N"}}}},
                    "properties": {"n": {"$ref": "#/$defs/N"}},
                },
            ),
            tool("remote_ref", schema={"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/never"}}}),
            tool("required_ghost", schema={"type": "object", "properties": {}, "required": ["ghost"]}),
            tool(
                "draft4",
                schema={
                    "$schema": "http://json-schema.org/draft-04/schema#",
                    "type": "object",
                    "properties": {"a": {"type": "integer", "minimum": 0, "exclusiveMinimum": True}},
                },
            ),
            tool("out", outputSchema={"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}),
        ]
    return t


def text(s, **kw):
    return {"content": [{"type": "text", "text": s}], **kw}


def call(id, name, a, p):
    if "chatter" in modes:
        for m in ("notifications/progress", "notifications/message", "notifications/nobody/knows"):
            send(
                {
                    "jsonrpc": "2.0",
                    "method": m,
                    "params": {"progressToken": id, "progress": 1, "total": 2, "level": "info", "data": "hi"},
                }
            )
    if "serverreq" in modes:
        for m, p in (
            ("ping", None),
            ("roots/list", None),
            ("no/such", {}),
            ("sampling/createMessage", {"messages": [], "maxTokens": 1}),
            (
                "elicitation/create",
                {
                    "message": "?",
                    "requestedSchema": {"type": "object", "properties": {"x": {"type": "string", "default": "d"}}},
                },
            ),
        ):
            send({"jsonrpc": "2.0", "id": id, "method": m, **({"params": p} if p is not None else {})})
    if name == "echo":
        r = text(str(a.get("text", "")))
    elif name == "slow":
        time.sleep(float(a.get("seconds", 1)))
        r = text("slept")
    elif name == "crash":
        sys.stderr.write("fatal: about to crash\n")
        sys.stderr.flush()
        os._exit(7)
    elif name == "hang":
        threading.Event().wait()
    elif name == "big":
        r = text("A" * int(float(a.get("mb", 1)) * 1024 * 1024))
    elif name == "media":
        png = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(64)).decode()
        r = {
            "content": [
                {"type": "image", "data": png, "mimeType": "image/png"},
                {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
                {"type": "resource_link", "uri": "file:///x", "name": "x"},
                {"type": "resource", "resource": {"uri": "file:///y", "blob": png}},
                {"type": "resource", "resource": {"uri": "file:///z", "text": "Z"}},
                {"type": "from_the_future", "x": 1},
            ],
            "structuredContent": {"ok": True},
            "_meta": {"k": "v"},
        }
    elif name == "fail":
        r = text("the tool failed", isError=True)
    elif name == "env":
        r = text(os.environ.get(a.get("name", ""), "<unset>"))
    elif name == "cwd":
        r = text(os.getcwd())
    elif name == "spawn":  # a grandchild that outlives a kill of the direct child only
        p = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        r = text(str(p.pid))
    elif name == "ask":
        schema = {"type": "object", "properties": {"colour": {"type": "string", "enum": ["red", "blue"]}}}
        question = {"method": "elicitation/create", "params": {"message": "Which?", "requestedSchema": schema}}
        if "modern" not in modes:
            send({"jsonrpc": "2.0", "id": "q1", **question})
            r = text(json.dumps(answers.get()))
        elif "inputResponses" not in p:
            r = {"resultType": "input_required", "inputRequests": {"q": question}, "requestState": "s 1"}
        else:
            r = text(json.dumps([p["inputResponses"], p.get("requestState")]))
    elif name == "steps":
        for step in range(int(a["count"])):
            time.sleep(0.1)
            token = (p.get("_meta") or {}).get("progressToken")
            params = {"progressToken": token, "progress": step + 1, "total": a["count"], "message": "on it"}
            send({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
        r = text("stepped")
    elif name == "grow":
        modes["grown"] = ""
        if "modern" not in modes or modes.get("listens"):  # a modern client says first what it wants to hear
            send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        r = text("grew")
    else:
        send({"jsonrpc": "2.0", "id": id, "error": {"code": -32602, "message": f"Unknown tool: {name}"}})
        return
    if "badutf8" in modes:
        raw(b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"\xff\xfe caf\xe9"}}\n')
    if "escaped" in modes:
        r["content"].append({"type": "text", "text": "line\u2028sep \u0000 nul \ud800 lone"})
    send({"jsonrpc": "2.0", "id": id, "result": r})


def framed():
    """Messages behind their length; a line that is no header is a client that does not know how."""
    while line := sys.stdin.buffer.readline():
        length = int(line.removeprefix(b"Content-Length: "))
        sys.stdin.buffer.readline()
        yield sys.stdin.buffer.read(length)


def main():
    if "die" in modes:
        sys.stderr.write("fatal: config file not found\n")
        sys.exit(3)
    if "banner" in modes:
        raw('🚀 Fancy MCP Server v1.2.3\nListening on stdio…\n{not json}\n42\n"json but no object"\n'.encode())
    if modes.get("slow"):
        time.sleep(float(modes["slow"]))
    ready = False
    for line in framed() if "headers" in modes else sys.stdin.buffer:
        if not line.strip():
            continue
        flood()
        m = json.loads(line)
        id, method, p = m.get("id"), m.get("method"), m.get("params") or {}
        if "log" in modes:
            with open(modes["log"], "a") as f:
                said = (
                    p.get("name")
                    or p.get("requestId")
                    or (json.dumps(m.get("error") or m.get("result")) * (not method))
                )
                f.write(f"{method or 'response'} {said or ''}\n")
        meta = (p.get("_meta") or {}).get("io.modelcontextprotocol/protocolVersion")
        if method is None and id == "q1":
            answers.put(m.get("result"))
        if method is None or id is None:
            continue  # a response or a notification
        if "modern" in modes:
            if method == "initialize" or meta != "2026-07-28":
                send(
                    {
                        "jsonrpc": "2.0",
                        "id": id,
                        "error": {
                            "code": -32022,
                            "message": "Unsupported protocol version",
                            "data": {"supported": ["2026-07-28"], "requested": meta or p.get("protocolVersion")},
                        },
                    }
                )
                continue
            if method == "server/discover":
                send(
                    {
                        "jsonrpc": "2.0",
                        "id": id,
                        "result": {
                            "resultType": "complete",
                            "supportedVersions": ["2026-07-28"],
                            "capabilities": {"tools": {"listChanged": True}},
                            "ttlMs": 0,
                            "cacheScope": "private",
                        },
                    }
                )
                continue
        elif method == "initialize":
            ready = True
            send(
                {
                    "jsonrpc": "2.0",
                    "id": id,
                    "result": {
                        "protocolVersion": "2025-11-25",
                        "capabilities": {"tools": {"listChanged": True}},
                        "serverInfo": {"name": "bad", "version": "0"},
                        "instructions": "Be careful.",
                    },
                }
            )
            continue
        elif not ready:
            how = modes.get("nodiscover") or "error"
            if how == "exit":
                sys.exit(4)
            if how == "error":
                send({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "Method not found"}})
            continue
        if method == "ping":
            send({"jsonrpc": "2.0", "id": id, "result": {}})
        elif method == "tools/list":
            all_, n = tools(), int(modes.get("pages") or 1)
            i = int(p.get("cursor") or 0)
            k = -(-len(all_) // n)
            r = {"tools": all_[i * k : (i + 1) * k]}
            if "modern" in modes:
                r |= {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
            if "loop" in modes:
                r["nextCursor"] = "0"
            elif (i + 1) * k < len(all_):
                r["nextCursor"] = str(i + 1)
            send({"jsonrpc": "2.0", "id": id, "result": r})
        elif method == "subscriptions/listen" and "modern" in modes:
            modes["listens"] = p["notifications"].get("toolsListChanged")  # answered when there is no more to tell
        elif method == "tools/call":
            threading.Thread(target=call, args=(id, p.get("name"), p.get("arguments") or {}, p), daemon=True).start()
        else:
            send({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "Method not found"}})


if __name__ == "__main__":
    main()
