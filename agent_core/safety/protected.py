"""Which names and places are protected, as tables. Nothing here looks at the file system.

Three kinds: places that hold secrets, places whose content runs later without anybody asking, and system files.
`paths.py` resolves a path and asks these tables about it. Sources: APPR-17, F1, rules 4 and 5 of the path door.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

from agent_core.records import dataclass

Parts = tuple[str, ...]

_INVISIBLE: Final = frozenset(
    [0x034F, 0x115F, 0x1160, *range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]
)
_TRAILING: Final = re.compile(r"[\s.]+\Z")


@lru_cache(maxsize=4096)
def fold(name: str) -> str:
    """`name` as the most forgiving file system compares it.

    Case is folded, compatibility forms are normalised, and invisible code points and trailing blanks or dots go.
    """
    if not name.isascii():
        name = unicodedata.normalize("NFKC", name)
        name = "".join(c for c in name if unicodedata.category(c) != "Cf" and ord(c) not in _INVISIBLE)
    folded = name.casefold()
    return _TRAILING.sub("", folded) or folded


def fold_parts(path: str) -> Parts:
    """The folded components of an absolute or relative path without `.` and empty ones."""
    folder, _, name = path.rpartition("/")
    return _fold_folder(folder) if name in ("", ".") else (*_fold_folder(folder), fold(name))


@lru_cache(maxsize=256)
def _fold_folder(path: str) -> Parts:
    return tuple(fold(part) for part in path.split("/") if part not in ("", "."))


@dataclass(frozen=True, slots=True)
class _Table:
    """Places, found by their first name: a walk asks about every file it meets."""

    named: Mapping[str, tuple[Parts, ...]]
    wild: tuple[Parts, ...]
    """Those whose first name has a wildcard."""

    def entry(self, parts: Parts) -> Parts | None:
        """The place that `parts` names, or lies below."""
        for entry in (*self.named.get(parts[0], ()), *self.wild) if parts else ():
            if len(parts) >= len(entry) and all(fnmatchcase(p, e) for p, e in zip(parts, entry, strict=False)):
                return entry
        return None

    def __contains__(self, parts: Parts) -> bool:
        return self.entry(parts) is not None

    def may_hold(self, first: str) -> bool:
        """Whether a place begins with this name: if not, none lies anywhere below it."""
        return first in self.named or any(fnmatchcase(first, entry[0]) for entry in self.wild)

    def any_below(self, parts: Parts) -> bool:
        """Whether a place lies below `parts`."""
        if not parts:
            return bool(self.named or self.wild)
        return any(
            len(entry) > len(parts) and all(fnmatchcase(p, e) for p, e in zip(parts, entry, strict=False))
            for entry in (*self.named.get(parts[0], ()), *self.wild)
        )


def _table(text: str) -> _Table:
    entries = [tuple(line.split("/")) for line in text.split()]
    named: dict[str, tuple[Parts, ...]] = {}
    for entry in entries:
        if "*" not in entry[0]:
            named[entry[0]] = (*named.get(entry[0], ()), entry)
    return _Table(named, tuple(entry for entry in entries if "*" in entry[0]))


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# -- below a person's home ----------------------------------------------------------------------------------------
# Folded spelling; `*` stands for anything inside one component.

_CREDENTIALS: Final = _table("""
    .ssh .aws .azure .gnupg .kube .oci .password-store .vault-token .boto .s3cfg .databrickscfg
    .docker/config.json .docker/contexts .netrc _netrc .npmrc .yarnrc .pypirc .pgpass .my.cnf .mylogin.cnf
    .git-credentials .config/git/credentials .config/gh .config/hub .config/glab-cli .config/github-copilot
    .config/gcloud .config/op .config/sops .config/age .config/rclone .config/doctl .config/containers/auth.json
    .config/composer/auth.json .composer/auth.json .cargo/credentials .cargo/credentials.toml .gem/credentials
    .m2/settings.xml .m2/settings-security.xml .gradle/gradle.properties .nuget/nuget.config .bundle/config
    .terraform.d/credentials.tfrc.json .terraformrc .kaggle/kaggle.json .huggingface/token .cache/huggingface/token
    .local/share/keyrings .local/share/kwalletd .mozilla .thunderbird .config/google-chrome* .config/chromium
    .config/bravesoftware .config/microsoft-edge* .config/vivaldi* .config/opera* snap/firefox snap/chromium
    .var/app/org.mozilla.firefox .var/app/com.google.chrome
    .claude/.credentials.json .codex/auth.json .gemini/oauth_creds.json
    library/keychains library/cookies library/application*support/google/chrome library/application*support/firefox
""")

_HISTORY: Final = _table("""
    .*_history .histfile .*-history .local/share/fish/fish_history .local/share/*/history .local/state/*/history
    .config/nushell/history.txt .viminfo .lesshst
""")

_RUNS_LATER: Final = _table("""
    .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .bashrc.d .profile .zshrc .zshenv .zprofile .zlogin
    .zlogout .oh-my-zsh .kshrc .cshrc .tcshrc .login .inputrc .config/fish .config/zsh .direnvrc .config/direnv
    .gitconfig .config/git .vimrc .gvimrc .vim .exrc .config/nvim .emacs .emacs.d .config/emacs .nanorc
    .tmux.conf .config/tmux .screenrc .xprofile .xinitrc .xsession .xsessionrc .pam_environment
    .config/autostart .config/systemd .config/environment.d .config/code .vscode .config/vscodium .config/zed
    .local/bin bin .local/lib .local/share/applications .local/share/systemd .cargo/bin .cargo/config.toml
    .cargo/config .config/pip .pip .pythonrc .pythonrc.py .pdbrc .ipython .jupyter .gdbinit .lldbinit .rprofile
    .irbrc .npm-global .nvm .pyenv .rbenv .asdf go/bin library/launchagents .config/crontab .crontab
""")


def credential_place(parts: Parts) -> bool:
    """Whether a path below a home (its folded components) holds keys, tokens or passwords."""
    return parts in _CREDENTIALS


def public_key(parts: Parts) -> bool:
    """Whether it is the public half of a key: free to read although it lies among the private ones."""
    return len(parts) == 2 and parts[0] == ".ssh" and parts[1].endswith(".pub")


def history_place(parts: Parts) -> bool:
    """Whether it keeps what a person typed, secrets included."""
    return parts in _HISTORY


def secrets_below_home(parts: Parts) -> bool:
    """Whether such places lie below a folder of a home; () is the home itself."""
    return _CREDENTIALS.any_below(parts) or _HISTORY.any_below(parts)


def ordinary_below_home(parts: Parts) -> bool:
    """Whether neither kind of place begins as this folder of a home does; () is the home itself."""
    return bool(parts) and not _CREDENTIALS.may_hold(parts[0]) and not _HISTORY.may_hold(parts[0])


def runs_later(parts: Parts) -> Parts | None:
    """The place it lies in whose content a shell, editor, desktop or tool runs unasked when it next starts."""
    return _RUNS_LATER.entry(parts)


# -- our own home -------------------------------------------------------------------------------------------------

_OWN_KEYS: Final = _table("""
    .env* *credential* auth.json auth *oauth* *token* mcp-tokens vault
""")
_OWN_RECORDS: Final = _table("""
    state.db* history logs spill-private checkpoints tasks
""")
_OWN_POLICY: Final = _table("""
    config.yaml config.yml grants.json hooks.json mcp.json ignore hooks state.db* memory.json* memories pending
""")


def _own(parts: Parts) -> Parts:
    # A profile is a home of its own inside the home.
    return parts[2:] if parts[:1] == ("profiles",) and len(parts) > 2 else parts


def own_keys(parts: Parts) -> bool:
    """Whether a path below our own home holds keys."""
    return _own(parts) in _OWN_KEYS


def own_records(parts: Parts) -> bool:
    """Whether a path below our own home holds what was said in other sessions."""
    return _own(parts) in _OWN_RECORDS


def own_policy(parts: Parts) -> bool:
    """Whether a path below our own home decides what the agent may do, or is what later sessions are told: that has a
    door with a gate (MEM-22)."""
    return _own(parts) in _OWN_POLICY


# -- the system ---------------------------------------------------------------------------------------------------

_SYSTEM_TREES: Final = _table("""
    etc boot usr bin sbin lib lib32 lib64 libx32 var/spool/cron var/spool/at var/lib/systemd
    run/docker.sock var/run/docker.sock run/containerd var/run/containerd run/podman var/run/podman run/systemd
    system private/etc private/var/at library/launchdaemons library/launchagents
""")
_KERNEL_TREES: Final = _table("proc sys dev")
_SYSTEM_SECRETS: Final = _table("""
    etc/shadow* etc/gshadow* etc/master.passwd etc/security/opasswd etc/krb5.keytab etc/ssh/ssh_host_*key
    etc/ssl/private etc/pki/tls/private etc/wireguard etc/networkmanager/system-connections etc/sudoers etc/sudoers.d
    etc/letsencrypt/live etc/letsencrypt/archive etc/letsencrypt/keys etc/kubernetes etc/rancher
    private/etc/master.passwd private/etc/sudoers private/var/db/dslocal var/db/dslocal library/keychains
    run/secrets var/run/secrets var/spool/cron var/lib/sss
""")
_PROC_TOP: Final = _names("kcore kmsg kallsyms kpagecount kpageflags kpagecgroup sysrq-trigger")
_PROC_TASK: Final = _names(
    "environ mem maps smaps smaps_rollup numa_maps map_files auxv pagemap stack syscall fd fdinfo root cwd exe"
)


def system_tree(parts: Parts) -> Parts | None:
    """The system tree an absolute path lies in; None outside all of them."""
    return _SYSTEM_TREES.entry(parts) or _KERNEL_TREES.entry(parts)


def kernel_tree(parts: Parts) -> bool:
    """Whether it lies in /proc, /sys or /dev. Shared memory is ordinary files."""
    return parts in _KERNEL_TREES and parts[:2] != ("dev", "shm")


def system_secret(parts: Parts) -> bool:
    """Whether reading an absolute path would give away a key, a password hash, memory, or never end."""
    if parts[:1] == ("proc",):
        return bool(_PROC_TOP.intersection(parts[1:2])) or (
            len(parts) > 2 and _names_process(parts[1]) and bool(_PROC_TASK.intersection(parts[2:]))
        )
    return parts in _SYSTEM_SECRETS or (parts[:1] == ("dev",) and len(parts) > 1 and parts[1] != "shm")


def ordinary_below_root(parts: Parts) -> bool:
    """Whether no secret of the system lies anywhere in the top folder of this absolute one."""
    return bool(parts) and parts[0] not in ("proc", "dev") and not _SYSTEM_SECRETS.may_hold(parts[0])


def secrets_below(parts: Parts) -> bool:
    """Whether an absolute folder usually holds secrets somewhere below: the system's, a process's, anybody's."""
    usual = home_of(parts)
    if usual and secrets_below_home(parts[usual:]):
        return True
    return parts[:1] == ("proc",) or parts in (("home",), ("users",)) or _SYSTEM_SECRETS.any_below(parts)


def _names_process(part: str) -> bool:
    return part.isdigit() or part in ("self", "thread-self")


def home_of(parts: Parts) -> int:
    """How many components of an absolute path make the home of any user by its usual place; 0 when none do."""
    if parts[:1] == ("root",):
        return 1
    if parts[:2] == ("var", "root"):
        return 2
    return 2 if parts[:1] in (("home",), ("users",)) and len(parts) > 1 else 0


# -- anywhere -----------------------------------------------------------------------------------------------------

_DOTENV: Final = re.compile(r"\.env(rc)?([.\-_~ ].*)?")
_TEMPLATE: Final = re.compile(r".*[.\-_](example|sample|template|tmpl|dist|defaults?|schema)")
_PRIVATE_KEY: Final = re.compile(
    r"id_[^.]*|id_(rsa|dsa|ecdsa|ed25519)(_sk)?\.(bak|old|orig|save|priv|\d+)"
    r"|.*\.(pem|key|p12|pfx|jks|keystore|ppk|kdbx)"
)


def secret_file(name: str) -> bool:
    """Whether a folded file name is that of project secrets or a private key; templates hold none."""
    if _DOTENV.fullmatch(name):
        return not _TEMPLATE.fullmatch(name)
    return bool(_PRIVATE_KEY.fullmatch(name))


_PERHAPS: Final = ("\0.env", "\0id_", ".pem", ".key", ".p12", ".pfx", ".jks", ".ppk", ".kdbx")
"""One of these is in every secret file's folded name, a NUL before it. No expression: this takes half its time."""


def perhaps_secret(names: Sequence[str]) -> Sequence[str]:
    """The names among which all those of secret files are: mostly none, by one look at all of them."""
    text = f"\0{chr(0).join(names)}"
    if not text.isascii():
        return names
    text = text.lower()
    for piece in _PERHAPS:
        if piece in text:
            return names
    return ()


# git~1 is what .git is also called on file systems with short names; the others hold programs to run, settings that
# name programs, or keys.
CONTROL_DIRS: Final = _names(
    ".git git~1 .husky .githooks .nanohermes .hermes .vscode .devcontainer .idea .zed .cursor .claude .ssh .aws .gnupg"
)
CONTROL_FILES: Final = _names(".mcp.json .exrc .nvim.lua .nanohermesignore")


def control_place(parts: Parts) -> bool:
    """Whether a path inside a workspace (its folded components) steers git, an editor or this program."""
    return bool(CONTROL_DIRS.intersection(parts)) or (
        bool(parts) and (parts[-1] in CONTROL_FILES or parts[-1].endswith(".code-workspace"))
    )
