"""The settings in force: layers of files laid over each other, with a warning for every line that does not count.

Lowest first: defaults · ~/.hermes/config.yaml · ~/.nanohermes/config.yaml · the project's .hermes/config.yaml and
.nanohermes/config.yaml (harmless keys only, until it is trusted) · the environment · the command line. Mappings merge,
hooks add up, everything else replaces. Source: CFG-02, CFG-04, CFG-22, A7.
"""

from __future__ import annotations

import copy
import difflib
import stat
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Final, Literal

from agent_core import limits
from agent_core.config import entries, reading, schema, tighten
from agent_core.config.dotenv import parse_env
from agent_core.config.paths import Places
from agent_core.config.schema import Key
from agent_core.errors import ConfigError
from agent_core.records import dataclass
from agent_core.text.printable import printable
from agent_core.toolsets import ALL_NAMES, SHOWN, tools_named

ENVIRONMENT: Final = {"NANOHERMES_MODEL": "model.default", "NANOHERMES_BASE_URL": "model.base_url"}
"""Variables that set a key. Secrets are no settings: they stay in the environment."""

ENDPOINT: Final = ("model.provider", "model.base_url", "model.api_key_env")
CHILDRENS_ENDPOINT: Final = ("delegation.provider", "delegation.base_url", "delegation.api_key_env")
"""Each of these rows says which server is asked: a file that sets one does not inherit the others from Hermes' file, or
a key for one server would meet the address of another."""

Owner = Literal["user", "hermes", "project"]


UNUSABLE: Final = frozenset({"bad_yaml", "bad_encoding", "too_large", "unreadable"})
"""Codes of warnings that say a whole file does not count."""


@dataclass(frozen=True, slots=True)
class ConfigWarning:
    """A line that does not count, or not as it was meant. `text` names the place and the way out, never the value."""

    file: str
    line: int
    """From 1; 0 when it concerns the file as a whole."""
    key: str
    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Held:
    """A setting of a project that does not count because the project is not trusted."""

    file: str
    line: int
    key: str
    value: Any


@dataclass(frozen=True, slots=True)
class ProjectFiles:
    """The project's config files as they were read, once: what was shown to the person is what is loaded."""

    data: Mapping[Path, bytes] = field(default_factory=dict)
    trusted: bool = False
    """The person has accepted exactly these."""


@dataclass(frozen=True, slots=True)
class Config:
    values: Mapping[str, Any]
    """Every key of the schema by its dotted name."""
    sources: Mapping[str, str]
    """Where each value comes from: "default", a file, "environment", "command line"."""
    warnings: tuple[ConfigWarning, ...] = ()
    dotenv: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What the .env files hold. Secrets: never to be logged or shown."""
    unused: tuple[str, ...] = ()
    """Keys in the files that Hermes knows and this program does not use."""
    held: tuple[Held, ...] = ()
    """What the project's files would set if they were trusted."""

    def get(self, key: str) -> Any:
        """The value of `key`. Raises KeyError for a key the schema lacks."""
        return self.values[key]

    def mapping(self, prefix: str) -> Mapping[str, Any]:
        """The mapping at `prefix`, or the keys below it. Raises KeyError when the schema has neither."""
        if isinstance(value := self.values.get(prefix), dict):
            return value
        below = {k.removeprefix(f"{prefix}."): v for k, v in self.values.items() if k.startswith(f"{prefix}.")}
        if not below:
            raise KeyError(prefix)
        return below


def load(
    places: Places,
    env: Mapping[str, str],
    overrides: Mapping[str, Any] | None = None,
    project: ProjectFiles | None = None,
) -> Config:
    """The settings in force at `places`. A project's file that `project` lacks is read, and is not trusted.

    Never raises for what is in a file: a file that cannot be read as a whole is left out, a value that is not allowed
    is replaced by the default, and `warnings` names each. Raises ConfigError for `overrides` (dotted key → value, or
    its text) that name no key or hold no allowed value: whoever typed them is there to correct them.
    """
    layers = _Layers(project)
    layers.add_file(places.hermes_home / "config.yaml", "hermes")
    layers.add_file(places.config_file, "user")
    if places.project_hermes_dir is not None:
        layers.add_file(places.project_hermes_dir / "config.yaml", "project")
    if places.project_dir is not None:
        layers.add_file(places.project_dir / "config.yaml", "project")
    dotenv = layers.read_dotenv(places)
    for name, dotted in ENVIRONMENT.items():
        if value := (env.get(name) or dotenv.get(name, "")).strip():
            layers.put(dotted, value, "environment")
    for dotted, value in (overrides or {}).items():
        layers.put(dotted, check_setting(dotted, value), "command line")
    # Hermes' way to say "never ask"; our own key goes before it.
    if layers.values["approvals.mode"] == "off" and layers.sources["approvals.policy"] == "default":
        layers.put("approvals.policy", "never", layers.sources["approvals.mode"])
    return Config(
        layers.values,
        layers.sources,
        tuple(layers.warnings),
        dotenv,
        tuple(dict.fromkeys(layers.unused)),
        tuple(layers.held),
    )


def read_dotenv(places: Places) -> Mapping[str, str]:
    """What the .env files hold now, without a word about what is odd in them."""
    return _Layers().read_dotenv(places)


def check_setting(dotted: str, value: Any) -> Any:
    """`value` (or its text) as what the key `dotted` holds. Raises ConfigError "unknown_key" or "bad_value"."""
    path = tuple(dotted.split("."))
    key = schema.key_of(path)
    if key is None:
        near = schema.nearest(path)
        hint = f" Did you mean {near}?" if near else ""
        raise ConfigError("unknown_key", f"There is no setting {dotted}.{hint}", key=dotted)
    if key.name != dotted:
        return value  # inside a mapping: its own room checks it
    try:
        return schema.checked(key, value)
    except ValueError as e:
        raise ConfigError("bad_value", f"{dotted} must be {e}.", key=dotted) from None


def parse_value(text: str) -> Any:
    """A value as typed on a command line: a list or mapping in YAML's braces, null, or text.

    Text stays text; the key it is for decides whether it must be a number. Raises ValueError for broken braces.
    """
    text = text.strip()
    if text in ("null", "~"):
        return None
    if text[:1] not in ("[", "{"):
        return text
    import yaml

    try:
        return reading.plain(reading.compose(text))
    except (yaml.YAMLError, RecursionError):
        raise ValueError(f"{text}: the brackets do not match up.") from None


class _Layers:
    """The values so far, and what there is to say about the files they came from."""

    def __init__(self, project: ProjectFiles | None = None) -> None:
        self.values: dict[str, Any] = {key.name: copy.deepcopy(key.default) for key in schema.KEYS}
        self.sources: dict[str, str] = {key.name: "default" for key in schema.KEYS}
        self.warnings: list[ConfigWarning] = []
        self.unused: list[str] = []
        self.held: list[Held] = []
        self._project = project or ProjectFiles()
        self._hermes_accepts = False
        """The file that is read says `hooks_auto_accept`."""
        self._told = 0
        """Warnings about the file that is being read, those left out included."""

    def put(self, dotted: str, value: Any, source: str) -> None:
        path = tuple(dotted.split("."))
        key = schema.key_of(path)
        assert key is not None, f"{dotted} is not in the schema"
        for part in reversed(path[len(key.name.split(".")) :]):
            value = {part: value}
        old = self.values[key.name]
        join = _added if key.name == "hooks" else _merged
        self.values[key.name] = join(old, value) if key.kind == "mapping" else value
        self.sources[key.name] = source

    def warn(self, file: Path, line: int, key: str, code: str, text: str) -> None:
        self._told += 1
        if self._told <= limits.CONFIG_WARNINGS:
            place = f"{file}:{line}" if line else str(file)
            # Names come from files of anybody's, and this will be printed.
            self.warnings.append(ConfigWarning(str(file), line, printable(key), code, printable(f"{place}: {text}")))

    def add_file(self, file: Path, owner: Owner) -> None:
        self._told = 0
        try:
            data = self._project.data.get(file) if owner == "project" else None
            text = reading.as_text(data, file) if data is not None else reading.read_text(file)
            root = reading.parse(text, file) if text is not None else None
        except ConfigError as e:
            self.warnings.append(ConfigWarning(str(file), e.params.get("line", 0), "", e.code, printable(e.text)))
            return
        if root is not None:
            accepts = next((e.node for e in reading.entries(root) if e.key == "hooks_auto_accept"), None)
            self._hermes_accepts = reading.plain(accepts) is True
            self._add_mapping(root, (), file, owner)
        if (more := self._told - limits.CONFIG_WARNINGS) > 0:
            text = printable(f"{file}: {more} more lines of this file do not count.")
            self.warnings.append(ConfigWarning(str(file), 0, "", "more", text))
        for endpoint in (ENDPOINT, CHILDRENS_ENDPOINT):
            if any(self.sources[name] == str(file) for name in endpoint):
                for name in endpoint:
                    if self.sources[name] not in ("default", str(file)):
                        self.put(name, "", "default")

    def _add_mapping(self, node: reading.Node, above: schema.Path, file: Path, owner: Owner) -> None:
        seen: set[str] = set()
        for entry in reading.entries(node):
            if entry.key is None or len(entry.key) > limits.SUBJECT_CHARS:
                self.warn(file, entry.line, schema.dotted(above), "bad_key", "this key is not a short, plain text.")
                continue
            path = (*above, entry.key)
            if entry.key in seen:
                self.warn(
                    file,
                    entry.line,
                    schema.dotted(path),
                    "twice",
                    f"{schema.dotted(path)} is set twice; this one counts. Take out the other.",
                )
            seen.add(entry.key)
            self._add_entry(entry, path, file, owner)

    def _add_entry(self, entry: reading.Entry, path: schema.Path, file: Path, owner: Owner) -> None:
        scalar = reading.scalar(entry.node)
        if path in schema.ALIASES and not (path in schema.SECTIONS and (scalar is None or scalar.value is None)):
            path = schema.ALIASES[path]
        name = schema.dotted(path)
        key = schema.BY_PATH.get(path)
        if key is not None:
            self._add_value(key, entry, file, owner)
        elif path in schema.SECTIONS:
            if entry.node.id == "mapping":
                self._add_mapping(entry.node, path, file, owner)
            elif scalar is None or scalar.value is not None:
                self.warn(
                    file,
                    entry.line,
                    name,
                    "bad_value",
                    f"{name} must hold keys of its own, indented below it. Ignored.",
                )
        elif path in schema.KEYS_IN_FILES:
            if scalar is not None and scalar.value:
                text = f"{name} is not read: write the key into .env beside this file, as NAME=..., and "
                self.warn(file, entry.line, name, "key_in_file", f"{text}{path[0]}.api_key_env: NAME here.")
        elif schema.is_unused(path) or owner == "hermes":
            # Hermes checks its own file, and knows keys that are newer than this table.
            self.unused.append(name)
        else:
            # Looking for the nearest name takes time, which a file of thousands of wrong keys must not cost.
            near = schema.nearest(path) if self._told < limits.CONFIG_WARNINGS else ""
            hint = f" Did you mean {near}?" if near else " Check its spelling and its indentation."
            self.warn(file, entry.line, name, "unknown_key", f"there is no setting {name}.{hint}")

    def _add_value(self, key: Key, entry: reading.Entry, file: Path, owner: Owner) -> None:
        scalar = reading.scalar(entry.node)
        raw = scalar.raw if scalar is not None else None
        value = scalar.value if scalar is not None else reading.plain(entry.node)
        if value is None and not key.endless:
            return  # `key:` with nothing after it, often with comments below: not set
        try:
            value = schema.checked(key, value, raw)
        except ValueError as e:
            default = key.default if key.default not in ("", None) else "the default"
            self.warn(
                file,
                entry.line,
                key.name,
                "bad_value",
                f"{key.name} must be {e}. Using {default} instead.",
            )
            value = copy.deepcopy(key.default)
            if owner == "project":
                return
        if key.name == "agent.disabled_toolsets" and owner != "hermes":  # Hermes has sets that are not here
            self._check_tools(value, entry.line, file)
        if owner == "project":
            may, value = self._for_project(key, value, entry.line, file)
            if not may:
                return
        if key.name == "hooks" and owner == "hermes" and not self._hermes_accepts:
            value = self._approved_in_hermes(value, entry.line, file)
        if key.name == "moa":
            self._check_mixtures(entry.node, file, owner)
        if owner != "hermes":  # Hermes checks its own file
            for line, name, code, text in entries.odd(key.name, entry.node, of_user=owner == "user"):
                self.warn(file, line, name, code, text)
        self.put(key.name, value, str(file))

    def _approved_in_hermes(self, events: Mapping[str, Any], line: int, file: Path) -> dict[str, Any]:
        """The hooks of Hermes' file that were approved there; the others are told."""
        from agent_core.config.hermes_hooks import approved

        kept, others = approved(events, file.parent)
        for event in others:
            text = (
                f"a hook of hooks.{event} was never approved in Hermes, so it does not run here. "
                "Put it into your own config.yaml if you want it."
            )
            self.warn(file, line, f"hooks.{event}", "hook_not_approved", text)
        return kept

    def _check_mixtures(self, node: reading.Node, file: Path, owner: Owner) -> None:
        """Name what of the mixtures of agents does not count, or not as it was meant."""
        from agent_core.llm.mixtures import dotted, issues

        for issue in issues(reading.plain(node)):
            name = dotted(issue.place)
            if issue.code == "unused" or (issue.code == "unknown_key" and owner == "hermes"):
                self.unused.append(name)
            else:
                self.warn(file, reading.line_of(node, issue.place[1:]), name, issue.code, issue.text)

    def _check_tools(self, named: Sequence[str], line: int, file: Path) -> None:
        """Name what stands for no tool and no set of them: what was meant is not switched off."""
        for name in named:
            if not tools_named([name]):
                near = difflib.get_close_matches(name.strip().lower(), ALL_NAMES, n=1)
                hint = f" Did you mean {near[0]}?" if near else f" Sets: {', '.join(one.name for one in SHOWN)}."
                text = f"agent.disabled_toolsets: there is no tool and no set of tools called {name}.{hint}"
                self.warn(file, line, "agent.disabled_toolsets", "bad_value", text)

    def _for_project(self, key: Key, value: Any, line: int, file: Path) -> tuple[bool, Any]:
        """Whether a project may set `key` to `value`, and what it is then; says so if not. Source: CFG-04, A7."""
        get = self.values.__getitem__
        trusted = self._project.trusted and file in self._project.data
        if key.danger == "tighten":
            may, tight = tighten.tightened(key, value, get(key.name))
            if not may:
                text = f"{key.name} is ignored: {tighten.reason(key)}. Put it into your own config.yaml if you want it."
                self.warn(file, line, key.name, "never_from_project", text)
                return False, value
            if trusted:
                return True, tight
        if trusted or key.danger == "harmless":
            if key.name != "model.default" or trusted:
                return True, value
            from agent_core.llm.providers import goes_elsewhere

            if not goes_elsewhere(value, get("model.provider"), get("model.base_url"), get("providers")):
                return True, value
        elif key.danger == "bound" and schema.lowers(key, value, get(key.name)):
            return True, value
        self.held.append(Held(str(file), line, key.name, value))
        text = f"{key.name} is ignored: this folder is not trusted yet. /trust shows what it would change."
        self.warn(file, line, key.name, "not_trusted", text)
        return False, value

    def read_dotenv(self, places: Places) -> dict[str, str]:
        """The assignments of both .env files, our own over Hermes'."""
        return {
            **self.read_env(places.hermes_home / ".env", "hermes"),
            **self.read_env(places.env_file, "user"),
        }

    def read_env(self, file: Path, owner: Owner) -> dict[str, str]:
        """The assignments of a .env file; what is odd about it becomes a warning without any value."""
        self._told = 0
        try:
            text = reading.read_text(file)
            if text is None:
                return {}
            mode = stat.S_IMODE(file.stat().st_mode)
        except (ConfigError, OSError) as e:
            self.warnings.append(ConfigWarning(str(file), 0, "", "bad_env", printable(str(e))))
            return {}
        if mode & 0o077:
            self.warn(file, 0, "", "open_env", f"others may read your keys (mode {mode:04o}). Run: chmod 600 {file}")
        values, bad = parse_env(text)
        for line in bad:
            self.warn(file, line, "", "bad_env", "this line is not NAME=VALUE and is ignored.")
        if owner == "user":
            for name in ENVIRONMENT.keys() & values.keys():
                self.warn(
                    file,
                    values[name][1],
                    name,
                    "setting_in_env",
                    f"{name} is a setting, not a secret. Better put {ENVIRONMENT[name]} into config.yaml.",
                )
        return {name: value for name, (value, _) in values.items()}


def _added(low: dict[str, Any], high: dict[str, Any]) -> dict[str, Any]:
    """Both: what a lower layer has declared for an event stays, whatever a higher one adds."""
    out = dict(low)
    for name, more in high.items():
        before = out.get(name)
        if not isinstance(before, list):
            out[name] = more
        elif isinstance(more, list):
            out[name] = [*before, *(entry for entry in more if entry not in before)]
    return out


def _merged(low: Any, high: Any) -> Any:
    """`high` over `low`: mappings key by key, anything else as a whole."""
    if isinstance(low, dict) and isinstance(high, dict):
        return {**low, **{k: _merged(low.get(k), v) for k, v in high.items()}}
    return high
