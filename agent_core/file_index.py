"""The paths of a workspace for a file picker: read once, kept fresh by what the kernel tells, searched as one types.

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
from dataclasses import dataclass, field
from pathlib import Path

from agent_core import limits, plain_files
from agent_core.cancel import CancelScope
from agent_core.errors import Interrupted
from agent_core.text.path_search import Found, places, search
from agent_core.text.path_table import PathTable
from agent_core.watch import Watch, WatchLost
from agent_core.workspace import Ignore, ignore_for, look_into

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


@dataclass(frozen=True, slots=True)
class _Question:
    query: str
    recent: tuple[str, ...]
    then: Callable[[Answer], None]
    opens: bool
    """Nobody was asking before."""


@dataclass(slots=True)
class _News:
    """What the kernel has told and is not taken in yet."""

    changed: dict[str, set[str]] = field(default_factory=dict)
    """Folders, and the names that came or went in them."""
    rules: set[str] = field(default_factory=set)
    """Folders whose .gitignore has changed."""
    lost: bool = False
    due: float = 0.0

    @property
    def any(self) -> bool:
        return bool(self.changed or self.rules or self.lost)


def is_too_wide(root: Path, home: Path) -> bool:
    """Whether a workspace is the home folder, or holds it: nobody means all the files there."""
    return home.resolve().is_relative_to(root.resolve())


class FileIndex:
    """All files and folders of `root`: hidden ones too, links without what they lead to; what .gitignore names is not.

    `ask`, `rest` and `close` never block. The thread begins with the first question.
    """

    def __init__(self, root: Path, home: Path | None = None) -> None:
        """`home`: the user's home folder; a root that is it or holds it is refused."""
        self._root = str(root).rstrip("/")
        self._refused = is_too_wide(root, home or Path.home())
        self._cancel = CancelScope()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._question: _Question | None = None
        self._jobs: list[Callable[[], None]] = []
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        # What follows belongs to the thread.
        self._table = PathTable()
        self._watch: Watch | None = None
        self._news = _News()
        self._growing = False
        self._cut = False
        self._room = 0
        """How many more entries may be read."""
        self._built = 0.0
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
            self._question = _Question(query, tuple(recent), then, opens=self._question is None)
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
        with self._lock:
            self._unwatch()
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
            if question is not None and self._is_stale(question):
                self._build()
                self._serve()
            if self._news.any and time.monotonic() >= self._news.due:
                self._take_in()
                self._serve()

    def _wait(self) -> None:
        """Until somebody asks, the kernel tells, or news are due."""
        poll = select.poll()
        poll.register(self._wake_read, select.POLLIN)
        if self._watch is not None:
            poll.register(self._watch.fd, select.POLLIN)
        wait = max(0.0, self._news.due - time.monotonic()) * 1000 if self._news.any else None
        ready = [fd for fd, _ in poll.poll(wait)]
        if self._wake_read in ready:
            os.read(self._wake_read, 4096)
        if self._watch is not None and self._watch.fd in ready:
            self._listen(self._watch)

    def _listen(self, watch: Watch) -> None:
        fresh = not self._news.any
        try:
            for change in watch.read():
                if change.name == ".gitignore":
                    self._news.rules.add(change.folder)
                if not change.written:
                    self._news.changed.setdefault(change.folder, set()).add(change.name)
        except WatchLost:
            self._news.lost = True
        if fresh and self._news.any:
            self._news.due = time.monotonic() + limits.INDEX_SETTLE

    def _is_stale(self, question: _Question) -> bool:
        return self._watch is None and question.opens and time.monotonic() - self._built > limits.INDEX_STALE

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
            for found in search(self._table, question.query, limits.FIND_HITS, question.recent):
                if self._question is not question:
                    break
                self._breathe()
                if found is not None:
                    question.then(self._answer(question, found))
            else:
                self._answered = question
                self._told = time.monotonic()

    def _answer(self, question: _Question, found: Found) -> Answer:
        hits = tuple(Hit(path, places(question.query, path)) for path in found.paths)
        return Answer(question.query, hits, found.count, len(self._table), self._growing, self._cut)

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

    # -- reading the workspace -----------------------------------------------------------------------------------------

    def _build(self) -> None:
        """Read all of it. Meanwhile the first time what is known already answers, later what was known before."""
        self._unwatch()
        self._news, self._cut, self._room = _News(), False, limits.INDEX_ENTRIES
        try:
            self._watch = Watch()
        except OSError as problem:
            log.info("the workspace is not watched: %s", problem)
        table = PathTable()
        if not self._built:
            self._table, self._growing = table, True
        batch: dict[str, list[str]] = {}
        waiting = 0
        for folder, names in self._walk("", ignore_for(self._root or "/")):
            batch[folder] = names
            waiting += len(names)
            news_due = self._growing and time.monotonic() - self._told > limits.INDEX_NEWS
            if waiting >= limits.INDEX_SHARD or (waiting and (news_due or self._question is not self._answered)):
                table.change(batch)
                batch, waiting = {}, 0
                if news_due:
                    self._answered = None
                self._serve()
        table.change(batch)
        self._table, self._growing, self._built, self._answered = table, False, time.monotonic(), None

    def _walk(self, top: str, rules: Ignore) -> Iterator[tuple[str, list[str]]]:
        """`top` and the folders below it, each with the names in it, watched from before it is looked into.

        `rules`: those that hold in `top`, its own among them. Ends when there is no more room.
        """
        todo = [(top, rules)]
        while todo:
            folder, rules = todo.pop()
            self._add_watch(folder)
            inside = look_into(self._root, folder, rules, self._room, links=True)
            self._cut |= inside.cut
            self._room -= len(inside.entries)
            names = []
            for path, is_folder in inside.entries:
                name = path[len(folder) :]
                if "\n" in name or not _is_text(name):  # nobody could write it into a message
                    continue
                names.append(name + "/" if is_folder else name)
                if is_folder:
                    todo.append((path + "/", rules.deeper(f"{self._root}/{path}")))
            yield folder, names
            self._breathe(limits.INDEX_PAUSE)

    def _add_watch(self, folder: str) -> None:
        if self._watch is not None:
            try:
                self._watch.add(f"{self._root}/{folder}", folder)
            except OSError as problem:  # the kernel has no more watches: reading anew has to do
                log.warning("the workspace is not watched any further: %s", problem)
                self._unwatch()

    def _unwatch(self) -> None:
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    # -- changes -----------------------------------------------------------------------------------------------------

    def _take_in(self) -> None:
        news, self._news = self._news, _News()
        if news.lost or "" in news.rules or len(news.changed) + len(news.rules) > limits.INDEX_RESCANS:
            self._build()
            return
        self._room = limits.INDEX_ENTRIES - len(self._table)
        changes: dict[str, list[str] | None] = {}
        for folder in sorted(news.rules):
            if folder in self._table:
                self._forget({folder}, changes)
                self._read(folder, changes)
        for folder in sorted(news.changed):  # those above come first
            if folder in self._table and folder not in changes:
                self._look_again(folder, news.changed[folder], changes)
        self._table.change(changes)
        self._answered = None

    def _look_again(self, folder: str, names: set[str], changes: dict[str, list[str] | None]) -> None:
        """Compare a folder in which `names` came or went with what is known of it."""
        rules = ignore_for(f"{self._root}/{folder}".rstrip("/") or "/")
        inside = look_into(self._root, folder, rules, limits.INDEX_ENTRIES, links=True)
        now = [path[len(folder) :] + "/" * is_folder for path, is_folder in inside.entries]
        now = [name for name in now if "\n" not in name and _is_text(name)]
        before = {name for name in self._table.names(folder) if name.endswith("/")}
        after = {name for name in now if name.endswith("/")}
        # A folder that is there before and after may be another one that took the name.
        other = {f"{name}/" for name in names}
        self._forget({folder + name for name in (before - after) | (before & other)}, changes)
        for name in sorted((after - before) | (after & other)):
            self._read(folder + name, changes)
        changes[folder] = now

    def _forget(self, folders: set[str], changes: dict[str, list[str] | None]) -> None:
        """These folders and all below them."""
        if folders:
            for folder in self._table.below(folders):
                changes[folder] = None
                if self._watch is not None:
                    self._watch.drop(folder)

    def _read(self, folder: str, changes: dict[str, list[str] | None]) -> None:
        for below, names in self._walk(folder, ignore_for(f"{self._root}/{folder}".rstrip("/"))):
            changes[below] = names


def _is_text(name: str) -> bool:
    """Whether a file's name is Unicode."""
    return name.isascii() or not any("\ud800" <= character <= "\udfff" for character in name)
