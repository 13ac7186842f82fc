"""What is made when it is first asked for is made once, on every Python there is."""

import threading
import time

import pytest

from agent_core.desk.host import Host
from agent_core.made_once import made_once

SHARED = ["checkpoints", "memory", "memory_desk", "pending", "searching", "servers", "skills", "typed_commands"]
"""What threads of several sessions and of the screen ask the desk for."""


class Desk:
    def __init__(self):
        self.made = 0

    @made_once
    def part(self):
        """It takes a while."""
        self.made += 1
        time.sleep(0.05)
        if self.made == 1:
            raise OSError("not yet")
        return object()


def test_threads_that_ask_together_get_the_same_one_and_a_failure_is_no_answer():
    desk, together, found = Desk(), threading.Barrier(4), []

    def ask():
        together.wait(10)
        try:
            found.append(desk.part)
        except OSError as error:
            found.append(error)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert sum(isinstance(each, OSError) for each in found) == 1
    assert len({id(each) for each in found if not isinstance(each, OSError)}) == 1
    assert desk.made == 2
    assert desk.__dict__["part"] is desk.part
    assert Desk.part.__doc__ == "It takes a while."


@pytest.mark.parametrize("name", SHARED)
def test_each_part_of_the_desk_that_threads_share_is_made_so(name):
    assert isinstance(getattr(Host, name), made_once)
