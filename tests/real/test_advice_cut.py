"""A program that is killed, or told to end, while models are asked for advice."""

import json
import signal
import threading
import time

import pytest

from agent_core.names import EXIT_INTERRUPTED
from tests.fakes.model_server import ModelServer, Reply
from tests.real.program import Program, goes_on, kept, until


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_the_message_is_kept_nobody_is_asked_any_more_and_the_session_goes_on(home, workspace, number):
    silent = Reply("half", held=threading.Event())
    with ModelServer([silent]) as one, ModelServer([silent]) as two, ModelServer([Reply("never")]) as acting:
        servers = {"one": one, "two": two, "act": acting}
        config = {
            "providers": {name: {"base_url": server.base_url} for name, server in servers.items()},
            "moa": {"presets": {"p": {
                "aggregator": {"provider": "act", "model": "big"},
                "reference_models": [{"provider": name, "model": name} for name in ("one", "two")],
            }}},
        }  # fmt: skip
        (home / ".nanohermes").mkdir(parents=True)
        (home / ".nanohermes" / "config.yaml").write_text(json.dumps(config))
        with Program(home, workspace, acting.base_url, "-m", "moa/p", "-p", "go") as program:
            until(lambda: one.open_streams and two.open_streams)
            begun = time.monotonic()
            program.kill(number)
            assert time.monotonic() - begun < 10
        assert acting.requests == []
    if number == signal.SIGINT:
        assert (program.code, program.result["outcome"]) == (EXIT_INTERRUPTED, "interrupted")
    assert kept(home) == [("user", "go")]
    assert goes_on(home, workspace)[0]["content"].startswith("go")
