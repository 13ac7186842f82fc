"""An MCP server that has a person fill in a form before it answers: `signup` asks, and says what it was told."""

import json
import sys

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Name", "description": "As it is to be shown."},
        "age": {"type": "integer", "title": "Age", "default": 30},
        "plan": {"type": "string", "title": "Plan", "enum": ["free", "paid"], "enumNames": ["Free", "Paid"]},
        "news": {"type": "boolean", "title": "News by mail", "default": True},
    },
    "required": ["name"],
}


def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


waits = None
for line in sys.stdin:
    message = json.loads(line)
    method, number = message.get("method"), message.get("id")
    if method == "initialize":
        info = {"name": "forms", "version": "1"}
        say(id=number, result={"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info})
    elif method == "tools/list":
        say(id=number, result={"tools": [{"name": "signup", "inputSchema": {"type": "object"}}]})
    elif method == "tools/call":
        waits = number
        say(id="form-1", method="elicitation/create", params={"message": "Who are you?", "requestedSchema": SCHEMA})
    elif method is None and number == "form-1":
        answer = json.dumps(message.get("result"), sort_keys=True)
        say(id=waits, result={"content": [{"type": "text", "text": answer}]})
    elif number is not None:
        say(id=number, error={"code": -32601, "message": "no such method"})
