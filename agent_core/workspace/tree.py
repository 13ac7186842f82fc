"""The paths of a workspace as a table: read once, and looked at again where they have changed.

Every step is a short one: the generators yield after each folder, so that whoever reads can do something else.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator, Mapping

from agent_core import limits
from agent_core.ports.tools import IsHidden
from agent_core.text.path_table import PathTable
from agent_core.workspace.walk import Ignore, ignore_for, look_into

_RULES = ".gitignore"


def nothing_hidden(path: str, is_folder: bool) -> str:
    """The deny-read list of a tree that shows everything."""
    return ""


class FileTree:
    """All files and folders of `root` (absolute): hidden ones too, links without what they lead to.

    Version stores are left out, what `hidden` names, and unless `ignored` what .gitignore names; names that are no
    text or have a line end too: nobody could write them into a message.
    """

    def __init__(self, root: str, *, ignored: bool = False, hidden: IsHidden = nothing_hidden) -> None:
        self.root = root.rstrip("/")
        self.ignored = ignored
        self._hidden = hidden
        self.table = PathTable()
        self.cut = False
        """There are more than limits.INDEX_ENTRIES; the others are not known."""
        self.edition = 0
        """Another one whenever the table has changed."""
        self.waiting = 0
        """Names read that `settle` will put into the table."""
        self._read: dict[str, list[str] | None] = {}
        self._times: dict[str, int] = {}
        """When each folder and each .gitignore had last changed, as it was looked at."""
        self._room = limits.INDEX_ENTRIES

    # -- reading -----------------------------------------------------------------------------------------------------

    def read_all(self) -> Iterator[None]:
        """Read the whole workspace; what is read is in the table after `settle`."""
        yield from self._read_below("", self._ignore_in("", {}))

    def settle(self) -> None:
        """Put what was read into the table."""
        if self._read:
            self.table.change(self._read)
            self.edition += 1
        self._read, self.waiting = {}, 0

    def _read_below(self, top: str, rules: Ignore | None) -> Iterator[None]:
        """`top` and the folders below it. `rules`: those that hold in `top`, its own among them."""
        todo = [(top, rules)]
        while todo:
            folder, rules = todo.pop()
            names = self._look(folder, rules, self._room)
            self._room -= len(names)
            self._read[folder] = names
            self.waiting += len(names)
            for name in names:
                if name.endswith("/"):
                    below = folder + name
                    todo.append((below, rules.deeper(f"{self.root}/{below[:-1]}") if rules is not None else None))
            yield

    def _look(self, folder: str, rules: Ignore | None, room: int) -> list[str]:
        """The names in a folder now."""
        self._times[folder] = self._time(folder)
        inside = look_into(self.root, folder, rules, room, links=True)
        self.cut |= inside.cut
        names = [path[len(folder) :] + "/" * is_folder for path, is_folder in inside.entries]
        if _RULES in names and rules is not None:
            self._times[folder + _RULES] = self._time(folder + _RULES)
        else:
            self._times.pop(folder + _RULES, None)
        return [name for name in names if "\n" not in name and _is_text(name) and not self._is_hidden(folder + name)]

    def _is_hidden(self, path: str) -> bool:
        return bool(self._hidden(f"{self.root}/{path}".rstrip("/"), path.endswith("/")))

    def _time(self, path: str) -> int:
        """Nanoseconds; -1 when it is so fresh that a later change may have the same time, 0 when it is gone."""
        try:
            changed = os.stat(f"{self.root}/{path}", follow_symlinks=False).st_mtime_ns
        except OSError:
            return 0
        return changed if time.time_ns() - changed > limits.FOLDER_RACY * 1e9 else -1

    def _ignore_in(self, folder: str, known: dict[str, Ignore]) -> Ignore | None:
        """The rules that hold in a folder. `known`: what was found before, added to."""
        if self.ignored:
            return None
        rules = known.get("") or known.setdefault("", ignore_for(self.root or "/"))
        at = folder.find("/") + 1
        while at:
            above = folder[:at]
            rules = known.get(above) or known.setdefault(above, rules.deeper(f"{self.root}/{above[:-1]}"))
            at = folder.find("/", at) + 1
        return rules

    # -- what has changed --------------------------------------------------------------------------------------------

    def compare(self) -> Iterator[None]:
        """Look again into each folder whose time, or whose .gitignore's, is no longer what it was."""
        changed: dict[str, list[str]] = {}
        for path, before in list(self._times.items()):
            if before < 0 or self._time(path) != before:
                folder, _, name = path.rpartition("/") if path.endswith(_RULES) else (path[:-1], "", "")
                changed.setdefault(folder + "/" * bool(folder), []).append(name)
            yield
        yield from self.update(changed)

    def update(self, changed: Mapping[str, Collection[str]]) -> Iterator[None]:
        """Look again into folders in which these names came or went, or whose .gitignore was written."""
        self._room = limits.INDEX_ENTRIES - len(self.table)
        known: dict[str, Ignore] = {}
        for folder in sorted(changed):  # those above come first
            if folder not in self.table or folder in self._read:
                continue
            if _RULES in changed[folder] and not self.ignored:
                self._forget({folder})
                yield from self._read_below(folder, self._ignore_in(folder, known))
            else:
                yield from self._look_again(folder, changed[folder], known)
        self.settle()

    def _look_again(self, folder: str, changed: Collection[str], known: dict[str, Ignore]) -> Iterator[None]:
        before = self.table.names(folder)
        now = self._look(folder, self._ignore_in(folder, known), limits.INDEX_ENTRIES)
        folders_before = {name for name in before if name.endswith("/")}
        folders_now = {name for name in now if name.endswith("/")}
        # A folder that is there before and now may be another one that took the name.
        other = {f"{name}/" for name in changed} & folders_now
        self._forget({folder + name for name in (folders_before - folders_now) | (folders_before & other)})
        for name in sorted((folders_now - folders_before) | other):
            yield from self._read_below(folder + name, self._ignore_in(folder + name, known))
        if now != before:
            self._read[folder] = now
        yield

    def _forget(self, folders: set[str]) -> None:
        """These folders and all below them."""
        for folder in self.table.below(folders) if folders else ():
            self._read[folder] = None
            self._times.pop(folder, None)
            self._times.pop(folder + _RULES, None)


def _is_text(name: str) -> bool:
    """Whether a file's name is Unicode."""
    return name.isascii() or not any("\ud800" <= character <= "\udfff" for character in name)
