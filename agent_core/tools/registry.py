"""From a call the model asked for to its result: find the tool, check, decide, ask, run, clamp, redact.

Every way out of a call leads through here, and every one is a result the model can use (TOOL-06).
"""

from __future__ import annotations

import difflib
import logging
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Literal

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.errors import AgentError, Interrupted, StoreError, ToolFailure, TurnHalted
from agent_core.grants import Grants
from agent_core.intents import Decision
from agent_core.messages import EffectState, FileDiff, ToolCall, ToolResult
from agent_core.names import MCP_SEARCH_TOOLS, NOT_REVIEWED, TOOL_ALIASES
from agent_core.ports.actions import (
    Action,
    CommandAction,
    EditAction,
    Effect,
    KeepAction,
    NoAction,
    ReadAction,
    ServerAction,
    WebAction,
)
from agent_core.ports.asking import Asker, Decided, DecidedBy, Question, Reply, Review
from agent_core.ports.model import ToolSchema
from agent_core.ports.tools import Args, Prepared, Tool, ToolContext, ToolOutput
from agent_core.records import dataclass
from agent_core.safety import danger, hardline, policy
from agent_core.safety.deny import denied
from agent_core.safety.shell_trust import TrustContext, is_trusted_command
from agent_core.sandbox.policy import READ_ONLY, Box
from agent_core.spill import FOLDER, Results
from agent_core.text.ansi import clean
from agent_core.text.coerce import coerce, loosely
from agent_core.text.diff import hunks_of, moves
from agent_core.tools import alias, misnamed
from agent_core.tools.refused_hunks import place_of, told_of
from agent_core.toolsets import is_off

log = logging.getLogger(__name__)

REVIEWER_BREAKER = "reviewer_breaker"
"""Code of the error that a reviewer raises when it has refused too often in a row (A5)."""

Reviewing = Callable[[CommandAction, policy.Verdict, CancelScope], Review]
"""Raises Interrupted, and AgentError REVIEWER_BREAKER."""

OnStart = Callable[[ToolCall, Effect], None]
"""Called when a call has been allowed and is about to act; raises StoreError when that cannot be noted."""


class Stopwatch:
    """The time a call has taken; what a person takes to answer is not its time. Any thread may read it."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._waited = 0.0
        self._waits_since: float | None = None

    @property
    def seconds(self) -> float:
        since = self._waits_since
        now = time.monotonic() if since is None else since
        return now - self._begun - self._waited

    @contextmanager
    def stopped(self) -> Iterator[None]:
        self._waits_since = time.monotonic()
        try:
            yield
        finally:
            self._waited += time.monotonic() - self._waits_since
            self._waits_since = None


@dataclass(frozen=True, slots=True)
class _TimedAsker:
    """Asks, and stops the clock meanwhile (ports.Asker)."""

    asker: Asker
    watch: Stopwatch

    def ask(self, question: Question, cancel: CancelScope) -> Reply:
        with self.watch.stopped():
            return self.asker.ask(question, cancel)


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The tools of one session and the rules that stand before them. Safe to use from several threads."""

    tools: Mapping[str, Tool]
    context: ToolContext
    situation: Callable[[], policy.Situation]
    """Read at each call, so that a switched mode acts on the next step."""
    grants: Grants
    trust: Callable[[Path], TrustContext]
    """For the folder a command would run in."""
    redact: Callable[[str], str]
    mode: Callable[[], str] | None = None
    """The mode alone: a request asks for it, and does not wait for what else the situation is made of."""
    off: Callable[[], Collection[str]] = frozenset
    """The tools that the person has switched off, as they are at each call: neither offered nor run."""
    refuse: Callable[[str], None] = lambda name: None
    """Have a tool left out from now on: the model's server refuses requests that hold it."""
    deny: Callable[[], Iterable[str]] = tuple
    """The user's patterns of commands that are never run, as they are when a command is judged."""
    listed: Callable[[str], bool] = lambda host: False
    """Whether the user's config lets a host of the web be asked (web.allow_hosts)."""
    started: Callable[[ToolCall], None] = lambda call: None
    """Tells the listener that the call begins."""
    progress: Callable[[ToolCall, str], None] = lambda call, text: None
    veto: Callable[[ToolCall, str, Args], str] = lambda call, name, arguments: ""
    """Asked when the rules would let a call pass, before a person is: why a hook forbids it; empty: it may run."""
    remark: Callable[[ToolCall, str, Args, ToolOutput], str] = lambda call, name, arguments, output: ""
    """What a hook says of a result, for the model; empty: nothing."""
    review: Reviewing | None = None
    """Asked about a command before a person is (approvals.mode smart)."""
    record: Callable[[Decided], None] = lambda decided: None
    """Has a decision written down: one about a call with the call's start (`on_start`), or with its result when it
    never began; another at once. Raises StoreError."""
    results: Results | None = None
    """What bounds those of the turn by `context.bounds`; None: each by itself."""

    def schemas(self) -> tuple[ToolSchema, ...]:
        mode = self.mode() if self.mode is not None else self.situation().mode
        off = self.off()
        there = (t for t in self.tools.values() if not is_off(t.name, t.toolset, off))
        return tuple(tool.schema for tool in there if not tool.modes or mode in tool.modes)

    def find(self, call: ToolCall) -> Tool | None:
        """The tool a call means: by its name, by a Hermes alias, by a name that is written otherwise.

        Of an alias with several targets it is the one whose arguments fit best. What may be a misspelling is taken
        for the one name near it only when all arguments fit that tool. Source: LOOP-18.
        """
        found = self._named(call.name, call.arguments)
        if found is None:
            found = self._named(misnamed.same_but_for_style(call.name, self._names), call.arguments)
        if found is None and call.arguments_error is None:
            tool = self.tools.get(misnamed.near(call.name, self.tools))
            if tool is not None and not tool.foreign and not coerce(call.arguments, tool.parameters)[1]:
                found = tool
        return found

    def _named(self, name: str, arguments: Args) -> Tool | None:
        if name in self.tools:
            return self.tools[name]
        return alias.meant(name, arguments, self.tools)

    @property
    def _names(self) -> tuple[str, ...]:
        return (*self.tools, *TOOL_ALIASES)

    def effect(self, call: ToolCall) -> Effect:
        """What a call touches; its paths are those of the disk, so that two names of one file are known as one."""
        tool = self.find(call)
        if tool is None or call.arguments_error is not None:
            return Effect("none")
        effect = tool.effect(call.arguments)
        return replace(effect, paths=tuple(self._on_disk(path) for path in effect.paths))

    def _on_disk(self, path: str) -> str:
        if path.startswith("~/"):
            path = os.path.join(self.context.home, path[2:])
        try:
            return os.path.realpath(os.path.join(self.context.workspace, path))
        except (OSError, ValueError):  # a NUL, or links without end: no file that a tool would open
            return path

    def name(self, call: ToolCall) -> str:
        """The name of the tool a call means, or what it named when there is none."""
        tool = self.find(call)
        return call.name if tool is None else tool.name

    @property
    def room(self) -> int:
        """Bytes that one result may have."""
        return self.context.bounds.most

    def longest(self, calls: Sequence[ToolCall]) -> float:
        """The longest time, in seconds, that one of these calls has asked for."""
        asked = 0.0
        for call in calls:
            tool = self.find(call)
            if tool is None or call.arguments_error is not None:
                continue
            arguments, problems = _fitted(tool, call.arguments)
            if not problems:
                seconds = tool.seconds(arguments)
                if not seconds and tool.effect(arguments).kind == "command":
                    seconds = self.context.command_timeout
                asked = max(asked, seconds)
        return asked

    def subject(self, call: ToolCall) -> str:
        """One line for the tool card, free of control bytes and keys."""
        tool = self.find(call)
        raw = tool.subject(call.arguments) if tool is not None else ""
        return self.redact(" ".join(clean(raw).split()))[: limits.SUBJECT_CHARS]

    def run(self, call: ToolCall, cancel: CancelScope, on_start: OnStart, watch: Stopwatch | None = None) -> ToolResult:
        """The call's result. Raises StoreError when its start could not be noted, and TurnHalted when the turn is not
        to go on: it has then not been run."""
        attempt = _Attempt(self, call, cancel, on_start, watch or Stopwatch())
        try:
            output = attempt.output()
        except ToolFailure as failure:
            # A tool that says why it could not has left everything as it was.
            output = ToolOutput(failure.text, failure.outcome or "failed", ok=False)
        except Interrupted:
            output = ToolOutput("[interrupted] The user stopped the turn during this call.", "stopped", ok=False,
                                effect=attempt.effect_so_far)  # fmt: skip
        except (StoreError, TurnHalted):
            raise
        except Exception as error:  # a crash is this call's result; the turn goes on (LOOP-10)
            log.exception("tool %s crashed", call.name)
            text = clean(f"ERROR: tool crashed: {type(error).__name__}: {error}")[: limits.TOOL_ERROR_CHARS]
            output = ToolOutput(text, "crashed", ok=False, effect=attempt.effect_so_far)
        results = self.results or Results(self.context.bounds, self.context.data_home / FOLDER)
        is_large = len(output.text) > limits.RESULT_LARGE
        text = results.fit(attempt.remark + (self.redact(output.text) or "(no output)"), attempt.name)
        output = replace(output, text="")
        if is_large:
            from agent_core.heap import give_back  # with ctypes, which most sessions do without

            give_back()
        return ToolResult(
            call.id,
            attempt.name,
            text,
            output.ok,
            output.effect,
            self.redact(clean(output.outcome)),
            tuple(self.redact(clean(line)) for line in output.preview),
            tuple(self._without_keys(diff) for diff in output.diffs),
            attempt.seconds,
            output.images,
        )

    def _without_keys(self, diff: FileDiff) -> FileDiff:
        """The diff as it may be stored and shown afterwards; the person who approved it saw it exactly."""
        hunks = tuple(
            replace(hunk, lines=tuple(replace(line, text=self.redact(line.text)) for line in hunk.lines))
            for hunk in diff.hunks
        )
        return replace(diff, hunks=hunks)


@dataclass(frozen=True, slots=True)
class _Approved:
    """A call that may run, or may be asked about, and what exactly that is."""

    prepared: Prepared
    arguments: Args
    box: Box
    seal: str


class _Attempt:
    """One call on its way; remembers how far it came, for the result's effect."""

    def __init__(self, box: Toolbox, call: ToolCall, cancel: CancelScope, on_start: OnStart, watch: Stopwatch) -> None:
        self._box = box
        self._call = call
        self._cancel = cancel
        self._on_start = on_start
        self._watch = watch
        self._acting = False
        self._begun: float | None = None
        self._tool = box.find(call)

    @property
    def name(self) -> str:
        """The tool's own name, or what the call named when there is no such tool."""
        return self._call.name if self._tool is None else self._tool.name

    @property
    def remark(self) -> str:
        """What the model is told about the name it called the tool by; empty when that is one of its names."""
        if self._tool is None or self._call.name in (*self._box.tools, *TOOL_ALIASES):
            return ""
        called = clean(self._call.name[: limits.PROBLEM_CHARS])
        return f"[There is no tool {called}; this is what {self._tool.name} gave.]\n"

    @property
    def seconds(self) -> float:
        """Since the call was allowed; waiting for a person is not its time."""
        return 0.0 if self._begun is None else time.monotonic() - self._begun

    @property
    def effect_so_far(self) -> EffectState:
        return "unknown" if self._acting else "none"

    def output(self) -> ToolOutput:
        tool = self._tool
        if tool is None:
            raise ToolFailure(self._unknown(), code="unknown_tool", outcome="unknown tool")
        if is_off(tool.name, tool.toolset, self._box.off()):
            raise ToolFailure(
                f"{tool.name} is switched off in this session. It was not run. Only the user can switch it on: with "
                f"/tools on {tool.name}, or agent.disabled_toolsets in the config. Do what you can without it, or say "
                "what you would need it for.",
                code="tool_off",
                outcome="switched off",
            )
        situation = self._box.situation()
        mode = situation.mode
        if tool.modes and mode not in tool.modes:
            raise self._refused(
                NoAction(), policy.Verdict("refuse", f"mode {mode}", ""), "rules",
                f"{tool.name} exists in mode {' and '.join(tool.modes)} only.", "not in this mode",
            )  # fmt: skip
        if self._call.arguments_error is not None:
            raise ToolFailure(
                f"The arguments of {tool.name} are not a valid JSON object: {self._call.arguments_error}. "
                "The tool was not run. Send the call again with complete, valid JSON.",
                code="invalid_arguments",
                outcome="invalid arguments",
            )
        arguments, problems = _fitted(tool, self._call.arguments)
        if problems:
            raise ToolFailure(
                f"{tool.name} was not run: " + "; ".join(problems) + ".", code="invalid_arguments",
                outcome="invalid arguments",
            )  # fmt: skip
        context = replace(
            self._box.context,
            cancel=self._cancel,
            asker=_TimedAsker(self._box.context.asker, self._watch),
            call_id=self._call.id,
            mode=mode,
            can_ask=situation.can_ask,
            progress=lambda text: self._box.progress(self._call, self._box.redact(clean(text))),
        )
        approved = self._allowed(tool, arguments, context)
        self._cancel.check()
        effect = tool.effect(approved.arguments)
        self._on_start(self._call, effect)
        self._cancel.check()  # noting it may have had to wait
        if approved.prepared.seal(approved.box) != approved.seal:  # A6
            raise ToolFailure(
                "Not run: the folder or the environment it would run in is no longer the one it was allowed for. "
                "Look at what has changed, then make the call again.",
                code="changed_since_approval",
                outcome="changed meanwhile",
            )
        self._box.started(self._call)
        self._begun = time.monotonic()
        self._acting = effect.kind in ("write", "command")
        output = approved.prepared.run(approved.box)
        with self._watch.stopped():  # what a hook takes is not the call's time
            said = self._box.remark(self._call, self.name, approved.arguments, output)
        return replace(output, text=f"{output.text}\n{said}") if said else output

    def _unknown(self) -> str:
        names = list(self._box.tools)
        near = difflib.get_close_matches(self._call.name, names, n=3, cutoff=0.5)
        hint = f"Did you mean {' or '.join(near)}?" if near else f"The tools are: {', '.join(names)}."
        more = f" More tools are found with {MCP_SEARCH_TOOLS}." if MCP_SEARCH_TOOLS in names else ""
        return f"Unknown tool: {self._call.name[: limits.PROBLEM_CHARS]}. {hint}{more}"

    def _allowed(self, tool: Tool, arguments: Args, context: ToolContext) -> _Approved:
        """Work the call out and have exactly that decided: by the rules, the hooks, the reviewer, the person (A2).

        Each can only refuse what the one before it let pass, or pass on a question. Every way out is on record. Raises
        ToolFailure on a no, TurnHalted on one that ends the turn, Interrupted.
        """
        prepared = tool.prepare(arguments, context)
        action, verdict = self._decide(prepared)
        asked = _Approved(prepared, arguments, verdict.box, prepared.seal(verdict.box))
        try:
            return self._consented(tool, context, asked, action, verdict)
        except Interrupted:
            self._record(action, verdict, "refuse", "interrupt")
            raise

    def _consented(
        self, tool: Tool, context: ToolContext, asked: _Approved, action: Action, verdict: policy.Verdict
    ) -> _Approved:
        """What comes after rules that did not refuse `asked`: gives it, or what the person made of it."""
        self._check_hooks(action, verdict, asked.arguments)
        path_asked = asked.prepared.path_verdict == "ask"
        if verdict.verdict == "allow":
            self._record(action, verdict, "allow", verdict.by)
            return asked
        if isinstance(action, CommandAction) and self._box.review is not None:
            review = self._reviewed(self._box.review, action, verdict)
            if review.verdict == "approve":
                self._record(action, verdict, "allow", "reviewer")
                return asked
            if review.text:
                why = f"{NOT_REVIEWED}: {review.text}"
                verdict = replace(verdict, text=f"{verdict.text}\n{why}" if verdict.text else why)
        reply, question = self._ask(action, path_asked, verdict)
        if reply.decision == "refuse":
            raise self._refused(action, verdict, reply.by, _refusal(reply))
        if isinstance(action, CommandAction) and reply.text and reply.text != action.command:
            return self._edited(tool, {**asked.arguments, "command": reply.text}, context, action, verdict)
        if isinstance(action, EditAction) and reply.refused:
            asked = self._partly(asked, action, verdict, reply)
            action = asked.prepared.action
        self._record(action, verdict, "allow", "person")
        if reply.decision == "session":
            self._box.grants.grant(action, path_asked, verdict.box)
        elif reply.decision == "always":
            self._box.grants.grant_always(action, reply.pattern or question.pattern, verdict.box)
        return asked

    def _partly(self, asked: _Approved, action: EditAction, verdict: policy.Verdict, reply: Reply) -> _Approved:
        """The person left hunks out: the rest is approved, and the model is told exactly what is not in it."""
        hunks = hunks_of(action.diffs)
        refused = frozenset(reply.refused) & hunks.keys()
        if not refused:
            return asked
        if len(refused) == len(hunks) or asked.prepared.without is None:
            raise self._refused(action, verdict, reply.by, _refusal(reply))
        prepared = asked.prepared.without(refused)
        left_out = {key: pair for key, pair in hunks.items() if key in refused}
        told = told_of(left_out, len(hunks), self._box.redact, reply.text)
        places = "\n".join(place_of(diff, hunk) for diff, hunk in left_out.values())
        self._box.record(Decided("edit", places, "refuse", verdict.rule, reply.by, call_id=self._call.id))
        count = f"{len(refused)} hunk{'s' if len(refused) > 1 else ''} refused"
        inner = prepared.run

        def run(box: Box) -> ToolOutput:
            output = inner(box)
            outcome = f"{output.outcome}, {count}" if output.outcome else count
            return replace(output, text=f"{output.text}\n{told}", outcome=outcome)

        return replace(asked, prepared=replace(prepared, run=run))

    def _edited(
        self, tool: Tool, arguments: Args, context: ToolContext, asked: CommandAction, verdict: policy.Verdict
    ) -> _Approved:
        """The person changed the command: what they wrote is approved, but what refuses still does."""
        try:
            prepared = tool.prepare(arguments, context)
        except ToolFailure:  # no shell can be given it, or its folder is gone
            self._record(replace(asked, command=arguments["command"]), verdict, "refuse", "rules")
            raise
        action, verdict = self._decide(prepared)
        seal = prepared.seal(verdict.box)
        self._check_hooks(action, verdict, arguments)
        self._record(action, verdict, "allow", "person")
        inner = prepared.run

        def run(box: Box) -> ToolOutput:
            output = inner(box)
            text = f"The user changed the command before it ran. It ran as: {arguments['command']}\n{output.text}"
            return replace(output, text=text)

        return _Approved(replace(prepared, run=run), arguments, verdict.box, seal)

    def _decide(self, prepared: Prepared) -> tuple[Action, policy.Verdict]:
        """What the rules say, and the action as they see it. Raises ToolFailure when they refuse."""
        action, situation = prepared.action, self._box.situation()
        trusted, hard, dangerous, held, deny, box = False, None, None, False, "", READ_ONLY
        if isinstance(action, CommandAction):
            action = policy.settled(action, situation)
            trusted = is_trusted_command(action.command, self._box.trust(Path(action.cwd))).ok
            hard = hardline.check(action.command)
            deny = denied(action.command, self._box.deny())
            box = policy.box_of(action, situation, trusted)
            dangerous = danger.detect(action.command)
            loose = dangerous and danger.detect(action.command, policy.held_by(box))
            dangerous, held = loose or dangerous, loose is None
        verdict = policy.decide(
            action,
            situation,
            trusted=trusted,
            hard=hard,
            danger=dangerous,
            held=held,
            listed=isinstance(action, WebAction) and self._box.listed(action.host),
            deny=deny,
            granted=self._box.grants.covers(action, prepared.path_verdict == "ask", box),
            path_verdict=prepared.path_verdict,
            path_rule=prepared.path_rule,
        )
        if verdict.verdict == "refuse":
            raise self._refused(action, verdict, verdict.by, verdict.text)
        return action, verdict

    def _check_hooks(self, action: Action, verdict: policy.Verdict, arguments: Args) -> None:
        """Raises ToolFailure when a hook forbids what the rules would let pass, or ask about."""
        try:
            with self._watch.stopped():
                why = self._box.veto(self._call, self.name, arguments)
        except (Interrupted, StoreError):
            raise
        except Exception:  # what cannot say that it may run does not let it run
            log.exception("the hooks before %s failed", self.name)
            why = "Refused: the hooks that stand before this call failed. It was not run. Do not try it another way."
        if why:
            raise self._refused(action, replace(verdict, rule="hook"), "hook", why, "refused by a hook")

    def _reviewed(self, ask: Reviewing, action: CommandAction, verdict: policy.Verdict) -> Review:
        """That the reviewer lets a command pass, or that a person is to be asked. Raises ToolFailure on its no."""
        try:
            with self._watch.stopped():
                review = ask(action, verdict, self._cancel)
        except (Interrupted, StoreError):
            raise
        except Exception as error:
            if isinstance(error, AgentError) and error.code == REVIEWER_BREAKER:
                self._record(action, verdict, "refuse", "reviewer")
                raise TurnHalted(error.code, error.text, **error.params) from error
            log.exception("the reviewer failed")  # one that cannot judge leaves it to a person (A4)
            return Review("escalate")
        if review.verdict == "deny":
            words = f" It says: {review.text}" if review.text else ""
            text = f"The reviewer refused this command. It was not run.{words} Do not try the same thing another way."
            raise self._refused(action, verdict, "reviewer", text)
        return review

    def _ask(self, action: Action, path_asked: bool, verdict: policy.Verdict) -> tuple[Reply, Question]:
        can_last = isinstance(action, (CommandAction, ServerAction)) or (
            isinstance(action, WebAction) and (action.is_search or not path_asked)
        )
        pattern = self._box.grants.pattern_for(action, verdict.box) if can_last else ""
        question = question_for(action, path_asked, verdict, self._call.id, pattern)
        asker = _TimedAsker(self._box.context.asker, self._watch)
        return asker.ask(question, self._cancel), question

    def _refused(
        self, action: Action, verdict: policy.Verdict, by: DecidedBy, text: str, outcome: str = "refused"
    ) -> ToolFailure:
        """A refusal, on record, as what to raise."""
        self._record(action, verdict, "refuse", by)
        return ToolFailure(text, code="refused", outcome=outcome)

    def _record(
        self, action: Action, verdict: policy.Verdict, decided: Literal["allow", "refuse"], by: DecidedBy
    ) -> None:
        match action:
            case CommandAction(command, cwd):
                words = verdict.box.words
                self._box.record(Decided("command", command, decided, verdict.rule, by, cwd, words, self._call.id))
            case EditAction(diffs):
                what = "\n".join(dict.fromkeys(path for diff in diffs for path in diff.paths))
                self._box.record(Decided("edit", what, decided, verdict.rule, by, call_id=self._call.id))
            case ReadAction(path, lends):
                what = f"{path} ({', '.join(lends)})" if lends else path
                self._box.record(Decided("read", what, decided, verdict.rule, by, call_id=self._call.id))
            case WebAction(url, host, is_search):
                what = f"{host}: {url}" if is_search else url
                self._box.record(Decided("web", what, decided, verdict.rule, by, call_id=self._call.id))
            case ServerAction(server, tool, arguments=arguments):
                what = f"{server}: {tool} {arguments}".rstrip()
                self._box.record(Decided("server", what, decided, verdict.rule, by, call_id=self._call.id))
            case KeepAction(title):
                self._box.record(Decided("keep", title, decided, verdict.rule, by, call_id=self._call.id))
            case NoAction():
                self._box.record(Decided("tool", self.name, decided, verdict.rule, by, call_id=self._call.id))


def _fitted(tool: Tool, arguments: Args) -> tuple[Args, tuple[str, ...]]:
    """The arguments as the tool takes them, and what is wrong with them."""
    return (loosely(arguments, tool.parameters), ()) if tool.foreign else coerce(arguments, tool.parameters)


def question_for(
    action: Action, path_asked: bool, verdict: policy.Verdict, call_id: str, pattern: str = ""
) -> Question:
    """The question a person is asked about this action; it shows exactly what would happen.

    `path_asked`: a path rule wants it asked. `pattern`: what "always" would grant; empty: it is not offered.
    """
    rule = verdict.rule
    decisions: tuple[Decision, ...] = ("once", "session", "refuse")
    if isinstance(action, CommandAction):
        return Question(
            "command",
            "Run a command",
            rule,
            command=action.command,
            cwd=action.cwd,
            sandbox=verdict.box.words,
            text=verdict.text,
            decisions=("once", "session", "always", "refuse") if pattern else decisions,
            grant="this exact command, in this folder",
            pattern=pattern,
            call_id=call_id,
        )
    if isinstance(action, EditAction):
        grant = "every change of this file" if path_asked else "every change of a file in the workspace"
        return Question("edit", _edit_title(action), rule, diffs=action.diffs, decisions=decisions, grant=grant,
                        call_id=call_id)  # fmt: skip
    if isinstance(action, ReadAction) and action.lends:
        title = f"Give commands {', '.join(action.lends)}"
        return Question("read", title, rule, path=action.path, lends=action.lends, decisions=("session", "refuse"),
                        grant="its commands have them until the session ends", call_id=call_id)  # fmt: skip
    if isinstance(action, ReadAction):
        return Question("read", f"Read {action.path}", rule, path=action.path, decisions=decisions,
                        grant="reading this file", call_id=call_id)  # fmt: skip
    if isinstance(action, WebAction):
        return _web_question(action, path_asked, rule, call_id, pattern)
    if isinstance(action, ServerAction):
        title = f"Call {action.title or action.tool} of {action.server}"
        return Question("server", title, rule, server=action.server, tool=action.tool, text=action.arguments,
                        decisions=("once", "session", "always", "refuse") if pattern else decisions,
                        grant="every call of this tool", pattern=pattern, call_id=call_id)  # fmt: skip
    if isinstance(action, KeepAction):
        return Question("keep", action.title, rule, diffs=action.diffs, decisions=("once", "refuse"), call_id=call_id)
    return Question("command", "Go on", rule, decisions=("once", "refuse"), call_id=call_id)


def _web_question(action: WebAction, path_asked: bool, rule: str, call_id: str, pattern: str) -> Question:
    decisions: tuple[Decision, ...] = (
        ("once", "session", "always", "refuse") if pattern else ("once", "session", "refuse")
    )
    host = action.shown or action.host
    if action.is_search:
        return Question("web", "Search the web", rule, query=action.url, host=host, decisions=decisions,
                        grant="every search there", pattern=pattern, call_id=call_id)  # fmt: skip
    # What the address carries is asked about each time.
    decisions = ("once", "refuse") if path_asked else decisions
    return Question("web", "Fetch a page", rule, url=action.url, host=host, decisions=decisions,
                    grant="every page of this host", pattern=pattern, call_id=call_id)  # fmt: skip


def _edit_title(action: EditAction) -> str:
    verbs = {"create": "Create", "edit": "Change", "delete": "Delete"}
    gone = moves(action.diffs).values()
    files = [diff for number, diff in enumerate(action.diffs) if number not in gone]
    named = {"Move" if diff.old_path else verbs[diff.change] for diff in files}
    verb = named.pop() if len(named) == 1 else "Change"
    if len(files) > 1:
        return f"{verb} {len(files)} files"
    return f"{verb} {files[0].old_path} to {files[0].path}" if files[0].old_path else f"{verb} {files[0].path}"


def _refusal(reply: Reply) -> str:
    if reply.by == "timeout":
        return (
            "BLOCKED: nobody answered in time, and silence is not consent. The call was not run. "
            "Do not try it another way; say what is blocked."
        )
    if reply.by == "unattended":
        return (
            "BLOCKED: this needs a person's consent and nobody is there. The call was not run; do what you can without."
        )
    words = f" The user says: {reply.text}" if reply.text else ""
    return "The user refused this call. It was not run." + words + " Do not try the same thing another way."


def toolbox_of(tools: Sequence[Tool]) -> dict[str, Tool]:
    return {tool.name: tool for tool in tools}
