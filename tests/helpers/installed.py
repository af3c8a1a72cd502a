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

HERE = Path(__file__).resolve().parents[2]
LINE = 'pip install "semisvm[cli]"'


def refuse_without_the_extra(model) -> None:
    """What needs the extra says so, in one sentence with the line to run."""
    for call in (lambda: semisvm.save(model, "m.skops"), lambda: semisvm.load("m.skops")):
        message = ""
        try:
            call()
        except ImportError as error:
            message = str(error)
        assert LINE in message
    command = [Path(sys.executable).with_name("semisvm"), "demo"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, ""), done
    assert LINE in done.stderr


def main() -> None:
    """Fit and certify; with the extra, save, load, and run the command."""
    assert HERE / "src" not in Path(semisvm.__file__).resolve().parents, "this is the checkout"
    assert version("semisvm") == semisvm.__version__
    assert files("semisvm").joinpath("py.typed").is_file()
    X, truth = load_breast_cancer(return_X_y=True)
    y = np.where(np.arange(len(X)) < 100, truth, -1)
    model = semisvm.AutoSVC(random_state=0).fit(X, y)
    campaign = semisvm.Campaign.for_model(model, X[100:], min_precision=0.8, random_state=0)
    for rows in campaign.batches(10, budget=150):
        campaign.tell(rows, truth[100:][rows])
    assert campaign.verdict().certified
    if sys.argv[1:] == ["core"]:
        refuse_without_the_extra(model)
    else:
        with tempfile.TemporaryDirectory() as folder:
            semisvm.save(model, f"{folder}/model.skops")
            again = semisvm.load(f"{folder}/model.skops")
            assert (again.predict(X) == model.predict(X)).all()
            command = [
                Path(sys.executable).with_name("semisvm"),
                "demo",
                "--folder",
                f"{folder}/demo",
            ]
            subprocess.run(command, check=True, capture_output=True)
    print(f"semisvm {semisvm.__version__} works: a model, a campaign {sys.argv[1:]}")


if __name__ == "__main__":
    main()
