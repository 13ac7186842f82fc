"""MCP servers as files name them: our own spelling, and those of other tools.

Read are `mcp_servers` of config.yaml, `mcpServers` of .mcp.json, `servers` of mcp.json. A wrong entry is its own
server's problem; the others run. Source: mcp.md "Configuration", R8, MCP-15, decisions.md.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from agent_core import limits
from agent_core.config import reading
from agent_core.errors import ConfigError
from agent_core.mcp.words import OAuthOptions, ServerConfig
from agent_core.records import dataclass
from agent_core.text.printable import printable

CONFIG_KEY: Final = "mcp_servers"
FILE_KEYS: Final = ("mcpServers", "servers", CONFIG_KEY)
"""Under which of its keys a JSON file may name servers."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file that may name servers, as it was read."""

    place: str
    """The file, as a person reads it."""
    data: bytes
    of_project: bool = False
    held: bool = False
    """Of a project that is not trusted: what it names is shown and does nothing."""


@dataclass(frozen=True, slots=True)
class Found:
    """What the files name, in their order; of two servers with one name the later one."""

    servers: tuple[ServerConfig, ...] = ()
    problems: tuple[ConfigError, ...] = ()
    """Files that cannot be used, and keys nobody knows, each with file and line."""
    held: frozenset[str] = frozenset()
    """The names of those that wait for the project to be trusted."""


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    value: Any
    place: str
    """"file:line"."""
    lines: Mapping[str, int]
    """Of its keys and of those below them ("tools.include"), where they are known."""
    of_project: bool
    file: str


def read(sources: Iterable[Source], env: Mapping[str, str], home: Path) -> Found:
    """The servers that `sources` name, the later ones in front where a name is there twice. Never raises.

    `env` is what `${VAR}` stands for, `home` what `~/` does.
    """
    servers: dict[str, ServerConfig] = {}
    held: set[str] = set()
    problems: list[ConfigError] = []
    for source in sorted(sources, key=lambda source: source.held):  # what is held takes the place of nothing
        try:
            entries = _in_json(source) if source.place.endswith(".json") else _in_yaml(source)
        except ConfigError as error:
            problems.append(error)
            continue
        for entry in entries:
            if source.held and entry.name in servers and entry.name not in held:
                continue
            reader = _Reader(entry, env, home)
            servers[entry.name] = reader.config()
            if source.held:
                held.add(entry.name)
            else:
                problems += reader.problems
    return Found(tuple(servers.values()), tuple(problems), frozenset(held))


def _in_yaml(source: Source) -> list[_Entry]:
    root = reading.parse(reading.as_text(source.data, Path(source.place)), Path(source.place))
    found = [entry for entry in reading.entries(root) if entry.key == CONFIG_KEY] if root is not None else []
    out = []
    for section in found[-1:]:
        if section.node.id == "mapping":
            for entry in reading.entries(section.node):
                if entry.key is not None:
                    lines = dict(_lines(entry.node))
                    place = f"{source.place}:{entry.line}"
                    out.append(
                        _Entry(entry.key, reading.plain(entry.node), place, lines, source.of_project, source.place)
                    )
    return out


def _lines(node: reading.Node, depth: int = 2) -> Iterator[tuple[str, int]]:
    for one in reading.entries(node):  # none of what is no mapping
        if one.key is not None:
            yield one.key, one.line
            if depth > 1:
                yield from ((f"{one.key}.{below}", line) for below, line in _lines(one.node, depth - 1))


def _in_json(source: Source) -> list[_Entry]:
    text = reading.as_text(source.data, Path(source.place))
    try:
        document = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        words = f"{source.place}:{line}: this is not JSON. Correct it; until then none of its servers is used."
        raise ConfigError("mcp_bad_json", words, file=source.place, line=line) from error
    out = []
    for key in FILE_KEYS:
        named = document.get(key) if isinstance(document, dict) else None
        for name, value in named.items() if isinstance(named, dict) else ():
            at = re.search(re.escape(json.dumps(name, ensure_ascii=False)) + r"\s*:", text)
            place = f"{source.place}:{text.count(chr(10), 0, at.start()) + 1}" if at else source.place
            out.append(_Entry(name, value, place, {}, source.of_project, source.place))
    return out


# -- one entry ------------------------------------------------------------------------------------------------------


def _names(words: str) -> tuple[str, ...]:
    return tuple(words.split())


_TYPES: Final[dict[str, Literal["stdio", "http", "sse"]]] = {
    "stdio": "stdio", "local": "stdio", "command": "stdio",
    "http": "http", "streamable-http": "http", "streamablehttp": "http", "streamable_http": "http",
    "http-stream": "http", "remote": "http", "sse": "sse",
}  # fmt: skip

_ALIASES: Final = {
    "transport": "type", "transport_type": "type", "cmd": "command", "environment": "env", "working_directory": "cwd",
    "server_url": "url", "http_url": "url", "uri": "url", "endpoint": "url", "http_headers": "headers",
    "connect_timeout": "startup_timeout", "startup_timeout_sec": "startup_timeout", "startup_timeout_ms": "startup_ms",
    "init_timeout": "startup_timeout", "tool_timeout": "timeout", "tool_timeout_sec": "timeout",
    "timeout_ms": "timeout_ms", "include_tools": "include", "enabled_tools": "include", "allowed_tools": "include",
    "exclude_tools": "exclude", "disabled_tools": "exclude", "trusted": "trust",
}  # fmt: skip
"""Other tools' keys, in our way of writing (camelCase is brought to it first)."""

_UNUSED: Final = frozenset(_names(
    """
    name description title note notes comment icon version gallery id auto_approve always_allow parallel roots
    supports_parallel_tool_calls sampling auth authentication dev autostart author tags metadata resources prompts
    keep_alive source
    """
))  # fmt: skip
"""Keys of other tools that say nothing to us. What they let run unasked is asked about all the same (R30)."""

_KNOWN: Final = frozenset(_names(
    """
    command args env cwd url headers type enabled disabled required trust startup_timeout timeout tools include exclude
    protocol framing sandbox oauth env_policy startup_ms timeout_ms bearer_token_env_var env_http_headers
    """
))  # fmt: skip

_INTERNAL: Final = frozenset({"startup_ms", "timeout_ms", "bearer_token_env_var", "env_http_headers"})
"""Read, and not for us to suggest."""

_OF_TOOLS: Final = frozenset(_names("include exclude resources prompts"))
"""Below `tools`; the helpers for resources and prompts are there by what servers can do (R34)."""
_OAUTH: Final = _names("client_id client_secret scope callback_port")
_OAUTH_ALIASES: Final = {"scopes": "scope", "redirect_port": "callback_port", "port": "callback_port"}
_OAUTH_UNUSED: Final = frozenset(_names("enabled client_name redirect_uri redirect_host timeout"))
"""Of other tools: how their own log-in goes."""

_VARIABLE: Final = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_OTHER_VARIABLE: Final = re.compile(r"\$\{(?:input|command|config):[^}]*\}")


class _Wrong(Exception):
    """What is wrong with an entry, and the way out; `case` and `named`: the same for faces with words of their own."""

    def __init__(self, text: str, case: str, **named: Any) -> None:
        super().__init__(text)
        self.named = {"case": case, **named}


class _Reader:
    """Reads one entry; `problems` are those that do not keep the server from running."""

    def __init__(self, entry: _Entry, env: Mapping[str, str], home: Path) -> None:
        self._entry, self._env, self._home = entry, env, home
        self.problems: list[ConfigError] = []

    def config(self) -> ServerConfig:
        entry = self._entry
        kept = ServerConfig(entry.name, place=entry.place, of_project=entry.of_project)
        try:
            if not isinstance(entry.value, dict):
                raise _Wrong("is not a mapping. Write its command, or its url, below its name", "mcp_entry_mapping")
            return self._made(self._keys(entry.value))
        except _Wrong as wrong:
            text = f"{entry.place}: the MCP server {printable(entry.name)} {wrong}."
            return _with_problem(kept, text, wrong.named, entry.value)

    def _keys(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The entry in our own spelling; what nobody knows is a problem to be told, not an error."""
        out: dict[str, Any] = {}
        for key, value in given.items():
            name = _our_way(key)
            name = _ALIASES.get(name, name)
            if name in _KNOWN:
                if name not in out or value is not None:
                    out[name] = value
            elif name not in _UNUSED and not name.startswith(("_", "x_")):
                self._nobody_knows(str(key), name, _KNOWN - _INTERNAL)
        return out

    def _nobody_knows(self, path: str, name: str, known: Collection[str]) -> None:
        """Tell of a key, by its dotted `path` as it is written; `name` is how we would write its last part."""
        line = self._entry.lines.get(path)
        place = f"{self._entry.file}:{line}" if line else self._entry.place
        words = f"{place}: {CONFIG_KEY}.{printable(self._entry.name)}.{printable(path)} is not known."
        guess = {}
        if near := difflib.get_close_matches(name[: limits.SUBJECT_CHARS], sorted(known), n=1):
            words += f" Did you mean {near[0]}?"
            guess = {"case": "mcp_unknown_key_near", "near": near[0]}
        self.problems.append(
            ConfigError(
                "mcp_unknown_key",
                words,
                file=self._entry.file,
                key=f"{CONFIG_KEY}.{self._entry.name}.{path}",
                line=line or 0,
                place=place,
                **guess,
            )
        )

    def _made(self, keys: Mapping[str, Any]) -> ServerConfig:
        command, args = self._command(keys.get("command"), keys.get("args"))
        url = self._text(keys, "url")
        if bool(command) == bool(url):
            if command:
                raise _Wrong("names both a command and a url. Keep one of them", "mcp_entry_both")
            raise _Wrong("names neither a command nor a url. Write one of them", "mcp_entry_neither")
        if url and not _is_of_web(url):
            raise _Wrong("has a url that is none of http or https", "mcp_entry_url")
        include, exclude = self._choice(keys)
        headers = self._texts(keys, "headers")
        if variable := keys.get("bearer_token_env_var"):
            headers["Authorization"] = f"Bearer {self._expanded(f'${{{variable}}}')}"
        headers.update(
            {name: self._expanded(f"${{{value}}}") for name, value in self._texts(keys, "env_http_headers").items()}
        )
        env = self._texts(keys, "env")
        trust = self._flag(keys, "trust", False)
        if trust and self._entry.of_project:
            trust = False
            words = (
                f"{self._entry.place}: trust is for the user's own config: what a project brings does not decide "
                "what it may do unasked. It is left out."
            )
            self.problems.append(
                ConfigError("mcp_trust_of_project", words, file=self._entry.file, place=self._entry.place)
            )
        kind: Literal["stdio", "http", "sse"] = "stdio" if command else self._type(keys.get("type"))
        return ServerConfig(
            self._entry.name,
            command,
            args,
            env,
            self._text(keys, "cwd"),
            url,
            headers,
            kind,
            self._flag(keys, "enabled", True) and not self._flag(keys, "disabled", False),
            self._flag(keys, "required", False),
            trust,
            self._seconds(keys, "startup_timeout", "startup_ms", limits.MCP_STARTUP),
            self._seconds(keys, "timeout", "timeout_ms", limits.MCP_CALL),
            include,
            exclude,
            _one_of(keys, "protocol", "auto", "legacy", "modern"),
            _one_of(keys, "framing", "newline", "content-length"),
            self._flag(keys, "sandbox", False),
            _one_of(keys, "env_policy", "inherit", "strict"),
            self._oauth(keys.get("oauth")),
            self._entry.place,
            "",
            self._entry.of_project,
            identity(command, args, env, url),
        )

    # -- values ---------------------------------------------------------------------------------------------------

    def _command(self, command: Any, args: Any) -> tuple[str, tuple[str, ...]]:
        """A program and its arguments; some tools write both as one list."""
        words = command if isinstance(command, list) else [command] if command else []
        rest = args if isinstance(args, list) else [] if args is None else [args]
        if not all(isinstance(word, (str, int, float)) for word in (*words, *rest)):
            raise _Wrong("has a command or args that are no texts. Write args as a list of texts", "mcp_entry_args")
        spelled = [self._expanded(_plain(word)) for word in (*words, *rest)]
        return (spelled[0], tuple(spelled[1:])) if words else ("", ())

    def _text(self, keys: Mapping[str, Any], name: str) -> str:
        value = keys.get(name)
        if value is not None and not isinstance(value, str):
            raise _Wrong(f"has a {name} that is no text", "mcp_entry_text", key=name)
        return self._expanded(value.strip()) if value else ""

    def _texts(self, keys: Mapping[str, Any], name: str) -> dict[str, str]:
        value = keys.get(name)
        if value is None:
            return {}
        if isinstance(value, list) and all(isinstance(one, str) and "=" in one for one in value):
            value = dict(one.split("=", 1) for one in value)
        if not isinstance(value, dict) or not all(isinstance(one, (str, int, float, bool)) for one in value.values()):
            raise _Wrong(f"has {name} that are no names with texts", "mcp_entry_texts", key=name)
        return {str(key): self._expanded(_plain(one)) for key, one in value.items()}

    def _expanded(self, text: str) -> str:
        """`~/` and variables in it put in. Raises _Wrong for one that is not set and has no other value."""

        def value(found: re.Match[str]) -> str:
            name, otherwise = found[1], found[2]
            if self._env.get(name):
                return self._env[name]
            if otherwise is None and name not in self._env:
                spelled = f"${{{name}:-}}"
                text = f"names the variable {name}, which is not set. Set it, or write {spelled}"
                raise _Wrong(text, "mcp_entry_variable", key=name, spelled=spelled)
            return otherwise or ""

        if other := _OTHER_VARIABLE.search(text):
            shown = printable(other[0])
            spelled = "${NAME}"
            text = f"has {shown}, which only its editor can fill in. Write a variable: {spelled}"
            raise _Wrong(text, "mcp_entry_editor", value=shown, spelled=spelled)
        text = re.sub(r"\$\{(?:workspaceFolder|workspaceRoot)\}", ".", text).replace("${userHome}", "~")
        text = _VARIABLE.sub(value, text)
        return str(self._home) + text[1:] if text == "~" or text.startswith("~/") else text

    def _flag(self, keys: Mapping[str, Any], name: str, default: bool) -> bool:
        value = keys.get(name)
        if value is None:
            return default
        if isinstance(value, str) and value.strip().lower() in ("true", "yes", "on", "false", "no", "off"):
            return value.strip().lower() in ("true", "yes", "on")
        if not isinstance(value, bool):
            raise _Wrong(f"has a value for {name} that is neither true nor false", "mcp_entry_flag", key=name)
        return value

    def _seconds(self, keys: Mapping[str, Any], name: str, in_ms: str, default: float) -> float:
        value, unit = (keys[name], 1.0) if keys.get(name) is not None else (keys.get(in_ms), 0.001)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
            raise _Wrong(f"has a {name} that is no number of seconds above 0", "mcp_entry_seconds", key=name)
        value = min(value, float(limits.WHOLE))  # a whole number may be larger than any of the others
        if unit == 1.0 and value > limits.MCP_SECONDS_MOST:  # other tools count in milliseconds
            words = (
                f"{self._entry.place}: {name} {value:g} of {printable(self._entry.name)} is taken for milliseconds; "
                "it is in seconds here."
            )
            named = {"place": self._entry.place, "server": self._entry.name, "name": name, "value": f"{value:g}"}
            self.problems.append(ConfigError("mcp_milliseconds", words, file=self._entry.file, **named))
            unit = 0.001
        return min(float(value) * unit, limits.MCP_SECONDS_MOST)

    def _choice(self, keys: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Globs of the tools that are taken and left out."""
        tools = keys.get("tools")
        if isinstance(tools, list):
            tools = {"include": tools}
        if tools is not None and not isinstance(tools, dict):
            raise _Wrong("has tools that are neither a list nor include and exclude", "mcp_entry_tools")
        for key in tools or {}:
            if key not in _OF_TOOLS:
                self._nobody_knows(f"tools.{key}", str(key), ("include", "exclude"))
        both = {**keys, **(tools or {})}
        out = []
        for name in ("include", "exclude"):
            value = both.get(name)
            value = [value] if isinstance(value, str) else value or []
            if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
                raise _Wrong(f"has tools.{name} that is no list of names", "mcp_entry_names", key=f"tools.{name}")
            out.append(tuple(value))
        return out[0], out[1]

    def _type(self, value: Any) -> Literal["http", "sse"]:
        kind = _TYPES.get(str(value).lower(), "") if value is not None else "http"
        if kind == "stdio" or not kind:
            shown = printable(str(value))
            text = f"has a url, but its type is {shown}. Write http or sse, or leave it out"
            raise _Wrong(text, "mcp_entry_type", value=shown)
        return "sse" if kind == "sse" else "http"

    def _oauth(self, value: Any) -> OAuthOptions | None:
        if value in (None, False, True):
            return OAuthOptions() if value else None
        if not isinstance(value, dict):
            text = "has oauth that is no mapping of client_id, client_secret, scope, callback_port"
            raise _Wrong(text, "mcp_entry_oauth")
        keys: dict[str, Any] = {}
        for key, one in value.items():
            name = _our_way(key)
            name = _OAUTH_ALIASES.get(name, name)
            if name in _OAUTH:
                keys[name] = one
            elif name not in _OAUTH_UNUSED:
                self._nobody_knows(f"oauth.{key}", name, _OAUTH)
        scope = keys.get("scope") or ""
        port = keys.get("callback_port") or 0
        if not isinstance(port, int) or not 0 <= port < 65_536:
            raise _Wrong("has an oauth.callback_port that is no port", "mcp_entry_port")
        return OAuthOptions(
            self._text(keys, "client_id"),
            self._text(keys, "client_secret"),
            " ".join(map(str, scope)) if isinstance(scope, list) else str(scope),
            port,
        )


def _is_of_web(url: str) -> bool:
    try:
        return urlsplit(url).scheme in ("http", "https")
    except ValueError:  # brackets around no address, and the like
        return False


def _our_way(key: object) -> str:
    """A key as we write it: words with `_` between them."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[-\s]", "_", str(key)).lower()


def _with_problem(kept: ServerConfig, text: str, named: Mapping[str, Any], value: Any) -> ServerConfig:
    """An entry that cannot be used, with as much of it as tells a person which one it is."""
    enabled = not (isinstance(value, dict) and (value.get("enabled") is False or value.get("disabled") is True))
    return replace(kept, problem=text, problem_named=named, enabled=enabled)


def _plain(value: str | int | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _one_of(keys: Mapping[str, Any], name: str, *choices: Any) -> Any:
    """The value of a key that has a few; the first is the default."""
    value = keys.get(name)
    if value is None:
        return choices[0]
    if value not in choices:
        shown = printable(str(value))
        text = f"has the {name} {shown}. Write one of {', '.join(choices)}"
        raise _Wrong(text, "mcp_entry_choice", key=name, value=shown, choices=list(choices))
    return value


# -- what a server is -------------------------------------------------------------------------------------------------


def identity(command: str, args: tuple[str, ...], env: Mapping[str, str], url: str) -> str:
    """Which server that is: a grant for it is for no other one of its name. The values of `env` do not count."""
    what = [url] if url else [command, *args, "", *sorted(env)]
    return hashlib.sha256("\0".join(what).encode("utf-8", "surrogatepass")).hexdigest()[:32]


_SECRET: Final = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH|COOKIE|PRIVATE", re.IGNORECASE)


def secrets_of(config: ServerConfig) -> set[str]:
    """What of an entry must never show anywhere: the values of keys, tokens and passwords in it."""
    named = [*config.env.items(), *config.headers.items()]
    found = {value.rpartition(" ")[2] for name, value in named if _SECRET.search(name)}
    if config.oauth is not None:
        found.add(config.oauth.client_secret)
    if password := urlsplit(config.url).password if config.url else None:
        found.add(password)
    return {value for value in found if len(value) >= limits.KEY_CHARS}


def address_of(config: ServerConfig, redact: Callable[[str], str]) -> str:
    """The command line or the URL, for a person: without keys, in one line."""
    if not config.url:
        return printable(redact(" ".join((config.command, *config.args))))
    parts = urlsplit(config.url)
    host = parts.netloc.rpartition("@")[2]
    return printable(redact(f"{parts.scheme}://{host}{parts.path}" + ("?…" if parts.query else "")))
