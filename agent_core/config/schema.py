"""The table of settings: every key, its type, default and bounds, and who may set it.

Names follow the Hermes schema (CFG-02); keys that Hermes knows and this program does not use are listed here too, so
that its files load without complaint.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence
from typing import Any, Final, Literal

from agent_core import limits
from agent_core.names import APPROVAL_POLICIES, SANDBOX_MODES
from agent_core.records import dataclass

Kind = Literal["text", "flag", "whole", "number", "texts", "list", "mapping", "model", "names"]
Danger = Literal["harmless", "bound", "user-only", "tighten"]
"""What the config of a project may do with a key before the project is trusted (CFG-04): set it; only lower it; not
touch it. A trusted one may set them all, but with "tighten" it may make the user's value stricter at most (A7)."""

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Key:
    name: str
    """Dotted."""
    kind: Kind
    """"model": a text, or Hermes' mapping of `provider` and `model`, which becomes "provider/model". "names": a list of
    names, or a text with commas between them, which it becomes."""
    default: Any
    doc: str
    danger: Danger = "user-only"
    choices: tuple[str, ...] = ()
    least: float = -math.inf
    most: float = math.inf
    endless: bool = False
    """0, null and "unlimited" mean that there is no bound; the value is 0 then."""
    blank: str = ""
    """A text that means the same as an empty one."""
    off: str = ""
    """The choice that `off` is another name of."""

    @property
    def allowed(self) -> str:
        """What the key accepts, in words."""
        if self.choices:
            return "one of " + ", ".join(choice or '""' for choice in self.choices)
        words = _KIND_WORDS[self.kind]
        if self.least == self.most:
            words = f"{self.least:g}, which is fixed"
        elif self.least > -math.inf and self.most < math.inf:
            words += f" from {self.least:g} to {self.most:g}"
        elif self.least > -math.inf:
            words += f" of at least {self.least:g}"
        return words + (", or 0 for no bound" if self.endless else "")


_KIND_WORDS: Final[dict[Kind, str]] = {
    "text": "a text",
    "flag": "true or false",
    "whole": "a whole number",
    "number": "a number",
    "texts": "a list of texts",
    "list": "a list",
    "mapping": "a mapping",
    "model": "a model's name, or a mapping with provider and model",
    "names": "a name, or a list of names",
}

DAY: Final = 86_400.0

KEYS: Final[tuple[Key, ...]] = (
    # The model.
    Key("model.default", "text", "", "The model: its name, or provider/name.", "harmless"),
    Key("model.provider", "text", "", "The provider; empty or auto: the first whose key is set.", blank="auto"),
    Key("model.base_url", "text", "", "The address of an OpenAI-compatible server."),
    Key(
        "model.api_key_env",
        "names",
        "",
        "The variable that holds the key for model.base_url; several, or NAME_2 and so on beside NAME, take turns.",
    ),
    Key("model.context_length", "whole", None, "Tokens the model can take; unset: asked or guessed.", "bound", least=1),
    Key("model.temperature", "number", None, "Temperature of requests; unset: not sent.", least=0, most=2),
    Key("model.max_tokens", "whole", None, "Tokens of one reply; unset: the model's own bound.", "bound", least=1),
    Key(
        "providers",
        "mapping",
        {},
        "Servers by name: base_url, api_key_env, preset, model, api_mode, prices, and quirks; see docs/models.md.",
    ),
    Key("fallback_model", "model", "", "One more at the end of fallback_providers: a name, or provider/name."),
    Key(
        "fallback_providers",
        "list",
        [],
        "Models that stand in for the rest of a turn when the first one fails for good, in order: provider and model.",
    ),
    Key(
        "fallback.min_switch_reset_seconds",
        "number",
        0.0,
        "A first choice that asks to slow down for no longer than this is waited for; 0: another stands in at once.",
        least=0,
        most=DAY,
    ),
    Key(
        "moa",
        "mapping",
        {},
        "Mixtures of agents by name (presets): models that advise, and the one that answers; see docs/models.md.",
    ),
    # The loop.
    Key(
        "agent.max_turns",
        "whole",
        limits.MAX_STEPS,
        "Model round trips in one turn.",
        "bound",
        least=0,
        endless=True,
    ),
    Key(
        "agent.reasoning_effort",
        "text",
        "",
        "How much the model thinks first; empty: its default.",
        choices=("", "none", "minimal", "low", "medium", "high", "xhigh", "max"),
    ),
    Key(
        "agent.image_input_mode",
        "text",
        "auto",
        "Whether the model is shown images: auto, until its server refuses them; native, always; text, only told of.",
        choices=("auto", "native", "text"),
    ),
    Key(
        "agent.disabled_toolsets",
        "texts",
        [],
        "Tools and sets of them that sessions begin without; /tools shows them all. A project may add to them.",
        "tighten",
    ),
    Key(
        "prompt_caching.cache_ttl",
        "text",
        "5m",
        "How long a server that has to be told remembers what it was sent (Anthropic); 1h costs more to write.",
        choices=("5m", "1h", "off"),
    ),
    Key("retry.max_attempts", "whole", limits.RETRY_ATTEMPTS, "Tries of one request.", "bound", least=1, most=20),
    Key("retry.base_ms", "whole", int(limits.RETRY_BASE * 1000), "First wait between two tries.", least=0, most=60_000),
    Key(
        "retry.max_wait",
        "number",
        limits.RETRY_AFTER_MAX,
        "Seconds of waiting that a server may ask for; a longer wait fails at once.",
        "bound",
        least=0,
        most=DAY,
    ),
    Key("stream.enabled", "flag", True, "Show replies while they arrive."),
    Key(
        "stream.idle_timeout",
        "number",
        None,
        f"Seconds without a byte; unset: {limits.STREAM_IDLE:g}, on a local server {limits.STREAM_IDLE_LOCAL:g}.",
        "bound",
        least=1,
        most=DAY,
    ),
    Key(
        "stream.progress_timeout",
        "number",
        None,
        f"Seconds without content; unset: {limits.STREAM_PROGRESS:g}.",
        "bound",
        least=1,
        most=DAY,
    ),
    Key(
        "personalities",
        "mapping",
        {},
        "Manners of speaking by name, each a text for the system prompt; see /persona. One takes the place of that of "
        "the same name which comes with the program; an empty one takes it away.",
    ),
    # What a session and its children may use.
    Key("budget.tokens", "whole", 0, "Tokens of all its requests, sent and received.", "bound", least=0, endless=True),
    Key(
        "budget.cost",
        "number",
        0.0,
        "US dollars; a model without a known price is refused.",
        "bound",
        least=0,
        endless=True,
    ),
    Key("budget.minutes", "number", 0.0, "Minutes that its turns run.", "bound", least=0, endless=True),
    # What needs consent.
    Key(
        "approvals.policy", "text", "untrusted", "When a person is asked.", choices=APPROVAL_POLICIES, danger="tighten"
    ),
    Key(
        "approvals.mode",
        "text",
        "manual",
        "Who answers: manual is a person; smart is a model first, for commands that the kernel confines; off is "
        "approvals.policy never.",
        choices=("manual", "smart", "off"),
        danger="tighten",
    ),
    Key(
        "approvals.timeout",
        "number",
        limits.APPROVAL_TIMEOUT,
        "Seconds a question waits; then the answer is no.",
        "tighten",
        least=1,
        most=DAY,
    ),
    Key(
        "approvals.deny",
        "texts",
        [],
        "Patterns of commands that are never run, whatever else allows them.",
        danger="tighten",
    ),
    # What commands may reach.
    Key(
        "sandbox.mode",
        "text",
        "workspace-write",
        "What commands may write: nothing, the workspace, or everything (no sandbox, also written off).",
        choices=SANDBOX_MODES,
        off="danger-full-access",
        danger="tighten",
    ),
    Key("sandbox.network", "flag", False, "Commands may use the network without asking.", danger="tighten"),
    Key(
        "sandbox.add_dirs",
        "texts",
        [],
        "Folders beside the workspace that tools and commands may write.",
        danger="tighten",
    ),
    Key(
        "sandbox.max_processes",
        "whole",
        limits.SANDBOX_PROCESSES,
        "That a command may have at once.",
        least=1,
        danger="tighten",
    ),
    Key("sandbox.max_memory_mb", "whole", 0, "That a command may take.", least=0, endless=True, danger="tighten"),
    Key(
        "files.write_safe_roots",
        "texts",
        [],
        "When given, tools and commands write only below these folders, wherever else they might: a workspace that "
        "lies in none of them can only be read.",
        danger="tighten",
    ),
    Key(
        "files.deny_read",
        "texts",
        [],
        "Patterns of files, as in .gitignore, that are read only with consent, beside names of keys such as .env. More "
        "of them: the file `ignore` in our home, and a workspace's `.nanohermesignore`.",
        danger="tighten",
    ),
    # Tools.
    Key("terminal.backend", "text", "local", "Where commands run; local is the only place.", choices=("local",)),
    Key(
        "terminal.timeout",
        "number",
        limits.COMMAND_TIMEOUT,
        "Seconds a command may take.",
        "bound",
        least=1,
        most=limits.COMMAND_TIMEOUT_MAX,
    ),
    Key(
        "tool_output.profile",
        "text",
        "nano",
        f"How much of results the model is given: nano is {limits.TOOL_RESULT // limits.KB} KB each; hermes is "
        f"{limits.HERMES_RESULT:,} characters each and {limits.HERMES_TURN:,} a turn. What is longer lies in a file.",
        choices=("nano", "hermes"),
    ),
    Key(
        "agent.batch_timeout",
        "number",
        limits.BATCH_TIMEOUT,
        "Seconds after which tool calls that do not end are given up; a longer time that one asked for counts.",
        "bound",
        least=1,
        most=DAY,
    ),
    # What happens to a conversation that grows too long.
    Key(
        "compression.enabled", "flag", True, "Summarise the older part of a long conversation; /compact works without."
    ),
    Key(
        "compression.profile",
        "text",
        "nano",
        f"nano: at {limits.CONTEXT_CHARS:,} characters, {limits.KEEP_RECENT} messages stay; tokens: by the model's "
        "window and the keys below. A small window counts in both.",
        choices=("nano", "tokens"),
    ),
    Key(
        "compression.threshold",
        "number",
        0.5,
        f"The part of the window that is filled before; windows below {limits.SMALL_WINDOW:,} tokens: at least "
        f"{limits.SMALL_WINDOW_SHARE:g}.",
        least=0.05,
        most=0.95,
    ),
    Key("compression.target_ratio", "number", 0.2, "The part of that which stays as it is.", least=0.05, most=0.8),
    Key("compression.protect_first_n", "whole", 3, "First messages that always stay.", least=0, most=100),
    Key("compression.protect_last_n", "whole", 20, "Last messages that stay.", least=1, most=500),
    Key("compression.keep_recent_tokens", "whole", 20_000, "Tokens of the newest messages that stay.", least=0),
    Key("compression.max_attempts", "whole", 3, "Compactions of one request that is too long.", least=1, most=10),
    Key(
        "compression.abort_on_summary_failure",
        "flag",
        False,
        "When no summary can be had, leave the conversation as it is rather than go on without the older part.",
    ),
    Key(
        "auxiliary.approval.provider",
        "text",
        "",
        "Whose model reviews commands (approvals.mode smart).",
        blank="auto",
        danger="tighten",
    ),
    Key(
        "auxiliary.approval.model",
        "text",
        "",
        "The model that reviews commands; empty: the session's.",
        danger="tighten",
    ),
    Key("auxiliary.compression.provider", "text", "", "Whose model writes summaries.", blank="auto"),
    Key("auxiliary.compression.model", "text", "", "The model that writes summaries; empty: the session's."),
    Key("tool_loop_guardrails.warnings_enabled", "flag", True, "Tell model and person when a turn goes in circles."),
    Key(
        "tool_loop_guardrails.hard_stop_enabled",
        "flag",
        None,
        "Block calls and end turns that go in circles; unset: only where no person watches.",
    ),
    *(
        Key(f"tool_loop_guardrails.{name}", "whole", default, doc, least=1, most=limits.GUARD_WINDOW)
        for name, default, doc in (
            ("warn_after.exact_failure", limits.GUARD_SAME_CALL_WARN, "Failures of one call before a warning."),
            ("warn_after.same_tool_failure", limits.GUARD_SAME_TOOL_WARN, "Failures of one tool before a warning."),
            ("hard_stop_after.exact_failure", limits.GUARD_SAME_CALL_BLOCK, "Failures of a call before it is blocked."),
            ("hard_stop_after.same_tool_failure", limits.GUARD_SAME_TOOL_HALT, "Failures of a tool that end a turn."),
        )
    ),
    Key("hooks", "mapping", {}, "Programs that hear of what is done, by event; see docs/hooks.md."),
    Key(
        "after_edit",
        "list",
        [],
        "Commands that run when tools have changed files, as a formatter and a linter: match, run, timeout; see "
        "docs/hooks.md.",
    ),
    Key("mcp_servers", "mapping", {}, "MCP servers by name; see docs/mcp.md."),
    Key(
        "sessions.retention_days",
        "whole",
        0,
        "Days after which a session that was not used is deleted; for a week more it can be restored.",
        least=0,
        endless=True,
    ),
    Key(
        "checkpoints.enabled", "flag", True, "Keep what turns change in files, for /rollback; see docs/checkpoints.md."
    ),
    Key(
        "checkpoints.max_snapshots",
        "whole",
        50,
        "Turns of one workspace whose changes can be taken back; of older ones they are only named.",
        least=1,
    ),
    Key(
        "checkpoints.max_total_size_mb",
        "whole",
        500,
        "MB that all of this may take on the disk: half for what was changed, half for how workspaces are now.",
        least=1,
    ),
    Key("checkpoints.max_file_size_mb", "whole", 10, "MB of a file that is kept.", least=1, most=256),
    Key(
        "checkpoints.retention_days",
        "whole",
        30,
        "Days after which a turn's changes are forgotten.",
        least=0,
        endless=True,
    ),
    Key(
        "web.search_backend",
        "text",
        "",
        "What web_search asks: searxng, brave, tavily or duckduckgo; empty: the first that is set up, else DuckDuckGo "
        "with consent.",
        danger="tighten",
    ),
    Key("web.searxng_url", "text", "", "The address of your SearXNG; it may stand on this machine.", danger="tighten"),
    Key(
        "web.allow_hosts",
        "texts",
        [],
        "Hosts of the web that are asked without a question; *.example.org is all below example.org.",
        danger="tighten",
    ),
    Key(
        "web.proxy",
        "text",
        "",
        "The proxy by which web tools go; proxy variables count for the model only.",
        danger="tighten",
    ),
    Key("files.respect_gitignore", "flag", True, "grep, glob and the file picker leave out what .gitignore names."),
    Key("context_files.enabled", "flag", True, "Give the model AGENTS.md and its kin."),
    # Sub-agents.
    Key(
        "delegation.enabled",
        "flag",
        True,
        "The model may hand work to the sub-agents that are defined (docs/agents.md).",
    ),
    Key("delegation.builtin_agents", "flag", False, "Two more of them: explorer, which only reads, and worker."),
    Key("delegation.model", "model", "", "The model of sub-agents that name none; empty: the session's."),
    Key("delegation.provider", "text", "", "Whose model that is; without a model, the usual one of that provider."),
    Key("delegation.base_url", "text", "", "The address of a server for delegation.model, in place of a provider's."),
    Key(
        "delegation.api_key_env",
        "names",
        "",
        "The variable that holds the key for delegation.base_url, as in model.api_key_env.",
    ),
    Key(
        "delegation.api_mode",
        "text",
        "",
        "How that server is asked; empty: as its provider is.",
        choices=("", "chat_completions", "anthropic_messages", "responses", "codex_responses"),
    ),
    Key(
        "delegation.fallback_providers",
        "list",
        [],
        "Models that stand in for that of a sub-agent which does not have the session's, as in fallback_providers.",
    ),
    Key(
        "delegation.background",
        "flag",
        False,
        "The model is offered delegate_task too: sub-agents that go on beside the conversation (docs/agents.md).",
    ),
    Key(
        "delegation.max_concurrent_children",
        "whole",
        limits.AGENTS_AT_ONCE,
        "Sub-agents of a session that run at once; the next one waits.",
        "bound",
        least=1,
        most=limits.AGENTS_BESIDE,
    ),
    Key(
        "delegation.max_iterations",
        "whole",
        limits.AGENT_STEPS,
        "Model round trips of a sub-agent that names no bound.",
        "bound",
        least=1,
        most=1_000,
    ),
    Key(
        "delegation.max_spawn_depth",
        "whole",
        1,
        "Sub-agents have none of their own: each would wait for a place that those it waits for need (docs/agents.md).",
        least=1,
        most=1,
    ),
    Key(
        "delegation.child_timeout_seconds",
        "number",
        0.0,
        "Seconds without a sign of life (a word, a call, a line of output) after which a sub-agent is stopped.",
        "bound",
        least=0,
        endless=True,
    ),
    Key(
        "delegation.subagent_auto_approve",
        "flag",
        False,
        "What a sub-agent does inside the sandbox is not asked about, and what would leave it is refused.",
    ),
    # The screen.
    Key(
        "display.theme",
        "text",
        "auto",
        "A theme's name; auto: dark or light as the terminal's ground is, ansi where it has 16 colours.",
        "harmless",
    ),
    Key(
        "display.language",
        "text",
        "auto",
        "The language of the screen; auto: as the locale says.",
        "harmless",
        choices=("auto", "en", "zh"),
    ),
    Key("memory.enabled", "flag", True, "Sessions are told what is remembered from earlier ones."),
    Key(
        "memory.engine",
        "text",
        "bm25",
        "What keeps it: memory.json, of which each message is told what fits it; or the files MEMORY.md and USER.md, "
        "told whole.",
        choices=("bm25", "markdown"),
    ),
    Key(
        "memory.write_approval",
        "flag",
        False,
        "A person is asked before anything is remembered; where nobody can be, it waits for them.",
        "tighten",
    ),
    Key(
        "memory.distil",
        "text",
        "attended",
        "A turn that has ended is looked at by the model for what is worth remembering: one request more. attended: "
        "only where a person sits at the screen.",
        choices=("attended", "always", "never"),
        off="never",
    ),
    Key(
        "memory.memory_char_limit",
        "whole",
        limits.MEMORY_NOTES,
        "Characters that MEMORY.md has room for; each session is told all of it.",
        least=limits.MEMORY_ROOM_LEAST,
        most=limits.MEMORY_ROOM_MOST,
    ),
    Key(
        "memory.user_char_limit",
        "whole",
        limits.MEMORY_USER,
        "Characters that USER.md has room for; each session is told all of it.",
        least=limits.MEMORY_ROOM_LEAST,
        most=limits.MEMORY_ROOM_MOST,
    ),
    Key("memory.top_k", "whole", limits.MEMORY_TOP, "Memories told with a message.", least=1, most=20),
    Key(
        "memory.tokenizer",
        "text",
        "bigram",
        "What memories are found by: words and pairs of Chinese characters; or the words of a dictionary too.",
        choices=("bigram", "jieba"),
    ),
    Key("skills.enabled", "flag", True, "Skills are looked for, and offered to the model."),
    Key("skills.disabled", "texts", [], "Names of skills that are not offered."),
    Key("skills.external_dirs", "texts", [], "More folders of skills, looked through after those of your homes."),
    Key(
        "skills.write_approval",
        "flag",
        False,
        "What the model would write into skills waits for /skills approve, instead of being asked about at once.",
        "tighten",
    ),
    Key("display.ascii", "flag", False, "Draw with ASCII signs only.", "harmless"),
    Key("display.reduced_motion", "flag", False, "The running mark stands still.", "harmless"),
    Key(
        "display.diff_colours",
        "text",
        "theme",
        "Colours of added and removed lines: the theme's, or blue and orange, which colour-blind eyes tell apart.",
        "harmless",
        choices=("theme", "safe"),
    ),
    Key(
        "display.fps",
        "whole",
        limits.DISPLAY_FPS,
        "Frames a second at most; 10 or fewer for a slow line, over which a terminal is reached.",
        "harmless",
        least=2,
        most=limits.DISPLAY_FPS,
    ),
    Key(
        "display.composer_keys",
        "text",
        "emacs",
        "How the draft is edited; vim: Esc leaves typing, and letters are commands.",
        "harmless",
        choices=("emacs", "vim"),
    ),
    Key(
        "display.notify",
        "text",
        "auto",
        "How you are called when you look elsewhere; auto: by osc9 or osc777 where it shows, else the bell.",
        "harmless",
        choices=("auto", "bell", "osc9", "osc777", "off"),
        off="off",
    ),
    Key(
        "display.notify_after",
        "number",
        limits.NOTIFY_AFTER,
        "A turn that took at least so many seconds tells when it ends; a question always does.",
        "harmless",
        least=0,
        most=DAY,
    ),
    Key("display.title", "flag", True, "The terminal's title says what the sessions do.", "harmless"),
    Key(
        "display.hints",
        "flag",
        True,
        "Remarks under the draft when something is met for the first times, and the tour of the first start.",
        "harmless",
    ),
    Key("keymap", "mapping", {}, "Keys by action; a list gives an action several."),
    Key("logging.level", "text", "info", "What is logged.", choices=("debug", "info", "warning", "error")),
)

BY_PATH: Final[dict[Path, Key]] = {tuple(key.name.split(".")): key for key in KEYS}
SECTIONS: Final[frozenset[Path]] = frozenset(path[:n] for path in BY_PATH for n in range(1, len(path)))

ALIASES: Final[dict[Path, Path]] = {
    ("model",): ("model", "default"),  # `model: name`, the older form
    ("model", "model"): ("model", "default"),
    ("model", "name"): ("model", "default"),
    ("max_turns",): ("agent", "max_turns"),
    ("agent", "personalities"): ("personalities",),
    ("memory", "memory_enabled"): ("memory", "enabled"),
}
"""Other spellings. One that is also a section counts only when it holds a plain value."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


UNUSED_SECTIONS: Final[frozenset[str]] = frozenset(
    _words(
        """
        a2a auth auxiliary bedrock bluebubbles bot_mode browser code_execution command_allowlist
        computer_use context context_file_max_chars context_file_read_timeout credential_pool_strategies
        cron curator custom_providers dashboard database desktop dingtalk discord email feishu
        file_read_max_chars gateway goals google_chat group_sessions_per_user homeassistant honcho
        hooks_auto_accept human_delay image_gen kanban known_plugin_toolsets loops lsp matrix mattermost
        max_concurrent_sessions max_live_sessions mcp mcp_discovery_timeout mcp_single_query_discovery_timeout
        model_aliases model_catalog model_overrides models_dev monitoring network onboarding openrouter
        paste_collapse_threshold platform_hints platform_toolsets platforms plugins
        prefill_messages_file privacy prompt_caching provider_routing qqbot quick_commands runtime save_trajectories
        secrets security session session_reset sessions signal slack smart_model_routing sms streaming stt
        teams telegram thread_sessions_per_user timezone tools toolsets tts
        unauthorized_dm_behavior updates video_gen voice wake_word webhook wecom whatsapp worktree x_search
        yuanbao _config_version
        """
    )
)
"""Top-level keys of Hermes that are not used here, with all below them."""

KEYS_IN_FILES: Final[frozenset[Path]] = frozenset({("model", "api_key"), ("delegation", "api_key")})
"""Where Hermes also takes a key itself. This program does not: who has one there is told where it belongs."""

UNUSED_KEYS: Final[frozenset[Path]] = frozenset(
    (section, name)
    for section, names in {
        "model": "api_mode aliases extra_body max_output_tokens openai_runtime reasoning_echo",
        "agent": """
            agent_cache api_max_retries bot_mode_protocol budget_warning_ratio build_wait_timeout clarify_timeout
            coding_context coding_instructions cron_drain_timeout empty_response_guard
            environment_hint environment_probe execution_guidance fast_auto_seconds gateway_auto_continue_freshness
            gateway_notify_interval gateway_startup_restore_drain_timeout gateway_startup_warmup_timeout
            gateway_timeout gateway_timeout_warning gateway_turn_lease_timeout
            intent_ack_continuation local_stream_stale_timeout max_verify_nudges parallel_tool_call_guidance
            prefill_messages_file reasoning_echo reasoning_overrides reconnect_attention_after
            restart_after_turn_timeout restart_drain_timeout run_budget_seconds sanitizer_heal_escalation_threshold
            service_tier session_stall_timeout stall_guards system_prompt task_completion_guidance
            tool_use_enforcement turn_liveness verbose verify_guidance verify_on_stop
            """,
        "approvals": """
            cron_mode denial_breaker_threshold destructive_slash_confirm mcp_reload_confirm single_query_mode
            smart_policy unattended_mode
            """,
        "terminal": """
            auto_source_bashrc container_cpu container_disk container_memory container_persistent cwd
            daemon_term_grace_seconds daytona_image degraded_mode docker_env docker_extra_args docker_forward_env
            docker_image docker_mount_cwd_to_workspace docker_network docker_run_as_host_user
            docker_shared_container_key docker_shm_size docker_snap_compat docker_volumes env_passthrough
            font_family home_mode lifetime_seconds modal_image modal_mode oneshot_completion_wait_seconds
            persistent_shell shell_init_files singularity_image ssh_host ssh_key ssh_port ssh_user sudo_password
            temp_dir vercel_runtime
            """,
        "tool_loop_guardrails": "warn_after hard_stop_after",
        "compression": """
            codex_app_server_auto codex_gpt55_autoraise codex_gpt55_autoraise_notice codex_responses_compact_threshold
            codex_responses_native context_timeout_seconds context_total_ceiling_seconds
            hygiene_failure_cooldown_seconds hygiene_hard_message_limit hygiene_timeout_seconds
            hygiene_total_ceiling_seconds idle_compact_after_seconds in_place micro_compact
            micro_compact_defrag_threshold_tokens micro_compact_every_n_turns min_tail_user_messages model_thresholds
            proactive_prune_min_reclaim_tokens proactive_prune_min_result_chars proactive_prune_tokens summary_model
            summary_provider threshold_tokens
            """,
        "tool_output": "max_bytes max_line_length max_lines",
        "display": """
            background_process_notifications battery bell_on_complete bell_on_prompt busy_input_mode
            busy_steer_ack_enabled cleanup_progress cli_multiline_shortcuts cli_rebuild_scrollback_on_redraw
            cli_refresh_interval compact copy_shortcut credits_notices ephemeral_system_ttl file_mutation_verifier
            final_response_markdown focus_saved_tool_progress focus_view friendly_tool_labels inline_diffs interface
            interim_assistant_messages memory_notifications persist_prompts persistent_output
            persistent_output_max_lines personality pet platforms reasoning_full reasoning_style resume_display
            resume_exchanges resume_last_session resume_max_assistant_chars resume_max_assistant_lines
            resume_max_user_chars resume_skip_tool_only runtime_footer show_commentary show_cost show_reasoning skin
            spinner_token_flow status_bar status_phrases streaming timestamp_format timestamps tool_prefix
            tool_preview_length tool_progress tool_progress_command tool_progress_grouping tool_progress_overrides
            tui_agents_nudge tui_auto_resume_recent tui_status_indicator turn_completion_explainer turn_summary
            user_message_preview vim_mode
            """,
        "web": "backend extract_backend extract_char_limit use_gateway",
        "logging": "backup_count max_size_mb",
        "delegation": """
            inherit_mcp_toolsets max_async_children max_iterations_cap orchestrator_enabled
            reasoning_effort request_overrides subagent_progress
            """,
        "skills": """
            config creation_nudge_interval guard_agent_created inline_shell inline_shell_timeout platform_disabled
            template_vars
            """,
        "checkpoints": "auto_prune delete_orphans min_interval_hours",
        "memory": """
            flush_min_turns nudge_interval provider providers user_profile_enabled
            """,
    }.items()
    for name in _words(names)
)
"""Keys of Hermes that are not used here, in sections that are."""


def key_of(path: Path) -> Key | None:
    """The key at `path`, or the mapping that `path` lies in (`providers.mine.base_url` lies in `providers`)."""
    for n in range(1, len(path) + 1):
        key = BY_PATH.get(path[:n])
        if key is not None:
            return key if n == len(path) or key.kind == "mapping" else None
    return None


HOOK_KEYS: Final = frozenset(_words("matcher command timeout fail_closed failClosed hooks type"))
"""What an entry of `hooks` may say. "type" is "command" where it is written at all."""


def is_unused(path: Path) -> bool:
    """True for what Hermes knows and this program does not use.

    Below a section that is not used for the most part, what comes near one of the few keys that are is none of Hermes'.
    """
    return path[:2] in UNUSED_KEYS or (path[0] in UNUSED_SECTIONS and not _is_nearly_used(path))


def _is_nearly_used(path: Path) -> bool:
    depth = len(path) - 1
    beside = {key[depth] for key in BY_PATH if len(key) > depth > 0 and key[:depth] == path[:depth]}
    return bool(difflib.get_close_matches(path[-1][: limits.SUBJECT_CHARS], beside, n=1, cutoff=0.8))


def nearest(path: Path) -> str:
    """The known key that `path` was most likely meant to be, dotted; empty when none is near."""
    name = ".".join(path)[: limits.SUBJECT_CHARS]
    known = [key.name for key in KEYS] + [".".join(section) for section in SECTIONS]
    found = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
    if not found:  # the right name in the wrong section
        found = [key for key in known if key.rpartition(".")[2] == path[-1]]
    return found[0] if found and found[0] != name else ""


def checked(key: Key, value: Any, raw: str | None = None) -> Any:
    """`value` as the key's type. `raw` is the text it was written as, if it was a scalar.

    Raises ValueError saying what is allowed; the text never repeats the value, which may be a misplaced secret.
    """
    kind = key.kind
    if key.endless and (value is None or (isinstance(value, str) and value.lower() in ("none", "unlimited", "inf"))):
        return 0
    if value is None:
        return key.default
    if kind == "names" and isinstance(value, list) and all(isinstance(item, str) for item in value):
        value = ",".join(value)
    if kind == "model" and isinstance(value, dict):
        model, provider = value.get("model") or value.get("default"), value.get("provider")
        value = f"{provider}/{model}" if provider and model else model
    if kind in ("text", "model", "names"):
        # `off`, `2024-01-01` and `1.0` are YAML for other things; where a text is due they are what was written.
        text = value if isinstance(value, str) else raw
        if text is not None and key.choices:
            written = key.off if key.off and text.strip().lower() == "off" else text.strip().lower()
            text = next((choice for choice in key.choices if choice == written), None)
        if text is not None:
            return "" if text == key.blank else text
    elif kind == "flag":
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value.lower() in _FLAGS:
            return _FLAGS[value.lower()]
    elif kind in ("whole", "number"):
        number = _number(value)
        if number is not None and key.endless and number < 0:
            return 0
        if number is not None and key.least <= number <= key.most and (kind == "number" or number == int(number)):
            return int(number) if kind == "whole" else number
    elif kind == "mapping":
        if isinstance(value, dict):
            return value
    elif isinstance(value, list) and (kind == "list" or all(isinstance(item, str) for item in value)):
        return value
    raise ValueError(key.allowed)


_FLAGS: Final = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def _number(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float, str)):
        try:
            number = float(value)
        except (ValueError, OverflowError):
            return None
        return number if math.isfinite(number) else None
    return None


def lowers(key: Key, value: Any, current: Any) -> bool:
    """Whether `value` binds no less than `current`; for a key without a value any bound is one."""

    def height(number: Any) -> float:
        return math.inf if number is None or (key.endless and number == 0) else float(number)

    return height(value) <= height(current)


def dotted(path: Sequence[str]) -> str:
    return ".".join(path)
