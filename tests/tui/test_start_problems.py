"""What is wrong when the program starts is told in the interface's language, with the way out."""

import threading
import time

import pytest

from agent_core import events
from agent_core.desk.host import Host
from nanoherm_tui.app import NanohermApp
from nanoherm_tui.commands.settings import needs_setup
from nanoherm_tui.opening import Start
from nanoherm_tui.overlays.setup import SetupScreen
from tests.fakes.model_server import ModelServer, Reply
from tests.tui.overlay_app import shown
from tests.tui.test_app import Stage, launch


@pytest.mark.parametrize(
    ("language", "words"),
    [("en", "approvals.policy"), ("zh", "approvals.policy 的值不对")],
)
async def test_a_setting_that_does_not_count_is_named_in_the_conversation(tmp_path, language, words):
    config = tmp_path / "home" / ".nanohermes" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("approvals:\n  policy: sometimes\n")
    async with Stage(tmp_path, [Reply(text="x")], **{"display.language": language}) as stage:
        await stage.until(lambda: words in stage.transcript())


@pytest.mark.parametrize(
    ("language", "title", "words"),
    [("en", "Connect a model", "cannot be used"), ("zh", "连接模型", "不能用")],
)
async def test_a_provider_that_cannot_be_used_opens_the_setup_and_says_why(tmp_path, language, title, words):
    settings = {"display.language": language, "model.provider": "custom", "model.base_url": "ftp://coder"}
    async with Stage(tmp_path, [Reply(text="x")], size=(120, 36), **settings) as stage:
        await stage.until(lambda: isinstance(stage.app.screen, SetupScreen))
        await stage.pilot.pause()
        assert title in shown(stage.app)
        assert words in shown(stage.app)


async def test_what_could_not_be_sent_without_a_model_is_in_the_draft(tmp_path):
    with ModelServer([Reply(text="x")]) as server:
        settings = {"model.provider": "custom", "model.base_url": "ftp://coder"}
        host = Host(launch(tmp_path, server, **settings))
        app = NanohermApp(Start(host.places, host.config, lambda: (host, None), prompt="from the command line"))
        async with app.run_test(size=(120, 36)) as pilot:
            end = time.monotonic() + 10
            while not isinstance(app.screen, SetupScreen):
                assert time.monotonic() < end, "it never came"
                await pilot.pause(0.02)
            assert app.composer.text == "from the command line"
        host.close()


async def test_a_network_that_fails_leads_to_the_setup_only_before_the_first_answer_and_while_nobody_types(tmp_path):
    error = events.ErrorRaised("network", "It cannot be reached.")
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        app = stage.app
        assert needs_setup(app, error)
        app.composer.text = "the next message"
        assert not needs_setup(app, error)
        app.composer.text = ""
        app.view.model.apply(events.TextDelta("half an answer"))
        assert not needs_setup(app, error)


@pytest.mark.parametrize(
    ("named", "opens", "provider", "address"),
    [
        ("OpenAI", True, "openai", "https://api.openai.com/v1"),
        ("xai", True, "xai", "https://api.x.ai/v1"),
        ("mine", True, "custom", "here"),
        ("", True, "custom", "here"),
        ("spare", False, "", ""),
    ],
)
async def test_the_setup_begins_with_the_provider_that_failed_and_leaves_out_what_only_the_config_knows(
    tmp_path, named, opens, provider, address
):
    entries = {"mine": {"base_url": "http://127.0.0.1:8/v1"}, "spare": {"base_url": "http://127.0.0.1:9/v1"}}
    async with Stage(tmp_path, [Reply(text="x")], **{"model.provider": "mine", "providers": entries}) as stage:
        await stage.until(lambda: stage.host.model.state.settled)
        assert stage.host.model.state.endpoint.provider == "mine"
        error = events.ErrorRaised("auth", "The key is not accepted.", {"provider": named})
        stage.app.conversations.deliver([events.Envelope(stage.app.view.id, 0, 0.0, error)])
        await stage.pilot.pause()
        screen = stage.app.screen
        assert isinstance(screen, SetupScreen) == opens
        if opens:
            wanted = stage.host.model.state.endpoint.base_url if address == "here" else address
            assert (screen.values.provider, screen.values.base_url) == (provider, wanted)


@pytest.mark.parametrize("apart", [True, False], ids=["in two batches", "in one"])
async def test_what_a_session_says_before_its_history_has_come_still_stands_after_it(tmp_path, apart):
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        view, conversations = stage.app.view, stage.app.conversations
        view.loaded = False
        said = [events.ErrorRaised("mode_needs_sandbox", "Not here.", {"mode": "auto", "modes": "ask"}),
                events.HistoryChanged(())]  # fmt: skip
        batch = [events.Envelope(view.id, number, 0.0, event) for number, event in enumerate(said, 900)]
        for part in [batch[:1], batch[1:]] if apart else [batch]:
            conversations.deliver(part)
        await stage.until(lambda: stage.transcript().count("Not here.") == 1)


@pytest.mark.parametrize(
    ("prompt", "draft", "sent"),
    [
        ("/reveiw x", "/reveiw x", 0),
        ("/theme nanoherm-light", "", 0),
        ("/review x", "", 1),
        ("/etc/hosts is what?", "", 1),
    ],
)
async def test_a_command_that_comes_with_the_start_is_as_if_it_were_typed(tmp_path, prompt, draft, sent):
    with ModelServer([Reply(text="ok")]) as server:
        host = Host(launch(tmp_path, server))
        app = NanohermApp(Start(host.places, host.config, lambda: (host, None), prompt=prompt))
        async with app.run_test(size=(120, 36)) as pilot:
            done = {
                "/reveiw x": lambda: "the nearest is /review" in shown(app),
                "/theme nanoherm-light": lambda: app.themes.chosen == "nanoherm-light",
            }
            end = time.monotonic() + 10
            while not done.get(prompt, lambda: server.requests)():
                assert time.monotonic() < end, shown(app)
                await pilot.pause(0.02)
            assert app.composer.text == draft
        host.close()
    assert len(server.requests) == sent


class Heard:
    """A model that answers, and the lines of what a person has said to it last."""

    def __init__(self):
        self.lines = []

    def __call__(self, body, count):
        said = [message["content"] for message in body["messages"] if message["role"] == "user"]
        self.lines = "\n".join(said).splitlines()
        return Reply(text="yes")

    def heard(self, *lines):
        return [line for line in self.lines if line in lines] == [*lines]


class Late(Stage):
    """The core is opened when the test says so."""

    def start(self):
        self.opening = threading.Event()

        def open_host():
            assert self.opening.wait(30)
            return self.host, None

        return Start(self.host.places, self.host.config, open_host)

    async def until(self, condition, seconds=30.0):
        if not self.opening.is_set():
            await self.before(self)
            self.opening.set()
        await super().until(condition, seconds)


async def test_what_is_sent_before_the_first_session_is_seen_comes_back_and_goes_in_its_order(tmp_path):
    async def before(stage):
        for text in ("first 一", "second", "third"):
            await stage.type(text)
        assert [word in shown(stage.app) for word in ("first 一", "second", "third")] == [True] * 3
        assert stage.app.composer.text == ""
        await stage.pilot.press("alt+up")
        assert (stage.app.opening.first_prompts, stage.app.composer.text) == (["first 一", "second"], "third")

    model = Heard()
    stage = Late(tmp_path, model, size=(120, 36))
    stage.before = before
    async with stage:
        await stage.pilot.press("enter")
        await stage.until(lambda: model.heard("first 一", "second", "third") and stage.state == "idle")
        assert (stage.app.opening.first_prompts, stage.app.composer._pending.queued) == ([], ())


async def test_a_message_goes_behind_those_that_wait_for_an_answer_about_the_folder(tmp_path):
    model = Heard()
    async with Stage(tmp_path, model, size=(120, 36)) as stage:
        stage.app.opening.first_prompts = ["before"]
        await stage.type("after")
        assert all(word in shown(stage.app) for word in ("before", "after"))
        stage.app.opening.send_first_prompts()
        await stage.until(lambda: model.heard("before", "after") and stage.state == "idle")
