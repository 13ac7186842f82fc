"""Is there a model server? A quick look at this machine's usual ports, and a check of a chosen one."""

from __future__ import annotations

import http.client
import queue
import threading
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from agent_core import limits
from agent_core.llm import retry
from agent_core.llm.arguments import parse_json
from agent_core.llm.providers import PRESETS, Endpoint, is_loopback, url_of
from agent_core.messages import clean_surrogates

LOCAL = ("ollama", "lmstudio", "llamacpp", "vllm")
"""Presets to look for, the first found wins."""


@dataclass(frozen=True, slots=True)
class Health:
    """Whether an endpoint answers and takes the key. `code` "ok", "model_not_listed", or an error's code."""

    ok: bool
    code: str
    text: str
    models: tuple[str, ...] = ()


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
    """Ask `endpoint` for its models. Blocks for at most about `timeout` seconds; never raises."""
    import httpx

    from agent_core.llm.client import request_headers
    from agent_core.llm.exchange import tls

    key = endpoint.key.reveal() if endpoint.key else ""
    url = url_of(endpoint.base_url, "models")
    try:
        with (
            httpx.Client(
                timeout=timeout, verify=tls(url.partition(":")[0]), trust_env=not is_loopback(endpoint.base_url)
            ) as client,
            client.stream("GET", url, headers=request_headers(endpoint)) as response,
        ):
            body = _bounded(response, time.monotonic() + timeout)
            status, headers = response.status_code, {k.lower(): v for k, v in response.headers.items()}
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
        failure = retry.from_exception(error, endpoint.label, endpoint.base_url)
        return Health(False, failure.code, failure.text)
    if not 200 <= status < 300:
        failure = retry.from_response(status, headers, body, endpoint.label, key)
        return Health(False, failure.code, failure.text)
    models = model_names(body)
    if not models:
        text = f"{endpoint.label} at {endpoint.base_url} lists no models. Check the address; it often ends in /v1."
        return Health(False, "protocol", text)
    if endpoint.model and endpoint.model not in models and f"models/{endpoint.model}" not in models:
        near = ", ".join(models[:5])
        return Health(
            True,
            "model_not_listed",
            f"{endpoint.label} answers but does not list {endpoint.model}. It has {near}.",
            models,
        )
    return Health(True, "ok", f"{endpoint.label} answers and has {endpoint.model or models[0]}.", models)


def model_names(body: bytes) -> tuple[str, ...]:
    """The models in the answer of /v1/models, or of Ollama's /api/tags; chat models before embedding models."""
    try:
        data: Any = parse_json(body.decode("utf-8", "replace").removeprefix("\ufeff"))
    except ValueError:
        return ()
    items = (data.get("data") or data.get("models")) if isinstance(data, dict) else data
    names: list[str] = []
    for item in items if isinstance(items, list) else []:
        name = (item.get("id") or item.get("name") or item.get("model")) if isinstance(item, dict) else item
        if isinstance(name, str) and name.strip() and name.isprintable():
            names.append(clean_surrogates(name.strip())[:200])
    return tuple(sorted(dict.fromkeys(names), key=lambda n: "embed" in n.lower()))


def _bounded(response: Any, deadline: float) -> bytes:
    """The body of a response, as much as a list of models may have, until `deadline`."""
    body = bytearray()
    for piece in response.iter_bytes():
        body += piece
        if len(body) > limits.MODEL_LIST or time.monotonic() > deadline:
            break
    return bytes(body[: limits.MODEL_LIST])


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
