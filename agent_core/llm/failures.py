"""What a failure means: a status, a body, an exception → the error class, whether to try again, and its case. Pure.

The error classes, and the wordings that tell them, are those real servers use; see LLM wire rules 24 to 31. What a
person is told of each is in words.py.
"""

from __future__ import annotations

import math
import re
import socket
import ssl
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from agent_core import limits
from agent_core.errors import ProviderError, ProviderErrorKind
from agent_core.llm.arguments import parse_json
from agent_core.llm.retry import RETRY_STATUS, retry_after
from agent_core.llm.words import Asked, failure, tidy


def from_response(status: int, headers: Mapping[str, str], body: bytes, asked: Asked) -> ProviderError:
    """The error a response with a failing status means. `headers` in lower case."""
    text = body.decode("utf-8", "replace").removeprefix("\ufeff").strip()
    parsed: Any = None
    try:
        parsed = parse_json(text)
    except ValueError:
        pass
    if isinstance(parsed, list) and parsed:  # Gemini wraps the object in a list
        parsed = parsed[0]
    if 300 <= status < 400:
        target = tidy(headers.get("location", ""), asked.key)[:100]
        return failure("bad_request", asked, "bad_request_moved", status=status, target=target or "another place")
    if status == 407:
        return failure("network", asked, "network_proxy_login", status=status, retryable=False)
    message, words = _message_and_words(parsed)
    if not message:
        message = "" if isinstance(parsed, (dict, list)) else _page_title(text)
    return _build(status, message, words, asked, retry_after(headers, parsed), parsed)


def from_event(data: Mapping[str, Any], who: str, key: str = "") -> ProviderError:
    """The error that an object inside a 200 reply reports. `key` is masked wherever it shows."""
    message, words = _message_and_words(data)
    status = next((s for s in map(_status_of, words) if s), 0)
    return _build(status, message, words, Asked(who, key=key), retry_after({}, data), data)


def is_error_object(data: Mapping[str, Any]) -> bool:
    """True for the shapes in which servers report a failure inside a 200 reply. `error: null` is none."""
    if data.get("error") or _base_resp(data):
        return True
    if data.get("choices"):
        return False
    if data.get("object") == "error" or data.get("type") == "error" or data.get("detail") or data.get("errors"):
        return True
    return isinstance(data.get("message"), str) and bool(data.get("code")) and data.get("code") not in (200, "200")


def _base_resp(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Where MiniMax tells that all is well, status 0, or that it is not; empty when it does not say so."""
    told = data.get("base_resp")
    return told if isinstance(told, Mapping) and told.get("status_code") not in (None, "", 0, "0") else {}


def _message_and_words(data: Any) -> tuple[str, list[str]]:
    """The human text of an error object, and its code words (code, type, status, param), outermost last."""
    if isinstance(data, str):
        return data, []
    if not isinstance(data, dict):
        return "", []
    inner = data.get("error") or _base_resp(data)
    message, words = _message_and_words(inner) if inner else ("", [])
    words += [str(data[k]) for k in ("code", "type", "status", "status_code") if isinstance(data.get(k), (str, int))]
    for name in ("message", "msg", "status_msg", "detail", "errors", "error_description", "title"):
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
    "engineoverloadederror slowdown 1302 1303 1305",
    401: "authenticationerror invalidapikey unauthenticated unauthorized",
    403: "permissionerror permissiondenied accessdenied",
    404: "notfounderror notfound modelnotfound modelnotavailable",
    400: "invalidrequesterror badrequesterror badrequest invalidargument invalidparameter invalidparametererror",
    408: "timeouterror requesttimeout",
    500: "servererror internalerror internalservererror apierror",
    503: "serviceunavailable serviceunavailableerror unavailable unavailableerror serverisoverloaded",
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
    r"balance (?:is )?(?:insufficient|too low|exhausted|used up)|"
    r"out of credits|not enough credits|no credits left|requires more credits|used all available credits|"
    r"(?:does not|doesn't|do not|don't) have (?:any |enough )?credits|"
    r"payment required|billing hard limit|in arrears|account is in good standing|free tier[^.]{0,40}exhausted|"
    r"(?:usage|spending|key) limit (?:exceeded|reached)|reached (?:its|your) (?:\w+ )?(?:usage|spending) limit",
    re.I,
)
_QUOTA_UNLESS_DELAY = re.compile(r"exceeded your current quota|check your plan and billing|exceeded quota", re.I)
_THROTTLE = re.compile(
    r"too many tokens, please wait|too many requests|rate.?limit(?!ed to a context)|throttl|please slow down|"
    r"concurren(?:t|cy)[^.]{0,40}(?:limit|exceed)|请求频率|速率限制|请求过于频繁|并发数?[^。]{0,10}(?:过高|超)|每分钟",
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
        "tokens_limit_reached",
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
            r"(?:prompt|messages?|conversation)(?: tokens?)? (?:is |are )?too (?:long|large|big)|prompt exceeds",
            r"(?:prompt|input|request|messages) (?:contains?|has|have) \d+ tokens",
            r"(?:input|prompt) tokens?\b[^.]{0,40}\bexceed|max(?:imum)? input (?:characters|tokens|length)",
            r"max_(?:prompt|input)_tokens[^.]{0,20}(?:exceed|limit)",
            r"too many (?:input |prompt )?tokens\b(?! per|, please)",
            r"input (?:is )?too long|input length (?:and|\d|exceed)|range of input length",
            r"(?:prompt|input) token count[^.]{0,40}exceeds",
            r"exceed(?:s|ed)?(?: the)?(?: model(?:'s)?)? (?:maximum |max )?(?:number of )?(?:input |prompt )?tokens? "
            r"(?:limit|allowed)",
            r"exceed(?:s|ed)? (?:the )?model(?:'s)? (?:token|context) limit|exceeded model token limit",
            r"maximum number of (?:input )?tokens allowed",
            r"too large for model with|context_?window_?exceeded|max_(?:seq|model)_len",
            r"context (?:the )?overflows|context length of only",
            r"inputs?[`'\"]? (?:tokens \+ [`'\"]?max_new_tokens|must have less than \d+ tokens)",
            r"request (?:body )?too large|payload too large|request entity too large",
            r"reduce (?:the length of|your) (?:the )?(?:messages?|prompt|input)",
            r"max_tokens must be at least 1, got -|\.content['\"`]?: string too long",
            r"tokens? (?:in|of) (?:the )?(?:prompt|messages)[^.]{0,60}exceed",
            r"tokens? [^.]{0,40}exceeds? (?:the )?max(?:imum)? (?:message|input|prompt) tokens?",
            r"(?:上下文|输入|提示词|prompt|(?<!max_)tokens?)[^。图]{0,12}(?:超|过长)|"
            r"超(?:过|出)[^。图]{0,16}(?:上下文|最大长度|长度限制)",
        )
    ),
    re.I,
)
_NO_TOOLS = re.compile(
    r"(?:does not|doesn't|do not|not) support(?:ed)? (?:tool|function)|support tool use|"
    r"(?:tools?|tool (?:use|calling|calls)|function calling|functions)[`'\"]? (?:is|are) not "
    r"(?:supported|enabled|available)|(?:tools?|tool (?:use|calling|calls)|function calling) (?:is|are) unsupported|"
    r"不支持(?:使用)?(?:工具|函数)|"
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
    r"flagged (?:as|by|for)|inappropriate content|prohibited content|(?:our|the) safety system|"
    r"blocked by (?:\w+ )?safety|violates? (?:\w+ )?(?:usage|content) (?:guidelines|polic)|"
    r"敏感(?:内容|信息)|不安全或敏感",
    re.I,
)
_AUTH = re.compile(
    r"(?:incorrect|invalid|missing|expired|no|unknown) (?:\w+ |x-)?api[ _-]?key|"
    r"api[ _-]?key (?:is )?(?:not valid|invalid|"
    r"expired|missing|not found)|authentication (?:failed|fails|required)|unauthorized|"
    r"missing auth(?:entication|orization)|invalid (?:access|auth|bearer|api) token|"
    r"无效的 ?API ?Key|API ?Key ?无效|令牌[^。]{0,6}(?:过期|无效|不正确)|(?:身份验证|鉴权|认证)失败",
    re.I,
)
_NOT_FOUND = re.compile(
    r"model\b[^.]{0,80}\b(?:not found|does not exist|is not available|not exist)|"
    r"model:? [`'\"]?[^\s`'\"]+[`'\"]? (?:is not supported|is no longer|has been (?:decommissioned|retired|removed))|"
    r"not a valid model|unknown model|invalid model(?: name| id|:)|invalid url|模型[^。]{0,20}不存在",
    re.I,
)


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
    if status in (404, 405) or "model_not_found" in lower or (status in (0, 400) and _NOT_FOUND.search(message)):
        return "not_found", None
    if status == 408:
        return "timeout", None
    if status in (0, 409) or status >= 500:
        return "server", None if status == 0 or status in RETRY_STATUS else False
    return "bad_request", None


def _build(status: int, message: str, words: list[str], asked: Asked, wait: float | None, body: Any) -> ProviderError:
    message = message[: limits.ERROR_WORDS]
    kind, retryable = _kind(status, message, words, wait is not None)
    error = body.get("error", body) if isinstance(body, dict) else None
    error = error if isinstance(error, dict) else {}
    params: dict[str, Any] = {}
    if isinstance(error.get("param"), str):
        params["field"] = tidy(error["param"], asked.key)[:100]
    if kind == "context_length" and (limit := _context_limit(message, body)):
        params["limit"] = limit
    if kind == "rate_limit" and wait is not None:
        params["seconds"] = math.ceil(wait)
    if kind == "rate_limit" and isinstance(error.get("metadata"), dict) and error["metadata"].get("provider_name"):
        params["upstream"] = True  # the server behind an aggregator, which knows nothing of our key
    if kind == "bad_request" and (setting := _setting(f"{message} {params.get('field', '')}")):
        params["setting"] = setting
    case = _case(kind, status, message, words, asked, params)
    said = tidy(message, asked.key)
    return failure(kind, asked, case, said=said, status=status, retryable=retryable, retry_after=wait, **params)


def _case(
    kind: ProviderErrorKind, status: int, message: str, words: list[str], asked: Asked, params: Mapping[str, Any]
) -> str:
    """The finer case that has a better way out than the class; see words.py."""
    if kind == "auth":
        if status == 403 and not _AUTH.search(message):
            return "auth_rights"
        return "auth_named" if asked.key_name else "auth_missing" if asked.url and not asked.key else "auth"
    if kind == "rate_limit":
        return "rate_limit_wait" if params.get("seconds") else kind
    if kind == "server":
        return "server_overloaded" if status in (503, 529) else kind
    if kind == "not_found":
        bare = {re.sub(r"[^a-z0-9]", "", word.lower()) for word in words}
        if re.search(r"\bmodel\b|模型", message, re.I) or bare & {"modelnotfound", "modelnotavailable"}:
            return "not_found_model"
        return "not_found_address" if asked.url else kind
    if kind == "context_length":
        return "context_length_known" if params.get("limit") else kind
    if kind == "bad_request":
        if _IMAGE.search(message):
            return "bad_request_image"
        return "bad_request_setting" if params.get("setting") else kind
    return kind


_IMAGE = re.compile(r"\bimages?\b|image_url|图片|图像", re.I)
_SETTINGS: Mapping[str, str] = {
    "reasoning_effort": "agent.reasoning_effort",
    "reasoning.effort": "agent.reasoning_effort",
    "thinking": "agent.reasoning_effort",
    "temperature": "/temperature",
    "max_tokens": "model.max_tokens",
    "max_completion_tokens": "model.max_tokens",
    "max_output_tokens": "model.max_tokens",
}
"""What sets a field of the request, where a person can set it."""


def _setting(text: str) -> str:
    return next((s for name, s in _SETTINGS.items() if re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", text)), "")


def _context_limit(message: str, body: Any) -> int | None:
    """The model's context length in tokens, when the error tells."""
    error = body.get("error", body) if isinstance(body, dict) else {}
    n_ctx = error.get("n_ctx") if isinstance(error, dict) else None
    if isinstance(n_ctx, int) and 0 < n_ctx <= limits.TOKENS:
        return n_ctx
    for pattern in _LIMITS:
        if found := pattern.search(message):
            return int(found.group(1))
    return None


_LIMITS = (
    re.compile(r"> ?(\d{3,9})"),
    re.compile(r"\[1, ?(\d{3,9})\]"),
    re.compile(r"(\d{3,9}) maximum"),
    re.compile(r"(?:maximum|max|limit|only|less than|<=|allowed|available)[^\d.]{0,40}(?<!by )(?<!\d)(\d{3,9})", re.I),
)


# -- what went wrong on the way ---------------------------------------------------------------------------------------


def from_exception(error: Exception, asked: Asked, peer: str = "") -> ProviderError:
    """The error that an exception of the HTTP library means. `peer`: host:port that was connected to, if it is known:
    another one than the server's is a proxy."""
    import httpx

    said = tidy(str(error), asked.key, 160)
    if isinstance(error, (ImportError, ValueError)) and "proxy" in said.lower():
        return failure("network", asked, "network_proxy_kind", retryable=False)
    if isinstance(error, httpx.ProxyError):
        login = re.match(r"407\b", said)
        case = "network_proxy_login" if login else "network_proxy_refused"
        return failure("network", asked, case, said="" if login else said, retryable=not login)
    if isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout)) and peer and peer != _peer_of(asked.url):
        return failure("network", asked, "network_proxy", said=said, proxy=peer[:100], unreached=True)
    if isinstance(error, httpx.ConnectTimeout):
        return failure("timeout", asked, "timeout_connect", unreached=True)
    if isinstance(error, (httpx.TimeoutException, TimeoutError)):
        return failure("timeout", asked)
    causes = list(_causes(error))
    if "certificate" in said.lower() or any(isinstance(e, ssl.SSLCertVerificationError) for e in causes):
        return failure("network", asked, "network_certificate", said=said, retryable=False)
    if _NO_TLS.search(said):
        return failure("network", asked, "network_tls", said=said, retryable=False)
    if isinstance(error, (httpx.UnsupportedProtocol, httpx.InvalidURL, httpx.LocalProtocolError, UnicodeError)):
        return failure("bad_request", asked, "bad_request_unsendable", said=said)
    if isinstance(error, httpx.DecodingError):
        return failure("protocol", asked, what="a reply that could not be unpacked")
    if isinstance(error, httpx.ConnectError):
        if any(isinstance(e, socket.gaierror) for e in causes):
            return failure("network", asked, "network_name", said=said, unreached=True)
        refused = any(isinstance(e, ConnectionRefusedError) for e in causes) or "refused" in said
        case = "network_refused" if refused else "network_unreached"
        return failure("network", asked, case, said="" if refused else said, unreached=True)
    return failure("network", asked, said=said or type(error).__name__)


_NO_TLS = re.compile(r"WRONG_VERSION_NUMBER|UNKNOWN_PROTOCOL|HTTP_REQUEST|UNSUPPORTED_PROTOCOL|RECORD_LAYER_FAILURE")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    for _ in range(8):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def _peer_of(url: str) -> str:
    """host:port of an address, as it is connected to."""
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port or (443 if parts.scheme == 'https' else 80)}"
