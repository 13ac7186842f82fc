"""What a folder brings is shown in whole; only its own key, on its own, accepts it, and nothing acts before."""

import json
from pathlib import Path

import pytest
from rich.cells import cell_len

from agent_core.trust import Offer, Offered, Row, Standing
from nanoherm_tui import i18n, limits
from nanoherm_tui.overlays.trust import TrustScreen, lines
from tests.fakes.model_server import Reply
from tests.tui.overlay_app import OverlayApp, rows
from tests.tui.test_app import Stage

AMBIGUOUS = set("…·│─▌■●◐→×—")
HOOKS = {"hooks": {"PreToolUse": [{"command": "echo ran >> ran.txt; exit 0"}], "SessionStart": [{"command": "true"}]}}


def standing(state="new", changed=(), count=0):
    found = [
        Row(".nanohermes/config.yaml", "setting", "model.base_url = http://127.0.0.1:1/v1"),
        Row(".nanohermes/hooks.json", "hook", "PreToolUse run_command: " + "./scripts/check --every 文件 " * 9),
        Row(".mcp.json", "server", "files: npx -y server ."),
        *(Row(".nanohermes/hooks.json", "hook", f"TurnEnd: echo {n}") for n in range(count)),
        Row(".envrc", "problem", "is a link; it is not used"),
    ]
    files = tuple(Offered(Path("/w") / row.name, row.name, "hooks", b"x") for row in found)
    return Standing(Offer(Path("/w/repo"), files, tuple(found)), state, tuple(changed))


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(limits, "APPROVAL_ARM", 0.02)


SIGHTS = [
    *(("en", size, "new") for size in ((120, 36), (80, 24), (40, 10))),
    ("zh", (80, 24), "changed"),
    ("zh", (40, 10), "trusted"),
    ("en", (80, 24), "refused"),
]


@pytest.mark.parametrize(("language", "size", "state"), SIGHTS)
async def test_all_of_it_can_be_read_at_every_size(language, size, state):
    i18n.set_language(language)
    app = OverlayApp()
    try:
        async with app.run_test(size=size) as pilot:
            app.push_screen(TrustScreen(standing(state, (".mcp.json",), count=12), "/h"))
            await pilot.pause()
            await pilot.pause()
            seen = ""
            more = True
            while more:
                shown = rows(app)
                assert all(cell_len(line) == size[0] for line in shown)
                assert not set("".join(shown)) & AMBIGUOUS
                seen += "\n".join(shown)
                more = app.screen._text.has_more
                await pilot.press("pagedown")
            assert seen.count("./scripts/check") >= 9
            assert "TurnEnd: echo 11" in seen
            assert i18n.t("trust.problem") in seen
            key = "t" if state in ("new", "changed") else "r"
            assert f"{key} {i18n.t('trust.trust' if key == 't' else 'trust.take_back')}" in seen
    finally:
        i18n.set_language("en")


def test_nothing_of_a_command_is_cut():
    long = Standing(Offer(Path("/w"), (), (Row("a", "hook", "x" * 500),)), "new")
    assert "".join(words for _, left, words in lines(long, 60) if left).replace(" ", "") == "x" * 500


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (["t"], "trust"),
        (["n"], "later"),
        (["N"], "never"),
        (["escape"], "later"),
        (["enter"], None),
        (["space"], "later"),
        (["y"], "later"),
        (["tab"], None),
        (["pagedown", "up"], None),
    ],
)
async def test_only_its_own_key_accepts_it(keys, said):
    app = OverlayApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(TrustScreen(standing(), "/h"), app.results.append)
        await pilot.pause(0.3)
        await pilot.press(*keys)
        await pilot.pause(limits.APPROVAL_ALONE * 3)
        assert app.results == ([] if said is None else [said])


async def test_a_word_that_is_being_typed_accepts_nothing():
    app = OverlayApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(TrustScreen(standing(), "/h"), app.results.append)
        await pilot.pause(0.3)
        await pilot.press("t", "h", "e")
        await pilot.pause(limits.APPROVAL_ALONE * 3)
        assert app.results == ["later"]


async def test_a_letter_that_comes_as_it_opens_accepts_nothing(monkeypatch):
    monkeypatch.setattr(limits, "APPROVAL_ARM", 30.0)
    app = OverlayApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(TrustScreen(standing(), "/h"), app.results.append)
        await pilot.pause()
        await pilot.press("t")
        await pilot.pause(limits.APPROVAL_ALONE * 3)
        assert app.results == ["later"]


# -- in the program -----------------------------------------------------------------------------------------------


def bring(tmp_path, name=".nanohermes/hooks.json", content=HOOKS):
    file = tmp_path / "work" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def asked(stage):
    return isinstance(stage.app.screen, TrustScreen)


async def answer(stage, key):
    await stage.until(lambda: asked(stage) and stage.app.screen.armed)
    await stage.pilot.press(key)
    await stage.until(lambda: not asked(stage))


def tool_turn():
    call = Reply(calls=(("list_dir", {"path": "."}),))
    return [call, Reply(text="Listed.")]


async def test_hooks_act_once_they_are_trusted_and_a_change_asks_again(tmp_path):
    file = bring(tmp_path)
    ran = tmp_path / "work" / "ran.txt"
    async with Stage(tmp_path, [*tool_turn(), *tool_turn(), *tool_turn()]) as stage:
        await answer(stage, "n")
        await stage.type("one")
        await stage.until(lambda: "Listed." in stage.transcript() and stage.state == "idle")
        assert not ran.exists()
        stage.app.action_command("trust")
        await answer(stage, "t")
        await stage.until(lambda: stage.host.trusting.look().state == "trusted")
        await stage.type("two")
        await stage.until(lambda: ran.exists() and stage.state == "idle")
        file.write_text(json.dumps({"hooks": {"PreToolUse": [{"command": "echo worse >> ran.txt"}]}}))
        await stage.type("three")
        await stage.until(lambda: asked(stage))
        await stage.pilot.press("escape")
        await stage.until(lambda: stage.state == "idle" and stage.transcript().count("Listed.") == 3)
        assert ran.read_text() == "ran\n"


async def test_a_folder_that_is_never_to_be_trusted_asks_no_more(tmp_path):
    bring(tmp_path)
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        await answer(stage, "N")
        await stage.until(lambda: stage.host.trusting.look().state == "refused")
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        await stage.pilot.pause(0.3)
        assert not asked(stage)
        stage.app.action_command("trust")
        await answer(stage, "r")
        await stage.until(lambda: stage.host.trusting.look().state == "new")


async def test_a_session_nothing_was_said_in_has_the_settings_once_they_are_trusted(tmp_path):
    bring(tmp_path, ".nanohermes/config.yaml", "approvals: {policy: always}\nagent: {max_turns: 0}\n")
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        first = stage.app.view.session
        assert stage.host.config.get("approvals.policy") == "untrusted"
        await answer(stage, "t")
        await stage.until(lambda: stage.app.view.session is not first)
        assert stage.host.config.get("approvals.policy") == "always"
        assert stage.app.view.session._modes.policy == "always"


async def test_a_first_message_waits_for_the_answer(tmp_path):
    bring(tmp_path)
    async with Stage(tmp_path, tool_turn()) as stage:
        stage.app.opening.first_prompts = ["go"]
        await stage.until(lambda: asked(stage))
        assert stage.state == "idle"
        await answer(stage, "t")
        await stage.until(lambda: "Listed." in stage.transcript())
        assert (tmp_path / "work" / "ran.txt").exists()


async def test_a_folder_that_brings_nothing_asks_nothing(tmp_path):
    bring(tmp_path, ".nanohermes/config.yaml", "display: {ascii: true}\n")
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        await stage.pilot.pause(0.3)
        assert not asked(stage)
        assert "not trusted" not in stage.transcript()


def unwrapped(stage):
    """The conversation without its rows: how long the path in it is differs."""
    return " ".join(stage.transcript().split())


async def test_hooks_of_the_users_own_that_cannot_be_read_are_told_at_the_start(tmp_path):
    home = tmp_path / "home" / ".nanohermes"
    home.mkdir(parents=True)
    (home / "hooks.json").write_text('{"hooks":\n {')
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        await stage.until(lambda: "this is not JSON" in unwrapped(stage))
        await stage.type("hello")
        await stage.until(lambda: stage.state == "idle" and stage.app.view.usage.total_tokens is not None)
        assert unwrapped(stage).count("this is not JSON") == 1
