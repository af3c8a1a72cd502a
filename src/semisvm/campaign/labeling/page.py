"""The page on which rows are labeled: its style and script, for a browser and for notebooks."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources

from semisvm import html

TITLE = "Label rows"
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<main id="page"></main>
<noscript><p>This page needs scripts to be switched on.</p></noscript>
<script>{script}</script>
</body>
</html>
"""
# The page of a browser fills the window, so that answers and progress never scroll away.
WINDOW_STYLE = """
body { margin: 0; }
#page { height: 100dvh; }
"""
WINDOW_SCRIPT = """
async function post(request) {
  const headers = {"Content-Type": "application/json"};
  const options = request ? {method: "POST", headers, body: JSON.stringify(request)} : {};
  const reply = await fetch("session", options);
  if (!reply.ok && reply.status !== 409) throw new Error(reply.statusText);
  return {state: await reply.json(), isStale: reply.status === 409};
}
mountLabelPage(document.getElementById("page"), post, document).send(null);
"""


@cache
def asset(name: str) -> str:
    """Return a file of the page."""
    folder = resources.files("semisvm.campaign.labeling").joinpath("assets")
    return folder.joinpath(name).read_text(encoding="utf-8")


@cache
def window_page() -> tuple[str, str]:
    """Return the page of a browser and its Content-Security-Policy: it may run its own script and
    style, show images that it was sent, and ask its own server.
    """
    style = html.style() + asset("label.css") + WINDOW_STYLE
    script = asset("label.js") + WINDOW_SCRIPT
    policy = (
        "default-src 'none'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    for kind, content in (("script", script), ("style", style)):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        policy += f"; {kind}-src 'sha256-{digest}'"
    page = PAGE.format(title=TITLE, style=style, script=script)
    return page, policy + "; frame-ancestors 'none'"
