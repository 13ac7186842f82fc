"""The settings, and the model that they name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from agent_core import limits
from agent_core.config.load import UNUSABLE, ConfigWarning
from agent_core.desk import options
from agent_core.doctor.check import Case, Check, State
from agent_core.errors import ConfigError
from agent_core.llm import discover, providers
from agent_core.llm.providers import Endpoint
from agent_core.text.printable import printable


def config_files(case: Case) -> Iterator[Check]:
    config = case.config
    told = [w for w in config.warnings if not (w.code == "open_env" and w.file == str(case.places.env_file))]
    for warning in told:
        state: State = "fail" if warning.code in UNUSABLE else "warn"
        yield Check("config", "Config", state, _place(warning, case), "Correct that line.")
    if not told:
        used = sorted({case.short(Path(place)) for place in config.sources.values() if os.path.isabs(place)})
        yield Check("config", "Config", "ok", f"Read from {', '.join(used)}." if used else "Nothing but defaults.")
    if config.unused:
        names = ", ".join(config.unused)
        yield Check("unused", "Config of Hermes", "ok", f"Known and not used here: {names}.")


def _place(warning: ConfigWarning, case: Case) -> str:
    place = case.short(Path(warning.file)) + (f":{warning.line}" if warning.line else "")
    text = printable(warning.text)
    return text if warning.file in text else f"{place}: {text}"


def provider(case: Case) -> Iterator[Check]:
    endpoint = case.endpoint
    if isinstance(endpoint, ConfigError):
        if endpoint.code == "no_provider" and case.patient.online:
            local = discover.find_local_server()
            if local is not None:
                text = f"None is configured; {local.label} on this machine is used, with {local.model}."
                yield Check("provider", "Model", "ok", text)
                return
        title = "Key" if endpoint.code in ("no_key", "bad_key") else "Model"
        fix = "Connect one with /setup in the program." if endpoint.code == "no_provider" else ""
        yield Check("key" if title == "Key" else "provider", title, "fail", endpoint.text, fix)
        return
    text = f"{endpoint.model} of {endpoint.label}, {providers.shown_url(endpoint.base_url)}"
    if endpoint.mixture is not None:
        text = f"{endpoint.mixture.shown}: {text}"
    yield Check("provider", "Model", "ok", printable(text))
    yield _key(endpoint, case)
    yield from _advisers(endpoint, case)
    if not case.patient.online:
        yield Check("endpoint", "Model server", "skip", "Not asked (--offline).")
        return
    health = discover.check(endpoint, limits.DOCTOR_SERVER)
    if health.code == "ok":
        yield Check("endpoint", "Model server", "ok", health.text)
    else:
        yield Check("endpoint", "Model server", "warn" if health.ok else "fail", health.text, _SERVER_FIX)


_SERVER_FIX: Final = "Try it with /setup in the program; --offline leaves this out."


def _advisers(endpoint: Endpoint, case: Case) -> Iterator[Check]:
    """Whether those that advise the acting model of a mixture can be asked; their servers are not."""
    mixture = endpoint.mixture
    if mixture is None:
        return
    asked, problems = options.provider(case.config), []
    for slot in mixture.references:
        try:
            providers.adviser(slot, endpoint, asked, case.env, case.config.dotenv)
        except ConfigError as error:
            problems.append(f"{slot.label}: {error.text}")
    for problem in problems:
        yield Check("advisers", "Advice", "warn", printable(problem), "Until then the others advise without it.")
    if not problems:
        yield Check("advisers", "Advice", "ok", printable(f"From {mixture.advisers} ({mixture.cadence})."))


def _key(endpoint: Endpoint, case: Case) -> Check:
    """Where the key comes from. The key itself is not touched."""
    if endpoint.key is None:
        return Check("key", "Key", "ok", f"{endpoint.label} needs none here.")
    source = endpoint.key.source
    if case.env.get(source, "").strip():
        return Check("key", "Key", "ok", f"{source}, from the environment.")
    if source in case.config.dotenv:
        return Check("key", "Key", "ok", f"{source}, from a .env file.")
    fix = f"Move it into {case.short(case.places.env_file)}, which only you may read."
    return Check("key", "Key", "warn", f"It stands in the config ({printable(source)}).", fix)
