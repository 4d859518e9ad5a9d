"""Writes the manual page and the completions of bash, zsh and fish from the parsers: `make docs`.

A test finds them outdated. They are installed with the wheel, where the shells and `man` look.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from frtui import __version__  # noqa: E402
from frtui.arguments import COMMANDS, EXAMPLES, EXIT_CODES, HELP, parser_of  # noqa: E402
from frtui.demo import ABOUT  # noqa: E402

VALUES = {"demo": tuple(ABOUT)}
"""What a command takes that is neither a folder nor a file."""
ENVIRONMENT = {
    "NO_COLOR": "Draws without colours.",
    "VISUAL, EDITOR": "What o opens at a source line.",
    "TERM": "With TERM=dumb, frtui DIR prints the report.",
}


class Option(NamedTuple):
    names: tuple[str, ...]
    """Empty for what is given by its place."""
    value: str
    """Its name, where one is taken."""
    choices: tuple[str, ...]
    many: bool
    told: str

    @property
    def files(self) -> bool:
        return self.value.endswith("FILE")


def options(command: str) -> Iterator[Option]:
    for action in parser_of(command)._actions:
        if action.help == argparse.SUPPRESS:
            continue
        told = (action.help or "").replace("%%", "%")
        choices = tuple(map(str, action.choices or ()))
        takes = action.nargs != 0
        value = str(action.metavar or action.dest.upper()) if takes else ""
        yield Option(tuple(action.option_strings), value, choices, action.nargs == "+", told)


def named(command: str) -> list[Option]:
    return [option for option in options(command) if option.names]


def description(command: str) -> str:
    return (parser_of(command).description or "").strip()


# The manual page


def manual() -> str:
    lines = [
        f'.TH FRTUI 1 "" "frtui {__version__}" "User Commands"',
        ".SH NAME",
        "frtui \\- find the rank, the call and the source line that a stuck PyTorch job waits for",
        ".SH SYNOPSIS",
        *_synopses(),
        ".SH DESCRIPTION",
        _escape(HELP.split("\n\n")[0].replace("\n", " ")),
        ".SH OPTIONS",
        *_listed(""),
        ".SH COMMANDS",
    ]
    for command in COMMANDS:
        lead, *rest = description(command).split("\n\n")
        lines += [f".SS frtui {command}", _escape(lead.replace("\n", " "))]
        lines += [line for part in rest for line in (".PP", ".nf", _escape(part), ".fi")]
        lines += _listed(command)
    lines += [".SH EXIT STATUS", ".nf", _escape(EXIT_CODES.partition("\n")[2].rstrip()), ".fi"]
    lines += [".SH ENVIRONMENT"]
    lines += [line for name, told in ENVIRONMENT.items() for line in (".TP", f".B {name}", _escape(told))]
    lines += [".SH EXAMPLES", ".nf", _escape(EXAMPLES.partition("\n")[2].rstrip()), ".fi"]
    return "\n".join(lines) + "\n"


def _synopses() -> Iterator[str]:
    for number, command in enumerate(("", *COMMANDS)):
        if number:
            yield ".br"
        values = " ".join(f"\\fI{option.value}\\fR" for option in options(command) if not option.names)
        yield f".B frtui {command}".rstrip()
        yield f"[\\fIoptions\\fR] {values}".rstrip()


def _listed(command: str) -> Iterator[str]:
    for option in named(command):
        value = "|".join(option.choices) or option.value
        names = ", ".join(f"\\fB{_escape(name)}\\fR" for name in option.names)
        yield ".TP"
        yield f"{names} \\fI{_escape(value)}\\fR" if option.value else names
        yield _escape(option.told)


def _escape(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"(?m)^(?=[.'])", r"\\&", text)


# Completions


def bash() -> str:
    cases = []
    for command in ("", *COMMANDS):
        for option in named(command):
            if option.value and (option.choices or option.files):
                what = "_frtui_files; return" if option.files else _compgen(option.choices)
                cases += [f"        '{command} {name}') {what} ;;" for name in option.names]
    words = [
        f"        '{command}') words='{' '.join(name for o in named(command) for name in o.names)}' ;;"
        for command in COMMANDS
    ]
    plain = " ".join(name for option in named("") for name in option.names)
    values = "".join(f"        {command}) {_compgen(given)} ;;\n" for command, given in VALUES.items())
    return BASH.format(
        commands=" ".join(COMMANDS), cases="\n".join(cases), words="\n".join(words), plain=plain, values=values
    )


def _compgen(choices: tuple[str, ...]) -> str:
    return f"COMPREPLY=($(compgen -W '{' '.join(choices)}' -- \"$cur\")); return"


BASH = """\
# bash completion for frtui; made by docs/make.py
_frtui_files() {{
    local IFS=$'\\n'  # names may hold spaces
    COMPREPLY=($(compgen -f -- "$cur"))
}}
_frtui() {{
    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} command= words='{plain}'
    case "${{COMP_WORDS[1]}}" in
        {commands_pattern}) ((COMP_CWORD > 1)) && command=${{COMP_WORDS[1]}} ;;
    esac
    case "$command $prev" in
{cases}
    esac
    case "$command" in
{words}
    esac
    if [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W "$words" -- "$cur"))
        return
    fi
    case "$command" in
{values}    esac
    _frtui_files
    ((COMP_CWORD == 1)) && COMPREPLY+=($(compgen -W '{commands}' -- "$cur"))
}}
complete -o filenames -F _frtui frtui
""".replace("{commands_pattern}", "|".join(COMMANDS))


def zsh() -> str:
    about = "\n".join(f"        {_quoted(f'{name}:{_brief(name)}')}" for name in COMMANDS)
    cases = "\n".join(f"        {name}) _arguments {_specs(name)} ;;" for name in COMMANDS)
    return ZSH.format(about=about, cases=cases, plain=_specs(""))


def _specs(command: str) -> str:
    specs = []
    for option in named(command):
        kind = f"({' '.join(option.choices)})" if option.choices else "_files" if option.files else " "
        value = f":{option.value.lower()}:{kind}" if option.value else ""
        told = option.told.replace("[", "(").replace("]", ")").replace(":", "\\:")
        specs += [_quoted(f"{name}[{told}]{value}") for name in option.names]
    given = f"({' '.join(VALUES[command])})" if command in VALUES else "_files"
    return " ".join([*specs, _quoted(f"*:{command or 'folder'}:{given}")])


ZSH = """\
#compdef frtui
# zsh completion for frtui; made by docs/make.py
_frtui() {{
    local -a commands=(
{about}
    )
    local command=
    if ((CURRENT > 2)) && [[ -n ${{commands[(r)$words[2]:*]}} ]]; then
        command=$words[2]
        shift words
        ((CURRENT--))
    elif ((CURRENT == 2)) && [[ $words[2] != -* ]]; then
        _describe command commands
    fi
    case $command in
{cases}
        *) _arguments {plain} ;;
    esac
}}
if [ "$funcstack[1]" = _frtui ]; then _frtui "$@"; else compdef _frtui frtui; fi
"""


def fish() -> str:
    lines = ["# fish completion for frtui; made by docs/make.py"]
    lines += [f"complete -c frtui -n __fish_use_subcommand -a {name} -d {_quoted(_brief(name))}" for name in COMMANDS]
    for command in ("", *COMMANDS):
        seen = f"__fish_seen_subcommand_from {command}" if command else "__fish_use_subcommand"
        for option in named(command):
            names = " ".join(f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in option.names)
            value = f" -x -a {_quoted(' '.join(option.choices))}" if option.choices else " -r" * bool(option.value)
            lines.append(f"complete -c frtui -n {_quoted(seen)} {names}{value} -d {_quoted(option.told)}")
        if command in VALUES:
            lines.append(f"complete -c frtui -n {_quoted(seen)} -f -a {_quoted(' '.join(VALUES[command]))}")
    return "\n".join(lines) + "\n"


def _brief(command: str) -> str:
    """What the list of commands says of it."""
    found = re.search(rf"(?m)^  frtui {command}\b[^a-z]*(?:[A-Z\[\] ]*)\s{{2,}}(.*)", HELP)
    return found.group(1) if found else description(command).partition(".")[0]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


FILES = {
    "frtui.1": manual,
    "completions/frtui.bash": bash,
    "completions/_frtui": zsh,
    "completions/frtui.fish": fish,
}


def main() -> None:
    for name, make in FILES.items():
        (HERE / name).write_text(make(), encoding="utf-8")


if __name__ == "__main__":
    main()
