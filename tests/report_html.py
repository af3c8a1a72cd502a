"""A page read as a browser reads it, by a parser that refuses malformed HTML; and a text that
tries to be markup.
"""

import html5lib

from semisvm.report import SCRIPTS, _asset

HOSTILE = "</script><img src=x onerror=alert(1)>\"'`{{ 7 * 7 }}<!--"


def without_scripts(page):
    """Return the page without the package's own scripts, which are half a megabyte of every
    page.
    """
    for script in SCRIPTS:
        page = page.replace(_asset(script), "")
    return page


def read_html(page):
    """Return the page's tree, or fail where the HTML is malformed."""
    return html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(
        without_scripts(page)
    )
