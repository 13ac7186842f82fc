"""Which program wrote a row, and whether it still runs: what a lock is worth when its holder may have been killed."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Literal

from agent_core.messages import new_id

Life = Literal["lives", "gone", "unknown"]
""""unknown": it is in another container, where nobody here can look."""


def new_owner() -> str:
    """A name for one opened store of this program: pid, something unique, when the program began, where it runs."""
    return f"{os.getpid()}:{new_id()}:{_began(os.getpid())}:{place()}"


def pid_of(owner: str) -> int:
    """The process number in an owner's name; 0 when there is none."""
    number = owner.partition(":")[0]
    return int(number) if number.isascii() and number.isdigit() else 0


def life_of(owner: str) -> Life:
    """Whether the program that made this name still runs."""
    pid = pid_of(owner)
    if not pid:
        return "gone"
    _, _, began, where = (*owner.split(":"), "", "", "")[:4]
    here = place()
    if where and here and where != here:
        # The numbers of another start of the machine are void; those of another container mean nothing here.
        return "gone" if where.partition("/")[0] != here.partition("/")[0] else "unknown"
    try:
        os.kill(pid, 0)
    except PermissionError:
        pass  # another user's, who may use this home all the same: root with the person's HOME
    except (OSError, OverflowError):
        return "gone"
    return "lives" if not began or _began(pid) == began else "gone"  # another program may have got the number since


@lru_cache(maxsize=1)
def place() -> str:
    """This start of the machine and this container (its process numbers); "" where no /proc tells it."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()
        return f"{boot}/{os.readlink('/proc/self/ns/pid').strip('pid:[]')}"
    except OSError:
        return ""


def _began(pid: int) -> str:
    """When a process began, in ticks since the machine did; "" for an ended one, and where no /proc tells it.

    A killed program may stay in the list of processes for long: not every first process of a container clears it.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            words = file.read().rpartition(b")")[2].split()
        return "" if words[0] in (b"Z", b"X") else words[19].decode("ascii")
    except (OSError, IndexError):
        return ""
