"""A session with sub-agents: the models are played, everything else is real."""

import dataclasses
import time

from agent_core import events
from agent_core.extras.agents import AgentsExtra
from agent_core.session.services import Connection
from agent_core.subagents.definitions import Definition, Found
from agent_core.subagents.order import CrewOptions
from tests.core.session_support import PlayedModel, Table, call

EXPLORER = Definition("explorer", "Looks around.", "You look around.", allowed_tools=frozenset({"read_file", "grep"}))
WORKER = Definition("worker", "Does anything.", "You work.")


def is_child(request):
    return "# You are a sub-agent" in request.messages[0].text


def results(request):
    return [m.result.text for m in request.messages if m.result is not None]


class Office(Table):
    """A session with sub-agents. `parent` and `child` play the two models; each may be a function of the request."""

    def __init__(self, tmp_path, parent, child, *, definitions=(EXPLORER, WORKER), options=CrewOptions(), **services):  # noqa: B008
        self.parent, self.child = PlayedModel(*parent), PlayedModel(*child)
        self.closed = 0
        self.definitions = Found(tuple(definitions))

        def extras(seat):
            return (AgentsExtra(self.services, seat, lambda: self.definitions, lambda: options),)

        super().__init__(tmp_path, self._answer, extras=extras, **services)
        self.asked_models: list[tuple[str, str]] = []
        self.services = dataclasses.replace(self.services, connect=self._connect)
        self.session.close()
        self.session.join(2.0)
        self.session = self.open(self.session.id, stored=False)

    def _connect(self, name, provider="", stand_ins=()):
        self.asked_models.append((name, provider, *stand_ins))
        return Connection(_Line(self), provider or "test", name or "m", "M", context_window=100_000)

    def _answer(self, request, sink, cancel):
        return (self.child if is_child(request) else self.parent).complete(request, sink, cancel)

    @property
    def board(self):
        return self.of(events.AgentsChanged)[-1].agents

    def until(self, condition, seconds=10.0):
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, self.drain()[-5:]
            time.sleep(0.01)


class _Line:
    """A connection of its own to the one played model: several may ask at once."""

    def __init__(self, office):
        self.office = office

    def complete(self, request, sink, cancel):
        self.office.model.requests.append(request)
        return self.office._answer(request, sink, cancel)

    def close(self):
        self.office.closed += 1


def delegate(*jobs):
    return call(*(("subagent", {"name": name, "task": task}) for name, task in jobs))
