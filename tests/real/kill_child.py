"""A warm program that makes copies of itself, kills them in the middle of a turn, and looks at what the next one finds.

    python -m tests.real.kill_child BASE_URL     trials come in, one JSON a line; reports go out the same way

A trial: {"folder": where it may write, "mark": n, "delay": seconds after the n-th mark of the turn}, or
{..., "write": n, "moment": "before" or "after"} to die at the n-th database write of the turn, or
{..., "rests": n, "delay": seconds} to die that long after the session has lain down or woken, its turns behind it, the
n-th time. Forking a program that has loaded everything costs a hundredth of starting one.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import traceback
from pathlib import Path

import httpx

from agent_core import events, intents
from agent_core.desk.host import Host
from agent_core.desk.house import Launch
from agent_core.messages import Message
from agent_core.session.live import LiveSession
from tests.e2e.warm import load

DRAFT, QUEUED, PROMPT, NEXT = "half a sentence 半句话", "and then the docs", "do the work", "next please"
READS = ("a.txt", "b.txt", "log.txt")


def start(folder: Path, base_url: str) -> Host:
    env = {"HOME": str(folder / "home"), "PATH": "/usr/bin:/bin", "NANOHERMES_BASE_URL": base_url}
    return Host(Launch(folder / "work", env | {"NANOHERMES_MODEL": "m", "NANOHERMES_API_KEY": "none"}, {}))


def events_of(session: LiveSession, seconds: float = 20.0):
    """The session's events as they come, until `seconds` have passed without the last one being asked for."""
    end = time.monotonic() + seconds
    came = threading.Event()
    session.mailbox.listen(lambda urgent: came.set())
    while time.monotonic() < end:
        came.wait(0.2)
        came.clear()
        for envelope in session.mailbox.drain():
            event = envelope.event
            if isinstance(event, events.QuestionAsked):
                session.send(intents.Answer(event.question.id, "once"))
            yield event
    raise AssertionError("the turn does not end")


def live(trial: dict, base_url: str, say) -> None:
    """The turn that is to be killed. `say` tells the parent how far it has come."""
    folder = Path(trial["folder"])
    (folder / "work").mkdir(parents=True)
    for name in READS[:2]:
        (folder / "work" / name).write_text(f"{name} says nothing\n")
    (folder / "work" / "log.txt").write_text("begin\nEND\n")
    host = start(folder, base_url)
    session = host.new()
    host.keep_draft(session.id, DRAFT)
    assert host.flush_notes(10)
    say("draft", session.id)
    writes = 0

    def at_write(moment: str) -> None:
        nonlocal writes
        writes += moment == "before"
        if (trial.get("moment"), trial.get("write")) == (moment, writes):
            os.kill(os.getpid(), signal.SIGKILL)

    host.store.database.at_write = at_write
    session.send(intents.Submit(PROMPT))
    session.send(intents.Queue(QUEUED))
    if "delay" not in trial:  # the queue's note is one of the writes
        assert host.flush_notes(10)
        say("queued")
    for event in events_of(session):
        if isinstance(event, events.TurnStarted):
            say("begun")
        elif isinstance(event, events.StepStarted | events.ToolStarted | events.ToolFinished):
            say("mark")
        elif isinstance(event, events.TurnFinished) and "rests" in trial:
            session.send(intents.Rest())  # taken once the queued message has its turn behind it too
        elif isinstance(event, events.Resting):
            say("rests")
            session.start()
        elif isinstance(event, events.HistoryChanged) and event.messages:
            say("woke")
            session.send(intents.Rest())
        elif isinstance(event, events.TurnFinished):
            say("ended", str(writes), event.outcome)
            break
    time.sleep(60)


def look(trial: dict, base_url: str, said: list[list[str]]) -> dict:
    """What the next start finds; raises AssertionError for what should not be."""
    folder = Path(trial["folder"])
    session_id = said[0][1]
    begun, ended = ["begun"] in said, any(words[0] == "ended" for words in said)
    counter, log_text = folder / "work" / "counter", (folder / "work" / "log.txt").read_text()
    ran = len(counter.read_text().splitlines()) if counter.exists() else 0
    assert ran <= 1, f"the command ran {ran} times"
    assert log_text.count("edited") <= 1
    host = start(folder, base_url)
    assert host.store.warnings == ()
    stored = {row.id for row in host.sessions()}
    if session_id not in stored:
        assert not ran
        assert not begun or trial.get("write", 1) <= 2, "a turn without a row does nothing"
        new = host.new()
        draft = host.draft(new.id)
        assert DRAFT in draft
        return {"phase": "before the first message", "unknown": 0}
    raw = host.store.messages(session_id)
    with host.store.database.read() as c:
        (rows,) = c.execute("SELECT count(*) FROM messages WHERE session_id = ?", (session_id,)).fetchone()
    assert len(raw) == rows, "every stored message loads"
    session = host.open(session_id)
    seen = []
    for event in events_of(session):
        seen.append(event)
        if isinstance(event, events.HistoryChanged):
            session.send(intents.Rename("loaded"))
        elif isinstance(event, events.TitleChanged):
            break
    [history] = [event.messages for event in seen if isinstance(event, events.HistoryChanged)]
    returned = [event.text for event in seen if isinstance(event, events.TextReturned)]
    unknown = check_history(history, ran, log_text)
    assert host.draft(session_id) == DRAFT
    if ["queued"] in said:
        lost = [text for text in (PROMPT, QUEUED) if not any(message.text == text for message in history)]
        assert returned == (["\n".join(lost)] if lost else []), "what was sent is in the session or comes back"
    session.send(intents.Submit(NEXT))
    end = next(event for event in events_of(session) if isinstance(event, events.TurnFinished))
    assert (end.outcome, end.text) == ("completed", "all right"), end
    again = len(counter.read_text().splitlines()) if counter.exists() else 0
    # A command that was just starting may outlive the program by a moment.
    assert again == ran or (again == 1 and "run_command" in unknown), "nothing is repeated"
    steps = sum(message.role == "assistant" for message in history)
    if ["rests"] in said:
        assert [message.text for message in history if message.role == "user"] == [PROMPT, QUEUED]
        return {"phase": "at rest" if said[-1] == ["rests"] else "awake again", "unknown": len(unknown)}
    return {"phase": f"after {steps} replies" if not ended else "ended", "unknown": len(unknown)}


def check_history(history: tuple[Message, ...], ran: int, log_text: str) -> list[str]:
    """Each call has its result, in order; what may have happened is told as unknown. Returns the tools of those."""
    waiting: list[str] = []
    unknown = []
    for message in history:
        if message.result is not None:
            assert waiting, "a result without a call"
            assert waiting.pop(0) == message.result.call_id
            if message.result.effect == "unknown":
                unknown.append(message.result.name)
            if not message.result.ok:
                assert message.result.name in ("write_file", "edit_file", "run_command"), "a cut-off read is dropped"
                if message.result.effect != "unknown":
                    assert "was not run" in message.text
                    assert not (message.result.name == "run_command" and ran)
                    assert not (message.result.name == "edit_file" and "edited" in log_text)
        else:
            assert not waiting, "a call without a result"
        waiting += [call.id for call in message.tool_calls]
    assert not waiting
    return unknown


def forked(work) -> tuple[int, int]:
    """Do `work` in a copy of this program; its process number, and where what it says can be read."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return pid, reading
    os.close(reading)
    code = 1
    try:
        work(lambda *words: os.write(writing, (json.dumps(words) + "\n").encode()))
        code = 0
    except BaseException:  # reported, whatever it is; this process ends here
        os.write(writing, (json.dumps(["error", traceback.format_exc()]) + "\n").encode())
    finally:
        os._exit(code)


def lines(reading: int):
    with open(reading, encoding="utf-8") as file:
        for line in file:
            if line.endswith("\n"):
                yield json.loads(line)


def run(trial: dict, base_url: str) -> dict:
    pid, reading = forked(lambda say: live(trial, base_url, say))
    said: list[list[str]] = []
    began = killed = 0.0
    marks = rests = 0
    for words in lines(reading):
        said.append(words)
        if words[0] == "begun":
            began = time.monotonic()
        if words[0] in ("begun", "mark") and not killed:
            marks += 1
            if marks == trial.get("mark"):
                time.sleep(trial["delay"])
                os.kill(pid, signal.SIGKILL)
                killed = time.monotonic()
        elif words[0] in ("rests", "woke") and not killed:
            rests += 1
            if rests == trial["rests"]:
                time.sleep(trial["delay"])
                os.kill(pid, signal.SIGKILL)
                killed = time.monotonic()
        elif words[0] in ("ended", "error") and not killed:
            killed = time.monotonic()
            os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    report = {"trial": trial, "said": said, "seconds": killed - began, "died": os.WIFSIGNALED(status)}
    if any(words[0] == "error" for words in said):
        return report | {"error": said[-1][1]}
    pid, reading = forked(lambda say: say("found", json.dumps(look(trial, base_url, said))))
    for word, text in lines(reading):
        report |= json.loads(text) if word == "found" else {"error": text}
    os.waitpid(pid, 0)
    return report


if __name__ == "__main__":
    httpx.get(sys.argv[1] + "/models", trust_env=False)  # loads what a request does
    load("agent_core")
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line), sys.argv[1])), flush=True)
