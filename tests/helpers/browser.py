"""A Chromium for the report's tests: the one named, the one installed, or the one that an npm
package carries.

    SEMISVM_CHROMIUM      the path of one to use
    PATH                  chromium, chromium-browser, google-chrome, chrome
    .venv/browser/        where `make test` puts that of the npm package @sparticuz/chromium (Linux,
                          x86-64): it needs npm and no root, and brings the libraries that a bare
                          machine lacks

`python tests/helpers/browser.py` gets the last one where there is no other. Without any, the tests of the
page in a browser are skipped with a reason; all else is tested.
"""

import os
import platform
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FOLDER = Path(__file__).resolve().parents[2] / ".venv" / "browser"
PACKAGE = "@sparticuz/chromium@147.0.0"
NONE = (
    "there is no Chromium: install one, name one by SEMISVM_CHROMIUM, or run make test where there"
    " is npm (Linux)"
)
# No request may leave the page, and none should leave the browser; the sandbox needs rights that a
# container lacks.
ARGUMENTS = (
    "--no-sandbox",
    "--no-zygote",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
)
# WCAG 2: how light a color is, and the ratio of two of them
CONTRAST = """
() => {
  const light = (color) => {
    const parts = color.match(/[\\d.]+/g).slice(0, 3).map((c) => c / 255)
      .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const backOf = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const back = getComputedStyle(at).backgroundColor;
      if (back !== "rgba(0, 0, 0, 0)") return back;
    }
    return "rgb(255, 255, 255)";
  };
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || !element.getClientRects().length) continue;
    const style = getComputedStyle(element), isDrawn = Boolean(element.closest("svg"));
    const [a, b] = [light(isDrawn ? style.fill : style.color), light(backOf(element))].sort((x, y) => y - x);
    found.push([(a + 0.05) / (b + 0.05), element.textContent.trim().slice(0, 40)]);
  }
  return found.filter(([ratio]) => ratio < 4.5);
}
"""
UNNAMED = """
() => [...document.querySelectorAll("input, select, button, [role=img], [role=region]")]
  .filter((element) => element.getClientRects().length)
  .filter((element) => !(element.labels && element.labels.length) && !element.getAttribute("aria-label"))
  .filter((element) => !element.textContent.trim())
  .map((element) => element.outerHTML.slice(0, 80))
"""
UNPACK = """
const {createReadStream, createWriteStream} = require("fs"), {createBrotliDecompress} = require("zlib");
createReadStream(process.argv[1]).pipe(createBrotliDecompress()).pipe(createWriteStream(process.argv[2]));
"""


def find() -> Path | None:
    """The browser to use, or None."""
    named = os.environ.get("SEMISVM_CHROMIUM")
    if named:
        return Path(named)
    for name in NAMES:
        found = shutil.which(name)
        if found:
            return Path(found)
    carried = FOLDER / "chromium"
    return carried if carried.is_file() else None


def environment(browser: Path) -> dict[str, str]:
    """The variables to start it with: its own libraries, where it came with them and the machine
    has none.
    """
    libraries = FOLDER / "al2023" / "lib"
    if browser.parent != FOLDER or "not found" not in _linked(browser):
        return dict(os.environ)
    return os.environ | {"LD_LIBRARY_PATH": str(libraries)}


def get() -> str:
    """Get the npm package's browser unless there is one, and say what came of it."""
    if find():
        return f"browser: {find()}"
    if (sys.platform, platform.machine()) != ("linux", "x86_64") or not (
        shutil.which("npm") and shutil.which("node")
    ):
        return f"browser: none. The page's tests in a browser will be skipped: {NONE}."
    FOLDER.mkdir(parents=True, exist_ok=True)
    quiet = ("--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", "--fetch-retries=1")
    try:
        subprocess.run(
            ["npm", "install", *quiet, "--prefix", str(FOLDER), PACKAGE], check=True, timeout=300
        )
        carried = FOLDER / "node_modules" / "@sparticuz" / "chromium" / "bin"
        _unpack(carried / "al2023.tar.br", FOLDER / "al2023.tar")
        with tarfile.open(FOLDER / "al2023.tar") as archive:
            archive.extractall(FOLDER / "al2023", filter="data")
        half_unpacked = FOLDER / "chromium.unfinished"
        _unpack(carried / "chromium.br", half_unpacked)
        half_unpacked.chmod(0o755)
        half_unpacked.rename(FOLDER / "chromium")
        shutil.rmtree(FOLDER / "node_modules")
    except (OSError, subprocess.SubprocessError, tarfile.TarError) as error:
        return f"browser: not to be had ({error}). The page's tests in a browser will be skipped."
    return f"browser: {find()}"


def _unpack(packed: Path, file: Path) -> None:
    subprocess.run(["node", "-e", UNPACK, str(packed), str(file)], check=True, timeout=120)


def _linked(browser: Path) -> str:
    return subprocess.run(["ldd", str(browser)], capture_output=True, text=True, check=False).stdout


if __name__ == "__main__":
    print(get())
