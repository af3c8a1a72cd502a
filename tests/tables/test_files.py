"""Model files: complete, without pickle, and of known types only."""

import dataclasses
import io
import json
import os
import pickle
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import semisvm
from killed_fits import training
from semisvm.disk import whole_file
from semisvm.errors import DataError
from semisvm.estimators import METHODS
from semisvm.estimators.progress import RoundRecord
from semisvm.tables import FitSummary
from semisvm.tables.classes import Classes
from semisvm.tables.files import MANIFEST, to_bytes, trusted_types
from semisvm.tables.fit import fit_model
from semisvm.tables.loaded import move_types, read_plain_parts
from semisvm.tables.methods import Settings
from semisvm.tables.predict import predict_file

VERSION_1 = Path(__file__).with_name("version_1")  # model files, their rows, and the predictions, made by semisvm 0.1


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_every_method_comes_back_from_its_file_as_it_went_in(tmp_path, method):
    rows = training(160)
    if method.for_one_class:
        rows.codes[rows.codes == 0] = -1
    model = fit_model(rows, Settings(min_recall=0.8), method=method.name).model
    back = semisvm.load(semisvm.save(model, tmp_path / "m.skops"))
    np.testing.assert_array_equal(back.decision_function(rows.rows), model.decision_function(rows.rows))
    assert list(back.predict(rows.rows)) == list(model.predict(rows.rows))
    assert back.summary.as_dict() == model.summary.as_dict()
    check_is_read_as_by_skops((tmp_path / "m.skops").read_bytes())


def check_is_read_as_by_skops(content):
    """The file is made of plain parts, and both ways to read it give the same."""
    plain = read_plain_parts(content, trusted_types)
    assert plain is not None
    assert_same(plain, skops.io.loads(content, trusted=sorted(trusted_types())))


def assert_same(one, other):
    """Equal to the last bit and of the same types, all parts included."""
    assert type(one) is type(other)
    if isinstance(one, np.ndarray) and one.dtype != object:
        assert (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
    elif sparse.issparse(one):
        assert (one != other).nnz == 0
    elif isinstance(one, np.random.RandomState):
        assert one.randint(10**9) == other.randint(10**9)
    elif isinstance(one, dict):
        assert_same(list(one), list(other))
        assert_same(list(one.values()), list(other.values()))
    elif isinstance(one, list | tuple | np.ndarray):
        assert len(one) == len(other)
        for part, other_part in zip(one, other, strict=True):
            assert_same(part, other_part)
    elif hasattr(one, "__dict__") and not isinstance(one, type):
        assert_same(vars(one), vars(other))
    else:
        assert one == other or (one != one and other != other)


@pytest.mark.parametrize("view", ["letters", "latent"])
def test_models_of_text_dates_and_categories_are_made_of_plain_parts(view):
    rng = np.random.default_rng(0)
    words = [" ".join(rng.choice(["rain", "sun", "wind", "heat"], 4)) for _ in range(40)]
    days = pd.date_range("2024-01-01", periods=40).strftime("%Y-%m-%d")
    frame = pd.DataFrame({"words": words, "day": days, "size": rng.normal(size=40), "kind": rng.choice(["a", "b"], 40)})
    frame.loc[3, "size"] = np.nan
    check_is_read_as_by_skops(to_bytes(semisvm.TableEncoder(view=view).fit(frame)))
    check_is_read_as_by_skops(to_bytes(semisvm.TableEncoder(view="quantiles").fit(frame)))


def test_a_vocabulary_is_one_entry_of_the_file_not_one_per_word():
    rng = np.random.default_rng(0)
    texts = np.array([" ".join(f"word{i}" for i in rng.integers(0, 300, 12)) for _ in range(60)], dtype=object)
    model = semisvm.AutoSVC().fit(texts, np.arange(60) % 2)
    encoder = semisvm.TableEncoder(view="letters").fit(pd.DataFrame({"text": texts}))
    for content in (to_bytes(model), to_bytes(encoder)):
        assert len(zipfile.ZipFile(io.BytesIO(content)).namelist()) < 200


@pytest.mark.parametrize("name", sorted(path.name for path in VERSION_1.glob("*.skops")))
def test_models_of_version_0_1_are_made_of_plain_parts(name):
    check_is_read_as_by_skops(move_types((VERSION_1 / name).read_bytes(), trusted_types()))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"sklearn.preprocessing._data"', '"os"'),
        ('"StandardScaler"', '"system"'),
        ('"ObjectNode"', '"FunctionNode"'),
        ('"builtins"', '"subprocess"'),
        ('"protocol": 2', '"protocol": 3'),
    ],
)
def test_what_is_not_plain_is_left_to_skops(old, new):
    source, stream = zipfile.ZipFile(io.BytesIO(to_bytes(StandardScaler().fit([[1.0], [2.0]])))), io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in source.namelist():
            archive.writestr(name, source.read(name).replace(old.encode(), new.encode()))
    assert read_plain_parts(to_bytes(StandardScaler()), trusted_types) is not None
    assert read_plain_parts(stream.getvalue(), trusted_types) is None


def test_estimators_and_pipelines_of_the_library_are_saved_too(tmp_path):
    rows = training(160)
    X, y = rows.rows.to_numpy(), rows.codes
    pipeline = make_pipeline(StandardScaler(), semisvm.TransductiveSVC()).fit(X, y)
    back = semisvm.load(semisvm.save(pipeline, tmp_path / "p.skops"))
    np.testing.assert_array_equal(back.decision_function(X), pipeline.decision_function(X))


def test_a_type_that_has_moved_to_another_module_since_is_found(tmp_path, monkeypatch):
    X, y = np.random.default_rng(0).standard_normal((40, 2)), np.arange(40) % 2
    model = semisvm.SupervisedSVC().fit(X, y)
    with monkeypatch.context() as earlier:
        earlier.setattr(semisvm.SupervisedSVC, "__module__", "semisvm.estimators.earlier")
        semisvm.save(model, tmp_path / "m.skops")
    back = semisvm.load(tmp_path / "m.skops")
    np.testing.assert_array_equal(back.decision_function(X), model.decision_function(X))


def test_the_manifest_says_what_the_model_is(tmp_path):
    model = fit_model(training(160), Settings(min_recall=0.8), method="transductive").model
    path = semisvm.save(model, tmp_path / "m.skops")
    manifest = json.loads(zipfile.ZipFile(path).read(MANIFEST))
    assert manifest["format"] == 2
    assert manifest["classes"] == ["no", "yes"]
    assert manifest["data"]["features"][0] == {"name": "a", "type": "number", "remark": ""}
    assert manifest["operating_points"]["yes"]["target"]["min_recall"] == 0.8
    assert list(manifest["audits"]["yes"]) == ["supervised", "supervised + threshold", "with unlabeled"]


def test_types_that_are_not_ours_are_refused(tmp_path):
    foreign = StandardScaler()
    foreign.friend = os.system
    with pytest.raises(DataError, match="holds objects of a type that is not of this library"):
        semisvm.load(semisvm.save(foreign, tmp_path / "f.skops"))
    assert semisvm.load(semisvm.save(SVC(), tmp_path / "svc.skops")).C == 1.0  # on the list of skops


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
    source, stream = zipfile.ZipFile(io.BytesIO(content)), io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in source.namelist():
            archive.writestr(name, source.read(name).replace(b'"content": "true"', b'"content": "false"'))
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


def test_the_unfinished_file_of_a_killed_run_is_deleted_by_the_next(tmp_path):
    gone = 2**22 - 1  # no process has this number
    (tmp_path / f".m.skops.{gone}.unfinished").write_bytes(b"half")
    (tmp_path / f".m.skops.{os.getpid()}0.unfinished").write_bytes(b"of another process")
    semisvm.save(SVC(), tmp_path / "m.skops")
    assert not (tmp_path / f".m.skops.{gone}.unfinished").exists()


# ---- files of version 0.1 ----


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("two-classes", "two.csv"),
        ("auto-costs", "two.csv"),
        ("three-classes", "three.csv"),
        ("three-supervised", "three.csv"),
    ],
)
def test_a_model_file_of_version_0_1_is_read_and_predicts_as_it_did(tmp_path, name, rows):
    """Its estimator was fitted on codes; now it gives the class names itself."""
    model = semisvm.load(VERSION_1 / f"{name}.skops")
    predict_file(model, VERSION_1 / rows, tmp_path / "p.csv")
    found, expected = (pd.read_csv(path) for path in (tmp_path / "p.csv", VERSION_1 / f"{name}-predicted.csv"))
    assert list(found["label"]) == list(expected["label"])
    assert list(found["above"]) == list(expected["above"])
    np.testing.assert_allclose(found["score"], expected["score"], rtol=1e-5)
    X = model.encoder.transform(pd.read_csv(VERSION_1 / rows, dtype=str))
    assert set(model.estimator.predict(X)) <= set(model.classes.names)
    assert model.estimator.classes_.tolist() == list(model.classes.names)
    clone(model.estimator)  # every parameter of this version is there
    assert all(isinstance(record, RoundRecord) for record in model.estimator.history_)
    again = semisvm.load(semisvm.save(model, tmp_path / "again.skops"))
    assert again.summary.as_dict() == model.summary.as_dict()
    np.testing.assert_array_equal(again.scores_of(X), model.scores_of(X))


@pytest.mark.parametrize("name", ["two-classes", "three-classes"])
def test_an_estimator_of_version_0_1_has_its_operating_points_by_class(name):
    """They are those of the summary, and with two classes the positive one has a name of its own."""
    model = semisvm.load(VERSION_1 / f"{name}.skops")
    estimator, told = model.estimator, model.summary.operating_points
    assert set(estimator.operating_points_) == set(estimator.audits_) == set(told)
    for number, (label, point) in enumerate(estimator.operating_points_.items()):
        assert point.threshold == pytest.approx(estimator.threshold_[number])
        assert str(replace(point, threshold=told[label].threshold)) == str(told[label])
        assert set(estimator.audits_[label]) == set(model.summary.audits[label])
    if name == "two-classes":
        assert estimator.operating_point_ is estimator.operating_points_[model.classes.names[1]]
        assert estimator.audit_ is estimator.audits_[model.classes.names[1]]
    else:
        with pytest.raises(AttributeError, match="only available with two classes"):
            _ = estimator.operating_point_


def test_a_method_that_was_renamed_since_version_0_1_is_found(tmp_path):
    facts = json.loads(zipfile.ZipFile(VERSION_1 / "two-classes.skops").read("semisvm/facts.json"))
    facts["method"]["name"] = "cost"
    assert FitSummary.from_dict(facts).method.name == "label-mean"


def test_estimators_in_a_model_know_the_classes_by_name_with_the_positive_one_last():
    rows = training(160)
    rows.classes = Classes(("yes", "no"), False)  # the order of the classes is not that of the alphabet
    model = fit_model(rows, Settings(), method="supervised").model
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
        (("rounds",), [7]),
        (("method", "name"), None),
        (("seconds",), {}),
    ],
    ids=str,
)
def test_a_summary_of_other_types_is_refused(tmp_path, place, value):
    """Whoever edits a summary can make the digest right: what it holds is looked at too."""
    from semisvm.tables import files

    model = fit_model(training(160), Settings(), method="supervised").model
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
    model = fit_model(training(160), Settings(), method="supervised").model
    sample = model.summary.scores["yes"]
    lacking = dataclasses.replace(sample, labeled=(np.nan, *sample.labeled[1:]))
    model.summary = dataclasses.replace(model.summary, scores={"yes": lacking})
    found = semisvm.load(semisvm.save(model, tmp_path / "m.skops")).summary.scores["yes"]
    np.testing.assert_array_equal(found.labeled, lacking.labeled)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
def test_a_model_of_sparse_rows_can_be_saved_and_loaded(form, tmp_path):
    X, y = form(np.eye(8, 3)), np.array([0, 1, 0, 1, 0, 1, -1, -1])
    model = semisvm.SupervisedSVC().fit(X, y)
    path = semisvm.save(model, tmp_path / "model.skops")
    np.testing.assert_array_equal(semisvm.load(path).decision_function(X), model.decision_function(X))
