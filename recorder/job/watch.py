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
from recorder.paths import socket_path

INTERVAL_S = 0.1
"""Between two polls: how late the end of a call that nobody waits for in Python is noticed."""
GRACE_S = 15.0
"""For the dump of a process that was told to end; launchers and schedulers send SIGKILL after 30."""
AT_ONCE, PAUSE_S = 10, 60.0
"""A job may handle errors of its calls and go on: after so many dumps the next ones are so far apart."""

# epoll would have a descriptor of its own, of which every forked child gets a copy.
_Selector = getattr(selectors, "PollSelector", selectors.SelectSelector)


class Watch:
    """Watches one session; between two of them (the group was destroyed) only signals."""

    def __init__(self, signals: Signals, group_exists: Callable[[], bool]) -> None:
        self.signals = signals
        self.session: Session | None = None
        self.peers: Peers | None = None
        self._group_exists = group_exists
        self._requests: deque[tuple[str, bool, bool]] = deque()
        self._busy = self._ending = self._stopped = False
        self._dumps, self._not_before = 0, 0.0
        self._lock = threading.Lock()
        """Held to begin and to end a session: the job's thread and ours do both."""
        self._server: socket.socket | None = None
        self._thread = threading.Thread(target=self._run, name="recorder-watch", daemon=True)
        self._thread.start()

    def begin(self, session: Session, store: Any, key_prefix: str) -> None:
        """Watch `session` from now on."""
        with self._lock:
            self._requests.clear()
            self._dumps, self._not_before = 0, 0.0
            self._server = self._listen(session)
            self.peers = Peers(
                store,
                key_prefix,
                session.options.folder,
                session.world_size,
                lambda reason: self.request(reason, tell=False),
                self._group_exists,
            )
            session.tell = self.peers.tell
            session.calls.on_failure = self._failed
            self.session = session
        self.signals.wake()

    def end(self, how: int, only: Session | None = None) -> Peers | None:
        """The session is over: DESTROYED or EXITED. `only`: unless another has begun. The peers, which end soon."""
        with self._lock:
            session, peers, listening = self.session, self.peers, self._server
            if only not in (None, session):
                return None
            self.session = self.peers = self._server = None
        if session is not None:
            session.finish(how)
        if peers is not None:
            peers.stop()
        if listening is not None:
            listening.close()
        return peers

    def request(self, reason: str, tell: bool = True, stuck: bool = False) -> None:
        """Let the thread dump, soon. From any thread."""
        self._requests.append((reason, tell, stuck))
        self.signals.wake()

    def flush(self, seconds: float) -> None:
        """Wait until what was requested is written and told: the process is about to end."""
        end = time.monotonic() + seconds
        self._ending = True
        self.signals.wake()
        while (self._requests or self._busy) and self._thread.is_alive() and time.monotonic() < end:
            time.sleep(0.01)
        self._ending = False
        peers = self.peers
        if peers is not None:
            peers.flush(max(0.0, end - time.monotonic()))

    def is_time(self) -> bool:
        """False while dumps have been so many that the next one waits."""
        return time.monotonic() >= self._not_before

    def stop(self, seconds: float) -> None:
        self._stopped = True
        self.signals.wake()
        if threading.current_thread() is not self._thread:
            self._thread.join(seconds)

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

    def _failed(self, name: str, error: str) -> None:
        self.request(f"{name} failed: {error[:300]}")

    def _run(self) -> None:
        while not self._stopped:
            try:
                self._rounds(self._server)
            except Exception:  # a fault of ours must not end the only thread that can still write a dump
                self._fault()

    def _rounds(self, listening: socket.socket | None) -> None:
        """Until there is another socket to listen to."""
        with _Selector() as selector:
            selector.register(self.signals.read_end, selectors.EVENT_READ)
            if listening is not None and listening.fileno() >= 0:
                selector.register(listening, selectors.EVENT_READ)
            while not self._stopped and self._server is listening:
                self._once(selector, listening)

    def _once(self, selector: selectors.BaseSelector, listening: socket.socket | None) -> None:
        session = self.session
        for key, _ in selector.select(INTERVAL_S):
            if key.fileobj == self.signals.read_end:
                self._signalled(self.signals.received())
            elif session is not None and listening is not None:
                sockets.answer(listening, functools.partial(reply, session))
        session = self.session
        if session is not None:
            self._look(session)

    def _fault(self) -> None:
        session = self.session
        if session is not None:
            session.calls.faults += 1
        time.sleep(INTERVAL_S)

    def _signalled(self, numbers: list[int]) -> None:
        for number in dict.fromkeys(numbers):
            ends = number == signal.SIGTERM and self.signals.ours(number)
            if ends:
                self.signals.let_kill(number)  # a second one does, whatever becomes of the dump
                threading.Thread(target=self._die_late, args=(number,), name="recorder-end", daemon=True).start()
            try:
                session = self.session
                if session is not None and number in session.signal_numbers:
                    name = signal.Signals(number).name
                    session.dump(name, tell=False, demanded=number != signal.SIGTERM)
            finally:
                if ends:
                    self.signals.die_of(number)

    def _die_late(self, number: int) -> None:
        """A dump to a file system that hangs must not keep the process from its end."""
        time.sleep(GRACE_S)
        self.signals.die_of(number)

    def _look(self, session: Session) -> None:
        if self._requests and (self._ending or self.is_time()):
            self._busy = True
            try:
                self._answer_requests(session)
            finally:
                self._busy = False
        if not self._group_exists():
            self.end(ringfile.DESTROYED, session)
            return
        session.poll()
        reason = session.stuck()
        if reason:
            self.request(reason, stuck=True)

    def _answer_requests(self, session: Session) -> None:
        """All in one dump: a peer that dies makes every open call fail."""
        told = []
        while self._requests:
            told.append(self._requests.popleft())
        reasons = list(dict.fromkeys(reason for reason, _, _ in told))
        tell, stuck = any(tell for _, tell, _ in told), any(stuck for _, _, stuck in told)
        session.dump(reasons[0], *reasons[1:], tell=tell, stuck=stuck)
        self.count()

    def count(self) -> None:
        """A dump was made that nobody asked for."""
        self._dumps += 1
        self._not_before = time.monotonic() + PAUSE_S if self._dumps >= AT_ONCE else 0.0
