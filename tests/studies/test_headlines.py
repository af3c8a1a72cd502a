"""The numbers that pages begin with are those of docs/headlines.json, and of the records."""

import json

import pytest

from page_tables import page
from source_files import REPOSITORY
from studies.headlines import FILE, headlines

SENTENCES = {name: entry["sentence"] for name, entry in headlines().items()}


def test_the_headlines_are_on_record():
    assert json.loads(FILE.read_text(encoding="utf-8")) == headlines()


@pytest.mark.parametrize("name", SENTENCES)
@pytest.mark.parametrize("place", ["README.md", "docs/measured/results.md"])
def test_pages_say_the_headlines(place, name):
    assert SENTENCES[name] in " ".join(page(place).split())


@pytest.mark.parametrize("name", SENTENCES)
def test_the_record_of_a_headline_exists(name):
    assert (REPOSITORY / headlines()[name]["record"]).exists()
