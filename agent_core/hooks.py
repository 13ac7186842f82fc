"""The user's programs that hear of what the agent does, and may forbid a tool's call.

They are declared in hooks.json, where the exit code decides (GAP-13), or under `hooks` in a config.yaml, as Hermes has
them, where JSON on standard output does (HOOK-08). They run outside the sandbox, as programs that the user chose; a
project's only when it is trusted. Source: HOOK-01 to HOOK-08.
"""

from __future__ import annotations

import difflib
import json
import logging
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal, get_args

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.config.paths import Places
from agent_core.errors import ConfigError
from agent_core.names import TOOL_ALIASES
from agent_core.plain_files import read_regular
from agent_core.process.command import run_program
from agent_core.records import dataclass
from agent_core.text.ansi import clean
from agent_core.text.clamp import clamp
from agent_core.text.printable import printable

log = logging.getLogger(__name__)

Event = Literal[
    "PreToolUse",
    "PostToolUse",
    "UserPromptSubmit",
    "TurnEnd",
    "PreCompact",
    "Notification",
    "SessionStart",
    "SessionEnd",
]
EVENTS: Final[tuple[Event, ...]] = get_args(Event)
_OF_TOOLS: Final[frozenset[Event]] = frozenset({"PreToolUse", "PostToolUse"})

_HERMES: Final[dict[str, Event]] = {
    "pre_tool_call": "PreToolUse",
    "post_tool_call": "PostToolUse",
    "pre_llm_call": "UserPromptSubmit",
    "post_llm_call": "TurnEnd",
    "on_session_start": "SessionStart",
    "on_session_end": "SessionEnd",
}
"""Hermes' names of events, in its config."""
_IN_HERMES: Final[dict[Event, str]] = {event: name for name, event in _HERMES.items()}
# fmt: off
_ELSEWHERE: Final = frozenset({
    "SubagentStart", "SubagentStop", "PermissionRequest", "PermissionDenied", "PostToolUseFailure", "StopFailure",
    "Setup", "subagent_start", "subagent_stop", "pre_api_request", "post_api_request", "on_session_finalize",
    "on_session_reset", "pre_verify", "pre_approval_request", "post_approval_response", "transform_tool_result",
    "transform_terminal_output", "transform_llm_output", "pre_gateway_dispatch", "on_skill_load", "output_spill",
    "outbound",
})
# fmt: on
"""What other programs and newer versions know: no mistake, and nothing happens."""

KILLED: Final = -1
TIMED_OUT: Final = -2
NOT_STARTED: Final = -3
BLOCKS: Final = 2
"""The exit code by which a hook of a config forbids a call without JSON, as in Hermes."""


@dataclass(frozen=True, slots=True)
class Hook:
    """One program and when it runs."""

    event: Event
    command: str
    source: str
    """The file it stands in."""
    matcher: str = "*"
    """Of a tool's event: which tools. A list of names with commas; in a config, a regular expression."""
    seconds: float = limits.HOOK_TIMEOUT
    by_json: bool = False
    """It stands in a config: what it prints decides, not how it ends."""
    fail_closed: bool = False
    """A call is forbidden too when the hook fails."""

    @property
    def name(self) -> str:
        """What a person knows it by, one line."""
        command = printable(" ".join(self.command.split()))
        return command if len(command) <= limits.HOOK_NAME else command[: limits.HOOK_NAME] + " ..."

    def concerns(self, event: Event, tool: str = "") -> bool:
        """Whether it runs at `event`, of a tool's events at a call of `tool`."""
        return event == self.event and (event not in _OF_TOOLS or _matches(self.matcher, tool, self.by_json))


@lru_cache(maxsize=512)
def _matches(matcher: str, tool: str, pattern: bool) -> bool:
    names = (tool, *(alias for alias, targets in TOOL_ALIASES.items() if tool in targets))
    if matcher.strip() in ("", "*"):
        return True
    if not pattern:
        wanted = [part.strip() for part in re.split(r"[,|]", matcher)]
        return any(fnmatchcase(name, part) for name in names for part in wanted if part)
    try:
        return any(re.fullmatch(matcher, name) for name in names)
    except re.error:
        return matcher in names


# -- reading them -------------------------------------------------------------------------------------------------


def parse(data: bytes, file: str) -> tuple[Hook, ...]:
    """The hooks of a hooks.json, in its order.

    `{"hooks": {"PreToolUse": [{"matcher": "write_file,edit_file", "command": "...", "timeout": 5}]}}`; an entry may
    also hold a list `hooks` of commands with one matcher. Raises ConfigError "bad_hooks" naming file and line: of a
    file with a mistake none runs, since half a guard is none.
    """
    try:
        text = data.decode("utf-8-sig")
        document = json.loads(text or "{}", object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        raise _bad(file, error.lineno, f"this is not JSON ({error.msg})") from None
    except _Twice as twice:
        raise _bad(file, _line_of(text, twice.key), f"{twice.key} stands there twice") from None
    except (ValueError, RecursionError):  # no UTF-8, nested too deeply, a number of thousands of digits
        raise _bad(file, 1, "this is not a JSON text") from None
    events = document.get("hooks") if isinstance(document, dict) else None
    if not isinstance(events, dict):
        raise _bad(file, 1, 'it must be an object with "hooks", an object of events')
    found: list[Hook] = []
    for name, entries in events.items():
        line = _line_of(text, name)
        event = _event(name)
        if event is None:
            if name in _ELSEWHERE:
                continue
            raise _bad(file, line, f"there is no event {name}{_nearest(name)}")
        if not isinstance(entries, list):
            raise _bad(file, line, f"{name} must hold a list")
        for entry in entries:
            for hook, problem in _entry(event, entry, file):
                if hook is None:
                    command = entry.get("command") if isinstance(entry, dict) else None
                    at = _line_of(text, command) if isinstance(command, str) and command else line
                    raise _bad(file, max(at, line), f"{name}: {problem}")
                found.append(hook)
    if len(found) > limits.HOOKS:
        raise _bad(file, 1, f"more than {limits.HOOKS} hooks")
    return tuple(found)


def from_config(events: Mapping[str, Any], source: str) -> tuple[tuple[Hook, ...], tuple[str, ...]]:
    """The hooks of a config's `hooks`, and what is wrong with those that do not run, in words."""
    found: list[Hook] = []
    problems: list[str] = []
    for name, entries in events.items():
        event = _event(name)
        if event is None:
            if name not in _ELSEWHERE:
                problems.append(f"hooks.{name}: there is no event {name}{_nearest(name)}.")
        elif not isinstance(entries, list):
            if entries is not None:
                problems.append(f"hooks.{name} must hold a list of hooks.")
        else:
            for entry in entries:
                for hook, problem in _entry(event, entry, source, by_json=True):
                    if hook is None:
                        problems.append(f"hooks.{name}: {problem}.")
                    else:
                        found.append(hook)
    if len(found) > limits.HOOKS:
        problems.append(f"hooks: only the first {limits.HOOKS} run.")
    return tuple(found[: limits.HOOKS]), tuple(printable(problem) for problem in problems)


def _entry(event: Event, entry: object, source: str, *, by_json: bool = False) -> Iterator[tuple[Hook | None, str]]:
    """The hooks that an entry declares; instead of one that is none, what is wrong with it."""
    if not isinstance(entry, dict):
        yield None, "a hook must be an object with a command"
        return
    matcher = entry.get("matcher")
    matcher = "*" if matcher is None else matcher
    inner = entry.get("hooks")
    for one in inner if isinstance(inner, list) and "command" not in entry else [entry]:
        command = one.get("command") if isinstance(one, dict) else None
        seconds = one.get("timeout", limits.HOOK_TIMEOUT) if isinstance(one, dict) else None
        if not isinstance(command, str) or not command.strip() or "\0" in command:
            yield None, "a hook must have a command, a text"
        elif not isinstance(matcher, str) or len(matcher) > limits.PATTERN_CHARS:
            yield None, "matcher must be a text with names of tools"
        elif isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
            yield None, "timeout must be a number of seconds"
        else:
            closed = any(one.get(name) is True for name in ("fail_closed", "failClosed"))
            seconds = float(min(seconds, limits.HOOK_TIMEOUT))
            yield Hook(event, command.strip(), source, matcher.strip() or "*", seconds, by_json, closed), ""


class _Twice(ValueError):
    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; of two entries with one name the first would be gone without a word."""
    out = dict(pairs)
    if len(out) < len(pairs):
        names = [name for name, _ in pairs]
        raise _Twice(next(name for name in names if names.count(name) > 1))
    return out


def _event(name: str) -> Event | None:
    if name in _HERMES:
        return _HERMES[name]
    if name == "Stop":  # what others call it
        return "TurnEnd"
    return next((event for event in EVENTS if event == name), None)


def _nearest(name: str) -> str:
    close = difflib.get_close_matches(str(name)[: limits.SUBJECT_CHARS], (*EVENTS, "Stop", *_HERMES), n=1)
    return f". Did you mean {close[0]}?" if close else f". There are {', '.join(EVENTS)}"


def _line_of(text: str, value: str) -> int:
    """The line of a JSON text in which `value` is written; the first one if it cannot be found."""
    at = max(text.find(json.dumps(value)), text.find(json.dumps(value, ensure_ascii=False)))
    return text.count("\n", 0, at) + 1 if at >= 0 else 1


def _bad(file: str, line: int, what: str) -> ConfigError:
    what = printable(what).rstrip(".?")
    return ConfigError(
        "bad_hooks",
        f"{printable(file)}:{line}: {what}. Until it is corrected no hook of this file runs.",
        file=printable(file),
        line=line,
        what=what,
    )


@dataclass(frozen=True, slots=True)
class HookSet:
    """Hooks in the order they run in, and why others do not."""

    hooks: tuple[Hook, ...] = ()
    problems: tuple[ConfigError, ...] = ()

    def __add__(self, other: HookSet) -> HookSet:
        return HookSet(self.hooks + other.hooks, self.problems + other.problems)


def users_hooks(places: Places, events: Mapping[str, Any], file: Path | None = None) -> HookSet:
    """The user's own: those of the config (`events`), of ~/.nanohermes/hooks.json, and of `file`, named for a run."""
    found, problems = from_config(events, "config.yaml")
    out = HookSet(found, tuple(ConfigError("bad_hook", text, what=text) for text in problems))
    out += _read_hooks(places.data_home / "hooks.json", wanted=False)
    return out if file is None else out + _read_hooks(file, wanted=True)


def _read_hooks(path: Path, *, wanted: bool) -> HookSet:
    try:
        data = read_regular(path, limits.HOOKS_FILE)
        if data is None and not wanted:
            return HookSet()
        if data is None or len(data) > limits.HOOKS_FILE:
            why = "is not there" if data is None else f"is larger than {limits.HOOKS_FILE // limits.KB} KB"
            raise ConfigError("bad_hooks", f"{path} {why}, so no hook of it runs.", file=str(path), line=0, what=why)
        return HookSet(parse(data, str(path)))
    except OSError as error:
        why = f"cannot be read ({error.strerror or error})"
        text = f"{printable(str(path))} {why}, so no hook of it runs."
        return HookSet(problems=(ConfigError("bad_hooks", text, file=str(path), line=0, what=why),))
    except ConfigError as error:
        return HookSet(problems=(error,))


# -- running them -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ran:
    """How a hook ended."""

    code: int
    """Its exit code, or KILLED, TIMED_OUT, NOT_STARTED."""
    out: str = ""
    error: str = ""

    @property
    def output(self) -> str:
        return "\n".join(part for part in (self.out.strip("\n"), self.error.strip("\n")) if part)

    @property
    def how(self) -> str:
        """In words."""
        words = {KILLED: "it was killed", TIMED_OUT: "it took too long", NOT_STARTED: "it could not be started"}
        return words.get(self.code, f"exit code {self.code}")


@dataclass(frozen=True, slots=True)
class Heard:
    """What the hooks of one event have said; texts are without keys and control bytes."""

    veto: str = ""
    """Why the call is forbidden, for the model; empty: it is not."""
    by: Hook | None = None
    """Who forbade it."""
    remarks: tuple[str, ...] = ()
    """For the model: what they say of a result, or add to what the person asked for."""
    warnings: tuple[tuple[Hook, str], ...] = ()
    """For the person: hooks that failed, and how."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """The hooks that count for one session now, in the order they run in."""

    hooks: tuple[Hook, ...] = ()
    workspace: Path = Path("/")
    """Where they run."""
    session_id: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    """Free of secrets."""
    redact: Callable[[str], str] = lambda text: text

    def has(self, event: Event) -> bool:
        return any(hook.event == event for hook in self.hooks)

    def tell(
        self,
        event: Event,
        facts: Mapping[str, Any],
        cancel: CancelScope,
        *,
        tool: str = "",
        arguments: Mapping[str, Any] | None = None,
        at_most: float = limits.HOOK_TIMEOUT,
    ) -> Heard:
        """Run the hooks of an event one after the other; the first veto is the last to run.

        `facts` go to them beside event, tool and arguments. `at_most`: seconds for each. Raises Interrupted when
        `cancel` comes; the hook that runs is ended then.
        """
        remarks: list[str] = []
        warnings: list[tuple[Hook, str]] = []
        for hook in self.hooks:
            if not hook.concerns(event, tool):
                continue
            ran = self._run(hook, facts, cancel, tool, arguments, min(hook.seconds, at_most))
            cancel.check()
            if ran.code != 0:
                log.warning("hook %s of %s: %s", hook.name, hook.source, ran.how)
            said = _json(ran.out) if hook.by_json else None
            if event == "PreToolUse":
                veto = _veto_by_json(hook, ran, said) if hook.by_json else _veto_by_code(hook, ran)
                if veto:
                    return Heard(self._words(veto), hook, (), tuple(warnings))
            elif event == "PostToolUse":
                if remark := _remark(hook, ran, said):
                    remarks.append(self._words(remark))
            elif said is not None and event == "UserPromptSubmit" and isinstance(said.get("context"), str):
                remarks.append(self._words(said["context"]))
            if ran.code != 0 and event != "PostToolUse":
                words = self._words(ran.output).strip()
                warnings.append((hook, ran.how + (f": {words[: limits.SUBJECT_CHARS]}" if words else "")))
        return Heard("", None, tuple(text for text in remarks if text.strip()), tuple(warnings))

    def _words(self, text: str) -> str:
        return clamp(self.redact(clean(text)).strip("\n"), limits.HOOK_OUTPUT)

    def _run(
        self,
        hook: Hook,
        facts: Mapping[str, Any],
        cancel: CancelScope,
        tool: str,
        arguments: Mapping[str, Any] | None,
        seconds: float,
    ) -> Ran:
        env = {**self.env, "NANOHERMES_TOOL_NAME": tool, "NANOHERMES_HOOK_EVENT": hook.event}
        message = json.dumps(self._message(hook, facts, tool, arguments), default=str).encode()
        try:
            # A file: a hook that does not read its input, or not all of it, holds nobody up.
            with tempfile.TemporaryFile() as given:
                given.write(message)
                given.seek(0)
                result = run_program(
                    ("/bin/sh", "-c", hook.command),
                    self.workspace,
                    env=env,
                    timeout=seconds,
                    cancel=cancel,
                    stdin=given.fileno(),
                    stream_limit=limits.HOOK_OUTPUT,
                )
        except OSError as error:
            return Ran(NOT_STARTED, error=str(error.strerror or error))
        code = TIMED_OUT if result.timed_out else KILLED if result.exit_code is None else result.exit_code
        return Ran(code, result.stdout, result.stderr)

    def _message(
        self, hook: Hook, facts: Mapping[str, Any], tool: str, arguments: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        """What a hook reads: one JSON object, in the manner of where it is declared."""
        if not hook.by_json:
            return {
                "event": hook.event,
                "tool": tool,
                "arguments": arguments or {},
                "session": self.session_id,
                "cwd": str(self.workspace),
                **facts,
            }
        return {
            "hook_event_name": _IN_HERMES.get(hook.event, hook.event),
            "tool_name": tool or None,
            "tool_input": arguments,
            "session_id": self.session_id,
            "cwd": str(self.workspace),
            "extra": dict(facts),
        }


def _veto_by_code(hook: Hook, ran: Ran) -> str:
    """Any end but a good one forbids; what the hook printed is what the model is told."""
    if ran.code == 0:
        return ""
    if ran.code > 0 and ran.output.strip():
        return ran.output.strip()
    text = f"A hook of the user forbids this call ({ran.how})."
    return f"{text} {ran.output.strip()}".rstrip()


def _veto_by_json(hook: Hook, ran: Ran, said: Mapping[str, Any] | None) -> str:
    if said is not None:
        for verb, texts in (("action", ("message", "reason")), ("decision", ("reason", "message"))):
            if said.get(verb) in ("block", "deny"):
                words = (said.get(name) for name in texts)
                return next((w for w in words if isinstance(w, str) and w.strip()), "A hook of the user forbids this.")
    if ran.code == BLOCKS:
        return ran.error.strip() or "A hook of the user forbids this call."
    garbled = said is None and bool(ran.out.strip())
    if hook.fail_closed and (ran.code != 0 or garbled):
        return f"A hook of the user that must answer failed ({ran.how if ran.code else 'its answer is no JSON'})."
    return ""


def _remark(hook: Hook, ran: Ran, said: Mapping[str, Any] | None) -> str:
    if said is not None:
        for name in ("context", "reason", "message"):
            if isinstance(text := said.get(name), str) and text.strip():
                return f"[A hook of the user says: {text.strip()}]"
    if ran.code == 0:
        return ""
    words = ran.output.strip()
    return f"[Warning of a hook of the user, {ran.how}{f': {words}' if words else ''}]"


def _json(out: str) -> Mapping[str, Any] | None:
    """The JSON object that a hook printed, if that is all it printed."""
    try:
        said = json.loads(out)
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) else None


def names(hooks: Sequence[Hook]) -> Iterator[str]:
    """A line for each: when it runs, for what, and the whole command."""
    for hook in hooks:
        scope = f" {hook.matcher}" if hook.event in _OF_TOOLS and hook.matcher != "*" else ""
        yield f"{hook.event}{scope}: {hook.command}"
