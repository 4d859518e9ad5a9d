"""The application: one screen, signals, commands. Everything else is in the screen and its widgets."""

from __future__ import annotations

import asyncio
import pkgutil
import signal
import sys
import traceback
from collections.abc import Iterable
from functools import partial
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import App, SystemCommand
from textual.binding import BindingType
from textual.driver import Driver
from textual.screen import Screen

from frtui.text import clean
from frtui.tui import keys
from frtui.tui.lines import safe
from frtui.tui.loader import Reader
from frtui.tui.screen import Main
from frtui.tui.steady import Palette


class FrtuiApp(App[None]):
    # Read here, not by CSS_PATH, which cannot read from a zip file; importlib.resources takes longer to import.
    CSS = (pkgutil.get_data("frtui.tui", "frtui.tcss") or b"").decode()
    TITLE = "frtui"
    ENABLE_COMMAND_PALETTE = True
    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = keys.APP

    def __init__(
        self, source: str, reader: Reader, *, plain: bool = False, watch: bool = False, debug: bool = False
    ) -> None:
        """`plain`: ASCII only; `watch`: follow the folder; `debug`: a crash prints local variables, too."""
        super().__init__(ansi_color=True)
        self.theme = "ansi-dark"
        self.animation_level = "none"
        self.source, self.reader = clean(source), reader
        self.plain, self.watch_folder, self.full_traceback = plain, watch, debug
        self.written: list[str] = []
        """Paths of the reports that were exported, to be printed after the screen is gone."""

    def get_default_screen(self) -> Screen[None]:
        return Main(self.source, self.reader, watching=self.watch_folder)

    def on_mount(self) -> None:
        self.set_class(self.plain, "-plain")
        # Without these the process dies with the terminal in the alternate screen and mouse mode.
        if sys.platform != "win32":
            loop = asyncio.get_running_loop()
            for number in (signal.SIGTERM, signal.SIGHUP):
                loop.add_signal_handler(number, partial(self.exit, None, 128 + number))

    @on(Driver.SignalResume)
    def draw_again(self) -> None:
        """After ctrl+z and fg: Textual takes the terminal for as it left it, and would draw what changes only."""
        self.refresh(layout=True)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Every action of the screen and of the focused list, by its name."""
        for binding in keys.EVERY:
            if binding.id and binding.id not in keys.NOT_COMMANDS:
                run = partial(self._run_command, screen, binding.action)
                told = safe(self, f"{binding.tooltip} ({keys.shown(binding)})")
                yield SystemCommand(binding.description, told, run)

    def action_command_palette(self) -> None:
        if not isinstance(self.screen, Palette):
            self.push_screen(Palette(placeholder="command", id="--command-palette"))

    async def _run_command(self, screen: Screen[object], action: str) -> None:
        on_list = action in keys.LIST_ACTIONS
        await self.run_action(action, screen.focused if on_list and screen.focused else screen)

    def _fatal_error(self) -> None:
        """A short traceback: Textual's own prints local variables, which may hold the user's data."""
        if self.full_traceback:
            super()._fatal_error()
            return
        told = "".join(traceback.format_exception(*sys.exc_info()))
        self._exit_renderables.append(Text(told + "This is a bug in frtui; --debug shows more."))
        self._close_messages_no_wait()
