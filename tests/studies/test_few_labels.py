"""The studies with few labels: draws, sets, and pages made from records."""

import hashlib
import io
import json
import os
import re
import sys
import tarfile
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs

from studies.few_labels import __main__ as few_labels
from studies.few_labels import discrete, earlier, public, reliability, sets, topics
from studies.few_labels.methods import METHODS
from studies.harness.means import read_cells
from studies.ssl_book import __main__ as ssl_book
from studies.ssl_book.errors import (
    SECSTR_SETTINGS,
    SETTINGS,
    codes_of_all_rows,
    same_products,
    secstr_codes,
)
from studies.ssl_book.published import CITED
from studies.ssl_book.sets import NAMES


def test_a_draw_has_labels_of_both_classes_and_new_rows_that_were_not_fitted():
    y = (np.arange(400) % 40 == 0).astype(int)
    fit, new = few_labels.draw_rows(y, 50, seed=0)
    assert np.bincount(y[fit[:50]]).min() >= 2
    assert len(fit) == 280
    assert not set(fit) & set(new)


def test_the_list_of_public_sets_names_versions_and_checksums():
    tasks = {**public.TABLES, **public.TEXTS}
    assert len(tasks) == len(public.TABLES) + len(public.TEXTS)
    for name, task in tasks.items():
        assert ("package" in task) != ("fetcher" in task), name
        assert task.get("package", "mlbench") in public.LIST["packages"], name
    for package in public.LIST["packages"].values():
        assert len({"apt", "pip"} & set(package)) == 1
        assert "=" in package.get("apt", package.get("pip"))
        assert re.fullmatch("[0-9a-f]{64}", package["sha256"])


def test_a_package_with_another_checksum_is_refused(tmp_path, monkeypatch):
    def download(command, cwd, **_):
        (cwd / "r-cran-mass_1.0_all.deb").write_bytes(b"rows")
        assert command == ["apt-get", "download", "r-cran-mass=1.0"]

    monkeypatch.setattr(public, "DOWNLOADS", tmp_path)
    monkeypatch.setattr("studies.few_labels.public.subprocess.run", download)
    good = hashlib.sha256(b"rows").hexdigest()
    assert public.fetch(good, apt="r-cran-mass=1.0").read_bytes() == b"rows"
    with pytest.raises(ValueError, match="another checksum"):
        public.fetch("0" * 64, apt="r-cran-mass=1.0")


def archive_of(files):
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for path, text in files.items():
            member = tarfile.TarInfo(path)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    return content.getvalue()


@pytest.mark.parametrize(
    ("name", "files", "expected"),
    [
        (
            "fortunes: science",
            {
                "./usr/share/games/fortunes/science": b"one\n%\ntwo",
                "./usr/share/games/fortunes/science.dat": b"index",
                "./usr/share/games/fortunes/art": b"two\n%\nthree\n%\n",
            },
            {"one": 1, "two": 1, "three": 0},
        ),
        (
            "tweets",
            {
                "a/2014.tar.gz": archive_of(
                    {"b/tweets_GroundTruth.txt": b"1\t0.3\tfine\n2\t-1\tbad"}
                )
            },
            {"fine": 1, "bad": 0},
        ),
    ],
)
def test_texts_come_from_the_files_of_a_package(name, files, expected, tmp_path, monkeypatch):
    path = tmp_path / "package.tar.gz"
    path.write_bytes(archive_of(files))
    monkeypatch.setattr(public, "fetch", lambda **_: path)
    texts, y = public.load_task.__wrapped__(name)
    assert dict(zip(texts.tolist(), y.tolist(), strict=True)) == expected


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ({"target": "size"}, [1, 0, 0]),  # of two classes the rarer one
        ({"target": "kind"}, [1, 1, 0]),  # of more the most frequent one
        ({"target": "height", "above": 1.5}, [0, 1, 1]),
    ],
)
def test_tables_are_numbers_and_strings_and_one_class_against_the_others(
    task, expected, monkeypatch
):
    frame = pd.DataFrame(
        {
            "size": pd.Categorical(["s", "l", "l"]),
            "kind": pd.Categorical(["a", "a", "b"], categories=["a", "b", "c"]),
            "height": [1, 2, 3],
            "level": pd.Categorical(["1", "10", None], categories=["1", "10"]),
            "id": [7, 8, 9],
        }
    )
    if task["target"] == "kind":
        frame = pd.concat([frame, frame.assign(kind="c")[:1]], ignore_index=True)
        expected = [*expected, 0]
    monkeypatch.setattr(public, "_read_r", lambda package, name: {name: frame})
    X, y = public._load_table("rows", package="mlbench", leave_out=("id",), **task)
    assert y.tolist() == expected
    assert set(X) == {"size", "kind", "height", "level"} - {task["target"]}
    assert X["level"].tolist()[:2] == [1, 10]
    assert np.isnan(X["level"][2])


@pytest.mark.parametrize("name", ["wine (2)", "docstrings: sklearn"])
def test_sets_have_two_classes_and_texts_do_not_name_their_library(name):
    X, y = sets.load_task(name)
    assert X.shape[0] == len(y)
    assert set(y) == {0, 1}
    if name.startswith("docstring"):
        assert not any("sklearn" in text or "scikit-learn" in text for text in X)


@pytest.mark.parametrize("is_text", [False, True])
def test_every_method_scores_new_rows(is_text):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80)
    X = pd.DataFrame({"a": rng.normal(size=80) + y, "b": np.where(rng.random(80) < 0.5, "x", None)})
    if is_text:
        words = np.array([["rain", "wind", "cold"], ["sun", "heat", "dry"]])
        X = np.array([" ".join(rng.choice(words[k], 5)) for k in y], dtype=object)
    hidden = np.where(np.arange(60) < 20, y[:60], -1)
    rows = (X[:60], X[60:])
    methods = [method for method in METHODS if few_labels.fits(method, X)]
    assert len(methods) == 9
    for method in methods:
        if method != "AutoSVC":  # it has tests of its own
            assert METHODS[method](rows[0], hidden, rows[1]).shape == (20,), method


def few_records(draws=(0, 1)):
    sets_and_values = (
        ("Sonar", 0.8, 0.7),
        ("Glass", 0.9, 0.95),
        ("spam", 0.7, 0.63),
        ("DNA", 0.6, 0.5),
    )
    return [
        {
            "set": name,
            "labels": 20,
            "draw": draw,
            "method": method,
            "average_precision": value + draw / 50,
            "f1": value,
            "error": 1 - value,
            "seconds": 2.0,
            "megabytes": 10.0,
        }
        for draw in draws
        for name, ours, theirs in sets_and_values
        for method, value in (("AutoSVC", ours), ("random forest", theirs))
    ]


def test_a_draw_that_some_method_has_not_run_on_is_left_out():
    cells = few_labels.means_of(few_records()[:-1])
    assert [(cell["set"], cell["draws"]) for cell in cells[:4]] == [("DNA", 1)] * 2 + [
        ("Glass", 2)
    ] * 2


def test_means_and_pages_do_not_depend_on_the_order_of_records(tmp_path, capsys, monkeypatch):
    records = few_records()
    path = tmp_path / "records.jsonl"
    kept = tmp_path / "means.json"
    pages = []
    for order in (records, records[::-1]):
        path.write_text("".join(json.dumps(record) + "\n" for record in order))
        options = ["--out", str(path), "--means", str(kept), "--measured", "today"]
        monkeypatch.setattr(sys, "argv", ["few_labels", *options])
        few_labels.main()
        pages.append((capsys.readouterr().out, kept.read_text()))
    assert pages[0] == pages[1]
    assert json.loads(kept.read_text())["measured"] == ["today"]
    cells = read_cells(kept)
    assert len(cells) == 8
    first = {"set": "DNA", "labels": 20, "method": "AutoSVC", "draws": 2}
    measures = {"average_precision": 0.61, "f1": 0.6, "error": 0.4, "seconds": 2.0, "megabytes": 10}
    assert cells[0] == first | measures
    assert "20 labels, 4 tables" in pages[0][0]
    assert "| AutoSVC | 0.760 |  |  | 0.750 | 0.250 | 2.0 | 10 |  |" in pages[0][0]
    (line,) = (line for line in pages[0][0].splitlines() if line.startswith("| random forest"))
    start = "| random forest | 0.705 | 3 / 1 | +0.055 | 0.695 | 0.305 | 2.0 | 10 | "
    assert line.startswith(start)
    low, _, high, _ = line.removeprefix(start).split()
    assert float(low) < 0.055 < float(high)
    assert "| 20 | Glass | 0.910 | random forest | 0.960 |" in pages[0][0]
    assert pages[0][0].count("| random forest | 0.") == 2  # every loss, and nothing else


def test_the_cited_table_has_the_means_that_are_cited():
    """The best of the thirteen methods, chosen for each set: 27.0 and 12.8 on average."""
    for count, mean in ((10, 27.0), (100, 12.8)):
        assert len(CITED[count]) == 13
        columns = [[values[k] for values in CITED[count].values()] for k in range(len(NAMES))]
        best = [min(value for value in column if value is not None) for column in columns]
        assert np.mean(best) == pytest.approx(mean, abs=0.05)


def test_the_book_page_is_made_from_records(tmp_path, capsys, monkeypatch):
    records = [
        {"set": "bci", "labels": 10, "split": split, "method": method, "error": error + split}
        for split in range(2)
        for method, error in (("AutoSVC()", 40.0), ("SupervisedSVC", 41.0))
    ] + [{"set": "secstr", "labels": 100, "split": 0, "method": "AutoSVC()", "error": 43.0}]
    records += [record | {"set": "text"} for record in records[:4]]
    records.append(
        {"set": "bci", "labels": 10, "split": 0, "method": "PreferenceSVC", "why": "too few labels"}
    )
    records.append(
        {"set": "text", "labels": 10, "split": 0, "method": "PreferenceSVC", "error": 30.0}
    )
    path = tmp_path / "records.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    monkeypatch.setattr(sys, "argv", ["ssl_book", "--out", str(path), "--page"])
    ssl_book.main()
    told = capsys.readouterr().out
    assert "| AutoSVC() | 40.50 | 40.50 |" in told
    assert "| PreferenceSVC | can't | 30.00 |  |" in told
    assert "| splits won against SupervisedSVC | 2 | 2 |" in told
    assert "| SVM | 49.9 | 45.4 |" in told
    assert "| AutoSVC() | 43.00 |  |  | 1 |" in told
    page = tmp_path / "page.md"
    page.write_text(
        "# Page\n\n## 10 labels\n\n| old |\n|---|\n| 1 |\n\nTail.\n\n## SecStr\n\nWords.\n\n| old |"
    )
    monkeypatch.setattr(sys, "argv", ["ssl_book", "--out", str(path), "--write", str(page)])
    ssl_book.main()
    text = page.read_text()
    assert "old" not in text
    assert text.startswith(
        "# Page\n\n## 10 labels\n\n| | bci | text | mean of 7 |\n|---|---|---|---|\n| 1-NN | 48.7 |"
        " 39.4 |  |\n"
    )
    assert (
        "|  |\n\nTail.\n\n## SecStr\n\nWords.\n\n| labels | 100 | 1,000 | 10,000 | splits |\n"
        in text
    )
    assert text.endswith("| AutoSVC() | 43.00 |  |  | 1 |")
    kept = tmp_path / "means.json"
    monkeypatch.setattr(
        sys, "argv", ["ssl_book", "--out", str(path), "--means", str(kept), "--measured", "today"]
    )
    ssl_book.main()
    cells = {(one["set"], one["method"]): one for one in read_cells(kept)}
    ours = {"splits": 2, "error": 40.5, "sd": 0.5, "won": 2, "worst": -1.0}
    assert cells["bci", "AutoSVC()"] == {"set": "bci", "labels": 10, "method": "AutoSVC()"} | ours
    assert "won" not in cells["secstr", "AutoSVC()"]


@pytest.mark.filterwarnings("ignore:.*rounds of ProgressiveSVC")
@pytest.mark.parametrize("method", sorted(SETTINGS))
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_every_method_of_the_book_labels_all_rows(method, form):
    X, codes = make_blobs(60, centers=[[0, 4, 1], [4, 0, 1]], cluster_std=0.7, random_state=0)
    labeled = np.concatenate(
        [np.flatnonzero(codes == c)[:6] for c in (0, 1)]
    )  # in the shares of all rows
    found = codes_of_all_rows(method, form(np.abs(X)), codes, labeled)
    assert np.mean(found == codes) > 0.9


def test_coordinates_of_sparse_rows_have_the_same_products():
    rows = sparse.random(12, 40, density=0.2, random_state=0, format="csr")
    found = same_products(rows)
    assert found.shape[1] <= 12
    np.testing.assert_allclose(found @ found.T, (rows @ rows.T).toarray(), atol=1e-10)


@pytest.mark.parametrize("method", sorted(SECSTR_SETTINGS))
def test_every_method_of_secstr_labels_all_rows(method):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 80)
    X = sparse.csr_matrix(
        (rng.random((80, 12)) < np.where(codes[:, None] == (np.arange(12) < 6), 0.8, 0.1)).astype(
            float
        )
    )
    found = secstr_codes(method, X, codes, np.arange(30))
    assert np.mean(found == codes) > 0.8


def test_bins_of_probabilities_count_every_table_alike():
    by_set = {
        "many": (np.full(90, 0.8), np.arange(90) % 3 > 0),
        "few": (np.array([0.05, 0.75]), np.array([0, 1])),
    }
    low, high = reliability.bins_of(by_set)
    assert (low["rows"], low["probability"], low["share"]) == (0.25, 0.05, 0)
    assert high["rows"] == 0.75
    assert high["probability"] == pytest.approx((0.8 + 0.375) / 1.5)
    assert high["share"] == pytest.approx((2 / 3 + 0.5) / 1.5)
    assert "| 0.7 to 0.9 | 0.750 | 0.783 | 0.778 |" in reliability.table_of([low, high])


def test_tables_of_codes_are_those_of_their_rules():
    boards, crosses_win = discrete.tic_tac_toe()
    assert boards.shape == (958, 9)
    assert crosses_win.sum() == 626  # of the 958 ends of a game, as in the UCI repository
    robots, follows = discrete.monk(1)
    assert robots.shape == (432, 6)
    assert follows.sum() == 216
    assert all(
        expected == (row[0] == row[1] or row[4] == 1)
        for row, expected in zip(robots.tolist(), follows.tolist(), strict=True)
    )
    X = np.arange(12.0)[:, None] * [1, -2]
    codes, _ = discrete.in_values(X, np.zeros(12), 3)
    for column in codes.T:  # four rows that are next to each other share a value
        assert [len(set(part)) for part in np.split(column, 3)] == [1, 1, 1]
        assert sorted(column[::4]) == [0, 1, 2]


def test_topics_are_the_most_frequent_ones_and_methods_are_judged_on_texts_without_labels(
    monkeypatch,
):
    rng = np.random.default_rng(0)
    of_topic = {"net": "router packet mail", "games": "dungeon puzzle cards", "libs": "header api"}
    packages = [
        f"Package: p{i}\nSection: {topic}\nDescription-en: {' '.join(words)} {i}\n and more\nSize: 1"
        for i in range(450)
        for topic in [[*of_topic, "rust"][i % 4 if i < 12 else i % 3]]
        for of_all in [[f"word{k}" for k in rng.integers(200, size=4)]]
        for words in [[*rng.choice(of_topic.get(topic, "crate").split(), 6), *of_all]]
    ]
    found = SimpleNamespace(stdout="\n\n".join([*packages, packages[0]]))
    monkeypatch.setattr(topics.subprocess, "run", lambda *_, **__: found)
    monkeypatch.setitem(topics.SETS, "packages", (topics.descriptions, 3))
    monkeypatch.setattr(topics, "LABEL_COUNTS", (60,))
    topics.load_topics.cache_clear()
    texts, y = topics.load_topics("packages")
    topics.load_topics.cache_clear()
    assert len(texts) == 447  # one is there twice, three are of a rarer topic
    assert np.bincount(y).tolist() == [149, 149, 149]
    assert texts[0].endswith(" 0\n and more")
    monkeypatch.setattr(topics, "load_topics", lambda name: (texts, y))
    cells = topics.run_set("packages", 2, list(topics.METHODS))
    assert [cell["method"] for cell in cells] == list(topics.METHODS)
    for cell in cells:
        assert (cell["classes"], cell["labels"], cell["draws"]) == (3, 60, 2)
        assert min(cell["accuracy"], cell["accuracy_unlabeled"]) > 0.95, cell
    (line,) = (line for line in topics.page_of(cells).splitlines() if "| AutoSVC |" in line)
    assert line.startswith(f"| packages, 3 classes | 60 | AutoSVC | {cells[0]['accuracy']:.3f} |")


def test_two_versions_take_turns_and_are_compared_on_the_sets_that_both_could_fit(
    monkeypatch, tmp_path, capsys
):
    X, y = make_blobs(300, centers=2, random_state=0)
    rows = pd.DataFrame(X)
    monkeypatch.setattr(public, "load_task", lambda name: (rows, y))
    monkeypatch.setattr(earlier, "N_LABELS", 20)
    source = str(earlier.PACKAGE.parent)
    monkeypatch.setenv("PYTHONPATH", source)
    took = earlier.fit_once({"set": "Sonar", "version": "now"}, 0)
    assert took["average_precision"] > 0.8
    assert min(took["cpu_s"], took["wall_s"]) > 0
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(RuntimeError, match=r"Another version than 0\.2 was imported"):
        earlier.fit_once({"set": "Sonar", "version": "0.2"}, 0)

    def run_by_turns(function, tasks, repeats, out, environment):
        paths = [environment(task)["PYTHONPATH"].split(os.pathsep)[0] for task in tasks]
        assert paths == [str(tmp_path), source] * 3
        assert [task["set"] for task in tasks[::2]] == ["Glass", "Sonar", "tweets"]
        values = [(8, 4, 60, 0.5), (2, 2, 50, 0.6), (9, 3, 20, 0.7), (1, 1, 10, 0.8), None]
        keys = "cpu_s", "wall_s", "megabytes", "average_precision"
        return [value and dict(zip(keys, value, strict=True)) for value in [*values, values[0]]]

    monkeypatch.setattr(earlier, "run_by_turns", run_by_turns)
    words = ["earlier", "--before", str(tmp_path), "--means", str(tmp_path / "means.json")]
    monkeypatch.setattr(sys, "argv", [*words, "--sets", "Sonar", "Glass", "tweets"])
    earlier.main()
    printed = capsys.readouterr().out
    assert printed.strip() == earlier.page_of(read_cells(tmp_path / "means.json"))
    line = [cell.strip() for cell in printed.splitlines()[2].split("|")[1:-1]]
    measures = ["8.5", "1.5", "3.5", "1.5", "40", "30"]
    assert line == ["2 tables", *measures, "6.0 times (4.0)", "+0.100 ± 0.000"]
    assert "texts" not in printed
