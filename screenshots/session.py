"""Records a short session as an asciinema cast (version 2): the real program in a pseudo-terminal, timed by a script.

What the program writes after each key is one event at the scripted time, so that a slow machine makes the same cast as
a fast one. `asciinema play screenshots/session.cast` plays it.
"""

from __future__ import annotations

import codecs
import fcntl
import json
import os
import pty
import re
import select
import struct
import sys
import termios
from pathlib import Path

WIDTH, HEIGHT = 120, 32
TYPING = 0.06
"""Seconds a letter."""
PROMPT = "\x1b[1m$\x1b[0m "
SCRIPT = (
    ("w", 3.0),  # who waits for whom
    ("m", 3.0),  # ranks by groups
    ("\x1b", 3.0),
    ("5", 1.0),  # what the blamed rank was in
    ("/", 0.8),
    *((letter, TYPING) for letter in "batch  "),
    ("\r", 0.6),
    ("\r", 2.5),  # the source of that frame
    ("\x1b", 3.5),  # clears what was searched for
    ("\x1b", 0.3),  # back
    ("1", 1.0),
    ("e", 1.0),
    ("\x1b", 2.5),
    ("q", 1.0),
)
"""(key, seconds before it is pressed)."""

# Whoever plays the cast must not have their terminal asked, nor told to send what nobody reads.
_QUESTIONS = re.compile(r"\x1b\[\?\d+\$p|\x1b\[[<>=?]\d*u|\x1b\[\?(?:1004|2004|2048)[hl]|\x1b\[>?\d*[cq]")


class Session:
    def __init__(self, source: str) -> None:
        root = str(Path(__file__).parent.parent)
        unset = ("NO_COLOR", "TMUX", "SSH_CONNECTION", "COLUMNS", "LINES")
        env = {name: value for name, value in os.environ.items() if name not in unset}
        env.update(TERM="xterm-256color", COLORTERM="", LANG="C.UTF-8", PYTHONPATH=root)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))
            os.execvpe(sys.executable, [sys.executable, "-m", "frtui", "--no-mouse", source], env)

    def output(self, quiet: float = 0.7) -> str:
        """All that comes until nothing has come for a while, or the program has ended."""
        told = ""
        while select.select([self.fd], [], [], quiet)[0]:
            try:
                data = os.read(self.fd, 65536)
            except OSError:  # it has ended
                break
            if not data:
                break
            told += self._decoder.decode(data)
        return _QUESTIONS.sub("", told)

    def press(self, key: str) -> str:
        os.write(self.fd, key.encode())
        return self.output()


def record(source: str) -> str:
    """The cast, as text."""
    now, events = 0.0, [(0.0, PROMPT)]
    for letter in f"frtui {source}":
        now += TYPING
        events.append((now, letter))
    now += 0.5
    events.append((now, "\r\n"))
    session = Session(source)
    told = session.output(quiet=2)
    now += 0.5
    events.append((now, told))
    for key, wait in SCRIPT:
        now += wait
        events.append((now, session.press(key)))
    os.waitpid(session.pid, 0)
    os.close(session.fd)
    events.append((now + 0.2, PROMPT))
    events.append((now + 2.0, ""))
    header = {
        "version": 2,
        "width": WIDTH,
        "height": HEIGHT,
        "title": f"frtui {source}",
        "env": {"TERM": "xterm-256color"},
    }
    lines = [json.dumps(header), *(json.dumps([round(at, 3), "o", text]) for at, text in events)]
    return "\n".join(lines) + "\n"
