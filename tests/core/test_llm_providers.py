"""Which server is asked, with which model and whose key."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from agent_core.credentials import Secret, find_key
from agent_core.errors import ConfigError
from agent_core.llm import chat_completions, discover, providers
from agent_core.llm.providers import PRESETS, ProviderOptions, resolve
from agent_core.ports.model import LlmRequest, ToolSchema
from tests.fakes.raw_server import json_reply, raw_server, read_request
from tests.rows import each_row

OPENAI = {"OPENAI_API_KEY": "k-openai"}
LOCAL = "http://127.0.0.1:9999/v1"
QWEN = PRESETS["dashscope"].base_url


@each_row(
    ("options", "env", "provider", "model", "base_url", "key"),
    [
        # a base URL that was given
        ({"base_url": "http://localhost:9999", "model": "m"}, OPENAI, "custom", "m", "http://localhost:9999/v1", None),
        ({"base_url": LOCAL, "model": "qwen/qwen3"}, OPENAI, "custom", "qwen/qwen3", LOCAL, None),
        ({"model": "m"}, {"NANOHERMES_BASE_URL": LOCAL, "NANOHERMES_API_KEY": "k"}, "custom", "m", LOCAL, "k"),
        ({}, {"NANOHERMES_BASE_URL": LOCAL, "NANOHERMES_MODEL": "e"}, "custom", "e", LOCAL, None),
        (
            {"base_url": "https://api.openai.com/v1/"},
            OPENAI,
            "openai",
            "gpt-5",
            "https://api.openai.com/v1",
            "k-openai",
        ),
        # a provider that was named
        ({"provider": "openai", "model": "m"}, OPENAI, "openai", "m", "https://api.openai.com/v1", "k-openai"),
        ({"model": "openai/m"}, OPENAI, "openai", "m", "https://api.openai.com/v1", "k-openai"),
        ({"provider": "openai", "model": "openai/m"}, OPENAI, "openai", "m", "https://api.openai.com/v1", "k-openai"),
        ({"model": "qwen/m"}, {"DASHSCOPE_API_KEY": "k"}, "dashscope", "m", QWEN, "k"),
        (
            {"provider": "openrouter", "model": "openai/m"},
            {**OPENAI, "OPENROUTER_API_KEY": "k"},
            "openrouter",
            "openai/m",
            "https://openrouter.ai/api/v1",
            "k",
        ),
        (
            {"provider": "openai", "model": "deepseek/m", "base_url": LOCAL, "api_key_env": "WORK_KEY"},
            {"WORK_KEY": "w", "DEEPSEEK_API_KEY": "d"},
            "deepseek",
            "m",
            "https://api.deepseek.com/v1",
            "d",
        ),
        ({"provider": "qwen", "model": "dashscope/m"}, {"DASHSCOPE_API_KEY": "k"}, "dashscope", "m", QWEN, "k"),
        ({"provider": "ollama", "model": "qwen/m"}, {}, "ollama", "qwen/m", "http://127.0.0.1:11434/v1", None),
        ({"provider": "ollama", "model": "m"}, {}, "ollama", "m", "http://127.0.0.1:11434/v1", None),
        (
            {"provider": "a", "model": "b/m", "providers": {"a": {"base_url": LOCAL}, "b": {"base_url": QWEN}}},
            {},
            "b",
            "m",
            QWEN,
            None,
        ),
        # the variables of the server's own tools
        ({"model": "m"}, {**OPENAI, "OPENAI_BASE_URL": LOCAL}, "openai", "m", LOCAL, "k-openai"),
        # what is set
        ({}, {"XAI_API_KEY": "k"}, "xai", "grok-4.3", "https://api.x.ai/v1", "k"),
        ({}, {**OPENAI, "NANOHERMES_API_KEY": "mine"}, "openai", "gpt-5", "https://api.openai.com/v1", "mine"),
        ({"api_key_env": "WORK_KEY"}, {**OPENAI, "WORK_KEY": "w"}, "openai", "gpt-5", "https://api.openai.com/v1", "w"),
    ],
)
def test_the_ladder(options, env, provider, model, base_url, key):
    found = resolve(ProviderOptions(**options), env, {})
    assert (found.provider, found.model, found.base_url) == (provider, model, base_url)
    assert (found.key.reveal() if found.key else None) == key


def test_the_environment_goes_before_the_env_file_and_blanks_do_not_count():
    found = resolve(ProviderOptions(), {"OPENAI_API_KEY": " "}, {"OPENAI_API_KEY": "from-file"})
    assert found.key == Secret("from-file")
    assert resolve(ProviderOptions(), OPENAI, {"OPENAI_API_KEY": "from-file"}).key == Secret("k-openai")


@each_row(
    ("options", "env", "code", "words"),
    [
        ({}, {}, "no_provider", "OPENAI_API_KEY"),
        ({}, {"NANOHERMES_API_KEY": "k"}, "no_provider", "NANOHERMES_BASE_URL"),
        ({"provider": "opnai"}, {}, "unknown_provider", 'Did you mean "openai"'),
        ({"provider": "groq"}, OPENAI, "no_key", "GROQ_API_KEY"),
        ({"model": "deepseek/x"}, OPENAI, "no_key", "DEEPSEEK_API_KEY"),
        ({"provider": "ollama"}, {}, "no_model", "ollama/MODEL"),
        ({"provider": "azure", "model": "m"}, {"AZURE_OPENAI_API_KEY": "k"}, "bad_base_url", "model.base_url"),
        ({"base_url": "ftp://x", "model": "m"}, {}, "bad_base_url", "https://host/v1"),
        ({"base_url": "http://x:99999/", "model": "m"}, {}, "bad_base_url", "https://host/v1"),
        ({"provider": "openai"}, {"OPENAI_API_KEY": "k\nx"}, "bad_key", "OPENAI_API_KEY"),
        ({"provider": "openai"}, {"OPENAI_API_KEY": "ключ"}, "bad_key", "OPENAI_API_KEY"),
    ],
)
def test_what_is_missing_is_named_with_the_way_out(options, env, code, words):
    with pytest.raises(ConfigError) as caught:
        resolve(ProviderOptions(**options), env, {})
    assert caught.value.code == code
    assert words in str(caught.value)


@each_row("url", ["[bad", "http://[::1", "http://[zz]/v1", "http://\u2100.com", "http://", "//x:y"])
@each_row("provider", ["", "custom", "openai"])
def test_an_address_that_is_none_is_told_whoever_has_it(url, provider):
    options = ProviderOptions(model="m", base_url=url, provider=provider)
    with pytest.raises(ConfigError) as caught:
        resolve(options, OPENAI, {})
    assert caught.value.code == "bad_base_url"
    assert url in caught.value.params["url"]
    other = ProviderOptions(model="m", base_url="https://x.invalid", providers={"p": {"base_url": url}})
    assert resolve(other, OPENAI, {}).base_url == "https://x.invalid/v1"


def test_an_address_is_shown_without_its_password():
    assert providers.shown_url("https://u:p@x.invalid:1/v1?k=1") == "https://x.invalid:1/v1"


class TestKeysStayHome:
    """A provider's key is only ever sent to that provider's own address (LLM-29)."""

    @each_row(
        "options",
        [
            {"base_url": "https://evil.example/v1", "provider": "openai"},
            {"base_url": "http://api.openai.com/v1", "provider": "openai"},
            {"base_url": "https://api.openai.com.evil.example/v1", "provider": "openai"},
            {"base_url": "https://api.openai.com:444/v1", "provider": "openai"},
            {"base_url": "https://api.openai.com@evil.example/v1", "provider": "openai"},
            {"provider": "openai", "providers": {"openai": {"base_url": "https://evil.example/v1"}}},
            {"provider": "mine", "providers": {"mine": {"preset": "openai", "base_url": "https://evil.example/v1"}}},
            {
                "base_url": "https://evil.example/v1",
                "provider": "openai",
                "providers": {"openai": {"api_key": "k-cfg"}},
            },
        ],
    )
    def test_another_address_gets_no_key(self, options):
        with pytest.raises(ConfigError) as caught:
            resolve(ProviderOptions(model="m", **options), OPENAI, {})
        assert caught.value.code == "no_key"

    def test_a_key_of_ones_own_goes_to_ones_own_server(self):
        entry = {"base_url": "https://llm.example/v1", "api_key_env": "MY_KEY", "model": "big", "label": "Mine"}
        found = resolve(ProviderOptions(provider="mine", providers={"mine": entry}), {**OPENAI, "MY_KEY": "m"}, {})
        assert (found.provider, found.label, found.model, found.key) == ("mine", "Mine", "big", Secret("m"))
        found = resolve(ProviderOptions(model="mine/other", providers={"mine": entry}), {"MY_KEY": "m"}, {})
        assert (found.provider, found.model) == ("mine", "other")


def test_a_secret_does_not_show_and_is_not_written():
    secret = Secret("topsecret", "MY_KEY")
    assert "topsecret" not in f"{secret} {secret!r} {[secret]} {secret:}"
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    assert find_key(["A", "B"], {"B": "2"}, {"A": "1"}) == Secret("2")


def test_the_table_of_servers_is_loaded_without_an_http_library():
    code = "import sys, agent_core.llm.providers, agent_core.llm.discover; sys.exit('httpx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=30, check=False).returncode == 0


@pytest.mark.parametrize(
    ("url", "path", "whole"),
    [
        ("https://x/v1", "models", "https://x/v1/models"),
        ("https://x/openai?api-version=1", "chat/completions", "https://x/openai/chat/completions?api-version=1"),
    ],
)
def test_a_query_of_the_base_url_stays_at_the_end(url, path, whole):
    assert providers.url_of(url, path) == whole


class Models(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = self.server.body
        self.send_response(200 if self.path == "/v1/models" else 404)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def local_ports(monkeypatch):
    """Local presets moved to ports of ours; gives a function that starts a server for one of them."""
    servers = []
    moved = dict(PRESETS)
    for name in discover.LOCAL:
        server = ThreadingHTTPServer(("127.0.0.1", 0), Models, bind_and_activate=False)
        server.server_bind()
        servers.append(server)
        moved[name] = providers.replace(PRESETS[name], base_url=f"http://127.0.0.1:{server.server_address[1]}/v1")
    monkeypatch.setattr(discover, "PRESETS", moved)

    def start(name: str, body: bytes) -> None:
        server = servers[discover.LOCAL.index(name)]
        server.body = body
        server.server_activate()
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        running.append(server)

    running: list[ThreadingHTTPServer] = []
    yield start
    for server in running:
        server.shutdown()
    for server in servers:
        server.server_close()


class TestDiscover:
    def test_without_servers_there_is_nothing(self, local_ports):
        assert discover.find_local_server(timeout=2) is None

    def test_the_first_server_with_a_model_wins_and_embedding_models_come_last(self, local_ports):
        local_ports("llamacpp", b'{"data": [{"id": "nomic-embed-text"}, {"id": "qwen3"}]}')
        local_ports("vllm", b'{"data": [{"id": "other"}]}')
        found = discover.find_local_server(timeout=5)
        assert (found.provider, found.model, found.key) == ("llamacpp", "qwen3", None)

    @pytest.mark.parametrize("body", [b"<html>hello</html>", b'{"data": []}', b"[" * 100_000, b'{"data": 5}', b"\xff"])
    def test_what_is_no_model_server_is_passed_over(self, local_ports, body):
        local_ports("llamacpp", body)
        assert discover.find_local_server(timeout=5) is None

    def test_a_silent_port_costs_no_more_than_the_time_allowed(self, monkeypatch):
        with raw_server(lambda connection, number: connection.recv(1_000_000) and connection.recv(1)) as server:
            silent = {name: providers.replace(PRESETS[name], base_url=server.base_url) for name in discover.LOCAL}
            monkeypatch.setattr(discover, "PRESETS", silent)
            assert discover.find_local_server(timeout=0.2) is None


class TestCheck:
    @each_row(
        ("status", "body", "ok", "code"),
        [
            (200, {"data": [{"id": "m"}]}, True, "ok"),
            (200, {"data": [{"id": "other"}]}, True, "model_not_listed"),
            (200, {"data": []}, False, "protocol"),
            (401, {"error": {"message": "bad key"}}, False, "auth"),
            (404, {"detail": "Not Found"}, False, "not_found"),
            (503, {"error": {"message": "loading"}}, False, "server"),
        ],
    )
    def test_an_answer_is_judged(self, status, body, ok, code):
        with raw_server(lambda c, n: (read_request(c), json_reply(c, status, body))[1]) as server:
            endpoint = resolve(ProviderOptions(base_url=server.base_url, model="m"), {}, {})
            health = discover.check(endpoint, timeout=5)
        assert (health.ok, health.code) == (ok, code)
        assert health.text

    def test_a_server_whose_models_everybody_may_see_is_asked_about_the_key(self):
        def handler(connection, number):
            good = read_request(connection)["line"].startswith("GET /v1/models")
            json_reply(
                connection, 200 if good else 401, {"data": [{"id": "m"}]} if good else {"error": {"message": "no"}}
            )

        with raw_server(handler) as server:
            entry = {"preset": "openrouter", "base_url": server.base_url, "api_key_env": "K"}
            options = ProviderOptions(model="mine/m", providers={"mine": entry})
            assert discover.check(resolve(options, {"K": "bad"}, {}), timeout=5).code == "auth"

    def test_nobody_there_is_no_exception(self):
        endpoint = resolve(ProviderOptions(base_url="http://127.0.0.1:9/v1", model="m"), {}, {})
        assert discover.check(endpoint, timeout=2).code == "network"


@pytest.mark.parametrize(
    ("provider", "expected"),
    [
        ("gemini", {"type": "string", "nullable": True}),
        ("openai", {"anyOf": [{"type": "string"}, {"type": "null"}]}),
    ],
)
def test_a_server_that_takes_no_choice_between_schemas_is_sent_none(provider, expected):
    schema = {"type": "object", "properties": {"x": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}
    request = LlmRequest((), (ToolSchema("t", "", schema),))
    preset = PRESETS[provider]
    body = chat_completions.body_of(request, "m", chat_completions.quirks_of(preset), preset)
    assert body["tools"][0]["function"]["parameters"]["properties"]["x"] == expected
