"""The examples in docstrings run and give what they show. Warnings are errors in them too."""

import doctest
import importlib
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "semisvm"
OF_A_DEVICE = ("engine/gpu",)  # they import torch or Triton


def doctests():
    """One case per docstring with an example."""
    for path in sorted(PACKAGE.rglob("*.py")):
        where = path.relative_to(PACKAGE).as_posix()
        if ">>>" not in path.read_text(encoding="utf-8") or where.startswith(OF_A_DEVICE):
            continue
        name = ".".join(["semisvm", *Path(where).with_suffix("").parts]).removesuffix(".__init__")
        module = importlib.import_module(name)
        for test in doctest.DocTestFinder(exclude_empty=True).find(module):
            if test.examples:
                yield pytest.param(test, id=test.name)


@pytest.mark.parametrize("test", list(doctests()))
def test_example(test):
    said = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    runner.run(test, out=said.append, clear_globs=False)
    assert runner.failures == 0, "".join(said)
