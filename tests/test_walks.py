"""The walks on the page for contributors are those that calls take: the modules in the order of first entry."""

import re
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import semisvm
from command_line import run_command, write_rows
from semisvm import LabelMeanSVC, PositiveUnlabeledSVC, PreferenceSVC, SupervisedSVC, TransductiveSVC
from source_files import PACKAGE, REPOSITORY, place, source_files

# Left out of the walks: they serve all others, or their frames are not Python's (and are seen in some versions only).
SERVING = {"matrices", "device", "errors", "disk", "shared_docs", "sklearn_private", "kernels/threads"}
COMPILED = {"kernels/compiler", "kernels/compiled", "kernels/intrinsics", "dual/pairwise_kernel"}
IMPORTED_FROM = str(Path(semisvm.__file__).parent)
PAGE = (REPOSITORY / "docs" / "contributing.md").read_text(encoding="utf-8")


def is_module(name: str) -> bool:
    return (PACKAGE / f"{name}.py").is_file() or (PACKAGE / name / "__init__.py").is_file()


def walk_of_page(call: str) -> list[str]:
    """The modules that the page names in the walk of a call, each where it is named first."""
    text = PAGE.split(f"\n**`{call}`**")[1].split("\n\n")[0]
    told = text.split("For other values of")[0].split("With a `confidence`")[0]  # what other parameters change
    return list(dict.fromkeys(name for name in re.findall("`([a-z_/]+)`", told) if is_module(name)))


def follow(call) -> list[str]:
    """The modules whose functions a call runs, in the order of first entry."""
    entered: dict[str, None] = {}

    def note(frame, event, argument):
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(IMPORTED_FROM) and not frame.f_code.co_name.startswith("<"):
            entered[path] = None

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    files = (Path(path).relative_to(IMPORTED_FROM).as_posix() for path in entered)
    modules = (file.removesuffix(".py").removesuffix("/__init__") for file in files)
    return [name for name in modules if name not in SERVING | COMPILED]


def two_clouds():
    rng = np.random.default_rng(0)
    truth = np.arange(200) % 2
    return rng.normal(size=(200, 3)) + 1.5 * truth[:, None], np.where(np.arange(200) < 60, truth, -1)


def walk_of_fit(model) -> list[str]:
    X, y = two_clouds()
    y = np.where(y == 1, 1, -1) if isinstance(model, PositiveUnlabeledSVC) else y
    model.fit(X, y)  # what is imported and compiled on first use is no part of the walk
    return follow(lambda: model.fit(X, y))


BEGINNING = "SupervisedSVC().fit"


def test_the_walk_of_the_supervised_fit():
    assert walk_of_page(BEGINNING) == walk_of_fit(SupervisedSVC())


@pytest.mark.parametrize(
    ("call", "model"),
    [
        ("TransductiveSVC().fit", TransductiveSVC()),
        ("LabelMeanSVC(costs={0: 1, 1: 2}).fit", LabelMeanSVC(costs={0: 1, 1: 2})),
        ("PreferenceSVC(min_precision=0.8).fit", PreferenceSVC(min_precision=0.8, random_state=0)),
        ("PositiveUnlabeledSVC(min_recall=0.9).fit", PositiveUnlabeledSVC(min_recall=0.9, random_state=0)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_walk_of_a_fit_after_the_beginning_that_all_share(call, model):
    shared = set(walk_of_page(BEGINNING))
    told, taken = walk_of_page(call), walk_of_fit(model)
    assert [name for name in told if name not in shared] == [name for name in taken if name not in shared]
    assert set(told) <= set(taken)


def test_the_walk_of_the_command(tmp_path, capsys):
    rooms = ("cli", "tables", "report")
    for path in source_files():
        if place(path).startswith(rooms):
            import_module(f"semisvm.{place(path).removesuffix('.py').replace('/', '.')}")
    words = (write_rows(tmp_path / "mails.csv"), "--target", "y", "--min-precision", 0.8, "--out", tmp_path / "m.skops")
    taken = follow(lambda: run_command(capsys, "fit", *words, "--report", tmp_path / "report.html"))
    assert walk_of_page("semisvm fit") == [name for name in taken if name.startswith(rooms)]
    assert (tmp_path / "report.html").exists()
