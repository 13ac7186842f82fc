"""Mixtures of agents, as the config has them: presets of one acting model and of others that advise it.

A preset is a virtual model of the provider `moa`: its name stands where a model's does. Names of keys are those of
Hermes. Pure: what is wrong with an entry is said with its place in the mapping, which the loader finds a line for.
Source: SUB-13, LLM-28.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from types import MappingProxyType
from typing import Any, Final

from agent_core import limits
from agent_core.names import EFFORTS
from agent_core.records import dataclass

MOA: Final = "moa"
"""The provider whose models are presets."""
LABEL: Final = "Mixture of Agents"
DEFAULT: Final = "default"
"""The preset that older files of Hermes describe without a name."""

Place = tuple[str | int, ...]
"""Where something stands in the mapping: keys, and indexes of lists."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One model of a preset."""

    provider: str
    model: str
    effort: str = ""
    """How much it thinks first; empty: an adviser's own default, the session's for the acting model."""
    base_url: str = ""
    api_key_env: str | Sequence[str] = ""

    @property
    def label(self) -> str:
        return "/".join(part for part in (self.provider, self.model) if part)

    @property
    def entry(self) -> dict[str, Any]:
        """As an entry of fallback_providers has it."""
        return {
            "provider": self.provider,
            "model": self.model,
            "base_url": self.base_url,
            "api_key_env": self.api_key_env,
        }


@dataclass(frozen=True, slots=True)
class Mixture:
    """A preset."""

    name: str
    aggregator: Slot | None = None
    """The acting model: it answers, calls tools, and is told what the others advise."""
    references: tuple[Slot, ...] = ()
    """Those that advise it; empty: it acts alone."""
    every: int = 0
    """They are asked for each message of the user; with 1 before each step, with n before every n-th (fanout)."""
    timeout: float = limits.MOA_TIMEOUT
    """Seconds that they have to answer."""
    reference_temperature: float | None = None
    aggregator_temperature: float | None = None
    problem: str = ""
    """Why it cannot be used; empty: it can."""

    @property
    def shown(self) -> str:
        """What a person reads, and may type."""
        return f"{MOA}/{self.name}"

    @property
    def advisers(self) -> str:
        """Those that advise, in words."""
        return ", ".join(slot.label for slot in self.references) or "nobody"

    @property
    def cadence(self) -> str:
        """When they are asked, as `fanout` says it."""
        return ("user_turn", "per_iteration")[self.every] if self.every < 2 else f"every_n:{self.every}"


@dataclass(frozen=True, slots=True)
class Mixtures:
    """The presets of a config."""

    presets: Mapping[str, Mixture] = field(default_factory=dict)
    default: str = ""
    """The one that counts where none is named; empty: there is none."""

    def __bool__(self) -> bool:
        return bool(self.presets)


NONE: Final = Mixtures()


@dataclass(frozen=True, slots=True)
class Issue:
    """What does not count, or not as it was meant."""

    place: Place
    code: str
    """ "unknown_key"; "bad_value"; "moa_recursive", "moa_slot": the preset, or this model of it, cannot be used;
    "unused": Hermes knows it, and it is not used here."""
    text: str


_SECTION: Final = ("default_preset", "presets")
_SECTION_UNUSED: Final = ("active_preset", "privacy_filter", "save_traces", "trace_dir")
_PRESET: Final = (
    "enabled", "reference_models", "aggregator", "reference_temperature", "aggregator_temperature",
    "reference_timeout", "fanout",
)  # fmt: skip
_PRESET_UNUSED: Final = (
    "degraded_reference_policy", "reference_tool_result_budget", "max_tokens", "reference_max_tokens",
)  # fmt: skip
_SLOT: Final = ("provider", "model", "reasoning_effort", "enabled", "base_url", "api_key_env", "key_env")
_SLOT_UNUSED: Final = ("max_tokens",)
_EFFORTS: Final[Mapping[str, str]] = MappingProxyType({**{name: name for name in EFFORTS}, "ultra": "max"})
_FANOUTS: Final = "user_turn, per_iteration or every_n:N"


def parse(raw: Mapping[str, Any], told: Mapping[str, str] = MappingProxyType({})) -> Mixtures:
    """The presets of the config's `moa`. `told`: what the loader has said of places in it, by dotted key, with file and
    line; it stands for the words of this room where a preset cannot be used."""
    presets = {}
    for name, entry, place in _entries(raw):
        preset, issues = _preset(name, entry, place)
        if preset.problem:
            lines = [told[key] for issue in issues if (key := dotted(issue.place)) in told]
            preset = replace(preset, problem=lines[0] if lines else preset.problem)
        presets[name] = preset
    named = raw.get("default_preset")
    default = named if isinstance(named, str) and named in presets else next(iter(presets), "")
    return Mixtures(presets, default)


def issues(raw: Any) -> Iterator[Issue]:
    """What there is to say about what stands inside the config's `moa`, in the order of its lines, more or less."""
    if not isinstance(raw, Mapping):
        return
    flat = _is_flat(raw)
    yield from _unknown(
        raw, (MOA,), _SECTION + (_PRESET if flat else ()), _SECTION_UNUSED + (_PRESET_UNUSED if flat else ())
    )
    if not isinstance(raw.get("presets", {}), Mapping):
        yield Issue((MOA, "presets"), "bad_value", "moa.presets must hold presets by their names. Ignored.")
    for name, entry, place in _entries(raw):
        yield from _preset(name, entry, place)[1]
    named, presets = raw.get("default_preset"), [name for name, _, _ in _entries(raw)]
    if named and presets and named not in presets:
        text = f"moa.default_preset must be one of {', '.join(presets)}. Using {presets[0]} instead."
        yield Issue((MOA, "default_preset"), "bad_value", text)


def dotted(place: Place) -> str:
    """`place` as a key is written: an index counts from 1."""
    return ".".join(str(part + 1) if isinstance(part, int) else part for part in place)


def _is_flat(raw: Mapping[str, Any]) -> bool:
    """The older form: one preset, without a name."""
    return not raw.get("presets") and any(raw.get(name) for name in ("aggregator", "reference_models"))


def _entries(raw: Mapping[str, Any]) -> Iterator[tuple[str, Any, Place]]:
    presets = raw.get("presets")
    if isinstance(presets, Mapping):
        for name, entry in list(presets.items())[: limits.MOA_PRESETS]:
            if str(name).strip():
                yield str(name).strip(), entry, (MOA, "presets", str(name))
    if _is_flat(raw):
        yield DEFAULT, raw, (MOA,)


def _preset(name: str, entry: Any, place: Place) -> tuple[Mixture, list[Issue]]:
    if not isinstance(entry, Mapping):
        text = f"{dotted(place)} must hold aggregator and reference_models. It cannot be used."
        return Mixture(name, problem=text), [Issue(place, "moa_slot", text)]
    found: list[Issue] = []
    if place != (MOA,):
        found += _unknown(entry, place, _PRESET, _PRESET_UNUSED)
    acting, wrong = _slot(entry.get("aggregator"), (*place, "aggregator"))
    found += wrong
    references, wrong = _references(entry.get("reference_models"), (*place, "reference_models"))
    found += wrong
    # A mixture in a mixture is a mistake that would only grow: the preset as a whole is refused, wherever it stands.
    bad = [issue.text for issue in found if issue.code == "moa_recursive"]
    if acting is None and not bad:
        bad = [issue.text for issue in found if issue.place[:-1] == place and issue.place[-1] == "aggregator"]
    numbers = {}
    for key, most in (("reference_temperature", 2.0), ("aggregator_temperature", 2.0),
                      ("reference_timeout", limits.MOA_TIMEOUT_MOST)):  # fmt: skip
        numbers[key], wrong = _number(entry.get(key), most, (*place, key))
        found += wrong
    every, wrong = _cadence(entry.get("fanout"), (*place, "fanout"))
    found += wrong
    preset = Mixture(
        name,
        acting,
        references if _is_on(entry) else (),
        every,
        numbers["reference_timeout"] or limits.MOA_TIMEOUT,
        numbers["reference_temperature"],
        numbers["aggregator_temperature"],
        bad[0] if bad else "",
    )
    return preset, found


def _references(raw: Any, place: Place) -> tuple[tuple[Slot, ...], list[Issue]]:
    entries = [raw] if isinstance(raw, Mapping) else raw if isinstance(raw, list) else []
    slots: list[Slot] = []
    found: list[Issue] = []
    for index, entry in enumerate(entries):
        slot, wrong = _slot(entry, (*place, index))
        found += wrong
        if slot is not None and _is_on(entry):
            if len(slots) < limits.MOA_REFERENCES:
                slots.append(slot)
            else:
                text = f"{dotted(place)} may name {limits.MOA_REFERENCES} models; {slot.label} is left out."
                found.append(Issue((*place, index), "bad_value", text))
    if not entries:
        found.append(Issue(place, "bad_value", f"{dotted(place)} names no model, so nobody advises the aggregator."))
    return tuple(slots), found


def _slot(raw: Any, place: Place) -> tuple[Slot | None, list[Issue]]:
    name = dotted(place)
    if not isinstance(raw, Mapping):
        return None, [Issue(place, "moa_slot", f"{name} must have provider and model. It is left out.")]
    found = [*_unknown(raw, place, _SLOT, _SLOT_UNUSED)]
    provider, model, base_url = (_text(raw.get(key)) for key in ("provider", "model", "base_url"))
    if provider.lower() == MOA:
        text = (
            f"{name} names the provider moa: a mixture cannot hold another one. Name the model's own provider there; "
            "until then the preset cannot be used."
        )
        return None, [*found, Issue(place, "moa_recursive", text)]
    if not model or not (provider or base_url):
        return None, [*found, Issue(place, "moa_slot", f"{name} must have provider and model. It is left out.")]
    effort = raw.get("reasoning_effort")
    level = _EFFORTS.get(_text(effort).lower(), "none" if effort is False else "")
    if effort and not level:
        text = f"{name}.reasoning_effort must be one of {', '.join(EFFORTS)}. It is not used."
        found.append(Issue((*place, "reasoning_effort"), "bad_value", text))
    return Slot(provider, model, level, base_url, raw.get("api_key_env") or raw.get("key_env") or ""), found


def _cadence(raw: Any, place: Place) -> tuple[int, list[Issue]]:
    """`fanout` as Mixture.every: a text, or Hermes' mapping of `mode` and `n`."""
    value = f"{raw.get('mode')}:{raw.get('n')}" if isinstance(raw, Mapping) else _text(raw)
    mode, _, steps = value.strip().lower().partition(":")
    if mode in ("", "user_turn"):
        return 0, []
    if mode == "per_iteration":
        return 1, []
    if mode == "every_n" and steps.strip().isdecimal() and 1 <= int(steps) <= limits.MOA_EVERY_MOST:
        return int(steps), []
    return 0, [Issue(place, "bad_value", f"{dotted(place)} must be {_FANOUTS}. Using user_turn instead.")]


def _number(raw: Any, most: float, place: Place) -> tuple[float | None, list[Issue]]:
    if raw is None or raw == "":
        return None, []
    try:
        number = math.nan if isinstance(raw, bool) else float(raw)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if 0 <= number <= most:
        return number, []
    return None, [Issue(place, "bad_value", f"{dotted(place)} must be a number from 0 to {most:g}. It is not used.")]


def _unknown(raw: Mapping[str, Any], place: Place, known: Sequence[str], unused: Sequence[str]) -> Iterator[Issue]:
    for key in raw:
        if key in unused:
            yield Issue((*place, key), "unused", "")
        elif key not in known:
            near = difflib.get_close_matches(str(key)[: limits.SUBJECT_CHARS], known, 1)
            hint = f"Did you mean {near[0]}?" if near else "Check its spelling and its indentation."
            yield Issue((*place, key), "unknown_key", f"there is no setting {dotted((*place, str(key)))}. {hint}")


def _is_on(entry: Mapping[str, Any]) -> bool:
    return _text(entry.get("enabled")).lower() not in ("false", "0", "no", "off")


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()
