"""The line at the bottom where text is typed: find, filter, a file name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static


class Prompt(Horizontal):
    """Hidden until something is asked; the screen hides it again with `close`."""

    @dataclass
    class Answered(Message):
        text: str
        then: Callable[[str], None]
        """Who asked."""

    def __init__(self, *, id: str) -> None:  # noqa: A002
        super().__init__(id=id)
        self.then: Callable[[str], None] = lambda text: None
        self.display = False

    def compose(self) -> ComposeResult:
        yield Static("", id="question", markup=False)
        field = Input(id="answer", compact=True, select_on_focus=False)
        field.cursor_blink = False
        yield field

    def ask(self, question: str, then: Callable[[str], None], text: str = "") -> None:
        """Ask for a line, with `text` to start from; `then` gets it when it is entered."""
        self.then = then
        self.query_one("#question", Static).update(question)
        field = self.query_one("#answer", Input)
        field.value = text
        field.cursor_position = len(text)
        self.show_instead_of_hints(True)
        self.screen.set_focus(field)

    def close(self) -> None:
        self.show_instead_of_hints(False)

    def show_instead_of_hints(self, on: bool) -> None:
        """In place of the last line, so that nothing else has to move."""
        self.display = on
        self.screen.set_class(on, "-asking")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Answered(event.value, self.then))
