"""MCP servers without a process behind them, one and several, for tests of what manages them."""

import json
import threading
import time
from pathlib import Path

from agent_core import events
from agent_core.cancel import CancelScope
from agent_core.config.paths import find_places
from agent_core.extras.server_desk import Ground, ServerDesk
from agent_core.extras.servers import ServersExtra
from agent_core.grants_file import GrantsFile
from agent_core.mcp.cache import ServerCache
from agent_core.mcp.config import Found
from agent_core.mcp.managed import Managed
from agent_core.mcp.manager import Servers
from agent_core.mcp.words import CallResult, ServerConfig, ServerFailure, ServerInfo, ToolInfo
from agent_core.ports.asking import Reply
from agent_core.session.services import Seat
from agent_core.trust import look

BAD = Path(__file__).parents[1] / "fakes" / "mcp_bad_server.py"


class Asks:
    """Answers each question with `reply` and keeps it."""

    def __init__(self, reply=None):
        self.reply, self.questions = reply or Reply("refuse", by="unattended"), []

    def ask(self, question, cancel):
        self.questions.append(question)
        return self.reply


class FakePeer:
    """A connection in place of a program's: `plan` says what happens, by server."""

    def __init__(self, wiring, plan):
        self.wiring, self.plan = wiring, plan
        self.closed = threading.Event()
        self.info, self.era, self.state = ServerInfo(), "", "idle"
        self.warnings = ()

    def connect(self, cancel):
        self.plan.starts += 1
        if self.plan.slow:
            cancel.wait(self.plan.slow)
            cancel.check()
        if self.plan.fails:
            failure = self.plan.fails.pop(0)
            if failure is not None:
                raise failure
        self.info, self.era, self.state = self.plan.info, "legacy", "ready"
        return self.info

    def list_tools(self, cancel):
        self.plan.lists += 1
        return self.plan.tools

    def list_prompts(self, cancel):
        return self.plan.prompts

    def get_prompt(self, name, arguments, cancel):
        if self.plan.hangs:
            cancel.wait(60)
            cancel.check()
        return CallResult(f"user:\n{name} {json.dumps(dict(arguments))}")

    def call(self, tool, arguments, cancel, on_progress=None):
        self.plan.calls.append(tool.name)
        self.plan.heard(arguments)
        answer = self.plan.answers.pop(0) if self.plan.answers else CallResult("fine")
        if callable(answer):
            answer = answer(self, cancel)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def noise(self):
        return ("noise",)

    def close(self):
        self.closed.set()
        self.plan.closed += 1


class Plan:
    def __init__(self, *tools, fails=(), answers=(), slow=0.0, info=None, reads=False):
        self.tools = tuple(ToolInfo(name, reads=reads) for name in tools or ("echo",))
        self.heard = lambda arguments: None
        self.fails, self.answers, self.slow, self.info = (
            list(fails),
            list(answers),
            slow,
            info or ServerInfo("srv", "1"),
        )
        self.starts = self.lists = self.closed = 0
        self.prompts, self.hangs = (), False
        self.calls = []

    def __call__(self, wiring):
        self.wiring = wiring
        self.peer = FakePeer(wiring, self)
        return self.peer


class Clock:
    now = 1_000.0

    def __call__(self):
        return self.now


def server(tmp_path, plan, *, clock=time.monotonic, changed=lambda: None, **config):
    config = ServerConfig("srv", command="x", identity="i", startup_timeout=5.0, **config)
    return Managed(config, plan, ServerCache(tmp_path / "cache"), tmp_path, changed, clock)


def died(code="mcp_ended"):
    return ServerFailure(code, f"It has {code}.")


def until(true, seconds=10.0):
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.005)


SCOPE = CancelScope()
ECHO = ToolInfo("echo")


class Many:
    """The servers of a workspace, all fakes."""

    def __init__(self, tmp_path, **plans):
        self.workspace = tmp_path
        self.plans = plans
        self.configs = {
            name: ServerConfig(name, command=name, identity=name, startup_timeout=5.0, place="config.yaml:1")
            for name in plans
        }
        self.held, self.problems = frozenset(), ()
        self.servers = Servers(
            lambda folder: Found(tuple(self.configs.values()), self.problems, self.held),
            lambda wiring: self.plans[wiring.config.name](wiring),
            ServerCache(tmp_path / "cache"),
            lambda text: text,
        )

    def states(self):
        return {row.name: row.state for row in self.servers.rows(self.workspace)}

    def extra(self, **how):
        self.told = []
        seat = Seat("s", self.workspace, self.told.append)
        return ServersExtra(seat, self.servers, redact=lambda text: text, **{"unattended": False, **how})


def notices(many):
    return [event.code for event in many.told if isinstance(event, events.Notice)]


def desk(tmp_path, servers):
    home = tmp_path / "home"
    (home / ".nanohermes").mkdir(parents=True)
    (home / ".nanohermes" / "mcp.json").write_text(json.dumps({"servers": servers}))
    env = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    places = find_places(tmp_path, env)
    grants = GrantsFile(places.grants_file)
    return ServerDesk(
        Ground(
            places, env, lambda folder: (find_places(folder, env), look(find_places(folder, env), grants)), dict,
            lambda text: text, tuple, lambda secrets: None, lambda folder: None,
        )
    )  # fmt: skip
