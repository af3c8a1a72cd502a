"""The primal form of the estimators: the machines of the dual form, never another loss, models
without support.
"""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
    make_blobs,
    make_classification,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC

import semisvm
from oracles import as_dense
from semisvm import PreferenceSVC, ProgressiveSVC, SelfTrainingSVC, SupervisedSVC, TransductiveSVC
from semisvm.machines import choose_solver, settle_solver
from semisvm.memory import MEGABYTE
from semisvm.primal.rows import gram
from semisvm.report import write_page
from semisvm.tables.fit import fit_model
from semisvm.tables.methods import Settings
from studies.data import load
from training_rows import training

FORMS = ("dual", "primal")


def blobs(n_classes=2, n=300, n_labeled=60, seed=0, spread=2.5):
    X, truth = make_blobs(n, centers=n_classes, n_features=4, cluster_std=spread, random_state=seed)
    return X / 5, np.where(np.arange(n) < n_labeled, truth, -1), truth


def in_both_forms(make, X, y, **arguments):
    return [make(solver=solver).fit(X, y, **arguments) for solver in FORMS]


def assert_one_model(dual, primal, X, atol=2e-3):
    """Ten small sets: the same scores, and the same predictions on 99.9% of the rows."""
    assert hasattr(dual, "support_")
    assert not hasattr(primal, "support_")
    assert_allclose(as_dense(primal.coef_), as_dense(dual.coef_), atol=atol)
    assert_allclose(primal.intercept_, dual.intercept_, atol=atol)
    assert (primal.predict(X) == dual.predict(X)).mean() >= 0.999


@pytest.mark.parametrize("seed", range(10))
def test_the_supervised_machine_is_the_same_with_costs_and_weights(seed):
    X, y = make_classification(200 + 10 * seed, 6, random_state=seed, flip_y=0.1)
    weight = np.random.default_rng(seed).uniform(0.2, 3, len(y))
    weights = (
        {"class_weight": "balanced"},
        {"costs": {0: 1.0, 1: 4.0}},
        {"class_weight": {0: 2.0, 1: 0.5}},
    )
    options = [{}, *weights][seed % 4]
    dual, primal = in_both_forms(
        lambda solver: SupervisedSVC(
            C=10.0 ** (seed % 3 - 1), kernel="linear", solver=solver, tol=1e-7, **options
        ),
        X,
        y,
        sample_weight=weight,
    )
    assert_one_model(dual, primal, X)


def small_sets():
    """Ten small sets of two classes, dense and sparse, one of them with columns on scales from
    0.1 to 10.
    """
    digits = load_digits(return_X_y=True)
    wine = load_wine(return_X_y=True)
    iris = load_iris(return_X_y=True)
    generated = make_classification(400, 8, flip_y=0.1, random_state=0)
    texts = sparse.random_array(
        (300, 500), density=0.03, format="csr", random_state=np.random.default_rng(0)
    )
    return {
        "breast cancer": load_breast_cancer(return_X_y=True),
        "digits, 3 or 8": [part[np.isin(digits[1], [3, 8])] for part in digits],
        "digits, even": (digits[0][:600], digits[1][:600] % 2),
        "diabetes": (lambda X, y: (X, y > np.median(y)))(*load_diabetes(return_X_y=True)),
        "wine, 0 or not": (wine[0], wine[1] == 0),
        "wine, 1 or not": (wine[0], wine[1] == 1),
        "iris, 1 or 2": [part[50:] for part in iris],
        "generated": generated,
        "uneven scales": (scale(generated[0]) * np.logspace(-1, 1, 8), generated[1]),
        "sparse": (texts, texts @ np.random.default_rng(1).standard_normal(500) > 0),
    }


@pytest.mark.parametrize("C", [0.1, 1.0])
@pytest.mark.parametrize("name", small_sets())
def test_objectives_and_predictions_of_both_forms_on_ten_small_sets(name, C):
    X, y = small_sets()[name]
    X = X if sparse.issparse(X) or name == "uneven scales" else scale(X)
    y = np.asarray(y).astype(int)
    sign = np.where(y == y.max(), 1.0, -1.0)

    def objective(model):
        w = as_dense(model.coef_)[0]
        f = model.decision_function(X)
        return 0.5 * w @ w + C * np.maximum(0, 1 - sign * f).sum()

    models = in_both_forms(
        lambda solver: SupervisedSVC(C=C, kernel="linear", solver=solver, tol=1e-7), X, y
    )
    assert objective(models[1]) == pytest.approx(objective(models[0]), rel=1e-5)
    assert (models[0].predict(X) == models[1].predict(X)).mean() >= 0.999
    assert models[1].gap_[0] <= 1e-7


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_several_classes(multi_class, form):
    X, y, _ = blobs(4, n_labeled=200)
    dual, primal = in_both_forms(
        lambda solver: SupervisedSVC(
            kernel="linear", multi_class=multi_class, solver=solver, tol=1e-7
        ),
        form(X),
        y,
    )
    assert_one_model(dual, primal, form(X))
    assert primal.gap_.shape == primal.intercept_.shape
    assert_array_equal(primal.transduction_, dual.transduction_)


@pytest.mark.parametrize(
    "make",
    [
        lambda solver: TransductiveSVC(kernel="linear", solver=solver, tol=1e-6),
        lambda solver: TransductiveSVC(
            kernel="linear", algorithm="anneal", C_unlabeled=0.3, solver=solver, tol=1e-6
        ),
        lambda solver: SelfTrainingSVC(kernel="linear", solver=solver, tol=1e-6),
        lambda solver: ProgressiveSVC(kernel="linear", pairs_per_round=5, solver=solver, tol=1e-6),
        lambda solver: PreferenceSVC(
            kernel="linear", min_precision=0.8, solver=solver, tol=1e-6, random_state=0
        ),
    ],
    ids=["switch", "anneal", "self-training", "progressive", "preference"],
)
def test_semi_supervised_methods_find_the_same_model(make):
    X, y, truth = blobs(seed=3)
    dual, primal = in_both_forms(make, X, y)
    assert (primal.predict(X) == dual.predict(X)).mean() >= 0.97
    assert abs((primal.predict(X) == truth).mean() - (dual.predict(X) == truth).mean()) <= 0.02
    assert primal.transduction_.shape == y.shape
    assert primal.history_


@pytest.mark.data
@pytest.mark.parametrize(
    ("algorithm", "C_unlabeled", "errors"), [("switch", None, 24), ("anneal", 0.3, 21)]
)
def test_svmlights_example_in_the_primal_form(paper_data, algorithm, C_unlabeled, errors):
    example, test = (
        load(f"reuters-{name}", data_home=paper_data) for name in ("transduction", "test")
    )
    model = TransductiveSVC(
        kernel="linear", algorithm=algorithm, C_unlabeled=C_unlabeled, solver="primal"
    )
    model.fit(example.X, example.y)
    assert (model.predict(test.X) != test.y).sum() == errors


def test_the_squared_hinge_is_the_machine_of_liblinear():
    """LIBLINEAR regularizes its bias: with a large intercept_scaling by next to nothing."""
    X, y = make_classification(500, 6, random_state=0, flip_y=0.1)
    peer = LinearSVC(
        loss="squared_hinge", dual=False, intercept_scaling=1e3, tol=1e-8, max_iter=10_000
    ).fit(X, y)
    model = SupervisedSVC(kernel="linear", loss="squared_hinge", tol=1e-8).fit(X, y)
    assert_allclose(model.coef_, peer.coef_, atol=1e-3)
    assert_allclose(model.intercept_, peer.intercept_, atol=1e-3)
    hinge = SupervisedSVC(kernel="linear", solver="primal", tol=1e-8).fit(X, y)
    assert np.abs(hinge.coef_ - model.coef_).max() > 0.02


def test_cache_size_bounds_the_products_of_rows_that_are_kept(monkeypatch):
    X, y = make_classification(300, 6, random_state=0, flip_y=0.1)
    kept = {None: [], 0.1: []}
    models = []
    for size, found in kept.items():

        def noting(rows, numbers, found=found):
            K = gram(rows, numbers)
            found.append(rows.products[1].nbytes)
            return K

        monkeypatch.setattr("semisvm.primal.newton.gram", noting)
        models.append(
            SupervisedSVC(kernel="linear", solver="primal", cache_size=size).fit(
                sparse.csr_array(X), y
            )
        )
    assert max(kept[0.1]) <= 0.1 * MEGABYTE < max(kept[None])
    assert_allclose(models[0].coef_, models[1].coef_, rtol=1e-6)


# ---- which form ----


def form_of(model):
    return "dual" if hasattr(model, "support_") else "primal"


@pytest.mark.parametrize(
    ("n", "d", "form", "expected"),
    [
        (1_900, 3, np.asarray, "dual"),
        (2_000, 3, np.asarray, "primal"),
        (2_000, 250, np.asarray, "dual"),
        (2_500, 250, np.asarray, "primal"),
        (4_900, 10, sparse.csr_array, "dual"),
        (5_000, 10, sparse.csr_array, "primal"),
    ],
)
def test_auto_takes_the_primal_form_where_it_is_faster(n, d, form, expected):
    X = form(np.zeros((n, d)))
    asked = {"kernel": "linear", "X": X, "reason_against": None, "device": "auto"}
    assert settle_solver("auto", "hinge", **asked) == expected
    assert settle_solver("auto", "hinge", **asked | {"device": "cuda"}) == "dual"
    assert settle_solver("auto", "hinge", **asked | {"reason_against": "has none"}) == "dual"
    assert settle_solver("dual", "hinge", **asked) == "dual"
    assert settle_solver("auto", "squared_hinge", **asked) == "primal"


@pytest.mark.parametrize(
    ("n", "d", "is_sparse", "expected"),
    [
        (
            1_900,
            3,
            False,
            ("dual", "1,900 dense rows with 3 features: dual form (primal from 2,000 rows on)."),
        ),
        (
            9_000,
            3_000,
            False,
            ("dual", "for up to 2,000 features; solver='primal' for any number)."),
        ),
        (9_000, 3_000, True, ("primal", "linear in the rows (from 5,000 rows on).")),
    ],
)
def test_the_choice_of_a_form_says_why(n, d, is_sparse, expected):
    solver, reason = choose_solver(n, d, is_sparse=is_sparse)
    assert solver == expected[0]
    assert expected[1] in reason


def test_verbose_says_which_form_was_chosen(capsys):
    X, y, _ = blobs(n=2400, n_labeled=2400, spread=1.0)
    SupervisedSVC(kernel="linear", verbose=True).fit(X, y)
    assert "[form] 2,400 dense rows with 4 features: primal form" in capsys.readouterr().out
    SupervisedSVC(kernel="linear", verbose=True, device="cpu").fit(X[:300], y[:300])
    assert "[form] 300 dense rows with 4 features: dual form" in capsys.readouterr().out
    SupervisedSVC(kernel="linear", solver="primal", verbose=True).fit(X, y)
    SupervisedSVC(verbose=True).fit(X[:300], y[:300])
    assert "[form]" not in capsys.readouterr().out


def test_a_fit_of_many_rows_is_in_the_primal_form_by_itself():
    X, y, _ = blobs(n=2400, n_labeled=2400, spread=1.0)
    assert form_of(SupervisedSVC(kernel="linear").fit(X, y)) == "primal"
    assert (
        form_of(SupervisedSVC(kernel="linear").fit(X, np.where(np.arange(2400) < 100, y, -1)))
        == "dual"
    )


def test_a_kernel_has_no_primal_form_and_auto_knows_it():
    X, y, _ = blobs(n=2400, n_labeled=2400, spread=1.0)
    assert form_of(SupervisedSVC().fit(X, y)) == "dual"


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (
            SupervisedSVC(solver="primal"),
            "solver='primal' needs kernel='linear', and kernel='rbf' was given",
        ),
        (
            SupervisedSVC(loss="squared_hinge"),
            "loss='squared_hinge' needs kernel='linear', and kernel='rbf' was given",
        ),
        (
            SupervisedSVC(kernel="linear", solver="dual", loss="squared_hinge"),
            "solver='dual' has the hinge loss only",
        ),
        (
            TransductiveSVC(kernel="linear", algorithm="cccp", solver="primal"),
            "solver='primal' has no form for algorithm='cccp'; use 'switch' or 'anneal'",
        ),
        (
            SupervisedSVC(
                kernel="linear", solver="primal", costs=[[0, 1, 2], [1, 0, 1], [2, 1, 0]]
            ),
            "has no form for a cost matrix of more than two classes",
        ),
    ],
)
def test_what_has_no_primal_form_is_refused_in_a_sentence(model, words):
    X, y, _ = blobs(3 if model.costs is not None else 2)
    with pytest.raises(ValueError, match=words):
        model.fit(X, y)


def test_a_dual_fit_that_stalls_far_from_the_optimum_points_at_the_primal_form():
    X, y = make_classification(100, 4, n_redundant=0, flip_y=0.2, random_state=0)
    X = 1e4 * X
    words = r"\(stalled\).* do not rely on the model\. .* pass solver='primal'"
    with pytest.warns(ConvergenceWarning, match=words):
        model = SupervisedSVC(kernel="linear", C=1e8).fit(X, y)
    assert model.gap_[0] > 1
    model.set_params(solver="primal").fit(X, y)
    assert model.termination_condition_ == "converged"


def test_a_second_fit_in_the_other_form_leaves_nothing_behind():
    X, y, _ = blobs()
    model = SupervisedSVC(kernel="linear").fit(X, y)
    model.set_params(solver="primal").fit(X, y)
    assert form_of(model) == "primal"
    model.set_params(solver="dual").fit(X, y)
    assert form_of(model) == "dual"
    assert not hasattr(model, "_coef")


# ---- limits, certificates, files ----


def test_every_fit_reports_its_gap():
    X, y, _ = blobs(3)
    for solver in FORMS:
        model = SupervisedSVC(kernel="linear", solver=solver, tol=1e-4).fit(X, y)
        assert model.gap_.shape == (3,)
        assert (model.gap_ <= 1e-4).all()
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = SupervisedSVC(kernel="linear", solver="primal", tol=1e-9, max_iter=1).fit(X, y)
    assert (model.gap_ > 1e-9).any()
    assert model.termination_condition_ == "max_iter"


def test_a_guard_and_a_certificate_in_the_primal_form():
    X, y, _ = blobs(n_labeled=250)
    guarded = [
        SupervisedSVC(kernel="linear", solver=solver, guard=True, costs={0: 1.0, 1: 3.0}, tol=1e-6)
        .fit(X, y)
        .guard_
        for solver in FORMS
    ]
    assert guarded[0]["own_cost"] == pytest.approx(guarded[1]["own_cost"])
    points = [
        PreferenceSVC(
            kernel="linear", solver=solver, min_recall=0.6, confidence=0.8, random_state=0, tol=1e-6
        )
        .fit(X, y)
        .operating_point_
        for solver in FORMS
    ]
    assert points[0].counts == points[1].counts
    assert points[0].threshold == pytest.approx(points[1].threshold, abs=1e-3)


def test_models_without_support_go_through_files_predictions_and_summaries(tmp_path):
    rows = training(160)
    X = np.column_stack(rows.rows.values)
    y = rows.codes
    model = TransductiveSVC(kernel="linear", solver="primal").fit(X, y)
    back = semisvm.load(semisvm.save(model, tmp_path / "m.skops"))
    assert_array_equal(back.decision_function(X), model.decision_function(X))
    assert_array_equal(back.coef_, model.coef_)
    assert_array_equal(back.gap_, model.gap_)


@pytest.fixture(scope="module")
def many_labels():
    """A table of 2,500 rows, all of them labeled, and what came of a fit: its machine is in the
    primal form.
    """
    rows = training(2500)
    truth = (np.column_stack(rows.rows.values).sum(axis=1) > 1.6).astype(int)
    rows = replace(rows, codes=truth)
    fitted = fit_model(rows, Settings(kernel="linear"), method="supervised")
    return rows, truth, fitted


def test_a_table_with_many_labels_is_fitted_in_the_primal_form(tmp_path, many_labels):
    rows, _, fitted = many_labels
    assert form_of(machine_in(fitted)) == "primal"
    back = semisvm.load(semisvm.save(fitted, tmp_path / "m.skops"))
    assert list(back.predict(rows.rows)) == list(fitted.predict(rows.rows))


def machine_in(model):
    """The estimator of a table model."""
    estimator = model.estimator
    return estimator[-1] if hasattr(estimator, "steps") else estimator


def test_a_report_of_a_model_in_the_primal_form(tmp_path, many_labels):
    _, _, fitted = many_labels
    page = write_page(fitted.summary, tmp_path / "report.html").read_text()
    assert "SupervisedSVC" in page or "supervised" in page
    assert "nan" not in page.lower().split("<script")[0]
    X, y, truth = blobs(n_labeled=250)
    models = in_both_forms(
        lambda solver: SupervisedSVC(kernel="linear", solver=solver, tol=1e-6), X, y
    )
    pages = [
        semisvm.write_report(model, X, truth, tmp_path / f"{form}.html").read_text()
        for form, model in zip(FORMS, models, strict=True)
    ]
    assert len(pages[1]) == pytest.approx(len(pages[0]), rel=0.05)


def test_the_ledger_of_a_model_in_the_primal_form(tmp_path):
    """Campaigns of both forms draw the same rows and end alike, and the ledger is stored with
    the model.
    """
    X, y, truth = blobs(n=1_000, n_labeled=200, seed=2)
    pool = y == -1
    ended = []
    for model in in_both_forms(
        lambda solver: SupervisedSVC(kernel="linear", solver=solver, tol=1e-8), X, y
    ):
        campaign = model.campaign(X[pool], min_precision=0.6, seed="07")
        rows = campaign.draw(40)
        campaign.tell(rows, truth[pool][rows])
        verdict = campaign.verdict()
        ended.append((verdict.status, verdict.n_labels))
        back = semisvm.load(semisvm.save(model, tmp_path / f"{form_of(model)}.skops"))
        after = back.campaign(X[pool], min_precision=0.6, after=[campaign])
        assert len(after.ledger) == 2
    assert ended[0] == ended[1]
