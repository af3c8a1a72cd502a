"""Take the pictures of docs/pictures that show pages: the report, the label page, the widget.

    python tools/pictures.py        (a Chromium: see tests/browser.py)

`semisvm demo` makes what they show; tables and texts to label come with scikit-learn.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

HOME = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(HOME / "src"), str(HOME / "tests")]
PICTURES = HOME / "docs" / "pictures"
NOTEBOOK = """<!doctype html><meta charset="utf-8"><style>body {{ margin: 0 }} {css}</style>
<div id="cell"></div><script type="module">
const model = {{get: () => ({state}), on: () => {{}}, off: () => {{}}, send: () => {{}}}};
const widget = await import(URL.createObjectURL(new Blob([{esm}], {{type: "text/javascript"}})));
widget.default.render({{model, el: document.getElementById("cell")}});
</script>"""


def texts_to_label():
    """Texts to label, with scores that mean nothing."""
    import numpy as np
    from sklearn import datasets

    from semisvm import Campaign
    from semisvm.campaign.labeling import LabelSession
    from semisvm.campaign.labeling.rows import reader_of

    texts = [
        {"paragraph": text.strip(), "source": f"https://scikit-learn.org/datasets/{name}"}
        for name in ("load_breast_cancer", "load_diabetes", "load_iris", "load_wine")
        for text in getattr(datasets, name)().DESCR.split("\n\n")
        if len(text) > 300
    ]
    campaign = Campaign(np.linspace(-1, 1, len(texts)), min_precision=0.8, seed="00")
    return LabelSession(campaign, reader_of(texts, len(texts)), source="texts.csv")


def main() -> None:
    """Write the pictures."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    import browser
    from semisvm.campaign.labeling.server import LabelServer
    from semisvm.campaign.labeling.widget import LabelWidget
    from semisvm.tables.label import open_session

    folder = Path(tempfile.mkdtemp())
    words = [sys.executable, "-m", "semisvm", "demo", "--out", "demo"]
    source = os.environ | {"PYTHONPATH": str(HOME / "src")}
    subprocess.run(words, cwd=folder, env=source, check=True)
    demo = folder / "demo"
    files = (demo / "model.skops", demo / "digits.csv", demo / "odd.campaign")
    session = open_session(*files, image="8x8")
    chromium = browser.find()
    if chromium is None:
        raise SystemExit(browser.NONE)

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=chromium, args=browser.ARGUMENTS, env=browser.environment(chromium)
        )

        def open_page(address: str, width: int, height: int, colors: str = "light"):
            page = running.new_page(
                viewport={"width": width, "height": height}, color_scheme=colors
            )
            page.goto(address)
            page.wait_for_timeout(1000)
            return page

        def shoot(page, name: str, selector: str | None = None) -> None:
            target = page if selector is None else page.locator(selector)
            file = PICTURES / f"{name}.png"
            target.screenshot(path=file)
            Image.open(file).convert("RGB").quantize(96).save(file, optimize=True)

        with LabelServer(texts_to_label()) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            shoot(open_page(server.address, 1280, 640), "label-text-1280")
            server.shutdown()
        report = (demo / "report.html").as_uri()
        shoot(open_page(report, 1000, 1130), "report-light")
        shoot(open_page(report, 360, 1130), "report-narrow")
        shoot(open_page(report, 1000, 900), "campaign-report", "section[aria-labelledby=campaign]")
        dark = open_page(report, 1000, 1130, "dark")
        dark.locator("[data-slider]").fill("12")
        dark.locator("[data-slider]").scroll_into_view_if_needed()
        dark.mouse.wheel(0, 300)
        dark.wait_for_timeout(500)
        shoot(dark, "report-dark")
        widget = LabelWidget(session)
        parts = (widget.state, str(widget._esm))
        state, esm = (json.dumps(part).replace("</", "<\\/") for part in parts)
        cell = running.new_page(viewport={"width": 1000, "height": 580})
        cell.set_content(NOTEBOOK.format(css=widget._css, state=state, esm=esm))
        cell.wait_for_timeout(1000)
        shoot(cell, "widget")
        running.close()


if __name__ == "__main__":
    main()
