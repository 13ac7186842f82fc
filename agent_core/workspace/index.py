"""The paths of a workspace for a file picker: read once, kept fresh by a watching program, searched as one types.

One daemon thread does all of it, from the first question on. A question never waits: the newest one wins, is answered
from what is known so far, and again when more is. Answers are given in that thread.
"""

from __future__ import annotations

import logging
import os
import select
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from agent_core import limits, plain_files
from agent_core.cancel import CancelScope
from agent_core.errors import Interrupted
from agent_core.ports.tools import IsHidden
from agent_core.records import dataclass
from agent_core.safety.hidden import WORKSPACE_FILE
from agent_core.text.path_search import Found, Search, places
from agent_core.workspace.tree import FileTree, nothing_hidden
from agent_core.workspace.watch import Changes, Watch, WatchEnded

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Hit:
    path: str
    """Relative to the workspace; a folder's ends with a slash."""
    places: tuple[int, ...]
    """Which of its characters are the query's."""


@dataclass(frozen=True, slots=True)
class Answer:
    query: str
    hits: tuple[Hit, ...] = ()
    """The best ones, best first; at most limits.FIND_HITS."""
    count: int | None = None
    """How many there are; None: not counted yet."""
    total: int = 0
    """Files and folders known."""
    growing: bool = False
    """The workspace is still being read."""
    cut: bool = False
    """It has more than limits.INDEX_ENTRIES; the others are not known."""
    refused: bool = False
    """It is the home folder or the whole machine, which is not read."""
    settled: bool = True
    """These are the best ones; otherwise better ones may come within a moment."""


@dataclass(frozen=True, slots=True)
class _Question:
    query: str
    recent: tuple[str, ...]
    then: Callable[[Answer], None]


def is_too_wide(root: Path, home: Path) -> bool:
    """Whether a workspace is the home folder, or holds it: nobody means all the files there."""
    return home.resolve().is_relative_to(root.resolve())


class FileIndex:
    """All files and folders of `root`, as FileTree has them.

    `ask`, `rest` and `close` never block. The thread begins with the first question.
    """

    def __init__(
        self,
        root: Path,
        home: Path | None = None,
        *,
        ignored: bool = False,
        hidden: Callable[[], IsHidden] = lambda: nothing_hidden,
    ) -> None:
        """`home`: the user's home folder; a root that is it or holds it is refused.

        `ignored`: with what .gitignore names. `hidden`: asked before the files are read; what it names is left out.
        """
        self._root = str(root).rstrip("/")
        self._ignored = ignored
        self._hidden = hidden
        self._refused = is_too_wide(root, home or Path.home())
        self._cancel = CancelScope()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._question: _Question | None = None
        self._opened = False
        """Somebody asks, and nobody did before."""
        self._jobs: list[Callable[[], None]] = []
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        # What follows belongs to the thread.
        self._tree = FileTree(self._root)
        self._watch: Watch | None = None
        self._watch_due = 0.0
        self._is_watched = False
        """The watches are set: changes are told."""
        self._news: list[Changes] = []
        self._in_doubt = False
        """Anything may have changed."""
        self._growing = False
        self._built = False
        self._looked = 0.0
        """When it was read, or the folders' times were compared."""
        self._search: Search | None = None
        """The last one, which the next begins with."""
        self._answered: _Question | None = None
        self._told = 0.0
        self._paused = 0.0

    # -- whoever asks ------------------------------------------------------------------------------------------------

    def ask(self, query: str, then: Callable[[Answer], None], recent: Iterable[str] = ()) -> None:
        """Answer `query` from now on, by `then` in the index's thread, until another question or `rest`.

        Several answers come: the first hits, their count, and new ones whenever files come or go. `recent`: paths
        used lately, the last one first.
        """
        query = " ".join(query[: limits.FIND_QUERY].splitlines())
        if self._refused:
            then(Answer(query, refused=True))
            return
        with self._lock:
            self._opened |= self._question is None
            self._question = _Question(query, tuple(recent), then)
        self._start()

    def rest(self) -> None:
        """Nobody asks any more; the index is kept fresh for the next time."""
        with self._lock:
            self._question = None

    def count_lines(self, path: str, then: Callable[[int | None], None]) -> None:
        """The number of lines of a file in the workspace, by `then` in the index's thread; None: none to be counted."""
        with self._lock:
            self._jobs.append(lambda: then(self._lines(path)))
        self._start()

    def close(self) -> None:
        """End the thread; what is under way is given up."""
        with self._lock:
            if self._cancel.cancelled:
                return
            self._cancel.cancel()
            if self._thread is None:
                os.close(self._wake_read)
                os.close(self._wake_write)
            else:
                self._wake()

    def _start(self) -> None:
        with self._lock:
            if self._cancel.cancelled:
                return
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="files", daemon=True)
                self._thread.start()
            self._wake()

    def _wake(self) -> None:
        try:
            os.write(self._wake_write, b"!")
        except BlockingIOError:  # it has enough to wake up for
            pass

    # -- the thread --------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._work()
        except Interrupted:
            pass
        except Exception:  # a picker without files is no reason to end the program; the next question tries again
            log.exception("file index failed")
        self._unwatch()
        with self._lock:
            self._thread = None
            if self._cancel.cancelled:
                os.close(self._wake_read)
                os.close(self._wake_write)

    def _work(self) -> None:
        while True:
            self._wait()
            self._cancel.check()
            self._do_jobs()
            question = self._question
            if question is not None and not self._built:
                self._build()
            self._serve()
            if self._built:
                self._catch_up(self._news)
            if question is not None:
                self._keep_watch()

    def _catch_up(self, news: list[Changes]) -> None:
        """Take in what has changed since the last time."""
        self._news = []
        lists = {WORKSPACE_FILE} if self._ignored else {WORKSPACE_FILE, ".gitignore"}
        if any(not lists.isdisjoint(changes.get("", ())) for changes in news):
            self._build()
        for changes in news:
            self._take_in(self._tree.update(changes))
        if self._in_doubt or self._is_stale():
            self._compare()
        self._serve()

    def _wait(self) -> None:
        """Until somebody asks, the watching program tells, or, where none runs, it is time to look again."""
        poll = select.poll()
        poll.register(self._wake_read, select.POLLIN)
        if self._watch is not None:
            poll.register(self._watch.fd, select.POLLIN)
        look = self._built and self._question is not None and not self._is_watched
        ready = [fd for fd, _ in poll.poll(limits.INDEX_STALE * 1000 if look else None)]
        if self._wake_read in ready:
            os.read(self._wake_read, 4096)
        if self._watch is not None and self._watch.fd in ready:
            self._listen(self._watch)

    def _is_stale(self) -> bool:
        """Whether the folders' times are to be compared: not every change is told, on a network's disk none is."""
        with self._lock:
            opened, self._opened = self._opened, False
        due = opened or (self._question is not None and not self._is_watched)
        return due and time.monotonic() - self._looked >= limits.INDEX_STALE

    def _do_jobs(self) -> None:
        with self._lock:
            jobs, self._jobs = self._jobs, []
        for job in jobs:
            job()

    def _breathe(self, pause: float = 0.0) -> None:
        """After a slice of work: give up when closed, and let the screen's thread go first if it wants to."""
        self._cancel.check()
        if time.monotonic() - self._paused > limits.INDEX_SLICE:
            time.sleep(pause)
            self._paused = time.monotonic()

    # -- answers -----------------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        """Answer the question there is, unless it has been answered from just this."""
        while (question := self._question) is not None and question is not self._answered:
            recent, begun, told = question.recent, time.monotonic(), False
            self._search = Search(self._tree.table, question.query, limits.FIND_HITS, recent, self._search)
            for found in self._search.run():
                if self._question is not question:
                    break
                self._breathe()
                if found is None and not told and time.monotonic() - begun > limits.FIND_FIRST:
                    so_far = self._search.so_far()
                    found = so_far if len(so_far.paths) >= limits.FIND_EARLY else None
                if found is not None:
                    told = True
                    question.then(self._answer(question, found))
            else:
                self._answered = question
                self._told = time.monotonic()

    def _answer(self, question: _Question, found: Found) -> Answer:
        hits = tuple(Hit(path, places(question.query, path)) for path in found.paths)
        total, growing, cut = len(self._tree.table), self._growing, self._tree.cut
        return Answer(question.query, hits, found.count, total, growing, cut, settled=found.settled)

    def _lines(self, path: str) -> int | None:
        if path.startswith("/") or ".." in path.split("/"):
            return None
        try:
            data = plain_files.read_regular(f"{self._root}/{path}", limits.READ_FILE + 1, follow=False)
        except OSError:
            return None
        if data is None or len(data) > limits.READ_FILE or b"\0" in data:
            return None
        return data.count(b"\n") + (not data.endswith(b"\n") and bool(data))

    # -- the workspace -----------------------------------------------------------------------------------------------

    def _build(self) -> None:
        """Read all of it. Meanwhile the first time what is known already answers, later what was known before."""
        tree = FileTree(self._root, ignored=self._ignored, hidden=self._hidden())
        if not self._built:
            self._tree, self._growing = tree, True
        for _ in tree.read_all():
            self._breathe(limits.INDEX_PAUSE)
            news_due = self._growing and time.monotonic() - self._told > limits.INDEX_NEWS
            asked = self._question is not self._answered
            if tree.waiting >= limits.INDEX_SHARD or (tree.waiting and (news_due or asked)):
                tree.settle()
                if news_due:
                    self._answered = None
                self._serve()
        tree.settle()
        self._tree, self._growing, self._built, self._answered = tree, False, True, None
        self._looked = time.monotonic()

    def _take_in(self, work: Iterator[None]) -> None:
        """Bring the table up to date, and answer again if that has changed it."""
        edition = self._tree.edition
        for _ in work:
            self._breathe(limits.INDEX_PAUSE)
            self._serve()
        if self._tree.edition != edition:
            self._answered = None

    def _compare(self) -> None:
        begun = time.monotonic()
        self._take_in(self._tree.compare())
        self._looked, self._in_doubt = begun, False

    # -- the watching program ----------------------------------------------------------------------------------------

    def _keep_watch(self) -> None:
        """Start it, unless it runs or has ended a short time ago."""
        if self._watch is None and time.monotonic() >= self._watch_due:
            self._watch_due = time.monotonic() + limits.INDEX_RETRY
            try:
                self._watch = Watch(self._root or "/")
            except OSError as problem:
                log.warning("the workspace is not watched: %s", problem)

    def _listen(self, watch: Watch) -> None:
        try:
            for changes in watch.read():
                if changes is None:
                    self._in_doubt = True
                else:
                    self._news.append(changes)
                self._is_watched = True
        except WatchEnded as reason:  # from now on the folders' times have to do
            log.warning("the workspace is watched no longer: %s", reason)
            self._unwatch()

    def _unwatch(self) -> None:
        if self._watch is not None:
            self._watch.close()
            self._watch, self._is_watched = None, False
