"""The log: one JSON object a line, rotated by size, free of secrets, never on the terminal. Crash reports beside it.

Rooms use plain `logging.getLogger(__name__)`; fields go along as `extra={"fields": {...}}`. Source: CFG-23.
"""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import json
import logging
import logging.handlers
import os
import platform
import re
import sys
import threading
import time
import traceback
from collections.abc import Callable
from io import TextIOWrapper
from pathlib import Path
from types import TracebackType
from typing import Any

from agent_core import limits
from agent_core.names import APP
from agent_core.version import __version__

Redact = Callable[[str], str]

OURS = ("agent_core", "nanoherm_tui")
_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
# JSON escapes the ASCII controls; these too would act on a terminal that shows the file, or cannot be encoded.
_UNSAFE = re.compile("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")

_installed: logging.Handler | None = None


def setup(logs_dir: Path, level: str, redact: Redact) -> bool:
    """Send the records of this program (from `level` on) and warnings of libraries to `logs_dir`/log.jsonl.

    From here on nothing logs to the terminal. A second call replaces the first. Returns False when the folder cannot
    be written; the program goes on without a log.
    """
    global _installed
    handler: logging.Handler
    try:
        logs_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        handler = _LogFile(logs_dir / "log.jsonl")
    except OSError:
        handler = logging.NullHandler()
    handler.setFormatter(_JsonLines(redact))
    root = logging.getLogger()
    root.addHandler(handler)
    if _installed is not None:
        root.removeHandler(_installed)
        with contextlib.suppress(OSError):  # what a full disk did not take is lost anyway
            _installed.close()
    _installed = handler
    root.setLevel(logging.WARNING)  # libraries tell whole requests at lower levels
    for name in OURS:
        logging.getLogger(name).setLevel(_LEVELS.get(level, logging.INFO))
    logging.captureWarnings(True)
    logging.raiseExceptions = False  # a record that cannot be written must not print over the screen
    return isinstance(handler, _LogFile)


def install_hooks(logs_dir: Path, redact: Redact) -> None:
    """Turn errors that nobody caught in a thread into log records and a crash report rather than terminal output."""
    log = logging.getLogger(__name__)

    def in_thread(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is None or issubclass(args.exc_type, SystemExit):
            return
        log.error("thread %s died", args.thread.name if args.thread else "?", exc_info=args.exc_value)
        write_crash(logs_dir, args.exc_value, redact)

    def unraisable(args: sys.UnraisableHookArgs) -> None:
        log.error("ignored: %s", args.err_msg or "error in a finaliser", exc_info=args.exc_value)

    threading.excepthook = in_thread
    sys.unraisablehook = unraisable


def write_crash(logs_dir: Path, error: BaseException, redact: Redact) -> Path | None:
    """Write a report of `error` with its traceback, to be shown to whoever mends it; the oldest reports go.

    Returns its path, None when it cannot be written. Holds no conversation, no environment and no arguments.
    """
    text = "\n".join(
        [
            f"{APP} {__version__}",
            f"Python {platform.python_version()} on {platform.system()} {platform.release()} {platform.machine()}",
            time.strftime("%Y-%m-%d %H:%M:%S %z"),
            "",
            _cut(_safely(redact, "".join(traceback.format_exception(error))), limits.CRASH_REPORT),
        ]
    )
    file = logs_dir / f"crash-{datetime.datetime.now():%Y%m%d-%H%M%S-%f}-{os.getpid()}.txt"
    try:
        logs_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(file, "x", encoding="utf-8", errors="backslashreplace", opener=_private) as out:
            out.write(text)
        for old in sorted(logs_dir.glob("crash-*.txt"))[: -limits.CRASH_REPORTS]:
            old.unlink(missing_ok=True)
    except OSError:
        return None
    return file


class _LogFile(logging.handlers.RotatingFileHandler):
    """A log file that only its owner can read. Several programs may write to it: one of them turns it over."""

    stream: TextIOWrapper | None  # type: ignore[assignment]  # None is what its base class leaves when a roll fails

    def __init__(self, path: Path) -> None:
        super().__init__(
            path,
            maxBytes=limits.LOG_FILE,
            backupCount=limits.LOG_FILES - 1,
            encoding="utf-8",
            errors="backslashreplace",
        )

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = self.format(record) + self.terminator
            if not self._is_named():
                self._reopen()  # another program has turned it over, or somebody has taken it away
            size = len(line.encode("utf-8", "backslashreplace"))
            if self._size() + size > self.maxBytes:
                self.doRollover()
            if self.stream is not None:
                self.stream.write(line)
                self.flush()
        except Exception:  # as every handler does: what cannot be logged must not stop what is logged
            self.handleError(record)

    def doRollover(self) -> None:
        """Turn the file over, unless another program has just done so."""
        folder = os.open(os.path.dirname(self.baseFilename), os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            if self._is_named():
                super().doRollover()
            else:
                self._reopen()
        finally:
            os.close(folder)

    def _is_named(self) -> bool:
        """The file that is written is still the one of that name."""
        try:
            return self.stream is not None and os.path.samestat(
                os.fstat(self.stream.fileno()), os.stat(self.baseFilename)
            )
        except OSError:  # taken away
            return False

    def _size(self) -> int:
        return os.fstat(self.stream.fileno()).st_size if self.stream is not None else 0

    def _reopen(self) -> None:
        # Opened first: when the folder is gone too, the stream there was is still one that can be flushed and closed.
        fresh, old = self._open(), self.stream
        self.stream = fresh
        if old is not None:
            old.close()

    def _open(self) -> TextIOWrapper:
        return open(self.baseFilename, "a", encoding=self.encoding, errors=self.errors, opener=_private)


class _JsonLines(logging.Formatter):
    """A record as one line: time, level, logger, thread, text, its fields, and the error with its traceback."""

    def __init__(self, redact: Redact) -> None:
        super().__init__()
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "thread": record.threadName,
            "text": self._clean(_message(record)),
        }
        fields = getattr(record, "fields", None)
        if isinstance(fields, dict):
            line["fields"] = {
                str(k): v if isinstance(v, (int, float, bool)) or v is None else self._clean(str(v))
                for k, v in fields.items()
            }
        if record.exc_info:
            line["error"] = self._clean(_traceback(record.exc_info))
        return _UNSAFE.sub(lambda m: f"\\u{ord(m[0]):04x}", json.dumps(line, ensure_ascii=False))

    def _clean(self, text: str) -> str:
        # Cut twice: half a key at the first cut is not known as one, and goes with the second.
        return _cut(_safely(self._redact, _cut(text, 2 * limits.LOG_TEXT)), limits.LOG_TEXT)


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except (TypeError, ValueError, KeyError):  # arguments that do not fit the text: show both
        return f"{record.msg} {record.args!r}"


def _traceback(
    exc_info: tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None],
) -> str:
    return "".join(traceback.format_exception(exc_info[1])) if exc_info[1] is not None else ""


def _cut(text: str, limit: int) -> str:
    """`text` with its middle left out when it has more than `limit` characters."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[-half:]}"


def _safely(redact: Redact, text: str) -> str:
    try:
        return redact(text)
    except Exception:  # a text that could not be cleaned must not be written, whatever the reason
        return "[left out: it could not be cleaned of secrets]"


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
