"""`nanoherm-tui model`: which servers and models there are, which one is asked, choosing another. No key is shown."""

from __future__ import annotations

import argparse
import difflib
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agent_core import limits, names
from agent_core.config.paths import find_places
from agent_core.config.settings import settings
from agent_core.config.write import set_key
from agent_core.desk import options
from agent_core.desk.models import Models
from agent_core.errors import ConfigError
from agent_core.llm import mixtures, providers
from nanoherm_tui.subcommands.common import add_command, add_json, ended, print_table, say, short_folder, tell
from nanoherm_tui.subcommands.config import in_force
from nanoherm_tui.text import count, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_core.config.load import Config
    from agent_core.config.paths import Places
    from agent_core.llm.discover import Health
    from agent_core.llm.prices import Price
    from agent_core.llm.providers import Endpoint

_NEAR: Final = 3  # names that are offered in the place of one that the server does not have


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        f"{names.APP} model",
        description="Which model servers are known and which have a key, which model is asked, and choosing one for "
        "sessions to come. /model in the program chooses one for a session; docs/models.md has the rest.",
        epilog="exit codes: 0 done; 1 no model can be asked as things are; 2 there is no such provider or model",
    )
    what = p.add_subparsers(dest="what", required=True, metavar="WHAT")
    listing = add_command(what, "list", "servers and their keys, and the models of the one that is configured")
    listing.add_argument("--offline", action="store_true", help="do not ask the server for its models")
    add_json(listing)
    add_json(add_command(what, "show", "the model that is asked: where, with which key's name, its window, its price"))
    change = add_command(what, "set", "choose one in your config.yaml: a model's name, or PROVIDER/MODEL")
    change.add_argument("model", metavar="NAME")
    change.add_argument("--offline", action="store_true", help="do not ask the server whether it has the model")
    change.add_argument("--anyway", action="store_true", help="take it although the server does not list it")
    return p


def main(arguments: Sequence[str]) -> int:
    """Do what the arguments say. Returns the exit code."""
    args = parser().parse_args(arguments)
    places = find_places(Path.cwd(), os.environ)
    runs = {"list": _list, "show": _show, "set": _set}
    return ended(lambda: runs[args.what](args, places))


def _models(config: Config) -> Models:
    return Models(lambda: options.models(config), os.environ, lambda: config.dotenv, lambda: None)


def _asked(endpoint: Endpoint) -> Health:
    from agent_core.llm import discover

    return discover.check(endpoint, limits.DOCTOR_SERVER)


# -- what there is ------------------------------------------------------------------------------------------------


def _servers(config: Config) -> list[dict[str, Any]]:
    """Every provider by name: the config's own, then those that are known."""
    opts = options.provider(config)
    rows = []
    for name in dict.fromkeys((*opts.providers, *providers.PRESETS)):
        preset = providers.PRESETS.get(name)
        entry = {"name": name, "label": preset.label if preset else name, "key": "", "state": "", "model": "",
                 "address": providers.shown_url(preset.base_url) if preset else ""}  # fmt: skip
        try:
            endpoint = providers.beside(name, opts, os.environ, config.dotenv)
        except ConfigError as error:
            entry["key"] = str(error.params.get("env", ""))
            entry["state"] = "no key" if error.code == "no_key" else "not set up"
            entry["model"] = preset.default_model if preset else ""
        else:
            entry["label"], entry["model"] = endpoint.label, endpoint.model
            entry["address"] = providers.shown_url(endpoint.base_url)
            entry["key"] = endpoint.key.source if endpoint.key is not None else ""
            entry["state"] = "key" if endpoint.key is not None else "needs none"
        rows.append(entry)
    return rows


def _mixtures(config: Config) -> list[dict[str, str]]:
    """The presets of `moa`; one that cannot be used says why."""
    return [
        {
            "name": one.shown,
            "acts": one.aggregator.label if one.aggregator is not None else "",
            "advise": one.advisers,
            "fanout": one.cadence,
            "problem": one.problem,
        }
        for one in options.provider(config).mixtures.presets.values()
    ]


def _list(args: argparse.Namespace, places: Places) -> int:
    config = in_force(places)
    rows = _servers(config)
    problem, listed, health = "", [], None
    try:
        endpoint: Endpoint | None = providers.server_of(options.provider(config), os.environ, config.dotenv)
    except ConfigError as error:
        endpoint, problem = None, error.text
    if endpoint is not None and not args.offline:
        health = _asked(endpoint)
        problem = "" if health.models else health.text
        models = _models(config)
        listed = [_figures(models, endpoint.provider, name, health) for name in health.models]
    chosen = endpoint.provider if endpoint is not None else ""
    mixed = _mixtures(config)
    if args.json:
        found = {"providers": rows, "configured": chosen, "models": listed, "problem": problem, "mixtures": mixed}
        return tell(found)
    table = [("", "NAME", "KEY", "MODEL", "ADDRESS")]
    for one in rows:
        key = f"{one['state']}: {one['key']}" if one["key"] else one["state"]
        mark = "*" if one["name"] == chosen else ""
        table.append((mark, visible(one["name"]), visible(key), visible(one["model"]), visible(one["address"])))
    print_table(table)
    if mixed:
        in_force_now = endpoint.mixture.shown if endpoint is not None and endpoint.mixture is not None else ""
        print("\nMixtures of agents:")
        lines = [
            ("*" if one["name"] == in_force_now else "", *(visible(one[part]) for part in ("name", "acts", "advise")))
            for one in mixed
        ]
        print_table([("", "NAME", "ACTS", "ADVISE"), *lines])
    if listed and endpoint is not None:
        print(f"\nModels of {visible(endpoint.label)}; prices are dollars for a million tokens:")
        shown = listed[: limits.MODELS_LISTED]
        head = ("NAME", "IN", "OUT", "WINDOW")
        print_table([head, *((visible(m["name"]), *_cells(m)) for m in shown)], right=frozenset({1, 2, 3}))
        if len(listed) > len(shown):
            say(f"{len(listed) - len(shown)} more are listed with --json.")
    if problem:
        say(problem)
    return names.EXIT_OK


def _figures(models: Models, provider: str, name: str, health: Health | None = None) -> dict[str, Any]:
    price: Price | None = models.price(provider, name)
    window = (health.windows.get(name) if health is not None else None) or models.window_of(provider, name)
    return {
        "name": name,
        "input": price.rates.input if price is not None else None,
        "output": price.rates.output if price is not None else None,
        "prices_of": price.as_of if price is not None else "",
        "window": window,
    }


def _cells(figures: dict[str, Any]) -> tuple[str, str, str]:
    def dollars(rate: float | None) -> str:
        return "?" if rate is None else f"{rate:g}"

    return dollars(figures["input"]), dollars(figures["output"]), count(figures["window"]) if figures["window"] else "?"


# -- what is asked ------------------------------------------------------------------------------------------------


def _show(args: argparse.Namespace, places: Places) -> int:
    config = in_force(places)
    models = _models(config)
    plan = models.plan(options.models(config))  # raises ConfigError, which says the way out
    first, *others = plan.endpoints
    figures = _figures(models, first.provider, first.model)
    key = first.key.source if first.key is not None else ""
    placed = [one for one in settings(config) if one.key.name.startswith("model.") and not one.is_default]
    mixed = next((m for m in _mixtures(config) if first.mixture is not None and m["name"] == first.mixture.shown), None)
    if args.json:
        return tell(figures | {"provider": first.provider, "address": providers.shown_url(first.base_url), "key": key,
                    "stand_ins": [{"provider": e.provider, "name": e.model} for e in others],
                    "mixture": mixed})  # fmt: skip
    coming, going, window = _cells(figures)
    priced = f"{coming} in, {going} out for a million tokens, dollars ({figures['prices_of']})"
    rows = [
        *([("mixture", visible(mixed["name"]))] if mixed is not None else []),
        ("model", visible(first.model)),
        ("provider", f"{visible(first.label)}, {visible(providers.shown_url(first.base_url))}"),
        ("key", f"{visible(key)} is set" if key else "none is needed"),
        ("window", f"{window} tokens" if figures["window"] else "not known"),
        ("price", priced if figures["input"] is not None else "not known; providers.NAME.prices can give it"),
    ]
    if mixed is not None:
        rows.append(("advised by", f"{visible(mixed['advise'])} (fanout {mixed['fanout']})"))
    rows += [("then", f"{visible(e.model)} of {visible(e.label)}") for e in others]
    for one in placed:
        source = f"{short_folder(one.source, str(places.home))}:{one.line}" if one.line else one.source
        rows.append(("set in", f"{source}: {one.key.name}"))
    print_table(rows)
    for problem in plan.problems:
        say(problem.text)
    return names.EXIT_OK


# -- choosing -----------------------------------------------------------------------------------------------------


def _set(args: argparse.Namespace, places: Places) -> int:
    config = in_force(places)
    opts = replace(options.provider(config), model=args.model)
    try:
        endpoint: Endpoint | None = providers.resolve(opts, os.environ, config.dotenv)
    except ConfigError as error:
        if error.code != "no_key":
            return say(error.text, names.EXIT_FAILED if error.code == "no_provider" else names.EXIT_USAGE)
        endpoint = None
        say(error.text)  # a key may come later
    if endpoint is not None and not args.offline:
        health = _asked(endpoint)
        if health.models and endpoint.model not in health.models and not args.anyway:
            near = difflib.get_close_matches(endpoint.model, health.models, n=_NEAR, cutoff=0.4)
            hint = f" It has {', '.join(near)}." if near else ""
            words = f"{endpoint.label} does not list {endpoint.model}.{hint} --anyway takes it all the same."
            return say(words, names.EXIT_USAGE)
        if not health.models:
            say(f"whether there is such a model is not known: {health.text}")
    set_key(places.config_file, "model.default", args.model)
    print(f"{short_folder(str(places.config_file), str(places.home))}: model.default = {visible(args.model)}")
    now = in_force(places)
    if now.sources["model.default"] != str(places.config_file):
        say(f"here another one counts: {now.get('model.default')}, as {now.sources['model.default']} says.")
    elif endpoint is not None:
        whose = mixtures.LABEL if endpoint.mixture is not None else endpoint.label
        print(f"Sessions to come ask {visible(endpoint.shown)} of {visible(whose)}.")
    return names.EXIT_OK
