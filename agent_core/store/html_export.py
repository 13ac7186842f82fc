"""A session as one HTML file to read: no scripts, nothing loaded from elsewhere, every text escaped. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Final

from agent_core.messages import PICTURES, FileDiff, ImagePart, Message, ShellRun, ToolCall, ToolResult
from agent_core.store.exchange import facts, one_line, safe, speaker, time_of
from agent_core.store.rows import SessionRow

_STYLE: Final = """
:root { color-scheme: light dark; --ground: #fcfcfa; --surface: #f3f3f0; --text: #23252b; --muted: #5b5f68;
  --accent: #3a48b8; --fail: #a8231c; --added: #e7f4e9; --removed: #fcecea; }
@media (prefers-color-scheme: dark) { :root { --ground: #14161b; --surface: #23272f; --text: #dcdfe5;
  --muted: #9aa0ac; --accent: #9fb3ff; --fail: #f09a93; --added: #19271f; --removed: #301e1d; } }
body { background: var(--ground); color: var(--text); font: 1rem/1.6 system-ui, sans-serif; margin: 2rem auto;
  max-width: 54rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { color: var(--muted); font-size: .9rem; margin: 2rem 0 .25rem; }
h2.you { color: var(--accent); }
dl { color: var(--muted); display: grid; gap: 0 1rem; grid-template-columns: max-content 1fr; } dd { margin: 0; }
.text { overflow-wrap: anywhere; white-space: pre-wrap; } .thought { color: var(--muted); }
pre { background: var(--surface); line-height: 1.45; overflow-x: auto; padding: .6rem .8rem; }
pre, code { font-family: ui-monospace, monospace; font-size: .875rem; }
details { margin: .25rem 0; } summary { cursor: pointer; } .failed > summary { color: var(--fail); }
.add { background: var(--added); display: block; } .remove { background: var(--removed); display: block; }
.same, .hunk { display: block; } .hunk { color: var(--muted); } img { max-width: 100%; }
"""
# Texts come in, so nothing may run or be fetched whatever they hold.
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_FENCE: Final = re.compile(r"^(`{3,}|~{3,})[ \t]*([^\n`]*)\n(.*?)(?:^\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_SIGNS: Final = {"add": "+", "remove": "\N{MINUS SIGN}", "same": " "}


def export_html(row: SessionRow, conversation: Sequence[Message]) -> str:
    """The whole document. What a tool gave is folded; a failed one stands open."""
    title = one_line(row.title) or "Untitled session"
    calls: dict[str, ToolCall] = {}
    parts: list[str] = []
    for message in conversation:
        calls |= {call.id: call for call in message.tool_calls}
        parts += _message(message, calls)
    about = "".join(f"<dt>{_text(name)}</dt><dd>{_text(one_line(value))}</dd>" for name, value in facts(row).items())
    return (
        '<!DOCTYPE html>\n<html lang="und">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{_text(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{_text(title)}</h1>\n"
        f"<dl>{about}</dl>\n{''.join(parts)}</body>\n</html>\n"
    )


def _message(message: Message, calls: Mapping[str, ToolCall]) -> Iterator[str]:
    if message.role == "system":
        return
    if message.result is not None:
        yield _result(message.result, calls.get(message.result.call_id), message.parts)
        return
    if message.shell is not None:
        yield _shell(message.shell)
        return
    who = speaker(message)
    cut = "stopped" if message.is_stopped else "broken off" if message.interrupted else ""
    notes = "while it was working" if message.origin == "steer" else "", cut
    note = ", ".join(n for n in notes if n)
    heading = who + (f" ({note})" if note else "")
    body = (
        [f'<div class="text thought">{_text(message.reasoning.strip())}</div>\n'] if message.reasoning.strip() else []
    )
    body = [_details("Thought", "".join(body))] if body else []
    if message.text.strip():
        body.append(_prose(message.text.strip("\n")))
    body += [_image(part) for part in message.parts]
    if body:
        yield f"<h2{' class=you' if who == 'You' else ''}>{heading}, {time_of(message.created)}</h2>\n{''.join(body)}"


def _prose(text: str) -> str:
    """A text as it was written, what stands in fences as code."""
    out: list[str] = []
    at = 0
    for fence in _FENCE.finditer(text):
        out += _paragraph(text[at : fence.start()])
        out.append(f"<pre><code>{_text(fence[3])}</code></pre>\n")
        at = fence.end()
    return "".join([*out, *_paragraph(text[at:])])


def _paragraph(text: str) -> list[str]:
    return [f'<div class="text">{_text(text.strip(chr(10)))}</div>\n'] if text.strip() else []


def _result(result: ToolResult, call: ToolCall | None, images: Sequence[ImagePart] = ()) -> str:
    state = one_line(result.outcome) or ("done" if result.ok else "failed")
    inside = [_diff(diff) for diff in result.diffs]
    if call is not None and call.arguments:
        inside.insert(0, _code(json.dumps(dict(call.arguments), ensure_ascii=False, indent=2)))
    if result.text.strip():
        inside.append(_code(result.text.strip("\n")))
    inside += [_image(part) for part in images]
    return _details(f"{one_line(result.name)}: {state}", "".join(inside), failed=not result.ok)


def _shell(run: ShellRun) -> str:
    note = " (not told to the model)" if run.private else ""
    return f"<h2 class=you>You ran a command{note}</h2>\n{_code(run.command)}{_result(run.result, None)}"


def _details(summary: str, inside: str, *, failed: bool = False) -> str:
    how = ' class="failed" open' if failed else ""
    return f"<details{how}><summary>{_text(summary)}</summary>\n{inside}</details>\n"


def _code(text: str) -> str:
    return f"<pre><code>{_text(text)}</code></pre>\n"


def _diff(diff: FileDiff) -> str:
    rows = [f'<span class="hunk">{_text(diff.path)}: {diff.change}, {diff.added} added, {diff.removed} removed</span>']
    for hunk in diff.hunks:
        head = f"@@ -{hunk.old_start} +{hunk.new_start} @@ {hunk.heading}".rstrip()
        rows.append(f'<span class="hunk">{_text(head)}</span>')
        rows += [f'<span class="{line.kind}">{_SIGNS[line.kind]}{_text(line.text)}</span>' for line in hunk.lines]
    if diff.omitted_lines:
        rows.append(f'<span class="hunk">{diff.omitted_lines} more lines</span>')
    return f"<pre><code>{''.join(rows)}</code></pre>\n"


def _image(part: ImagePart) -> str:
    """Only what is a picture by its type and nothing but base64 stands in an address."""
    if part.media_type in PICTURES and re.fullmatch(r"[A-Za-z0-9+/=\s]*", part.data):
        return f'<p><img alt="image" src="data:{part.media_type};base64,{"".join(part.data.split())}"></p>\n'
    return f"<p>[image: {_text(one_line(part.media_type))}]</p>\n"


def _text(text: str) -> str:
    return escape(safe(text))
