"""Check the site: `make docs` runs this after the build.

    python docs/check.py code [PAGE ...]     run the Python blocks of every page (or of these), in
    the order of the page
    python docs/check.py plots [PAGE ...]    the same, and write the pictures that the blocks draw
    python docs/check.py links               every link and anchor within the built site; nothing
    from other servers
    python docs/check.py browser [FOLDER]    open every page in Chromium, wide and at 390 px;
    FOLDER: screenshots

A ```python block runs after the blocks before it on its page, in an empty folder, with warnings as
errors; a reader who copies them into an empty file gets the same. What it prints is the ```text
block that follows directly, or behind the end of a dropdown and a ```sh block. A picture in plots/
that follows, also behind the end of a dropdown, or a comment `% draws plots/NAME.png`, is drawn by
the block. Blocks named ```py are sketches and do not run.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import sys
import tempfile
import warnings
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from html.parser import HTMLParser
from multiprocessing import get_context
from pathlib import Path
from urllib.parse import unquote, urlsplit

DOCS = Path(__file__).resolve().parent
sys.path.append(str(DOCS.parent / "tests"))  # browser.py
BUILT = DOCS / "_build" / "html"

# ---- code on pages ----

BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```\n"
    r"(?:\s*(?:^:::\n\s*^```sh\n(?:(?!```)[^\n]*\n)*```\n\s*)?^```text\n(?P<printed>.*?)^```\n)?"
    r"(?:\s*^(?::::\n\s*)?(?:!\[[^\]]*\]\(|% draws )(?P<plot>plots/[\w.-]+))?",
    re.DOTALL | re.MULTILINE,
)


def pages_with_code() -> list[Path]:
    """The pages, the README and AGENTS.md, if they have Python blocks."""
    written = sorted([*DOCS.glob("*.md"), *DOCS.glob("measured/*.md")])
    written += [DOCS.parent / "README.md", DOCS.parent / "AGENTS.md"]
    return [page for page in written if "```python\n" in page.read_text(encoding="utf-8")]


def keep_plot(place: str, is_written: bool) -> str | None:
    """Write the picture that a block has drawn, if it is to be written, and return what is wrong
    with it.
    """
    import matplotlib.pyplot as plt

    drawn = plt.get_fignums()
    if not drawn:
        return f"draws nothing, and shows {place}"
    if is_written:
        (DOCS / place).parent.mkdir(exist_ok=True)
        plt.figure(drawn[-1]).savefig(DOCS / place, dpi=200, bbox_inches="tight")
    plt.close("all")
    return None if (DOCS / place).exists() else f"{place} is missing: run docs/check.py plots"


def run_page(page: Path, writes_plots: bool = False) -> list[str]:
    """Run the blocks of a page in one namespace and return what went wrong."""
    text = page.read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": "__main__"}
    for block in BLOCK.finditer(text):
        code = block["code"]
        line = text.count("\n", 0, block.start()) + 1
        printed = io.StringIO()
        try:
            with warnings.catch_warnings(), contextlib.redirect_stdout(printed):
                warnings.simplefilter("error")
                exec(compile("\n" * line + code, str(page), "exec"), names)
        except Exception as error:
            return [f"{page.name}:{line}: {type(error).__name__}: {error}"]
        expected = block["printed"]
        if expected is not None and not doctest.OutputChecker().check_output(
            expected, printed.getvalue(), doctest.NORMALIZE_WHITESPACE
        ):
            return [f"{page.name}:{line}: prints\n{printed.getvalue()}instead of\n{expected}"]
        wrong = block["plot"] and keep_plot(block["plot"], writes_plots)
        if wrong:
            return [f"{page.name}:{line}: {wrong}"]
    return []


def run_alone(page: Path, writes_plots: bool) -> list[str]:
    """Run a page in an empty folder."""
    os.environ.setdefault("MPLBACKEND", "agg")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return run_page(page, writes_plots)


def check_code(*pages: Path, writes_plots: bool = False) -> list[str]:
    """Run all pages, or these, on all cores."""
    chosen = [page.resolve() for page in pages] or pages_with_code()
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        wrong = pool.map(run_alone, chosen, [writes_plots] * len(chosen))
        return [complaint for complaints in wrong for complaint in complaints]


def write_plots(*pages: Path) -> list[str]:
    """Run all pages, or these, and write the pictures that they draw."""
    return check_code(*pages, writes_plots=True)


# ---- links ----

LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


class Page(HTMLParser):
    """What a page links to, what it loads, and which anchors it has."""

    def __init__(self, text: str):
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        """Note the addresses and the names of a tag."""
        values = dict(attrs)
        self.anchors |= {values[name] for name in ("id", "name") if values.get(name)}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        address = values.get(LOADED.get(tag, ""))
        if address and values.get("rel") not in ("canonical", "next", "prev", "search", "index"):
            self.loads.append(address)


def built_pages() -> list[Path]:
    """The pages of the site; the theme's own files are not pages."""
    return [path for path in sorted(BUILT.rglob("*.html")) if "_static" not in path.parts]


def check_links() -> list[str]:
    """Follow every link and load of the built site that stays within it."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in built_pages()}
    wrong: dict[str, set[str]] = defaultdict(set)
    for path, page in pages.items():
        here = path.relative_to(BUILT).as_posix()
        wrong[here] |= {f"loads {address}" for address in page.loads if urlsplit(address).netloc}
        for address in [*page.links, *page.loads]:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                wrong[here].add(f"links to {address}, which is not there")
            elif (
                parts.fragment
                and target in pages
                and unquote(parts.fragment) not in pages[target].anchors
            ):
                wrong[here].add(f"links to {address}, which has no such anchor")
    print(f"{len(pages)} pages, {sum(len(page.links) for page in pages.values())} links")
    return [f"{here}: {what}" for here, found in wrong.items() for what in sorted(found)]


# ---- in a browser ----

WIDTHS = {"wide": 1280, "narrow": 390}
# A page is readable on a phone if it does not scroll sideways; tables and code scroll in boxes of
# their own.
SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
# Text that ends beyond the right edge can't be read, unless the box that it is in scrolls.
CUT = """
() => {
  const scrolls = (element) => {
    for (let at = element; at; at = at.parentElement)
      if (/auto|scroll/.test(getComputedStyle(at).overflowX) && !/bd-/.test(at.className)) return true;
    return false;
  };
  return [...document.querySelectorAll("article *:not(.headerlink)")]
    .filter((one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()))
    .filter((one) => one.getClientRects().length && one.getBoundingClientRect().right > innerWidth + 1 && !scrolls(one))
    .map((one) => one.textContent.trim().slice(0, 40));
}
"""


def open_pages(name: str, browser_path: str, folder: Path | None) -> list[str]:
    """Open all pages one after the other at one width, and return what went wrong."""
    from playwright.sync_api import sync_playwright

    import browser

    wrong: list[str] = []
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=browser_path,
            args=browser.ARGUMENTS,
            env=browser.environment(browser_path),
        )
        tab = running.new_page(viewport={"width": WIDTHS[name], "height": 900})
        tab.on("console", lambda m: m.type == "error" and wrong.append(f"{tab.url}: {m.text}"))
        tab.on("pageerror", lambda error: wrong.append(f"{tab.url}: {error}"))
        tab.on("requestfailed", lambda request: wrong.append(f"{tab.url}: {request.url} failed"))
        for path in built_pages():
            place = path.relative_to(BUILT).as_posix()
            tab.goto(path.as_uri())
            beyond = tab.evaluate(SIDEWAYS)
            if beyond > 1:
                wrong.append(f"{place} ({name}): scrolls sideways by {beyond} px")
            cut = tab.evaluate(CUT)
            if cut:
                wrong.append(f"{place} ({name}): {len(cut)} texts are cut, the first: {cut[0]!r}")
            if folder is not None:
                file = f"{place.replace('/', '--').removesuffix('.html')}-{name}.png"
                tab.screenshot(path=folder / file)
        running.close()
    return wrong


def check_browser(folder: Path | None = None) -> list[str]:
    """Open every page at both widths; report errors of the console, requests that fail, and pages
    that scroll sideways.
    """
    import browser

    browser_path = browser.find()
    if browser_path is None:
        print(f"skipped: {browser.NONE}")
        return []
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        n_widths = len(WIDTHS)
        wrong = list(pool.map(open_pages, WIDTHS, [browser_path] * n_widths, [folder] * n_widths))
    print(f"{len(built_pages())} pages at {' and '.join(f'{w} px' for w in WIDTHS.values())}")
    return [complaint for complaints in wrong for complaint in complaints]


if __name__ == "__main__":
    what, *arguments = sys.argv[1:] or ["links"]
    checks = {
        "code": check_code,
        "plots": write_plots,
        "links": check_links,
        "browser": check_browser,
    }
    complaints = checks[what](*map(Path, arguments))
    print("\n".join(complaints) or f"{what}: fine")
    sys.exit(bool(complaints))
