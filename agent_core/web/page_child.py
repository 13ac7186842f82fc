"""Makes Markdown of one HTML page, as a program of its own: what a page can do to a parser ends here.

    python -I page_child.py BASE_URL MOST_BYTES SECONDS < PAGE

The page comes as UTF-8. Writes a line of JSON, {"title": TITLE} or {"refused": REASON}, and behind it the Markdown, in
UTF-8: without what surrounds the content on every page of a site, as long as there is content without it; links whole.
It bounds its own memory to MOST_BYTES and its time to SECONDS. Imports only the standard library and html_to_markdown.
"""

from __future__ import annotations

import json
import re
import resource
import sys
from typing import Any, Final

AROUND: Final = (
    "nav",
    "aside",
    "footer",
    "[role=navigation]",
    "[role=banner]",
    "[role=contentinfo]",
    "[role=search]",
    "[aria-hidden=true]",
    ".nav",
    ".navbar",
    ".menu",
    ".sidebar",
    ".breadcrumb",
    ".breadcrumbs",
    ".footer",
    ".skip-link",
    ".cookie-banner",
    ".mw-editsection",
    "#header",
    "#footer",
    "#nav",
    "#sidebar",
    "#menu",
)
"""What stands around the content of a page, beside what the library knows by itself: the header of a site, say.
It takes simple selectors only."""
MARKS: Final = ("a.headerlink", "a.anchor", "a.heading-link")
"""The signs beside headings that only link to them."""
ENOUGH: Final = 200  # characters of content; with less, a page may have written it where others have their menus
TITLE: Final = 1_000  # characters; one that is never closed is all of the page
DEPTH: Final = 200  # of elements in each other; people write fewer than a hundred
_FRONT: Final = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)


def converted(page: str, base: str, left_out: tuple[str, ...]) -> tuple[str, str]:
    """Title and Markdown."""
    from html_to_markdown import ConversionOptions, PreprocessingOptions, convert

    options = ConversionOptions(
        bullets="-",
        compact_tables=True,
        skip_images=True,
        autolinks=False,
        max_depth=DEPTH,
        base_url=base,
        exclude_selectors=[*left_out, *MARKS],
        preprocessing=PreprocessingOptions(preset="standard", remove_navigation=bool(left_out), remove_forms=False),
    )
    result: Any = convert(page, options)
    about = getattr(result.metadata, "document", None)
    return str(getattr(about, "title", None) or ""), _FRONT.sub("", result.content or "", 1).strip()


def main(base: str, most_bytes: str, seconds: str) -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (int(most_bytes),) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds),) * 2)
    page = sys.stdin.buffer.read().decode("utf-8", "replace")
    title = text = ""
    try:
        title, text = converted(page, base, AROUND)
        if len(text) < ENOUGH:
            title, text = converted(page, base, ())
        about = {"title": title[:TITLE]}
    except MemoryError:
        about, text = {"refused": "too large"}, ""
    except Exception as error:  # whatever the parser says of bytes that anybody may have written
        about, text = {"refused": type(error).__name__}, ""
    sys.stdout.buffer.write(json.dumps(about).encode() + b"\n" + text.encode("utf-8", "replace"))


if __name__ == "__main__":
    main(*sys.argv[1:])
