"""`--processes N`: the tests run in N copies of the process that has collected them.

A process of pytest-xdist collects by itself, nine seconds of a core, and it tells so much of each test that this takes
longer than most of the tests do. Here all is collected once, and a copy tells the reports of a test in one piece.

A file's tests stay together, for some share a program that they have started: a copy that is done with one file takes
the next that nobody has taken.
"""

from __future__ import annotations

import os
import signal
import struct
import time
import warnings
from itertools import groupby, pairwise
from multiprocessing.connection import Connection, Pipe, wait

_NUMBER = struct.Struct("=H")
SECONDS = 30.0
"""How long a copy has, after its last test or when it is to stop, for what its tests have started and left behind."""


def add_option(parser) -> None:
    parser.addoption("--processes", type=int, default=0, help="run the files of the tests in so many copies")


def pytest_runtestloop(session):
    """Takes the place of pytest's own loop where there is more than one process to be."""
    if session.config.option.processes < 2 or session.config.option.collectonly or session.testsfailed:
        return None
    files = [[at for at, _ in group] for _, group in groupby(enumerate(session.items), lambda pair: pair[1].path)]
    left, put = os.pipe()  # a number is read by one copy
    os.write(put, b"".join(_NUMBER.pack(number) for number in range(len(files))))
    os.close(put)
    copies: dict[Connection, _Copy] = {}
    for _ in range(session.config.option.processes):
        told, tell = Pipe(duplex=False)
        if not (pid := os.fork()):
            return _work(session, files, left, tell)
        tell.close()
        copies[told] = _Copy(pid)
    os.close(left)
    try:
        _listen(session, copies)
    finally:
        for copy in copies.values():
            copy.stop()
    return True


class _Copy:
    """What is known of a copy: its process, and the test it is at."""

    def __init__(self, pid: int):
        self.pid, self.test, self.status = pid, "", None

    def wait(self, seconds: float) -> bool:
        """Whether it has ended within `seconds`."""
        end = time.monotonic() + seconds
        while self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > end:
                return False
            else:
                time.sleep(0.02)
        return True

    def stop(self) -> None:
        """End it: as Ctrl+C does, then at once."""
        for number in (signal.SIGINT, signal.SIGKILL):
            if self.status is None:
                os.kill(self.pid, number)
                self.wait(SECONDS)


# -- the process that has collected ---------------------------------------------------------------------------------


def _listen(session, copies: dict[Connection, _Copy]) -> None:
    """Hand on what the copies tell until all have ended. Raises session.Interrupted when tests are missing."""
    hook, missing, waiting = session.config.hook, len(session.items), dict(copies)
    while waiting:
        for told in wait(list(waiting)):
            try:
                kind, what = told.recv()
            except EOFError:
                waiting.pop(told).wait(SECONDS)
                continue
            if kind == "begins":
                copies[told].test = what
            elif kind == "warning":
                hook.pytest_warning_recorded.call_historic(kwargs=what)
            else:
                copies[told].test, missing = "", missing - 1
                for data in what:
                    report = hook.pytest_report_from_serializable(config=session.config, data=data)
                    hook.pytest_runtest_logreport(report=report)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
    if missing:
        ends = [f"{copy.test} (exit {copy.status})" for copy in copies.values() if copy.test]
        raise session.Interrupted(f"{missing} tests have not run; processes ended in: {', '.join(ends) or 'none'}")


# -- a copy ---------------------------------------------------------------------------------------------------------


def _work(session, files: list[list[int]], left: int, tell: Connection) -> bool:
    """Run files until none is left. What pytest does after its loop then happens in the copy as well, unseen."""
    config = session.config
    config.workerinput = {}  # pytest's own plugins keep no results where they see it
    config.get_terminal_writer()._file = open(os.devnull, "w")  # noqa: SIM115  # until the process ends
    capture = config.pluginmanager.getplugin("capturemanager")  # what is captured goes to a file, else shared by all
    capture.stop_global_capturing()
    capture.start_global_capturing()
    config.pluginmanager.register(_Teller(config, tell))

    while taken := os.read(left, _NUMBER.size):
        items = [session.items[at] for at in files[_NUMBER.unpack(taken)[0]]]
        # All that the tests of a file share ends with it, what the whole session shares stays.
        for item, after in pairwise([*items, session]):
            config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            if session.shouldfail:
                raise session.Failed(session.shouldfail)
            if session.shouldstop:
                raise session.Interrupted(session.shouldstop)
    return True


class _Teller:
    """Tells what happens in a copy."""

    def __init__(self, config, tell: Connection):
        self._config, self._tell = config, tell
        self._reports: list[dict] = []

    def pytest_runtest_logstart(self, nodeid):
        self._tell.send(("begins", nodeid))

    def pytest_runtest_logreport(self, report):
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._reports.append(data)

    def pytest_runtest_logfinish(self):
        self._tell.send(("reports", self._reports))
        self._reports = []

    def pytest_warning_recorded(self, warning_message, when, nodeid, location):
        seen = warning_message
        plain = warnings.WarningMessage(str(seen.message), seen.category, seen.filename, seen.lineno)
        what = {"warning_message": plain, "when": when, "nodeid": nodeid, "location": location}
        self._tell.send(("warning", what))
