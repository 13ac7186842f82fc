"""Images on their way through a session: attached, stored, sent, kept by retry, left out when there are too many."""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import replace

import pytest

from agent_core import events, intents, limits
from agent_core.images.kept import KeptImages
from agent_core.images.reader import Picture
from agent_core.llm.wires import WIRES
from agent_core.messages import ImagePart, Message, ToolCall, ToolResult, tool, user
from agent_core.mind import view
from agent_core.mind.notebook import Notebook
from agent_core.ports.model import LlmRequest, ToolSchema
from agent_core.safety.redact import redact
from agent_core.store import exchange, imports
from agent_core.store.notes import Draft
from tests.core.session_support import call, say
from tests.core.test_wires import client_for
from tests.fakes.model_server import ModelServer, Reply

from .image_support import image, opened

KEY = "sk-" + "q7Xv2LmZ8Rt4" * 2
PART = ImagePart("image/png", "iVBORw0KGgo=")


@pytest.fixture
def kept(tmp_path):
    return KeptImages(tmp_path / "images")


def last_said(request: LlmRequest) -> Message:
    return [m for m in request.messages if m.role == "user"][-1]


# -- a session --------------------------------------------------------------------------------------------------------


def test_images_that_a_text_names_go_with_it_and_stay_with_retry_and_resend(table, kept):
    t = table(say("A square."), attach=kept.attach)
    reference = kept.take(image(30, 20), "shot.png")
    t.session.send(intents.Steer(f"What is {reference}?"))
    t.wait(events.TurnFinished)
    said = last_said(t.model.requests[0])
    assert (said.text, len(said.parts)) == ("What is [image: shot.png 30x20 PNG]?", 1)
    assert [e.images for e in t.of(events.UserMessage)] == [1]
    assert t.store.get(t.session.id).title == "What is ?"
    (stored,) = [m for m in t.store.messages(t.session.id) if m.role == "user"]
    assert stored.parts == said.parts
    t.session.send(intents.Retry())
    t.wait(events.TurnFinished, count=2)
    assert last_said(t.model.requests[1]).parts == said.parts
    more = kept.take(image(10, 10), "b.png")
    (stored,) = [m for m in t.store.messages(t.session.id) if m.role == "user"]
    t.session.send(intents.Resend(stored.id, f"And {more}?"))
    t.wait(events.TurnFinished, count=3)
    parts = last_said(t.model.requests[2]).parts
    assert [opened(part).size for part in parts] == [(30, 20), (10, 10)]


def test_a_copy_that_is_gone_is_told_of_and_the_message_goes_all_the_same(table, kept):
    t = table(say("Hm."), attach=kept.attach)
    t.session.send(intents.Steer("Look: [image 0123456789abcdef a.png 3x3 PNG]"))
    t.wait(events.TurnFinished)
    assert [e.code for e in t.of(events.Notice)] == ["image_gone"]
    assert last_said(t.model.requests[0]).text == "Look: [image: a.png 3x3 PNG]"


def test_a_message_keeps_the_names_of_its_images_beside_words_that_make_secrets(table, kept):
    t = table(say("Hm."), attach=kept.attach)
    t.services = replace(t.services, redact=redact)
    t.session = t.open("s2", stored=False)
    t.session.send(intents.Steer(f"token: {kept.take(image(3, 2), 'a.png')}"))
    t.wait(events.TurnFinished)
    words = "token: [image: a.png 3x2 PNG]"
    (stored,) = [m for m in t.store.messages("s2") if m.role == "user"]
    assert [stored.text, *(e.text for e in t.of(events.UserMessage))] == [words, words]


def test_images_that_are_added_to_a_turn_count_with_its_own_and_come_again_with_retry(table, kept):
    def named(*heights: int) -> str:
        parts = [ImagePart("image/png", b64encode(image(10, height)).decode()) for height in heights]
        return " ".join(kept.keep(Picture(part, 10, 10, "PNG"), "a.png") for part in parts)

    first, more, last = named(1, 2), named(3), named(4, 5)

    def adding(request, sink, cancel):
        t.session.send(intents.Steer(more))
        t.session.send(intents.Steer(last))
        t.wait(events.PendingChanged, count=2)
        return say("And?")

    t = table(adding, say("ok"), attach=kept.attach)
    t.session.send(intents.Submit(first))
    t.wait(events.TurnFinished)
    given = [[opened(part).height for part in m.parts] for m in t.model.requests[1].messages if m.role == "user"]
    assert given == [[1, 2], [3], [4]]
    assert [e.code for e in t.of(events.Notice)] == ["too_many_images"]
    t.session.send(intents.Retry())
    t.wait(events.TurnFinished, count=2)
    assert [len(m.parts) for m in t.model.requests[-1].messages if m.role == "user"] == [2, 1, 1]


HELD = "[image 0123456789abcdef shot.png 8x8 PNG]"


@pytest.mark.parametrize(
    ("text", "kept_as"),
    [
        (f"token: {HELD} and password={HELD}", f"token: {HELD} and password={HELD}"),
        (f"{HELD} api_key=q7Xv2LmZ8Rt4q7Xv2LmZ8", f"{HELD} api_key=[REDACTED]"),
        (f"see {HELD.replace('shot', KEY)}", f"see {HELD.replace('shot.png', '[REDACTED].png')}"),
    ],
)
def test_a_draft_on_disk_keeps_its_images_beside_words_that_make_secrets(text, kept_as):
    class Disk:
        def keep(self, notes):
            self.notes = notes

    disk = Disk()
    notebook = Notebook(disk, lambda: (), lambda error: None)
    notebook.keep(Draft("s1", "/w", text))
    notebook.close()
    assert [note.text for note in disk.notes] == [kept_as]


@pytest.mark.parametrize(("sees", "images"), [(True, 1), (None, 1), (False, 0)])
def test_what_read_file_sees_depends_on_the_model(table, sees, images):
    t = table(call(("read_file", {"path": "a.png"})), say("ok"), sees=lambda provider, model: sees)
    (t.workspace / "a.png").write_bytes(image(30, 20))
    t.session.send(intents.Submit("Look at it"))
    t.wait(events.TurnFinished)
    (result,) = [m for m in t.model.requests[1].messages if m.role == "tool"]
    assert len(result.parts) == images
    (stored,) = [m for m in t.store.messages(t.session.id) if m.role == "tool"]
    assert stored.parts == result.parts


# -- what requests hold -----------------------------------------------------------------------------------------------


def test_older_images_leave_requests_first_and_several_at_once():
    def held(count: int) -> list[int]:
        return [len(m.parts) for m in view.held([user(f"m{n}", (PART,)) for n in range(count)])]

    most, step = limits.IMAGES_HELD, limits.IMAGES_A_TURN
    assert held(most) == [1] * most
    for over in range(1, step + 1):
        assert held(most + over) == [0] * step + [1] * (most + over - step)
    assert held(most + step + 1)[: 2 * step + 1] == [0] * (2 * step) + [1]
    left_out = view.held([user(f"m{n}", (PART,)) for n in range(most + 1)])[0]
    assert left_out.text == f"m0\n{view.OLD_IMAGE}"


def test_a_result_that_was_dropped_takes_its_image_with_it_and_images_count_as_tokens():
    result = tool(ToolResult("c", "read_file", "[image]", images=(PART,)))
    dropped = view.shown(Message("tool", result.text, parts=result.parts, result=result.result, view="dropped"))
    assert dropped is not None
    assert dropped.parts == ()
    assert view.weight(result).tokens - view.weight(dropped).tokens > limits.IMAGE_TOKENS // 2


# -- the wires --------------------------------------------------------------------------------------------------------

TOOLS = (ToolSchema("read_file", "Reads.", {"type": "object", "properties": {}}),)
ROUND = (
    user("Look"),
    Message("assistant", "", tool_calls=(ToolCall("c1", "read_file", {"path": "a.png"}), ToolCall("c2", "grep", {}))),
    tool(ToolResult("c1", "read_file", "[image 1x1 PNG]", images=(PART,))),
    tool(ToolResult("c2", "grep", "none")),
)


@pytest.mark.parametrize("name", WIRES)
def test_a_results_image_is_sent_as_each_wire_takes_one(name):
    from agent_core.llm.providers import PRESETS

    wire = WIRES[name]
    preset = PRESETS["custom"]
    body = wire.body(LlmRequest((Message("system", "s"), *ROUND), TOOLS), "m", wire.quirks(preset), preset)
    text = json.dumps(body)
    assert text.count(PART.data) == 1
    history = body[wire.history]
    if name == "anthropic_messages":
        (block, _) = history[-1]["content"]
        assert [b["type"] for b in block["content"]] == ["text", "image"]
        return
    assert history[-1]["role"] == "user"  # behind the results: on this wire they are text
    kinds = [part["type"] for part in history[-1]["content"]]
    assert kinds == (["text", "image_url"] if name == "chat_completions" else ["input_text", "input_image"])


UNSUPPORTED = json.dumps(
    {"error": {"code": 500, "message": "image input is not supported - hint: you may need to provide the mmproj"}}
)


def blind(body: dict, number: int) -> Reply:
    return Reply(status=500, body=UNSUPPORTED) if "image_url" in json.dumps(body) else Reply("I see nothing.")


def test_a_server_that_refuses_images_is_asked_without_and_the_person_is_told_once():
    from agent_core.cancel import CancelScope

    request = LlmRequest((user("Look", (PART,)), *ROUND[1:]))
    with ModelServer(blind) as server:
        deltas: list = []
        client = client_for(server_like(server), "chat_completions")
        assert client.complete(request, deltas.append, CancelScope()).text == "I see nothing."
        client.complete(request, deltas.append, CancelScope())
        told = [d for d in deltas if d.params.get("notice") == "images_left_out"]
        assert [(d.params["model"], d.params["provider"]) for d in told] == [("m-1", "mine")]
        assert len(server.requests) == 3  # it is not asked with them again
        sent = json.dumps(server.requests[-1])
        assert sent.count("[image left out: this model takes none]") == 2
        client.close()


@pytest.mark.parametrize(("mode", "requests", "fails"), [("text", 1, False), ("native", 1, True)])
def test_the_setting_goes_before_what_a_server_says(mode, requests, fails):
    from agent_core.cancel import CancelScope
    from agent_core.errors import ProviderError

    with ModelServer(blind) as server:
        client = client_for(server_like(server), "chat_completions", images=mode, max_attempts=1)
        try:
            client.complete(LlmRequest((user("Look", (PART,)),)), lambda delta: None, CancelScope())
            assert not fails
        except ProviderError:
            assert fails
        assert len(server.requests) == requests
        client.close()


class server_like:
    """A model server as `client_for` takes one."""

    def __init__(self, server: ModelServer) -> None:
        self.base_url, self.key = server.base_url, "any-key-at-all-will-do-here"


def test_servers_tell_which_models_see():
    from agent_core.llm.discover import model_sees

    listed = {
        "data": [
            {"id": "a", "architecture": {"input_modalities": ["text", "image"]}},
            {"id": "b", "architecture": {"input_modalities": ["text"]}},
            {"id": "c", "capabilities": {"vision": False}},
            {"id": "d", "capabilities": ["completion", "multimodal"]},
            {"id": "e", "type": "vlm"},
            {"id": "f"},
            {"id": "g", "architecture": "x", "capabilities": 3},
        ]
    }
    seen = model_sees(json.dumps(listed).encode())
    assert seen == {"a": True, "b": False, "c": False, "d": True, "e": True}


# -- export and import ------------------------------------------------------------------------------------------------


def test_an_array_of_messages_keeps_the_images_of_people_and_results():
    conversation = [user("Look", (PART,)), *ROUND[1:]]
    again = [imports.from_openai(entry) for entry in json.loads(exchange.export_nanohermes(conversation))]
    assert [m.parts for m in again] == [m.parts for m in conversation]
