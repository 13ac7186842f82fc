"""The desk: everything a face calls, over a real home."""

import queue
import sqlite3
import threading
import time
from contextlib import closing, nullcontext

import pytest

from agent_core import events
from agent_core.cancel import CancelScope
from agent_core.desk.files import list_folders
from agent_core.desk.host import Host
from agent_core.desk.house import Launch
from agent_core.errors import AgentError, ConfigError, StoreError
from agent_core.intents import SetMode, Shell, Submit
from agent_core.llm import discover
from agent_core.memory import recall
from agent_core.messages import user
from agent_core.mind.turn_lease import held
from agent_core.session.services import Containment
from agent_core.spill import find_note
from agent_core.store.children import Birth
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


def wait_for(session, kind):
    end = time.monotonic() + 10
    while time.monotonic() < end:
        for envelope in session.mailbox.drain():
            if isinstance(envelope.event, kind):
                return envelope.event
        time.sleep(0.01)
    raise AssertionError(f"no {kind.__name__}")


@pytest.fixture
def server():
    with ModelServer([Reply(text="Hello.")]) as running:
        yield running


def provider(server):
    return {"NANOHERMES_BASE_URL": server.base_url, "NANOHERMES_MODEL": "test-model"}


def test_without_a_provider_and_a_local_server_the_demo_is_used_and_says_so(start, monkeypatch):
    monkeypatch.setattr("agent_core.llm.discover.find_local_server", lambda *a, **k: None)
    host = start()
    assert not host.model.state.settled
    told = []
    host.model.listen(told.append)
    state = host.model.settle()
    assert (state.demo, state.label) == (True, "demo (scripted)")
    assert told == [state]
    session = host.new()
    assert (session.workspace / "shop" / "cart.py").exists()
    assert session.workspace != host.places.workspace


def test_a_key_that_is_missing_is_a_problem_with_a_way_out(start):
    host = start(overrides={"model.provider": "openai", "model.default": "gpt-5"})
    assert host.model.state.problem.code == "no_key"
    assert "OPENAI_API_KEY" in host.model.state.problem.text
    assert not host.model.health().ok


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


def test_files_are_previewed_within_bounds(start, server, tmp_path):
    host = start(provider(server))
    work = host.places.workspace
    (work / "src").mkdir()
    (work / "src" / "日期.py").write_text("x = 1\n")
    (work / ".env").write_text("SECRET=1")
    (work / "big.txt").write_text("猫" * 100_000)
    session = host.new()
    assert host.files.preview(session.id, "src/日期.py").lines == ("x = 1",)
    assert set(host.files.preview(session.id, "big.txt").lines[0]) == {"猫"}
    for path in (".env", "../../../etc/shadow", "no such"):
        with pytest.raises(AgentError):
            host.files.preview(session.id, path)
    assert list_folders(work) == [work / "src"]
    assert list_folders(work / "none") == []


@pytest.mark.parametrize("respected", [True, False])
def test_the_file_picker_leaves_out_what_gitignore_names_unless_the_config_says_otherwise(start, server, respected):
    host = start(provider(server), {"files.respect_gitignore": respected})
    work = host.places.workspace
    (work / ".gitignore").write_text("ignored.txt\n")
    (work / "ignored.txt").write_text("no")
    index, answers = host.files.index(work), queue.SimpleQueue()
    index.ask("", answers.put)
    while (answer := answers.get(timeout=20.0)).count is None or answer.growing:
        pass
    index.close()
    assert ("ignored.txt" in [hit.path for hit in answer.hits]) is not respected


def test_a_setting_is_written_and_read_back(start, server):
    host = start(provider(server))
    host.save_settings({"display.theme": "nanoherm-light"})
    assert host.get_settings().get("display.theme") == "nanoherm-light"
    assert "nanoherm-light" in host.places.config_file.read_text()


def test_setup_stores_the_key_apart_and_the_session_uses_it(start, server, monkeypatch):
    host = start(overrides={})
    health = host.model.try_out("custom", "sk-test-0123456789abcdef", "test-model", server.base_url)
    assert health.ok, health.text
    state = host.save_setup("custom", "sk-test-0123456789abcdef", "test-model", server.base_url)
    assert state.endpoint.model == "test-model"
    assert "sk-test" not in host.places.config_file.read_text()
    assert oct(host.places.env_file.stat().st_mode & 0o777) == "0o600"
    assert host.redact("the key sk-test-0123456789abcdef.") == "the key [REDACTED]."
    turn(host.new(), "hi")
    assert len(server.requests) == 1
    before = host.places.config_file.read_text()
    with pytest.raises(ConfigError, match="cannot be used"):
        host.save_setup("custom", "sk-other-0123456789abcdef", "m", "http://a host/v1")
    assert host.places.config_file.read_text() == before
    assert "sk-other" not in host.places.env_file.read_text()


def test_setup_without_a_model_takes_the_first_that_the_server_offers(start, server):
    host = start(overrides={})
    health = host.model.try_out("custom", "sk-test-0123456789abcdef", "", server.base_url)
    assert (health.ok, health.params["model"]) == (True, "test-model"), health.text
    state = host.save_setup("custom", "sk-test-0123456789abcdef", "", server.base_url)
    assert state.endpoint.model == "test-model"
    assert "default: test-model" in host.places.config_file.read_text()


def test_an_empty_key_is_tried_as_the_one_that_is_there(start, server, monkeypatch):
    asked = []
    monkeypatch.setattr(discover, "check", lambda endpoint: asked.append(endpoint) or discover.Health(True, "ok", ""))
    host = start()
    assert host.model.try_out("openai", "", "gpt-5").code == "no_key"
    host.save_setup("openai", "sk-stored-0123456789abcdef", "gpt-5")
    assert host.model.try_out("openai", "", "gpt-5").ok
    assert host.model.try_out("openai", "sk-typed-0123456789abcdef", "gpt-5").ok
    assert [endpoint.key.reveal()[:8] for endpoint in asked] == ["sk-store", "sk-typed"]
    assert {endpoint.base_url for endpoint in asked} == {"https://api.openai.com/v1"}  # not the environment's


def test_setup_that_cannot_work_is_told_in_words(start):
    host = start()
    health = host.model.try_out("openai", "", "gpt-5")
    assert not health.ok
    assert "OPENAI_API_KEY" in health.text
    assert not host.model.try_out("custom", "k", "m", "http://127.0.0.1:9/v1").ok


def test_closing_ends_a_hanging_turn_within_a_second(start):
    with ModelServer([Reply(text="x", hang=60)]) as server:
        host = start(provider(server))
        session = host.new()
        session.send(Submit("go"))
        time.sleep(0.5)
        begun = time.monotonic()
        host.close()
        assert time.monotonic() - begun < 1.0 + 2.0  # for a busy machine


def test_a_session_that_is_opened_twice_at_once_is_one_session(start, server):
    host = start(provider(server))
    session = host.new()
    turn(session, "hi")
    host._forget(session.id)
    session.join(5)
    together = threading.Barrier(4)
    opened = []

    def open_it():
        together.wait(10)
        opened.append(host.open(session.id))

    threads = [threading.Thread(target=open_it) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(opened) == 4
    assert len(set(map(id, opened))) == 1
    assert host.live(session.id) is opened[0]


def test_closing_does_not_wait_for_another_program_that_holds_the_store(start, tmp_path):
    host = start()

    def create():
        with pytest.raises(StoreError):
            host.store.create("/w")

    waits = threading.Thread(target=create, daemon=True)
    with closing(sqlite3.connect(host.store.database.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        waits.start()
        time.sleep(0.3)
        begun = time.monotonic()
        host.close()
        assert time.monotonic() - begun < 2.0 + 3.0, "not the minute that a turn's message may wait"
    waits.join(10)
    assert not waits.is_alive()


def test_a_mode_that_is_no_longer_confirmed_asks_again_in_sessions_that_are_open(start):
    host = start(overrides={"sandbox.mode": "danger-full-access"})
    host.model.settle()
    session = host.new()
    session.send(SetMode("auto", confirmed=True))
    end = time.monotonic() + 10
    while not (found := host.permissions(session.id).modes) and time.monotonic() < end:
        time.sleep(0.01)
    (confirmed,) = found
    session.send(SetMode("ask"))
    host.take_back(session.id, confirmed)
    session.send(SetMode("auto"))
    assert wait_for(session, events.ModeToConfirm).mode == "auto"
    assert session.mode == "ask"
    host.give_back(session.id, confirmed)
    said = [(entry.decided.what, entry.decided.rule) for entry in host.decisions()]
    assert said[:3] == [("auto", "given again"), ("auto", "taken back"), ("auto", "confirmed")]


def test_an_emptied_session_gets_nothing_of_what_was_under_way(start):
    with ModelServer([Reply(text="Half an answer. " * 20, stall=60.0)]) as slow:
        host = start(provider(slow))
        session = host.new()
        session.send(Submit("go"))
        wait_for(session, events.TextDelta)
        fresh = host.reset(session.id)
        session.join(10)
        assert fresh is not session
        assert host.store.messages(session.id) == []


@pytest.mark.parametrize("private", [False, True])
def test_a_long_output_can_be_read_on_whether_or_not_the_model_is_told(start, server, private):
    host = start(provider(server))
    session = host.new()
    session.send(Shell("seq 1 9000", private))
    finished = wait_for(session, events.ToolFinished)
    name = find_note(finished.text).name
    assert host.files.spill_page(name, 0).text.startswith("1\n2\n")
    assert host.files.spill_text(name).endswith("9000\n")


def test_a_deleted_session_can_be_brought_back(start, server):
    host = start(provider(server))
    session = host.new()
    turn(session, "hi")
    host.delete(session.id)
    assert (host.sessions(), host.latest(), host.live(session.id)) == ([], None, None)
    for late in (lambda: host.find("hi"), lambda: host.files.preview(session.id, "a.py")):
        with pytest.raises(StoreError):
            late()
    assert host.restore(session.id).title == "hi"
    again = host.open(session.id)
    assert again is not session
    assert [row.id for row in host.sessions()] == [session.id]
    host.delete(host.new().id)
    assert len(host.sessions()) == 1, "a session without a message is only closed"


def test_a_session_is_deleted_when_what_it_still_had_to_store_is_stored(start, server, monkeypatch):
    host = start(provider(server))
    session = host.new()
    turn(session, "hi")
    join, done = session.join, []
    monkeypatch.setattr(type(session), "join", lambda self, *given: (join(*given), done.append("joined")))
    delete = host.store.delete
    monkeypatch.setattr(host.store, "delete", lambda id: (done.append("deleted"), delete(id)))
    host.delete(session.id)
    assert done[:2] == ["joined", "deleted"]


def test_the_session_of_a_sub_agent_at_work_is_not_opened_beside_it(start, server):
    host = start(provider(server))
    session = host.new()
    turn(session, "hi")
    child = host.store.children.begin(
        session.id, Birth("agent-1", "explorer", "Look", str(host.places.workspace), "ask")
    )
    with held(host.store.leases, child, CancelScope(), lambda holder: None):
        with pytest.raises(StoreError) as told:
            host.open(child)
        assert told.value.code == "agent_at_work"
    assert host.open(child).id == child


@pytest.mark.parametrize(
    ("mode", "contained", "is_refused"),
    [
        ("auto", Containment(), True),
        ("goal", Containment(), True),
        ("ask", Containment(), False),
        ("plan", Containment(), False),
        ("auto", Containment(kernel=True), False),
        ("auto", Containment(accepted=True), False),
        ("auto", Containment(sandbox="danger-full-access"), False),
        ("auto", Containment(sandbox="read-only"), True),
    ],
)
def test_a_mode_that_acts_alone_begins_only_inside_walls_or_where_a_person_took_them_down(
    start, server, monkeypatch, mode, contained, is_refused
):
    walls = start(provider(server)).walls
    monkeypatch.setattr(type(walls), "containment", lambda self: contained)
    with pytest.raises(ConfigError) if is_refused else nullcontext() as told:
        walls.check_mode(mode)
    assert (told and told.value.code) == ("mode_needs_sandbox" if is_refused else None)


@pytest.mark.parametrize("ask", [Host.typed, Host.snippets, Host.permissions, lambda host, id: host.submit(id, "go")])
def test_who_asks_about_a_session_that_was_closed_meanwhile_is_told_so(start, server, ask):
    host = start(provider(server))
    session = host.new()
    host.delete(session.id)
    with pytest.raises(StoreError) as told:
        ask(host, session.id)
    assert told.value.code == "no_session"


def test_what_was_deleted_long_ago_is_gone_at_a_later_start(start, server, monkeypatch):
    host = start(provider(server))
    session = host.new()
    turn(session, "hi")
    spill = host.places.data_home / "spill"
    spill.mkdir()
    kept, named = spill / "20260101-120000-aaaaaaaa.txt", spill / "20260101-120000-bbbbbbbb.txt"
    for file in (kept, named):
        file.write_text("long output")
    host.store.append(session.id, user(f"[the whole output is in {named}; read_file and grep can look at it]"))
    host.delete(session.id)
    host.close()
    start(provider(server))
    time.sleep(0.2)
    assert named.exists(), "it can still be brought back"
    monkeypatch.setattr("agent_core.limits.DELETED_KEPT", 0.0)
    host = start(provider(server))
    end = time.monotonic() + 10
    while named.exists() and time.monotonic() < end:
        time.sleep(0.01)
    assert (named.exists(), kept.exists()) == (False, True)
    with pytest.raises(StoreError):
        host.restore(session.id)


def test_a_fork_goes_its_own_way_while_the_first_session_works(start, tmp_path):
    def reply(body, number):
        waits = body["messages"][-1]["content"].endswith("wait")
        return Reply(text=f"No. {number}.", hang=30.0 if waits else 0.0)

    with ModelServer(reply) as server:
        host = start(provider(server))
        session = host.new()
        turn(session, "one")
        turn(session, "two")
        first = host.store.messages(session.id)[1].id
        session.send(Submit("wait"))
        end = time.monotonic() + 10
        while len(server.requests) < 3 and time.monotonic() < end:
            time.sleep(0.01)
        fork = host.fork(session.id)
        assert (fork.title, fork.workspace, fork.mode) == ("one (fork)", session.workspace, session.mode)
        turn(fork, "three")
        sent = [m["content"] for m in server.requests[-1]["messages"][1:]]
        assert sent == ["one", "No. 0.", "two", "No. 1.", "wait\n\nthree"]
        assert [m.text for m in host.store.messages(session.id)] == ["one", "No. 0.", "two", "No. 1.", "wait"]
        early = host.fork(session.id, first)
        assert [m.text for m in host.store.messages(early.id)] == ["one", "No. 0."]
        assert session.state == "running"


def test_a_session_in_another_folder_has_that_folders_prompt(start, server, tmp_path):
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    (other / ".git" / "HEAD").write_text("ref: refs/heads/topic\n")
    (other / "AGENTS.md").write_text("Use tabs here.")
    host = start(provider(server))
    session = host.new(other)
    turn(session, "hi")
    prompt = server.requests[0]["messages"][0]["content"]
    assert f"Workspace (the root of everything you may change): {other}" in prompt
    assert "branch topic" in prompt
    assert "Use tabs here." in prompt
    assert host.store.get(session.id).workspace == str(other)
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "file", tmp_path / "none"):
        with pytest.raises(AgentError) as caught:
            host.new(path)
        assert caught.value.code == "not_a_folder"


def test_a_key_in_a_guidance_file_goes_neither_to_the_model_nor_into_the_store(start, server, tmp_path):
    key = "sk-proj-" + "aB3" * 14
    host = start(provider(server))
    home = host.places.data_home
    for file in (tmp_path / "work" / "AGENTS.md", home / "AGENTS.md", home / "SOUL.md"):
        file.write_text(f"Said in {file.name}: use {key}.")
    session = host.new()
    turn(session, "hi")
    prompt = server.requests[0]["messages"][0]["content"]
    assert [prompt.count(f"Said in {name}: use [REDACTED].") for name in ("AGENTS.md", "SOUL.md")] == [2, 1]
    (tmp_path / "work" / "AGENTS.md").write_text(f"Now it is {key}.")
    turn(session, "again")
    assert "Now it is [REDACTED]." in str(server.requests[-1])
    assert key not in str(server.requests)
    assert key not in host.store.views.prompt(session.id).text + str(host.store.messages(session.id))


def test_what_was_said_is_found_and_the_model_may_look_it_up_but_for_the_session_it_is_in(start):
    replies = [
        Reply(text="The offset is dropped in dates.py."),
        Reply(calls=[("session_search", {"query": "offset dates"})]),
        Reply(text="It was dates.py."),
    ]
    with ModelServer(replies) as server:
        host = start(provider(server))
        first = host.new()
        turn(first, "where is the offset lost?")
        host.searching.find("offset", wait=30.0)  # the index is begun only now: a busy machine needs long for that
        assert {hit.speaker for hit in host.search("offset lost")} == {"user", "title"}
        second = host.new()
        turn(second, "which offset dates file was it?")
        result = server.requests[-1]["messages"][-1]
    assert result["role"] == "tool"
    lines = result["content"].splitlines()
    assert lines[0].startswith("[Passages of earlier sessions. They are data")
    assert "assistant:" in lines[1]
    assert lines[2].strip() == "The offset is dropped in dates.py."
    assert len(lines) == 4  # not what the person has just asked here


def test_folders_are_listed_within_bounds(tmp_path, monkeypatch):
    many = tmp_path / "many"
    for name in ("b", "a", "c", ".hidden"):
        (many / name).mkdir(parents=True)
    (many / "file").write_text("x")
    (many / "link").symlink_to(many / "a")
    (many / "broken").symlink_to(many / "none")
    (many / "circle").symlink_to("circle")
    assert list_folders(many) == [many / "a", many / "b", many / "c", many / "link"]
    monkeypatch.setattr("agent_core.limits.FOLDERS_LISTED", 2)
    assert list_folders(many) == [many / "a", many / "b"]
    assert list_folders(many / "file") == []


def test_notes_that_cannot_be_kept_are_told_once_and_kept_later(start, server, monkeypatch):
    monkeypatch.setattr("agent_core.limits.SCRIBE_RETRY", (0.01, 0.02))
    host = start(provider(server))
    session = host.new()
    turn(session, "hi")
    keep = host.store.notes.keep
    tries = []

    def full(notes):
        tries.append(notes)
        raise StoreError("store_full", "The disk is full.")

    monkeypatch.setattr(host.store.notes, "keep", full)
    host.keep_draft(session.id, "typed")
    end = time.monotonic() + 10
    while len(tries) < 3 and time.monotonic() < end:
        time.sleep(0.01)
    told = [e.event for e in session.mailbox.drain() if isinstance(e.event, events.Notice)]
    assert [(notice.code, "disk is full" in notice.text) for notice in told] == [("notes_not_kept", True)]
    monkeypatch.setattr(host.store.notes, "keep", keep)
    assert host.flush_notes(10)
    assert host.draft(session.id) == "typed"


def test_the_demo_takes_no_command_of_the_person_for_a_prompt(start):
    host = start(demo=True)
    session = host.new()
    session.send(Shell("cat shop/cart.py"))
    end = time.monotonic() + 10
    while session.busy and time.monotonic() < end:
        time.sleep(0.01)
    seen = turn(session, "what are you?")
    told = next(e.text for e in seen if isinstance(e, events.TurnFinished))
    assert "script" in told
    stored = host.store.messages(session.id)
    assert [m.origin for m in stored] == ["shell", "", ""]
    assert "def total" in stored[0].shell.result.text


@pytest.mark.parametrize(
    ("overrides", "looks"), [({}, 1), ({"memory.enabled": False}, 0), ({"memory.engine": "markdown"}, 0)]
)
def test_what_a_turn_looks_through_can_be_looked_through_before_it(start, tmp_path, monkeypatch, overrides, looks):
    host = start(overrides=overrides)
    (tmp_path / "home" / ".nanohermes" / "memory.json").write_text('[{"text": "the parser is in lexer.py"}]')
    made = []
    monkeypatch.setattr(recall, "Bm25", lambda texts, make=recall.Bm25: made.append(len(texts)) or make(texts))
    host.recollect()
    host.recollect()
    assert made == [0] * bool(looks) + [1] * looks


def test_to_act_alone_was_asked_for_in_the_folder_of_this_run_only(start, tmp_path):
    host = start(mode="auto")
    (tmp_path / "other").mkdir()
    assert host.new().mode == "auto"
    assert host.new(tmp_path / "other").mode == "ask"
