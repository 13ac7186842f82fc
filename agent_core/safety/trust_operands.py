"""Which operands a command may read unasked: no secret, no device, nothing without end.

Looks at names, and at the file system as far as it must: where links lead, and what a wildcard would select.
"""

from __future__ import annotations

import os
import re
import stat
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from agent_core import limits
from agent_core.records import dataclass

from . import protected
from .shell_args import names


@dataclass(frozen=True, slots=True)
class TrustContext:
    """Where a command would run: its folder, its PATH, the person's home, and whether git is plain in that folder
    (`not git_config_names_helpers(cwd)`)."""

    cwd: Path
    path_env: str
    home: Path
    git_is_plain: bool


@dataclass(frozen=True, slots=True)
class Arg:
    """One argument: its text after quoting, and where an active wildcard or tilde stands in it."""

    text: str
    glob: bool
    leading_glob: bool
    tilde: bool


class Untrusted(Exception):
    """Ends the judgement; the text is the rule."""


WILD: Final = re.compile(r"[*?[]")
_SECRET_NAMES: Final = re.compile(
    r"(.*[._-])?(credentials?|secrets?)(\.(json|ya?ml|toml|ini|cfg|conf|csv|db|env|txt|xml))?|.*kubeconfig.*|\.?htpasswd"
)
_SAMPLES: Final = tuple(
    sorted(
        names(
            """.env .env.local .envrc .npmrc .netrc .pgpass .ssh .aws .gnupg .kube .bash_history id_rsa id_ed25519
            server.pem private.key cert.p12 store.jks credentials credentials.json shadow sudoers"""
        )
    )
)


def readable(args: list[Arg], ctx: TrustContext) -> None:
    """Raise if an operand is or may be a secret, a device, or endless."""
    if sum(len(arg.text) for arg in args) > limits.SHELL_TRUSTED_PATHS:
        raise Untrusted("too-long")
    real_folders: dict[str, str] = {}
    for arg in args:
        text = os.path.join(ctx.home, arg.text[2:]) if arg.tilde else arg.text
        if not text or text == "-":
            continue
        path = os.path.normpath(os.path.join(ctx.cwd, text))
        if arg.glob:
            _readable_glob(path, ctx)
        elif _secret(path, ctx):
            raise Untrusted("secret-operand")
        else:
            folder, name = os.path.split(path)
            if folder not in real_folders:
                real_folders[folder] = os.path.realpath(folder)
            _leads_to_plain_file(os.path.join(real_folders[folder], name), path, ctx)


def _leads_to_plain_file(path: str, written: str, ctx: TrustContext) -> None:
    """Raise unless `path`, whose folder is resolved, is missing or leads to a file or folder free to read."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISLNK(mode):
        path = os.path.realpath(path)
        mode = os.stat(path).st_mode if os.path.exists(path) else stat.S_IFREG
    if path != written and _secret(path, ctx):
        raise Untrusted("secret-operand")
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) and path != "/dev/null":
        raise Untrusted("device-operand")


def readable_below(args: list[Arg], ctx: TrustContext, *, hidden: bool = True) -> None:
    """Raise if reading all that lies below one of the folders would meet a secret. Without any, the working folder.

    A folder is known by its place (a home, /etc) and by what lies in it directly; deeper ones are not looked through,
    which would take a time without bound. `hidden`: names that begin with a dot are read, too.
    """
    for arg in args or [Arg(".", False, False, False)]:
        text = os.path.join(ctx.home, arg.text[2:]) if arg.tilde else arg.text
        folder = os.path.realpath(os.path.join(ctx.cwd, text))
        if arg.glob or not os.path.isdir(folder):
            continue
        parts, home = protected.fold_parts(folder), protected.fold_parts(os.path.realpath(ctx.home))
        below_home = parts[: len(home)] == home and protected.secrets_below_home(parts[len(home) :])
        if home[: len(parts)] == parts or below_home or protected.secrets_below(parts):
            raise Untrusted("secret-folder")
        _readable_matches(folder, "*", ctx, hidden=hidden)


def _secret(path: str, ctx: TrustContext) -> bool:
    """Whether an absolute path names something whose content must not be read unasked."""
    if path == "/dev/null":
        return False
    parts = protected.fold_parts(path)
    if not parts:
        return False
    if parts[0] in ("dev", "sys") or protected.system_secret(parts):
        return True
    if parts[0] == "proc" and parts[-1] == "cmdline" and len(parts) > 2:  # arguments hold passwords at times
        return True
    name = parts[-1]
    if protected.secret_file(name) or _SECRET_NAMES.fullmatch(name):
        return True
    if ".git" in parts and name in ("config", "config.worktree"):  # addresses there may hold passwords
        return True
    home = protected.fold_parts(str(ctx.home))
    tail = parts[len(home) :] if home and parts[: len(home)] == home else parts
    if protected.public_key(tail[-2:]):
        return False
    for at, part in enumerate(tail):
        below = tail[at + 1 :]
        if part in (".nanohermes", ".hermes") and (protected.own_keys(below) or protected.own_records(below)):
            return True
        # Every place of these tables begins with such a name; asking about the others would only cost time.
        if part[:1] not in "._" and part != "library":
            continue
        if protected.credential_place(tail[at:]) or protected.history_place(tail[at:]):
            return True
    return False


def _readable_glob(path: str, ctx: TrustContext) -> None:
    """Raise if a wildcard may select a secret: by its own letters, or because one lies where it looks."""
    if len(WILD.findall(path)) > 8:  # matching many of them takes a time without bound
        raise Untrusted("too-long")
    folder, name = os.path.split(path)
    if _secret(folder, ctx) or _secret(path, ctx):
        raise Untrusted("secret-operand")
    if WILD.search(folder):
        # Folders are not looked through. Below the working folder a wildcard leaves hidden ones out.
        below = path.removeprefix(f"{ctx.cwd}/")
        if below == path or any(WILD.search(part) and part[0] in ".[" for part in below.split("/")):
            raise Untrusted("secret-operand")
    if not WILD.search(name):
        return
    pattern = name.lower().replace("[^", "[!")
    telling = bool(name.strip("*")) or bool(WILD.search(folder))  # a lone * says nothing of what it means
    if telling and any(_selects(pattern, sample) for sample in _SAMPLES):
        raise Untrusted("secret-operand")
    if not WILD.search(folder) and os.path.isdir(folder):
        _readable_matches(os.path.realpath(folder), pattern, ctx)


def _readable_matches(folder: str, pattern: str, ctx: TrustContext, *, hidden: bool = False) -> None:
    """Raise if something in `folder` that the pattern selects, or is hidden and read all the same, is a secret."""
    with os.scandir(folder) as entries:
        for at, entry in enumerate(entries):
            if at >= limits.SHELL_TRUSTED_ENTRIES:
                raise Untrusted("too-many-files")
            if _selects(pattern, entry.name.lower()) or (hidden and entry.name[0] == "."):
                if _secret(entry.path, ctx):
                    raise Untrusted("secret-operand")
                _leads_to_plain_file(entry.path, entry.path, ctx)


def _selects(pattern: str, name: str) -> bool:
    """Whether a wildcard selects a name; hidden ones only if it begins with their dot."""
    return fnmatchcase(name, pattern) and (name[0] != "." or pattern[0] in ".[")
