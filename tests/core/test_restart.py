"""What was typed, and what waited, is there again after the program was killed."""

import signal
import subprocess
import sys
import time

import pytest

from agent_core import events, intents
from agent_core.desk.host import Host
from agent_core.desk.house import Launch
from tests.fakes.model_server import ModelServer, Reply

CHILD = """
import sys, time
from pathlib import Path
from agent_core import events, intents
from agent_core.desk.host import Host
from agent_core.desk.house import Launch

work, home, base, what = sys.argv[1:5]
host = Host(Launch(Path(work), {"HOME": home, "PATH": "/usr/bin:/bin", "NANOHERMES_BASE_URL": base,
                                "NANOHERMES_MODEL": "m"}, {}))

def wait(session, kind):
    end = time.monotonic() + 10
    while time.monotonic() < end:
        for envelope in session.mailbox.drain():
            if isinstance(envelope.event, kind):
                return envelope.event
        time.sleep(0.01)
    raise SystemExit(f"no {kind.__name__}")

def stand_still(session):
    assert host.flush_notes(10)
    print(session.id, flush=True)
    time.sleep(60)

exec(what)
"""


class Home:
    """A home, a workspace, and a model that never answers unless it is told to."""

    def __init__(self, tmp_path, server):
        self.work, self.home, self.server = tmp_path / "work", tmp_path / "home", server
        self.work.mkdir()
        self.hosts = []

    def killed(self, what):
        """Run `what` in another program, kill it when it stands still; returns the session's id."""
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(self.work), str(self.home), self.server.base_url, what],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            session_id = child.stdout.readline().strip()
        finally:
            child.send_signal(signal.SIGKILL)
            _, err = child.communicate(timeout=30)
        assert session_id, err
        return session_id

    def start(self):
        env = {"HOME": str(self.home), "PATH": "/usr/bin:/bin", "NANOHERMES_BASE_URL": self.server.base_url,
               "NANOHERMES_MODEL": "m"}  # fmt: skip
        self.hosts.append(Host(Launch(self.work, env, {})))
        return self.hosts[-1]


def reply(body, number):
    said = str(body["messages"][-1])
    if "say half" in said:
        return Reply(text="Half an answer.", stall=60.0)
    return Reply(text="Hello.", hang=60.0 if "be slow" in said else 0.0)


@pytest.fixture
def home(tmp_path):
    with ModelServer(reply) as server:
        made = Home(tmp_path, server)
        yield made
        for host in made.hosts:
            host.close()


def opened(host, session_id):
    """The session, and what it tells until its worker has loaded it."""
    session = host.open(session_id)
    session.send(intents.Rename("loaded"))
    seen = []
    end = time.monotonic() + 10
    while time.monotonic() < end and not any(isinstance(e, events.TitleChanged) for e in seen):
        seen += [envelope.event for envelope in session.mailbox.drain()]
        time.sleep(0.01)
    return session, seen


def returned(seen):
    return [event.text for event in seen if isinstance(event, events.TextReturned)]


TURN = 'session = host.new(); session.send(intents.Submit("first")); wait(session, events.TurnFinished); '


def test_a_draft_of_a_stored_session_is_there_again_and_holds_no_keys(home):
    key = "sk-ant-api03-" + "Ab1Cd2Ef3Gh4Ij5Kl6Mn7" * 4
    session_id = home.killed(
        TURN + f'host.keep_draft(session.id, "half"); host.keep_draft(session.id, "half a 想法 {key}"); '
        "stand_still(session)"
    )
    host = home.start()
    draft = host.draft(session_id)
    assert draft.startswith("half a 想法 ")
    assert key not in draft
    assert host.draft(host.new().id) == "", "it is the session's, not the folder's"


def test_comments_on_changes_are_there_again_about_the_same_lines_and_hold_no_keys(home):
    key = "sk-ant-api03-" + "Ab1Cd2Ef3Gh4Ij5Kl6Mn7" * 4
    session_id = home.killed(
        "from agent_core.messages import Comment, DiffLine, Hunk; "
        + TURN
        + f'hunk = Hunk(3, 3, (DiffLine("remove", "旧", 3), DiffLine("add", "k = \'{key}\'", None, 3))); '
        f'host.keep_comments(session.id, [Comment("a.py", hunk, "不要 {key}")]); stand_still(session)'
    )
    host = home.start()
    (comment,) = host.comments(session_id)
    assert comment.path == "a.py"
    assert [(line.kind, line.old_line, line.new_line) for line in comment.hunk.lines] == [
        ("remove", 3, None), ("add", None, 3)
    ]  # fmt: skip
    assert comment.hunk.lines[0].text == "旧"
    assert comment.hunk.lines[1].text == host.redact(f"k = '{key}'")
    assert comment.text.startswith("不要 ")
    assert key not in repr(comment)
    host.keep_comments(session_id, ())
    assert host.flush_notes(10)
    assert home.start().comments(session_id) == ()


def test_a_draft_of_a_session_that_was_never_stored_is_found_by_the_next_start_there(home, tmp_path):
    home.killed('session = host.new(); host.keep_draft(session.id, "not sent"); stand_still(session)')
    host = home.start()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert host.draft(host.new(elsewhere).id) == ""
    session = host.new()
    assert host.draft(session.id) == "not sent"
    host.keep_draft(session.id, "")
    assert host.flush_notes(10)
    assert home.start().draft(session.id) == ""


def test_texts_that_waited_come_back_to_the_draft_and_nothing_runs(home):
    session_id = home.killed(
        'session = host.new(); session.send(intents.Submit("be slow")); wait(session, events.StepStarted); '
        'session.send(intents.Steer("look at b")); session.send(intents.Queue("then c")); stand_still(session)'
    )
    requests = len(home.server.requests)
    host = home.start()
    session, seen = opened(host, session_id)
    kinds = [type(event) for event in seen]
    assert returned(seen) == ["look at b\nthen c"]
    assert kinds.index(events.HistoryChanged) < kinds.index(events.TextReturned)
    assert session.state == "idle"
    assert len(home.server.requests) == requests
    host.close()

    # A second crash before the composer had them: they come again.
    host = home.start()
    session, seen = opened(host, session_id)
    assert returned(seen) == ["look at b\nthen c"]
    # The face takes them into the draft, keeps that, and says so: from then on the draft has them.
    host.keep_draft(session_id, returned(seen)[0])
    session.send(intents.TextTaken(returned(seen)[0]))
    assert host.flush_notes(10)
    host.close()
    host = home.start()
    session, seen = opened(host, session_id)
    assert returned(seen) == []
    assert host.draft(session_id) == "look at b\nthen c"


def test_a_text_that_has_begun_its_turn_does_not_come_back(home):
    session_id = home.killed(
        TURN + 'session.send(intents.Shell("sleep 0.3")); wait(session, events.ToolStarted); '
        'session.send(intents.Queue("second")); wait(session, events.TurnFinished); stand_still(session)'
    )
    host = home.start()
    _, seen = opened(host, session_id)
    assert returned(seen) == []
    assert [m.text for m in host.store.messages(session_id) if m.starts_turn] == ["first", "second"]


def test_a_command_that_ran_when_the_program_was_killed_is_told_of(home):
    session_id = home.killed(
        'session = host.new(); session.send(intents.Shell("echo a; sleep 50")); wait(session, events.ToolStarted); '
        "stand_still(session)"
    )
    _, seen = opened(home.start(), session_id)
    history = next(event for event in seen if isinstance(event, events.HistoryChanged)).messages
    assert [(m.shell.command, m.shell.result.effect) for m in history] == [("echo a; sleep 50", "unknown")]


def test_what_was_seen_last_is_there_again(home):
    session_id = home.killed(
        TURN + "uid = host.store.messages(session.id)[-1].id; host.mark_seen(session.id, uid); stand_still(session)"
    )
    row = home.start().sessions()[0]
    assert (row.id, row.unread) == (session_id, False)
    assert row.seen


@pytest.mark.parametrize(
    ("said", "waits_for", "answer", "is_told"),
    [("say half", "TextDelta", "Half an answer.", False), ("be slow", "StepStarted", "", True)],
)
def test_a_turn_that_a_kill_cut_off_shows_what_was_said_or_how_to_go_on(home, said, waits_for, answer, is_told):
    session_id = home.killed(
        "from agent_core import limits; limits.REPLY_KEPT = 0.0; session = host.new(); "
        f'session.send(intents.Submit("{said}")); wait(session, events.{waits_for}); time.sleep(0.3); '
        "stand_still(session)"
    )
    host = home.start()
    _, seen = opened(host, session_id)
    history = next(event for event in seen if isinstance(event, events.HistoryChanged)).messages
    assert history[0].text == said
    rest = [(message.role, message.interrupted) for message in history[1:]]
    assert rest == ([("assistant", True)] if answer else [])
    assert answer.startswith(history[-1].text if answer else "")
    assert [e.code for e in seen if isinstance(e, events.Notice)] == ["no_answer"] * is_told
    host.live(session_id).send(intents.Rest())
    end = time.monotonic() + 10
    while not host.live(session_id).rests and time.monotonic() < end:
        time.sleep(0.01)
    session = host.live(session_id)
    session.start()
    again = []
    while not any(isinstance(e, events.HistoryChanged) for e in again) and time.monotonic() < end:
        again += [envelope.event for envelope in session.mailbox.drain()]
        time.sleep(0.01)
    assert not any(isinstance(e, events.Notice) for e in again), "it is told once"
