"""The completion scripts themselves, written from the tree of commands (completion.program). Pure."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from agent_core import names

if TYPE_CHECKING:
    from nanoherm_tui.subcommands.completion import Command, Option, Value

_FUNCTION: Final = "_nanoherm_tui"
_ASK: Final = f"{names.APP} completion --values"
_HEAD: Final = f"# Completion for {names.APP}, made by `{names.APP} completion`."


# -- bash ---------------------------------------------------------------------------------------------------------


def bash(top: Command) -> str:
    """Flags and commands by the words so far; values by the option before the caret."""
    lines = [
        _HEAD,
        f"{_FUNCTION}() {{",
        '    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" place="" at=1 skip=""',
        '    local kind=free words="" commands="" flags="" nth=0',
        "    # --mode=plan comes as three words",
        '    if [[ $word == "=" ]]; then word=""',
        '    elif [[ $before == "=" ]]; then before="${COMP_WORDS[COMP_CWORD-2]}"; fi',
        "    COMPREPLY=()",
        "    while (( at < COMP_CWORD )); do",
        '        if [[ -n $skip ]]; then skip=""',
        '        else case "$place ${COMP_WORDS[at]}" in',
    ]
    for command in top.all():
        place = "/".join(command.path)
        takes = [flag for option in command.options if option.value and not option.optional for flag in option.flags]
        if takes:
            lines.append(f"            {_patterns(f'{place} {flag}' for flag in takes)}) skip=1 ;;")
        for sub in command.commands:
            lines.append(f"            {_patterns([f'{place} {sub.path[-1]}'])}) place={'/'.join(sub.path)} nth=0 ;;")
    lines += [
        "            *' -'*) ;;",
        "            *) (( nth++ )) ;;",
        "        esac; fi",
        "        (( at++ ))",
        "    done",
        '    case "$place $before" in',
    ]
    for command in top.all():
        for option in command.options:
            if option.value is not None:
                patterns = _patterns(f"{'/'.join(command.path)} {flag}" for flag in option.flags)
                lines.append(f"        {patterns}) {_bash_value(option.value)} ;;")
    lines += ["        *) kind=none ;;", "    esac", "    if [[ $kind == none ]]; then", '        case "$place" in']
    for command in top.all():
        flags = " ".join(flag for option in command.options for flag in option.flags)
        below = " ".join(sub.path[-1] for sub in command.commands)
        value = _bash_argument(command.arguments)
        pattern = shlex.quote("/".join(command.path))
        lines.append(f"            {pattern}) flags={shlex.quote(flags)} commands={shlex.quote(below)}; {value} ;;")
    lines += [
        "        esac",
        '        if [[ $word == -* ]]; then COMPREPLY=( $(compgen -W "$flags" -- "$word") ); return; fi',
        '        [[ $commands ]] && COMPREPLY=( $(compgen -W "$commands" -- "$word") )',
        "    fi",
        "    case $kind in",
        '        words) COMPREPLY+=( $(compgen -W "$words" -- "$word") ) ;;',
        '        files) compopt -o filenames; mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$word") ;;',
        '        folders) compopt -o filenames; mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- "$word") ;;',
        "        # Not by compgen -W, which would run a $(...) that stands in a name.",
        "        asked) local one; while IFS=$'\\t' read -r one _; do",
        '            [[ $one == "$word"* ]] || continue; [[ $one == *= ]] && compopt -o nospace',
        '            printf -v one %q "$one"; COMPREPLY+=("$one")',
        f'        done < <({_ASK} "$words" --of="$before" 2>/dev/null) ;;',
        "    esac",
        "}",
        f"complete -F {_FUNCTION} {names.APP}",
    ]
    return "\n".join(lines) + "\n"


def _patterns(texts: Iterable[str]) -> str:
    return "|".join(shlex.quote(text) for text in texts)


def _bash_value(value: Value) -> str:
    if value.kind in ("words", "asked"):
        return f"kind={value.kind} words={shlex.quote(' '.join(value.words))}"
    return f"kind={value.kind}"


def _bash_argument(values: Sequence[Value]) -> str:
    """What stands at the caret by how many arguments stand before it; the last kind counts for all that follow."""
    *first, last = map(_bash_value, values) if values else ("kind=free",)
    cases = [f"{place}) {value} ;;" for place, value in enumerate(first)]
    return f"case $nth in {' '.join(cases)} *) {last} ;; esac" if first else last


# -- zsh ----------------------------------------------------------------------------------------------------------


def zsh(top: Command) -> str:
    """A function a command, each one call of _arguments."""
    lines = [
        f"#compdef {names.APP}",
        _HEAD,
        f"{_FUNCTION}_ask() {{",
        "    local -a found; local line tab=$'\\t'",
        f'    for line in "${{(@f)$({_ASK} $1 --of="$words[CURRENT-1]" 2>/dev/null)}}"; do',
        '        [[ -n $line ]] && found+=("${${line%%$tab*}//:/\\\\:}:${line#*$tab}")',
        "    done",
        "    if [[ $1 == settings ]]; then _describe -t $1 $1 found -S ''; else _describe -t $1 $1 found; fi",
        "}",
    ]
    for command in reversed(list(top.all())):
        lines += _zsh_function(command)
    lines += [f"if [[ $funcstack[1] == {_FUNCTION} ]]; then", f'    {_FUNCTION} "$@"', "else"]
    lines += [f"    compdef {_FUNCTION} {names.APP}", "fi"]
    return "\n".join(lines) + "\n"


def _zsh_function(command: Command) -> Iterator[str]:
    specs = [_zsh_option(option, flag) for option in command.options for flag in option.flags]
    if command.commands:
        specs += ["1:command:->command", "*::argument:->argument"]
    else:
        *first, last = command.arguments or (None,)
        specs += [f"{place}:argument:{_zsh_value(value)}" for place, value in enumerate(first, 1)]
        if last is not None:
            specs.append(f"*:argument:{_zsh_value(last)}")
    yield f"{_zsh_name(command)}() {{"
    yield "    local curcontext=$curcontext state line; typeset -A opt_args"
    yield "    _arguments -C -S : \\"
    yield from (f"        {shlex.quote(spec)} \\" for spec in specs[:-1])
    yield f"        {shlex.quote(specs[-1])}" if specs else "        ''"
    if command.commands:
        yield "    case $state in"
        told = " ".join(shlex.quote(f"{_zsh_text(sub.path[-1])}:{_zsh_text(sub.help)}") for sub in command.commands)
        yield f"        command) local -a names=({told}); _describe -t commands command names ;;"
        yield "        argument) case $line[1] in"
        yield from (f"            {shlex.quote(sub.path[-1])}) {_zsh_name(sub)} ;;" for sub in command.commands)
        yield "        esac ;;"
        yield "    esac"
    yield "}"


def _zsh_name(command: Command) -> str:
    return "_".join([_FUNCTION, *(word.replace("-", "_") for word in command.path)])


def _zsh_option(option: Option, flag: str) -> str:
    words = _zsh_text(option.help).replace("[", "\\[").replace("]", "\\]")
    if option.value is None:
        return f"*{flag}[{words}]"
    colon = "::" if option.optional else ":"
    joined = "=" if flag.startswith("--") else ""  # --mode=plan as well as --mode plan
    return f"*{flag}{joined}[{words}]{colon}value:{_zsh_value(option.value)}"


def _zsh_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace(":", "\\:")


def _zsh_value(value: Value | None) -> str:
    if value is None or value.kind == "free":
        return " "
    actions: Mapping[str, str] = {
        "words": f"({' '.join(value.words)})",
        "files": "_files",
        "folders": "_files -/",
        "asked": f" {_FUNCTION}_ask {''.join(value.words)}",
    }
    return actions[value.kind]


# -- fish ---------------------------------------------------------------------------------------------------------


def fish(top: Command) -> str:
    """One line for each flag, command and kind of value, each with the place where it counts."""
    lines = [
        _HEAD,
        "function __nanoherm_tui_at",
        "    set -l words (commandline -opc)[2..-1]",
        "    set -l place",
        "    set -l nth 0",
        "    for word in $words",
        "        switch (string join / -- $place $word)",
        f"            case {' '.join(shlex.quote('/'.join(c.path)) for c in top.all() if c.path)}",
        "                set -a place $word",
        "                set nth 0",
        "            case '*/-*' '-*'",
        "            case '*'",
        "                set nth (math $nth + 1)",
        "        end",
        "    end",
        "    set place (string join / -- $place)",
        '    test "$place" = "$argv[1]"; and test (count $argv) -lt 2 -o "$nth" $argv[2..3]',
        "end",
        f"complete -c {names.APP} -f",
    ]
    for command in top.all():
        place = f"__nanoherm_tui_at {'/'.join(command.path)}".rstrip()
        start = f"complete -c {names.APP} -n {shlex.quote(place)}"
        for option in command.options:
            spelled = " ".join(_fish_flag(flag) for flag in option.flags)
            taken = ""
            if option.value is not None:
                taken = f" {'-r' if option.value.kind == 'files' else '-x'} {_fish_value(option.value)}".rstrip()
            lines.append(f"{start} {spelled}{taken} -d {_fish_text(option.help)}")
        for below in command.commands:
            lines.append(f"{start} -a {shlex.quote(below.path[-1])} -d {_fish_text(below.help)}")
        several = len(command.arguments) > 1
        for number, argument in enumerate(command.arguments):
            if value := _fish_value(argument):
                last = number == len(command.arguments) - 1
                here = f"{place} {'-ge' if last else '-eq'} {number}" if several else place
                lines.append(f"complete -c {names.APP} -n {shlex.quote(here)} {value}")
    return "\n".join(lines) + "\n"


def _fish_flag(flag: str) -> str:
    return f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}"


def _fish_value(value: Value) -> str:
    if value.kind == "words":
        return f"-a {shlex.quote(' '.join(value.words))}"
    if value.kind == "asked":
        return f"-a {shlex.quote(f'({_ASK} {value.words[0]} --of=(commandline -opc)[-1] 2>/dev/null)')}"
    if value.kind == "folders":
        return "-a '(__fish_complete_directories)'"
    return "-F" if value.kind == "files" else ""


def _fish_text(text: str) -> str:
    """In single quotes only a backslash and the quote itself mean something to fish."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


WRITERS: Final[Mapping[str, Callable[[Command], str]]] = {"bash": bash, "zsh": zsh, "fish": fish}
