"""A page read as a browser reads it, by a parser that refuses what is malformed; and a text that would be markup."""

import html5lib

from semisvm.report.render import SCRIPTS, _asset

HOSTILE = "</script><img src=x onerror=alert(1)>\"'`{{ 7 * 7 }}<!--"


def without_scripts(page):
    """The page less the package's own scripts, which are half a megabyte of every page."""
    for script in SCRIPTS:
        page = page.replace(_asset(script), "")
    return page


def read_html(page):
    """The page's tree, by a parser that refuses what is malformed."""
    return html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(without_scripts(page))
