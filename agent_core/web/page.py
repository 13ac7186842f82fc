"""What a web server sent, as text for a model: HTML as Markdown, other text as it is, and nothing else.

HTML is taken apart by a program of its own (page_child.py), which ends when its memory or its time is over: a page
comes from anybody. Source: LIM-04, MISC-01.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from agent_core import helper, limits
from agent_core.cancel import CancelScope
from agent_core.errors import SandboxError, ToolFailure
from agent_core.sandbox.policy import SandboxPolicy
from agent_core.text import encoding
from agent_core.text.ansi import clean
from agent_core.text.kinds import kind_of
from agent_core.text.printable import printable

_CHILD: Final = str(Path(__file__).with_name("page_child.py"))


def read(
    data: bytes,
    headers: Mapping[str, str],
    url: str,
    cancel: CancelScope,
    sandbox: SandboxPolicy | None = None,
    *,
    cut: bool = False,
) -> tuple[str, str, bool]:
    """The title and the text of a page, without control bytes, and whether there is more of it.

    `headers`: with names in lower case. `sandbox`: what the program that reads HTML is held to. `cut`: `data` is only
    the page's beginning. Raises Interrupted, and ToolFailure with code "web_kind" for what is no text, "web_page" for
    what cannot be made text.
    """
    media, charset = content_type(headers.get("content-type", ""))
    if not data:
        return "", "", False
    if _is_html(media, data):
        title, text, longer = _converted(decode(data, charset), url, cancel, sandbox)
        cut = cut or longer
    elif _may_be_text(media):
        title, text = "", _as_it_is(data, media, charset, url, cut)
    else:
        raise _no_text(data, media, url, cut)
    return " ".join(clean(title).split()), clean(text), cut


def content_type(header: str) -> tuple[str, str]:
    """The media type and the charset of a Content-Type header, in lower case; empty where it names none."""
    media, *parameters = header.lower().split(";")
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "charset":
            return media.strip(), value.strip().strip("\"'")
    return media.strip(), ""


# -- what it is ---------------------------------------------------------------------------------------------------

_HTML: Final = ("text/html", "application/xhtml+xml")
_BEGINS_HTML: Final = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<!--.{0,2000}?-->\s*)?<(?:!doctype\s+html|html|head|body)\b", re.I | re.S
)
_TEXT_MEDIA: Final = re.compile(
    r"text/.*|.*\+(?:json|xml|yaml)|application/(?:.*json.*|xml|.*javascript|ecmascript|x?-?yaml|toml|x-toml|x-sh|sql"
    r"|graphql|rtf|x-httpd-php|x-perl|x-python|typescript)|message/.*"
)


def _is_html(media: str, data: bytes) -> bool:
    unknown = media in ("", "application/octet-stream")
    return media in _HTML or (unknown and bool(_BEGINS_HTML.match(data[:4096])))


def _may_be_text(media: str) -> bool:
    """Whether it says so, or says nothing that counts."""
    return media in ("", "application/octet-stream") or bool(_TEXT_MEDIA.fullmatch(media))


def _as_it_is(data: bytes, media: str, charset: str, url: str, cut: bool) -> str:
    if charset and _codec(charset):
        return decode(data, charset)
    try:
        return encoding.decode(data, cut=cut).text
    except ToolFailure:
        raise _no_text(data, media, url, cut) from None


def _no_text(data: bytes, media: str, url: str, cut: bool) -> ToolFailure:
    kind = kind_of(data) or printable(media) or "of an unknown kind"
    size = f"more than {limits.WEB_BODY // limits.MB} MB" if cut else _size(len(data))
    return ToolFailure(
        f"{printable(url)} is no text: {kind}, {size}. Only pages and other text are read. If the file itself is "
        "needed, fetch it with a command.",
        code="web_kind",
        outcome="no text",
    )


def _size(count: int) -> str:
    if count < limits.KB:
        return f"{count} bytes"
    return f"{count / limits.KB:,.0f} KB" if count < limits.MB else f"{count / limits.MB:,.1f} MB"


# -- bytes to characters ------------------------------------------------------------------------------------------

_META: Final = re.compile(
    rb"<(?:meta\b[^>]{0,500}?\bcharset\s*=\s*|\?xml\b[^>]{0,200}?\bencoding\s*=\s*)[\"']?\s*([\w.:+-]{1,40})", re.I
)
# Names on the web mean the larger set: what calls itself Latin-1 is Windows-1252, what calls itself GB2312 is GB18030.
_WIDER: Final = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "hz": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "tis-620": "cp874",
}
_WIDE: Final = ("utf-16", "utf-32")
_OTHER_SPELLINGS: Final = {"x-sjis": "shift_jis", "x-gbk": "gbk", "x-euc-jp": "euc_jp", "x-big5": "big5"}
_CODECS: Final = re.compile(
    r"utf-?(?:8|16|32)(?:-?[bl]e)?|cp\d+|iso8859-\d+|koi8-[rut]|gb\w+|big5\w*|euc_\w+|shift_jis\w*|iso2022_\w+|mac-\w+"
    r"|johab"
)


def decode(data: bytes, charset: str = "") -> str:
    """The text of a page. What decodes as UTF-8 is that, whatever a server says; then the header, then the page.

    Never raises: what fits nothing has U+FFFD.
    """
    for mark, name in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace")
    named = _META.search(data[: limits.WEB_CHARSET])
    in_page = _codec(named[1].decode("ascii", "replace")) if named else ""
    # A page that was read to find its charset is in none whose ASCII has other bytes.
    known = _codec(charset) or ("" if in_page.startswith(_WIDE) else in_page)
    if known.startswith((*_WIDE, "iso2022")) and (data.isascii() or b"\0" in data):
        return data.decode(known, "replace")
    try:
        return codecs.getincrementaldecoder("utf-8")().decode(data)  # it may end inside a character
    except UnicodeDecodeError:
        pass
    if known:
        return data.decode(known, "replace")
    try:
        return encoding.decode(data, cut=True).text
    except ToolFailure:
        return data.decode("utf-8", "replace")


def _codec(charset: str) -> str:
    """Python's name of a charset; empty for one that is unknown, or no charset at all ("base64")."""
    try:
        name = codecs.lookup(_OTHER_SPELLINGS.get(charset.lower(), charset)).name
    except (LookupError, ValueError):
        return ""
    name = _WIDER.get(name, name)
    return name if _CODECS.fullmatch(name) else ""


# -- HTML ---------------------------------------------------------------------------------------------------------


def _converted(page: str, url: str, cancel: CancelScope, sandbox: SandboxPolicy | None) -> tuple[str, str, bool]:
    """Title and Markdown of an HTML page, and whether that is only its beginning.

    Raises Interrupted, ToolFailure "web_page".
    """
    try:
        answer = helper.ask(
            _CHILD,
            (url,),
            page.replace("\0", "\ufffd").encode("utf-8", "replace"),
            memory=limits.PAGE_MEMORY,
            seconds=limits.PAGE_SECONDS,
            most=limits.PAGE_TEXT,
            cancel=cancel,
            sandbox=sandbox,
        )
    except SandboxError as error:  # never tried without
        raise ToolFailure(f"The page was not read: {error.text}", code=error.code, outcome="no sandbox") from error
    except OSError as error:
        raise ToolFailure(f"The program that reads pages could not be started: {error}.", code="web_page") from error
    if answer.is_late or "title" not in answer.about:  # else its memory was over, or the parser fell
        why = str(answer.about.get("refused", "too slow" if answer.is_late else "broken"))
        raise ToolFailure(
            f"{printable(url)} came, but no text could be made of it ({printable(why)}). "
            "Look for another page that says the same.",
            code="web_page",
            outcome="unreadable",
        )
    return str(answer.about["title"]), answer.out.decode("utf-8", "replace"), answer.is_cut
