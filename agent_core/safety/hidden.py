"""The deny-read list: which files are read only with a person's consent, by tools and by commands alike.

Three sources, each of which only adds: names that hold keys by themselves (`protected.secret_file`), the user's own
patterns (`files.deny_read` and the file `ignore` in our home), and the workspace's `.nanohermesignore`. Patterns are
those of ignore files, in any case of letters. The user's are tried against every root and against the whole machine,
so that `/srv/keys` and `~/notes/` mean what they say; `!` takes back patterns of the same source only.
Sources: decisions on deny-read, field case 64.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Final

from agent_core import limits, plain_files
from agent_core.ports.tools import IsHidden as IsHidden
from agent_core.records import dataclass
from agent_core.safety import protected
from agent_core.text import ignore_rules

USER_FILE: Final = "ignore"
"""In our own home."""
WORKSPACE_FILE: Final = ".nanohermesignore"

SECRETS: Final = "protected: secrets"
USER_PATTERN: Final = "deny-read: your patterns"
WORKSPACE_PATTERN: Final = f"deny-read: {WORKSPACE_FILE}"


@dataclass(frozen=True, slots=True)
class _Layer:
    roots: tuple[str, ...]
    """Folders without a slash at the end, so "" is the whole machine."""
    rules: ignore_rules.Rules
    in_one: re.Pattern[str] | None
    rule: str

    def names(self, relative: str, is_folder: bool) -> bool:
        if self.in_one is not None:
            return self.in_one.fullmatch(f"{relative}/" if is_folder else relative) is not None
        return ignore_rules.names_below(self.rules, relative, is_folder)


@dataclass(frozen=True, slots=True)
class Patterns:
    """What is hidden beside names of secrets."""

    layers: tuple[_Layer, ...] = ()


NO_PATTERNS: Final = Patterns()


def is_hidden(path_parts: Iterable[str], patterns: Patterns = NO_PATTERNS, *, is_folder: bool = False) -> str:
    """The rule that hides an absolute, resolved path (its components as they stand on the disk), or ""."""
    return rule_for("/" + "/".join(part for part in path_parts if part not in ("", "/")), is_folder, patterns)


def rule_for(path: str, is_folder: bool, patterns: Patterns = NO_PATTERNS) -> str:
    """As `is_hidden`, for a path in one piece. What lies in a hidden folder is hidden; names of secrets are files'."""
    if not is_folder and protected.secret_file(protected.fold(path.rpartition("/")[2])):
        return SECRETS
    for layer in patterns.layers:
        for root in layer.roots:
            if path.startswith(f"{root}/") and layer.names(path[len(root) + 1 :], is_folder):
                return layer.rule
    return ""


def deny_read_patterns(configured: Iterable[str], roots: Iterable[Path], home: Path, data_home: Path) -> Patterns:
    """The patterns that hold now. `roots`: the workspace and what was added to it; all paths are resolved here.

    Reads the two kinds of files; what is missing or no regular file has no patterns.
    """
    tops = [os.path.realpath(root).rstrip("/") for root in roots]
    user_home = os.path.realpath(home).rstrip("/")
    written = "\n".join(configured), _text(data_home / USER_FILE, follow=True)
    layers = [
        _Layer(tuple(dict.fromkeys((*tops, ""))), *parsed, USER_PATTERN)
        for text in written
        if (parsed := _parsed(_spelled_out(text, user_home)))[0]
    ]
    for top in tops:
        # A link could make another file the list; the project may only say something of its own.
        if (parsed := _parsed(_text(Path(top or "/", WORKSPACE_FILE), follow=False)))[0]:
            layers.append(_Layer((top,), *parsed, WORKSPACE_PATTERN))
    return Patterns(tuple(layers))


def hiding(patterns: Patterns) -> IsHidden:
    """The list as a function."""
    return partial(rule_for, patterns=patterns) if patterns.layers else nothing_more


def nothing_more(path: str, is_folder: bool) -> str:
    """The list without patterns: names of secrets only."""
    return rule_for(path, is_folder)


def hides_none_of(names: Sequence[str], hidden: IsHidden) -> bool:
    """Whether one look at the names of one folder's files tells that `hidden` hides none of them: mostly so."""
    return hidden is nothing_more and not protected.perhaps_secret(names)


@lru_cache(maxsize=64)
def _parsed(text: str) -> tuple[ignore_rules.Rules, re.Pattern[str] | None]:
    rules = ignore_rules.parse(text, any_case=True)
    return rules, ignore_rules.in_one(rules)


def _spelled_out(text: str, home: str) -> str:
    """`text` with `~/` at the start of a pattern as the home's own path."""
    out = []
    for line in text.split("\n"):
        mark = "!" if line.startswith("!") else ""
        pattern = line[len(mark) :]
        out.append(f"{mark}{home}{pattern[1:]}" if pattern.startswith("~/") else line)
    return "\n".join(out)


def _text(path: Path, *, follow: bool) -> str:
    try:
        data = plain_files.read_regular(path, limits.IGNORE_FILE, follow=follow)
    except OSError:
        return ""
    return data.decode("utf-8", "surrogateescape") if data else ""
