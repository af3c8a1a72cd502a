"""The command starts without what it does not use: which modules it loads, not how long that takes."""

import subprocess
import sys
import textwrap
from pathlib import Path

from command_line import COMMAND, write_rows

VERSION_1 = Path(__file__).parents[1] / "tables" / "version_1"
# The largest of what scikit-learn and SciPy load by themselves.
UNUSED = {
    "numba",
    "pytest",
    "scipy.optimize._minimize",
    "scipy.stats._stats_py",
    "sklearn.ensemble._forest",
    "skops",
    "torch",
}


def run_python(code, *arguments):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def loaded_by(*arguments):
    """The modules of a process that has run a command."""
    code = """
    import sys
    from semisvm.cli import main
    try:
        main()
    except SystemExit as ending:
        assert ending.code in (0, None), ending.code
    print(*sys.modules)
    """
    return set(run_python(code, *arguments))


def test_predict_loads_nothing_large_that_it_does_not_use(fitted, tmp_path):
    data, model = fitted
    assert not loaded_by("predict", model, data, "--out", tmp_path / "out.csv") & UNUSED


def test_predict_of_an_average_loads_no_compiler(tmp_path):
    data = write_rows(tmp_path / "t.csv")
    words = ["fit", data, "--target", "y", "--method", "auto-kernel", "--no-tune", "--out", tmp_path / "m.skops"]
    subprocess.run([*COMMAND, *words], check=True)
    found = loaded_by("predict", tmp_path / "m.skops", data, "--out", tmp_path / "out.csv")
    assert not found & UNUSED


def test_help_loads_no_library_for_arrays():
    assert not loaded_by("--help") & {"numpy", "scipy", "sklearn", "pandas", "rich"}


def test_a_command_loads_no_other_command():
    found = loaded_by("predict", "--help")
    assert "semisvm.cli.apply" in found
    assert not found & {"semisvm.cli.certify", "semisvm.cli.demo", "semisvm.cli.label", "http.server"}


def test_a_package_is_executed_when_a_name_of_its_own_is_used():
    code = """
    import sys
    from semisvm.cli import LateModule, late_packages
    with late_packages():
        import sklearn.ensemble._forest
        from sklearn.metrics import accuracy_score
        from sklearn import metrics
        assert type(metrics) is LateModule and type(sklearn.ensemble) is LateModule
        assert accuracy_score is sys.modules["sklearn.metrics._classification"].accuracy_score
        assert "sklearn.metrics._ranking" not in sys.modules
        from scipy import stats
        assert type(stats) is LateModule
    assert metrics.pairwise.rbf_kernel([[0.0]]).tolist() == [[1.0]] and type(metrics) is LateModule
    assert stats.rankdata([3, 1]).tolist() == [2, 1]
    assert type(stats) is not LateModule and stats.__spec__.loader is stats.__loader__
    assert "roc_auc_score" in metrics.__all__ and type(metrics) is not LateModule
    assert metrics.accuracy_score is accuracy_score
    for name in ("no_such_name", "__no_such_name__"):
        assert not hasattr(metrics, name) and not hasattr(sklearn.ensemble, name)
    assert "RandomForestClassifier" in dir(sklearn.ensemble) and type(sklearn.ensemble) is not LateModule
    from sklearn.ensemble import *
    assert RandomForestClassifier is sklearn.ensemble._forest.RandomForestClassifier
    """
    run_python(code)


def test_threads_wait_for_a_package_that_is_being_executed(tmp_path):
    package = tmp_path / "slow"
    package.mkdir()
    (package / "__init__.py").write_text("import time\ntime.sleep(0.2)\nfrom slow.part import n\nanswer = n + 1\n")
    (package / "part.py").write_text("import slow\nassert not hasattr(slow, 'answer')\nn = 41\n")
    code = """
    import sys
    from concurrent.futures import ThreadPoolExecutor
    import semisvm.cli
    sys.path.insert(0, sys.argv[1])
    semisvm.cli.LATE = {"slow"}
    with semisvm.cli.late_packages():
        import slow
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: slow.answer, range(16))) == {42}
    """
    run_python(code, tmp_path)


def test_a_package_that_fails_says_so_every_time(tmp_path):
    package = tmp_path / "broken"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('no library')\n")
    code = """
    import sys
    import semisvm.cli
    sys.path.insert(0, sys.argv[1])
    semisvm.cli.LATE = {"broken", "missing"}
    with semisvm.cli.late_packages():
        import broken
        try:
            import missing
        except ModuleNotFoundError as error:
            print(error.name)
    for _ in range(2):
        try:
            broken.anything
        except ImportError as error:
            print(*str(error).split())
    """
    assert run_python(code, tmp_path) == ["missing", "no", "library", "no", "library"]


def test_the_library_itself_imports_as_python_does():
    code = """
    import sys
    before = list(sys.meta_path)
    import semisvm
    from semisvm import SupervisedSVC
    from semisvm.cli import LateModule
    assert sys.meta_path == before
    assert not [name for name, module in sys.modules.items() if isinstance(module, LateModule)]
    assert "semisvm.estimators.auto" not in sys.modules
    """
    run_python(code)


def test_the_command_ends_with_the_same_words_where_nothing_is_loaded_late(tmp_path, monkeypatch):
    """What is loaded late changes no output."""
    words = ["predict", VERSION_1 / "two-classes.skops", VERSION_1 / "two.csv"]
    subprocess.run([*COMMAND, *words, "--out", tmp_path / "late.csv"], check=True)
    code = "import sys, semisvm.cli; semisvm.cli.LATE = (); semisvm.cli.main()"
    subprocess.run([sys.executable, "-c", code, *words, "--out", tmp_path / "at once.csv"], check=True)
    assert (tmp_path / "late.csv").read_bytes() == (tmp_path / "at once.csv").read_bytes()
