"""A session with everything around it: a real store and real tools; only the model is played."""

import time
from pathlib import Path

from agent_core import events, intents
from agent_core.messages import ToolCall, new_id
from agent_core.ports.model import Delta, LlmReply, LlmRequest
from agent_core.process.command import LocalBackend
from agent_core.sandbox.env import child_env
from agent_core.session.live import LiveSession
from agent_core.session.services import Connection, SessionServices
from agent_core.store.rows import SessionRow
from agent_core.store.sessions import Store
from agent_core.tools.builtin import builtin_tools


class PlayedModel:
    """Answers with `replies` in turn; a callable decides from the request, an exception is raised."""

    def __init__(self, *replies):
        self.replies = list(replies)
        self.requests: list[LlmRequest] = []

    def complete(self, request, sink, cancel):
        self.requests.append(request)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if callable(reply):
            reply = reply(request, sink, cancel)
        if isinstance(reply, Exception):
            raise reply
        if reply.text:
            sink(Delta("text", reply.text))
        return reply

    def close(self):
        pass


def say(text, usage=None):
    return LlmReply(text, usage=usage, model="m")


def call(*calls):
    return LlmReply(
        tool_calls=tuple(ToolCall(f"c{new_id()[:6]}", n, a) for n, a in calls), finish="tool_calls", model="m"
    )


class Table:
    """One session with everything around it."""

    def __init__(self, tmp_path: Path, *replies, rules="", tools=None, **services):
        """`tools`: those offered in place of the usual ones."""
        self.workspace = tmp_path / "ws"
        self.workspace.mkdir(exist_ok=True)
        self.store = Store.open(tmp_path / "state.db")
        self.model = PlayedModel(*replies)
        self.rules = rules
        """What the context files say."""
        self.kept: list = []
        """Notes that the session had written down."""
        self.services = SessionServices(
            store=self.store,
            connect=lambda name, provider="": Connection(self.model, provider or "test", name or "m", "M"),
            tools=builtin_tools if tools is None else lambda: tools,
            backend=LocalBackend,
            home=tmp_path / "home",
            data_home=tmp_path / "home" / ".nanohermes",
            command_env=child_env({"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}),
            redact=lambda text: text.replace("sk-very-secret", "[REDACTED]"),
            context=lambda workspace: (self.rules, ()),
            keep=self.kept.append,
            **services,
        )
        self.session = self.open(new_id(), stored=False)
        self.seen: list[events.Event] = []

    def open(self, session_id, *, stored):
        row = SessionRow(session_id, "", str(self.workspace), "", "", "ask", 0.0, 0.0, 0, 0, 0, 0)
        return LiveSession(self.services, self.store.get(session_id) if stored else row, stored=stored)

    def drain(self):
        self.seen += [e.event for e in self.session.mailbox.drain()]
        return self.seen

    def wait(self, kind, seconds=10.0, count=1):
        """Wait for the `count`-th event of a kind."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = [e for e in self.drain() if isinstance(e, kind)]
            if len(found) >= count:
                return found[count - 1]
            time.sleep(0.01)
        raise AssertionError(f"no {kind.__name__} in {[type(e).__name__ for e in self.seen]}")

    def turn(self, text, count=1):
        self.session.send(intents.Submit(text))
        return self.wait(events.TurnFinished, count=count)

    def of(self, kind):
        return [e for e in self.drain() if isinstance(e, kind)]
