"""The examples in docstrings run and give what they show. Warnings are errors in them too."""

import doctest
import importlib

import pytest

from source_files import PACKAGE, source_files

# They import torch or Triton.
NEEDS_A_DEVICE = {
    *("semisvm.dual.block", "semisvm.dual.block_kernel"),
    *("semisvm.kernels.device_rows", "semisvm.kernels.torch_source"),
}


def doctests():
    """One case per docstring with an example."""
    for path in source_files():
        if ">>>" not in path.read_text(encoding="utf-8"):
            continue
        name = ".".join(["semisvm", *path.relative_to(PACKAGE).with_suffix("").parts]).removesuffix(
            ".__init__"
        )
        if name not in NEEDS_A_DEVICE:
            for test in doctest.DocTestFinder(exclude_empty=True).find(
                importlib.import_module(name)
            ):
                if test.examples:
                    yield pytest.param(test, id=test.name)


@pytest.mark.parametrize("test", list(doctests()))
def test_example(test):
    found = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    runner.run(test, out=found.append, clear_globs=False)
    assert runner.failures == 0, "".join(found)


def test_every_public_class_has_an_example():
    import semisvm

    classes = [
        getattr(semisvm, name)
        for name in semisvm.__all__
        if isinstance(getattr(semisvm, name), type)
    ]
    assert not [cls.__name__ for cls in classes if ">>>" not in (cls.__doc__ or "")]
