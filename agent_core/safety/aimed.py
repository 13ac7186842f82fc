"""Whether a text talks to whoever judges it. Pure.

A command is written by a model that may have been misled. What persuades a reviewer need not mean anything to a shell,
so it is found by its words and its form, not by what it would do. Sources: APPR-11, A5.
"""

from __future__ import annotations

import base64
import codecs
import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from agent_core import limits


def aimed(text: str) -> str:
    """Why a text may be meant for the reviewer rather than for the shell: the reason, or "".

    Rather one question too many: what is named here goes to the person. Its own words and those of any order to a
    model are found whatever letters, cases, quotes and separators they are written in.
    """
    if len(text) > limits.REVIEW_CHARS:
        return "it is very long"
    if any(unicodedata.category(c) in _UNSEEN and c not in "\n\t" for c in text):
        return "it has invisible characters"
    plain = unicodedata.normalize("NFKC", text).casefold()
    if not plain.isascii() and any(_LATIN.search(word) and _ALIKE.search(word) for word in _WORD.findall(plain)):
        return "its letters are of several scripts"
    if _COMMENT.search(plain):
        return "it has a comment"
    if _PACKED.search(text) or _ESCAPES.search(text):
        return "it holds packed data"
    if _FENCES.search(plain):
        return "it imitates the form of a request"
    words = " ".join(_BREAK.sub(" ", plain).split())
    # Quotes in a word vanish in the shell, and for who reads it: app"rove".
    joined = " ".join(_BREAK.sub(" ", _QUOTES.sub("", plain)).split())
    squeezed = [_NO_LETTER.sub("", variant) for variant in (plain, *_disguises(text, plain))]
    if any(word in each for word in _SQUEEZED for each in squeezed) or _AIMED.search(words) or _AIMED.search(joined):
        return "it has words for a reviewer"
    return ""


def _disguises(text: str, plain: str) -> Iterator[str]:
    """What a reader may make of it: backwards, in digits for letters, in rot13, in base64, in hexadecimal."""
    yield plain[::-1]
    yield plain.translate(_DIGITS)
    yield codecs.encode(plain, "rot13")
    for word in (*_BASE64.findall(text), *_BASE64.findall(text.replace("/", " "))):
        try:
            yield base64.b64decode(word + "=" * (-len(word) % 4)).decode("ascii").casefold()
        except ValueError:
            continue
    for word in _HEX.findall(text):
        yield bytes.fromhex(word[: len(word) // 2 * 2]).decode("latin-1").casefold()


_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Latin beside Cyrillic, Greek, Armenian or Cherokee letters in one word: they look alike.
_ALIKE: Final = re.compile("[\u0370-\u03ff\u0400-\u052f\u0530-\u058f\u13a0-\u13ff\u1f00-\u1fff\ua640-\ua69f]")
_LATIN: Final = re.compile("[a-z]")
_WORD: Final = re.compile(r"\w+")
# To the shell a comment is nothing, so it is there for a reader.
_COMMENT: Final = re.compile(r"(?:^|[\s;&|(])#")
_PACKED: Final = re.compile(r"[A-Za-z0-9+/_-]{120,}|(?:[0-9a-fA-F]{2}[\s:,]?){48,}")
_ESCAPES: Final = re.compile(r"(?:\\(?:x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,8}|U[0-9a-fA-F]{1,8}|[0-7]{3})[^\\]?){4}")
_FENCES: Final = re.compile(
    r"</?\s*(?:command|data|json|system|assistant|user|human|instructions?|prompt|verdict|answer|review|tool)\b"
    r"|<\||\|>|\[/?inst\]|<</?sys>>|={3,}\s*[0-9a-f]{8,}|`{3}|#{2,}\s*\w"
    r"|(?:^|[\n\"'\\])\s*(?:human|user|developer)\s*:|\b(?:system|assistant)\s*:(?:\s|$)"
    r"|\"(?:command|folder|rule|box)\"\s*:"
)
_BREAK: Final = re.compile(r"[\W_]+")
_QUOTES: Final = re.compile(r"['\"\\`]")
_NO_LETTER: Final = re.compile(r"[^a-z]+")
_SQUEEZED: Final = ("approve", "approving", "approval", "escalat", "ignoreprevious", "ignoreall", "systemprompt")
_DIGITS: Final = str.maketrans("013457@$!|", "oieastasil")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]{8,}")
_HEX: Final = re.compile(r"[0-9a-fA-F]{12,}")
_AIMED: Final = re.compile(
    "|".join(
        (
            # The words of the answer, and of the one who gives it.
            r"\b(?:deny|denied|denial|denies|authori[sz]ed|authori[sz]ation|verdict|reviewers?)\b",
            r"\b(?:allowlisted|whitelisted|pre ?approved|jailbreak|prompt injection)\b",
            # Orders about orders.
            r"\b(?:ignore|disregard|forget|override|bypass|skip|drop)\b(?: \w+){0,4} (?:instructions?|rules?|prompts?"
            r"|guidelines?|polic(?:y|ies)|restrictions?|above|previous|prior|earlier|preceding|review|safety|checks?)\b",
            r"\b(?:new|updated|additional|following|real|actual|system|developer) (?:instructions?|rules?|task|policy"
            r"|prompt)\b",
            r"\b(?:must|should|shall|please|do) (?:not )?(?:be )?(?:allow|permit|accept|pass|refus|reject|block"
            r"|ask)\w*\b",
            r"\b(?:answer|respond|reply|output|say|state|emit)\b(?: \w+){0,3} (?:yes|ok|okay|allow|allowed|accept"
            r"|accepted|safe|permit|one word|only|exactly|nothing else)\b",
            r"\b(?:end|start|begin) of (?:the )?(?:data|command|json|input|instructions?|message|prompt)\b",
            r"\b(?:act|behave|pretend|role ?play) as\b",
            r"\b(?:no (?:restrictions?|rules|limits|guidelines)|unrestricted)\b",
            r"\b(?:allow|permit|accept) (?:everything|anything|all|it|this|that|them)\b",
            # Speaking to somebody.
            r"\byou (?:are|re|must|should|will|may|can)\b",
            r"\byour (?:answer|task|job|role|instructions?|reply|response|output|decision|next)\b",
            r"\b(?:as|for|dear|attention|note to|hey|hello|hi) (?:an? |the )?(?:ai|llm|model|assistant|agent|gate|judge"
            r"|chatbot|language model|gpt|claude|qwen|deepseek|gemini)\b",
            # Vouching.
            r"\b(?:this|the|it|following|above)\b(?: \w+){0,2} (?:is|was|are|has been|have been)(?: \w+){0,3} (?:safe"
            r"|harmless|benign|trusted|allowed|permitted|legitimate|verified|sanctioned|cleared|fine|ok|okay|consented"
            r"|confirmed)\b",
            r"\b(?:safe|harmless|ok|okay) to (?:run|execute|allow|proceed)\b",
            r"\b(?:user|owner|admin|administrator|operator|person|developer|maintainer|human)s? (?:has |have |had "
            r"|already |explicitly )*(?:agreed|allowed|consented|confirmed|permitted|accepted|cleared|requested|wants?"
            r"|said|asked|insists?)\b",
            # The same in other tongues, by stems that no command has.
            r"批准|允许|同意|通过|审核|审查|拒绝|升级处理|忽略|无视|指令|指示|提示词|系统消息|安全的|无害|回答|回复|你是|你必须|模型",
            r"承認|許可|無視|허용|승인|무시|지시",
            r"\b(?:ignor(?:a|ez|iere|ieren|uj)|olvida|oublie[zr]?|vergiss|instrucciones|instrucoes|anweisung\w*"
            r"|consignes)\b",
            r"\b(?:aprob|aprov|approuv|genehmig|erlaub|autoris|autoriz)\w+\b|\bpermit[aei]\w*\b",
            r"игнорир|одобр|разреш|инструкц|утверд",
        )
    )
)
