"""AutoSVC on tables and texts: what members are, against plain formulas, and what users may
pass.
"""

import functools
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import datasets
from sklearn.datasets import load_breast_cancer, load_wine, make_moons
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomTreesEmbedding
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from semisvm import AutoSVC, load, save
from semisvm.columns.arrays import column_statistics, looks_like_a_table
from semisvm.columns.views import make_views_of
from semisvm.estimators.auto import members, trees
from semisvm.estimators.auto.families import (
    explain_weights,
    weigh_families,
)
from semisvm.estimators.auto.geometry import whitened_components
from semisvm.estimators.auto.members import (
    FamilyTask,
    find_latent_directions,
    fit_logistic,
    train_features,
    train_forest,
)
from semisvm.estimators.auto.preparation import read_rows
from semisvm.estimators.auto.stacking import FamilySettings, stack
from semisvm.estimators.auto.trees import grow_forest, grow_leaf_shares
from semisvm.estimators.least_squares import LabeledTarget, fit_least_squares
from semisvm.tables.files import load_table_model
from semisvm.tables.fit import fit_model
from semisvm.tables.methods import Settings
from semisvm.tables.read_training import read_training

TEXT_FAMILIES = ["words", "characters", "latent semantics", "naive Bayes"]
TABLE_FAMILIES = [
    "standardized columns",
    "quantile columns",
    "trees without labels",
    "random forest",
    "extra trees",
    "logistic regression",
]
SETTINGS = FamilySettings(2)


N_TREES = 40


@pytest.fixture(scope="module", autouse=True)
def few_trees():
    """Growing hundreds of trees takes seconds, and says no more."""
    with pytest.MonkeyPatch.context() as patch, threadpool_limits(1):
        patch.setattr(members, "N_FOREST_TREES", N_TREES)
        patch.setattr(trees, "N_LEAF_TREES", N_TREES)
        yield


def mixed_table(n=120, seed=0):
    """A table in which every column says something about the class, and cells are missing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    words = np.array([["rain", "wind", "cold", "storm"], ["sun", "heat", "dry", "calm"]])
    frame = pd.DataFrame(
        {
            "amount": np.exp(rng.standard_normal(n) + y),
            "city": np.where(rng.random(n) < 0.8, np.array(["Rome", "Oslo"])[y], "Bern"),
            "note": [" ".join(words[k ^ (rng.random(5) < 0.2), rng.integers(0, 4, 5)]) for k in y],
        }
    )
    frame.loc[::11, "amount"] = np.nan
    frame.loc[::13, "city"] = None
    return frame, y, np.where(np.arange(n) < 30, y, -1)


@pytest.fixture(scope="module")
def cancer():
    """Breast cancer with 40 labels, as a frame."""
    data = load_breast_cancer(as_frame=True)
    order = np.random.default_rng(0).permutation(len(data.target))
    X = data.data.iloc[order]
    y = data.target.to_numpy()[order]
    return X, y, np.where(np.arange(len(y)) < 40, y, -1)


@pytest.fixture(scope="module")
def of_cancer(cancer):
    X, _, hidden = cancer
    return AutoSVC().fit(X[:250], hidden[:250])


# ---- members ----


def test_the_kernel_of_trees_is_the_share_of_trees_in_which_two_rows_meet():
    X = np.random.default_rng(0).standard_normal((30, 3))
    shares = grow_leaf_shares(X)
    leaves = shares.trees.leaves(X)
    assert leaves.shape == (30, N_TREES)
    meet = np.array([[np.mean(a == b) for b in leaves] for a in leaves])
    Z = shares.of(X)
    assert_allclose((Z @ Z.T).toarray(), meet, atol=1e-12)
    slopes = np.random.default_rng(1).standard_normal((Z.shape[1], 2))
    assert_allclose(shares.products(X, slopes), Z @ slopes, atol=1e-12)


def test_trees_without_labels_cut_between_the_rows_of_a_node_down_to_depth_7():
    """Each node walked by hand: cuts are inside the range of a column that varies, leaves are
    deep or can't be cut.
    """
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [rng.standard_normal((200, 2)), np.ones(200), rng.integers(0, 2, 200)]
    ).astype(np.float32)
    X = np.concatenate([X, X[:50]])  # copies do not matter
    grown = grow_leaf_shares(X).trees
    assert set(grown.feature[grown.left != np.arange(grown.n_nodes)]) == {0, 1, 3}
    assert_array_equal(
        grown.threshold, grow_leaf_shares(X[np.r_[199:-1:-1]]).trees.threshold
    )  # nor does the order
    for root in grown.roots[:10]:
        todo = [(root, np.arange(250), 0)]
        while todo:
            node, rows, depth = todo.pop()
            if grown.left[node] == node:
                assert depth == 7 or len(np.unique(X[rows], axis=0)) == 1
                continue
            column = X[rows, grown.feature[node]]
            cut = grown.threshold[node]
            assert column.min() <= cut < column.max()
            goes_left = column <= cut
            todo += [
                (grown.left[node], rows[goes_left], depth + 1),
                (grown.right[node], rows[~goes_left], depth + 1),
            ]


def test_the_kernel_of_trees_is_near_that_of_scikit_learn():
    """The same law of random trees: with many of them, the same shares of trees in which two
    rows meet.
    """
    X = np.random.default_rng(0).standard_normal((40, 3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trees, "N_LEAF_TREES", 2000)
        Z = grow_leaf_shares(X).of(X)
    leaves = RandomTreesEmbedding(2000, max_depth=7, random_state=0).fit(X).apply(X)
    meet = np.array([(leaves == one).mean(axis=1) for one in leaves])
    assert np.abs((Z @ Z.T).toarray() - meet).max() < 0.07  # five standard errors of a share
    assert np.abs((Z @ Z.T).toarray() - meet).mean() < 0.01


def test_a_few_rows_walk_down_the_trees_without_compiled_code_to_the_same_leaves(monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 5))
    grown = grow_leaf_shares(X).trees
    table = np.random.default_rng(1).normal(size=(grown.n_nodes, 3))
    leaves = grown.leaves(X)
    sums = grown.sums(X, table)
    monkeypatch.setattr(trees, "FEW_WALKS", 0)
    assert_array_equal(leaves, grown.leaves(X))
    assert_array_equal(sums, grown.sums(X, table))


def test_damaged_trees_are_refused():
    X = np.random.default_rng(0).standard_normal((30, 3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trees, "N_LEAF_TREES", 3)
        grown = grow_leaf_shares(X).trees
    with pytest.raises(ValueError, match="not grown on 2 columns"):
        grown.leaves(X[:, :2])
    for damage in (
        {"left": grown.left * 0},
        {"right": grown.right + 1},
        {"feature": grown.feature[:-1]},
    ):
        with pytest.raises(ValueError, match="3 trees are damaged"):
            replace(grown, **damage).leaves(X)


def test_latent_coordinates_have_length_1_and_their_scores_are_those_of_the_kernel_machine():
    rng = np.random.default_rng(0)
    views = {"words": rng.random((40, 9)), "characters": rng.random((40, 12))}
    Y = rng.choice([-1.0, 1.0], (15, 1))
    target = LabeledTarget(np.arange(15), Y, np.ones(15), np.ones(15), np.arange(15))
    task = FamilyTask(views, np.ones(40), target, SETTINGS, "")
    found = train_features(("words", "characters"), find_latent_directions, (1.0, 0.1), task)
    expected = 0
    left_out = []
    for view, matrix in views.items():
        Z = found.family.features[view].of(matrix)
        assert_allclose(np.linalg.norm(Z, axis=1), 1)
        for name, ridge in ((view, 0.1), (f"{view}, weak ridge", 0.01)):
            machine = fit_least_squares(Z[:15] @ Z[:15].T, Y, np.ones(15), np.ones(15), ridge=ridge)
            left_out.append(machine.left_out)
            expected = expected + found.members.weights[name] * machine.scores(Z @ Z[:15].T)
    assert_allclose(found.scores, expected, atol=1e-10)
    assert_allclose(found.family.scores(views), expected, atol=1e-10)
    weights = stack(np.stack(left_out), Y, np.ones(15), np.full(4, 0.25), strength=0.5).weights
    assert_allclose(list(found.members.weights.values()), weights)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_trees_that_look_at_all_columns_are_those_of_scikit_learn(n_classes):
    """The draws of rows by hand: a tree is then a plain decision tree of the rows drawn, counted
    by their draws.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 4))
    codes = rng.integers(0, n_classes, 90)
    weight = rng.uniform(0.5, 2, 90)
    codes[X[:, 0] > 0.3] = 0
    grown, shares, out_of_bag = grow_forest(
        X, codes, weight, n_classes, n_trees=1, per_cut=4, is_random=False
    )
    draws = np.random.default_rng(0)
    draws.integers(1, 2**62, 1)  # the seed of the tree
    times = np.bincount(draws.integers(0, 90, 90), minlength=90)
    tree = DecisionTreeClassifier(min_samples_leaf=2, random_state=0).fit(
        X, codes, sample_weight=times * weight
    )
    found = grown.sums(X, shares)
    seen = times > 0  # elsewhere equally good cuts differ
    assert_allclose(found[seen], tree.predict_proba(X[seen]), atol=1e-12)
    assert_allclose(out_of_bag, np.where(seen[:, None], 0, found), atol=1e-12)


@pytest.mark.parametrize(
    ("kind", "is_random", "per_cut"),
    [(RandomForestClassifier, False, 5), (ExtraTreesClassifier, True, 3)],
)
def test_a_forest_is_near_that_of_scikit_learn_and_left_out_by_its_out_of_bag_scores(
    kind, is_random, per_cut
):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 9))
    X[:, 8] = 1  # a column that never varies
    codes = (X[:25, 0] + 0.5 * rng.standard_normal(25) > 0).astype(int)
    target = LabeledTarget(
        np.arange(25), 2.0 * codes[:, None] - 1, np.ones(25), np.ones(25), np.arange(25) % 20
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(members, "N_FOREST_TREES", 2000)
        task = FamilyTask({"rows": X}, np.ones(60), target, SETTINGS, "forest: ")
        found = train_forest("rows", is_random, task)
    how = {"max_features": per_cut, "min_samples_leaf": 2, "bootstrap": True, "random_state": 0}
    alone = kind(500, oob_score=True, **how).fit(X[:25], codes)
    assert_allclose(
        found.members.left_out[:, 0], 2 * alone.oob_decision_function_[:, 1] - 1, atol=0.15
    )
    assert_allclose(found.scores[:, 0], 2 * alone.predict_proba(X)[:, 1] - 1, atol=0.12)
    assert np.abs(found.scores[:, 0] - 2 * alone.predict_proba(X)[:, 1] + 1).mean() < 0.03


def test_the_forest_finds_the_two_columns_of_forty_that_decide():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        rng.integers(0, 2, (700, 40)).astype(float), columns=[f"x{j}" for j in range(40)]
    )
    y = ((X["x3"] == 1) & (X["x8"] == 1)).to_numpy().astype(int)
    hidden = np.where(np.arange(700) < 80, y, -1)
    model = AutoSVC().fit(X[:400], hidden[:400])
    assert max(model.families_, key=model.families_.get) == "random forest"
    assert average_precision_score(y[400:], model.decision_function(X[400:])) > 0.95


def logistic_task(n=60, d=4):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)[:, None], np.ones(n)


def test_logistic_regression_is_that_of_scikit_learn_and_knows_its_scores_left_out():
    X, Y, ones = logistic_task()
    machine = fit_logistic(X, Y, ones, ones, ridge=2.0)
    alone = LogisticRegression(C=0.5, tol=1e-10, max_iter=1000).fit(X, Y[:, 0])
    assert_allclose(machine.slopes[:, 0], alone.coef_[0], atol=1e-5)
    assert_allclose(machine.scores(X)[:, 0], 2 * alone.predict_proba(X)[:, 1] - 1, atol=1e-5)
    exact = [
        fit_logistic(X[rest], Y[rest], ones[1:], ones[1:], ridge=2.0).scores(X[[i]])[0, 0]
        for i in range(len(X))
        for rest in [np.delete(np.arange(len(X)), i)]
    ]
    assert (
        np.abs(machine.left_out[:, 0] - exact).max()
        < 0.02
        < np.abs(machine.scores(X)[:, 0] - exact).max()
    )


def test_a_row_of_weight_two_is_two_rows_for_logistic_regression():
    X, Y, ones = logistic_task(n=20)
    weight = np.where(np.arange(20) < 5, 2.0, 1.0)
    one = fit_logistic(X, Y, weight, ones, ridge=1.0)
    twice = np.repeat(np.arange(20), weight.astype(int))
    two = fit_logistic(X[twice], Y[twice], np.ones(25), np.ones(25), ridge=1.0)
    assert_allclose(one.slopes, two.slopes, atol=1e-6)
    assert_allclose(one.left_out[twice], two.left_out, atol=1e-6)


@pytest.mark.parametrize(
    ("n_labels", "of_forests", "of_logistic"), [(2, 1.04, 0.04), (50, 2.0, 1.0), (100, 3.0, 2.0)]
)
def test_families_of_columns_are_believed_in_by_their_record_once_labels_are_many(
    n_labels, of_forests, of_logistic
):
    ones = np.ones(n_labels)
    # labels tell nothing
    silent = SimpleNamespace(members=SimpleNamespace(crossed=np.zeros((n_labels, 1))), belief=None)
    target = LabeledTarget(np.arange(n_labels), ones[:, None], ones, ones, np.arange(n_labels) % 20)
    families = dict.fromkeys([*TABLE_FAMILIES, "words of note"], silent)
    found = dict(zip(families, weigh_families(families, target, SETTINGS).weights, strict=True))
    plain = found["standardized columns"]
    for name, belief in zip(
        TABLE_FAMILIES, [1, 1, 1, of_forests, of_forests, of_logistic], strict=True
    ):
        assert found[name] == pytest.approx(belief * plain)
    assert found["words of note"] == pytest.approx(1 / 7)


def test_families_are_stacked_by_their_leave_one_out_scores(cancer, of_cancer):
    X, y, _ = cancer
    records = {record.problem: record for record in of_cancer.history_}
    assert list(of_cancer.families_) == TABLE_FAMILIES
    assert sum(of_cancer.families_.values()) == pytest.approx(1)
    assert sum(of_cancer.weights_.values()) == pytest.approx(1)
    for name, record in records.items():
        assert record.details["weight"] == pytest.approx(of_cancer.weights_[name])
    views = of_cancer._average.views.of(read_rows(of_cancer, X[250:], reset=False))
    total = sum(
        of_cancer.families_[name] * one.scores(views)
        for name, one in of_cancer._average.families.items()
    )
    beyond = total[:, 0] - of_cancer.threshold_[0]
    assert_allclose(of_cancer.decision_function(X[250:]), beyond)
    assert average_precision_score(y[250:], of_cancer.decision_function(X[250:])) > 0.98


def test_rows_of_a_table_are_predicted_as_in_the_fit(cancer, of_cancer):
    X, _, hidden = cancer
    is_open = hidden[:250] == -1
    assert_array_equal(of_cancer.predict(X[:250])[is_open], of_cancer.transduction_[is_open])


# ---- what users may pass ----


def test_units_of_columns_do_not_matter(cancer, of_cancer):
    X, _, hidden = cancer
    other = AutoSVC().fit(X[:250] * 1000 + 7, hidden[:250])
    moved = other.decision_function(X[250:] * 1000 + 7)
    assert_allclose(
        moved, of_cancer.decision_function(X[250:]), atol=0.05
    )  # a tree may cut between other numbers


@pytest.mark.parametrize("has_graphs", [False, True])
def test_kernels_of_columns_are_made_from_a_third_of_the_rows_unless_graphs_carry_them(has_graphs):
    X, y = make_moons(300, noise=0.05, random_state=0)
    if not has_graphs:
        X = np.random.default_rng(0).standard_normal((300, 3))
        y = (X[:, 0] > 0).astype(int)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    model = AutoSVC(max_rows=300).fit(frame, np.where(np.arange(300) < 20, y, -1))
    library = model._average.families["standardized columns"].library
    assert library.geometry.n_rows == (300 if has_graphs else 100)
    assert_array_equal(model.predict(frame), model.transduction_)
    assert model.score(frame, y) > 0.8


@pytest.mark.parametrize(
    ("name", "expected", "is_table"),
    [
        ("digits", (0.6474, 0.1803, 2.895), False),
        ("wine", (0.0773, 0, 2.725), True),
        ("breast_cancer", (0.0565, 0, 5.986), True),
        ("iris", (0.4953, 0, 2.045), False),
        ("diabetes", (0.3280, 0.1, 3.149), False),
        ("moons", (0.7908, 0, 1.927), False),
    ],
)
def test_an_array_is_a_table_by_three_statistics_of_its_columns(name, expected, is_table):
    if name == "moons":
        X = make_moons(200, noise=0.05, random_state=0)[0]
    else:
        how = {"scaled": False} if name == "diabetes" else {}
        X = getattr(datasets, f"load_{name}")(return_X_y=True, **how)[0]
    X = np.column_stack([X, np.full(len(X), 7.0)])  # a column that never varies does not count
    assert_allclose(column_statistics(X), expected, atol=6e-4)
    assert_allclose(column_statistics(X * 1e-200), expected, atol=6e-4)
    assert looks_like_a_table(X) == is_table
    assert not looks_like_a_table(X[:49])


@pytest.mark.parametrize("n_columns", [2, 4, 6])
def test_a_wide_column_of_noise_makes_an_array_a_table_however_few_its_columns_are(n_columns):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    told = rng.normal(2 * y[:, None] / np.sqrt(n_columns - 1), size=(300, n_columns - 1))
    X = np.column_stack([told, rng.normal(0, 1e4, 300)])
    model = AutoSVC().fit(X, np.where(np.arange(300) < 40, y, -1))
    assert list(model.families_) == TABLE_FAMILIES
    assert np.mean(model.transduction_[40:] == y[40:]) > 0.75


def test_an_array_that_is_a_table_gives_the_model_of_its_frame(cancer, of_cancer):
    X, _, hidden = cancer
    model = AutoSVC().fit(X[:250].to_numpy(), hidden[:250])
    assert model.families_ == of_cancer.families_
    assert_array_equal(
        model.decision_function(X[250:].to_numpy()), of_cancer.decision_function(X[250:])
    )
    points = AutoSVC(columns="points").fit(X[:250].to_numpy(), hidden[:250])
    assert list(points.families_) == ["rows"]


def test_missing_cells_of_an_array_are_filled_as_those_of_a_frame():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 3))
    hidden = np.where(np.arange(90) < 20, X[:, 0] > 0, -1)
    X[::7, 1] = np.nan
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    scores = AutoSVC().fit(X, hidden).decision_function(X)
    assert_array_equal(scores, AutoSVC().fit(frame, hidden).decision_function(frame))
    with pytest.raises(ValueError, match="infinity"):
        AutoSVC().fit(np.where(np.isnan(X), np.inf, X), hidden)
    with pytest.raises(ValueError, match="NaN"):
        AutoSVC(columns="points").fit(X, hidden)


def test_an_array_is_a_table_where_the_user_says_so(cancer, of_cancer):
    X, _, hidden = cancer
    of_array = AutoSVC(columns="table").fit(X[:250].to_numpy(), hidden[:250])
    of_groups = AutoSVC(columns={"number": list(X.columns)}).fit(X[:250], hidden[:250])
    of_polars = AutoSVC().fit(polars.from_pandas(X[:250]), hidden[:250])
    points = AutoSVC(columns="points").fit(X[:250], hidden[:250])
    expected = of_cancer.decision_function(X[250:])
    assert_array_equal(of_array.decision_function(X[250:].to_numpy()), expected)
    assert_array_equal(of_groups.decision_function(X[250:]), expected)
    assert_array_equal(of_polars.decision_function(polars.from_pandas(X[250:])), expected)
    assert list(points.families_) == ["rows"]
    plain = AutoSVC(columns="points").fit(X[:250].to_numpy(), hidden[:250])
    assert points.weights_ == plain.weights_


def test_a_table_of_numbers_categories_and_texts(tmp_path):
    frame, y, hidden = mixed_table()
    model = AutoSVC().fit(frame, hidden)
    texts = [f"{kind} of note" for kind in TEXT_FAMILIES]
    assert set(model.families_) == {*TABLE_FAMILIES, *texts}
    assert model.score(frame[30:], y[30:]) > 0.85
    new = mixed_table(40, seed=1)[0]
    new.loc[0, "city"], new.loc[1, "note"], new.loc[2, "amount"] = (
        "Paris",
        None,
        np.nan,
    )  # unseen and missing
    scores = model.decision_function(new)
    assert np.isfinite(scores).all()
    save(model, tmp_path / "model.skops")
    assert_array_equal(load(tmp_path / "model.skops").decision_function(new), scores)


def test_the_command_fits_and_predicts_a_table_with_it(tmp_path):
    frame, y, _ = mixed_table()
    frame["class"] = np.where(np.arange(120) < 60, np.array(["no", "yes"])[y], None)
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    found = fit_model(read_training([path], "class"), Settings(), method="autosvc")
    save(found, tmp_path / "model.skops")
    model = load_table_model(tmp_path / "model.skops")
    assert (
        np.mean(model.predict(frame.drop(columns="class"))[60:] == np.array(["no", "yes"])[y[60:]])
        > 0.85
    )
    assert any("The weight of AutoSVC is" in note for note in found.summary.notes)


def test_the_kinds_of_columns_are_read_off_or_named():
    frame, _, hidden = mixed_table()
    schema = read_rows(AutoSVC(), frame, reset=True).schema
    assert {column.name: column.type for column in schema.columns} == {
        "amount": "number",
        "city": "category",
        "note": "text",
    }
    model = AutoSVC(columns={"category": ["city"], "number": ["amount"]}).fit(frame, hidden)
    assert list(model.families_) == TABLE_FAMILIES
    only_text = AutoSVC(columns={"text": ["note"]}).fit(frame, hidden)
    assert all(" of note" in name for name in only_text.weights_)
    assert len(only_text.families_) == 4


FORMS_OF_TEXTS = {
    "array": np.array,
    "objects": functools.partial(np.array, dtype=object),
    "tuple": tuple,
    "pandas": pd.Series,
    "nullable": functools.partial(pd.Series, dtype="string"),
    "categories": functools.partial(pd.Series, dtype="category"),
    "polars": polars.Series,
}


@pytest.mark.parametrize("form", FORMS_OF_TEXTS)
def test_texts(form):
    frame, y, hidden = mixed_table(150)
    texts = frame["note"].to_list()
    if form != "array":
        texts[40] = None
    model = AutoSVC().fit(FORMS_OF_TEXTS[form](texts), hidden)
    assert list(model.families_) == TEXT_FAMILIES
    assert np.mean(model.transduction_[30:] == y[30:]) > 0.8
    of_list = AutoSVC().fit(texts, hidden)
    assert_array_equal(model.out_of_fold_scores_, of_list.out_of_fold_scores_)
    assert_array_equal(model.decision_function(texts), of_list.decision_function(texts))
    assert model.predict(["rain wind storm cold"])[0] == 0
    of_empty = model.decision_function([""])
    for missing in ([None], [np.nan], pd.Series([pd.NA], dtype="string")):
        assert_array_equal(model.decision_function(missing), of_empty)


def test_what_is_no_text_among_texts_is_named():
    for cell in (5, 5.0, b"rain"):
        with pytest.raises(ValueError, match=f"row 2 is {cell!r}: make it a string"):
            AutoSVC().fit(["rain", None, cell, "sun"], [0, 1, -1, -1])


@pytest.mark.parametrize("is_column", [False, True])
def test_few_labels_leave_the_families_of_texts_near_equal_weights(is_column):
    frame, _, hidden = mixed_table(150)
    hidden[20:] = -1
    rows = frame[["note"]] if is_column else frame["note"].to_list()
    model = AutoSVC(columns={"text": ["note"]} if is_column else "auto").fit(rows, hidden)
    weights = np.array(list(model.families_.values()))
    assert 0.15 < weights.min() <= weights.max() < 0.35


def test_more_than_two_classes():
    data = load_wine(as_frame=True)
    order = np.random.default_rng(0).permutation(len(data.target))
    X = data.data.iloc[order]
    y = data.target.to_numpy()[order]
    model = AutoSVC().fit(X, np.where(np.arange(len(y)) < 15, y, -1))
    assert model.decision_function(X).shape == (178, 3)
    assert np.mean(model.transduction_ == y) > 0.9


def test_missing_cells_are_marked_and_an_unseen_category_is_like_a_rare_one():
    frame, _, _ = mixed_table()
    rows = read_rows(AutoSVC(), frame, reset=True)
    views = make_views_of(rows)[1]
    assert views["standardized"].shape == (
        120,
        2 + 4,
    )  # the amount and its mark; three cities and the missing one
    assert_allclose(views["standardized"][:, 0].mean(), 0, atol=1e-12)
    assert (
        6 <= views["words of note"].shape[1] <= 8
    )  # words of more than half of the texts are left out
    assert np.isfinite(views["quantile"]).all()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"numbers": ["amount"]}, "'numbers' is not a kind of column"),
        ({"number": ["size"]}, "there is no column 'size'"),
        ({"number": ["amount"], "category": ["amount"]}, "'amount' is named twice"),
        ({}, "no column is named"),
        ({"number": "amount"}, r"'amount' is no list: write \['amount'\]"),
        ({"number": ["city"]}, "column 'city' can't be read as numbers, for example"),
        ({"number": ["price"]}, r"'price' can't be read as .*: make it a column of numbers first"),
        ("auto", r"numbers with a comma, for example '1,5': make it a column of numbers first \(p"),
        ("points", "column 'city' holds text, .* Pass columns='table', or a DataFrame without"),
    ],
)
def test_columns_that_can_not_be_are_refused(columns, message):
    frame, _, hidden = mixed_table()
    if columns == "auto":
        frame["size"] = "1,5"
        frame.loc[3, "size"] = "2,5"
    frame["price"] = [f"${k},000" for k in range(1, 121)]
    with pytest.raises(ValueError, match=message):
        AutoSVC(columns=columns).fit(frame, hidden)


def test_rows_of_another_kind_are_refused():
    frame, _, hidden = mixed_table()
    of_texts = AutoSVC().fit(frame["note"], hidden)
    with pytest.raises(ValueError, match="was fitted on strings"):
        of_texts.predict(frame[["amount"]])
    of_points = AutoSVC(columns="points").fit(np.arange(240.0).reshape(120, 2), hidden)
    with pytest.raises(ValueError, match="X holds strings"):
        of_points.predict(["rain"])
    with pytest.raises(ValueError, match="every string is empty"):
        AutoSVC().fit([""] * 120, hidden)
    frame.loc[3, "amount"] = 1e200
    with pytest.raises(
        ValueError, match="row 3: column 'amount' holds '1e\\+200' where a number up to"
    ):
        AutoSVC().fit(frame, hidden)


def test_where_there_are_no_rows_the_error_says_so():
    frame, _, hidden = mixed_table()
    for rows in (frame, frame[["amount"]], frame["note"], frame["note"].to_list()):
        model = AutoSVC().fit(rows, hidden)
        with pytest.raises(ValueError, match=r"0 sample\(s\) while .* required by AutoSVC"):
            model.predict(rows[:0])


def test_rows_of_which_rounding_leaves_no_direction_are_refused(monkeypatch):
    nothing = (
        np.empty(0),
        np.empty((3, 0)),
    )  # what LAPACK may return where one row weighs 1e30 times as much as others
    monkeypatch.setattr("semisvm.estimators.auto.geometry.largest_eigenpairs", lambda *_: nothing)
    with pytest.raises(ValueError, match="sample_weight ranges from 1 to 1e\\+30"):
        whitened_components(np.eye(3), np.array([1e30, 1.0, 1.0]), 2)


def test_the_weights_are_explained_in_words(of_cancer):
    told = explain_weights(of_cancer.weights_, of_cancer.families_)
    forests = [
        of_cancer.families_[name]
        for name in ("random forest", "extra trees", "logistic regression")
    ]
    ordinary = [
        weight
        for name, weight in of_cancer.weights_.items()
        if name.startswith(("standardized columns: ", "quantile columns: "))
        and not ("graph" in name or "comp" in name)
    ]
    assert f"and {100 * (sum(forests) + sum(ordinary)):.0f}% on the labeled rows only." in told
    share = of_cancer.families_["standardized columns"]
    assert f"{100 * share:.0f}% on standardized columns" in told
    points = {"rbf": 0.1, "graph 3 smooth": 0.6, "graph 15 smooth": 0.28, "component rbf": 0.02}
    assert (
        explain_weights(points, {"rows": 1.0})
        == "The weight of AutoSVC is 88% on neighbor graphs (classes along curves and surfaces) and"
        " 10% on ordinary kernels. In all, 90% of it is on structure in all rows, labeled or not,"
        " and 10% on the labeled rows only."
    )


def test_the_weights_of_texts_and_trees_are_told_by_family():
    families = {
        "words": 0.2,
        "characters": 0.1,
        "latent semantics": 0.3,
        "trees without labels": 0.3,
        "extra trees": 0.1,
    }
    weights = {
        "words: linear": 0.2,
        "characters: graph 3 smooth": 0.1,
        "latent semantics: ridge": 0.3,
        "trees without labels: quantile": 0.3,
        "extra trees": 0.1,
    }
    told = explain_weights(weights, families)
    assert "30% on latent semantics (words that occur together)" in told
    assert "30% on trees grown without labels (rows that share leaves)" in told
    assert "70% of it is on structure in all rows" in told
    assert told.endswith("The weight of its kernels is 20% on words and 10% on characters.")


@pytest.mark.parametrize("text", ["w0", "w0 w0", "a"])
def test_texts_that_are_all_equal_are_learned_from_without_a_warning(text):
    model = AutoSVC().fit(
        np.array([text] * 12, dtype=object), np.array([0, 1, 0, 1, 0, 1, *[-1] * 6])
    )
    assert np.isfinite(model.decision_function(np.array([text, "other words"], dtype=object))).all()


def test_numbers_of_few_values_are_seen_as_codes_too():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, [2, 3, 4], (50, 3)), columns=["a", "b", "c"])
    frame[:4] = np.arange(4)[:, None] % [2, 3, 4]
    estimator = AutoSVC(max_rows=50)
    makers, views = make_views_of(read_rows(estimator, frame, reset=True))
    expected = np.hstack([np.eye(k)[frame.iloc[:, j]] for j, k in enumerate((2, 3, 4))])
    assert_array_equal(views["quantile"], expected)
    assert views["standardized"].shape == (50, 3)
    new = pd.DataFrame({"a": [1], "b": [7], "c": [0]})  # 7 is a code that no row had
    of_new = makers.of(read_rows(estimator, new, reset=False))["quantile"]
    assert_array_equal(of_new, [[0, 1, 0, 0, 0, 1, 0, 0, 0]])
    for others in (frame.assign(c=np.arange(50) % 5), frame % 2):  # an order, or nothing to gain
        _, views = make_views_of(read_rows(AutoSVC(), others, reset=True))
        assert views["quantile"].shape == (50, 3)


def test_codes_without_an_order_are_learned():
    """Boards of tic-tac-toe that are over: 0 is an empty field, 1 a cross, 2 a nought."""
    boards = np.indices((3,) * 9).reshape(9, -1).T
    lines = np.array(
        [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]]
    )
    crosses_win, noughts_win = ((boards[:, lines] == k).all(axis=2).any(axis=1) for k in (1, 2))
    ahead = (boards == 1).sum(axis=1) - (boards == 2).sum(axis=1)
    is_over = crosses_win | noughts_win | (boards > 0).all(axis=1)
    is_over &= ~(crosses_win & noughts_win) & (ahead == np.where(noughts_win, 0, 1))
    order = np.random.default_rng(0).permutation(np.flatnonzero(is_over))
    frame = pd.DataFrame(boards[order], columns=[f"field {j}" for j in range(9)])
    y = crosses_win[order].astype(int)
    assert len(frame) == 958
    partial = np.where(np.arange(700) < 30, y[:700], -1)
    model = AutoSVC(random_state=0).fit(frame[:700], partial)
    assert np.mean(model.predict(frame[700:]) == y[700:]) > 0.8
