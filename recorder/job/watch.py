"""The thread that notices: a signal, a request, a call that stays open. One a process, while a group exists."""

from __future__ import annotations

import functools
import selectors
import signal
import socket
import threading
import time
from collections import deque
from typing import Any, Callable

from recorder import ringfile, sockets
from recorder.job.peers import Peers
from recorder.job.replies import reply
from recorder.job.session import Session
from recorder.job.signals import Signals
from recorder.paths import request_path, socket_path

INTERVAL_S = 0.1
"""Between two polls: how late the end of a call that nobody waits for in Python is noticed."""


class Watch:
    """Watches one session; between two of them (the group was destroyed) only signals."""

    def __init__(self, signals: Signals, group_exists: Callable[[], bool]) -> None:
        self.signals = signals
        self.session: Session | None = None
        self.peers: Peers | None = None
        self._group_exists = group_exists
        self._requests: deque[tuple[str, bool]] = deque()
        self._busy = False
        self._stopped = False
        self._server: socket.socket | None = None
        self._thread = threading.Thread(target=self._run, name="recorder-watch", daemon=True)
        self._thread.start()

    def begin(self, session: Session, store: Any, key_prefix: str) -> None:
        """Watch `session` from now on."""
        self._server = self._listen(session)
        request_file = request_path(session.options.folder)
        self.peers = Peers(store, key_prefix, request_file, lambda reason: self.request(reason, tell=False))
        session.tell = self.peers.tell
        session.calls.on_failure = self._failed
        self.session = session
        self.signals.wake()

    def end(self, how: int) -> None:
        """The session is over: DESTROYED or EXITED."""
        session, peers, listening = self.session, self.peers, self._server
        self.session = self.peers = self._server = None
        if session is not None:
            session.finish(how)
        if peers is not None:
            peers.stop()
        if listening is not None:
            listening.close()

    def request(self, reason: str, tell: bool = True) -> None:
        """Let the thread dump, soon. From any thread."""
        self._requests.append((reason, tell))
        self.signals.wake()

    def flush(self, seconds: float) -> None:
        """Wait until what was requested is written and told: the process is about to end."""
        end = time.monotonic() + seconds
        while (self._requests or self._busy) and time.monotonic() < end:
            time.sleep(0.01)
        if self.peers is not None:
            self.peers.flush(max(0.0, end - time.monotonic()))

    def stop(self) -> None:
        self._stopped = True
        self.signals.wake()
        if threading.current_thread() is not self._thread:
            self._thread.join(2.0)

    def forget(self) -> None:
        """In a forked child, where the threads don't run: close the copies of what the parent listens to."""
        self.session = self.peers = None
        if self._server is not None:
            self._server.close()

    def _listen(self, session: Session) -> socket.socket | None:
        if not session.options.socket:
            return None
        try:
            return sockets.listen(socket_path(session.options.folder, session.rank))
        except OSError as error:
            session.say(f"no socket for requests ({error}); signals and the request file still work")
            return None

    def _failed(self, record: int, name: str, error: str) -> None:
        self.request(f"call {record} ({name}) failed: {error[:300]}")

    def _run(self) -> None:
        while not self._stopped:
            listening = self._server
            with selectors.DefaultSelector() as selector:
                selector.register(self.signals.read_end, selectors.EVENT_READ)
                if listening is not None and listening.fileno() >= 0:
                    selector.register(listening, selectors.EVENT_READ)
                while not self._stopped and self._server is listening:
                    self._once(selector)

    def _once(self, selector: selectors.BaseSelector) -> None:
        for key, _ in selector.select(INTERVAL_S):
            if key.fileobj is self.signals.read_end:
                self._signalled(self.signals.received())
            elif self.session is not None and self._server is not None:
                sockets.answer(self._server, functools.partial(reply, self.session))
        session = self.session
        if session is not None:
            try:
                self._look(session)
            except Exception:  # a fault of ours must not end the only thread that can still write a dump
                session.calls.faults += 1

    def _signalled(self, numbers: list[int]) -> None:
        for number in numbers:
            name = signal.Signals(number).name
            ends = number == signal.SIGTERM
            if self.session is not None and name[3:] in self.session.options.signals:
                self.session.dump(name, tell=False, demanded=not ends)
            if ends and self.signals.ours(number):
                self.signals.die_of(number)

    def _look(self, session: Session) -> None:
        self._busy = True
        while self._requests:
            reason, tell = self._requests.popleft()
            session.dump(reason, tell=tell)
        self._busy = False
        if not self._group_exists():
            self.end(ringfile.DESTROYED)
            return
        session.poll()
        reason_stuck = session.stuck()
        if reason_stuck:
            session.dump(reason_stuck)
