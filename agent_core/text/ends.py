"""The two ends of a text that is too long to be looked at whole."""

from __future__ import annotations

from agent_core import limits

_BEGIN, _END = "-----BEGIN ", "-----END "


def ends(text: str, most: int) -> tuple[str, str]:
    """Head and tail of `text`, together at most `most` characters; the whole and "" where it is no longer than that.

    It is cut between words, as far as there are any near, and the tail does not begin inside a block of a key: what
    hides keys would not know half a one.
    """
    if len(text) <= most:
        return text, ""
    head, tail = text[: most // 2], text[len(text) - most // 2 :]
    border = max(head.rfind(blank, len(head) - limits.REDACT_WORD) for blank in " \n")
    head = head[:border] if border >= 0 else head
    borders = [at for blank in " \n" if (at := tail.find(blank, 0, limits.REDACT_WORD)) >= 0]
    tail = tail[min(borders) :] if borders else tail
    end = tail.find(_END)
    if end >= 0 and not 0 <= tail.find(_BEGIN) < end:
        tail = tail[end:].partition("\n")[2]
    return head, tail
