"""The environment of commands: what they need to work, no secrets, and nothing that waits for a person (S12)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

# fmt: off
_KEEP: Final = frozenset({
    "PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE",
    "TERM", "COLORTERM", "NO_COLOR", "TZ", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
    "XDG_STATE_HOME", "PIP_CACHE_DIR", "UV_CACHE_DIR", "npm_config_cache", "CARGO_HOME", "RUSTUP_HOME",
    "GOPATH", "GOCACHE", "GOMODCACHE", "GOROOT", "JAVA_HOME", "GRADLE_USER_HOME", "NVM_DIR", "PYENV_ROOT",
    "ANDROID_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy",
    "all_proxy", "no_proxy", "CI", "WSL_DISTRO_NAME",
})
# fmt: on
_SECRET: Final = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH|COOKIE|PRIVATE", re.IGNORECASE)
_STEERS_PROGRAMS: Final = re.compile(r"(LD_|DYLD_|GIT_|PYTHON|BASH_ENV$|ENV$|NODE_OPTIONS$|PERL5|RUBYOPT$|BASH_FUNC_)")
_URL_PASSWORD: Final = re.compile(r"://[^/@\s]*@")

_FAILS: Final = "/bin/false"

# Nobody sits at a command's terminal, and it has none: what would ask for a password, an editor or a page must
# fail at once and say why. An editor that fails also keeps `git rebase -i` from running its default list.
_NON_INTERACTIVE: Final[dict[str, str]] = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "false",
    "GIT_SEQUENCE_EDITOR": "false",
    "GIT_PAGER": "cat",
    "GIT_ASKPASS": _FAILS,
    "GIT_SSH_COMMAND": "ssh -o BatchMode=yes -o ConnectTimeout=8",
    "SSH_ASKPASS": _FAILS,
    "SSH_ASKPASS_REQUIRE": "force",
    "SUDO_ASKPASS": _FAILS,
    "EDITOR": "false",
    "VISUAL": "false",
    "PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "AWS_PAGER": "cat",
    "GH_PAGER": "cat",
    "PSQL_PAGER": "cat",
    "GH_PROMPT_DISABLED": "1",
    "GCM_INTERACTIVE": "never",
    "COREPACK_ENABLE_DOWNLOAD_PROMPT": "0",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
    "HOMEBREW_NO_AUTO_UPDATE": "1",
}
# Names beyond ASCII as they are: a model cannot give "\\346\\226\\207" to the next command.
_GIT_SETTINGS: Final = {"core.quotePath": "false"}


def git_settings(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables that give git its settings: those of every command, and `more`."""
    settings = {**_GIT_SETTINGS, **(more or {})}
    env = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings.items()):
        env |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return env


class LentEnv(Mapping[str, str]):
    """The environment of a session's commands: a given one, and variables that are lent to it as the session goes on.

    Any thread may read it and lend; what is lent stays.
    """

    def __init__(self, given: Mapping[str, str]) -> None:
        self._now = dict(given)

    def lend(self, variables: Mapping[str, str]) -> None:
        """From now on commands have these too, but none that makes programs load or run something else."""
        self._now = {**self._now, **{name: value for name, value in variables.items() if may_be_lent(name)}}

    def __getitem__(self, name: str) -> str:
        return self._now[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._now)

    def __len__(self) -> int:
        return len(self._now)


def may_be_lent(name: str) -> bool:
    """Whether a variable may be given to commands because something names it: it is no other's to set."""
    return bool(name) and name not in _KEEP and name not in _NON_INTERACTIVE and not _STEERS_PROGRAMS.match(name)


def child_env(base: Mapping[str, str], extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment a command gets, out of ours (`base`) and the user's own additions (`extra`).

    An allow-list; of `extra` everything is kept but names of secrets and variables that make programs load or run
    something else. A proxy address loses its password.
    """
    env = {name: value for name, value in base.items() if (name in _KEEP or name.startswith("LC_"))}
    env.update(extra or {})
    env = {
        name: _URL_PASSWORD.sub("://", value) if name.lower().endswith("_proxy") else value
        for name, value in env.items()
        if name and "=" not in name and "\0" not in name + value
        if not _SECRET.search(name) and not _STEERS_PROGRAMS.match(name)
    }
    env.setdefault("PATH", "/usr/local/bin:/usr/bin:/bin")
    return env | _NON_INTERACTIVE | git_settings()
