"""What the panel shows of a question: all of it, at every size, in both languages."""

import re
import time
from pathlib import Path

import pytest
from rich.cells import cell_len

from agent_core.messages import FileDiff
from agent_core.ports.actions import ReadAction, WebAction
from agent_core.ports.asking import Question
from agent_core.safety.policy import Verdict
from agent_core.text.diff import build
from agent_core.tools import question as questions
from agent_core.tools.skill import LENDS
from nanoherm_tui import limits
from nanoherm_tui.i18n import phrase_key, set_language, texts
from nanoherm_tui.overlays.question import LABEL, always_rows, question_rows, time_left
from nanoherm_tui.overlays.question import title as title_of
from tests.rows import each_row
from tests.tui.asking import armed, come, text_of
from tests.tui.composer_app import ComposerApp, command_question, rows, type_keys


async def test_everything_about_a_command_is_shown(monkeypatch):
    monkeypatch.setattr(limits, "APPROVAL_ARM", 60.0)
    app = ComposerApp()
    async with app.run_test(size=(100, 30)) as pilot:
        app.ask(command_question("rm -rf build", rule="dangerous: recursive removal"), seconds=299)
        await come(pilot, lambda: "pause typing to answer" in text_of(app))
        shown = text_of(app)
        for words in ("Run this command?", "rm -rf build", "/home/me/ledger", "dangerous: recursive removal"):
            assert words in shown
        assert "this exact command, in this folder" in shown
        assert "4:5" in shown
        keys = app.panel.query_one("ApprovalKeys")
        muted = app.look.style("muted", "surface")
        assert {s.style for s in keys.render_line(1) if s.text == "y"} == {muted}
        monkeypatch.setattr(limits, "APPROVAL_ARM", 0.05)
        await armed(pilot)
        assert "pause typing" not in text_of(app)
        assert {s.style for s in keys.render_line(1) if s.text == "y"} == {
            app.look.style("accent", "surface", bold=True)
        }


async def test_arming_moves_nothing():
    app = ComposerApp()
    async with app.run_test(size=(60, 24)) as pilot:
        app.ask()
        await pilot.pause(0.15)
        before = [(w.region, type(w).__name__) for w in app.panel.query("*")]
        await armed(pilot)
        assert [(w.region, type(w).__name__) for w in app.panel.query("*")] == before


async def test_files_are_shown_with_what_changes():
    diffs = (FileDiff("src/dates.py", (), 7, 4), FileDiff("tests/[b]x.py", (), 8, 0, "create"))
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.ask(Question("edit", "Change 2 files", rule="mode ask", diffs=diffs, grant="every change"))
        await pilot.pause(0.15)
        shown = text_of(app)
        assert "Change 2 files?" in shown
        assert "src/dates.py  +7 −4" in shown
        assert "tests/[b]x.py  +8 −0" in shown
        assert "e edit first" not in shown


@each_row("cells", [4, 11, 40, 80])
@each_row("line", ["x" * 500, "echo 你好，世界 " * 30, "a --long=option,with,commas " * 20, "  indented"])
def test_a_wrapped_command_leaves_nothing_out(line, cells):
    shown = [r for r in question_rows(Question("command", "Run", command=line), cells + LABEL) if r.kind == "value"]
    assert all(cell_len(r.words) <= cells for r in shown)
    assert "".join(r.words for r in shown).replace(" ", "") == line.replace(" ", "")


async def test_a_long_command_scrolls_to_its_end_and_says_that_there_is_more():
    lines = [f"step {n} --with 'an argument'" for n in range(60)]
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.ask(command_question("\n".join(lines)))
        await pilot.pause(0.3)
        assert "rows below" in text_of(app)
        seen = text_of(app)
        app.panel.focus()
        for _ in range(12):
            await type_keys(pilot, "pagedown")
            seen += text_of(app)
        assert [line for line in lines if line not in seen] == []
        await pilot.pause(0.15)
        assert "rows below" not in text_of(app)
        assert app.panel.size.height <= 14


def test_a_huge_command_is_wrapped_without_delay():
    begun = time.process_time()
    assert len(question_rows(command_question("x" * 300_000), 72)) > 4_000
    assert time.process_time() - begun < 5


@pytest.mark.parametrize(
    ("cwd", "shown"), [("/home/ann/code/ledger", "~/code/ledger"), ("/home/ann", "~"), ("/home/anna/x", "/home/anna/x")]
)
def test_a_commands_folder_is_written_as_in_the_title(monkeypatch, cwd, shown):
    monkeypatch.setenv("HOME", "/home/ann")
    assert [r.words for r in question_rows(command_question("ls", cwd=cwd), 72)][1] == shown


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_the_panel_fits_every_size_and_takes_nothing_as_markup(language):
    set_language(language)
    app = ComposerApp()
    async with app.run_test(size=(120, 36)) as pilot:
        app.ask(command_question("echo '[/' '[b + 1' 你好 " * 9, rule="[r", grant="[data: /x?y=z-]", cwd="/[0]"))
        for size in ((120, 36), (80, 24), (40, 10), (20, 8), (3, 3), (1, 1)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            for row in rows(app):
                assert cell_len(row) == size[0]
                assert not set(row) & set("…·│─▌■●◐→×—")


@pytest.mark.parametrize("size", [(40, 10), (80, 12), (44, 14)])
async def test_on_a_short_screen_question_keys_and_draft_are_all_there(size):
    app = ComposerApp()
    async with app.run_test(size=size) as pilot:
        app.ask(command_question("make all && make check || make clean " * 5))
        await pilot.pause(0.3)
        shown = text_of(app)
        for words in ("Run this command?", "command   make all", "y once", "n refuse", "e edit", "rows below", "› "):
            assert words in shown


async def test_how_much_of_a_question_is_hidden_is_told_between_it_and_the_field_that_answers_it():
    app = ComposerApp()
    async with app.run_test(size=(60, 24)) as pilot:
        app.ask(Question("ask_user", "", text="\n\n".join(f"Part {n}" for n in range(20)), decisions=("once",)))
        await come(pilot, lambda: "rows below" in text_of(app))
        lines = text_of(app).splitlines()
        hidden = next(y for y, line in enumerate(lines) if "rows below" in line)
        assert "Part" in lines[hidden - 1] + lines[hidden - 2]
        assert "Your answer" in lines[hidden + 1]


async def test_on_the_lowest_screen_the_draft_keeps_its_row_before_and_after_a_key_answers():
    set_language("zh")
    app = ComposerApp()
    async with app.run_test(size=(40, 10)) as pilot:
        app.ask(command_question("make " * 40, decisions=("once", "session", "always", "refuse")))
        while not app.panel.query_one("ApprovalKeys").warning:  # it is looked at once it is laid out
            await pilot.pause(0.01)
        await pilot.pause()
        assert "› " in text_of(app)
        height = app.panel.size.height
        await armed(pilot)
        assert "PgDn：下面还有" in text_of(app)
        assert "› " in text_of(app)
        assert app.panel.size.height == height


def test_the_rule_and_the_grant_are_told_in_the_interfaces_language():
    question = command_question(rule="dangerous: recursive removal")
    assert [r.words for r in question_rows(question, 70)][2:] == [
        "dangerous: recursive removal",
        "this exact command, in this folder",
    ]
    set_language("zh")
    assert [r.words for r in question_rows(question, 70)][2:] == ["危险：recursive removal", "这条命令，限此文件夹"]
    assert [r.words for r in question_rows(command_question(rule="mode ask"), 70)][2] == "ask 模式"
    assert [r.words for r in question_rows(command_question(rule="a new one"), 70)][2] == "a new one"


def test_why_a_command_asks_is_told_in_the_interfaces_language():
    set_language("zh")
    for text, words in [
        ("removes recursively: rm -r build", "递归删除：rm -r build"),
        ("changes a system file: tee /etc/hosts", "改动系统文件：tee /etc/hosts"),
        ("some words: of another kind", "some words: of another kind"),
    ]:
        assert words in [r.words for r in question_rows(command_question(text=text), 70)]


@pytest.mark.parametrize("cells", [74, 34])
async def test_why_a_command_asks_is_shown_in_whole(cells):
    app = ComposerApp()
    async with app.run_test(size=(cells + 6, 60)) as pilot:
        app.ask(command_question(text="removes recursively: rm -rf " + " ".join(f"folder-{n}" for n in range(20))))
        await pilot.pause()
        shown = text_of(app)
        assert [n for n in range(20) if f"folder-{n}" not in shown] == []
        assert "reason    removes" in shown


PAGE = WebAction("https://docs.example/" + "/".join(f"part-{n}" for n in range(40)), "docs.example")
WORDS = WebAction("tidal-streams-" * 20 + "潮汐", "search.example", is_search=True)


def test_the_file_that_would_be_read_is_shown_in_whole():
    path = "/srv/" + "/".join(f"folder-{n}" for n in range(20)) + "/.env"
    question = questions.question_for(ReadAction(path), True, Verdict("ask", "protected: secrets", ""), "c1")
    assert title_of(question) == "Read this file?"
    found = question_rows(question, 70)
    assert "".join(r.words.strip() for r in found).startswith(path)
    assert max(cell_len(r.words) for r in found) <= 70 - LABEL
    set_language("zh")
    assert title_of(question) == "读取这个文件？"


@pytest.mark.parametrize(
    ("language", "heading", "labels"),
    [
        ("en", "Let commands have these variables?", ["variables", "skill", "rule", "session"]),
        ("zh", "让命令得到这些变量？", ["变量", "技能", "规则", "本会话"]),
    ],
)
def test_a_skill_that_lends_variables_is_asked_about_by_their_names(language, heading, labels):
    set_language(language)
    action = ReadAction("~/skills/gifs/SKILL.md", ("GIF_TOKEN", "GIF_HOST"))
    question = questions.question_for(action, True, Verdict("ask", LENDS, ""), "c1")
    rows = question_rows(question, 70)
    assert title_of(question) == heading
    assert [row.label for row in rows if row.label] == labels
    assert [row.words for row in rows][:2] == ["GIF_TOKEN, GIF_HOST", "~/skills/gifs/SKILL.md"]
    if language == "zh":
        assert [row.words for row in rows][2:] == ["它的命令会得到你的变量", "命令在会话结束前一直有这些变量"]


def test_a_sentence_that_is_to_be_remembered_stands_in_the_question_and_a_long_change_in_its_pane():
    def asked(old, new):
        return [row.words for row in question_rows(Question("keep", "", diffs=(build("memory", old, new),)), 40)]

    text = f"fact: Use 制表符 \x1b[2J {'in Makefiles ' * 4}"
    shown = asked(None, text)
    assert "".join(shown[1:]).replace(" ", "") == "+" + text.replace("\x1b", "\\x1b").replace(" ", "")
    assert max(map(cell_len, shown)) <= 40 - LABEL
    assert asked("a\nb\n", "a\nc\n")[1:] == ["− b", "+ c"]
    assert len(asked(None, "line\n" * 4)) == 1


@pytest.mark.parametrize(
    ("action", "language", "heading", "labels", "holds"),
    [
        (PAGE, "en", "Fetch this page?", ["page", "goes to", "rule", "session"], "Every page of this host."),
        (PAGE, "zh", "读取这个网页？", ["网页", "发往", "规则", "本会话"], "这个主机的全部网页。"),
        (WORDS, "en", "Search the web for this?", ["words", "goes to", "rule", "session"], "Every search there."),
        (WORDS, "zh", "上网搜索这些内容？", ["搜索词", "发往", "规则", "本会话"], "在那里的全部搜索。"),
    ],
)
def test_what_the_web_is_asked_is_shown_in_whole_with_whom_it_goes_to(action, language, heading, labels, holds):
    set_language(language)
    question = questions.question_for(action, False, Verdict("ask", "the web", ""), "c1", action.host)
    assert title_of(question) == heading
    found = question_rows(question, 60)
    assert [row.label for row in found if row.label] == labels
    at = [row.label for row in found].index(labels[1])
    assert "".join(row.words.strip() for row in found[:at]) == action.url
    assert found[at].words == action.host
    assert max(cell_len(row.words) for row in found) <= 60 - LABEL
    always = always_rows(question, question.pattern, 60)
    assert [row.words for row in always][:2] == [action.host, holds]


def test_every_grant_of_the_core_has_its_words():
    source = Path(questions.__file__).read_text(encoding="utf-8")
    grants = re.findall(r'"((?:this|every|reading) [a-z ,]+)"', source)
    assert len(grants) == 7
    assert {g for g in grants if f"questions.{phrase_key(g)}" not in texts("zh")} == set()


def test_the_time_left_is_never_negative():
    assert [time_left(100, now) for now in (100 - 299.2, 40, 99.5, 100, 200)] == [
        "5:00",
        "1:00",
        "0:01",
        "0:00",
        "0:00",
    ]


@pytest.mark.parametrize(
    ("sandbox", "title", "row", "warns"),
    [
        ("workspace-write", "Run this command?", "workspace-write, no network", False),
        ("read-only", "Run this command?", "read-only, no network", False),
        ("workspace-write, network", "With the network: run this command?", "workspace-write, and the network", True),
        ("no sandbox", "No sandbox: run this command?", "no sandbox: nothing holds it back", True),
    ],
)
def test_a_question_says_what_the_command_runs_in(sandbox, title, row, warns):
    question = command_question(sandbox=sandbox)
    assert title_of(question) == title
    [found] = [r for r in question_rows(question, 80) if r.label == "sandbox"]
    assert found.words == row
    assert (found.kind == "warn") is warns


@pytest.mark.parametrize("lines", [1, 3, 6, 12])
async def test_a_long_answer_takes_its_rows_from_the_question_and_the_draft_keeps_its_place(lines):
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.composer.set_pending(("look at x",), ("then y",))
        app.ask(command_question("\n".join(f"echo {n}" for n in range(20))))
        await pilot.pause(0.6)
        app.panel.focus()
        await pilot.pause(0.6)
        await pilot.press("n")
        await pilot.pause()
        app.panel._field.text = "\n".join(f"line {n}" for n in range(lines))
        await pilot.pause()
        await pilot.pause()
        assert app.panel._field.size.height == min(lines, 6)
        assert app.panel._text.rows_in_view == 7 - min(lines, 6)
        # The title and the status have two rows each.
        assert sum(part.outer_size.height + part.styles.margin.height for part in (app.panel, app.composer)) <= 20
        await pilot.press("escape")
        await pilot.pause()
        assert app.panel._text.size.height == 6, "it has its room again"
