"""The model servers we know, as data, and the ladder that decides which one is asked, with which model and key.

Nothing here opens a connection. What a server wants that others do not is a field of its Preset, never an `if`.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, fields, replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, Literal
from urllib.parse import SplitResult, urlsplit, urlunsplit

from agent_core import limits
from agent_core.credentials import Secret, find_keys, make_secret, numbered
from agent_core.errors import ConfigError
from agent_core.llm import mixtures
from agent_core.llm.mixtures import MOA, Mixture, Mixtures
from agent_core.records import dataclass

IdRule = Literal["keep", "max40", "alnum9", "safe"]
"""What ids of tool calls must look like: any; at most 40 characters; exactly nine letters or digits; [A-Za-z0-9_-]."""


WireName = Literal["chat_completions", "anthropic_messages", "responses"]
"""How a server is asked and answers; `wires.WIRES` has what each name means. Hermes calls it the api mode (LLM-27)."""


@dataclass(frozen=True, slots=True)
class Preset:
    """One kind of model server."""

    name: str
    label: str
    base_url: str = ""
    """Empty: the user has to give it."""
    wire: WireName = "chat_completions"
    key_env: tuple[str, ...] = ()
    base_url_env: str = ""
    """The variable that users of this server's own tools set; a key found with it belongs to that address."""
    needs_key: bool = True
    local: bool = False
    default_model: str = ""
    key_url: str = ""
    """Where a person gets a key."""
    key_headers: tuple[str, ...] = ("authorization",)
    """Where the key goes; as a bearer token in `authorization`, bare elsewhere."""
    key_path: str = ""
    """What to ask to learn whether the key is good, where the list of models is open to everybody."""
    models_path: str = "models"
    """What to ask for the list of models."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """More headers of every request."""
    id_rule: IdRule = "keep"
    max_tokens_field: str = "max_tokens"
    stream_options: bool = True
    developer_role: bool = False
    slashed_models: bool = False
    """Names of models may have a slash in them, so that what is before it is no provider."""
    strict_tools: bool = False
    """Send `strict: true` with every tool."""
    plain_schemas: bool = False
    """It refuses a request for a tool's schema with a choice between schemas, or with more than one type at a place."""
    cache_marks: tuple[str, ...] = ()
    """Beginnings of names of models for which marks say what to remember of a request, on a wire that has none."""
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    """More fields of the request, from the user's `providers` section."""


_ANTHROPIC_HEADERS = MappingProxyType({"anthropic-version": "2023-06-01"})

_KNOWN = (
    Preset(
        "openai",
        "OpenAI",
        "https://api.openai.com/v1",
        key_env=("OPENAI_API_KEY",),
        base_url_env="OPENAI_BASE_URL",
        default_model="gpt-5",
        key_url="https://platform.openai.com/api-keys",
        id_rule="max40",
        max_tokens_field="max_completion_tokens",
    ),
    Preset(
        "anthropic",
        "Anthropic",
        "https://api.anthropic.com/v1",
        key_env=("ANTHROPIC_API_KEY",),
        base_url_env="ANTHROPIC_BASE_URL",
        default_model="claude-sonnet-5-5",
        key_url="https://console.anthropic.com/settings/keys",
        wire="anthropic_messages",
        key_headers=("x-api-key",),
        models_path="models?limit=1000",  # by itself it lists twenty
        headers=_ANTHROPIC_HEADERS,
        id_rule="safe",
    ),
    Preset(
        "openrouter",
        "OpenRouter",
        "https://openrouter.ai/api/v1",
        key_env=("OPENROUTER_API_KEY",),
        base_url_env="OPENROUTER_BASE_URL",
        default_model="anthropic/claude-sonnet-5",
        key_url="https://openrouter.ai/keys",
        key_path="key",
        slashed_models=True,
        cache_marks=("anthropic/",),
    ),
    Preset(
        "deepseek",
        "DeepSeek",
        "https://api.deepseek.com/v1",
        key_env=("DEEPSEEK_API_KEY",),
        base_url_env="DEEPSEEK_BASE_URL",
        default_model="deepseek-chat",
        key_url="https://platform.deepseek.com/api_keys",
    ),
    Preset(
        "dashscope",
        "Qwen (DashScope)",
        "https://dashscope.aliyuncs.com/compatible-mode/v1",
        key_env=("DASHSCOPE_API_KEY", "QWEN_API_KEY"),
        base_url_env="DASHSCOPE_BASE_URL",
        default_model="qwen3-coder-plus",
        key_url="https://bailian.console.aliyun.com/?tab=model#/api-key",
    ),
    Preset(
        "moonshot",
        "Kimi (Moonshot)",
        "https://api.moonshot.ai/v1",
        key_env=("MOONSHOT_API_KEY", "KIMI_API_KEY"),
        base_url_env="MOONSHOT_BASE_URL",
        default_model="kimi-k2-turbo-preview",
        key_url="https://platform.moonshot.ai/console/api-keys",
    ),
    Preset(
        "zhipu",
        "GLM (Zhipu)",
        "https://open.bigmodel.cn/api/paas/v4",
        key_env=("ZHIPU_API_KEY", "ZHIPUAI_API_KEY", "GLM_API_KEY", "ZAI_API_KEY"),
        base_url_env="ZHIPU_BASE_URL",
        default_model="glm-4.6",
        key_url="https://open.bigmodel.cn/usercenter/apikeys",
    ),
    Preset(
        "gemini",
        "Gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        key_env=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        base_url_env="GEMINI_BASE_URL",
        default_model="gemini-2.5-pro",
        plain_schemas=True,
        key_url="https://aistudio.google.com/apikey",
    ),
    Preset(
        "mistral",
        "Mistral",
        "https://api.mistral.ai/v1",
        key_env=("MISTRAL_API_KEY",),
        default_model="mistral-medium-latest",
        key_url="https://console.mistral.ai/api-keys",
        id_rule="alnum9",
        stream_options=False,  # sends usage unasked, and older versions refuse the field
    ),
    Preset(
        "groq",
        "Groq",
        "https://api.groq.com/openai/v1",
        key_env=("GROQ_API_KEY",),
        default_model="openai/gpt-oss-120b",
        key_url="https://console.groq.com/keys",
        max_tokens_field="max_completion_tokens",
        slashed_models=True,
    ),
    Preset(
        "together",
        "Together",
        "https://api.together.xyz/v1",
        key_env=("TOGETHER_API_KEY",),
        default_model="openai/gpt-oss-120b",
        key_url="https://api.together.ai/settings/api-keys",
        slashed_models=True,
    ),
    Preset(
        "xai",
        "xAI",
        "https://api.x.ai/v1",
        key_env=("XAI_API_KEY",),
        default_model="grok-4.3",
        key_url="https://console.x.ai",
    ),
    Preset(
        "azure",
        "Azure OpenAI",
        key_env=("AZURE_OPENAI_API_KEY",),
        base_url_env="AZURE_OPENAI_BASE_URL",
        key_headers=("api-key",),
        id_rule="max40",
        max_tokens_field="max_completion_tokens",
    ),
    Preset(
        "ollama",
        "Ollama",
        "http://127.0.0.1:11434/v1",
        key_env=("OLLAMA_API_KEY",),
        needs_key=False,
        local=True,
        slashed_models=True,
    ),
    Preset(
        "lmstudio",
        "LM Studio",
        "http://127.0.0.1:1234/v1",
        key_env=("LMSTUDIO_API_KEY",),
        needs_key=False,
        local=True,
        slashed_models=True,
    ),
    Preset(
        "llamacpp",
        "llama.cpp",
        "http://127.0.0.1:8080/v1",
        key_env=("LLAMACPP_API_KEY",),
        needs_key=False,
        local=True,
        slashed_models=True,
    ),
    Preset(
        "vllm",
        "vLLM",
        "http://127.0.0.1:8000/v1",
        key_env=("VLLM_API_KEY",),
        needs_key=False,
        local=True,
        slashed_models=True,
    ),
    Preset("custom", "Custom server", needs_key=False, slashed_models=True),
)

PRESETS: Mapping[str, Preset] = MappingProxyType({p.name: p for p in _KNOWN})

ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "qwen": "dashscope",
        "alibaba": "dashscope",
        "kimi": "moonshot",
        "glm": "zhipu",
        "zai": "zhipu",
        "z.ai": "zhipu",
        "google": "gemini",
        "claude": "anthropic",
        "grok": "xai",
        "lm-studio": "lmstudio",
        "lm_studio": "lmstudio",
        "llama.cpp": "llamacpp",
        "llama-cpp": "llamacpp",
        "azure-openai": "azure",
        "togetherai": "together",
    }
)

ENV_MODEL = "NANOHERMES_MODEL"
ENV_BASE_URL = "NANOHERMES_BASE_URL"
ENV_API_KEY = "NANOHERMES_API_KEY"


@dataclass(frozen=True, slots=True)
class ProviderOptions:
    """What the configuration says about the model: plain values."""

    model: str = ""
    """`model`, or `provider/model`."""
    provider: str = ""
    base_url: str = ""
    api_key_env: str | Sequence[str] = ""
    """The variables that hold the keys for `base_url` or `provider`, in place of the usual ones; see `key_names`."""
    providers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The user's own servers, or changes to known ones, by name: `preset`, `base_url`, `api_key_env`, `api_key`,
    `model`, `label`, `headers`, `extra_body`, `api_mode`, `prices`, and the fields of Preset that are quirks."""
    max_attempts: int = limits.RETRY_ATTEMPTS
    """Requests in all, the first included; at least one is sent (LLM-11)."""
    retry_base: float = limits.RETRY_BASE
    retry_after_max: float = limits.RETRY_AFTER_MAX
    connect_timeout: float = limits.CONNECT_TIMEOUT
    idle_timeout: float | None = None
    """Seconds without a byte; None: limits.STREAM_IDLE, or STREAM_IDLE_LOCAL on a local server."""
    progress_timeout: float | None = None
    """Seconds without content; None: limits.STREAM_PROGRESS, or no less than the idle time on a local server."""
    finish_timeout: float = limits.STREAM_AFTER_FINISH
    mixtures: Mixtures = mixtures.NONE
    """The presets of `moa`, whose provider is virtual: one of their models answers (SUB-13)."""
    images: Literal["auto", "native", "text"] = "auto"
    """Whether models are shown images: until a server refuses them, always, or never (agent.image_input_mode)."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Who is asked: an address, a model, and the key that may go there."""

    provider: str
    label: str
    base_url: str
    model: str
    key: Secret | None
    preset: Preset
    more_keys: tuple[Secret, ...] = ()
    """Further keys for the same address, used one after the other when one is refused (LLM-19)."""

    mixture: Mixture | None = None
    """The preset of which this is the acting model; None: it is asked alone."""

    @property
    def keys(self) -> tuple[Secret, ...]:
        return (self.key, *self.more_keys) if self.key is not None else ()

    @property
    def names(self) -> tuple[str, str]:
        """Provider and model as they are chosen: for a mixture, moa and the preset."""
        return (MOA, self.mixture.name) if self.mixture is not None else (self.provider, self.model)

    @property
    def shown(self) -> str:
        """What a person reads of it."""
        return self.mixture.shown if self.mixture is not None else self.model


def resolve(options: ProviderOptions, env: Mapping[str, str], dotenv: Mapping[str, str]) -> Endpoint:
    """Decide which server is asked, with which model. Raises ConfigError "no_model", and as `server_of`."""
    endpoint = server_of(options, env, dotenv)
    if not endpoint.model:
        raise ConfigError(
            "no_model",
            f"No model is chosen for {endpoint.label}. Set model.default in the config, or pass "
            f"-m {endpoint.provider}/MODEL.",
            provider=endpoint.provider,
        )
    return endpoint


def server_of(options: ProviderOptions, env: Mapping[str, str], dotenv: Mapping[str, str]) -> Endpoint:
    """Decide which server is asked; its model may be "". The first rung that holds wins (LLM-28):

    a mixture of agents (its acting model) · a base URL that was given · a provider that was named, alone or before the
    model · OPENAI_BASE_URL and its like · the first known provider whose key is set.

    Values of `options` go before variables, `env` before `dotenv`. A provider's key goes to that provider's own
    address only (LLM-29). Raises ConfigError "no_provider", "unknown_provider", "no_key", "bad_base_url", "bad_key",
    and as `mixed` does.
    """
    lookup = {k: v.strip() for place in (dotenv, env) for k, v in place.items() if v.strip()}
    options, mixture = _mixture_asked_for(options, lookup)
    if mixture is not None:
        return mixed(mixture, None, options, env, dotenv)
    options = replace(options, mixtures=mixtures.NONE)  # "moa/" is a part of a model's name from here on
    preset, model, base_url, options = _chosen(options, lookup)
    own_url = str(
        _configured(preset.name, options).get("base_url") or lookup.get(preset.base_url_env) or preset.base_url
    )
    address = normal_url(base_url or own_url, preset)
    keys = _keys(preset, address, own_url, options, env, dotenv)
    if not keys and preset.needs_key and not is_loopback(address):
        names = _key_names(preset, options) or [ENV_API_KEY]
        raise ConfigError(
            "no_key",
            f"There is no key for {preset.label}. Set {names[0]} in the environment or in the .env file of the "
            "program's home" + (f"; get one at {preset.key_url}" if preset.key_url else "") + ".",
            provider=preset.name,
            env=names[0],
            url=preset.key_url,
        )
    model = model or str(_configured(preset.name, options).get("model") or preset.default_model)
    return Endpoint(preset.name, preset.label, address, model, keys[0] if keys else None, preset, keys[1:])


def mixed(
    name: str,
    first: Endpoint | None,
    options: ProviderOptions,
    env: Mapping[str, str],
    dotenv: Mapping[str, str],
) -> Endpoint:
    """The acting model of the mixture called `name`, "" for the default one. `first` as in `stand_in`.

    Raises ConfigError "no_mixture", "bad_mixture", and as `stand_in` does.
    """
    there = options.mixtures
    mixture = there.presets.get(name or there.default)
    if mixture is None:
        known_ones = f" There are: {', '.join(there.presets)}." if there else ""
        wanted = f" called {name[: limits.SUBJECT_CHARS]}" if name else ""
        text = f"There is no mixture of agents{wanted}.{known_ones} Describe it at moa.presets in the config."
        raise ConfigError("no_mixture", text, name=name, known=list(there.presets))
    if mixture.aggregator is None or mixture.problem:
        text = f"The mixture {mixture.name} cannot be used. {mixture.problem}"
        raise ConfigError("bad_mixture", text, name=mixture.name, problem=mixture.problem)
    return replace(adviser(mixture.aggregator, first, options, env, dotenv), mixture=mixture)


def adviser(
    slot: mixtures.Slot,
    first: Endpoint | None,
    options: ProviderOptions,
    env: Mapping[str, str],
    dotenv: Mapping[str, str],
) -> Endpoint:
    """One model of a mixture, found like one that stands in. It is never a mixture: the name means a model's here."""
    return stand_in(slot.entry, first, replace(options, mixtures=mixtures.NONE), env, dotenv)


def _mixture_asked_for(options: ProviderOptions, lookup: Mapping[str, str]) -> tuple[ProviderOptions, str | None]:
    """The options that apply, and the name of the mixture they ask for: "" for the default one, None for none."""
    model = (options.model or lookup.get(ENV_MODEL, "")).strip()
    base_url = (options.base_url or lookup.get(ENV_BASE_URL, "")).strip()
    named, (head, rest) = options.provider.strip().lower(), _split(model, options)
    if named == MOA and MOA not in options.providers:
        if head in ("", MOA) or model in options.mixtures.presets:
            return options, rest if head == MOA else model
        return replace(options, provider=head, model=rest, base_url="", api_key_env=""), None
    if model == MOA and options.mixtures and named in _NOT_NAMED and not base_url:
        return options, ""
    if head == MOA and (rest in options.mixtures.presets or (named in _NOT_NAMED and not base_url)):
        return options, rest
    return options, None


def another(
    model: str,
    provider: str,
    first: Endpoint,
    options: ProviderOptions,
    env: Mapping[str, str],
    dotenv: Mapping[str, str],
    listed: Collection[str] = (),
) -> Endpoint:
    """A model beside the configured one, `first`: of `provider`, else of the one that `model` names, else of the same.

    `listed` are the models that the first one's server is known to have. The program's own variables (NANOHERMES_…) and
    the configured address and key are for the first one's server alone (LLM-29). Raises ConfigError as `resolve` does.
    The name of a mixture alone is enough, where the first one's server has no model of that name; a provider alone
    means its usual model.
    """
    if not provider and options.mixtures and model not in listed:
        provider = MOA if model in (MOA, *options.mixtures.presets) else ""
    if not provider:
        head, rest = _split(model, options)
        if head and _name_of(head) == first.provider:
            model = rest
        elif head and not _has_slashed(first, model, head, listed):
            provider, model = head, rest
    if provider.strip().lower() == MOA and MOA not in options.providers:
        return mixed(model if model != MOA or MOA in options.mixtures.presets else "", first, options, env, dotenv)
    if not provider or _name_of(provider) == first.provider:
        return replace(first, model=model, mixture=None) if model else first
    return _apart(replace(options, provider=provider, model=model, base_url="", api_key_env=""), env, dotenv)


def _has_slashed(first: Endpoint, model: str, head: str, listed: Collection[str]) -> bool:
    """Whether a name with a slash is that of a model of the first one's server, and not of the provider `head`."""
    return model in listed or (not listed and not _is_provider(head, first.preset))


def stand_in(
    entry: Mapping[str, Any],
    first: Endpoint | None,
    options: ProviderOptions,
    env: Mapping[str, str],
    dotenv: Mapping[str, str],
) -> Endpoint:
    """The model that an entry of `fallback_providers` names: `provider`, `model`, and for a server of its own
    `base_url` and `api_key_env`. Raises ConfigError "bad_fallback" and as `resolve` does.
    """
    provider, model = (str(entry.get(name) or "").strip() for name in ("provider", "model"))
    base_url = str(entry.get("base_url") or "").strip()
    if not model or not (provider or base_url):
        raise ConfigError(
            "bad_fallback", "An entry of fallback_providers needs provider and model.", provider=provider, model=model
        )
    if not base_url and first is not None:
        return another(model, provider, first, options, env, dotenv)
    names = key_names(entry.get("api_key_env") or entry.get("key_env"))
    chosen = replace(options, provider=provider, model=model, base_url=base_url, api_key_env=names)
    return _apart(chosen, env, dotenv)


def stand_ins(
    entries: Sequence[Any],
    older: str,
    first: Endpoint | None,
    options: ProviderOptions,
    env: Mapping[str, str],
    dotenv: Mapping[str, str],
) -> tuple[tuple[Endpoint, ...], tuple[ConfigError, ...]]:
    """Those that `fallback_providers` names, in order, `fallback_model` (`older`) last; and why others cannot be used.

    A model that is named twice counts once. `first` is None when it cannot be asked: then its provider is unknown too.
    """
    found: list[Endpoint] = []
    problems: list[ConfigError] = []
    for entry in (*entries, *([older] if older else [])):
        try:
            if isinstance(entry, Mapping):
                endpoint = stand_in(entry, first, options, env, dotenv)
            elif first is not None:
                endpoint = another(str(entry), "", first, options, env, dotenv)
            else:
                provider, model = _split(str(entry), options)
                endpoint = stand_in({"provider": provider, "model": model}, None, options, env, dotenv)
        except ConfigError as error:
            problems.append(error)
        else:
            asked = {(e.base_url, e.model) for e in (*((first,) if first is not None else ()), *found)}
            found += [endpoint] if (endpoint.base_url, endpoint.model) not in asked else []
    return tuple(found), tuple(problems)


def beside(provider: str, options: ProviderOptions, env: Mapping[str, str], dotenv: Mapping[str, str]) -> Endpoint:
    """The server of another provider than the configured one; its model may be "". Raises ConfigError."""
    chosen = replace(options, provider=provider, model="", base_url="", api_key_env="")
    return _apart(chosen, env, dotenv, server_of)


def _apart(
    options: ProviderOptions,
    env: Mapping[str, str],
    dotenv: Mapping[str, str],
    resolve: Callable[[ProviderOptions, Mapping[str, str], Mapping[str, str]], Endpoint] = resolve,
) -> Endpoint:
    """As `resolve`, without the program's own variables."""
    own = {ENV_MODEL, ENV_BASE_URL, *numbered([ENV_API_KEY])}

    def others(place: Mapping[str, str]) -> dict[str, str]:
        return {name: value for name, value in place.items() if name not in own}

    return resolve(options, others(env), others(dotenv))


def _name_of(provider: str) -> str:
    preset = known(provider)
    return preset.name if preset is not None else provider.strip()


def known(name: str) -> Preset | None:
    """The preset called `name`, or by an alias."""
    name = name.strip().lower()
    return PRESETS.get(ALIASES.get(name, name))


def _parts(url: str) -> SplitResult:
    """`url` taken apart; all parts are empty when it cannot be."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises for a port that is none
    except ValueError:
        return urlsplit("")
    return parts


def shown_url(url: str) -> str:
    """`url` without the name and password it may hold."""
    parts = _parts(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def is_loopback(url: str) -> bool:
    """True when `url` points at this machine by name or number; nothing is looked up."""
    host = (_parts(url).hostname or "").lower()
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def normal_url(url: str, preset: Preset) -> str:
    """`url` without a trailing slash or the endpoint's own path; a bare host gets /v1. Raises ConfigError."""
    url = url.strip()
    if not url:
        raise ConfigError(
            "bad_base_url",
            f"{preset.label} has no address. Set model.base_url in the config or {ENV_BASE_URL}.",
            provider=preset.name,
            url="''",
        )
    if "://" not in url:
        url = ("http://" if is_loopback("http://" + url) else "https://") + url
    parts = _parts(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or not url.isprintable() or " " in url:
        raise ConfigError(
            "bad_base_url",
            f"The address {url[:200]!r} cannot be used. It has to look like https://host/v1.",
            provider=preset.name,
            url=repr(url[:200]),
        )
    path = _OPERATION.sub("", parts.path.rstrip("/"))
    if not path or (preset.wire in _UNVERSIONED and not _VERSION.search(path)):
        path += "/v1"
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


_OPERATION = re.compile(r"/(?:chat/completions|messages|responses)$")
_VERSION = re.compile(r"/v\d+(?:[a-z]+\d*)?$")
_UNVERSIONED = frozenset({"anthropic_messages"})
"""Wires whose addresses are given without the version: https://host/anthropic stands for https://host/anthropic/v1."""


def url_of(base_url: str, path: str) -> str:
    """`base_url` with `path` appended; a query (Azure's api-version) stays at the end, before that of `path`."""
    parts = urlsplit(base_url)
    path, _, query = path.partition("?")
    query = "&".join(filter(None, (parts.query, query)))
    return urlunsplit((parts.scheme, parts.netloc, f"{parts.path.rstrip('/')}/{path}", query, ""))


def _split(model: str, options: ProviderOptions) -> tuple[str, str]:
    head, slash, rest = model.partition("/")
    if slash and rest and head.lower() == MOA and options.mixtures and MOA not in options.providers:
        return MOA, rest
    if slash and rest and (head in options.providers or known(head)):
        return head.lower() if head not in options.providers else head, rest
    return "", model


def goes_elsewhere(model: str, provider: str, base_url: str, providers: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether `model` ("provider/name") would be asked of another provider than the one that is configured."""
    options = ProviderOptions(provider=provider, base_url=base_url, providers=providers)
    head, _ = _split(model, options)
    named = provider.strip().lower()
    if MOA in (named, model.partition("/")[0].strip().lower()):
        return True  # another mixture is other servers too
    if not head:
        return False
    if named in _NOT_NAMED:
        return not base_url
    try:
        preset = _preset(named, options)
        return _is_provider(head, preset) and _preset(head, options).name != preset.name
    except ConfigError:
        return True


def _is_provider(head: str, preset: Preset) -> bool:
    """Whether what stands before a slash is a provider where `preset` is configured: no vendor of one of its models.

    A name that the user gave a server of their own is no vendor's.
    """
    return not preset.slashed_models or known(head) is None


_NOT_NAMED = ("", "auto", "default")


def _chosen(options: ProviderOptions, lookup: Mapping[str, str]) -> tuple[Preset, str, str, ProviderOptions]:
    """Who is asked, which model, at which address if one was given, and the options that still apply to them."""
    model = (options.model or lookup.get(ENV_MODEL, "")).strip()
    base_url = (options.base_url or lookup.get(ENV_BASE_URL, "")).strip()
    named = options.provider.strip().lower()
    head, rest = _split(model, options)
    if named in _NOT_NAMED:
        if base_url:  # models on a server of one's own often have a slash in their names
            return _by_address(base_url, options), model, base_url, options
        return (
            (_preset(head, options), rest, "", options)
            if head
            else (_by_what_is_set(options, lookup), model, "", options)
        )
    preset = _preset(named, options)
    if head and _preset(head, options).name == preset.name:
        model = rest
    elif head and _is_provider(head, preset):
        # Another provider for this model: the address and the key of the configured one are not for it.
        return _preset(head, options), rest, "", replace(options, base_url="", api_key_env="")
    return preset, model, base_url, options


def _configured(name: str, options: ProviderOptions) -> Mapping[str, Any]:
    for key, entry in options.providers.items():
        if key.lower() == name.lower() or ALIASES.get(key.lower()) == name.lower():
            return entry if isinstance(entry, Mapping) else {}
    return {}


_QUIRKS = frozenset(
    f.name
    for f in fields(Preset)
    if f.name not in ("name", "base_url", "wire", "key_env", "key_headers", "headers", "extra_body", "default_model")
)
_READ = ("preset", "base_url", "model", "api_key", "api_key_env", "key_env", "api_mode", "headers", "extra_body",
         "prices")  # fmt: skip
_OF_HERMES = (
    "name", "api", "transport", "default_model", "models", "context_length", "rate_limit_delay", "enabled",
    "request_timeout_seconds", "stale_timeout_seconds", "discover_models", "ssl_ca_cert", "ssl_verify",
    "api_key_command", "extra_headers", "max_output_tokens", "max_tokens", "reasoning_effort",
)  # fmt: skip
ENTRY_KEYS = _QUIRKS.union(_READ, _OF_HERMES)
"""What an entry of `providers` may say: what is read of it, and what Hermes has there."""
STAND_IN_KEYS = frozenset(("provider", "model", "base_url", "api_key_env", "key_env", "api_key", *_OF_HERMES))
"""What an entry of `fallback_providers` may say: what `stand_in` reads, and what Hermes says beside it."""
API_MODES: Mapping[str, WireName] = MappingProxyType(
    {
        "chat_completions": "chat_completions",
        "anthropic_messages": "anthropic_messages",
        "responses": "responses",
        "codex_responses": "responses",
    }
)
"""The wires as a provider's `api_mode` names them."""
_KEY_HEADER: Mapping[WireName, str] = MappingProxyType(
    {"chat_completions": "authorization", "responses": "authorization", "anthropic_messages": "x-api-key"}
)
"""Where servers of a wire look for the key, if nothing else is known of them."""
_WIRE_HEADERS: Mapping[WireName, Mapping[str, str]] = MappingProxyType({"anthropic_messages": _ANTHROPIC_HEADERS})
_WIRE_IDS: Mapping[WireName, IdRule] = MappingProxyType({"anthropic_messages": "safe"})


def _over(base: Preset, wire: WireName) -> Preset:
    """`base` when it is asked over `wire`. Its own header for the key stays beside the wire's: many read either."""
    if _KEY_HEADER[wire] == _KEY_HEADER[base.wire]:
        return replace(base, wire=wire)
    headers = (*base.key_headers, _KEY_HEADER[wire])
    return replace(
        base,
        wire=wire,
        key_headers=tuple(dict.fromkeys(headers)),
        headers={**_WIRE_HEADERS.get(wire, {}), **base.headers},
        id_rule=_WIRE_IDS.get(wire, base.id_rule),
    )


def _preset(name: str, options: ProviderOptions) -> Preset:
    """The preset called `name` with the user's changes; ConfigError "unknown_provider" if there is none."""
    entry = _configured(name, options)
    base = known(name) or (known(str(entry.get("preset") or "custom")) if entry else None)
    if base is None:
        names = [*options.providers, *PRESETS]
        near = get_close_matches(name.lower(), names, 1)
        hint = f' Did you mean "{near[0]}"?' if near else ""
        raise ConfigError(
            "unknown_provider",
            f'There is no provider "{name[:60]}".{hint} Known: {", ".join(names)}.',
            provider=name[:60],
            nearest=near[0] if near else "",
        )
    if not entry:
        return base
    base = _over(base, API_MODES.get(str(entry.get("api_mode") or ""), base.wire))
    changes: dict[str, Any] = {
        key: value
        for key, value in entry.items()
        if key in _QUIRKS and isinstance(value, type(getattr(base, key)))  # a wrong type is the config's to report
    }
    url = str(entry.get("base_url") or "")
    extra, headers = entry.get("extra_body"), entry.get("headers")
    return replace(
        base,
        **{"label": base.label if known(name) else name, **changes},
        name=base.name if known(name) else name,
        base_url=url or base.base_url,
        headers={**base.headers, **{str(k).lower(): str(v) for k, v in headers.items()}}
        if isinstance(headers, Mapping)
        else base.headers,
        extra_body=dict(extra) if isinstance(extra, Mapping) else base.extra_body,
        # The known provider's key is not for an address the user put in its place.
        key_env=base.key_env if not url or _same_host(url, base.base_url) else (),
    )


def _by_address(base_url: str, options: ProviderOptions) -> Preset:
    """Who lives at `base_url`: a configured or known provider of that host, else a custom server."""
    for name, entry in options.providers.items():
        if isinstance(entry, Mapping) and _same_host(base_url, str(entry.get("base_url") or "")):
            return _preset(name, options)
    for preset in PRESETS.values():
        if preset.base_url and _same_host(base_url, preset.base_url):
            return preset
    host = _parts(base_url if "://" in base_url else "//" + base_url).netloc.rpartition("@")[2]
    return replace(PRESETS["custom"], label=host[:80] or "Custom server", local=is_loopback(base_url))


def _by_what_is_set(options: ProviderOptions, lookup: Mapping[str, str]) -> Preset:
    for preset in PRESETS.values():
        if preset.base_url_env and preset.base_url_env in lookup and any(n in lookup for n in preset.key_env):
            return preset
    for preset in PRESETS.values():
        if preset.needs_key and preset.base_url and any(name in lookup for name in preset.key_env):
            return preset
    raise ConfigError(
        "no_provider",
        "No model server is set up. Set a key such as OPENAI_API_KEY, ANTHROPIC_API_KEY or OPENROUTER_API_KEY, or "
        f"{ENV_BASE_URL} for a server of your own, or name one in the config (model.provider).",
    )


def key_names(value: Any) -> list[str]:
    """The variables that an `api_key_env` names: one, several with commas between them, or a list."""
    parts = value.split(",") if isinstance(value, str) else value if isinstance(value, Sequence) else ()
    return [name for part in parts if isinstance(part, str) and (name := part.strip())]


def _entry_names(entry: Mapping[str, Any]) -> list[str]:
    return key_names(entry.get("api_key_env") or entry.get("key_env"))


def _key_names(preset: Preset, options: ProviderOptions) -> list[str]:
    return [*key_names(options.api_key_env), *_entry_names(_configured(preset.name, options)), *preset.key_env]


def variables(options: ProviderOptions, fallbacks: Sequence[Any] = ()) -> set[str]:
    """Every variable that may hold a key, whichever server is asked. `fallbacks`: the entries of fallback_providers."""
    names = [*key_names(options.api_key_env), ENV_API_KEY]
    for preset in PRESETS.values():
        names += preset.key_env
    slots = (s for m in options.mixtures.presets.values() for s in (m.aggregator, *m.references) if s is not None)
    for entry in (*options.providers.values(), *fallbacks, *(slot.entry for slot in slots)):
        names += _entry_names(entry) if isinstance(entry, Mapping) else ()
    return set(numbered(names))


def written_keys(options: ProviderOptions) -> set[str]:
    """Keys that stand in the config itself."""
    entries = (entry for entry in options.providers.values() if isinstance(entry, Mapping))
    return {key.strip() for entry in entries if isinstance(key := entry.get("api_key"), str) and key.strip()}


def _keys(
    preset: Preset,
    address: str,
    own_url: str,
    options: ProviderOptions,
    env: Mapping[str, str],
    dotenv: Mapping[str, str],
) -> tuple[Secret, ...]:
    """The keys that may be sent to `address`, the first choice first."""
    entry = _configured(preset.name, options)
    at_home = _same_host(address, own_url) or _same_host(address, preset.base_url)
    chosen = key_names(options.api_key_env)  # named by the user for this very server
    if at_home:
        chosen += _entry_names(entry)
    if keys := find_keys([*chosen, ENV_API_KEY], env, dotenv):
        # The program's own variable is an alternative to those that were named, not one more of them.
        group = numbered([ENV_API_KEY])
        return tuple(key for key in keys if (key.source in group) == (keys[0].source in group))
    if at_home and isinstance(entry.get("api_key"), str) and entry["api_key"].strip():
        return (make_secret(entry["api_key"].strip(), f"providers.{preset.name}.api_key"),)
    return find_keys(preset.key_env, env, dotenv) if at_home else ()


def _same_host(a: str, b: str) -> bool:
    """True when both are the same origin: host and port, and no step down from https to http."""

    def origin(url: str) -> tuple[str, str, int | None]:
        parts = _parts(url if "://" in url else "https://" + url)
        return (
            parts.scheme,
            "127.0.0.1" if is_loopback(url) else (parts.hostname or "").lower(),
            parts.port or {"https": 443, "http": 80}.get(parts.scheme),
        )

    return bool(a and b) and bool(origin(a)[1]) and origin(a) == origin(b)
