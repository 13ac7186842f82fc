"""The log: whole JSON lines, no secrets, a bounded amount of disk, and not a byte on the terminal."""

from __future__ import annotations

import json
import logging
import shutil
import stat
import subprocess
import sys
import threading

import pytest

from agent_core import limits, log

SECRET = "sk-" + "x9" * 20


def redact(text: str) -> str:
    return text.replace(SECRET, "[secret]")


@pytest.fixture(autouse=True)
def _restored():
    """Leave the process's logging and hooks as they were."""
    root = logging.getLogger()
    before = (root.level, logging.raiseExceptions, threading.excepthook, sys.unraisablehook)
    levels = {name: logging.getLogger(name).level for name in log.OURS}
    yield
    root.level, logging.raiseExceptions, threading.excepthook, sys.unraisablehook = before
    root.setLevel(before[0])
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)
    logging.captureWarnings(False)
    if log._installed is not None:
        root.removeHandler(log._installed)
        log._installed.close()
        log._installed = None


def lines(logs_dir):
    return [json.loads(line) for line in (logs_dir / "log.jsonl").read_text("utf-8").splitlines()]


def test_a_record_is_one_json_line(tmp_path, monkeypatch):
    assert log.setup(tmp_path / "logs", "info", redact)
    logger = logging.getLogger("agent_core.mind.turn")
    root = logging.getLogger()  # half a surrogate pair is nothing for pytest's own report
    monkeypatch.setattr(root, "handlers", [h for h in root.handlers if not type(h).__module__.startswith("_pytest")])
    logger.info("step %d\nof %s", 1, "你好\u2028\x1b[31m\x9b\ud800", extra={"fields": {"tokens": 3, "model": "m"}})
    logger.debug("not at this level")
    [line] = lines(tmp_path / "logs")
    assert line["text"] == "step 1\nof 你好\u2028\x1b[31m\x9b\ud800"
    assert (line["level"], line["logger"], line["thread"]) == (
        "info",
        "agent_core.mind.turn",
        threading.current_thread().name,
    )
    assert line["fields"] == {"tokens": 3, "model": "m"}
    assert line["time"].endswith("Z")
    raw = (tmp_path / "logs/log.jsonl").read_text("utf-8")
    assert "你好" in raw
    assert not set(raw) & {"\u2028", "\x1b", "\x9b"}, "nothing in the file acts on a terminal"


def test_secrets_are_left_out_everywhere(tmp_path):
    log.setup(tmp_path, "debug", redact)
    logger = logging.getLogger("agent_core")
    try:
        raise ValueError(f"bad key {SECRET}")
    except ValueError:
        logger.exception("with %s", SECRET, extra={"fields": {"key": SECRET}})
    raw = (tmp_path / "log.jsonl").read_text()
    assert SECRET not in raw
    [line] = lines(tmp_path)
    assert "ValueError: bad key [secret]" in line["error"]
    assert "test_log.py" in line["error"]


def test_a_text_that_cannot_be_cleaned_is_not_written(tmp_path):
    def broken(text: str) -> str:
        raise RuntimeError(text)

    log.setup(tmp_path, "info", broken)
    logging.getLogger("agent_core").info("some %s", SECRET)
    assert SECRET not in (tmp_path / "log.jsonl").read_text()
    assert lines(tmp_path)[0]["text"].startswith("[left out")


def test_arguments_that_do_not_fit_are_shown(tmp_path):
    log.setup(tmp_path, "info", redact)
    logging.getLogger("agent_core").info("%d apples", "many")
    logging.getLogger("agent_core").info("one %s two %s", *["a"])
    assert [line["text"] for line in lines(tmp_path)] == ["%d apples ('many',)", "one %s two %s ('a',)"]


def test_libraries_log_warnings_only(tmp_path):
    log.setup(tmp_path, "debug", redact)
    logging.getLogger("httpx").info("HTTP Request: POST https://example.com")
    logging.getLogger("httpx").warning("slow")
    logging.getLogger("agent_core.llm").debug("ours")
    assert [line["text"] for line in lines(tmp_path)] == ["slow", "ours"]


def test_the_disk_it_takes_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "LOG_FILE", 20_000)
    log.setup(tmp_path, "info", redact)
    for number in range(500):
        logging.getLogger("agent_core").info("%d %s", number, "x" * 300)
    files = sorted(tmp_path.iterdir())
    assert len(files) == limits.LOG_FILES
    assert sum(f.stat().st_size for f in files) <= limits.LOG_FILES * 20_000
    assert all(stat.S_IMODE(f.stat().st_mode) == 0o600 for f in files)
    texts = [json.loads(line)["text"] for f in files for line in f.read_text().splitlines()]
    assert f"499 {'x' * 300}" in texts


def test_a_huge_text_is_cut(tmp_path):
    log.setup(tmp_path, "info", redact)
    logging.getLogger("agent_core").info("begin %s end", "x" * 1_000_000)
    [line] = lines(tmp_path)
    assert len(line["text"]) < limits.LOG_TEXT + 100
    assert line["text"].startswith("begin x")
    assert line["text"].endswith("x end")
    assert "characters left out" in line["text"]


def test_a_second_setup_replaces_the_first(tmp_path):
    log.setup(tmp_path / "a", "info", redact)
    log.setup(tmp_path / "b", "info", redact)
    logging.getLogger("agent_core").info("x")
    assert lines(tmp_path / "a") == []
    assert len(lines(tmp_path / "b")) == 1


def test_without_a_folder_the_program_goes_on(tmp_path):
    (tmp_path / "logs").write_text("in the way")
    assert not log.setup(tmp_path / "logs", "info", redact)
    logging.getLogger("agent_core").error("nowhere to go")
    assert log.write_crash(tmp_path / "logs", ValueError("x"), redact) is None


SCRIPT = """
import logging, sys, threading, warnings
from pathlib import Path
from agent_core import log
logs = Path(sys.argv[1])
log.setup(logs, "info", str)
log.install_hooks(logs, str)
logging.getLogger("agent_core").error("an error")
logging.getLogger("some.library").warning("a library's warning")
warnings.warn("old")
def die():
    raise ZeroDivisionError("in a thread")
thread = threading.Thread(target=die, name="worker")
thread.start()
thread.join()
class Bad:
    def __del__(self):
        raise KeyError("in a finaliser")
Bad()
if len(sys.argv) > 2:
    import os
    log._installed.stream.close()
    os.chmod(logs, 0o500)
    logging.getLogger("agent_core").error("cannot be written")
"""


def test_nothing_reaches_the_terminal(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "logs"), "break"],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    texts = [line["text"] for line in lines(tmp_path / "logs")]
    assert texts[:2] == ["an error", "a library's warning"]
    assert "UserWarning: old" in texts[2]
    assert "thread worker died" in texts
    assert any("ZeroDivisionError: in a thread" in line.get("error", "") for line in lines(tmp_path / "logs"))
    assert any("in a finaliser" in line.get("error", "") for line in lines(tmp_path / "logs"))
    [crash] = (tmp_path / "logs").glob("crash-*.txt")
    assert "ZeroDivisionError: in a thread" in crash.read_text()


def test_a_crash_report_holds_the_traceback_and_no_secret(tmp_path):
    try:
        raise RuntimeError(f"with {SECRET} \ud800")
    except RuntimeError as error:
        file = log.write_crash(tmp_path / "logs", error, redact)
    assert file is not None
    text = file.read_text("utf-8")
    assert "RuntimeError: with [secret]" in text
    assert "nanoherm-tui" in text
    assert "Traceback" in text
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_only_the_newest_crash_reports_are_kept(tmp_path):
    written = [log.write_crash(tmp_path, ValueError(str(n)), redact) for n in range(limits.CRASH_REPORTS + 5)]
    assert len(set(written)) == len(written)
    assert sorted(tmp_path.iterdir()) == written[5:]


WRITER = """
import logging, pathlib, sys
from agent_core import limits, log
limits.LOG_FILE = 4_000
log.setup(pathlib.Path(sys.argv[1]), "info", lambda text: text)
for number in range(400):
    logging.getLogger("agent_core.test").info("%s %d %s", sys.argv[2], number, "x" * 40)
"""


def test_two_programs_turn_the_log_over_without_harm_to_each_other(tmp_path):
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name], stderr=subprocess.PIPE, text=True)
        for name in ("first", "second")
    ]
    assert [writer.communicate(timeout=30)[1] for writer in writers] == ["", ""]
    files = sorted(tmp_path.glob("log.jsonl*"))
    assert [file.name for file in files] == ["log.jsonl", "log.jsonl.1", "log.jsonl.2"]
    for file in files:
        lines = file.read_text().splitlines()
        for line in lines:
            json.loads(line)  # none was torn
        assert file.stat().st_size <= 4_000 + 300
    # Each file was filled before it was turned over: two programs did not empty it in turn.
    assert all(file.stat().st_size >= 3_000 for file in files[1:])
    last = {line.split()[0]: int(line.split()[1]) for line in (json.loads(x)["text"] for x in files[0].open())}
    assert 399 in last.values()


def test_a_log_that_was_taken_away_begins_anew(tmp_path):
    log.setup(tmp_path, "info", redact)
    logging.getLogger("agent_core.test").info("one")
    (tmp_path / "log.jsonl").unlink()
    logging.getLogger("agent_core.test").info("two")
    assert [json.loads(line)["text"] for line in (tmp_path / "log.jsonl").open()] == ["two"]


def test_a_log_whose_folder_was_taken_away_can_still_be_replaced(tmp_path):
    log.setup(tmp_path / "one", "info", redact)
    logging.getLogger("agent_core").info("here")
    shutil.rmtree(tmp_path / "one")
    logging.getLogger("agent_core").info("written nowhere")
    assert log.setup(tmp_path / "two", "info", redact)
    logging.getLogger("agent_core").info("here again")
    assert [line["text"] for line in lines(tmp_path / "two")] == ["here again"]


def test_a_roll_that_fails_is_made_good_with_the_next_record(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "LOG_FILE", 400)
    log.setup(tmp_path / "logs", "info", redact)
    logging.getLogger("agent_core").info("a" * 200)
    with monkeypatch.context() as broken:
        broken.setattr(log._LogFile, "_open", lambda self: (_ for _ in ()).throw(OSError("no more files")))
        logging.getLogger("agent_core").info("b" * 200)
    logging.getLogger("agent_core").info("c")
    assert [line["text"] for line in lines(tmp_path / "logs")][-1] == "c"


def test_a_crash_report_has_no_key_of_an_exceptions_words_notes_or_causes_and_no_variables(tmp_path):
    def fail(key):
        held = "a variable " + key
        try:
            raise KeyError(key)
        except KeyError as cause:
            error = RuntimeError(f"bad {key}", {"headers": {"Authorization": f"Bearer {key}"}})
            error.add_note(f"while using {key}")
            assert held
            raise error from cause

    with pytest.raises(RuntimeError) as caught:
        fail(SECRET)
    text = log.write_crash(tmp_path, caught.value, redact).read_text()
    assert SECRET not in text
    assert "a variable" not in text.replace('held = "a variable " + key', "")
    assert text.count("[secret]") >= 4
    assert "raise error from cause" in text


def test_a_key_at_the_cut_of_a_long_text_does_not_show_in_part(tmp_path):
    log.setup(tmp_path, "info", redact)
    for shift in range(0, 60, 7):
        half = limits.LOG_TEXT // 2
        logging.getLogger("agent_core.test").info("a" * (half - 20 - shift) + SECRET + "b" * (3 * limits.LOG_TEXT))
    assert SECRET[:12] not in (tmp_path / "log.jsonl").read_text()
