"""Every key: one table from which the screen, the help, the footer and the command palette are made."""

from __future__ import annotations

from textual.binding import Binding, BindingType

FOOTER = {
    "waits": "Waits",
    "across": "Across",
    "aligned": "Beside",
    "finding-next": "Next",
    "find": "Find",
    "export": "Export",
    "back": "Back",
    "help": "Help",
    "quit": "Quit",
}
"""What the last line of the screen offers, by id, in at most 80 columns."""


def key(keys: str, action: str, id: str, description: str, tooltip: str) -> Binding:  # noqa: A002
    return Binding(keys, action, description, id=id, tooltip=tooltip, show=id in FOOTER)


LIST: list[BindingType] = [
    key("j,down", "move(1)", "move-down", "Down", "down / up"),
    key("k,up", "move(-1)", "move-up", "Up", "line up"),
    key("ctrl+d,pagedown", "page(1)", "page-down", "Page down", "page down / up"),
    key("ctrl+u,pageup", "page(-1)", "page-up", "Page up", "page up"),
    key("g,home", "goto(0)", "goto-top", "Top", "first / last line"),
    key("G,end", "goto(-1)", "goto-bottom", "Bottom", "last line"),
    key("h,left", "sideways(-1)", "sideways-left", "Left", "sideways; → into Calls"),
    key("l,right", "sideways(1)", "sideways-right", "Right", "right; from Ranks and Groups into Calls"),
    key("enter", "open", "open", "Open", "open this line"),
]

SCREEN: list[BindingType] = [
    key("1", "pane('findings')", "pane-1", "Findings", "go to pane 1-5"),
    key("2", "pane('ranks')", "pane-2", "Ranks", "go to Ranks"),
    key("3", "pane('groups')", "pane-3", "Groups", "go to Groups"),
    key("4", "pane('calls')", "pane-4", "Calls", "go to Calls"),
    key("5", "pane('call')", "pane-5", "Call", "go to Call"),
    key("tab", "cycle(1)", "cycle-next", "Next pane", "next / previous pane"),
    key("shift+tab", "cycle(-1)", "cycle-previous", "Previous pane", "previous pane"),
    key("escape", "back", "back", "Back", "one step back, no quit"),
    key("slash", "find", "find", "Find", "find; text or regex"),
    key("n", "find_next(1)", "findagain-next", "Find next", "next / previous match"),
    key("N", "find_next(-1)", "findagain-previous", "Find previous", "previous match"),
    key("f", "filter", "filter", "Filter", "filter this pane *"),
    key("s", "sort", "sort", "Sort", "sort Ranks, Calls"),
    key("number_sign", "jump", "jump", "Go to", "go to rank, group, call"),
    key("left_square_bracket", "finding(-1)", "finding-previous", "Previous finding", "previous / next finding"),
    key("right_square_bracket", "finding(1)", "finding-next", "Next finding", "next finding"),
    key(
        "left_curly_bracket",
        "turning(-1)",
        "turning-previous",
        "Previous open call",
        "open or differing call",
    ),
    key("right_curly_bracket", "turning(1)", "turning-next", "Next open call", "next open or differing call"),
    key("x", "topic('across')", "across", "Across", "this call on all ranks"),
    key("w", "topic('waits')", "waits", "Waits", "who waits for whom"),
    key("a", "topic('aligned')", "aligned", "Beside", "beside its witnesses"),
    key("m", "topic('matrix')", "matrix", "Matrix", "ranks by groups"),
    key("t", "topic('times')", "times", "Times", "slow calls, late ranks"),
    key("c", "unfold", "unfold", "All frames", "all frames / all ranks"),
    key("z", "zoom", "zoom", "Zoom", "zoom this pane / back"),
    key("e", "export", "export", "Export", "export to a file"),
    key("y", "copy", "copy-line", "Copy", "copy line / pane"),
    key("Y", "copy_pane", "copy-pane", "Copy pane", "copy all lines of this pane"),
    key("o", "editor", "editor", "Editor", "editor at source line"),
    key("r", "reload", "reload", "Reload", "read the folder again"),
    key("W", "watch", "watch", "Watch", "follow the folder"),
    key("v", "attempt", "attempt", "Attempt", "the attempt before"),
    key("ctrl+l", "redraw", "redraw", "Redraw", "draw the screen again"),
    key("question_mark", "help", "help", "Help", "this page"),
]

APP: list[BindingType] = [
    key("colon,ctrl+p", "command_palette", "commands", "Commands", "all commands by name"),
    key("ctrl+z", "suspend_process", "suspend", "Suspend", "suspend; fg comes back"),
    Binding("q", "quit", "Quit", id="quit", tooltip="quit", show=True),
    # Before the focused widget: in a prompt, too, ctrl+c ends the program.
    Binding("ctrl+c", "quit", "Quit", id="quit-now", tooltip="quit", show=False, priority=True),
]

EVERY: list[Binding] = [binding for binding in (*LIST, *SCREEN, *APP) if isinstance(binding, Binding)]
LIST_ACTIONS = {binding.action for binding in LIST if isinstance(binding, Binding)}
NOT_COMMANDS = {"commands", "quit-now"}

_NAMES = {
    "down": "↓",
    "up": "↑",
    "left": "←",
    "right": "→",
    "pagedown": "PgDn",
    "pageup": "PgUp",
    "home": "Home",
    "end": "End",
    "enter": "Enter",
    "tab": "Tab",
    "shift+tab": "shift+Tab",
    "escape": "Esc",
    "slash": "/",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
    "question_mark": "?",
    "number_sign": "#",
    "colon": ":",
}


def names(binding: Binding) -> list[str]:
    return [_NAMES.get(name, name.replace("ctrl+", "^")) for name in binding.key.split(",")]


def shown(binding: Binding) -> str:
    return " ".join(names(binding))


def families() -> list[tuple[str, str]]:
    """(keys, what they do), one for each family of ids that differ after `-` only, as the help shows them."""
    found: dict[str, tuple[list[str], str]] = {}
    for binding in EVERY:
        name = (binding.id or "").partition("-")[0]
        shown_keys, _ = found.setdefault(name, ([], binding.tooltip))
        shown_keys += names(binding)
    return [(pretty(shown_keys), told) for shown_keys, told in found.values()]


def pretty(shown_keys: list[str]) -> str:
    """`j k ↓ ↑`: letters first, then the longer names of the same keys."""
    digits = [name for name in shown_keys if name.isdigit()]
    if len(digits) > 2:
        return f"{digits[0]}-{digits[-1]}"
    return " ".join(sorted(shown_keys, key=lambda name: len(name) > 1 or not name.isascii()))


def footer() -> list[tuple[str, str]]:
    """(key, name) of what the last line of the screen offers."""
    by_id = {binding.id or "": binding for binding in EVERY}
    return [(names(by_id[name])[0], told) for name, told in FOOTER.items()]
