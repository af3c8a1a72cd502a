"""The command on folders: models, predictions and campaigns of files that are read one by one,
here or by workers.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import semisvm
from cluster_tasks import bytes_of_rows, load_libraries, start_cluster
from command_line import run_command
from folder_tables import mixed_table, write_parts
from semisvm.primal.dask_rows import DaskRows
from semisvm.tables import predict
from semisvm.tables.fit import fit_model
from semisvm.tables.fit_folder import read_folder
from semisvm.tables.methods import Settings
from semisvm.tables.partition_rows import Pool, open_workers, stays_sparse
from semisvm.tables.read_training import read_training


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A mixed table without its text, the truth, and its folder."""
    frame, truth = mixed_table(2_000)
    frame = frame.drop(columns=["subject", "shop"])
    return frame, truth, write_parts(frame, tmp_path_factory.mktemp("table") / "rows", 5)


def fit(capsys, folder, out, *words):
    done = run_command(capsys, "fit", folder, "--target", "kind", "--out", out, "--force", *words)
    assert done.code in (0, 1), done.err
    return done, semisvm.load(out)


# ---- the same model ----


@pytest.mark.parametrize(("form", "drop"), [("parquet", ["subject", "shop"]), ("csv", [])])
def test_the_supervised_model_of_a_folder_is_that_of_its_files(tmp_path, form, drop):
    frame = mixed_table(900)[0].drop(columns=drop)
    folder = write_parts(frame, tmp_path / "rows", 3, form)
    settings = Settings(kernel="linear", min_precision=0.8, seed=1)
    whole = fit_model(
        read_training(sorted(folder.iterdir()), "kind"), settings, method="supervised", tune=True
    )
    found = fit_model(read_folder(folder, "kind"), settings, method="supervised", tune=True)
    assert found.estimator.C == whole.estimator.C
    assert found.threshold == pytest.approx(whole.threshold, abs=5e-3)
    assert_allclose(found.decision_function(frame), whole.decision_function(frame), atol=5e-3)
    ours = found.summary
    theirs = whole.summary
    assert (ours.data.rows, ours.data.labeled, ours.data.unlabeled) == (
        900,
        theirs.data.labeled,
        theirs.data.unlabeled,
    )
    assert ours.data.class_counts == theirs.data.class_counts
    assert ours.data.left_out == theirs.data.left_out


def test_the_transductive_model_of_a_folder_is_near_that_of_its_files(table):
    """Label switching has many local optima: the files in memory switch pairs, the folder
    switches by rank.
    """
    frame, truth, folder = table
    settings = Settings(kernel="linear", C=0.3)
    whole = fit_model(
        read_training(sorted(folder.iterdir()), "kind"), settings, method="transductive"
    )
    found = fit_model(read_folder(folder, "kind"), settings, method="transductive")
    assert (found.predict(frame) == whole.predict(frame)).mean() >= 0.95
    assert (found.predict(frame) == truth).mean() >= (whole.predict(frame) == truth).mean() - 0.03


def test_text_is_learned_from_a_sparse_scratch_file(tmp_path, monkeypatch):
    frame, truth = mixed_table(600)
    folder = write_parts(frame, tmp_path / "rows", 3)
    monkeypatch.setattr("semisvm.primal.passes.WIDEST_HESSIAN", 20)
    training = read_folder(folder, "kind")
    encoder = training.encoder()
    assert stays_sparse(encoder)
    found = fit_model(training, Settings(C=0.3), method="transductive")
    assert any("squared hinge" in note for note in found.summary.notes)
    assert found.estimator.loss == "squared_hinge"
    assert (found.predict(frame) == truth).mean() > 0.9
    X = encoder.encode(frame)
    sums = training.pool.rows(encoder).sum_over(lambda part: part.X.sum(axis=0))
    assert_allclose(sums, X.sum(axis=0).A1, atol=1e-4)


def test_many_labels_are_learned_from_part_by_part(table, monkeypatch):
    frame, _, folder = table
    monkeypatch.setattr("semisvm.tables.fit_folder.MOST_LABELED_KEPT", 60)
    read = []
    monkeypatch.setattr(
        Pool,
        "rows",
        lambda self, *rest, rows=Pool.rows: read.append(rows(self, *rest)) or read[-1],
    )
    training = read_folder(folder, "kind")
    assert (training.codes >= 0).sum() == 60
    found = fit_model(training, Settings(C=0.3), method="supervised")
    assert read[0].n_rows == 2_000
    whole = fit_model(
        read_training(sorted(folder.iterdir()), "kind"),
        Settings("linear", C=0.3),
        method="supervised",
    )
    # the same SVM, of rows that a sample of 1,760 of the 2,000 scales; the thresholds differ
    scores = found.decision_function(frame), whole.decision_function(frame)
    assert np.corrcoef(*scores)[0, 1] > 0.9995
    assert found.summary.data.labeled == frame["kind"].notna().sum()


def test_the_price_of_unlabeled_rows_is_shared_out(table):
    training = read_folder(table[2], "kind")
    found = fit_model(training, Settings(C=0.3), method="transductive", most_unlabeled=100)
    assert found.estimator.C_unlabeled == pytest.approx(0.3 * 100 / training.n_unlabeled)
    assert any("penalty of an unlabeled row" in note for note in found.summary.notes)


def test_other_methods_learn_from_the_sample_and_say_so(table, monkeypatch):
    monkeypatch.setattr("semisvm.tables.fit_folder.MOST_UNLABELED_KEPT", 200)
    training = read_folder(table[2], "kind")
    found = fit_model(training, Settings(), method="preference")
    assert any("drawn at random from 2,000" in note for note in found.summary.notes)


# ---- what a person does ----


def test_a_folder_is_fitted_predicted_and_certified(table, tmp_path, capsys):
    frame, truth, folder = table
    done, model = fit(
        capsys,
        folder,
        tmp_path / "m.skops",
        "--min-precision",
        "0.8",
        "--no-tune",
        "--report",
        tmp_path / "r.html",
    )
    assert done.out.startswith("5 files with 2,000 rows")
    assert "in the primal form" in done.out
    assert model.method in ("supervised", "transductive")
    out = tmp_path / "labels"
    assert (
        run_command(
            capsys, "predict", tmp_path / "m.skops", folder, "--out", out, "--keep", "age"
        ).code
        == 0
    )
    found = pd.concat(
        [pd.read_parquet(out / f"part-{k:03d}.parquet") for k in range(5)], ignore_index=True
    )
    assert_array_equal(found["label"], model.predict(frame))
    assert_array_equal(found["age"], frame["age"])
    words = [
        "--min-precision",
        "0.6",
        "--state",
        tmp_path / "c",
        "--out",
        tmp_path / "ask.csv",
        "-n",
        "30",
    ]
    assert run_command(capsys, "certify", "start", tmp_path / "m.skops", folder, *words).code == 0
    asked = pd.read_csv(tmp_path / "ask.csv")
    assert len(asked) == 30
    assert_allclose(frame["age"].to_numpy()[asked["row"] - 1], asked["age"])
    assert frame["kind"].isna().to_numpy()[asked["row"] - 1].all()
    asked["kind"] = truth[asked["row"] - 1]
    asked.to_csv(tmp_path / "ask.csv", index=False)
    assert run_command(capsys, "certify", "tell", tmp_path / "c", tmp_path / "ask.csv").code == 0
    frame[:10].to_parquet(folder.parent / "more.parquet")
    assert run_command(capsys, "evaluate", tmp_path / "m.skops", folder).code in (0, 1)
    assert (
        run_command(
            capsys, "suggest", tmp_path / "m.skops", folder, "--out", tmp_path / "s.csv"
        ).code
        == 0
    )


def test_predictions_of_a_folder_are_resumed_or_refused(table, tmp_path, capsys):
    folder = table[2]
    out = tmp_path / "labels"
    fit(capsys, folder, tmp_path / "m.skops", "--method", "supervised", "--C", "0.3")
    command = ["predict", tmp_path / "m.skops", folder, "--out", out]
    assert run_command(capsys, *command).code == 0
    done = run_command(capsys, *command)
    assert (done.code, "--resume" in done.err) == (2, True)
    (out / "part-003.parquet").unlink()
    before = (out / "part-001.parquet").stat().st_mtime_ns
    done = run_command(capsys, *command, "--resume")
    assert done.out.startswith("400 rows")
    assert (out / "part-001.parquet").stat().st_mtime_ns == before
    assert "already" in run_command(capsys, *command, "--resume").out
    fit(capsys, folder, tmp_path / "m.skops", "--method", "supervised", "--C", "0.01")
    done = run_command(capsys, *command, "--resume")
    assert (done.code, "of another model" in done.err) == (2, True)
    assert run_command(capsys, *command, "--force", "--json").code == 0
    assert run_command(capsys, "predict", tmp_path / "m.skops", folder, "--out", folder).code == 2
    one = ["predict", tmp_path / "m.skops", folder, "--out", tmp_path / "one.csv"]
    assert run_command(capsys, *one).code == 0
    parts = pd.concat(
        [pd.read_parquet(path) for path in sorted(out.glob("*.parquet"))], ignore_index=True
    )
    assert pd.read_csv(tmp_path / "one.csv")["label"].tolist() == parts["label"].tolist()
    done = run_command(capsys, *one, "--workers", "2")
    assert (done.code, "names one file" in done.err) == (2, True)


def test_resuming_a_run_that_replaces_files_leaves_none_of_the_files_before(
    table, tmp_path, capsys, monkeypatch
):
    frame, _, folder = table
    out = tmp_path / "labels"
    for name, C in (("first", "0.3"), ("second", "0.01")):
        fit(capsys, folder, tmp_path / name, "--method", "supervised", "--C", C)
    assert run_command(capsys, "predict", tmp_path / "first", folder, "--out", out).code == 0
    command = ["predict", tmp_path / "second", folder, "--out", out]
    written = []

    def predict_two(file, *rest):
        if len(written) == 2:
            raise KeyboardInterrupt
        written.append(file.stem)
        return predict_one(file, *rest)

    predict_one = predict._predict_one
    monkeypatch.setattr(predict, "_predict_one", predict_two)
    assert run_command(capsys, *command, "--force").code == 130
    monkeypatch.undo()
    before = {name: (out / f"{name}.parquet").stat().st_mtime_ns for name in written}
    done = run_command(capsys, *command, "--resume")
    assert done.out.startswith("1,200 rows")
    assert before == {name: (out / f"{name}.parquet").stat().st_mtime_ns for name in written}
    found = pd.concat([pd.read_parquet(path) for path in sorted(out.glob("*.parquet"))])
    scores = semisvm.load(tmp_path / "second").decision_function(frame)
    assert_array_equal(found["score"], scores.astype(np.float32))
    assert "already" in run_command(capsys, *command, "--resume").out


def test_a_run_that_can_not_be_resumed_says_what_differs(table, tmp_path, capsys):
    _, _, folder = table
    out = tmp_path / "labels"
    fit(capsys, folder, tmp_path / "m.skops", "--method", "supervised", "--C", "0.3")
    command = ["predict", tmp_path / "m.skops", folder, "--out", out]
    assert run_command(capsys, *command).code == 0
    for words in ((), ("--force",)):
        done = run_command(capsys, *command, "--resume", "--keep", "age", *words)
        assert done.code == 2
        assert "its predictions are with other columns to keep (--keep). " in done.err
        assert "Write to another folder, or set --force in place of --resume to rep" in done.err
    assert run_command(capsys, *command, "--keep", "age", "--force").code == 0


def test_a_file_that_can_not_be_predicted_is_named_and_not_written(table, tmp_path, capsys):
    frame, _, folder = table
    fit(capsys, folder, tmp_path / "m.skops", "--method", "supervised", "--C", "0.3")
    write_parts(frame, tmp_path / "new", 3)
    frame[700:800].assign(age="old").to_parquet(tmp_path / "new" / "part-001.parquet")
    done = run_command(
        capsys, "predict", tmp_path / "m.skops", tmp_path / "new", "--out", tmp_path / "out"
    )
    assert done.code == 2
    assert "part-001.parquet" in done.err
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "_semisvm.json",
        "part-000.parquet",
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--target", "nothing"], "no column 'nothing'"),
        (["--target", "kind", "--kernel", "rbf"], "needs a linear kernel"),
        (["--target", "kind", "--unlabeled-data", "x.csv"], "put these files into the folder"),
        (["--target", "kind", "--dask", "tcp://127.0.0.1:9", "--workers", "2"], "give one of them"),
        (["--target", "kind", "--dask", "banana"], "is not the address of a Dask scheduler"),
        (["--target", "kind", "--drop", "kind"], "is the target"),
    ],
)
def test_what_can_not_be_done_is_said(table, tmp_path, capsys, words, said):
    done = run_command(capsys, "fit", table[2], "--out", tmp_path / "m.skops", *words)
    assert done.code == 2
    assert said in done.err
    assert not (tmp_path / "m.skops").exists()


def test_a_folder_without_labels_or_with_odd_files_is_refused(table, tmp_path, capsys):
    frame = table[0]
    folder = write_parts(frame.assign(kind=None), tmp_path / "rows", 3)
    done = run_command(capsys, "fit", folder, "--target", "kind", "--out", tmp_path / "m.skops")
    assert (done.code, "has no label: all 2,000 cells are empty" in done.err) == (2, True)
    done = run_command(
        capsys,
        "fit",
        folder,
        "--target",
        "kind",
        "--type",
        "agee=number",
        "--out",
        tmp_path / "m.skops",
    )
    assert (done.code, "there is no column 'agee'" in done.err) == (2, True)
    frame[700:1300].drop(columns="age").to_parquet(folder / "part-001.parquet")
    done = run_command(capsys, "fit", folder, "--target", "kind", "--out", tmp_path / "m.skops")
    assert (done.code, "part-001.parquet: there is no column 'age'" in done.err) == (2, True)
    done = run_command(
        capsys, "fit", folder, folder, "--target", "kind", "--out", tmp_path / "m.skops"
    )
    assert (done.code, "give one folder" in done.err) == (2, True)
    write_parts(frame, tmp_path / "odd", 2)
    frame[:50].drop(columns="kind").to_parquet(tmp_path / "odd" / "part-9.parquet")
    _, model = fit(
        capsys, tmp_path / "odd", tmp_path / "m.skops", "--method", "supervised", "--C", "0.3"
    )
    assert "The rows of 1 file without a column 'kind' count as unlabeled." in " ".join(
        model.summary.notes
    )


def test_a_missing_dask_is_said(table, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    done = run_command(
        capsys, "fit", table[2], "--target", "kind", "--out", tmp_path / "m.skops", "--workers", "2"
    )
    assert (done.code, "pip install 'semisvm[dask]'" in done.err) == (2, True)


# ---- workers ----


@contextlib.contextmanager
def meanwhile(function):
    """Call a function again and again while the block runs."""
    is_over = threading.Event()

    def run():
        while not is_over.is_set():
            function(is_over)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def process_ids(client):
    return list(client.run(os.getpid).values())


TRANSDUCTIVE = ["--method", "transductive", "--C", "0.3"]


def test_a_worker_that_is_killed_and_one_that_is_slow_change_nothing(
    table, tmp_path, capsys, cluster, monkeypatch
):
    folder = table[2]
    monkeypatch.setattr("semisvm.primal.dask_rows.GROUP_BYTES", 10_000)
    monkeypatch.setattr(
        "semisvm.tables.fit_folder.MOST_LABELED_KEPT", 60
    )  # so that the machine is one of all rows
    monkeypatch.setattr("semisvm.estimators.streams.FEW_LABELED_NUMBERS", 10)
    words = ["--method", "supervised", "--C", "0.3"]
    _, here = fit(capsys, folder, tmp_path / "here.skops", *words)
    address = cluster.scheduler.address
    cluster.run(load_libraries)  # before one of them is held up
    killed, slowed = process_ids(cluster)
    passes = []

    def kill_in_pass(self, function, *broadcast, sums=DaskRows.sum_over):
        passes.append(1)
        if len(passes) == 3:
            os.kill(killed, signal.SIGKILL)
        return sums(self, function, *broadcast)

    def hold_up(is_over):
        with contextlib.suppress(ProcessLookupError):
            os.kill(slowed, signal.SIGSTOP)
            time.sleep(0.06)
            os.kill(slowed, signal.SIGCONT)
        is_over.wait(0.04)

    with meanwhile(hold_up), monkeypatch.context() as patch:
        patch.setattr(DaskRows, "sum_over", kill_in_pass)
        done, there = fit(capsys, folder, tmp_path / "there.skops", *words, "--dask", address)
    assert len(passes) > 3
    assert "read by 2 workers" in done.out
    assert_allclose(there.estimator.coef_, here.estimator.coef_, atol=1e-6)
    assert there.threshold == pytest.approx(here.threshold, abs=1e-6)
    command = [
        "predict",
        tmp_path / "there.skops",
        folder,
        "--out",
        tmp_path / "labels",
        "--dask",
        address,
    ]
    assert run_command(capsys, *command).code == 0
    labels = pd.concat(
        [pd.read_parquet(path)["label"] for path in sorted((tmp_path / "labels").glob("*.parquet"))]
    )
    assert_array_equal(labels, there.predict(table[0]))


SEND = (  # Ctrl-C goes to all processes of a group
    "threading.Timer(0.5, os.killpg, (os.getpid(), signal.SIGINT)).start()"
)
INTERRUPTED = {
    "while workers start": (
        f"""
begin = distributed.LocalCluster.__init__
def interrupted(self, **options):
    {SEND}
    begin(self, **options)
distributed.LocalCluster.__init__ = interrupted
"""
    ),
    "while workers read": (
        f"""
gather = OnCluster.gather
def interrupted(self, function, files, *rest, **told):
    {SEND}
    return gather(self, lambda *_: time.sleep(60), files, **told)
OnCluster.gather = interrupted
"""
    ),
}


@pytest.mark.posix
@pytest.mark.parametrize("when", INTERRUPTED)
def test_ctrl_c_with_workers_says_stopped_and_nothing_else(table, tmp_path, when):
    pytest.importorskip("distributed")
    code = f"""
import distributed, os, signal, threading, time
from semisvm.cli import main
from semisvm.tables.partition_rows import OnCluster
{INTERRUPTED[when]}
if __name__ == "__main__":
    main()
"""
    words = ["fit", table[2], "--target", "kind", "--out", tmp_path / "m.skops", "--workers", "2"]
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        start_new_session=True,
        check=False,
    )
    said = [
        line for line in done.stderr.splitlines() if line and not line.endswith(" s)")
    ]  # progress is no complaint
    assert (done.returncode, done.stdout, said) == (130, "", ["Stopped."])


def test_workers_begin_quietly_where_another_cluster_has_the_usual_port():
    pytest.importorskip("distributed")
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # then another program has it
            stack.enter_context(socket.create_server(("", 8787)))
        workers = stack.enter_context(open_workers(n_workers=1))
        assert workers.n_workers == 1  # a warning would be an error


def test_errors_of_workers_are_those_of_the_data(table, tmp_path, capsys, cluster):
    folder = write_parts(table[0], tmp_path / "rows", 3)
    table[0][:50].assign(age="old").to_parquet(folder / "part-001.parquet")
    done = run_command(
        capsys,
        "fit",
        folder,
        "--target",
        "kind",
        "--out",
        tmp_path / "m.skops",
        "--dask",
        cluster.scheduler.address,
    )
    assert (
        done.code,
        "column 'age' holds text here and numbers in part-000.parquet" in done.err,
    ) == (2, True)


def test_a_pool_that_is_larger_than_the_memory_of_the_workers(tmp_path, capsys, monkeypatch):
    """Encoded rows of 12 MB on a worker that may hold 6: each pass reads them again, and none
    are kept. The 5 MB of labeled rows that are asked for stay there until all have been found.
    """
    pytest.importorskip("distributed")
    import dask

    monkeypatch.setattr("semisvm.primal.dask_rows.GROUP_BYTES", 1_000_000)
    rng = np.random.default_rng(0)
    y = rng.random(150_000) < 0.4
    frame = pd.DataFrame(
        (rng.normal(size=(150_000, 20)) + 0.3 * y[:, None]).astype("float32")
    ).rename(columns=str)
    frame["kind"] = np.where(rng.random(150_000) < 0.2, np.where(y, "yes", "no"), None)
    folder = write_parts(frame, tmp_path / "rows", 12)
    no_limit = {
        f"distributed.worker.memory.{name}": False
        for name in ("target", "spill", "pause", "terminate")
    }
    most = [0]
    with (
        dask.config.set(no_limit),  # the libraries alone take more
        start_cluster(n_workers=1, memory_limit="6MB") as client,
    ):

        def look(is_over):
            most[0] = max(most[0], *client.run(bytes_of_rows).values())
            is_over.wait(0.1)

        with meanwhile(look):
            words = ["--method", "supervised", "--C", "0.001", "--dask", client.scheduler.address]
            _, model = fit(capsys, folder, tmp_path / "m.skops", *words)
    assert model.summary.data.labeled > 20_000
    assert 0 < most[0] < 6e6
    assert (model.predict(frame[:5_000]) == np.where(y[:5_000], "yes", "no")).mean() > 0.7


def test_a_lost_scheduler_ends_in_words(table, tmp_path, capsys, monkeypatch):
    from semisvm.errors import RowsLostError
    from semisvm.primal import FileRows

    passes = []

    def lose(self, function, *broadcast, sums=FileRows.sum_over):
        passes.append(1)
        if len(passes) == 12:
            raise RowsLostError(
                "The connection to the Dask scheduler was lost (CommClosedError). Fit again."
            )
        return sums(self, function, *broadcast)

    monkeypatch.setattr(FileRows, "sum_over", lose)
    command = ["fit", table[2], "--target", "kind", "--out", tmp_path / "m.skops", *TRANSDUCTIVE]
    done = run_command(capsys, *command)
    assert done.code == 2
    assert "scheduler was lost" in done.err
    assert "Start the cluster and the fit again" in done.err
    assert not (tmp_path / "m.skops").exists()
