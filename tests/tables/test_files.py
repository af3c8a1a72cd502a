"""Model files: complete, without pickle, and of known types only."""

import dataclasses
import io
import json
import os
import pickle
import zipfile

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import semisvm
from semisvm.cli.screen import Screen
from semisvm.columns.cells import TERM
from semisvm.disk import whole_file
from semisvm.errors import DataError
from semisvm.estimators import METHODS
from semisvm.kernels import SharedKernel
from semisvm.tables.classes import Classes
from semisvm.tables.files import DIGEST, MANIFEST, SUMMARY, _digest, to_bytes
from semisvm.tables.fit import fit_model
from semisvm.tables.methods import Settings
from semisvm.tables.read_training import read_training
from training_rows import training


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_every_method_comes_back_from_its_file_as_it_went_in(tmp_path, method):
    rows = training(160)
    if method.for_one_class:
        rows.codes[rows.codes == 0] = -1
    model = fit_model(rows, Settings(min_recall=0.8), method=method.name)
    back = semisvm.load(semisvm.save(model, tmp_path / "m.skops"))
    np.testing.assert_array_equal(
        back.decision_function(rows.rows), model.decision_function(rows.rows)
    )
    assert list(back.predict(rows.rows)) == list(model.predict(rows.rows))
    assert back.summary.as_dict() == model.summary.as_dict()


def test_a_vocabulary_is_one_entry_of_the_file_not_one_per_word():
    rng = np.random.default_rng(0)
    texts = np.array(
        [" ".join(f"word{i}" for i in rng.integers(0, 300, 12)) for _ in range(60)], dtype=object
    )
    model = semisvm.AutoSVC().fit(texts, np.arange(60) % 2)
    encoder = semisvm.TableEncoder(view="letters").fit(pd.DataFrame({"text": texts}))
    for content in (to_bytes(model), to_bytes(encoder)):
        assert len(zipfile.ZipFile(io.BytesIO(content)).namelist()) < 200


def test_estimators_and_pipelines_of_the_library_are_saved_too(tmp_path):
    rows = training(160)
    X = rows.rows.numbers
    y = rows.codes
    pipeline = make_pipeline(StandardScaler(), semisvm.TransductiveSVC()).fit(X, y)
    back = semisvm.load(semisvm.save(pipeline, tmp_path / "p.skops"))
    np.testing.assert_array_equal(back.decision_function(X), pipeline.decision_function(X))


def test_the_summary_in_the_file_says_what_the_model_is(tmp_path):
    model = fit_model(training(160), Settings(min_recall=0.8), method="transductive")
    path = semisvm.save(model, tmp_path / "m.skops")
    archive = zipfile.ZipFile(path)
    assert json.loads(archive.read(MANIFEST))["format"] == 3
    summary = json.loads(archive.read(SUMMARY))
    assert summary["classes"] == ["no", "yes"]
    assert summary["data"]["features"][0] == {"name": "a", "type": "number", "remark": ""}
    assert summary["operating_points"]["yes"]["target"]["min_recall"] == 0.8
    assert list(summary["audits"]["yes"]) == [
        "supervised",
        "supervised + threshold",
        "with unlabeled",
    ]


@pytest.mark.parametrize(
    "friend",
    [os.system, semisvm.save, Screen(), whole_file],
    ids=["system", "save", "a screen", "whole_file"],
)
def test_types_that_are_not_ours_and_functions_are_refused(tmp_path, friend):
    foreign = StandardScaler()
    foreign.friend = friend
    path = tmp_path / "f.skops"
    path.write_bytes(to_bytes(foreign))
    with pytest.raises(DataError, match="which no model of this library is made of"):
        semisvm.load(path)


@pytest.mark.parametrize(
    ("kernel", "name"),
    [(laplacian_kernel, "laplacian_kernel"), (SharedKernel(np.eye(4)), "SharedKernel")],
)
def test_a_model_that_could_not_be_loaded_is_not_saved(tmp_path, kernel, name):
    model = semisvm.SupervisedSVC(kernel=kernel).fit(np.eye(4), [0, 1, 0, 1])
    path = tmp_path / "m.skops"
    path.write_text("an earlier model")
    with pytest.raises(DataError, match=rf"m\.skops: the model holds .*{name}.*joblib\.dump"):
        semisvm.save(model, path, force=True)
    assert path.read_text() == "an earlier model"


class OwnClassifier(LogisticRegression):
    """A classifier that no library knows."""


@pytest.mark.parametrize(
    "classifier", [OwnClassifier(), HistGradientBoostingClassifier(max_iter=3)]
)
def test_autosvc_with_a_member_that_could_not_be_loaded_is_not_saved(tmp_path, classifier):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.where(np.arange(60) < 30, X[:, 0] > 0, -1)
    model = semisvm.AutoSVC(members=[("own", classifier)]).fit(X, y)
    with pytest.raises(DataError, match=r"the model holds \S+, which.*joblib\.dump"):
        semisvm.save(model, tmp_path / "m.skops")


def test_what_skops_trusts_is_read(tmp_path):
    assert semisvm.load(semisvm.save(SVC(), tmp_path / "svc.skops")).C == 1.0


def test_a_pickle_is_no_model_and_is_never_opened(tmp_path):
    marker = tmp_path / "ran"

    class Trap:
        def __reduce__(self):
            return (os.mkdir, (str(marker),))

    (tmp_path / "m.skops").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(DataError, match="this is not a model file of semisvm"):
        semisvm.load(tmp_path / "m.skops")
    assert not marker.exists()


def test_edited_content_with_the_old_digest_is_refused(tmp_path):
    content = to_bytes(StandardScaler())
    source = zipfile.ZipFile(io.BytesIO(content))
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in source.namelist():
            archive.writestr(
                name, source.read(name).replace(b'"content": "true"', b'"content": "false"')
            )
    (tmp_path / "m.skops").write_bytes(stream.getvalue())
    with pytest.raises(DataError, match="damaged or edited: its digest is wrong"):
        semisvm.load(tmp_path / "m.skops")


def test_an_existing_file_is_replaced_only_by_force_and_only_by_a_whole_one(tmp_path):
    path = semisvm.save(StandardScaler(), tmp_path / "m.skops")
    before = path.read_bytes()
    with pytest.raises(DataError, match="the file exists"):
        semisvm.save(SVC(), path)
    with pytest.raises(ZeroDivisionError), whole_file(path, force=True) as unfinished:
        unfinished.write_bytes(bytes(1 // 0))
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["m.skops"]
    assert isinstance(semisvm.load(semisvm.save(SVC(), path, force=True)), SVC)


WRITE_AND_WAIT = """
import sys
from semisvm.disk import whole_file

with whole_file(sys.argv[1], force=True) as unfinished:
    unfinished.write_text("of another process")
    print(unfinished, flush=True)
    sys.stdin.read()
"""


@pytest.mark.posix
def test_the_unfinished_file_has_a_new_name_each_time_and_is_never_opened_through_a_link(
    tmp_path, monkeypatch
):
    names = set()
    for _ in range(20):
        with whole_file(tmp_path / "out", force=True) as unfinished:
            unfinished.write_text("x")
        names.add(unfinished.name)
    assert len(names) == 20
    (tmp_path / "precious").write_text("precious")
    (tmp_path / ".out.0123.unfinished").symlink_to(tmp_path / "precious")
    tokens = iter(["0123", "4567"])
    monkeypatch.setattr("semisvm.disk.secrets.token_hex", lambda n: next(tokens))
    with (
        pytest.raises(DataError, match="can't be written"),
        whole_file(tmp_path / "out", force=True),
    ):
        pass
    with whole_file(tmp_path / "out", force=True) as unfinished:
        unfinished.write_text("new")
    assert (tmp_path / "precious").read_text() == "precious"


@pytest.mark.posix
def test_a_file_that_is_replaced_keeps_its_permissions_from_the_first_byte(tmp_path):
    path = tmp_path / "m.skops"
    before = os.umask(0o022)
    try:
        semisvm.save(SVC(), path)
        assert path.stat().st_mode & 0o777 == 0o644
        for mode in (0o600, 0o640, 0o444):
            path.chmod(mode)
            with whole_file(path, force=True) as unfinished:
                assert unfinished.stat().st_mode & 0o777 == mode | 0o200
            assert path.stat().st_mode & 0o777 == mode
    finally:
        os.umask(before)


def test_estimators_in_a_model_know_the_classes_by_name_with_the_positive_one_last():
    rows = training(160)
    rows.classes = Classes(
        ("yes", "no"), False
    )  # the order of the classes is not that of the alphabet
    model = fit_model(rows, Settings(), method="supervised")
    assert model.estimator.classes_.tolist() == ["yes", "no"]
    labels = model.estimator.predict(model.encoder.transform(rows.rows))
    scores = model.decision_function(rows.rows)
    assert list(labels) == list(np.where(scores + model.threshold > 0, "no", "yes"))
    assert list(model.predict(rows.rows)) == list(np.where(scores > 0, "no", "yes"))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("data", "rows"), "many"),
        (("data", "rows"), 1e308),
        (("data", "features"), [{"name": True, "type": "number"}]),
        (("data", "class_counts"), {"no": {}}),
        (("data", "class_counts"), {"no": True}),
        (("data",), [1]),
        (("scores",), {"yes": 3}),
        (("is_fair_sample",), "yes"),
        (("comparison",), {"measure": 1}),
        (("notes",), [1]),
        (("audits",), [7]),
        (("method", "name"), None),
        (("seconds",), {}),
    ],
    ids=str,
)
def test_a_summary_of_other_types_is_refused(tmp_path, place, value):
    """Whoever edits a summary can make the digest right: what it holds is looked at too."""
    from semisvm.tables import files

    model = fit_model(training(160), Settings(), method="supervised")
    content = to_bytes(model)
    with zipfile.ZipFile(io.BytesIO(content)) as old:
        entries = {name: old.read(name) for name in old.namelist() if name != files.DIGEST}
    summary = json.loads(entries[files.SUMMARY])
    node = summary
    for key in place[:-1]:
        node = node[key]
    node[place[-1]] = value
    entries[files.SUMMARY] = json.dumps(summary).encode()
    path = tmp_path / "m.skops"
    with zipfile.ZipFile(path, "w") as new:
        for name, part in entries.items():
            new.writestr(name, part)
        new.writestr(files.DIGEST, files._digest(new))
    with pytest.raises(DataError, match="can't be read as a model"):
        semisvm.load(path)


def test_a_model_whose_summary_lacks_a_score_can_be_saved_and_loaded(tmp_path):
    model = fit_model(training(160), Settings(), method="supervised")
    sample = model.summary.scores["yes"]
    lacking = dataclasses.replace(sample, labeled=(np.nan, *sample.labeled[1:]))
    model.summary = dataclasses.replace(model.summary, scores={"yes": lacking})
    found = semisvm.load(semisvm.save(model, tmp_path / "m.skops")).summary.scores["yes"]
    np.testing.assert_array_equal(found.labeled, lacking.labeled)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
def test_a_model_of_sparse_rows_can_be_saved_and_loaded(form, tmp_path):
    X = form(np.eye(8, 3))
    y = np.array([0, 1, 0, 1, 0, 1, -1, -1])
    model = semisvm.SupervisedSVC().fit(X, y)
    path = semisvm.save(model, tmp_path / "model.skops")
    np.testing.assert_array_equal(
        semisvm.load(path).decision_function(X), model.decision_function(X)
    )


# ---- files that were made to harm ----


def packed_again(content, **changed):
    """The content of a model file with some entries replaced, and the digest that belongs to it."""
    stream = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            if name != DIGEST:
                new.writestr(name, changed.get(name, old.read(name)))
        for name in changed.keys() - set(old.namelist()):
            new.writestr(name, changed[name])
        new.writestr(DIGEST, _digest(new))
    return stream.getvalue()


def zipped(name, part):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, part)
    return stream.getvalue()


def test_an_archive_inside_the_file_may_not_unpack_to_gigabytes(tmp_path):
    zeros = zipped("data.npy", bytes(300_000_000))
    assert len(zeros) < 1_000_000
    path = tmp_path / "m.skops"
    path.write_bytes(packed_again(to_bytes(StandardScaler()), **{"inner.npz": zeros}))
    with pytest.raises(DataError, match=r"MB that claim to hold 0\.3 GB"):
        semisvm.load(path)
    nested = zipped("a.zip", zipped("b.zip", zipped("c.zip", b"")))
    path.write_bytes(packed_again(to_bytes(StandardScaler()), **{"inner.npz": nested}))
    with pytest.raises(DataError, match="archives inside archives"):
        semisvm.load(path)


@pytest.mark.parametrize("is_inside", [False, True])
def test_an_array_that_claims_more_numbers_than_it_holds_is_damaged(tmp_path, is_inside):
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        stream, {"descr": "<f8", "fortran_order": False, "shape": (10**13,)}
    )
    array = stream.getvalue() + bytes(64)
    part = {"m.npz": zipped("data.npy", array)} if is_inside else {"m.npy": array}
    path = tmp_path / "m.skops"
    path.write_bytes(packed_again(to_bytes(StandardScaler()), **part))
    with pytest.raises(DataError, match="the model file is damaged: an array in it claims"):
        semisvm.load(path)


def test_a_regular_expression_in_a_tampered_model_does_not_run_for_ever(tmp_path):
    """A text of letters a would take (a|aa)+b longer than the age of the universe."""
    texts = [f"word{k % 7} other{k % 5} note{k % 3}" for k in range(60)]
    frame = pd.DataFrame({"note": texts, "a": range(60), "y": ["no", "yes"] * 30})
    frame.to_csv(tmp_path / "t.csv", index=False)
    fitted = fit_model(
        read_training([tmp_path / "t.csv"], "y"), Settings("linear"), method="supervised"
    )
    content = to_bytes(fitted)
    path = tmp_path / "m.skops"
    path.write_bytes(content)
    assert semisvm.load(path).classes.names == fitted.classes.names
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        schema = archive.read("schema.json")
    own = json.dumps(json.dumps(TERM)).encode()
    assert own in schema
    path.write_bytes(
        packed_again(content, **{"schema.json": schema.replace(own, rb'"\"(a|aa)+b\""')})
    )
    with pytest.raises(DataError, match="searches texts for"):
        semisvm.load(path)


def test_a_tampered_model_that_divides_a_column_by_0_is_damaged(tmp_path):
    """No cell of the rows to predict is at fault then, and none is named."""
    fitted = fit_model(training(200), Settings("linear"), method="supervised")
    fitted.encoder.views_.scaler.scale_[0] = 0
    path = tmp_path / "m.skops"
    path.write_bytes(to_bytes(fitted))
    with pytest.raises(DataError, match="the model file is damaged: it divides a column by 0"):
        semisvm.load(path)
