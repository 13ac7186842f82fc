"""A program that uses an MCP server until it is ended: argv: how it ends ("exit", or it waits).

It prints the id of what the server has started, and of the server.
"""

import sys
import time
from pathlib import Path

from agent_core.cancel import CancelScope
from agent_core.mcp.client import Around, Client
from agent_core.mcp.words import ServerConfig, ToolInfo

BAD = str(Path(__file__).parents[1] / "fakes" / "mcp_bad_server.py")

client = Client(ServerConfig("bad", command=sys.executable, args=(BAD,)), Around(Path.cwd()))
started = client.call(ToolInfo("spawn"), {}, CancelScope()).text
print(started, client._connection._transport._held.process.pid, flush=True)
if sys.argv[1] != "exit":
    time.sleep(60)
