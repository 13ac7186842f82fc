"""The question a person is asked about an action, and what the model is told when they refuse."""

from __future__ import annotations

from agent_core.intents import Decision
from agent_core.ports.actions import Action, CommandAction, EditAction, KeepAction, ReadAction, ServerAction, WebAction
from agent_core.ports.asking import Question, Reply
from agent_core.safety import policy
from agent_core.text.diff import moves


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


def refusal(reply: Reply) -> str:
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
    # What the person says stands last: our own sentence behind it would read as theirs.
    return "The user refused this call. It was not run. Do not try the same thing another way." + words
