"""Keys of the screen that find, filter, sort and jump."""

from __future__ import annotations

from frtui.tui.base import Base
from frtui.tui.searching import SearchList
from frtui.view import fields, jump, sorting


class Seeking(Base):
    def action_find(self) -> None:
        self.prompt.ask("find text or regex, e.g. layers.py: ", self.desk.active.find)

    def action_find_next(self, step: int) -> None:
        self.desk.active.find_again(step)

    def action_filter(self) -> None:
        self.prompt.ask("filter, e.g. state:open or tp: ", self.filter, self.desk.active.filter)

    def filter(self, query: str) -> None:
        pane = self.desk.active
        wrong = fields.complaint(self.panes.index, str(pane.id), query) if self.panes else ""
        if wrong:
            self.say(wrong, error=True)
            return
        pane.filter = query.strip()
        self.fill()

    def action_sort(self) -> None:
        self.settle()
        pane = self.desk.active
        if str(pane.id) not in sorting.ORDERS:
            self.say("Ranks and Calls can be sorted; 2 and 4 lead there")
        else:
            pane.order = sorting.following(str(pane.id), pane.order)
            self.fill()
            if pane.order and pane.id == "ranks":
                pane.action_goto(0)  # to who has most of it; in Calls, the call that is looked at stays

    def action_jump(self) -> None:
        self.settle()
        self.prompt.ask(f"go to {jump.ASKS}: ", self.jump)

    def jump(self, text: str) -> None:
        if self.panes and text.strip():
            to = jump.jump(self.panes.index, self.trail.now, str(self.desk.active.id), text)
            if isinstance(to, str):
                self.say(to, error=True)
                return
            self.follow(self.trail.go(to.selection))
            self.desk.go_to(to.pane)

    def on_search_list_missed(self, message: SearchList.Missed) -> None:
        self.say(message.text)
