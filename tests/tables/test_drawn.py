"""Tables in which labels say how they were drawn, and the check of labels that do not."""

import re
import warnings

import numpy as np
import pandas
import pytest
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import scale

from command_line import run_command
from semisvm import PreferenceSVC, SupervisedSVC
from semisvm.errors import DataError
from semisvm.tables.fit import check_sample, fit_model, may_certify
from semisvm.tables.fit_folder import read_folder
from semisvm.tables.held_out import draw_folds
from semisvm.tables.label import suggest_rows, write_suggestions
from semisvm.tables.methods import Settings
from semisvm.tables.read_training import read_training
from semisvm.tables.sentences import first_screen
from semisvm.tables.training import name_drawn_column

UNTUNED = {"C": 1.0, "gamma": 0.1}  # tuning is not what these tests are about, and takes its time


def write_cancer(path, n_labeled=150, seed=0):
    """The breast-cancer rows with labels at random places; return the frame with all labels."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    whole = X.iloc[:, :10].assign(kind=np.where(y == 0, "bad", "good"))
    shown = whole.copy()
    hidden = np.random.default_rng(seed).permutation(len(whole))[n_labeled:]
    shown.loc[hidden, "kind"] = ""
    shown.to_csv(path, index=False)
    return whole


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    """Data with 150 random labels, a model, and 120 suggested rows with their true labels."""
    folder = tmp_path_factory.mktemp("drawn")
    whole = write_cancer(folder / "data.csv")
    training = read_training([folder / "data.csv"], "kind", positive="bad")
    fitted = fit_model(training, Settings(**UNTUNED), method="supervised")
    found = suggest_rows(fitted, folder / "data.csv", 120)
    write_suggestions(fitted, found, folder / "more.csv", force=False)
    more = pandas.read_csv(folder / "more.csv")
    more["kind"] = [whole["kind"][one.row - 1] for one in found]
    more.to_csv(folder / "more.csv", index=False)
    more.drop(columns="drawn").to_csv(folder / "unmarked.csv", index=False)
    return folder


def read(folder, *names, **options):
    return read_training([folder / name for name in names], "kind", positive="bad", **options)


def test_the_class_to_look_for_is_the_rarer_one_of_the_random_labels(tmp_path):
    """Rows of a campaign are mostly of the class that is looked for: they must not make it the
    frequent one.
    """
    whole = write_cancer(tmp_path / "data.csv")
    assert read_training([tmp_path / "data.csv"], "kind").classes.names == ("good", "bad")
    bad = whole[whole["kind"] == "bad"].assign(drawn="by campaign")
    bad.to_csv(tmp_path / "labels.csv", index=False)
    both = read_training([tmp_path / "data.csv", tmp_path / "labels.csv"], "kind")
    assert (both.codes == both.classes.names.index("bad")).sum() > 0.6 * both.n_labeled
    assert both.classes.names == ("good", "bad")
    assert sum(both.class_counts.values()) == both.measures.sum()
    (tmp_path / "folder").mkdir()
    pandas.read_csv(tmp_path / "data.csv").assign(drawn="").to_csv(
        tmp_path / "folder" / "data.csv", index=False
    )
    bad.to_csv(tmp_path / "folder" / "labels.csv", index=False)
    folder = read_folder(tmp_path / "folder", "kind")
    assert folder.classes.names == ("good", "bad")
    assert folder.class_counts == both.class_counts
    summary = fit_model(both, Settings(**UNTUNED), method="supervised").summary
    n = both.measures.sum()
    more = both.n_labeled - both.measures.sum()
    assert re.match(
        rf"Looking for: bad \(the rarer class; 3\d% of {n} labeled rows; {more} more are used for"
        r" training only\)",
        first_screen(summary).lines[0],
    )


def test_suggest_says_how_its_rows_were_drawn_and_fit_understands_it(story):
    assert set(pandas.read_csv(story / "more.csv")["drawn"]) == {"by doubt"}
    training = read(story, "data.csv", "more.csv")
    assert (training.n_labeled, int(training.measures.sum())) == (270, 150)
    assert "drawn" not in [name for name, *_ in training.features()]
    assert any("Not drawn at random: 120 labeled rows." in note for note in training.notes)
    for method in ("preference", "supervised", "transductive"):
        fitted = fit_model(training, Settings(min_recall=0.8, **UNTUNED), method=method)
        summary = fitted.summary
        assert summary.operating_points["bad"].counts.rows == 150
        assert {point.counts.rows for point in summary.audits["bad"].values()} == {150}
        assert len(summary.scores["bad"].labeled) == 150
        assert summary.data.labeled == 270
        assert not any("do not look like a random sample" in note for note in summary.notes)


def test_a_comparison_tests_random_rows_only(story):
    training = read(story, "data.csv", "more.csv")
    bench = draw_folds(training)
    assert len(bench.tested) == 150
    assert set(np.concatenate([test for _, test in bench.folds])) == set(bench.tested)


def test_without_the_marks_the_check_speaks_up_and_no_certificate_is_given(story):
    training = read(story, "data.csv", "unmarked.csv")
    assert int(training.measures.sum()) == 270
    asked = {"min_recall": 0.8, "confidence": 0.9}
    refused = fit_model(training, Settings(**asked, **UNTUNED))
    notes = " ".join(refused.summary.notes)
    assert "do not look like a random sample of the pool" in notes
    assert "Certify by sampling instead" in notes
    assert "No certificate is given" in notes
    assert refused.summary.operating_points["bad"].level == "cross-fitted"
    assert not refused.summary.reached
    insisted = fit_model(training, Settings(**asked, **UNTUNED, trust_labels=True))
    assert insisted.summary.operating_points["bad"].level == "certified"
    assert any("The certificate is only valid if" in note for note in insisted.summary.notes)


def test_with_the_marks_a_certificate_rests_on_half_of_the_random_rows(story):
    fitted = fit_model(
        read(story, "data.csv", "more.csv"), Settings(min_recall=0.8, confidence=0.9, **UNTUNED)
    )
    assert not fitted.summary.was_refused
    point = fitted.summary.operating_points["bad"]
    assert point.level == "certified"
    assert abs(point.counts.rows - 75) <= 1


def test_the_column_may_be_named_merged_into_the_data_or_be_a_feature(story, tmp_path):
    merged = pandas.concat(
        [pandas.read_csv(story / "data.csv"), pandas.read_csv(story / "more.csv")]
    )
    merged.to_csv(tmp_path / "merged.csv", index=False)
    training = read(tmp_path, "merged.csv")
    assert int(training.measures.sum()) == 150
    assert "drawn" not in training.rows.schema.names
    merged.rename(columns={"drawn": "how"}).to_csv(tmp_path / "how.csv", index=False)
    assert int(read(tmp_path, "how.csv", drawn="how").measures.sum()) == 150
    assert int(read(tmp_path, "how.csv", drop=["how"]).measures.sum()) == 270
    feature = merged.assign(drawn=np.where(np.arange(len(merged)) % 2, "left", "right"))
    feature.to_csv(tmp_path / "feature.csv", index=False)
    training = read(tmp_path, "feature.csv")
    assert "drawn" in training.rows.schema.names
    assert training.at_random is None
    assert "drawn" in read(tmp_path, "merged.csv", types={"drawn": "category"}).rows.schema.names
    with pytest.raises(
        DataError, match="'right' in column 'drawn' does not say how the row was drawn"
    ):
        read(tmp_path, "feature.csv", drawn="drawn")
    with pytest.raises(DataError, match="no column 'hwo'"):
        read(tmp_path, "how.csv", drawn="hwo")
    with pytest.raises(DataError, match="is the target"):
        read(tmp_path, "how.csv", drawn="kind")
    assert name_drawn_column(["drawn", "a"]) == "how_drawn"


def test_a_folder_says_as_files_do_how_many_rows_were_chosen(story, tmp_path, monkeypatch):
    folder = tmp_path / "rows"
    folder.mkdir()
    for name in ("data.csv", "more.csv"):
        (folder / name).write_bytes((story / name).read_bytes())
    whole = read(story, "data.csv", "more.csv")
    found = read_folder(folder, "kind", positive="bad")
    assert found.notes == whole.notes[1:]  # the first is about rows that occur twice
    assert found.notes[0].startswith("Not drawn at random: 120 labeled rows. ")
    assert int((found.codes >= 0).sum()) - int(found.measures.sum()) == 120
    assert found.features() == whole.features()
    (folder / "more.csv").rename(folder / "a.csv")  # not all files have the column of the first
    assert read_folder(folder, "kind", positive="bad").features() == whole.features()
    monkeypatch.setattr("semisvm.tables.fit_folder.MOST_LABELED_KEPT", 100)
    (note,) = read_folder(folder, "kind", positive="bad").notes
    about, of = map(
        int, re.match(r"Not drawn at random: about (\d+) of (\d+) labeled rows", note).groups()
    )
    assert of == whole.n_labeled
    assert abs(about - 120) < 4 * of * np.sqrt(0.25 / 100)
    with pytest.raises(DataError, match="there is no column 'how'"):
        read_folder(folder, "kind", drawn="how")
    with pytest.raises(DataError, match="the column 'kind' is the target"):
        read_folder(folder, "kind", drawn="kind")


def test_the_check_of_labels_without_marks_speaks_up_in_folders_too(story, tmp_path):
    # A folder keeps rows that occur twice: the suggested ones leave the file that they are from.
    data = pandas.read_csv(story / "data.csv")
    unmarked = pandas.read_csv(story / "unmarked.csv")
    features = [name for name in data.columns if name != "kind"]
    both = data[features].merge(unmarked[features].drop_duplicates(), how="left", indicator=True)
    data[(both["_merge"] == "left_only").to_numpy()].to_csv(tmp_path / "data.csv", index=False)
    unmarked.to_csv(tmp_path / "unmarked.csv", index=False)
    found = fit_model(
        read_folder(tmp_path, "kind", positive="bad"), Settings(), method="supervised"
    )
    assert found.summary.is_fair_sample is False
    assert any("do not look like a random sample" in note for note in found.summary.notes)


def test_a_column_that_says_something_else_is_a_feature_of_a_folder_and_all_files_need_it(tmp_path):
    rows = "".join(
        f"{k % 7},{['pen', 'ink'][k % 3 > 0]},{'xz'[k % 2] if k < 20 else ''}\n" for k in range(40)
    )
    (tmp_path / "a.csv").write_text("a,drawn,y\n" + rows)
    (tmp_path / "b.csv").write_text("a,drawn,y\n" + rows)
    assert read_folder(tmp_path, "y").features() == [("a", "number", ""), ("drawn", "category", "")]
    (tmp_path / "b.csv").write_text("a,y\n1,x\n2,z\n")
    with pytest.raises(DataError, match=r"b\.csv: there is no column 'drawn', which a\.csv has"):
        read_folder(tmp_path, "y")


def test_too_few_random_labels_are_said_to_be_the_reason(story, tmp_path):
    more = pandas.read_csv(story / "more.csv")
    pool = pandas.read_csv(story / "data.csv").assign(kind="", drawn="")
    pandas.concat([more, pool]).to_csv(tmp_path / "chosen.csv", index=False)
    with pytest.raises(DataError, match="has 0 labeled rows drawn at random"):
        fit_model(read(tmp_path, "chosen.csv"), Settings(min_recall=0.8))


def test_the_command_takes_the_column_and_the_insistence(story, tmp_path, capsys):
    def run(*words):
        return run_command(capsys, *words)

    data = (
        "fit",
        story / "data.csv",
        story / "unmarked.csv",
        "--target",
        "kind",
        "--positive",
        "bad",
    )
    asked = ("--min-recall", "0.8", "--confidence", "0.9", "--C", "1", "--gamma", "0.1")
    refused = run(*data, *asked, "--out", tmp_path / "a.skops")
    assert refused.code == 1
    assert "No certificate is given" in " ".join(refused.out.split())
    assert "If they are one, set --trust-labels." in " ".join(refused.out.split())
    insisted = run(*data, *asked, "--trust-labels", "--out", tmp_path / "b.skops")
    assert "The certificate is only valid if" in " ".join(insisted.out.split())
    suggested = run(
        "suggest", tmp_path / "a.skops", story / "data.csv", "--out", tmp_path / "s.csv"
    )
    assert "semisvm certify start" in suggested.out
    both = (
        story / "data.csv",
        story / "more.csv",
        "--target",
        "kind",
        "--positive",
        "bad",
        "--drawn",
        "drawn",
    )
    done = run("fit", *both, "--out", tmp_path / "c.skops", "--method", "supervised", "--details")
    assert "Not drawn at random: 120 labeled rows." in " ".join(done.out.split())


# the case that the check was made for: suggested rows that are taken for a random sample


def test_marks_keep_promises_true_and_without_them_the_check_refuses():
    """Is it an eight? 200 random and 150 suggested labels in a pool of 1,000 digits; 797 hidden
    ones tell the truth.
    """
    X, y = load_digits(return_X_y=True)
    X = scale(X)
    is_eight = y == 8
    settings = Settings(kernel="rbf", min_recall=0.7, confidence=0.9)
    n_certified = n_false = n_refused = n_alarms = 0
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(len(X))
        pool = order[:1000]
        hidden = order[1000:]
        codes = np.where(np.arange(1000) < 200, is_eight[pool], -1)
        is_random = codes >= 0
        first = SupervisedSVC().fit(X[pool], codes)
        doubt = np.where(is_random, np.inf, np.abs(first.decision_function(X[pool])))
        chosen = np.argsort(doubt)[:150]
        codes[chosen] = is_eight[pool[chosen]]
        labels = pandas.Categorical.from_codes(codes, ["no", "yes"])
        n_alarms += not check_sample(X[pool], labels, is_random, settings).is_fair
        n_refused += not may_certify(check_sample(X[pool], labels, codes >= 0, settings), settings)[
            0
        ]
        model = PreferenceSVC(min_recall=0.7, confidence=0.9, random_state=seed)
        with (
            warnings.catch_warnings()
        ):  # a draw with too few eights among the labels of the certificate gets none
            warnings.simplefilter("ignore", UserWarning)
            model.fit(X[pool], codes, random_sample=is_random)
        n_certified += model.operating_point_.status == "certified"
        found = np.mean(model.decision_function(X[hidden[is_eight[hidden]]]) > 0)
        n_false += model.operating_point_.status == "certified" and found < 0.7
    assert n_certified >= 15
    assert n_false == 0
    assert n_refused >= 18
    assert n_alarms <= 1
