"""What servers say when they fail, what it means, and how long is waited."""

from __future__ import annotations

import email.utils
import json
import time
from typing import Any

import httpx
import pytest

from agent_core import limits
from agent_core.errors import ProviderError
from agent_core.llm import failures, retry
from agent_core.llm.words import Asked, tidy
from tests.rows import each_row


def said(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, **more}}


def response(status: int, body: Any = "", headers: dict[str, str] | None = None, key: str = "") -> ProviderError:
    data = body if isinstance(body, str) else json.dumps(body)
    return failures.from_response(status, headers or {}, data.encode(), Asked("Server", key=key))


OVERFLOWS: list[tuple[int, Any, int | None]] = [
    (400, said("prompt is too long: 210000 tokens > 200000 maximum"), 200_000),
    (400, said("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"), 200_000),
    (400, said("This model's maximum context length is 8192 tokens. However, your messages resulted in 9000."), 8192),
    (400, said("Invalid request: Your request exceeded model token limit: 262144"), 262_144),
    (400, said("litellm.ContextWindowExceededError: litellm.BadRequestError: OpenAIException"), None),
    (413, "<html><head><title>413 Request Entity Too Large</title></head></html>", None),
    (400, said("Input is too long for requested model."), None),
    (400, said("The decoder prompt (length 35904) is longer than the maximum model length of 32768."), 32_768),
    (422, {"error": "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000"}, 4096),
    (400, said("The model is loaded with context length of only 4096 tokens, which is not enough."), 4096),
    (400, said("the request exceeds the available context size"), None),
    (
        400,
        {"code": 20015, "message": "length of prompt_tokens (137000) must be less than max_seq_len (131072)."},
        131_072,
    ),
    (400, said("Current length is 9000 while limit is 8192", code="context_length_exceeded"), 8192),
    (400, said("Total tokens of image and text exceed max message tokens"), None),
    (500, said("Context size has been exceeded."), None),
    (400, [said("The input token count exceeds the maximum number of tokens allowed 1048576.")], 1_048_576),
    (400, said("Requested token count exceeds the model's maximum context length of 131072 tokens."), 131_072),
    (400, said("too many tokens: size limit exceeded by 1000 tokens. Try using shorter or fewer inputs."), None),
    (400, said("Your input exceeds the context window of this model. Please adjust your input."), None),
    (400, said("prompt tokens too long"), None),
    (400, said("the max input characters is 20000"), 20_000),
    (400, said("Input length 140000 exceeds the maximum length 131072"), 131_072),
    (400, said("Input tokens exceeded: 200001 > 200000"), 200_000),
    (400, said("number of input tokens (9000) has exceeded max_prompt_tokens limit (8192)"), 8192),
    (400, said("your prompt contains 9000 tokens, more than the model takes"), None),
    (400, said("Request body too large for this model. Max size: 8000 tokens.", code="tokens_limit_reached"), 8000),
    (400, said("Message is too long for the model's context"), None),
    (400, said("输入tokens超过模型最大上下文长度"), None),
    (400, said("请求的 token 数超过模型的最大上下文"), None),
    (400, said("Prompt 超长"), None),
    (400, said("输入的 token 数量超出限制"), None),
    (400, said("超过最大长度限制 32768"), None),
]


@each_row(("status", "body", "limit"), OVERFLOWS)
def test_a_conversation_that_is_too_long_is_told_from_other_errors(status, body, limit):
    error = response(status, body)
    assert (error.kind, error.retryable, error.params.get("limit")) == ("context_length", False, limit)


@each_row(
    ("status", "body", "kind", "retryable"),
    [
        (400, said("max_tokens must be <= 8192"), "bad_request", False),
        (400, said("max_tokens is too large: 100000. This model supports at most 16384 tokens"), "bad_request", False),
        (400, said("Range of max_tokens should be [1, 8192]"), "bad_request", False),
        (400, said("max_tokens (200000) exceeds the model's maximum output tokens (8192)"), "bad_request", False),
        (400, said("max_tokens 超出范围"), "bad_request", False),
        (400, said("输入图片超过大小限制"), "bad_request", False),
        (400, said("image size exceeds the limit of 5 MB"), "bad_request", False),
        (400, said("Too many images in request: maximum is 20"), "bad_request", False),
        (400, said("每分钟 token 数超出限制"), "rate_limit", True),
        (400, said("concurrency limit exceeded"), "rate_limit", True),
        (409, said("The resource is locked"), "server", True),
        (400, said("Your account is in arrears"), "quota", False),
        (403, said("Your team has either used all available credits or reached its spending limit."), "quota", False),
        (403, said("Key limit exceeded (total limit)"), "quota", False),
        (429, said("You've reached your usage limit"), "quota", False),
        (429, said("Rate limit reached for requests"), "rate_limit", True),
        (400, said("invalid x-api-key"), "auth", False),
        (400, said("Missing Authentication header"), "auth", False),
        (400, said("令牌已过期或验证不正确"), "auth", False),
        (400, said("模型不存在，请检查模型代码。"), "not_found", False),
        (400, said("Unknown model: x"), "not_found", False),
        (400, said("The requested model 'gpt-4.1' is not supported."), "not_found", False),
        (400, said("The model `x` has been decommissioned and is no longer supported."), "not_found", False),
        (400, said("'temperature' is not supported with this model."), "bad_request", False),
        (405, said("Method Not Allowed"), "not_found", False),
        (400, said("模型不支持工具调用"), "tools_unsupported", False),
        (400, said("Tool calling is unsupported for this model"), "tools_unsupported", False),
        (400, said("输入内容包含敏感信息"), "content_filter", False),
        (400, said("Your request was rejected as a result of our safety system."), "content_filter", False),
        (400, said("Content violates usage guidelines."), "content_filter", False),
        (400, said("Invalid 'tools[0].function.description': string too long."), "bad_request", False),
        (400, said("ThrottlingException: Too many tokens, please wait before trying again."), "rate_limit", True),
        (429, said("Request too large on tokens per min (TPM): Limit 10000", type="tokens"), "rate_limit", True),
        (429, said("Please check your plan and billing details.", code="insufficient_quota"), "quota", False),
        (429, said("余额不足或无可用资源包,请充值。", code="1113"), "quota", False),
        (402, "", "quota", False),
        (403, said("Your account balance is insufficient"), "quota", False),
        (400, said("Your credit balance is too low to access the API."), "quota", False),
        (429, said("You exceeded your current quota", status="RESOURCE_EXHAUSTED"), "rate_limit", True),
        (403, said("Country, region, or territory not supported"), "auth", False),
        (400, [said("API key not valid. Please pass a valid API key.")], "auth", False),
        (404, said('model "x" not found, try pulling it first'), "not_found", False),
        (400, said("The model `foo` does not exist."), "not_found", False),
        (404, said("No endpoints found that support tool use."), "tools_unsupported", False),
        (400, said("`tool calling` is not supported with this model"), "tools_unsupported", False),
        (400, said("content management policy", code="content_filter"), "content_filter", False),
        (400, said("Input text data may contain inappropriate content."), "content_filter", False),
        (400, said("Failed to call a function.", code="tool_use_failed"), "bad_tool_call", True),
        (408, "", "timeout", True),
        (500, "", "server", True),
        (501, "Not implemented", "server", False),
        (529, said("Overloaded", type="overloaded_error"), "server", True),
        (302, "", "bad_request", False),
        (422, {"detail": [{"loc": ["body", "x"], "msg": "Extra inputs are not permitted"}]}, "bad_request", False),
    ],
)
def test_an_error_is_known_by_status_code_word_and_wording(status, body, kind, retryable):
    error = response(status, body)
    assert (error.kind, error.retryable) == (kind, retryable)


@each_row("status", [408, 409, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529])
def test_these_statuses_are_tried_again(status):
    assert response(status).retryable


@each_row("status", [400, 401, 402, 403, 404, 405, 413, 422, 501, 505, 525])
def test_other_statuses_are_not(status):
    assert not response(status).retryable


@each_row(
    ("data", "kind", "retryable"),
    [
        ({"error": {"code": 502, "message": "gone"}}, "server", True),
        ({"error": {"code": "401", "message": "bad key"}}, "auth", False),
        ({"error": "the model stopped"}, "server", True),
        ({"error": {"type": "overloaded_error", "message": "x"}}, "server", True),
        ({"code": "InvalidParameter", "message": "bad"}, "bad_request", False),
        ({"code": "Throttling.RateQuota", "message": "x"}, "rate_limit", True),
        ({"object": "error", "message": "x", "code": 50001}, "server", True),
    ],
)
def test_an_error_inside_a_reply_is_known_by_its_words(data, kind, retryable):
    assert failures.is_error_object(data)
    error = failures.from_event(data, "Server")
    assert (error.kind, error.retryable) == (kind, retryable)


@each_row(
    "data",
    [
        {"error": None, "choices": [{}]},
        {"error": "", "choices": []},
        {"error": {}, "id": "x"},
        {"choices": [{"message": {}}], "message": "ok", "code": 1},
        {"code": 200, "message": "success"},
        {"type": "ping"},
    ],
)
def test_what_only_looks_like_an_error_is_none(data):
    assert not failures.is_error_object(data)


class TestText:
    def test_a_page_becomes_its_title(self):
        page = "<html><head><title>502 Bad\n Gateway</title></head><body>" + "<p>x</p>" * 500
        assert "502 Bad Gateway." in str(response(502, page))

    def test_escapes_control_characters_and_keys_do_not_reach_a_screen(self):
        error = response(
            400, said("\x1b[31mred\x1b]0;title\x07 a\r\nb\x00 sk-proj-abcdef123456 topsecret"), key="topsecret"
        )
        assert error.params["said"] == "red a b *** ***"

    def test_a_key_is_masked_as_an_address_holds_it_too(self):
        assert tidy("no such page: /login?key=to%2Bp%3Dsecret", "to+p=secret") == "no such page: /login?key=***"

    @pytest.mark.parametrize(
        "leak",
        ["sk-abc12345", "gsk_abcdefgh", "AIzaSyAbcdefghijk", "Bearer abcdefgh", "0123456789abcdef0123456789abcdef"],
    )
    def test_what_looks_like_a_key_is_masked(self, leak):
        assert leak.split()[-1] not in tidy(f"the key {leak} is wrong")

    @pytest.mark.parametrize(
        "plain", ["model anthropic/claude-sonnet-4.5 is gone", "tokens_per_minute_limit_reached now"]
    )
    def test_ordinary_words_are_not_masked(self, plain):
        assert tidy(plain) == plain

    def test_a_long_text_is_cut(self):
        assert len(tidy("word " * 10_000)) <= limits.ERROR_TEXT_CHARS
        assert len(str(response(500, said("word " * 10_000)))) <= 500

    @each_row("body", ["", "null", "[]", "{}", '"x"', "[" * 100_000, '{"error": {"message": {"a": [1, {}]}}}'])
    def test_any_body_gives_an_error_with_a_way_out(self, body):
        assert "again" in str(response(500, body))


class TestWait:
    def test_the_back_off_doubles_up_to_the_cap(self):
        waits = [500, 1000, 2000, 4000, 8000, 16000, 30000, 30000]
        assert [round(retry.backoff(0.5, n) * 1000) for n in range(1, 9)] == waits
        assert retry.backoff(0.5, 0) == 0.5
        assert retry.backoff(0.5, 10**9) == limits.RETRY_CAP

    def test_chance_adds_at_most_a_tenth(self):
        waits = [retry.wait_before(1.0, 1, None) for _ in range(200)]
        assert 1.0 <= min(waits) <= max(waits) <= 1.1
        assert len(set(waits)) > 1

    @pytest.mark.parametrize(("asked", "wait"), [(5.0, 5.0), (0.0, 1.0), (0.5, 1.0)])
    def test_the_server_s_wish_counts_when_it_is_longer(self, asked, wait):
        assert retry.wait_before(1.0, 1, asked) == wait

    @each_row(
        ("headers", "seconds"),
        [
            ({"retry-after": "7"}, 7.0),
            ({"retry-after": " 1.5 "}, 1.5),
            ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
            ({"retry-after-ms": "x", "retry-after": "7"}, 7.0),
            ({"retry-after": "86400"}, 86400.0),
            ({"retry-after": "-5"}, None),
            ({"retry-after": "soon"}, None),
            ({"retry-after": "nan"}, None),
            ({"retry-after": "1e9"}, None),
            ({"retry-after": "9" * 400}, None),
            ({"retry-after": ""}, None),
            ({}, None),
        ],
    )
    def test_a_retry_after_is_read_or_ignored(self, headers, seconds):
        assert retry.retry_after(headers) == seconds

    @pytest.mark.parametrize(("ahead", "seconds"), [(30, 30.0), (-30, None)])
    def test_a_date_counts_from_now(self, ahead, seconds):
        now = float(int(time.time()))
        date = email.utils.formatdate(now + ahead, usegmt=True)
        assert retry.retry_after({"retry-after": date}, now=now) == seconds

    def test_gemini_hides_it_in_the_body(self):
        body = {"error": {"details": [{"@type": "x"}, {"retryDelay": "34.07s"}]}}
        assert retry.retry_after({}, body) == 34.07


@each_row(
    ("error", "kind", "retryable"),
    [
        (httpx.ConnectError("refused"), "network", True),
        (httpx.ConnectTimeout("x"), "timeout", True),
        (httpx.ReadTimeout("x"), "timeout", True),
        (httpx.RemoteProtocolError("peer closed"), "network", True),
        (httpx.ReadError(""), "network", True),
        (httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed"), "network", False),
        (httpx.ProxyError("403"), "network", True),
        (httpx.LocalProtocolError("Illegal header value"), "bad_request", False),
        (httpx.DecodingError("bad gzip"), "protocol", True),
        (OSError("x"), "network", True),
    ],
)
def test_what_breaks_on_the_way_is_told_apart(error, kind, retryable):
    made = failures.from_exception(error, Asked("Server", "https://host.example:8443/v1?key=x"))
    assert (made.kind, made.retryable) == (kind, retryable)
    assert "key=x" not in str(made)
