"""Exported sessions: JSON loses nothing, Markdown stays readable and harmless whatever is in it."""

from __future__ import annotations

import json
from html.parser import HTMLParser

from agent_core import messages
from agent_core.messages import (
    DiffLine,
    FileDiff,
    Hunk,
    ImagePart,
    Message,
    ShellRun,
    ToolCall,
    ToolResult,
    Usage,
    shell,
    tool,
    user,
)
from agent_core.store.exchange import export_json, export_markdown
from agent_core.store.html_export import export_html
from agent_core.store.sessions import Store

DIFF = FileDiff(
    "src/日期.py",
    (Hunk(3, 3, (DiffLine("same", "a", 3, 3), DiffLine("remove", "b", 4), DiffLine("add", "c", None, 4)), "def f"),),
    1,
    1,
    "edit",
    7,
)
CONVERSATION = [
    user("修复 the dates\n\n```python\nx\n```", (ImagePart("image/png", "AAAA"),)),
    Message(
        "assistant",
        "I look first.",
        reasoning="where\nis it",
        tool_calls=(
            ToolCall("1", "edit_file", {"path": "src/日期.py"}),
            ToolCall("2", "run_command", {"command": "ls"}),
        ),
        usage=Usage(1, 2),
        extra={"k": [1]},
    ),
    tool(ToolResult("1", "edit_file", "changed", True, "done", "1 added", (), (DIFF,), 0.5)),
    tool(ToolResult("2", "run_command", "````\n\x1b[31mred\u202e\r\n", False, "done", "exit 1")),
    user("also this", origin="steer"),
    Message("assistant", "Half a sent", interrupted=True, finish="stopped"),
    user("Dates are mended.", origin="summary"),
    user("AGENTS.md changed.", origin="note"),
]


def row(tmp_path, title="Dates"):
    store = Store.open(tmp_path / "state.db")
    session = store.create("/projects/my work", model="m", provider="p", title=title).id
    for message in CONVERSATION:
        store.append(session, message)
    found = store.get(session)
    store.close()
    return found


def test_json_loses_nothing(tmp_path):
    session = row(tmp_path)
    document = json.loads(export_json(session, CONVERSATION))
    assert [messages.from_json(m) for m in document["messages"]] == CONVERSATION
    assert document["format"] == "nanoherm-tui/session"
    assert document["session"]["id"] == session.id
    assert document["session"]["title"] == "Dates"


def test_markdown_tells_the_conversation_in_order(tmp_path):
    text = export_markdown(row(tmp_path), CONVERSATION)
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings == [
        "# Dates",
        "## You",
        "## Assistant",
        "### edit_file: 1 added",
        "### run_command: exit 1",
        "## You (while it was working)",
        "## Assistant (stopped)",
        "## Summary of what came before",
        "## Note of the program",
    ]
    for part in (
        "- Workspace: /projects/my work",
        "- Model: m",
        "[image: image/png]",
        "> where\n> is it",
        '"path": "src/日期.py"',
    ):
        assert part in text
    assert "@@ -3 +3 @@ def f\n a\n-b\n+c\n... 7 more lines\n```" in text


def test_markdown_fences_hold_and_nothing_acts_on_a_terminal(tmp_path):
    text = export_markdown(row(tmp_path, "A\ntitle\x1b[2J in \ttwo"), CONVERSATION)
    assert "`````text\n````\n\\u001b[31mred\\u202e\n`````" in text
    assert text.startswith("# A title\\u001b[2J in two\n")
    assert all(c == "\n" or c.isprintable() for c in text)


def test_an_empty_session_is_exported(tmp_path):
    assert export_markdown(row(tmp_path, ""), []).startswith("# Untitled session\n")
    assert json.loads(export_json(row(tmp_path), []))["messages"] == []


def test_lone_surrogates_do_not_stop_an_export(tmp_path):
    broken = [Message("user", "a\ud800"), tool(ToolResult("x", "n", "\udfff"))]
    export_markdown(row(tmp_path), broken).encode()
    export_json(row(tmp_path), broken).encode()


class Page(HTMLParser):
    """An HTML document as tags and texts; fails on what is not closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.texts = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_html_shows_the_conversation_and_folds_what_tools_gave(tmp_path):
    text = export_html(row(tmp_path), CONVERSATION)
    page = Page(text)
    shown = "".join(page.texts)
    for words in (
        "修复 the dates",
        "I look first.",
        "Half a sent",
        "Workspace",
        "/projects/my work",
        "exit 1",
        "also this",
        "Summary of what came before,",
        "Note of the program,",
    ):
        assert words in shown
    assert [attributes for tag, attributes in page.tags if tag == "h2"] == [
        {"class": "you"},
        {},
        {"class": "you"},
        {},
        {},
        {},
    ]
    details = [attributes for tag, attributes in page.tags if tag == "details"]
    assert details == [{}, {}, {"class": "failed", "open": None}]
    assert '<span class="remove">\N{MINUS SIGN}b</span>' in text
    assert '<span class="add">+c</span>' in text
    assert "<pre><code>x\n</code></pre>" in text
    assert ("img", {"alt": "image", "src": "data:image/png;base64,AAAA"}) in page.tags
    assert "prefers-color-scheme: dark" in text


def test_html_runs_nothing_and_fetches_nothing_whatever_is_said(tmp_path):
    evil = "</pre><script>alert(1)</script><img src=http://x/y onerror=z>\x1b[31m\u202e\"'&\ud800"
    hostile = [
        user(
            f"{evil}\n```{evil}\n{evil}\n```",
            (ImagePart(f"image/svg+xml{evil}", evil), ImagePart("image/png", '"><b>')),
        ),
        Message("assistant", evil, reasoning=evil, tool_calls=(ToolCall("1", evil, {evil: evil}),)),
        tool(ToolResult("1", evil, evil, True, "done", evil, (), (FileDiff(evil, DIFF.hunks, 1, 1),))),
        shell(ShellRun(evil, ToolResult("2", "shell", evil))),
    ]
    text = export_html(row(tmp_path, title=evil), hostile)
    page = Page(text)
    assert {tag for tag, _ in page.tags} <= {
        "html", "head", "meta", "title", "style", "body", "h1", "h2", "dl", "dt", "dd", "div", "pre", "code", "details",
        "summary", "span", "p",
    }  # fmt: skip
    assert not [a for _, attributes in page.tags for a in attributes if a.startswith("on") or a in ("src", "href")]
    assert "\x1b" not in text
    assert "\u202e" not in text
    text.encode()
