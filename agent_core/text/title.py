"""A session's title, from its first message alone: what is asked, without what only leads up to it. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from agent_core import limits
from agent_core.text.ansi import clean

_HAN: Final = "\u3400-\u9fff\uf900-\ufaff"

# A fence, closed or not.
_FENCE: Final = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_SLASH: Final = re.compile(r"\A\s*/[a-z][\w:-]*(?=\s|\Z)")  # a command's name; a path has a second slash
_MENTION: Final = re.compile(r"(?<!\S)@(?:file:|folder:|diff:|url:)?(?=\S)([^\s#]+)(?:#\d+(?:-\d+)?)?")
# No open bracket inside a bracket, so that none is looked at again and again.
_LINK: Final = re.compile(r"!?\[([^\[\]\n]*)\]\((?:[^()\s]|\([^()\s]*\))*\)")
_SCHEME: Final = re.compile(r"\bhttps?://(?:www\.)?")
_MARKS: Final = re.compile(r"^\s*(?:#{1,6}\s+|>\s*|[-*+]\s+(?:\[[ xX]\]\s+)?|\d{1,3}[.)、]\s*)+")
_EMPHASIS: Final = re.compile(r"\*\*|__(?=\S)|(?<=\S)__|`")

# What leads up to a request, taken away as long as one of them begins what is left.
_LEAD: Final = re.compile(
    r"(?:"
    r"(?:hi|hello|hey|hallo|greetings|good (?:morning|afternoon|evening|day))"
    r"(?: (?:there|all|again|everyone|team)\b| \w+(?=,))?\b"
    r"|(?:ok(?:ay)?|so|well|now|alright|thanks|thank you|sorry|excuse me)(?=[,.!:\s])"
    r"|(?:quick|one more|another) question\b|(?:a )?question(?=:)|(?:please|pls|plz|kindly)\b"
    r"|(?:can|could|would|will) you(?: please| kindly| maybe| perhaps)?\b|i(?: would|'d|\u2019d) like (?:you )?to\b"
    r"|i (?:want|need) (?:you )?to\b|would you mind\b|(?:can you |please )?help me(?: out)?(?: to| with)?\b"
    r"|let(?:'|\u2019)?s\b|your (?:task|job) is(?: to)?\b|\btodo(?=:)|\btask(?=:)"
    r"|(?:您好|你好|大家好|哈喽|哈啰|嗨|早上好|下午好|晚上好|早安|在吗|在么)(?:呀|啊|哦|呢|哈)*"
    r"|(?:那个|好的?|嗯|那么|谢谢(?:你|您)?|多谢|辛苦(?:你|您|了)*|不好意思|打扰(?:一下|了)?)(?=[，,。.！!、：:\s]|请|帮|能|可以|怎|如|为|我)"
    r"|请问(?:一下)?"
    r"|(?:请(?![求教示假客柬愿安])|麻烦|拜托|劳烦|烦请)(?:你|您)?(?:先)?"
    r"|(?:我(?:想|需要|希望|要)(?:请|让)?(?:你|您)?(?:来)?)(?=帮|把|给|让|请|修|改|写|加|实|重|看|查|解|做|用|将)"
    r"|(?:你|您)?(?:能不能|能否|可不可以|可否|是否可以|可以|能)(?:请)?(?:你|您)?(?=帮|请|给我|把|替)"
    r"|(?:帮忙|帮我|帮一下|替我|给我)(?:一下|个忙)?(?=\S)"
    r")[\s,，.。!！~～:：;；、…\-]*",
    re.IGNORECASE,
)
_END: Final = re.compile(
    rf"(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!\betc\.)(?<!\bcf\.)(?<!\bNo\.)[\"')\]]*\s+"
    rf"|(?<=[。！？!?；])[”’」』）]*(?=\s*\S)|(?<=[{_HAN}])(?<=\S)[.;]\s+",
)
_TRAILING: Final = " \t.,;:。，；：、…~-"
_WORD: Final = re.compile(rf"[A-Za-z\u00c0-\u024f\u0370-\u058f']{{2,}}|[{_HAN}\u3040-\u30ff\uac00-\ud7a3]")

# Lines that a program wrote: logs, traces, diffs, data, code, prompts.
_PASTED: Final = re.compile(
    r"\s{4,}|\t|\s*(?:[+\-<>|{}\[\]()\\;=&%~]|\$ |>>> |#!|#include|at \S+\(|diff --git|index [0-9a-f]{7}|@@ "
    r"|Traceback \(|File \"|\w+(?:Error|Exception|Warning)\b:?|\*\*\*|={3,}|-{3,}|//|/\*"
    r"|\[?\d{4}[-/]\d\d[-/]\d\d|\d\d:\d\d:\d\d|(?:DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|FAILED|PASSED|E)\b[\s:\]]"
    r"|(?:import|from|def|class|function|const|let|var|return|public|private|package|use|fn|func|async|export)\s.*"
    r"(?:[;{}]|\):|\w\(|\s=\s|\bimport\b)|(?:import|from|use|using|package)\s+[\w.:]+\s*\Z)"
)
_CODE_END: Final = re.compile(r"(?:[;{}]|=>|\) ?\{|,|\\)\s*\Z")


def title_of(message: str) -> str:
    """A title for the session that `message` begins, at most limits.TITLE_CELLS wide; "" when it has no words.

    The first sentence that asks for something: greetings, polite words, code, pasted output and the names of commands
    are passed over; a mentioned file keeps its name.
    """
    text = clean(message[: limits.TITLE_LOOKED_AT])
    prose = _SLASH.sub("", _FENCE.sub("\n", text))
    for candidate in (prose, text):
        for line in _lines(candidate):
            for sentence in _END.split(line):
                found = _request(sentence)
                if found:
                    return cut_title(found)
    return cut_title(_plain(next((line for line in text.splitlines() if line.strip()), "")))


def cut_title(text: str) -> str:
    """`text` on one line of at most limits.TITLE_CELLS cells, cut between words where it has any near the end."""
    text = " ".join(clean(text).split())
    cells, kept = 0, 0
    for char in text:
        cells += 2 if unicodedata.east_asian_width(char) in "WF" else 0 if unicodedata.combining(char) else 1
        if cells <= limits.TITLE_CELLS - 1:
            kept += 1
    if cells <= limits.TITLE_CELLS:
        return text
    cut = text[:kept]
    if not text[kept].isspace():
        space = max(cut.rfind(" "), *(cut.rfind(mark) for mark in "，、；："))
        if space >= kept // 2:
            cut = cut[:space]
    return cut.rstrip(_TRAILING) + "⋯"


def _lines(text: str) -> Iterator[str]:
    """The lines that a person may have written, then the others; quoted and pasted ones come last."""
    lines = [line for line in text.splitlines()[: limits.TITLE_LINES] if line.strip()]
    written = [line for line in lines if not _is_pasted(line)]
    yield from written or lines


def _is_pasted(line: str) -> bool:
    if _MARKS.match(line) and _WORD.search(line) and not line.startswith((">", "+", "- -", "--")):
        return False  # a heading or an item of a list
    return bool(_PASTED.match(line) or _CODE_END.search(line))


def _request(sentence: str) -> str:
    """What a sentence asks for; "" when nothing is left of it."""
    text = _plain(sentence)
    while lead := _LEAD.match(text):
        if not lead.end():
            break
        text = text[lead.end() :]
    text = text.strip(_TRAILING).strip("!！ ")
    return text if len(_WORD.findall(text)) >= 2 or re.search(r"\w[./]\w", text) else ""


def _plain(text: str) -> str:
    text = _MARKS.sub("", text, count=1)
    text = _LINK.sub(r"\1", text)
    text = _MENTION.sub(r"\1", text)
    text = _SCHEME.sub("", text)
    return " ".join(_EMPHASIS.sub("", text).split())
