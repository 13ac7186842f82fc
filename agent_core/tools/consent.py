"""Whether a call may run: what the rules, the hooks, the reviewer and the person say of exactly what it would do."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Literal

from agent_core.cancel import CancelScope
from agent_core.errors import AgentError, Interrupted, StoreError, ToolFailure, TurnHalted
from agent_core.messages import ToolCall
from agent_core.names import NOT_REVIEWED
from agent_core.ports.actions import (
    Action,
    CommandAction,
    EditAction,
    KeepAction,
    NoAction,
    ReadAction,
    ServerAction,
    WebAction,
)
from agent_core.ports.asking import Decided, DecidedBy, Question, Reply, Review
from agent_core.ports.tools import Args, Prepared, Tool, ToolContext, ToolOutput
from agent_core.records import dataclass
from agent_core.safety import danger, hardline, policy
from agent_core.safety.deny import denied
from agent_core.safety.shell_trust import is_trusted_command
from agent_core.sandbox.policy import READ_ONLY, Box
from agent_core.text.diff import hunks_of
from agent_core.tools.question import question_for, refusal
from agent_core.tools.refused_hunks import place_of, told_of
from agent_core.tools.stopwatch import Stopwatch, TimedAsker
from agent_core.tools.toolbox import Reviewing, Toolbox

log = logging.getLogger(__name__)

REVIEWER_BREAKER = "reviewer_breaker"
"""Code of the error that a reviewer raises when it has refused too often in a row (A5)."""


@dataclass(frozen=True, slots=True)
class Approved:
    """A call that may run, or may be asked about, and what exactly that is."""

    prepared: Prepared
    arguments: Args
    box: Box
    seal: str


class Consent:
    """Has one call decided: by the rules, the hooks, the reviewer, the person (A2). Every way out is on record."""

    def __init__(self, box: Toolbox, call: ToolCall, name: str, cancel: CancelScope, watch: Stopwatch) -> None:
        """`name`: the tool's own, or what the call named when there is no such tool."""
        self._box = box
        self._call = call
        self._name = name
        self._cancel = cancel
        self._watch = watch

    def allowed(self, tool: Tool, arguments: Args, context: ToolContext) -> Approved:
        """Work the call out and have exactly that decided.

        Each in turn can only refuse what the one before it let pass, or pass on a question. Raises ToolFailure on a no,
        TurnHalted on one that ends the turn, Interrupted.
        """
        prepared = tool.prepare(arguments, context)
        action, verdict = self._decide(prepared)
        asked = Approved(prepared, arguments, verdict.box, prepared.seal(verdict.box))
        try:
            return self._consented(tool, context, asked, action, verdict)
        except Interrupted:
            self._record(action, verdict, "refuse", "interrupt")
            raise

    def _consented(
        self, tool: Tool, context: ToolContext, asked: Approved, action: Action, verdict: policy.Verdict
    ) -> Approved:
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
            raise self.refused(action, verdict, reply.by, refusal(reply))
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

    def _partly(self, asked: Approved, action: EditAction, verdict: policy.Verdict, reply: Reply) -> Approved:
        """The person left hunks out: the rest is approved, and the model is told exactly what is not in it."""
        hunks = hunks_of(action.diffs)
        refused = frozenset(reply.refused) & hunks.keys()
        if not refused:
            return asked
        if len(refused) == len(hunks) or asked.prepared.without is None:
            raise self.refused(action, verdict, reply.by, refusal(reply))
        prepared = asked.prepared.without(refused)
        left_out = {key: pair for key, pair in hunks.items() if key in refused}
        told = told_of(left_out, len(hunks), self._box.redact, reply.text)
        places = "\n".join(place_of(diff, hunk) for diff, hunk in left_out.values())
        self._box.record(Decided("edit", places, "refuse", verdict.rule, reply.by, call_id=self._call.id))
        count = f"{len(refused)} hunk{'s' if len(refused) > 1 else ''} refused"
        inner = prepared.run

        def run(box: Box) -> ToolOutput:
            output = inner(box)
            if not output.ok:  # the others are not in the file either, or nobody knows
                return output
            outcome = f"{output.outcome}, {count}" if output.outcome else count
            return replace(output, text=f"{output.text}\n{told}", outcome=outcome)

        return replace(asked, prepared=replace(prepared, run=run))

    def _edited(
        self, tool: Tool, arguments: Args, context: ToolContext, asked: CommandAction, verdict: policy.Verdict
    ) -> Approved:
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
            return replace(output, text=text, outcome=f"edited, {output.outcome}" if output.outcome else "edited")

        return Approved(replace(prepared, run=run), arguments, verdict.box, seal)

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
            raise self.refused(action, verdict, verdict.by, verdict.text)
        return action, verdict

    def _check_hooks(self, action: Action, verdict: policy.Verdict, arguments: Args) -> None:
        """Raises ToolFailure when a hook forbids what the rules would let pass, or ask about."""
        try:
            with self._watch.stopped():
                why = self._box.veto(self._call, self._name, arguments)
        except (Interrupted, StoreError):
            raise
        except Exception:  # what cannot say that it may run does not let it run
            log.exception("the hooks before %s failed", self._name)
            why = "Refused: the hooks that stand before this call failed. It was not run. Do not try it another way."
        if why:
            raise self.refused(action, replace(verdict, rule="hook"), "hook", why, "refused by a hook")

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
            raise self.refused(action, verdict, "reviewer", text)
        return review

    def _ask(self, action: Action, path_asked: bool, verdict: policy.Verdict) -> tuple[Reply, Question]:
        can_last = isinstance(action, (CommandAction, ServerAction)) or (
            isinstance(action, WebAction) and (action.is_search or not path_asked)
        )
        pattern = self._box.grants.pattern_for(action, verdict.box) if can_last else ""
        question = question_for(action, path_asked, verdict, self._call.id, pattern)
        asker = TimedAsker(self._box.context.asker, self._watch)
        return asker.ask(question, self._cancel), question

    def refused(
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
                self._box.record(Decided("tool", self._name, decided, verdict.rule, by, call_id=self._call.id))
