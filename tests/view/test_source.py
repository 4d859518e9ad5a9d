"""The source of a frame, from a path that a stranger chose."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from frtui.model import Frame
from frtui.view.rows import plain
from frtui.view.select import CALL, SOURCE
from frtui.view.source import MOST, NotHere, SourcePage, locate, read
from tests.view import jobs


def shown(frame: Frame, width: int = 60) -> list[str]:
    page = SourcePage(frame)
    page.fit(width)
    return [plain(page.line(i, width)).rstrip() for i in range(len(page))]


def script(folder: Path, text: str, name: str = "train.py") -> str:
    path = folder / name
    path.write_bytes(text.encode())
    return str(path)


def test_the_lines_around_are_numbered_and_the_frames_marked(tmp_path: Path) -> None:
    path = script(tmp_path, "".join(f"line {n}\n" for n in range(1, 100)))
    title, *lines = shown(Frame("step", path, 60), 400)
    assert title == f"{path}:60  in step"
    assert (lines[0], lines[20], lines[-1]) == ("  40 line 40", "▶ 60 line 60", "  80 line 80")
    assert len(lines) == 41


def test_the_cursor_starts_on_the_line_and_each_line_is_a_place(tmp_path: Path) -> None:
    page = SourcePage(Frame("step", script(tmp_path, "a\nb\nc\n"), 2))
    page.fit(500)
    assert page.position(0) == 2
    assert [page.frame(i) and page.frame(i)[2] for i in range(4)] == [None, 1, 2, 3]  # type: ignore[index]


def test_lines_are_safe_to_print_and_counted_as_python_counts(tmp_path: Path) -> None:
    path = script(tmp_path, "a\x0cb\r\n\tif x:  # \x1b[31m\u202e\rc\u2028d")
    assert shown(Frame("f", path, 2), 400)[1:] == ["  1 a\\x0cb", "▶ 2     if x:  # \\x1b[31m\\u202e", "  3 c\\u2028d"]


def test_a_line_that_the_file_lacks(tmp_path: Path) -> None:
    path = script(tmp_path, "a\nb\n")
    for line in (0, -3, 3, 2**40):
        assert "The file on this machine has 2 lines" in " ".join(shown(Frame("f", path, line)))


def why(filename: str) -> str:
    with pytest.raises(NotHere) as caught:
        read(filename)
    return str(caught.value)


def test_what_is_no_source_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/proc/self/environ")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert why("/job/train.py") == "/job/train.py is not on this machine"
    assert why(str(tmp_path)) == f"{tmp_path} is a folder on this machine"
    assert why(str(tmp_path / "pipe")).endswith("pipe is a device or pipe on this machine")
    for kernel in ("/dev/zero", "/dev/../dev/tty", "/proc/self/environ", str(tmp_path / "link")):
        assert why(kernel) == f"{kernel} is no source file"
    assert "loop" in why(str(tmp_path / "loop"))
    assert why("x" * 5000).startswith("xxx")
    assert why("a\0b").endswith("is not a file")
    for made in ("", "<string>", "<frozen runpy>"):
        assert why(made).endswith("is not a file")


def test_long_files_and_bytes_are_no_source(tmp_path: Path) -> None:
    assert why(script(tmp_path, "x" * (MOST + 1))).endswith("has more than 2.0 MB: too long for a source file")
    assert why(script(tmp_path, "\x7fELF\0")).endswith("is not text")
    assert len(shown(Frame("f", script(tmp_path, "x" * MOST), 1), 60)[-1]) < 3_000


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = script(tmp_path, "a\n")
    os.chmod(path, 0)
    assert why(path) == f"{path} can't be read: Permission denied"


def test_a_name_like_an_option_becomes_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    script(tmp_path, "a\n", "-rf.py")
    assert locate("-rf.py") == str((tmp_path / "-rf.py").resolve())


def test_a_frame_leads_to_its_source_at_every_width(tmp_path: Path) -> None:
    panes = jobs.panes(tmp_path)
    now = panes.first()
    for width in (30, 60, 200):
        rows = panes.pane("call", now).rows
        rows.fit(width)
        frames = [i for i in range(len(rows)) if rows.frame(i)]
        assert [rows.position(rows.key(i)) for i in frames] == frames
        site = next(i for i in frames if plain(rows.line(i, width)).startswith("▶"))
        to, onward = panes.open("call", rows.key(site), now, rows.frame(site))
        assert (to.topic, onward, to.frame) == (SOURCE, "call", Frame("step", *jobs.SITE))
        pane = panes.pane("call", to)
        pane.rows.fit(width)
        assert pane.title == "5 Source"
        assert f"{jobs.SITE[0]} is not on this machine" in " ".join(pane.rows.whole())
    assert panes.open("call", 0, now, None)[0].topic == CALL


def test_the_place_that_each_pane_is_about(tmp_path: Path) -> None:
    panes = jobs.panes(tmp_path)
    first = panes.first()
    assert panes.site("findings", first) == panes.findings[0].site
    assert panes.site("calls", first) == Frame("step", *jobs.SITE)
    assert panes.site("calls", panes.on_finding(1)) is None
