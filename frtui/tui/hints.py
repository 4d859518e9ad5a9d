"""The last line of the screen: what the keys do; for some seconds, what a key has to say."""

from __future__ import annotations

from textual.timer import Timer

from frtui.tui import keys
from frtui.tui.lines import LineList
from frtui.view.rows import Line, Page, wrap

MOST = 4
"""Lines of a message; it must not hide what it speaks of."""
SECONDS, ERROR_SECONDS = 4.0, 8.0


class Hints(LineList):
    said = ""
    """The message that is shown."""

    def __init__(self, *, id: str) -> None:  # noqa: A002
        super().__init__(id=id, cursor=False)
        self._over: Timer | None = None

    def on_mount(self) -> None:
        self.offer()

    def offer(self) -> None:
        self.said = ""
        self._put(Page(_keys))

    def say(self, text: str, error: bool) -> None:
        """Until the next message, or for some seconds."""
        self.said = text
        self._put(Page(lambda width: [[(line, "bad" if error else "bold")] for line in wrap(text, width)]))
        self._over = self.set_timer(ERROR_SECONDS if error else SECONDS, self.offer)

    def _put(self, page: Page) -> None:
        if self._over:
            self._over.stop()
        self.show(page)
        lines = min(MOST, max(1, len(page)))
        if lines != self.size.height:  # else nothing has to be laid out anew, which is most of what a key costs
            self.styles.height = lines


def _keys(_width: int) -> list[Line]:
    line: Line = []
    for name, told in keys.footer():
        line += [("  " if line else "", "plain"), (name, "bold"), (f" {told}", "plain")]
    return [line]
