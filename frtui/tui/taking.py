"""Keys of the screen that take something along: reports, lines, source files."""

from __future__ import annotations

from frtui.tui import clipboard
from frtui.tui.base import Base


class Taking(Base):
    def action_export(self) -> None:
        self.settle()
        if self.panes:
            from frtui.tui import export

            self.prompt.ask("write to: ", self.export, export.default_name(self.panes, self.trail.now))

    def export(self, name: str) -> None:
        from frtui.tui import export
        from frtui.tui.app import FrtuiApp

        assert isinstance(self.app, FrtuiApp)
        name = name.strip()
        if self.panes is None or not name:
            return
        try:
            path = export.write(self.panes, self.trail.now, name)
        except OSError as error:
            self.say(f"not written: {error.strerror or error}: {name}", error=True)
            return
        self.app.written.append(path)
        self.say(f"wrote {path}")

    def action_copy(self) -> None:
        widget = self.desk.active
        if len(widget.rows):
            self.say(clipboard.copy(self.app, widget.rows.text(widget.cursor).strip()))
