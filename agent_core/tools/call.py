"""From a call the model asked for to its result: find the tool, check, have it decided, run, clamp, redact.

Every way out of a call leads through here, and every one is a result the model can use (TOOL-06).
"""

from __future__ import annotations

import difflib
import logging
import time
from collections.abc import Callable
from dataclasses import replace

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.errors import Interrupted, StoreError, ToolFailure, TurnHalted
from agent_core.messages import EffectState, FileDiff, ToolCall, ToolResult
from agent_core.names import MCP_SEARCH_TOOLS, TOOL_ALIASES
from agent_core.ports.actions import NoAction
from agent_core.ports.tools import ToolOutput
from agent_core.safety import policy
from agent_core.spill import FOLDER, Results
from agent_core.text.ansi import clean
from agent_core.tools.consent import Consent
from agent_core.tools.stopwatch import Stopwatch, TimedAsker
from agent_core.tools.toolbox import OnStart, Toolbox, fitted
from agent_core.toolsets import is_off

log = logging.getLogger(__name__)


def run_call(
    box: Toolbox, call: ToolCall, cancel: CancelScope, on_start: OnStart, watch: Stopwatch | None = None
) -> ToolResult:
    """The call's result. Raises StoreError when its start could not be noted, and TurnHalted when the turn is not
    to go on: it has then not been run."""
    attempt = _Attempt(box, call, cancel, on_start, watch or Stopwatch())
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
    results = box.results or Results(box.context.bounds, box.context.data_home / FOLDER)
    is_large = len(output.text) > limits.RESULT_LARGE
    text = results.fit(attempt.remark + (box.redact(output.text) or "(no output)"), attempt.name)
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
        box.redact(clean(output.outcome)),
        tuple(box.redact(clean(line)) for line in output.preview),
        tuple(_without_keys(diff, box.redact) for diff in output.diffs),
        attempt.seconds,
        output.images,
    )


def _without_keys(diff: FileDiff, redact: Callable[[str], str]) -> FileDiff:
    """The diff as it may be stored and shown afterwards; the person who approved it saw it exactly."""
    hunks = tuple(
        replace(hunk, lines=tuple(replace(line, text=redact(line.text)) for line in hunk.lines)) for hunk in diff.hunks
    )
    return replace(diff, hunks=hunks)


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
        self._consent = Consent(box, call, self.name, cancel, watch)

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
        if is_off(tool.off_with or tool.name, tool.toolset, self._box.off()):
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
            raise self._consent.refused(
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
        arguments, problems = fitted(tool, self._call.arguments)
        if problems:
            raise ToolFailure(
                f"{tool.name} was not run: " + "; ".join(problems) + ".", code="invalid_arguments",
                outcome="invalid arguments",
            )  # fmt: skip
        context = replace(
            self._box.context,
            cancel=self._cancel,
            asker=TimedAsker(self._box.context.asker, self._watch),
            call_id=self._call.id,
            mode=mode,
            can_ask=situation.can_ask,
            progress=lambda text: self._box.progress(self._call, self._box.redact(clean(text))),
        )
        approved = self._consent.allowed(tool, arguments, context)
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
