"""One small tree of errors. Each carries a code, parameters, and English text that ends with the way out.

A face translates by `code` and `params`; `str(error)` is always fit to show to a person.
"""

from __future__ import annotations

from typing import Any, Literal


class AgentError(Exception):
    """The root: anything the program knows how to explain."""

    def __init__(self, code: str, text: str, **params: Any) -> None:
        super().__init__(text)
        self.code = code
        self.text = text
        self.params: dict[str, Any] = params


def crash(error: Exception) -> AgentError:
    """What to tell of an exception nobody expected; its traceback belongs in the log."""
    kind = type(error).__name__
    return AgentError("crash", f"Something crashed: {kind}: {error}. The log has the details.", error=kind)


class ConfigError(AgentError):
    """A setting that cannot be used; the text names file, line and key."""


class StoreError(AgentError):
    """The session store could not be read or written."""


def abandoned() -> StoreError:
    """What whoever was given up meets when it still wants something kept."""
    return StoreError("abandoned", "This step was given up; what it still does is not kept.")


class MemoryFailure(AgentError):
    """What is remembered over sessions could not be read, changed, or may not be kept; the text says what to do."""


class SkillFailure(AgentError):
    """A skill could not be found, read or written; the text says what to do."""


class ToolFailure(AgentError):
    """A tool could not do what was asked. The text is for the model and says how to do better."""

    def __init__(self, text: str, *, code: str = "tool_failure", outcome: str = "", **params: Any) -> None:
        super().__init__(code, text, **params)
        self.outcome = outcome
        """A few words for the tool card; empty = "failed"."""


class SandboxError(AgentError):
    """A command could not be confined as it had to be, and so was not run; the text names what is missing (S1)."""


class BudgetReached(AgentError):
    """A session's budget does not allow another request. The turn ends as one that has reached its cap."""


class TurnHalted(AgentError):
    """What was to be done is refused, and the turn is not to go on by itself."""


class Interrupted(AgentError):
    """The turn was stopped while something waited."""

    def __init__(self) -> None:
        super().__init__("interrupted", "Stopped.")


ProviderErrorKind = Literal[
    "rate_limit",
    "server",
    "network",
    "timeout",
    "truncated",
    "protocol",
    "bad_tool_call",
    "auth",
    "not_found",
    "bad_request",
    "quota",
    "content_filter",
    "context_length",
    "tools_unsupported",
]

RETRYABLE: frozenset[str] = frozenset(
    {"rate_limit", "server", "network", "timeout", "truncated", "protocol", "bad_tool_call"}
)


GIVEN_BACK: frozenset[str] = frozenset({"session_in_use", "session_persistence_failed:locked", "store_locked"})
"""Codes of what another program holds now and gives back by itself: worth another try later."""


class ProviderError(AgentError):
    """A model server refused, failed or fell silent.

    `kind` is the error class; `retryable` follows from it unless given.
    """

    def __init__(
        self,
        kind: ProviderErrorKind,
        text: str,
        *,
        status: int | None = None,
        retryable: bool | None = None,
        retry_after: float | None = None,
        partial_text: str = "",
        partial_reasoning: str = "",
        **params: Any,
    ) -> None:
        super().__init__(kind, text, **params)
        self.kind: ProviderErrorKind = kind
        self.status = status
        self.retryable = kind in RETRYABLE if retryable is None else retryable
        self.retry_after = retry_after
        """Seconds the server asked to wait, if it did."""
        self.partial_text = partial_text
        """What had been delivered of the failed try's text."""
        self.partial_reasoning = partial_reasoning
