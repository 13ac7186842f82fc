"""Mixtures over real model servers, for tests."""

from __future__ import annotations

import threading
from contextlib import ExitStack, contextmanager

from agent_core.cancel import CancelScope
from agent_core.desk.models import Models, ModelSettings
from agent_core.llm import mixtures
from agent_core.llm.providers import ProviderOptions
from agent_core.messages import Message, ToolCall, ToolResult, tool, user
from agent_core.ports.model import LlmRequest
from tests.fakes.model_server import ModelServer, Reply

SECRET = "sk-very-secret"
BIG = {"provider": "openai", "model": "big"}
SMALL = {"provider": "anthropic", "model": "small"}
KEYS = {"OPENAI_API_KEY": "k1", "ANTHROPIC_API_KEY": "k2", "OPENROUTER_API_KEY": "k3"}


def hide(text):
    return text.replace(SECRET, "[REDACTED]")


class Mixed:
    """A mixture over servers of its own: `acting`, and one server for each of `replies`."""

    def __init__(self, stack, *replies, acting=None, **preset):
        self.acting = stack.enter_context(ModelServer(acting or [Reply("the answer")]))
        self.servers = [stack.enter_context(ModelServer(one if callable(one) else [one])) for one in replies]
        named = {f"r{n}": {"base_url": server.base_url} for n, server in enumerate(self.servers)}
        slots = [{"provider": name, "model": f"m{n}"} for n, name in enumerate(named)]
        slots = preset.pop("slots", slots)
        raw = {"aggregator": {"provider": "act", "model": "big"}, "reference_models": slots, **preset}
        self.options = ProviderOptions(
            provider="moa", model="p", retry_base=0.001, max_attempts=2,
            providers={**named, "act": {"base_url": self.acting.base_url}},
            mixtures=mixtures.parse({"presets": {"p": raw}}),
        )  # fmt: skip
        self.models = Models(lambda: ModelSettings(self.options), {}, dict, lambda: None, redact=hide)
        self.connection = self.models.connect("")
        stack.callback(self.connection.client.close)
        self.told = []

    def ask(self, *history, turn="t1", cancel=None, **request):
        messages = (Message("system", "the rules"), *(history or (user("go"),)))
        request = LlmRequest(messages, turn=turn, **{"advised": True, **request})
        return self.connection.client.complete(request, self.told.append, cancel or CancelScope())

    @property
    def asked(self):
        return [len(server.requests) for server in self.servers]

    @property
    def notices(self):
        return [(d.params["notice"], d.text) for d in self.told if d.kind == "advice"]

    def advice(self, number=-1):
        """What the acting model was told in a request behind the system prompt."""
        return "\n".join(str(message["content"]) for message in self.acting.requests[number]["messages"][1:])


def advising():
    return [t for t in threading.enumerate() if t.name.startswith("advice-")]


@contextmanager
def mixtures_made():
    """Makes mixtures; their servers end with the block."""
    with ExitStack() as stack:
        yield lambda *replies, **given: Mixed(stack, *replies, **given)


def steps(count, of="step"):
    """So many steps of a turn: a call each, and its result."""
    out = []
    for number in range(count):
        call = ToolCall(f"c{number}", "read_file", {"path": f"{of}{number}.py"})
        out += [Message("assistant", f"{of} {number}", tool_calls=(call,)),
                tool(ToolResult(call.id, call.name, f"result of {of} {number}"))]  # fmt: skip
    return out
