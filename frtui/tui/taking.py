"""Keys of the screen that take something along: reports, lines, source files."""

from __future__ import annotations

from frtui.tui import clipboard
from frtui.tui.base import Base
from frtui.view.select import SOURCE

LINES = 20_000
"""Lines of a pane that are copied; a rank may have two million calls."""


class Taking(Base):
    _copied = ""
    """What was copied last: asked for again, it did not arrive."""

    def action_export(self) -> None:
        self.settle()
        if self.panes:
            from frtui.tui import export

            told = f"write to ({' '.join(export.FORMATS)}): "
            self.prompt.ask(told, self.export, export.default_name(self.panes, self.trail.now))

    def export(self, name: str) -> None:
        from frtui.tui import export

        name = name.strip()
        if self.panes is None or not name:
            return
        try:
            path = export.write(self.panes, self.trail.now, name)
        except OSError as error:
            self.say(f"not written: {error.strerror or error}: {name}", error=True)
            return
        self.wrote(path)

    def wrote(self, path: str, why: str = "") -> None:
        from frtui.tui.app import FrtuiApp

        assert isinstance(self.app, FrtuiApp)
        self.app.written.append(path)
        self.say(f"{why}wrote {path}")

    def action_copy(self) -> None:
        widget = self.desk.active
        if len(widget.rows):
            self.take(widget.rows.copied(widget.cursor), "y")

    def action_copy_pane(self) -> None:
        rows = self.desk.active.rows
        if len(rows) > LINES:
            self.say(f"not copied: {len(rows):,} lines; f leaves fewer, `frtui entries` prints all calls")
        elif len(rows):
            self.take("\n".join(rows.whole()), "Y")

    def take(self, text: str, key: str) -> None:
        """To the clipboard; to a file where it is too long for that, or where it is asked for again."""
        if text != self._copied and len(text) <= clipboard.LIMIT:
            self._copied = text
            self.say(clipboard.copy(self.app, text, key))
            return
        long = f"{len(text):,} characters are too many to copy: " if text != self._copied else ""
        self._copied = ""
        try:
            self.wrote(clipboard.keep(text), long)
        except OSError as error:
            self.say(f"{long}no file could be written: {error.strerror}", error=True)

    def action_editor(self) -> None:
        self.settle()
        if self.panes is None:
            return
        widget = self.desk.active
        shown = widget.rows.frame(widget.cursor) if len(widget.rows) else None
        frame = shown or self.panes.site(str(widget.id), self.trail.now)
        if frame is None:
            self.say("no line here names a source file")
            return
        from frtui.tui import editor

        wrong = editor.edit(self.app, frame)
        if wrong:
            self.say(wrong, error=True)
        if self.trail.now.topic == SOURCE:
            self.fill()  # the file may be another one now
