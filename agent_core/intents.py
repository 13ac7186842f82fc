"""What a listener tells a session. Every intent is data; sending one never blocks and never touches disk or network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from agent_core.messages import ImagePart
from agent_core.names import ApprovalPolicy, Mode
from agent_core.records import dataclass


@dataclass(frozen=True, slots=True)
class Submit:
    """Start a turn with this text, or queue it when one is running."""

    text: str
    images: tuple[ImagePart, ...] = ()


@dataclass(frozen=True, slots=True)
class Steer:
    """Give the running turn this text at its next step boundary; idle, the same as Submit."""

    text: str


@dataclass(frozen=True, slots=True)
class Queue:
    """Start a turn with this text when the running one has ended."""

    text: str


@dataclass(frozen=True, slots=True)
class TakeBack:
    """Take the newest text that is still pending (steer or queue) back; it returns as an event."""


@dataclass(frozen=True, slots=True)
class TextTaken:
    """A text that had returned (TextReturned) is in the draft, and that draft was given to Host.keep_draft.

    Until then the text stays on disk and would return again, so that a crash in between cannot lose it.
    """

    text: str
    """As it had come."""


@dataclass(frozen=True, slots=True)
class Shell:
    """Run a command of the person's own in the workspace, now; a running turn goes on beside it.

    It starts no turn. The model is told of it with its next request, unless `private`.
    """

    command: str
    private: bool = False


@dataclass(frozen=True, slots=True)
class Interrupt:
    """Stop the running turn and the person's own commands.

    `abandon` gives a stuck worker up and frees the session at once.
    """

    abandon: bool = False


Decision = Literal["once", "session", "always", "refuse"]


@dataclass(frozen=True, slots=True)
class Answer:
    """The person's answer to a Question.

    `text`: the words of a refusal, also of hunks alone, the reply to ask_user, or an edited command (which is checked
    anew before it runs).
    """

    question_id: str
    decision: Decision
    text: str = ""
    pattern: str = ""
    """With "always": what is to be granted, as the person left it; empty: what the question offered."""
    refused: tuple[str, ...] = ()
    """Hunks of an allowed change that are left out, as "file.hunk" by their places in Question.diffs: "0.2"."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """What was filled into Question.form, by the names of its fields."""


@dataclass(frozen=True, slots=True)
class SetMode:
    """Switch the mode; it acts on the next step.

    One in which the model acts unasked (names.MODES_ALONE) is confirmed once in a workspace: without `confirmed` the
    session then answers with ModeToConfirm and stays as it is.
    """

    mode: Mode
    confirmed: bool = False


@dataclass(frozen=True, slots=True)
class SetGoal:
    """Work towards this in mode goal, from now on; a turn is started with it. Empty: the goal is given up."""

    text: str


@dataclass(frozen=True, slots=True)
class SetPolicy:
    policy: ApprovalPolicy


@dataclass(frozen=True, slots=True)
class SetModel:
    """`model` alone, or `provider/model` where provider is a preset or a configured one; "": the configured one.

    It acts on the next request, in a running turn too.
    """

    model: str
    provider: str = ""
    """Whose it is, where that is known."""


@dataclass(frozen=True, slots=True)
class Undo:
    """Take the last `turns` user turns out of the conversation; files are not touched."""

    turns: int = 1


@dataclass(frozen=True, slots=True)
class Redo:
    """Put back what the last undo took out, as long as nothing was said since."""


@dataclass(frozen=True, slots=True)
class Rewind:
    """Take the user message with this id, and everything after it, out of the conversation; `Redo` puts it back."""

    message_id: str


@dataclass(frozen=True, slots=True)
class Resend:
    """Rewind to the user message with this id and start a turn with this text in its place; its images stay."""

    message_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Retry:
    """Rewind the last turn and start it again with the same message."""


@dataclass(frozen=True, slots=True)
class Redirect:
    """Correct the running turn now: a reply under way is cut, what it had said is kept, and this comes next (INT-08).

    While tools run it is the same as Steer; idle, the same as Submit.
    """

    text: str


@dataclass(frozen=True, slots=True)
class Compact:
    """Summarise the older part of what requests hold, now. `focus` says what the summary should keep above all."""

    focus: str = ""


@dataclass(frozen=True, slots=True)
class SetView:
    """Drop messages from what requests hold, pin them there, or give them back ("")."""

    message_ids: tuple[str, ...]
    view: Literal["", "dropped", "pinned"]


@dataclass(frozen=True, slots=True)
class SetOptions:
    """The session's own settings, all of them as they are to be. They act on the next request."""

    persona: str = ""
    """The name of a configured persona; empty: the program's own words."""
    temperature: float | None = None
    """None: not sent."""
    reasoning_effort: str = ""
    """Empty: as configured."""
    tools_off: tuple[str, ...] | None = None
    """The tools that the model is not offered, by their names; None: as configured (agent.disabled_toolsets)."""


@dataclass(frozen=True, slots=True)
class Rollback:
    """Bring files back to what they were before a turn: those of its plan (Host.checkpoints.plan) that are named.

    The conversation stays as it is; the model is told. Never under a running turn.
    """

    turn_id: str
    paths: tuple[str, ...] = ()
    """As in PlannedFile.path; empty: all that the plan would act on."""


@dataclass(frozen=True, slots=True)
class RollbackRedo:
    """Take the last rollback back, exactly, where nothing has changed since."""


@dataclass(frozen=True, slots=True)
class KillTask:
    """End a command in the background, at once."""

    task_id: str


@dataclass(frozen=True, slots=True)
class KeepTask:
    """Let a command in the background outlive the program, or no longer."""

    task_id: str
    keep: bool


@dataclass(frozen=True, slots=True)
class StopAgent:
    """Stop a sub-agent; the call that waits for it is told so."""

    agent_id: str


@dataclass(frozen=True, slots=True)
class SteerAgent:
    """Give a running sub-agent this text at its next step boundary."""

    agent_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Rename:
    title: str


@dataclass(frozen=True, slots=True)
class Rest:
    """Let go of what only a session at work needs. Nothing happens while anything of it runs, waits or is unsaved.

    It answers with Resting. Whatever is sent to it next, and LiveSession.start, wake it: it goes on as it was, and
    tells its history anew.
    """


@dataclass(frozen=True, slots=True)
class Close:
    """End the session's worker; a running turn is stopped first."""


Intent = (
    Submit
    | Steer
    | Queue
    | TakeBack
    | TextTaken
    | Shell
    | Interrupt
    | Answer
    | SetMode
    | SetGoal
    | SetPolicy
    | SetModel
    | Undo
    | Redo
    | Rewind
    | Resend
    | Retry
    | Redirect
    | Compact
    | SetView
    | SetOptions
    | Rollback
    | RollbackRedo
    | KillTask
    | KeepTask
    | StopAgent
    | SteerAgent
    | Rename
    | Rest
    | Close
)
