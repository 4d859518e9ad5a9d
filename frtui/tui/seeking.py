"""Keys of the screen that find and filter."""

from __future__ import annotations

from frtui.tui.base import Base
from frtui.tui.searching import SearchList


class Seeking(Base):
    def action_find(self) -> None:
        self.prompt.ask("find: ", self.desk.active.find)

    def action_find_next(self, step: int) -> None:
        self.desk.active.find_again(step)

    def action_filter(self) -> None:
        self.prompt.ask("filter: ", self.filter, self.desk.active.filter)

    def filter(self, query: str) -> None:
        self.desk.active.filter = query.strip()
        self.fill()

    def on_search_list_missed(self, message: SearchList.Missed) -> None:
        self.say(message.text)
