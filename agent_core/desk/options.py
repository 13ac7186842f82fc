"""What the config says, as the plain values that other rooms take. Pure: each function reads one set of settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from agent_core import limits
from agent_core.config.load import Config
from agent_core.config.paths import Places
from agent_core.desk.models import ModelSettings
from agent_core.llm import mixtures, providers
from agent_core.llm.providers import ProviderOptions
from agent_core.mind import prompt
from agent_core.mind.budget import Budget
from agent_core.mind.compaction import Options as CompactionOptions
from agent_core.mind.compaction import Profile
from agent_core.mind.guard import GuardRules
from agent_core.names import PERSONAS
from agent_core.ports.model import LlmRequest
from agent_core.session.services import ReviewOptions
from agent_core.toolsets import NOT_OFFERED

if TYPE_CHECKING:
    from agent_core.checkpoints.keeper import Options as CheckpointOptions
    from agent_core.confinement import Options as WallOptions
    from agent_core.memory.markdown import Room
    from agent_core.subagents.order import CrewOptions

_WHOSE_MODEL: Final = (
    "model.default", "model.provider", "model.base_url", "providers", "fallback_providers", "fallback_model",
    "moa",
)  # fmt: skip
"""Settings that decide which model a request goes to."""


# -- the model ----------------------------------------------------------------------------------------------------


CHILDREN: Final = "delegation"
"""What the server of delegation.base_url is called among the providers."""


def provider(config: Config) -> ProviderOptions:
    """Whom to ask."""
    get = config.get
    listed = config.mapping("providers")
    if _has_childrens_server(config):
        named = providers.known(get("delegation.provider"))
        entry = {
            "preset": named.name if named is not None else "custom",
            "base_url": get("delegation.base_url"),
            "api_key_env": get("delegation.api_key_env"),
            "api_mode": get("delegation.api_mode"),
        }
        listed = {**listed, CHILDREN: entry}
    return ProviderOptions(
        model=get("model.default") or "",
        provider=get("model.provider") or "",
        base_url=get("model.base_url") or "",
        api_key_env=get("model.api_key_env") or "",
        providers=listed,
        max_attempts=get("retry.max_attempts"),
        retry_base=get("retry.base_ms") / 1000,
        retry_after_max=get("retry.max_wait"),
        idle_timeout=get("stream.idle_timeout"),
        progress_timeout=get("stream.progress_timeout"),
        images=get("agent.image_input_mode"),
        mixtures=mixtures.parse(config.mapping("moa"), {w.key: w.text for w in config.warnings}),
    )


def _has_childrens_server(config: Config) -> bool:
    """Sub-agents have a server of their own: an address and a model there."""
    return bool(config.get("delegation.base_url") and config.get("delegation.model"))


def models(config: Config) -> ModelSettings:
    """Whom to ask, and who stands in."""
    get = config.get
    return ModelSettings(
        provider(config),
        get("fallback_providers"),
        get("fallback_model"),
        get("fallback.min_switch_reset_seconds"),
        named=is_model_named(config),
        window=get("model.context_length"),
        hour_cache=get("prompt_caching.cache_ttl") == "1h",
    )


def is_model_named(config: Config) -> bool:
    """The model was named on the command line."""
    return config.sources["model.default"] == "command line"


def request(config: Config) -> LlmRequest:
    """What is the same in every request."""
    get = config.get
    return LlmRequest(
        (),
        stream=get("stream.enabled"),
        reasoning_effort=get("agent.reasoning_effort") or None,
        max_tokens=get("model.max_tokens"),
        temperature=get("model.temperature"),
        cache_ttl=get("prompt_caching.cache_ttl").replace("off", ""),
    )


def personas(config: Config) -> dict[str, str]:
    """The texts by name of the personas that come with the program and of `personalities`, which go before them.

    Hermes also writes them as a mapping of system_prompt, tone and style. One without a text takes its name away.
    """
    out = {name: prompt.text(f"persona_{name}") for name in PERSONAS}
    for name, entry in config.get("personalities").items():
        parts = (
            [entry.get("system_prompt"), entry.get("tone"), entry.get("style")]
            if isinstance(entry, Mapping)
            else [entry]
        )
        if text := "\n".join(part.strip() for part in parts if isinstance(part, str) and part.strip()):
            out[str(name)] = text
        else:
            out.pop(str(name), None)
    return out


# -- bounds -------------------------------------------------------------------------------------------------------


def budget(config: Config) -> Budget:
    get = config.get
    return Budget(get("budget.tokens"), get("budget.cost"), get("budget.minutes"))


def memory_room(config: Config) -> Room:
    """Characters of MEMORY.md and of USER.md."""
    return {"memory": config.get("memory.memory_char_limit"), "user": config.get("memory.user_char_limit")}


def compaction(config: Config) -> CompactionOptions:
    get, of = config.get, "compression"
    profile: Profile = "tokens" if get(f"{of}.profile") == "tokens" else "nano"
    return CompactionOptions(
        enabled=get(f"{of}.enabled"),
        profile=profile,
        threshold=get(f"{of}.threshold"),
        target_ratio=get(f"{of}.target_ratio"),
        protect_first=get(f"{of}.protect_first_n"),
        protect_last=get(f"{of}.protect_last_n"),
        keep_tokens=get(f"{of}.keep_recent_tokens"),
        max_attempts=get(f"{of}.max_attempts"),
        keep_on_failure=get(f"{of}.abort_on_summary_failure"),
        model=get(f"auxiliary.{of}.model"),
        provider=get(f"auxiliary.{of}.provider"),
    )


def guard(config: Config, *, unattended: bool) -> GuardRules:
    """What stops a model that goes round in circles. `unattended`: nobody is there to stop it."""
    get, of = config.get, "tool_loop_guardrails"
    hard_stop = get(f"{of}.hard_stop_enabled")
    return GuardRules(
        get(f"{of}.warnings_enabled"),
        unattended if hard_stop is None else hard_stop,
        get(f"{of}.warn_after.exact_failure"),
        get(f"{of}.hard_stop_after.exact_failure"),
        get(f"{of}.warn_after.same_tool_failure"),
        get(f"{of}.hard_stop_after.same_tool_failure"),
    )


def checkpoints(config: Config, places: Places) -> CheckpointOptions:
    """What is kept of changed files."""
    from agent_core.checkpoints.keeper import Options  # no start waits for it

    get = config.get
    return Options(
        get("checkpoints.max_snapshots"),
        get("checkpoints.max_total_size_mb") * limits.MB,
        get("checkpoints.max_file_size_mb") * limits.MB,
        get("checkpoints.retention_days"),
        tuple(get("files.deny_read")),
        places.folders(get("sandbox.add_dirs")),
    )


def crew(config: Config) -> CrewOptions:
    """Whom sub-agents ask, and how far they go."""
    from agent_core.subagents.order import CrewOptions  # no start waits for it

    get, of = config.get, "delegation"
    return CrewOptions(
        get(f"{of}.model"),
        CHILDREN if _has_childrens_server(config) else get(f"{of}.provider"),
        get(f"{of}.max_iterations"),
        get(f"{of}.subagent_auto_approve"),
        get(f"{of}.child_timeout_seconds"),
        tuple(get(f"{of}.fallback_providers")),
        get(f"{of}.max_concurrent_children"),
    )


def tools_off(config: Config) -> tuple[str, ...]:
    """Names of tools and of sets of them that a session begins without."""
    offered = NOT_OFFERED if config.get("delegation.background") else frozenset()
    return (*config.get("agent.disabled_toolsets"), *sorted(NOT_OFFERED - offered))


# -- safety -------------------------------------------------------------------------------------------------------


def review(config: Config, places: Places) -> ReviewOptions | None:
    """None also where the project says who is asked: its own choice of a model must not answer for the person."""
    get = config.get
    folders = (folder for folder in (places.project_hermes_dir, places.project_dir) if folder is not None)
    project = {str(folder / "config.yaml") for folder in folders}
    named_there = any(config.sources[key] in project for key in _WHOSE_MODEL)
    if get("approvals.mode") != "smart" or named_there:
        return None
    return ReviewOptions(get("auxiliary.approval.model"), get("auxiliary.approval.provider"))


def walls(config: Config, places: Places) -> WallOptions:
    """What stands around the commands of a session."""
    from agent_core.confinement import Options  # no start waits for it

    get = config.get
    return Options(
        places.folders(get("sandbox.add_dirs")),
        places.folders(get("files.write_safe_roots")),
        get("sandbox.max_processes"),
        (get("sandbox.max_memory_mb") or 0) * limits.MB,
    )
