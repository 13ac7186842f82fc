"""Is there a model server? A quick look at this machine's usual ports, and a check of a chosen one."""

from __future__ import annotations

import http.client
import queue
import threading
import time
from collections.abc import Mapping
from dataclasses import field
from typing import Any
from urllib.parse import urlsplit

from agent_core import limits
from agent_core.errors import ProviderError
from agent_core.llm import failures, retry
from agent_core.llm.arguments import parse_json
from agent_core.llm.providers import PRESETS, Endpoint, is_loopback, shown_url, url_of
from agent_core.messages import clean_surrogates
from agent_core.records import dataclass

LOCAL = ("ollama", "lmstudio", "llamacpp", "vllm")
"""Presets to look for, the first found wins."""


@dataclass(frozen=True, slots=True)
class Health:
    """Whether an endpoint answers and takes the key. `code` "ok", "model_not_listed", or an error's code."""

    ok: bool
    code: str
    text: str
    models: tuple[str, ...] = ()
    windows: Mapping[str, int] = field(default_factory=dict)
    """Tokens that models take in all, where the server tells."""
    sees: Mapping[str, bool] = field(default_factory=dict)
    """Whether models take images, where the server tells."""
    params: Mapping[str, Any] = field(default_factory=dict)
    """What `text` names: an error's parameters; else "label" and "model"; "models" where the one is not listed."""


def find_local_server(timeout: float = limits.PROBE_TIMEOUT) -> Endpoint | None:
    """The first local server that lists at least one model, with that model; None if there is none within `timeout`.

    All ports are asked at once, on the loopback interface only, without any key. Never raises.
    """
    answers: queue.SimpleQueue[tuple[str, tuple[str, ...]]] = queue.SimpleQueue()
    for name in LOCAL:
        threading.Thread(target=_probe, args=(name, timeout, answers), name="model-probe", daemon=True).start()
    deadline = time.monotonic() + timeout
    found: dict[str, tuple[str, ...]] = {}
    while len(found) < len(LOCAL) and (left := deadline - time.monotonic()) > 0:
        try:
            name, models = answers.get(timeout=left)
        except queue.Empty:
            break
        found[name] = models
    name = next((n for n in LOCAL if found.get(n)), "")
    if not name:
        return None
    preset = PRESETS[name]
    return Endpoint(name, preset.label, preset.base_url, found[name][0], None, preset)


def check(endpoint: Endpoint, timeout: float = limits.HEALTH_TIMEOUT) -> Health:
    """Ask `endpoint` for its models, and about the key if need be. Blocks for at most about `timeout` seconds."""
    deadline = time.monotonic() + timeout
    try:
        if endpoint.key is not None and endpoint.preset.key_path:
            _get(endpoint, endpoint.preset.key_path, deadline)
        body = _get(endpoint, endpoint.preset.models_path, deadline)
        models, windows, sees = model_names(body), model_windows(body), model_sees(body)
    except ProviderError as error:
        return Health(False, error.code, error.text, params=error.params)
    if not models:
        where = shown_url(endpoint.base_url)
        text = f"{endpoint.label} at {where} lists no models. Check the address; it often ends in /v1."
        return Health(False, "protocol", text)
    if endpoint.model and endpoint.model not in models and f"models/{endpoint.model}" not in models:
        text = f"{endpoint.label} answers but does not list {endpoint.model}. It has {', '.join(models[:5])}."
        named = {"label": endpoint.label, "model": endpoint.model, "models": models[:5]}
        return Health(True, "model_not_listed", text, models, windows, sees, named)
    model = endpoint.model or models[0]
    text = f"{endpoint.label} answers and has {model}."
    return Health(True, "ok", text, models, windows, sees, {"label": endpoint.label, "model": model})


def _get(endpoint: Endpoint, path: str, deadline: float) -> bytes:
    """The body at `path`, as much as a list of models may have; asked again where that may help.

    Raises ProviderError.
    """
    attempt = 1
    while True:
        try:
            return _get_once(endpoint, path, deadline)
        except ProviderError as error:
            wait = retry.wait_before(limits.RETRY_BASE, attempt, error.retry_after)
            too_late = attempt == limits.RETRY_ATTEMPTS or time.monotonic() + wait > deadline
            if too_late or not error.retryable or error.params.get("unreached"):
                raise
        time.sleep(wait)
        attempt += 1


def _get_once(endpoint: Endpoint, path: str, deadline: float) -> bytes:
    import httpx

    from agent_core.llm.client import asked, request_headers
    from agent_core.llm.exchange import tls

    url = url_of(endpoint.base_url, path)
    body = bytearray()
    try:
        with (
            httpx.Client(
                timeout=max(0.1, deadline - time.monotonic()),
                verify=tls(url.partition(":")[0]),
                trust_env=not is_loopback(url),
            ) as client,
            client.stream("GET", url, headers=request_headers(endpoint)) as response,
        ):
            for piece in response.iter_bytes():
                body += piece
                if len(body) > limits.MODEL_LIST or time.monotonic() > deadline:
                    break
            status, headers = response.status_code, {k.lower(): v for k, v in response.headers.items()}
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError, ImportError) as error:
        raise failures.from_exception(error, asked(endpoint, url)) from error
    if not 200 <= status < 300:
        raise failures.from_response(status, headers, bytes(body[: limits.ERROR_BODY]), asked(endpoint, url))
    return bytes(body[: limits.MODEL_LIST])


_WINDOWS = ("context_length", "max_model_len", "context_window", "max_context_length", "max_input_tokens")
"""What OpenRouter and Together, vLLM, Groq, Mistral and LiteLLM call it; llama.cpp has n_ctx in `meta`."""


def model_windows(body: bytes) -> dict[str, int]:
    """How many tokens the models in such an answer take in all, of those where it says so."""
    out: dict[str, int] = {}
    for name, item in _models(body):
        meta = item.get("meta")
        told = [item.get(key) for key in _WINDOWS]
        told += [meta.get(key) for key in ("n_ctx", "n_ctx_train")] if isinstance(meta, dict) else []
        window = next(
            (n for n in told if isinstance(n, int) and not isinstance(n, bool) and 0 < n <= limits.TOKENS), None
        )
        if window is not None:
            out[name] = window
    return out


def model_sees(body: bytes) -> dict[str, bool]:
    """Whether the models in such an answer take images, of those where it says so.

    OpenRouter names the kinds of input (`architecture.input_modalities`), Mistral and llama.cpp have a list of
    capabilities or a mapping of them, LM Studio a type.
    """
    out: dict[str, bool] = {}
    for name, item in _models(body):
        architecture, able = item.get("architecture"), item.get("capabilities")
        kinds = architecture.get("input_modalities") if isinstance(architecture, dict) else None
        if isinstance(kinds, list) and kinds:
            out[name] = "image" in kinds
        elif isinstance(able, dict) and isinstance(able.get("vision"), bool):
            out[name] = able["vision"]
        elif isinstance(able, list) and able:
            out[name] = bool({"vision", "multimodal", "image"} & {str(each) for each in able})
        elif item.get("type") in ("vlm", "llm"):
            out[name] = item["type"] == "vlm"
    return out


def _models(body: bytes) -> list[tuple[str, dict[str, Any]]]:
    """(name, what else is said of it) of each model in an answer."""
    try:
        data: Any = parse_json(body.decode("utf-8", "replace").removeprefix("\ufeff"))
    except ValueError:
        return []
    items = (data.get("data") or data.get("models")) if isinstance(data, dict) else data
    out: list[tuple[str, dict[str, Any]]] = []
    for item in items if isinstance(items, list) else []:
        name = (item.get("id") or item.get("name") or item.get("model")) if isinstance(item, dict) else item
        if isinstance(name, str) and name.strip() and name.isprintable():
            out.append((clean_surrogates(name.strip())[:200], item if isinstance(item, dict) else {}))
    return out


def model_names(body: bytes) -> tuple[str, ...]:
    """The models in the answer of /v1/models, or of Ollama's /api/tags; chat models before embedding models."""
    names = [name for name, _ in _models(body)]
    return tuple(sorted(dict.fromkeys(names), key=lambda n: "embed" in n.lower()))


def _probe(name: str, timeout: float, answers: queue.SimpleQueue[tuple[str, tuple[str, ...]]]) -> None:
    parts = urlsplit(PRESETS[name].base_url)
    models: tuple[str, ...] = ()
    try:
        # The standard library's own: no proxy, no import of an HTTP library before the first frame.
        connection = http.client.HTTPConnection(parts.hostname or "127.0.0.1", parts.port, timeout=timeout)
        try:
            connection.request("GET", f"{parts.path}/models", headers={"accept": "application/json"})
            response = connection.getresponse()
            if response.status == 200:
                models = model_names(response.read(limits.MODEL_LIST))
        finally:
            connection.close()
    except (OSError, http.client.HTTPException, ValueError):
        pass
    answers.put((name, models))
