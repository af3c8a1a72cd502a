"""The page on which rows are labeled: its style and script, for a browser and for notebooks."""

from __future__ import annotations

from functools import cache

from semisvm import html

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Label rows</title>
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


def asset(name: str) -> str:
    """Return a file of the page."""
    return html.asset("semisvm.campaign.labeling", name)


@cache
def window_page() -> tuple[str, str]:
    """Return the page of a browser and its Content-Security-Policy: it may run its own script and
    style, show images that it was sent, and ask its own server.
    """
    style = html.style() + asset("label.css") + WINDOW_STYLE
    script = asset("label.js") + WINDOW_SCRIPT
    policy = (
        "default-src 'none'; connect-src 'self'; img-src data:; base-uri 'none';"
        f" form-action 'none'; script-src {html.policy_hash(script)};"
        f" style-src {html.policy_hash(style)}; frame-ancestors 'none'"
    )
    return PAGE.format(style=style, script=script), policy
