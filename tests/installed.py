"""Try an installed semisvm, without its sources: `make release` runs this in an empty environment.

It must see the installed package, not the checkout, so it is run from another folder and imports no other test.
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


def main() -> None:
    """Fit, certify, save, load, and run the command."""
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
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.skops"
        semisvm.save(model.with_threshold(campaign.verdict().operating_point), file)
        assert semisvm.load(file).operating_point_.status == "certified"
        command = Path(sys.executable).with_name("semisvm")
        said = subprocess.run([command, "demo", "--out", f"{folder}/demo"], capture_output=True, text=True, check=True)
        assert "certified for" in said.stdout
    print(
        f"semisvm {semisvm.__version__} works: {len(semisvm.all_estimators())} estimators, a campaign, a model file, "
        "the command"
    )


if __name__ == "__main__":
    main()
