"""The command starts without what it does not use: which modules it loads, not how long that
takes.
"""

import os
import subprocess
import sys
import textwrap

from command_line import run_command

# skops walks through all packages of scikit-learn; the compiler takes longest to load.
UNUSED = {"numba"}


def run_python(code, *arguments):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def loaded_by(*commands):
    """The modules of a process that has run commands, one after the other."""
    code = """
    import sys
    from semisvm.cli import main
    for command in sys.argv[1:]:
        sys.argv = ["semisvm", *command.split("\\n")]
        try:
            main()
        except SystemExit as ending:
            assert ending.code in (0, None), ending.code
    print(*sys.modules)
    """
    return set(run_python(code, *("\n".join(map(str, words)) for words in commands)))


def test_predict_loads_nothing_large_that_it_does_not_use(fitted, tmp_path, capsys):
    data, model = fitted
    average = tmp_path / "m.skops"
    words = ["--target", "y", "--method", "autosvc", "--no-tune", "--out", average]
    assert run_command(capsys, "fit", data, *words).code == 0
    found = loaded_by(*(("predict", one, data, "--out", f"{one}.csv") for one in (model, average)))
    assert not found & UNUSED


def test_help_loads_no_library_for_arrays():
    assert not loaded_by(["--help"]) & {"numpy", "scipy", "sklearn", "pandas", "rich"}


def test_blas_starts_no_threads_that_the_user_has_not_asked_for(monkeypatch):
    code = """
    import sys
    from semisvm.cli import main
    try:
        main()
    except SystemExit:
        import numpy, scipy.linalg
        from threadpoolctl import threadpool_info
    print(*(one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"))
    """

    def n_threads():
        return run_python(code, "--version")[-2:]

    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        monkeypatch.delenv(variable, raising=False)
    assert n_threads() == ["1", "1"]
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", str(os.cpu_count()))
    assert n_threads() == [str(os.cpu_count())] * 2
