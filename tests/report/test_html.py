"""The report as one file for a browser: well-formed, loading nothing, whatever the names in the dumps."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

from frtui.engine import diagnose
from frtui.load import load
from frtui.report import render
from tests.dumps import dump, entry, frame, write
from tests.recorded import SLEEPS, recorded, thread
from tests.report.test_render import NASTY, finding_of, job_of

EMPTY = {"meta"}
ATTRIBUTES = {"lang", "charset", "http-equiv", "content", "name", "open", "class"}
DEMO = Path(__file__).parents[2] / "frtui" / "demo"


class Page(HTMLParser):
    """Notes what a browser would; fails where an element is not closed in its turn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.told: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes += attrs
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.told.append(data)


def test_it_says_what_the_others_say(tmp_path: Path) -> None:
    job = job_of(tmp_path)
    page = Page(render(job, [finding_of(job)], "html").decode())
    told = " ".join(page.told)
    for fact in (
        "NOT-JOINED (proven)",
        "Rank 2 never made an all_reduce in tp.",
        "train.py:60",
        "all_reduce, call 2 in tp:tp (ranks 0-3)",
        "ranks 0-1, 3 wait for rank 2",
        "Stack of rank 0 at all_reduce, call 2, innermost first",
        "Take a stack of rank 2: py-spy dump",
        "4 ranks read of 4, 1 process group",
    ):
        assert fact in told, fact


def test_the_folded_frames_are_there_to_unfold(tmp_path: Path) -> None:
    job = job_of(tmp_path)
    text = render(job, [finding_of(job)], "html").decode()
    assert text.count("<details open>") == 1
    folded = text[text.index("<details><summary>3 frames of torch and C++") : text.index("</details>")]
    assert folded.count("torch_inner") == 3
    assert "step" not in folded
    assert text.index("</details>") < text.index("<span>step</span><span>train.py:60</span>")


def test_it_loads_nothing_and_runs_nothing() -> None:
    for name in ("tutorial", "loader"):
        job = load(str(DEMO / name))
        text = render(job, diagnose(job), "html").decode()
        page = Page(text)
        assert not {"script", "link", "img", "iframe", "object", "a", "base", "svg"} & set(page.elements)
        assert {name for name, _ in page.attributes} <= ATTRIBUTES
        assert "url(" not in text
        assert "@import" not in text
        policy = next(value for name, value in page.attributes if name == "content" and value)
        assert policy.startswith("default-src 'none'; ")
        style = re.search(r"(?s)<style>(.*?)</style>", text)
        assert style
        digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
        assert f"style-src 'sha256-{digest}';" in policy, "only our own style is allowed"


def test_hostile_names_are_text(tmp_path: Path) -> None:
    plain, nasty = tmp_path / "a", tmp_path / "b"
    made = [job_of(plain), job_of(nasty, NASTY, NASTY)]
    texts = [render(job, [finding_of(job, name)], "html").decode() for job, name in zip(made, ("tp", NASTY))]
    pages = [Page(text) for text in texts]
    assert pages[0].elements == pages[1].elements, "a name adds no element"
    assert [name for name, _ in pages[0].attributes] == [name for name, _ in pages[1].attributes]
    told = "".join(pages[1].told)
    for part in ("<img src=x onerror=1>", "\\x1b[31m", "\\u202eevil", "`b``c*d*", "&amp;"):
        assert part in told, part
    assert texts[1].isascii()


def test_names_in_threads_and_what_hides_is_made_visible(tmp_path: Path) -> None:
    name = "</div><script>x</script>\u200b\u2066\u202e層\ufeff"
    config = {("0", "default_pg"): (0, 1)}
    waits = recorded(dump([entry(1, state="started")], pg_config=config), 0, world_size=2)
    idle = recorded(dump([], pg_config=config), 1, [thread(*SLEEPS, frame(name, 3, name), name=name)], world_size=2)
    job = load(write(tmp_path, {0: waits, 1: idle}))
    page = Page(render(job, diagnose(job), "html").decode())
    assert "script" not in page.elements
    assert "</div><script>x</script>\\u200b\\u2066\\u202e層\\ufeff:3" in page.told


def test_a_deep_stack_and_a_long_name_are_cut(tmp_path: Path) -> None:
    site = [frame("train.py", n, "x" * 100_000) for n in range(1, 1_000)]
    calls = [entry(1, site=site, state="started")]
    job = load(write(tmp_path, {0: dump(calls, pg_config={("0", "default_pg"): (0,)})}))
    text = render(job, [finding_of(job, ranks=(0,), focus=(0, 0), via=(), waiting=())], "html").decode()
    assert "and 799 frames more" in text
    assert len(text) < 1_000_000
    Page(text)
