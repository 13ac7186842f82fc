"""Line by line: a session that is left rests, and tells its end again when it is gone back to."""

import time

from agent_core.host import Host
from agent_core.messages import Message, new_id, user
from nanoherm_tui.plain.face import Face
from nanoherm_tui.plain.greeting import Begin
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
        assert not face.session.rests
        said.clear()
        face.opened.switch(lambda: host.live(ids[0]))
        assert face.session is first
        gathered(lambda: any("answer one" in line for line in said))
        assert not any("answer two" in line for line in said)
    finally:
        host.close()
