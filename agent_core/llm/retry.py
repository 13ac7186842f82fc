"""What a failure means, and how long to wait before the next try. Pure: statuses, bodies and exceptions in, words out.

The error classes, and the wordings that tell them, are those real servers use; see LLM wire rules 24 to 31.
"""

from __future__ import annotations

import email.utils
import random
import re
import time
from collections.abc import Mapping
from typing import Any

from agent_core import limits
from agent_core.errors import ProviderError, ProviderErrorKind
from agent_core.llm.arguments import parse_json
from agent_core.messages import clean_surrogates

RETRY_STATUS = frozenset({408, 429, 500, 502, 503, 504, *range(520, 525), 529})


def backoff(base: float, attempt: int) -> float:
    """Seconds before the request after try number `attempt`: base · 2^(attempt-1), at most RETRY_CAP (LLM-04)."""
    exponent = min(max(attempt, 1) - 1, 32)
    return min(limits.RETRY_CAP, base * 2.0**exponent)


def wait_before(base: float, attempt: int, retry_after: float | None) -> float:
    """Seconds to wait: what the server asked for when that is longer, else the back-off with up to 10 % of chance."""
    computed = backoff(base, attempt)
    if retry_after is not None:
        return max(computed, retry_after)
    return computed * (1 + random.random() * limits.RETRY_JITTER)


def retry_after(headers: Mapping[str, str], body: Any = None, now: float | None = None) -> float | None:
    """Seconds the server asks to wait: retry-after-ms, retry-after (seconds or a date), Gemini's retryDelay.

    None when it says nothing usable: garbage, a negative number, a date that has passed. `headers` in lower case.
    """
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        if (seconds := _seconds(headers.get(name, ""))) is not None:
            return seconds * scale
    if date := headers.get("retry-after", "").strip():
        try:
            at = email.utils.parsedate_to_datetime(date).timestamp()
        except (ValueError, TypeError, OverflowError, IndexError):
            at = 0.0
        if (left := at - (time.time() if now is None else now)) > 0:
            return left
    for detail in _details(body):
        if (seconds := _seconds(str(detail.get("retryDelay", "")).removesuffix("s"))) is not None:
            return seconds
    return None


def _seconds(text: str) -> float | None:
    text = text.strip()
    if not re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text):
        return None
    return float(text)


def _details(body: Any) -> list[Mapping[str, Any]]:
    error = body.get("error", body) if isinstance(body, dict) else {}
    details = error.get("details") if isinstance(error, dict) else None
    return [d for d in details if isinstance(d, dict)] if isinstance(details, list) else []


# -- what a server says ---------------------------------------------------------------------------------------------


def from_response(status: int, headers: Mapping[str, str], body: bytes, who: str, key: str = "") -> ProviderError:
    """The error a response with a failing status means. `headers` in lower case; `key` is masked wherever it shows."""
    text = body.decode("utf-8", "replace").removeprefix("\ufeff").strip()
    parsed: Any = None
    try:
        parsed = parse_json(text)
    except ValueError:
        pass
    if isinstance(parsed, list) and parsed:  # Gemini wraps the object in a list
        parsed = parsed[0]
    wait = retry_after(headers, parsed)
    if 300 <= status < 400:
        target = tidy(headers.get("location", ""), key)[:100]
        return ProviderError(
            "bad_request",
            f"{who} redirects (HTTP {status}) to {target or 'another place'}. Put the right address into the config.",
            status=status,
            provider=who,
        )
    message, words = _message_and_words(parsed)
    if not message:
        message = "" if isinstance(parsed, (dict, list)) else _page_title(text)
    return _build(status, message, words, who, wait, key, parsed)


def from_event(data: Mapping[str, Any], who: str, key: str = "") -> ProviderError:
    """The error that an object inside a 200 reply reports."""
    message, words = _message_and_words(data)
    status = next((s for s in map(_status_of, words) if s), 0)
    return _build(status, message, words, who, retry_after({}, data), key, data)


def is_error_object(data: Mapping[str, Any]) -> bool:
    """True for the shapes in which servers report a failure inside a 200 reply. `error: null` is none."""
    if data.get("error"):
        return True
    if data.get("choices"):
        return False
    if data.get("object") == "error" or data.get("type") == "error":
        return True
    return isinstance(data.get("message"), str) and bool(data.get("code")) and data.get("code") not in (200, "200")


def _message_and_words(data: Any) -> tuple[str, list[str]]:
    """The human text of an error object, and its code words (code, type, status, param), outermost last."""
    if isinstance(data, str):
        return data, []
    if not isinstance(data, dict):
        return "", []
    inner = data.get("error")
    message, words = _message_and_words(inner) if inner else ("", [])
    words += [str(data[k]) for k in ("code", "type", "status", "status_code") if isinstance(data.get(k), (str, int))]
    for name in ("message", "msg", "detail", "error_description", "title"):
        if message:
            break
        value = data.get(name)
        if value:
            message = value if isinstance(value, str) else _flat(value)
    metadata = data.get("metadata")
    if isinstance(metadata, dict) and isinstance(metadata.get("raw"), str):  # OpenRouter: what the server behind said
        message = f"{message}: {metadata['raw']}" if message else metadata["raw"]
    return message, words


def _flat(value: Any, depth: int = 4) -> str:
    """A structured message as one line: the texts and places in it."""
    if isinstance(value, dict):
        loc = value.get("loc")
        if isinstance(value.get("msg"), str):
            place = ".".join(map(str, loc)) if isinstance(loc, list) else ""
            return f"{place}: {value['msg']}" if place else str(value["msg"])
        return "; ".join(filter(None, (_flat(v, depth - 1) for v in value.values()))) if depth else ""
    if isinstance(value, list):
        return "; ".join(filter(None, (_flat(v, depth - 1) for v in value[:20]))) if depth else ""
    return value if isinstance(value, str) else ""


def _page_title(text: str) -> str:
    """What is worth showing of a body that is no JSON: the title of a page, or the first words of a plain text."""
    if "<" in text[:200]:
        title = re.search(r"<title[^>]*>(.{1,200}?)</title>", text[:4096], re.S | re.I) or re.search(
            r"<h1[^>]*>(.{1,200}?)</h1>", text[:4096], re.S | re.I
        )
        return title.group(1) if title else ""
    return text


_STATUS_WORDS: Mapping[int, str] = {
    429: "ratelimitexceeded ratelimiterror ratelimit ratelimited toomanyrequests throttling resourceexhausted "
    "engineoverloadederror 1302 1303 1305",
    401: "authenticationerror invalidapikey unauthenticated unauthorized",
    403: "permissionerror permissiondenied accessdenied",
    404: "notfounderror notfound modelnotfound modelnotavailable",
    400: "invalidrequesterror badrequesterror badrequest invalidargument invalidparameter invalidparametererror",
    408: "timeouterror requesttimeout",
    500: "servererror internalerror internalservererror apierror",
    503: "serviceunavailable serviceunavailableerror unavailable unavailableerror",
    529: "overloadederror overloaded",
}
"""Words that stand for a status, as letters and digits only."""
_STATUS_BY_WORD = {word: status for status, words in _STATUS_WORDS.items() for word in words.split()}


def _status_of(word: str) -> int:
    if re.fullmatch(r"[45]\d\d", word):
        return int(word)
    bare = re.sub(r"[^a-z0-9]", "", word.lower())
    return 429 if bare.startswith("throttling") else _STATUS_BY_WORD.get(bare, 0)


_QUOTA_WORDS = frozenset(
    {
        "insufficient_quota",
        "exceeded_current_quota_error",
        "insufficient_balance",
        "insufficient_user_quota",
        "insufficient_credits",
        "billing_hard_limit_reached",
        "billing_not_active",
        "billing_error",
        "payment_required",
        "credit_balance_too_low",
        "arrearage",
        "1113",
    }
)
_QUOTA = re.compile(
    r"余额不足|欠费|请充值|insufficient (?:account )?(?:balance|credit|quota|funds)|credit balance is too low|"
    r"out of credits|not enough credits|requires more credits|payment required|billing hard limit",
    re.I,
)
_QUOTA_UNLESS_DELAY = re.compile(r"exceeded your current quota|check your plan and billing|exceeded quota", re.I)
_THROTTLE = re.compile(
    r"too many tokens, please wait|too many requests|rate.?limit(?!ed to a context)|throttl|please slow down|"
    r"请求频率|速率限制|请求过于频繁",
    re.I,
)
_OVERFLOW_WORDS = frozenset(
    {
        "context_length_exceeded",
        "model_max_prompt_tokens_exceeded",
        "exceed_context_size_error",
        "context_window_exceeded",
        "contextwindowexceedederror",
        "model_context_window_exceeded",
        "request_too_large",
        "string_above_max_length_prompt",
        "1261",
        "3051",
    }
)
_OVERFLOW = re.compile(
    "|".join(
        (
            r"context (?:length|window|size|limit)[^.]{0,80}(?:exceed|is \d|of \d|too|reached|full|overflow)",
            r"(?:exceed|beyond|above|over|(?:larger|greater|longer) than|too (?:long|large|many)[^.]{0,40})"
            r"[^.]{0,60}context (?:length|window|size|limit)",
            r"maximum (?:context|prompt|input|sequence|model) (?:length|tokens?)",
            r"max(?:imum)?[ _]context",
            r"prompt (?:is )?too long|prompt exceeds|prompt has \d+ tokens",
            r"input (?:is )?too long|input length (?:and|\d|exceed)|range of input length",
            r"(?:prompt|input) token count[^.]{0,40}exceeds",
            r"exceed(?:s|ed)?(?: the)?(?: model(?:'s)?)? (?:maximum |max )?(?:number of )?(?:input |prompt )?tokens? "
            r"(?:limit|allowed)",
            r"exceed(?:s|ed)? (?:the )?model(?:'s)? (?:token|context) limit|exceeded model token limit",
            r"maximum number of (?:input )?tokens allowed",
            r"too large for model with|context_?window_?exceeded|max_(?:seq|model)_len",
            r"context (?:the )?overflows|context length of only",
            r"inputs?[`'\"]? (?:tokens \+ [`'\"]?max_new_tokens|must have less than \d+ tokens)",
            r"request too large|payload too large|request entity too large",
            r"reduce (?:the length of|your) (?:the )?(?:messages?|prompt|input)",
            r"tokens? (?:in|of) (?:the )?(?:prompt|messages)[^.]{0,60}exceed",
            r"上下文(?:长度|窗口)?(?:超|过长)|输入(?:长度|内容)?(?:超|过长)",
        )
    ),
    re.I,
)
_NO_TOOLS = re.compile(
    r"(?:does not|doesn't|do not|not) support(?:ed)? (?:tool|function)|support tool use|"
    r"(?:tools?|tool (?:use|calling|calls)|function calling|functions)[`'\"]? (?:is|are) not "
    r"(?:supported|enabled|available)|"
    r"tool[_ ]choice[^.]{0,40}requires --enable-auto-tool-choice",
    re.I,
)
_BAD_CALL_WORDS = frozenset({"tool_use_failed", "malformed_function_call"})
_BAD_CALL = re.compile(r"tool call validation failed|failed to call a function|malformed function call", re.I)
_FILTER_WORDS = frozenset(
    {
        "content_filter",
        "content_policy_violation",
        "responsibleaipolicyviolation",
        "data_inspection_failed",
        "datainspectionfailed",
        "content_moderation",
        "moderation_blocked",
        "1301",
    }
)
_FILTER = re.compile(
    r"content management policy|content (?:policy|filter)(?:ing)? (?:violation|triggered)|content exists risk|"
    r"flagged (?:as|by|for)|inappropriate content|敏感内容|不安全或敏感",
    re.I,
)
_AUTH = re.compile(
    r"(?:incorrect|invalid|missing|expired|no|unknown) (?:\w+ )?api[ _-]?key|api[ _-]?key (?:is )?(?:not valid|invalid|"
    r"expired|missing|not found)|authentication (?:failed|fails|required)|unauthorized",
    re.I,
)
_NOT_FOUND = re.compile(r"model\b[^.]{0,80}\b(?:not found|does not exist|is not available|not exist)", re.I)


def _kind(status: int, message: str, words: list[str], has_delay: bool) -> tuple[ProviderErrorKind, bool | None]:
    """The error class, and whether to retry where that does not follow from it. The order of the tests matters."""
    lower = {w.strip().lower() for w in words}
    if lower & _BAD_CALL_WORDS or _BAD_CALL.search(message):
        return "bad_tool_call", None
    if status == 402 or lower & _QUOTA_WORDS or _QUOTA.search(message):
        return "quota", None
    if status == 429 and _QUOTA_UNLESS_DELAY.search(message) and not has_delay and "resource_exhausted" not in lower:
        return "quota", None
    # Before the overflow wordings: "too many tokens, please wait" is about speed, not about size.
    if status == 429 or (status in (0, 400, 403, 503) and _THROTTLE.search(message)):
        return "rate_limit", None
    if status == 413 or lower & _OVERFLOW_WORDS or _OVERFLOW.search(message):
        return "context_length", None
    if _NO_TOOLS.search(message):
        return "tools_unsupported", None
    if lower & _FILTER_WORDS or _FILTER.search(message):
        return "content_filter", None
    if status in (401, 403) or (status < 500 and _AUTH.search(message)):
        return "auth", None
    if status == 404 or "model_not_found" in lower or (status in (0, 400) and _NOT_FOUND.search(message)):
        return "not_found", None
    if status == 408:
        return "timeout", None
    if status == 0 or status >= 500:
        return "server", None if status == 0 or status in RETRY_STATUS else False
    return "bad_request", None


_WHAT: Mapping[str, str] = {
    "rate_limit": "{who} asks to slow down",
    "server": "{who} failed",
    "timeout": "{who} took too long",
    "bad_tool_call": "{who} could not read the call its model wrote",
    "auth": "{who} does not accept the key",
    "not_found": "{who} does not know this model or address",
    "bad_request": "{who} refused the request",
    "quota": "The account at {who} is used up",
    "content_filter": "The content filter of {who} stopped this",
    "context_length": "The conversation is too long for this model",
    "tools_unsupported": "This model cannot use tools",
}
_WAY_OUT: Mapping[str, str] = {
    "rate_limit": "Wait a little and try again, or choose another model.",
    "server": "Try again in a while, or choose another model.",
    "timeout": "Try again, or choose another model.",
    "bad_tool_call": "Try again, or choose another model.",
    "auth": "Check the key and its rights.",
    "not_found": "Check the model's name and the server's address.",
    "bad_request": "Check the model and its settings.",
    "quota": "Add credit, or choose another provider.",
    "content_filter": "Say it in other words.",
    "context_length": "Shorten the conversation or start a new one.",
    "tools_unsupported": "Choose a model that can use tools.",
}


def _build(
    status: int, message: str, words: list[str], who: str, wait: float | None, key: str, body: Any
) -> ProviderError:
    kind, retryable = _kind(status, message, words, wait is not None)
    said = tidy(message, key)
    what = _WHAT[kind].format(who=who) + (f" (HTTP {status})" if status else "")
    text = f"{what}: {said.rstrip('.')}. {_WAY_OUT[kind]}" if said else f"{what}. {_WAY_OUT[kind]}"
    params: dict[str, Any] = {"provider": who, "said": said}
    error = body.get("error", body) if isinstance(body, dict) else None
    if isinstance(error, dict) and isinstance(error.get("param"), str):
        params["field"] = error["param"][:100]
    if kind == "context_length" and (limit := _context_limit(message, body)):
        params["limit"] = limit
    return ProviderError(kind, text, status=status or None, retryable=retryable, retry_after=wait, **params)


def _context_limit(message: str, body: Any) -> int | None:
    """The model's context length in tokens, when the error tells."""
    error = body.get("error", body) if isinstance(body, dict) else {}
    n_ctx = error.get("n_ctx") if isinstance(error, dict) else None
    if isinstance(n_ctx, int):
        return n_ctx
    for pattern in _LIMITS:
        if found := pattern.search(message):
            return int(found.group(1))
    return None


_LIMITS = (
    re.compile(r"> ?(\d{3,9})"),
    re.compile(r"\[1, ?(\d{3,9})\]"),
    re.compile(r"(\d{3,9}) maximum"),
    re.compile(r"(?:maximum|max|limit|only|less than|<=|allowed|available)[^\d.]{0,40}(\d{3,9})", re.I),
)


_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?")
_KEYS = re.compile(
    r"(?<![\w-])(?:(?:sk|gsk|xai|tgp|hf|pk|rk)[-_][\w\-*.]{5,}\w|AIza[\w-]{10,})|"
    r"(?<=[Bb]earer )\S{6,}|(?<=api[-_]key[:=])\s*\S{6,}|"
    r"(?=[a-zA-Z_-]*\d)[\w-]{32,}(?![\w-])"
)


def tidy(text: str, key: str = "", chars: int = limits.ERROR_TEXT_CHARS) -> str:
    """A server's text made fit to show: one line, no terminal escapes, no tags, keys masked, not long."""
    text = clean_surrogates(text[: chars * 20])
    if key:
        text = text.replace(key, "***")
    text = _ESCAPES.sub("", text)
    text = re.sub(r"</?[a-zA-Z][^<>]{0,200}>", " ", text) if "</" in text else text
    text = "".join(c if c.isprintable() else " " for c in text)
    text = " ".join(_KEYS.sub("***", text).split())
    return text if len(text) <= chars else text[: chars - 1].rstrip() + "…"


# -- what went wrong on the way ---------------------------------------------------------------------------------------


def from_exception(error: Exception, who: str, url: str) -> ProviderError:
    """The error that an exception of the HTTP library means."""
    import httpx

    said = tidy(str(error))
    if isinstance(error, httpx.ConnectTimeout):
        return ProviderError("timeout", f"{who} at {_host(url)} did not answer. Check the network and the address.")
    if isinstance(error, (httpx.TimeoutException, TimeoutError)):
        return ProviderError("timeout", f"{who} fell silent. {_WAY_OUT['timeout']}")
    if "CERTIFICATE_VERIFY_FAILED" in str(error) or "certificate" in str(error).lower():
        return ProviderError(
            "network",
            f"The certificate of {_host(url)} is not trusted ({said[:160]}). Set SSL_CERT_FILE to your CA bundle.",
            retryable=False,
        )
    if isinstance(error, httpx.ProxyError):
        return ProviderError(
            "network", f"The proxy refused ({said[:160]}). Check HTTPS_PROXY and NO_PROXY.", retryable=True
        )
    if isinstance(error, (httpx.UnsupportedProtocol, httpx.InvalidURL, httpx.LocalProtocolError, UnicodeError)):
        return ProviderError(
            "bad_request", f"The request to {_host(url)} cannot be sent ({said}). Check the address and the headers."
        )
    if isinstance(error, httpx.DecodingError):
        return ProviderError("protocol", f"The reply of {who} could not be unpacked. {_WAY_OUT['server']}")
    if isinstance(error, httpx.ConnectError):
        host = _host(url)
        place = host if who == host else f"{who} at {host}"
        text = f"{place} cannot be reached ({said}). Check that it runs and the network is up."
        return ProviderError("network", text, unreached=True)
    return ProviderError("network", f"The connection to {who} broke ({said or type(error).__name__}). Try again.")


def _host(url: str) -> str:
    match = re.match(r"[a-z]+://(?:[^@/]*@)?([^/?#]+)", url)
    return match.group(1) if match else "its address"


_RETRY_WORDS: Mapping[str, str] = {
    "rate_limit": "The server asks to slow down.",
    "server": "The server failed.",
    "network": "The connection broke.",
    "timeout": "No answer in time.",
    "truncated": "The reply broke off.",
    "protocol": "The reply was not readable.",
    "bad_tool_call": "The model wrote a call that the server could not read.",
}


def too_long(error: ProviderError) -> ProviderError:
    """The error to give up with when the server asks for a longer wait than is sensible to sit out."""
    seconds = error.retry_after or 0.0
    if seconds >= 5400:
        wait = f"{seconds / 3600:.0f} hours"
    else:
        wait = f"{seconds / 60:.0f} minutes" if seconds >= 90 else f"{seconds:.0f} seconds"
    who = error.params.get("provider", "The server")
    return ProviderError(
        error.kind,
        f"{who} asks to wait {wait} before the next request. Try again then, or choose another model.",
        status=error.status,
        retry_after=error.retry_after,
        **error.params,
    )


def announcement(error: ProviderError, attempt: int, of: int, wait: float) -> str:
    """The words for a person while a retry waits: "The server failed. Trying again in 2 s, 2 of 3."."""
    why = "The server cannot be reached." if error.params.get("unreached") else _RETRY_WORDS.get(error.kind, error.text)
    when = f" in {wait:.0f} s" if wait >= 1 else ""
    return f"{why} Trying again{when}, {attempt} of {of}."
