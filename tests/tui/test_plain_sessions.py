"""Line by line: a session that is left rests, and tells its end again when it is gone back to."""

import re
import time

from agent_core import events
from agent_core.host import Host
from agent_core.messages import Message, new_id, user
from agent_core.ports.asking import Question
from nanoherm_tui.plain.face import Face
from nanoherm_tui.plain.greeting import Begin
from nanoherm_tui.plain.looking import inbox
from tests.tui.test_app import launch


def test_a_session_that_was_left_rests_and_tells_its_end_when_it_is_gone_back_to(tmp_path):
    host = Host(launch(tmp_path))
    said: list[str] = []
    try:
        face = Face(host, Begin())
        face.say = lambda *lines: said.extend(lines)
        ids = []
        for name in ("one", "two"):
            row = host.store.create(str(host.places.workspace), title=name)
            host.store.append(row.id, user(f"question {name}"))
            host.store.append(row.id, Message("assistant", f"answer {name}", id=new_id()))
            ids.append(row.id)

        def gathered(what):
            end = time.monotonic() + 20
            while not what():
                assert time.monotonic() < end, said
                face.opened.gather()
                time.sleep(0.01)

        face.opened.show(host.open(ids[0]))
        first = face.session
        gathered(lambda: any("answer one" in line for line in said))
        face.opened.switch(lambda: host.open(ids[1]))
        gathered(lambda: any("answer two" in line for line in said))
        gathered(lambda: first.rests and not face.opened.all[ids[0]].view.loaded)
        assert "one: It rests until it is opened again." in said
        assert not face.session.rests
        said.clear()
        # What is asked there now is said here, stands among the questions, and its number leads there.
        first.tell(events.StateChanged("asking"))
        first.tell(events.QuestionAsked(Question("command", "", id="q", command="touch it"), time.time() + 299.5))
        gathered(lambda: said)
        assert re.fullmatch(r"one: Question: Run this command\? \(\d:\d\d left, /inbox leads there\)", *said)
        said.clear()
        inbox(face, "")
        assert said[0].startswith("  1. one: Run this command?, touch it, "), said
        inbox(face, "2")
        assert face.session is not first
        inbox(face, "1")
        assert face.session is first
        face.questions.put()
        assert any("Question: Run this command?" in line for line in said)
        first.tell(events.QuestionClosed("q", "refuse", "timeout"))
        said.clear()
        gathered(lambda: any("answer one" in line for line in said))
        assert not any("answer two" in line for line in said)
    finally:
        host.close()
