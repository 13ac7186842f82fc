"""Real repositories for tests of git: made with a home of their own, so that nobody's settings reach them."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

_ENV = {
    "PATH": os.environ.get("PATH", os.defpath),
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.com",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.com",
    "GIT_EDITOR": "true",
    "LC_ALL": "C.UTF-8",
}


def git(folder: Path, *words: str, check: bool = True, **env: str) -> str:
    """Run plain git and give what it says."""
    done = subprocess.run(
        ["git", *words], cwd=folder, check=False, capture_output=True, text=True, timeout=30,
        env=_ENV | {"HOME": str(folder)} | env,
    )  # fmt: skip
    assert not check or done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


def repository(folder: Path, files: dict[str, str] | None = None) -> Path:
    """A repository in `folder` whose first commit has `files`; without any it has no commit."""
    shutil.copytree(_made(tuple((files or {}).items())), folder, dirs_exist_ok=True)
    return folder


@functools.cache
def _made(files: tuple[tuple[str, str], ...]) -> Path:
    """One to be copied: git is started six times to make it."""
    folder = Path(tempfile.mkdtemp(prefix="nanoherm-test-git-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    git(folder, "init", "-q", "-b", "main", "--template=")
    git(folder, "config", "user.name", "B")
    git(folder, "config", "user.email", "b@example.com")
    if files:
        commit(folder, "first", dict(files))
    return folder


def commit(folder: Path, message: str, files: dict[str, str]) -> str:
    """Commit these files and give the commit's hash."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "--literal-pathspecs", "add", "--force", "--", *files)
    git(folder, "commit", "-q", "-m", message)
    return git(folder, "rev-parse", "HEAD").strip()
