"""Taking secrets out of text before a model, a log, a transcript or a prompt shows it.

A secret is known by its vendor's form, by the field it stands in, or by its place (headers, URLs, key blocks): never
by how random it looks, so hashes, digests, ids and encoded data stay readable. What is found becomes [REDACTED]; the
field's name stays. Sources: R1, families 1 to 5 of the secrets corpus.

Everything is linear in the text: literal strings are looked for first, and a pattern is tried only where one stands.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from agent_core import limits
from agent_core.text.ansi import strip_ansi

MARK: Final = "[REDACTED]"
Span = tuple[int, int]


def redact(text: str, extra: Iterable[str] = ()) -> str:
    """`text` with every secret replaced by MARK. `extra`: exact values the program knows to be secret.

    Escape sequences hide nothing: where text without them holds a secret, the result is without them.
    """
    plain = strip_ansi(text)
    spans = _spans(plain, extra)
    return _replaced(plain, spans, 0, len(plain)) if spans else text


class Redactor:
    """`redact` for text that arrives in pieces. What it gives out has no escape sequences."""

    def __init__(self, extra: Iterable[str] = ()) -> None:
        self._extra = tuple(extra)
        self._raw = ""  # the beginning of an escape sequence
        self._text = ""  # what was given out lately, as context, and what waits
        self._given = 0  # how much of `_text` was given out

    def feed(self, text: str) -> str:
        """What can be given out now: everything but an unfinished last word, and a secret that may go on."""
        self._take(text)
        end = len(self._text)
        word = self._text.rfind(" ") + 1, self._text.rfind("\n") + 1, self._text.rfind("\t") + 1
        if end - max(word) <= limits.REDACT_WORD:
            return self._give(max(word))
        return self._give(end - limits.REDACT_WORD)

    def flush(self) -> str:
        """The rest."""
        rest, self._raw = strip_ansi(self._raw), ""
        self._text += rest
        return self._give(len(self._text), last=True)

    def _take(self, text: str) -> None:
        raw = self._raw + text
        open_sequence = OPEN_SEQUENCE.search(raw, max(0, len(raw) - limits.REDACT_WORD))
        cut = open_sequence.start() if open_sequence else len(raw)
        self._text += strip_ansi(raw[:cut])
        self._raw = raw[cut:]

    def _give(self, end: int, *, last: bool = False) -> str:
        if end <= self._given:
            return ""
        spans = _spans(self._text, self._extra)
        if not last:
            # A secret that reaches the end so far may go on, one across the cut must not be cut; both wait, but not
            # for ever.
            for start, stop in spans:
                waits = stop > end or stop == len(self._text)
                if waits and len(self._text) - start <= limits.REDACT_HELD:
                    end = min(end, max(start, self._given))
        given = _replaced(self._text, spans, self._given, end)
        # Context begins at a line where that is near, so that a cut name or URL is not taken for another one.
        keep = max(0, end - limits.REDACT_WORD)
        line = self._text.rfind("\n", 0, keep) + 1
        drop = line if keep - line <= limits.REDACT_WORD else keep
        self._text = self._text[drop:]
        self._given = end - drop
        return given


OPEN_SEQUENCE: Final = re.compile(r"(?:\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)|\x9b[0-?]*[ -/]*)\Z")


def _replaced(text: str, spans: list[Span], begin: int, end: int) -> str:
    pieces: list[str] = []
    at = begin
    for start, stop in spans:
        if stop <= at or start >= end:
            continue
        pieces += [text[at : max(start, at)], MARK]
        at = stop
    return "".join([*pieces, text[at:end]]) if at < end else "".join(pieces)


def _spans(text: str, extra: Iterable[str]) -> list[Span]:
    """Where secrets stand: sorted, not overlapping."""
    lower = _lower(text)
    found = [
        *_known(text, extra),
        *_key_blocks(text),
        *_vendor_keys(text),
        *_placed(text, lower),
        *_urls(text),
        *_fields(text, lower),
    ]
    spans: list[Span] = []
    for start, stop in sorted(found):
        if spans and start < spans[-1][1]:
            spans[-1] = spans[-1][0], max(stop, spans[-1][1])
        else:
            spans.append((start, stop))
    return spans


def _lower(text: str) -> str:
    """`text` in lower case, at the same positions."""
    lower = text.lower()
    return lower if len(lower) == len(text) else text.translate(_ASCII_LOWER)


_ASCII_LOWER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _places(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + len(word))


def _known(text: str, extra: Iterable[str]) -> Iterator[Span]:
    for value in extra:
        if len(value) >= limits.SECRET_CHARS:
            yield from ((at, at + len(value)) for at in _places(text, value))


# -- private keys -------------------------------------------------------------------------------------------------

_KEY_BEGIN: Final = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_END: Final = re.compile(r"-----END [A-Z0-9 ]{0,40}-----")
# The body line by line; line ends may be escaped, lines quoted or marked as those of a diff.
_KEY_BODY: Final = re.compile(
    r"(?:[\s\"',+>|\-]|\\[nr])*+(?:[A-Z][A-Za-z-]{3,20}: [^\n\\]{0,200}(?:\\n|\s)++)*+"
    r"(?:(?:[\s\"',+>|\-]|\\[nr])*+[A-Za-z0-9+/=]{8,}+)++(?:\s[A-Za-z0-9+/=]{1,8}(?=\s|\Z))?"
)


def _key_blocks(text: str) -> Iterator[Span]:
    for at in _places(text, "-----BEGIN "):
        begin = _KEY_BEGIN.match(text, at)
        if begin is None:
            continue
        again = text.find("-----BEGIN ", begin.end())
        end = _KEY_END.search(text, begin.end(), again if again >= 0 else len(text))
        body = _KEY_BODY.match(text, begin.end())
        if end is not None and (body is not None or end.start() - begin.end() > limits.SECRET_CHARS):
            yield at, end.end()
        elif body is not None:
            # Cut off before its end. A header alone is only talk about keys.
            yield at, body.end()


# -- vendors' forms -----------------------------------------------------------------------------------------------

# The literal beginning, what follows it. A key begins at a word border.
_FORMS: Final = tuple(
    (literal, re.compile(re.escape(literal) + rest))
    for literals, rest in (
        ("sk-", r"[A-Za-z0-9_\-]{10,}"),
        ("sk_ rk_ whsec_", r"[A-Za-z0-9_]{16,}"),
        ("AKIA ASIA ABIA ACCA", r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
        ("ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"[A-Za-z0-9_]{20,}"),
        ("glpat- gldt- glrt- glptt- glcbt- glft- glsoat- glagent-", r"[A-Za-z0-9_.\-]{16,}"),
        ("xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-", r"[A-Za-z0-9\-]{10,}"),
        ("AIza", r"[A-Za-z0-9_\-]{30,}"),
        ("ya29.", r"[A-Za-z0-9_\-]{20,}"),
        ("GOCSPX-", r"[A-Za-z0-9_\-]{20,}"),
        ("npm_ hf_ gsk_ r8_ exa_ dckr_pat_ rubygems_ shpat_ shpss_ lin_api_ ntn_ sbp_", r"[A-Za-z0-9_]{16,}"),
        ("pypi-", r"[A-Za-z0-9_\-]{16,}"),
        ("SG.", r"[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}"),
        ("dop_v1_ doo_v1_ dor_v1_", r"[a-f0-9]{20,}"),
        ("AGE-SECRET-KEY-1", r"[A-Z0-9]{20,}"),
        ("fw_ fw- xai-", r"[A-Za-z0-9]{30,}"),
        ("tvly- pplx- nvapi- csk- hsk- figd_ fal_ jina_ tgp_v1_ PMAK- sntrys_ glc_", r"[A-Za-z0-9_\-]{16,}"),
        ("fc- syt_ am_ mem0_ brv_ retaindb_ bb_live_", r"[A-Za-z0-9_]{10,}"),
        ("hvs. hvb.", r"[A-Za-z0-9_\-]{20,}"),
        ("ATATT3 ATCTT3 gAAAAA", r"[A-Za-z0-9_=\-]{30,}"),
        ("glsa_ sntryu_ ops_eyJ fo1_ sq0atp- sq0csp- NRAK-", r"[A-Za-z0-9_\-]{20,}"),
        ("1//0", r"[A-Za-z0-9_\-]{30,}"),
    )
    for literal in literals.split()
)
# A JSON web token: a header that names its algorithm, type or key; or at least two encoded objects.
_JWT: Final = re.compile(
    r"eyJ(?:hbGci|0eXAi|raWQi|lbmMi|jdHki|4NXQi)[A-Za-z0-9_\-]{4,}(?:\.[A-Za-z0-9_\-]+={0,2}){0,4}"
    r"|eyJ[A-Za-z0-9_\-]{8,}\.eyJ[A-Za-z0-9_\-]{8,}={0,2}(?:\.[A-Za-z0-9_\-]+={0,2})?"
)
_ALNUM_RUN: Final = re.compile(r"[A-Za-z0-9]{20,}")


def _vendor_keys(text: str) -> Iterator[Span]:
    for literal, form in _FORMS:
        if literal not in text:
            continue
        for match in form.finditer(text):
            start, stop = match.span()
            if not _word_before(text, start) and _random(text[start + len(literal) : stop]):
                yield start, stop
    if "eyJ" in text:
        for match in _JWT.finditer(text):
            if not _word_before(text, match.start()) and not _in_data_url(text, match.start()):
                yield match.span()


def _word_before(text: str, at: int) -> bool:
    return at > 0 and (text[at - 1].isalnum() and text[at - 1].isascii())


def _in_data_url(text: str, at: int) -> bool:
    return text.endswith(";base64,", max(0, at - 8), at)


def _random(rest: str) -> bool:
    """Whether what follows a key's prefix is a key rather than words (sk-learn-contrib) or a row of x."""
    if not rest.strip("xX*._-"):
        return False
    return any(c.isdigit() for c in rest) or _ALNUM_RUN.search(rest) is not None


# -- by place -----------------------------------------------------------------------------------------------------

_AUTHORIZATION: Final = re.compile(
    r"authorization\\?[\"']?\s{0,8}[:=]\s{0,8}\\?[\"']?"
    r"(?:(?:bearer|basic|token|digest|negotiate|apikey|key|bot|aws4-hmac-sha256)[ \t]{1,8})?([^\s\"'\\,;<>{}$]{6,})",
    re.I,
)
_BEARER: Final = re.compile(r"bearer[ \t]{1,8}([A-Za-z0-9._~+/=\-]{8,})", re.I)
_BASIC: Final = re.compile(r"basic[ \t]{1,8}([A-Za-z0-9+/]{8,}={0,2})", re.I)
_COOKIES: Final = re.compile(r"cookie\\?[\"']?[ \t]{0,8}:[ \t]{0,8}\\?[\"']?([^\r\n\"'\\]{1,8000})", re.I)
_COOKIE: Final = re.compile(r"([^\s=;,]{1,200})=([^\s;,]{8,})")
_COOKIE_ATTRIBUTES: Final = frozenset(["path", "domain", "expires", "max-age", "samesite", "priority", "version"])
_NETRC: Final = re.compile(r"login\s{1,20}\S{1,200}\s{1,20}password\s{1,20}(\S{1,500})", re.I)
_USER_OPTION: Final = re.compile(
    r"(?<=\s)(?:-u|-U|--user|--proxy-user)(?:\s{0,4}|=)[\"']?([^\s:\"'@]{0,200}):([^\s\"']{1,500})"
)
_COMMAND_LINE: Final = re.compile(r"(?:[^\\\n]|\\[\s\S])*+")
_SSHPASS: Final = re.compile(r"sshpass +-p ?[\"']?([^\s\"'$-][^\s\"']{4,200})")
_GLUED_PASSWORD: Final = re.compile(
    r"(?:mysql|mariadb)\w{0,8}(?= )[^\n|;&]{0,300}?\s-p[\"']?([^\s\"'$-][^\s\"']{4,200})"
)
_LOGIN_OPTION: Final = re.compile(r"login(?= )[^\n|;&]{0,300}?\s-p ?[\"']?([^\s\"'$-][^\s\"']{4,200})")
_WEBHOOK: Final = re.compile(r"/services/T[A-Za-z0-9_]{6,}/B[A-Za-z0-9_]{6,}/([A-Za-z0-9_]{16,})")
_HOOK_TOKEN: Final = re.compile(r"/api/webhooks/\d{6,}/([A-Za-z0-9_\-]{30,})")
_BOT: Final = re.compile(r"(?<!\d)\d{8,10}:([A-Za-z0-9_\-]{30,})")
_CHAT_BOT: Final = re.compile(r"[MNO](?=[A-Za-z]{0,22}\d)[A-Za-z0-9]{23,27}\.[A-Za-z0-9_\-]{6,7}\.[A-Za-z0-9_\-]{27,}")
_REGISTRY_AUTH: Final = re.compile(r'"auth"\s{0,20}:\s{0,20}"([A-Za-z0-9+/]{8,}={0,2})"')
_WORDY: Final = re.compile(r"[a-z]+(?:[-_.][a-z]+)*[.:,]?|[A-Z]?[a-z]+[.:,]?|[A-Z]+[.:,]?")


def _real(value: str) -> bool:
    return not _placeholder(value)


def _no_word(value: str) -> bool:
    return not _WORDY.fullmatch(value) and not _placeholder(value)


def _is_user_and_password(encoded: str) -> bool:
    try:
        return b":" in base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except ValueError:
        return False


# A literal in lower case, the form that may begin with it, and whether what the form's group holds is a secret.
_PLACED: Final[tuple[tuple[str, re.Pattern[str], Callable[[str], bool]], ...]] = (
    ("authorization", _AUTHORIZATION, _no_word),
    ("bearer", _BEARER, _no_word),
    ("basic", _BASIC, _is_user_and_password),
    ("login", _NETRC, _real),
    ("login", _LOGIN_OPTION, _real),
    ("sshpass", _SSHPASS, _real),
    ("mysql", _GLUED_PASSWORD, _real),
    ("mariadb", _GLUED_PASSWORD, _real),
    ("/services/t", _WEBHOOK, _real),
    ("/api/webhooks/", _HOOK_TOKEN, _real),
    ('"auth"', _REGISTRY_AUTH, _is_user_and_password),
)


def _placed(text: str, lower: str) -> Iterator[Span]:
    """Secrets known by where they stand: headers, netrc lines, command options, cookies, hook addresses."""
    for word, form, is_secret in _PLACED:
        for at in _places(lower, word):
            match = form.match(text, at)
            if match and is_secret(match[1]):
                yield match.span(1)
    for program in ("curl", "wget", "http", "xh"):
        yield from _user_options(text, program)
    yield from _cookies(text, lower)
    yield from _bot_tokens(text)


def _bot_tokens(text: str) -> Iterator[Span]:
    """Digits, a colon, then mixed letters: looked for from the colon, which is rarer than a digit."""
    for at in _places(text, ":"):
        if text[max(0, at - 8) : at].isdigit():
            match = _BOT.search(text, max(0, at - 10), at + limits.REDACT_NAME)
            if match and match.start(1) == at + 1 and not (match[1].islower() or match[1].isupper()):
                yield match.span(1)
    for match in _CHAT_BOT.finditer(text):
        if not _word_before(text, match.start()):
            yield match.span()


def _cookies(text: str, lower: str) -> Iterator[Span]:
    done = 0
    for at in _places(lower, "cookie"):
        line = _COOKIES.match(text, at) if at >= done else None
        if line is None:
            continue
        done = line.end()
        for pair in _COOKIE.finditer(text, *line.span(1)):
            if pair[1].lower() not in _COOKIE_ATTRIBUTES and not _placeholder(pair[2]):
                yield pair.span(2)


def _user_options(text: str, program: str) -> Iterator[Span]:
    """The password in `-u user:password` of a program that fetches; elsewhere -u names a user and a group."""
    done = 0
    for at in _places(text, program):
        line = _COMMAND_LINE.match(text, at, at + limits.REDACT_WORD) if at >= done else None
        if line is None:
            continue
        done = line.end()
        for option in _USER_OPTION.finditer(text, at, done):
            if not _placeholder(option[2]):
                yield option.span(2)


# -- URLs ---------------------------------------------------------------------------------------------------------

_USERINFO: Final = re.compile(r"://([^\s/?#\"'<>`\\]{1,2000})@(?=[\w\[{$%])")


def _urls(text: str) -> Iterator[Span]:
    """The password of a URL, up to the last @ of its authority; a user alone only when it is a key itself."""
    for at in _places(text, "://"):
        match = _USERINFO.match(text, at)
        if match is None:
            continue
        user, colon, password = match[1].partition(":")
        if colon:
            if password and not _placeholder(password) and password.lower() not in _GENERIC:
                yield match.start(1) + len(user) + 1, match.end(1)
        elif _USER_KEY.fullmatch(user):
            yield match.span(1)


_USER_KEY: Final = re.compile(r"(?=[^.@{}$]*\d)[^.@{}$]{12,}|[A-Za-z0-9_\-]{20,}")

# -- by field name ------------------------------------------------------------------------------------------------

_FIELD_WORDS: Final = _words("""
    password passwd passphrase passwort pwd pass secret token api_key apikey api-key api.key access_key
    access-key accesskey private_key private-key privatekey secret_key encryption_key encryptionkey
    signing_key signingkey master_key masterkey account_key accountkey auth_key authkey subscription_key
    subscription-key key_material bearer _auth credential credentials signature sig
""")
_PASSWORD_WORDS: Final = ("pass", "pwd")
# What may still follow the word in a name that holds the secret itself (not its length, address or age).
_FIELD: Final = re.compile(
    r"(?:[_.\-]?(?i:key|value|data|raw|plain|prod|production|dev|staging|test|live|old|new|current|primary|secondary"
    r"|input|b64|base64|\d{1,3})){0,2}"
    r"\\?[\"'`]?\]?"
    r"(?P<sep>[ \t]{0,40}(?:=>|:=|=(?![=~>])|:(?![:/=]))[ \t]{0,40}(?:\r?\n[ \t]{1,40}(?=\\?[\"']))?|>(?=[^<\s]))"
    r"(?:[rbuRBU]{0,2}(?P<quote>\\?[\"'`])|(?=[^\s\"'`]))"
)
_OPTION: Final = re.compile(r"(?P<sep>[ \t]{1,8})(?:(?P<quote>[\"'])|(?=[^\s\"'`|;&<>\-]))")
_BARE: Final = re.compile(r"[^\s\"'`]+")
_NAME_CHARS: Final = "abcdefghijklmnopqrstuvwxyz0123456789_.-"
_NOT_SECRET_BEFORE: Final = re.compile(
    r"(?:max|min|num|total|count|prompt|completion|input|output|cached|reasoning|page|next|prev|continuation|sync|"
    r"cancellation|cancel|eos|bos|pad|unk|sep|cls|mask|stop|special|first|last|per|bad|hash|public|pub|git|parse|"
    r"current)[_.\-]?\Z"
)
_SHORT_WORDS: Final = frozenset(["pass", "pwd", "sig", "signature"])
# Words too common in fields' names to tell anything except in an environment variable's, or as .npmrc's _auth.
_VARIABLE_WORDS: Final = frozenset(["_auth", "credential", "credentials"])


def _fields(text: str, lower: str) -> Iterator[Span]:
    for word in (*_FIELD_WORDS, "api key"):
        done = 0
        for at in _places(lower, word):
            span = _field(text, lower, word, at) if at >= done else None
            if span:
                yield span
                done = span[1]


def _field(text: str, lower: str, word: str, at: int) -> Span | None:
    """Where the secret value of the field stands whose name has `word` at `at`; None if there is none."""
    window = lower[max(0, at - limits.REDACT_NAME) : at]
    start = at - len(window) + len(window.rstrip(_NAME_CHARS))
    before = lower[start:at]
    if _NOT_SECRET_BEFORE.search(before) or not _begins_word(text, word, at):
        return None
    option = before.startswith("--")
    match = _FIELD.match(text, at + len(word)) or (_OPTION.match(text, at + len(word)) if option else None)
    if match is None:
        return None
    opener = text[start - 1 : start]
    sep, quote, first = match["sep"], match["quote"], match.end()
    if quote:
        last = _quoted_end(text, quote, first)
    else:
        last = first + len(_bare_value(text[first : first + limits.REDACT_NAME], opener in ("?", "&")))
    name = text[start : at + len(word)]
    env = option or opener in ("?", "&") or (name.upper() == name and sep == "=")
    ends_line = text[last : last + 1] in ("", "\n", "\r")
    if word in _VARIABLE_WORDS and not (env or (name == "_auth" and sep == "=")):
        return None
    if sep == ">" and not (opener == "<" and text.startswith("</", last)):
        return None  # only an XML element puts a value behind its name and >
    if not _secret_value(text[first:last], word.startswith(_PASSWORD_WORDS), bool(quote), env, ends_line):
        return None
    if last - first == limits.REDACT_NAME and (rest := _BARE.match(text, last)):
        last = rest.end()
    return first, last


def _quoted_end(text: str, quote: str, first: int) -> int:
    """The end of a quoted value: its quote, or the end of the line where it was cut off."""
    limit = first + limits.REDACT_HELD
    ends = (text.find(quote, first, limit), text.find("\n", first, limit), min(limit, len(text)))
    return min(end for end in ends if end >= 0)


def _begins_word(text: str, word: str, at: int) -> bool:
    """Short words count only at a border of words (DB_PASS, dbPass, not compass)."""
    if word not in _SHORT_WORDS or at == 0:
        return True
    return not text[at - 1].isalpha() or (text[at].isupper() and text[at - 1].islower())


def _bare_value(text: str, in_query: bool) -> str:
    """An unquoted value without what belongs to the text around it."""
    match = _BARE.match(text)
    value = _VALUE_END.split(match[0], maxsplit=1)[0] if match else ""
    if in_query:
        value = re.split("[&#]", value, maxsplit=1)[0]
    while value and (value[-1] in "]},;:." or (value[-1] == ")" and value.count("(") < value.count(")"))):
        value = value[:-1]
    return value


_VALUE_END: Final = re.compile(r";|,(?=\Z|[\w.\-]+[=:])|\\[nr]|<(?=/)|&(?=[\w.\-]+=)")

_STANDS_FOR: Final = re.compile(
    r"\*{3,}|•{2,}|\.{3}|…|\[REDACTED|<[^<>]*>|\$\{|\$\(|\{\{|%\(|\A[$%@&{][A-Za-z_{(]|\A\{[^{}]*\}\Z"
    r"|\A(?:[\w\-]*[-_])?x{3,}\Z|\A(?:your|my|the|some|enter|insert|add|put|paste)[-_ ][a-z_\- ]*\Z",
    re.I,
)
_INSTRUCTION: Final = re.compile(
    r"placeholder|change[-_ ]?me|replace[-_ ]?me|todo|redacted|masked|(?:\b|[-_])(?:here|example|sample)\b", re.I
)


def _placeholder(value: str) -> bool:
    """Whether it only stands for a secret: a template, a variable, a mask, an instruction."""
    value = value[: limits.REDACT_NAME]
    if _STANDS_FOR.search(value):
        return True
    return not any(c.isdigit() for c in value) and _INSTRUCTION.search(value) is not None


_GENERIC: Final = frozenset(
    _words("""
    password passwd passwort pwd pass passphrase secret token apikey api_key api-key key string str text
    bytes int integer number bool boolean true false null none nil undefined optional required default
    empty hidden unset missing invalid expired enabled disabled unknown username admin example sample
    dummy basic bearer oauth disallow forbidden
    """)
)
_CODE: Final = re.compile(
    r"\A[A-Za-z_][\w.]*[(\[]"  # a call or an index
    r"|\A(?:os|process|env|environ|config|settings|self|this|ctx|args|opts|options|request|req|secrets|vars|var|data"
    r"|local|module)\.[A-Za-z_]"
    r"|\A[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]{2,}\d?)+\Z"  # an attribute
    r"|\A(?:await|new|return|lambda|if|func|function|async|typeof|not)\b"
    r"|getenv|environ|process\.env|\A!\w"
)
_REGEX: Final = re.compile(r"\\[sSdDwWbB.]|\[\^|\[[A-Za-z0-9]-[A-Za-z0-9]|[.\])][*+]|\{\d+,\d*\}|\(\?")
_PATH: Final = re.compile(r"(?:~|\.{1,2})?(?:/[\w.@\-]+)+/?")
_IDENTIFIER: Final = re.compile(r"[a-z_]+\d{0,2}")
_LETTERS: Final = re.compile(r"[A-Za-z_\-]+")
_ONE_WORD: Final = re.compile(r"[A-Z]?[a-z]{1,11}|[A-Z]{1,11}")
_URL_VALUE: Final = re.compile(r"[a-z][a-z0-9+.\-]*://", re.I)


def _secret_value(value: str, password: bool, quoted: bool, env: bool, ends_line: bool) -> bool:
    """Whether the value of a field with a telling name is the secret itself."""
    value = value.strip()
    if len(value) < limits.SECRET_CHARS or value.lower() in _GENERIC or _placeholder(value):
        return False
    if _CODE.search(value) or _REGEX.search(value) or _URL_VALUE.match(value):
        return False
    if _PATH.fullmatch(value) and len(value) != 40:  # 40 is the length of cloud secrets, which may begin with a slash
        return False
    if value.isdigit():
        return password
    if any(c.isspace() for c in value):
        # Words are prose, or the label of a field; two of them with a digit are likelier a password.
        return password and len(value.split()) <= 3 and any(c.isdigit() for c in value)
    if _LETTERS.fullmatch(value):
        if env:
            return True
        if quoted:
            return not _ONE_WORD.fullmatch(value) and "_" not in value and "-" not in value
        return password and ends_line and not _ONE_WORD.fullmatch(value) and not _speaks_of_secrets(value)
    # What a program calls its variables.
    name = not (quoted or env) and _IDENTIFIER.fullmatch(value) is not None
    return not (name and ("_" in value or not password or _speaks_of_secrets(value)))


def _speaks_of_secrets(value: str) -> bool:
    low = value.lower()
    return any(word in low for word in ("pass", "pwd", "secret", "token", "key", "hash", "_"))
