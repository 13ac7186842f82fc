"""What a person is told when a model server fails: what has happened, what the server says, and the way out. Pure.

A row is a case: the error class, or a finer one that has a better way out. A face translates by the case's name, which
goes with the error as `params["case"]`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any
from urllib.parse import quote

from agent_core import limits
from agent_core.errors import ProviderError, ProviderErrorKind
from agent_core.messages import clean_surrogates
from agent_core.records import dataclass


@dataclass(frozen=True, slots=True)
class Asked:
    """Who was asked, and how: what the words about a failure may name."""

    who: str
    url: str = ""
    model: str = ""
    key: str = field(default="", repr=False)
    """Masked wherever it shows."""
    key_name: str = ""
    """The variable or the setting that the key came from."""


_AGAIN = "/retry asks again, /model chooses another model."
_ADDRESS = "Check the network, and base_url in the config."

_WORDS: Mapping[str, tuple[str, str]] = {
    "rate_limit": ("{who} asks to slow down", "Wait a little; then " + _AGAIN),
    "rate_limit_wait": ("{who} asks to slow down for {seconds} s", "Then " + _AGAIN),
    "wait_too_long": (
        "{who} asks to wait {wait} before the next request",
        "/retry asks again then; /model chooses another model.",
    ),
    "server": ("{who} failed", "In a while " + _AGAIN),
    "server_overloaded": ("{who} has more to do than it can", "In a while " + _AGAIN),
    "server_gave_up": ("{who} gave up in the middle of the reply", _AGAIN),
    "timeout": ("{who} took too long", _AGAIN),
    "timeout_connect": ("{host} does not answer", _ADDRESS),
    "timeout_idle": (
        "{who} has sent nothing for {seconds} s",
        "/retry asks again; for a slow model raise stream.idle_timeout in the config.",
    ),
    "timeout_progress": (
        "{who} has sent no content for {seconds} s",
        "/retry asks again; for a slow model raise stream.progress_timeout in the config.",
    ),
    "network": ("The connection to {who} broke", "/retry asks again."),
    "network_name": ("The name of {host} cannot be looked up", _ADDRESS),
    "network_refused": ("Nothing answers at {host}", "Start the server there, or check base_url in the config."),
    "network_unreached": ("{host} cannot be reached", _ADDRESS),
    "network_certificate": (
        "The certificate of {host} is not trusted",
        "If the server is your own, set SSL_CERT_FILE to your CA file and start again.",
    ),
    "network_tls": (
        "{host} does not answer with TLS",
        "Check whether base_url in the config has to begin with http or https.",
    ),
    "network_proxy": ("The proxy at {proxy} cannot be reached", "Check HTTPS_PROXY, or put {host} into NO_PROXY."),
    "network_proxy_kind": (
        "A proxy that the environment names cannot be used",
        "Write HTTPS_PROXY and ALL_PROXY like http://host:port or socks5://host:port.",
    ),
    "network_proxy_login": (
        "The proxy wants a name and a password",
        "Put them into HTTPS_PROXY: http://name:password@host:port.",
    ),
    "network_proxy_refused": (
        "The proxy does not open the way to {host}",
        "Check HTTPS_PROXY, or put {host} into NO_PROXY.",
    ),
    "auth": ("{who} does not accept the key", "Enter another key in /setup."),
    "auth_named": (
        "{who} does not accept the key in {key_name}",
        "Put a good key into {key_name}, or enter one in /setup.",
    ),
    "auth_missing": ("{who} wants a key", "Enter one in /setup, or name its variable with api_key_env in the config."),
    "auth_rights": (
        "{who} does not allow this with the key",
        "Give the key the right to use this model, or choose another with /model.",
    ),
    "quota": ("The account at {who} is used up", "Add credit there, or choose another provider with /model."),
    "not_found": (
        "{who} does not know this model or address",
        "Choose a model with /model, or check base_url in the config.",
    ),
    "not_found_model": ("{who} does not have {model}", "Choose another model with /model."),
    "not_found_address": (
        "{who} has nothing at this address",
        "Check base_url in the config; it often ends in /v1.",
    ),
    "bad_request": ("{who} refused the request", "Choose another model with /model, or check providers in the config."),
    "bad_request_setting": (
        "{who} does not take {setting} as it is set",
        "Change {setting}, or choose another model with /model.",
    ),
    "bad_request_image": (
        "{who} does not take the image",
        "/undo takes the message back; send a smaller PNG or JPEG, or choose another model with /model.",
    ),
    "bad_request_moved": (
        "{who} redirects to {target}",
        "If that is the right place, put it into base_url in the config.",
    ),
    "bad_request_unsendable": ("The request to {host} cannot be sent", "Check base_url and headers in the config."),
    "content_filter": (
        "The content filter of {who} stopped this",
        "/undo takes the message back; say it in other words, or choose another model with /model.",
    ),
    "context_length": ("The conversation is too long for this model", "/compact shortens it, /new begins another."),
    "context_length_known": (
        "The conversation is too long for this model, which takes {limit} tokens",
        "/compact shortens it, /new begins another.",
    ),
    "tools_unsupported": ("This model cannot use tools", "Choose one that can with /model."),
    "bad_tool_call": ("{who} could not read the call its model wrote", _AGAIN),
    "protocol": ("{who} sent {what}", "/retry asks again; if it stays so, check base_url in the config."),
    "protocol_page": (
        "{who} sent a web page instead of a reply",
        "Check base_url in the config; it often ends in /v1.",
    ),
    "protocol_size": ("{who} sent more than {mb} MB in one reply", "Choose another model with /model."),
    "truncated": ("The reply of {who} broke off before its end", "/retry asks again."),
}
CASES = tuple(_WORDS)


def failure(
    kind: ProviderErrorKind,
    asked: Asked | str,
    case: str = "",
    *,
    said: str = "",
    status: int | None = None,
    retryable: bool | None = None,
    retry_after: float | None = None,
    **params: Any,
) -> ProviderError:
    """The error of class `kind` with its words. `asked` may be no more than a name; `said` is what the server says."""
    asked = Asked(asked) if isinstance(asked, str) else asked
    case = case or kind
    names: dict[str, Any] = {
        "who": asked.who,
        "host": host(asked.url) or asked.who,
        "model": asked.model or "this model",
        "key_name": asked.key_name,
        **params,
    }
    names = {name: _short(value) if isinstance(value, str) else value for name, value in names.items()}
    what, way_out = (text.format_map(names) for text in _WORDS[case])
    what += f" (HTTP {status})" if status else ""
    told = f"{what}: {said.rstrip('.')}" if said else what
    given = {name: value for name, value in names.items() if name not in ("who", "model") and value}
    return ProviderError(
        kind,
        f"{told}. {way_out}",
        status=status or None,
        retryable=retryable,
        retry_after=retry_after,
        provider=asked.who,
        said=said,
        case=case,
        told=told,
        **given,
    )


def host(url: str) -> str:
    """The host of an address with its port, without a name and password; empty when it has none."""
    match = re.match(r"[a-z]+://(?:[^@/]*@)?([^/?#]+)", url)
    return match.group(1) if match else ""


def _short(name: str, chars: int = 100) -> str:
    """A name or an address on one line, not long."""
    name = "".join(c if c.isprintable() else " " for c in clean_surrogates(name[: chars + 1]))
    return name if len(name) <= chars else name[: chars - 1] + "…"


_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?")
_KEYS = re.compile(
    r"(?<![\w-])(?:(?:sk|gsk|xai|tgp|hf|pk|rk)[-_][\w\-*.]{5,}\w|AIza[\w-]{10,})|"
    r"(?<=[Bb]earer )\S{6,}|(?<=api[-_]key[:=])\s*\S{6,}|"
    r"(?<![\w-])(?=[a-zA-Z_-]*\d)[\w-]{32,}(?![\w-])"
)


def tidy(text: str, key: str = "", chars: int = limits.ERROR_TEXT_CHARS) -> str:
    """A server's text made fit to show: one line, no terminal escapes, no tags, keys masked, not long."""
    text = clean_surrogates(text[: limits.ERROR_WORDS])
    for written in filter(None, (key, quote(key, safe=""))):
        text = text.replace(written, "***")
    text = _ESCAPES.sub("", text)
    text = re.sub(r"</?[a-zA-Z][^<>]{0,200}>", " ", text) if "</" in text else text
    text = "".join(c if c.isprintable() else " " for c in text)
    text = " ".join(_KEYS.sub("***", text).split())
    return text if len(text) <= chars else text[: chars - 1].rstrip() + "…"


def duration(seconds: float) -> str:
    """How long a wait is, for a person: "40 seconds", "12 minutes", "3 hours"."""
    if seconds >= 5400:
        return f"{seconds / 3600:.0f} hours"
    return f"{seconds / 60:.0f} minutes" if seconds >= 90 else f"{seconds:.0f} seconds"
