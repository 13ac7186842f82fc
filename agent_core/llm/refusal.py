"""What a server's refusal says about the request it refused: for every wire's `adapted` (LLM wire rule 32)."""

from __future__ import annotations

import re
from dataclasses import replace

from agent_core.errors import ProviderError
from agent_core.llm.wire import Quirks

IMAGES = "images"
"""The name under which Quirks.dropped holds that a model takes no images."""


def said(error: ProviderError) -> str:
    """The server's words and the field it named, in lower case; empty when it said nothing."""
    return f"{error.params.get('said', '')} {error.params.get('field', '')}".lower().strip()


def names(text: str, field: str) -> bool:
    """True when `text` speaks of `field`: reasoning_effort, "reasoning effort", reasoning.effort, reasoningEffort."""
    pattern = re.escape(field.lower()).replace("_", "[_. -]?")
    return re.search(rf"(?<![\w-]){pattern}(?![\w-])", text) is not None


def is_about_size(text: str) -> bool:
    """True when a value is refused, not the field that carries it."""
    return bool(re.search(r"too large|must be (?:<|less|at most|between|in)|range of|at most|exceed", text))


def other_ids(quirks: Quirks, text: str) -> Quirks | None:
    """Quirks with the rule for ids of calls that a server states."""
    if quirks.id_rule == "keep" and _SAME_IDS.search(text):
        return replace(quirks, id_rule="max40")  # under which each call has one of its own
    if not re.search(r"tool.?call.?.{0,12}id|tool_calls\S*\.id|tool_use(?:_|\.)?id|\bcall_id", text):
        return None
    if re.search(r"length of 9|\{9\}|9 characters", text):
        return replace(quirks, id_rule="alnum9")
    if re.search(r"too long|maximum length|max(?:imum)? (?:of )?40|at most 40", text):
        return replace(quirks, id_rule="max40")
    if re.search(r"pattern|\[a-za-z0-9_-\]", text):
        return replace(quirks, id_rule="safe")
    return None


_SAME_IDS = re.compile(
    r"duplicate\b.{0,40}\bcall_?id|duplicate\b.{0,20}tool.?(?:call|use|result)|tool_use\W{0,3}ids? must be unique|"
    # a call whose result was taken for that of an earlier one
    r"tool call result does not follow tool call|same number of function calls and responses"
)
"""Another server, or this one in each reply anew, has counted its calls from 0."""
_IMAGE = r"\b(?:image|images|image_url|input_image|multi-?modal|vision|mmproj)\b"
_NO_IMAGES = re.compile(
    rf"(?:\bnot?\b|n't|without|only|unsupported|unknown variant|invalid|missing|at most 0)[^.]{{0,80}}{_IMAGE}|"
    rf"{_IMAGE}[^.]{{0,80}}(?:\bnot?\b|n't|only|unsupported|unavailable|disabled|missing)|"
    r"support image input|不支持[^。]{0,8}(?:图片|图像|视觉|多模态)|(?:图片|图像|视觉|多模态)[^。]{0,12}不支持|"
    # servers for text alone that do not even know of parts
    r"\bcontent\b[^.]{0,40}(?:must be|should be|expected|valid) (?:a )?(?:valid )?string|expected a string|"
    r"content\.type\b.{0,40}['\"`]text['\"`]"
)
_ONE_IMAGE = re.compile(r"too (?:large|big|many)|exceed|\bsize\b|dimension|could not process|decod|corrupt|base64")


def other_images(quirks: Quirks, text: str, has_images: bool) -> Quirks | None:
    """Quirks that leave images out, when the model is said to take none; not when one is too large or broken."""
    if not has_images or not _NO_IMAGES.search(text) or _ONE_IMAGE.search(text):
        return None
    return replace(quirks, dropped=quirks.dropped | {IMAGES})
