"""The desk: everything a face calls, over a real home."""

import threading
import time

import pytest

from agent_core import events
from agent_core.errors import AgentError, StoreError
from agent_core.host import Host, Launch
from agent_core.intents import Submit
from tests.fakes.model_server import ModelServer, Reply


@pytest.fixture
def start(tmp_path):
    hosts = []
    work = tmp_path / "work"
    work.mkdir()

    def make(env=None, overrides=None, **launch):
        full = {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin", **(env or {})}
        hosts.append(Host(Launch(work, full, overrides or {}, **launch)))
        return hosts[-1]

    yield make
    for host in hosts:
        host.close()


def turn(session, text):
    """Submit and wait for the end; returns all events."""
    came = threading.Event()
    seen = []
    session.mailbox.listen(lambda urgent: came.set())
    session.send(Submit(text))
    for _ in range(500):
        came.wait(0.05)
        came.clear()
        seen += [e.event for e in session.mailbox.drain()]
        if any(isinstance(e, events.TurnFinished) for e in seen):
            return seen
    raise AssertionError("no end")


@pytest.fixture
def server():
    with ModelServer([Reply(text="Hello.")]) as running:
        yield running


def provider(server):
    return {"NANOHERMES_BASE_URL": server.base_url, "NANOHERMES_MODEL": "test-model"}


def test_without_a_provider_and_a_local_server_the_demo_is_used_and_says_so(start, monkeypatch):
    monkeypatch.setattr("agent_core.llm.discover.find_local_server", lambda *a, **k: None)
    host = start()
    assert not host.model.settled
    told = []
    host.on_model(told.append)
    state = host.look_for_models()
    assert (state.demo, state.label) == (True, "demo (scripted)")
    assert told == [state]
    session = host.new()
    assert (session.workspace / "shop" / "cart.py").exists()
    assert session.workspace != host.places.workspace


def test_a_key_that_is_missing_is_a_problem_with_a_way_out(start):
    host = start(overrides={"model.provider": "openai", "model.default": "gpt-5"})
    assert host.model.problem.code == "no_key"
    assert "OPENAI_API_KEY" in host.model.problem.text
    assert not host.model_health().ok


def test_a_session_goes_through_its_life(start, server, tmp_path):
    host = start(provider(server))
    session = host.new()
    assert host.sessions() == []
    seen = turn(session, "hi")
    assert [e.outcome for e in seen if isinstance(e, events.TurnFinished)] == ["completed"]
    assert [row.title for row in host.sessions()] == ["hi"]
    assert host.latest().id == session.id
    assert host.find("hi").id == session.id
    assert host.open(session.id) is session
    assert "Hello." in host.export(session.id)
    assert '"Hello."' in host.export(session.id, "json")
    assert host.diff(session.id) == ()
    emptied = host.reset(session.id)
    assert emptied.id == session.id
    assert host.store.messages(session.id) == []
    host.delete(session.id)
    assert host.sessions() == []
    with pytest.raises(StoreError):
        host.open(session.id)


def test_a_session_whose_folder_is_gone_says_so(start, server, tmp_path):
    host = start(provider(server))
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    session = host.new(folder)
    turn(session, "hi")
    host._forget(session.id)
    folder.rmdir()
    with pytest.raises(StoreError, match="does not exist any more"):
        host.open(session.id)


def test_files_are_listed_and_previewed_within_bounds(start, server, tmp_path):
    host = start(provider(server))
    work = host.places.workspace
    (work / "src").mkdir()
    (work / "src" / "日期.py").write_text("x = 1\n")
    (work / ".gitignore").write_text("ignored.txt\n")
    (work / "ignored.txt").write_text("no")
    (work / ".env").write_text("SECRET=1")
    (work / "big.txt").write_text("猫" * 100_000)
    session = host.new()
    assert [f for f in host.list_files(session.id) if not f.startswith(".")] == ["big.txt", "src/日期.py"]
    assert len(host.list_files(session.id, 1)) == 1
    assert host.preview(session.id, "src/日期.py") == "x = 1\n"
    assert set(host.preview(session.id, "big.txt")) == {"猫"}
    for path in (".env", "../../../etc/shadow", "no such"):
        with pytest.raises(AgentError):
            host.preview(session.id, path)
    assert host.list_dirs(work) == [work / "src"]
    assert host.list_dirs(work / "none") == []


def test_a_setting_is_written_and_read_back(start, server):
    host = start(provider(server))
    host.save_settings({"display.theme": "nanoherm-light"})
    assert host.get_settings().get("display.theme") == "nanoherm-light"
    assert "nanoherm-light" in host.places.config_file.read_text()


def test_setup_stores_the_key_apart_and_the_session_uses_it(start, server, monkeypatch):
    host = start(overrides={})
    health = host.test_setup("custom", "sk-test-0123456789abcdef", "test-model", server.base_url)
    assert health.ok, health.text
    state = host.save_setup("custom", "sk-test-0123456789abcdef", "test-model", server.base_url)
    assert state.endpoint.model == "test-model"
    assert "sk-test" not in host.places.config_file.read_text()
    assert oct(host.places.env_file.stat().st_mode & 0o777) == "0o600"
    assert host.redact("the key sk-test-0123456789abcdef.") == "the key [REDACTED]."
    turn(host.new(), "hi")
    assert len(server.requests) == 1


def test_setup_that_cannot_work_is_told_in_words(start):
    host = start()
    health = host.test_setup("openai", "", "gpt-5")
    assert not health.ok
    assert "OPENAI_API_KEY" in health.text
    assert not host.test_setup("custom", "k", "m", "http://127.0.0.1:9/v1").ok


def test_closing_ends_a_hanging_turn_within_a_second(start):
    with ModelServer([Reply(text="x", hang=60)]) as server:
        host = start(provider(server))
        session = host.new()
        session.send(Submit("go"))
        time.sleep(0.5)
        begun = time.monotonic()
        host.close()
        assert time.monotonic() - begun < 1.0
