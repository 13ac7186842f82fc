"""What a draft does that is no message: a command of the shell, a slash command, one of the person's own."""

import pytest
from rich.cells import cell_len

from agent_core.knowledge import Typed
from nanoherm_tui import i18n
from nanoherm_tui.i18n import t
from nanoherm_tui.overlays.slash import Values, offers
from tests.rows import each_row
from tests.tui.composer_app import ComposerApp, rows, type_keys

# -- shell --------------------------------------------------------------------------------------------------------


DRAFTS = (
    ("!ls -la", ("shell", "ls -la")),
    ("! git status", ("shell", "git status")),
    ("!!env | sort", ("private shell", "env | sort")),
    ("!echo one\necho 二", ("shell", "echo one\necho 二")),
    (" !important", ("send", " !important")),
    ("no!", ("send", "no!")),
    ("!!!x", ("private shell", "!x")),
)


@pytest.mark.parametrize("state", ["idle", "running"])
async def test_a_draft_that_begins_with_an_exclamation_mark_is_the_users_own_command(state):
    app = ComposerApp()
    async with app.run_test() as pilot:
        app.composer.set_state(state)
        for draft, posted in DRAFTS:
            app.posted.clear()
            app.composer.clear_to_history()
            app.composer.insert(draft)
            await pilot.press("tab" if state == "running" and draft.startswith("!") else "enter")
            assert app.posted == [posted]
            assert app.composer.is_empty, draft
            await pilot.press("up")
            assert app.composer.text == draft


async def test_it_is_seen_that_a_draft_will_run_as_a_command_and_whether_the_model_hears_of_it():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.composer.text = "!ls"
        await pilot.pause()
        assert any("▐ $ !ls" in row for row in rows(app))
        assert any(t("composer.shell") in row for row in rows(app))
        app.composer.text = "!!ls"
        await pilot.pause()
        assert any(t("composer.shell_private") in row for row in rows(app))
        app.composer.text = " !ls"
        await pilot.pause()
        assert any("▐ ›  !ls" in row for row in rows(app))
        assert not any("shell" in row for row in rows(app))


@pytest.mark.parametrize("draft", ["!", "!!", "!  ", "!!\n "])
async def test_an_empty_command_is_not_run(draft):
    app = ComposerApp()
    async with app.run_test() as pilot:
        app.composer.text = draft
        await pilot.press("enter")
        assert app.posted == []
        assert app.composer.text == draft


# -- commands -----------------------------------------------------------------------------------------------------


async def test_a_command_is_completed_from_the_list_above():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await type_keys(pilot, "/", "e", "x")
        await pilot.pause()
        listed = [row for row in rows(app) if "/ex" in row]
        assert "/exit" in listed[0]
        assert "/export [path]" in listed[1]
        await type_keys(pilot, "down", "tab")
        assert app.composer.text == "/export "
        await type_keys(pilot, "x", "enter")
        await pilot.pause()
        assert app.posted == [("slash", "/export x")]
        assert app.composer.is_empty


async def test_enter_runs_the_chosen_command():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await type_keys(pilot, "/", "h", "e", "enter")
        await pilot.pause()
        assert app.posted == [("slash", "/help")]


FRUIT = {
    "mode": Values((("ask", "asks"), ("plan", "reads only"), ("auto", "asks nothing")), closed=True),
    "model": Values((("qwen3-coder", ""), ("qwen3-coder-plus", ""), ("[b]odd", "")), closed=False),
    "theme": Values((("auto", "light or dark"), ("own-light", "")), closed=True),
}


@each_row(
    ("draft", "names", "chosen"),
    [
        ("/mode ", ["ask", "plan", "auto"], False),
        ("/mode a", ["ask", "auto", "plan"], True),  # "a" begins two, and is within the third
        ("/mode asks", ["ask", "auto"], True),  # by what it means
        ("/mode ask", ["ask", "auto"], True),
        ("/theme light", ["own-light", "auto"], True),  # a name says it before what it means does
        ("/mode plan", [], False),  # nothing left to complete
        ("/model qwen3-coder", ["qwen3-coder", "qwen3-coder-plus"], False),
        ("/model zz", [], False),
        ("/MODE pl", ["plan"], True),
        ("/clear x", [], False),  # takes no argument
        ("/nothing x", [], False),
        ("/mode a\nb", [], False),
        (" /mode a", [], False),
        ("message /mode a", [], False),
    ],
)
def test_a_commands_known_values_are_offered(draft, names, chosen):
    rows, first = offers(draft, lambda action: FRUIT.get(action.id, Values()))
    assert ([row.name for row in rows], first) == (names, chosen)


async def test_a_value_is_completed_and_what_was_typed_wins_where_more_is_possible():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.composer.values_of = lambda action: FRUIT.get(action.id, Values())
        await type_keys(pilot, *"/mode pl", "enter")
        await type_keys(pilot, *"/model qwen3-coder", "enter")
        await type_keys(pilot, *"/model qwen", "down", "down", "enter")
        await type_keys(pilot, *"/mode", "space", "tab")
        assert app.composer.text == "/mode ask"
        await pilot.press("enter")
        await pilot.pause()
        assert [text for _, text in app.posted] == [
            "/mode plan", "/model qwen3-coder", "/model qwen3-coder-plus", "/mode ask"
        ]  # fmt: skip


@pytest.mark.parametrize("size", [(80, 24), (40, 10), (20, 6)])
async def test_the_offers_speak_chinese_and_keep_their_columns(size):
    i18n.set_language("zh")
    app = ComposerApp()
    async with app.run_test(size=size) as pilot:
        await type_keys(pilot, "/", "e", "x")
        await pilot.pause()
        listed = [row for row in rows(app) if "/ex" in row and "›" not in row]
        assert len(listed) == 2
        assert all(cell_len(row) == size[0] for row in rows(app))
        if size[0] >= 80:
            assert t("actions.export_help") in listed[1]


async def test_esc_hides_the_list_until_the_draft_is_another():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        popup = app.composer.query_one("SlashPopup")
        await type_keys(pilot, "/", "h")
        assert popup.is_open
        await pilot.press("escape")
        assert not popup.is_open
        assert app.composer.text == "/h"
        await type_keys(pilot, "backspace", "backspace", "/", "m")
        assert popup.is_open


async def test_a_question_mark_in_an_empty_draft_asks_for_help_and_is_text_in_another():
    app = ComposerApp()
    async with app.run_test() as pilot:
        await pilot.press("question_mark")
        await pilot.pause()
        assert app.posted == [("slash", "/help")]
        await type_keys(pilot, "a", "question_mark")
        assert app.composer.text == "a?"


async def test_a_wrong_command_is_named_and_stays_in_the_draft():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.composer.text = "/xyzzy [b]"
        await pilot.press("enter")
        await pilot.pause()
        assert app.posted == []
        assert app.composer.text == "/xyzzy [b]"
        assert any("No command /xyzzy" in row for row in rows(app))
        await type_keys(pilot, "home", "space")
        await pilot.pause()
        assert not any("No command" in row for row in rows(app))
        await pilot.press("enter")
        await pilot.pause()
        assert app.posted == [("send", " /xyzzy [b]")]


# -- the person's own ---------------------------------------------------------------------------------------------


TYPED = (
    Typed("review", "what it says itself", "[files]", place="built-in"),
    Typed("git:commit", "commit [b]all[/b]", place="yours"),
    Typed("deploy", "to the server", "<where>", kind="skill", place="project"),
    Typed("clear", "hidden by the action", place="project"),
)


async def test_own_commands_are_offered_behind_the_actions_with_what_they_are():
    app = ComposerApp()
    app.typed = TYPED
    async with app.run_test(size=(100, 24)) as pilot:
        await type_keys(pilot, "/", "d")
        await pilot.pause()
        shown = [row for row in rows(app) if "/d" in row]
        assert shown[-2].split() == ["/deploy", "<where>", "to", "the", "server", "skill,", "project"]
        await type_keys(pilot, "e", "p", "tab")
        assert app.composer.text == "/deploy "


@pytest.mark.parametrize(
    ("draft", "posted"),
    [
        ("/git:commit", [("send", "/git:commit")]),
        ("/git:commit now\nand here", [("send", "/git:commit now\nand here")]),
        ("/review", [("send", "/review")]),
        ("/clear", [("slash", "/clear")]),
    ],
)
async def test_own_commands_are_sent_as_messages_and_actions_stay_actions(draft, posted):
    app = ComposerApp()
    app.typed = TYPED
    async with app.run_test(size=(80, 24)) as pilot:
        app.composer.text = draft
        await pilot.pause()
        await pilot.press("escape", "enter")
        await pilot.pause()
        assert app.posted == posted


async def test_an_unknown_name_gives_the_nearest_of_ones_own_too():
    app = ComposerApp()
    app.typed = TYPED
    async with app.run_test(size=(80, 24)) as pilot:
        app.composer.text = "/git:comitt"
        await pilot.pause()
        await pilot.press("enter")
        await pilot.pause()
        assert app.posted == []
        assert any("the nearest is /git:commit" in row for row in rows(app))


@pytest.mark.parametrize(("typed", "posted"), [(TYPED, [("send", "/git:commit")]), ((), [])])
async def test_a_command_sent_before_the_list_is_there_waits_for_it(typed, posted):
    app = ComposerApp()
    app.typed = None
    async with app.run_test(size=(80, 24)) as pilot:
        app.composer.text = "/git:commit"
        await pilot.pause()
        await pilot.press("enter")
        await pilot.pause()
        assert (app.posted, app.composer.text) == ([], "/git:commit")
        app.composer.typed = typed
        await pilot.pause()
        assert app.posted == posted
        assert any("No command /git:commit" in row for row in rows(app)) == (not posted)


async def test_a_name_is_not_taken_for_another_with_its_letters_before_the_list_is_there():
    app = ComposerApp()
    app.typed = None
    async with app.run_test(size=(80, 24)) as pilot:
        await type_keys(pilot, *"/init")
        await pilot.pause()
        assert any("/insights" in row for row in rows(app))  # it has those letters in that order
        await pilot.press("enter")
        await pilot.pause()
        assert (app.posted, app.composer.text) == ([], "/init")
        app.composer.typed = (Typed("init", "write a first AGENTS.md", "[what]", place="built-in"),)
        await pilot.pause()
        assert app.posted == [("send", "/init")]
