"""Takes the pictures of the README from the demo dumps, and a recorded session: `make screenshots`.

Writes an SVG of each, and a PNG where resvg_py is installed and the machine has the DejaVu fonts: they hold every
glyph that the screen uses. `python screenshots/make.py main waits` takes only those; `session` is one of them.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import session

import frtui.demo
from frtui.tui import set_defaults

HERE = Path(__file__).parent


class Shot(NamedTuple):
    name: str
    demo: str
    size: tuple[int, int]
    keys: tuple[str, ...] = ()


SHOTS = (
    Shot("main", "loader", (130, 34)),
    Shot("narrow", "loader", (80, 24)),
    Shot("waits", "deadlock", (130, 34), ("w",)),
    Shot("aligned", "tutorial", (130, 34), ("a",)),
    Shot("matrix", "deadlock", (130, 34), ("m",)),
    Shot("across", "tutorial", (130, 34), ("x",)),
    Shot("source", "loader", (130, 34), ("5", "slash", *"batch", "space", "space", "enter", "enter")),
    Shot("help", "tutorial", (80, 24), ("question_mark",)),
)
SESSION = "session"
JOB = Path("/tmp/job")


async def svg_of(shot: Shot) -> str:
    # Textual reads its settings when it is imported.
    set_defaults()
    from frtui.tui.app import FrtuiApp
    from frtui.tui.loader import folder as reader
    from frtui.tui.screen import Main

    source = f"dumps/{shot.demo}"
    app = FrtuiApp(source, reader(source, None, None))
    async with app.run_test(size=shot.size) as pilot:
        while not (isinstance(app.screen, Main) and app.screen.panes):
            await pilot.pause(0.05)
        await pilot.pause(0.5)
        await pilot.press(*shot.keys)
        await pilot.pause(0.5)
        return app.export_screenshot(title=f"frtui {source}")


@contextmanager
def source_of_the_job() -> Iterator[None]:
    """The script of the job that was recorded, where its stacks say; unless something else lies there."""
    if JOB.exists():
        yield
        return
    JOB.mkdir()
    try:
        shutil.copy(HERE.parent / "tests" / "demo_jobs" / "idle.py", JOB / "train.py")
        yield
    finally:
        shutil.rmtree(JOB)


@contextmanager
def short_paths() -> Iterator[None]:
    """A working folder in which the demo dumps lie under `dumps/`: the pictures show no path of this machine."""
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        dumps = Path(folder) / "dumps"
        shutil.copytree(Path(frtui.demo.__file__).parent, dumps, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(here)


def fonts() -> list[str]:
    """Files of the DejaVu fonts; empty where the machine has none."""
    try:
        told = subprocess.run(
            ["fc-list", ":family=DejaVu Sans Mono", "file"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return []
    return [line.rstrip(": ") for line in told.stdout.splitlines()]


def png_of(svg: str) -> bytes:
    import resvg_py

    svg = svg.replace("font-family: arial", "font-family: DejaVu Sans Mono").replace("Fira Code", "DejaVu Sans Mono")
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, monospace_family="DejaVu Sans Mono", zoom=1))


def main() -> None:
    with_png = bool(importlib.util.find_spec("resvg_py") and fonts())
    if not with_png:
        print("no PNG: resvg_py or the DejaVu Sans Mono font is missing")
    wanted = sys.argv[1:] or [*(shot.name for shot in SHOTS), SESSION]
    if SESSION in wanted:
        with short_paths(), source_of_the_job():
            cast = session.record("dumps/loader")
        (HERE / f"{SESSION}.cast").write_text(cast, encoding="utf-8")
        print(f"screenshots/{SESSION}.cast")
    for shot in (shot for shot in SHOTS if shot.name in wanted):
        with short_paths(), source_of_the_job():
            svg = asyncio.run(svg_of(shot))
        (HERE / f"{shot.name}.svg").write_text(svg, encoding="utf-8")
        if with_png:
            (HERE / f"{shot.name}.png").write_bytes(png_of(svg))
        print(f"screenshots/{shot.name}")


if __name__ == "__main__":
    main()
