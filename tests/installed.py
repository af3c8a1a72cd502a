"""Try an installed semisvm, without its sources: `make release` runs this in an empty environment.

python installed.py core   without the extra [cli]: what needs it says so
python installed.py        with the extra

It must see the installed package, not the checkout, so it is run from another folder and imports no
other test.
"""

import subprocess
import sys
import tempfile
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer

import semisvm

HERE = Path(__file__).resolve().parents[1]


LINE = 'pip install "semisvm[cli]"'


def refuse_without_the_extra(model, X, y) -> None:
    """What needs the extra says so, in one sentence with the line to run."""
    for call in (
        lambda: semisvm.save(model, "model.skops"),
        lambda: semisvm.load("model.skops"),
        lambda: semisvm.write_report(model, X, y),
    ):
        message = ""
        try:
            call()
        except ImportError as error:
            message = str(error)
        assert LINE in message
    for command in (
        [Path(sys.executable).with_name("semisvm"), "demo"],
        [sys.executable, "-m", "semisvm"],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (2, ""), done
        assert LINE in done.stderr
        assert done.stderr.count("\n") == 1
    print(f"semisvm {semisvm.__version__} works without [cli]")


def main() -> None:
    """Fit and certify; with the extra, save, load, and run the command."""
    assert HERE / "src" not in Path(semisvm.__file__).resolve().parents, "this is the checkout"
    assert version("semisvm") == semisvm.__version__
    assert files("semisvm").joinpath("py.typed").is_file()
    X, truth = load_breast_cancer(return_X_y=True)
    y = np.where(np.arange(len(X)) < 100, truth, -1)
    for name, estimator in semisvm.all_estimators("classifier"):
        if name.endswith("SVC"):
            target = np.where(y == 1, 1, -1) if name == "PositiveUnlabeledSVC" else y
            assert estimator().fit(X[:200], target[:200]).predict(X).shape == truth.shape, name
    model = semisvm.SupervisedSVC().fit(X, y)
    campaign = model.campaign(X[100:], min_precision=0.8)
    for _ in range(15):
        rows = campaign.draw(10)
        campaign.tell(rows, truth[100:][rows])
    certified = model.with_threshold(campaign.verdict().operating_point)
    if sys.argv[1:] == ["core"]:
        refuse_without_the_extra(certified, X, truth)
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.skops"
        semisvm.save(certified, file)
        assert semisvm.load(file).operating_point_.status == "certified"
        command = Path(sys.executable).with_name("semisvm")
        said = subprocess.run(
            [command, "demo", "--out", f"{folder}/demo"], capture_output=True, text=True, check=True
        )
        assert "certified for" in said.stdout
    print(
        f"semisvm {semisvm.__version__} works: {len(semisvm.all_estimators())} estimators, a"
        " campaign, a model file, the command"
    )


if __name__ == "__main__":
    main()
