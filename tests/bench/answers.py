"""What one answer of 20 MB of an MCP server costs, from the call to the result that a model gets."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass

from tests.bench.bars import Bar
from tests.bench.lab import ROOT, Lab

ANSWER = 20
"""MB."""


@dataclass(frozen=True, slots=True)
class Answered:
    seconds: float
    """Until the result is there, without what its JSON takes to be read."""
    cpu: float
    """The same, of a core; the server's own is not in it."""
    grown: float
    """MB that the program holds more than before."""


_CALL = """
import json, sys, time
from pathlib import Path
from agent_core.cancel import CancelScope
from agent_core.grants import Grants
from agent_core.mcp.cache import ServerCache
from agent_core.mcp.client import Around, Client
from agent_core.mcp.managed import Managed
from agent_core.mcp.words import ServerConfig, ToolInfo
from agent_core.messages import ToolCall
from agent_core.safety.policy import Situation
from agent_core.safety.redact import redact
from agent_core.tools.mcp import Offered, server_tool
from agent_core.tools.call import run_call
from agent_core.tools.toolbox import Toolbox
from tests.core.mcp_support import BAD
from tests.core.tool_support import context
folder, size = Path(sys.argv[1]), int(sys.argv[2])
config = ServerConfig("bad", command=sys.executable, args=(BAD,), identity="bad", trust=True)
server = Managed(config, lambda wiring: Client(config, Around(folder)), ServerCache(folder / "cache"), folder)
tools = {name: server_tool(Offered(server, ToolInfo(name, reads=True), name, {"type": "object"}))
         for name in ("echo", "big")}
situation = Situation("ask", "untrusted", unattended=True)
box = Toolbox(tools, context(folder), lambda: situation, Grants(), lambda place: None, redact)
held = lambda: int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20
def timed(work):
    begun, cpu = time.perf_counter(), time.process_time()
    given = work()
    return given, time.perf_counter() - begun, time.process_time() - cpu
def ask(name, **arguments):
    call = ToolCall("c", name, arguments)
    result, *took = timed(lambda: run_call(box, call, CancelScope(), lambda call, effect: None))
    assert result.ok, result.text
    return (len(result.text.encode()), *took)
ask("echo", text="x")
before = held()
most, seconds, cpu = ask("big", mb=size)
grown = held() - before
assert most <= 20 * 1024, most
body = json.dumps({"content": [{"type": "text", "text": "A" * (size << 20)}]})
_, parsing, parsing_cpu = timed(lambda: json.loads(body))
server.close()
print(json.dumps([seconds - parsing, cpu - parsing_cpu, grown]))
"""


def answered(lab: Lab) -> Answered:
    """In a program of its own: what this one held earlier says nothing."""
    with tempfile.TemporaryDirectory(dir=lab.folder) as folder:
        argv = [sys.executable, "-c", _CALL, folder, str(ANSWER)]
        done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode != 0:
        raise TimeoutError(done.stderr[-2_000:])
    return Answered(*json.loads(done.stdout))


_OF = f"an answer of {ANSWER} MB of a server"
BARS = (
    Bar(f"mcp: {_OF}, beyond its JSON", 2.0, "s", lambda lab: lab.once(answered).seconds, strict=True),
    Bar(f"mcp: {_OF}, CPU beyond its JSON", 1.5, "s", lambda lab: lab.once(answered).cpu),
    Bar(f"mcp: {_OF}, memory that stays", 30.0, "MB", lambda lab: lab.once(answered).grown),
)
