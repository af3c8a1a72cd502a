"""Malformed input of every command: exit code 2 and a sentence that names the place and the
remedy, no traceback.
"""

import bz2
import gzip
import io
import json
import lzma
import re
import sys
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from command_line import run_command
from files import npz_bytes as npz
from files import parquet_bytes as parquet
from semisvm.tables import save
from semisvm.tables.files import DIGEST, MANIFEST, _digest
from semisvm.tables.fit import fit_model
from semisvm.tables.methods import Settings
from semisvm.tables.read_training import read_training


def table(n_rows=40, seed=0):
    """Rows of two classes, half of them labeled, as CSV text."""
    rng = np.random.default_rng(seed)
    lines = ["size,color,when,y"]
    for i in range(n_rows):
        is_big = i % 2
        label = ("big" if is_big else "small") if i < n_rows / 2 else ""
        color = rng.choice(["red", "blue"])
        lines.append(f"{rng.normal(3 * is_big):.3f},{color},2024-{i % 12 + 1:02d}-03,{label}")
    return "\n".join(lines) + "\n"


GOOD = table()
BODY = GOOD.split("\n", 1)[1]


def relabel(*labels):
    """The table with the labels of its rows replaced, over and over."""
    rows = [line.rsplit(",", 1)[0] for line in BODY.splitlines()]
    return (
        "size,color,when,y\n"
        + "\n".join(f"{row},{labels[i % len(labels)]}" for i, row in enumerate(rows))
        + "\n"
    )


FIT = ("--target", "y", "--out", "{tmp}/m2.skops", "--method", "supervised")
# name of the file, its content, more words of `semisvm fit FILE`, what must be said
BAD_TRAINING = [
    ("t.csv", b"", FIT, "t.csv: the file is empty. Write"),
    ("t.csv", b"size,y\n", FIT, "a header and no rows. Add rows"),
    ("t.csv", b"\n\n", FIT, "the file has only blank lines"),
    ("t.csv", GOOD + "1,red\n", FIT, "line 42: the row has 2 cells where the header has 4. Add or remove"),
    ("t.csv", GOOD + "1,red,2024-01-01,big,5\n", FIT, "line 42: the row has 5 cells"),
    ("t.csv", GOOD + '1,"red,2024-01-01,big\n', FIT, "line 42: the row can't be split .*quote that is never closed"),
    ("t.csv", GOOD.replace("red", "rosé").encode("latin-1"), FIT, "line .*: byte 0xe9 is not UTF-8 text. Save"),
    ("t.csv", GOOD.encode("utf-16"), FIT, "encoded as UTF-16. Save it as UTF-8"),
    ("t.csv", GOOD.encode() + b"1,\x00,2024-01-01,big\n", FIT, "line 42: a zero byte"),
    ("t.csv", "1,2,3\n4,5,6\n", FIT, "line 1: there are numbers in place of column names. Add a header"),
    ("t.csv", GOOD.replace("color", "size", 1), FIT, "line 1: two columns are called 'size'. Rename"),
    ("t.csv", GOOD.replace("color", "", 1), FIT, "line 1: column 2 has no name"),
    ("t.csv.gz", gzip.compress(GOOD.encode(), mtime=0)[:-12], FIT, "truncated or corrupt.*Copy or download it again"),
    ("t.csv.xz", lzma.compress(GOOD.encode())[:-30], FIT, "truncated or corrupt"),
    ("t.csv.bz2", bz2.compress(GOOD.encode())[:-9], FIT, "truncated or corrupt"),
    ("t.xlsx", b"PK\x03\x04", FIT, r"can't be read as a spreadsheet"),
    ("t", GOOD, FIT, "the name has no suffix, so its format is not known"),
    ("t.csv", GOOD, ("--target", "Y", "--out", "{tmp}/m2.skops"), "there is no column 'Y'. .*'y'"),
    ("t.csv", GOOD, ("--out", "{tmp}/m2.skops"), "the column of the labels is not named. Set --target"),
    ("t.csv", relabel("big"), FIT, "column 'y' has labels of one class only, 'big'.*Label some rows of another"),
    ("t.csv", relabel(""), FIT, "column 'y' has no label: all 40 cells are empty. Label some"),
    ("t.csv", relabel("?"), (*FIT, "--unlabeled", "?"), r"has no label: all 40 cells are empty or '\?'"),
    ("t.csv", relabel("big", "small", "?", "Todo"), (*FIT, "--unlabeled", "todo"), "'Todo', which differs from the ma"),
    ("t.csv", relabel("big", "small", "?"), (*FIT, "--unlabeled", "todo"), r"no empty cell, and '\?' in 13 of 40"),
    ("t.csv", relabel("-1", "0", "1"), FIT, "holds -1 besides 0 and 1, .*Set --unlabeled to '-1'"),
    ("t.csv", relabel(*(f"0.{i}7" for i in range(40))), FIT, "different values on 40 labeled rows.*few classes"),
    ("t.csv", "a,b,y\n" + ",,big\n,,small\n" * 9, FIT, "no column is left to learn from in 18 samples: column 'a' holds no value"),
    ("t.csv", "a,y\n" + "7,big\n7,small\n" * 9, FIT, "column 'a' holds '7' in every row. Add columns that tell rows apart."),
    ("t.csv", "y\n" + "big\nsmall\n" * 9, FIT, "no column is left to learn from in 18 samples. Add columns"),
    ("t.csv", "a,b,y\n" + "NaN,NA,big\nnull,nan,small\n" * 9, FIT, "no column is left to learn from"),
    ("t.csv", "a,y\n" + "1e999,big\n2,small\n" * 9, FIT, "'a' holds '1e999', which is not a finite number.*--drop"),
    ("t.csv", "a;y\n" + "1,5;big\n2,25;small\n" * 9, FIT, "numbers with a comma, for example '1,5'"),
    ("t.csv", GOOD, (*FIT[:-1], "magic"), "There is no method 'magic'. There are auto, supervised"),
    ("t.csv", GOOD, (*FIT[:-1], "transductiv"), "Perhaps 'transductive' is meant"),
    ("t.csv", GOOD, (*FIT, "--min-precision", "1.5"), "'--min-precision': '1.5' is more than 1. Write a share such"),
    ("t.csv", GOOD, (*FIT, "--min-precision", "90"), "'90' is more than 1. Write a share such as 0.9 or 90%"),
    ("t.csv", GOOD, (*FIT, "--min-precision", "150%"), r"min_precision must lie in \(0, 1\], got 1.5"),
    ("t.csv", GOOD, (*FIT, "--min-recall", "0"), r"min_recall must lie in \(0, 1\]"),
    ("t.csv", GOOD, (*FIT, "--min-recall", "high"), "'high' is not a number"),
    ("t.csv", GOOD, (*FIT, "--costs", "big=2"), "the class 'small' has no cost. Give one to each"),
    ("t.csv", GOOD, (*FIT, "--costs", "big=2,huge=1"), "'huge' is not a class, or has two costs. There are 'big', 'small'"),
    ("t.csv", GOOD, (*FIT, "--costs", "big=-2,small=1"), "'big=-2' is not class=cost"),
    ("t.csv", GOOD, (*FIT, "--cost-matrix", "{dir}/costs.csv"), "costs.csv, line 1: the header names"),
    ("t.csv", GOOD, (*FIT, "--positive", "bigg"), "no class is called 'bigg'. Perhaps 'big' is meant"),
    ("t.csv", GOOD, (*FIT, "--drop", "weight"), "there is no column 'weight'. .*'size'"),
    ("t.csv", GOOD, (*FIT, "--type", "color=number"), "column 'color' can't be read as numbers"),
    ("t.csv", GOOD, (*FIT, "--type", "color=color"), "can't be of type 'color': choose one of number"),
    ("t.csv", GOOD, (*FIT, "--unlabeled-data", "{dir}/other.csv"), "other.csv: there is no column 'size'"),
    ("t.csv", GOOD, (*FIT, "--unlabeled-data", "{dir}/absent.csv"), "absent.csv: no such file"),
    ("t.csv", GOOD, (*FIT, "--kernel", "cubic"), "'cubic' is not one of 'linear', 'rbf', 'poly', 'sigmoid'"),
    ("t.csv", GOOD, (*FIT, "--C", "-1"), "--C must be a positive number, got -1"),
    ("t.csv", GOOD, (*FIT, "--device", "tpu"), "device must be"),
    ("t.csv", GOOD, ("--target", "y", "--out", "{dir}/model.skops"), "model.skops: the file exists. .*--force"),
    ("t.csv", GOOD, ("--target", "y", "--out", "{tmp}/labels.csv"), "a model is written, and .csv .*ends with .skops"),
    ("t.csv", GOOD, ("--target", "y", "--out", "{tmp}/model.PKL"), "a model is written, and .PKL is the suffix of"),
    ("t.csv", GOOD, ("--target", "y", "--out", "{dir}/no/m.skops"), "there is no folder .*no to write to. Create"),
    ("t.csv", GOOD, ("--target", "y", "--out", "{dir}"), "this is a folder. Give the name of a file"),
    ("t.csv", GOOD, ("--target", "y", "--out", "/proc/m.skops"), "m.skops: .*[Cc]hoose a"),
    ("t.parquet", parquet(a=[[1], [2]] * 9, y=["big", "small"] * 9), FIT, "column 'a' holds list.*Turn the column"),
    ("t.parquet", b"PAR1", FIT, "t.parquet: can't be read as a Parquet file"),
    ("t.arff", b"@relation r\n", FIT, "is not supported. Convert it to CSV or Parquet; scipy.io.arff.loadarff reads it"),
]  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a good table, a model of it, and files that do not go with it."""
    folder = tmp_path_factory.mktemp("malformed")
    (folder / "good.csv").write_text(GOOD)
    (folder / "other.csv").write_text("weight,y\n1,big\n")
    (folder / "costs.csv").write_text("true,big,huge\nbig,0,1\nhuge,1,0\n")
    training = read_training([folder / "good.csv"], "y")
    save(fit_model(training, Settings(), method="supervised"), folder / "model.skops")
    return folder


def check_refused(done, message):
    assert done.code == 2, (done.out, done.err)
    assert re.search(message, done.err.replace("\n", " ")), done.err
    assert "Traceback" not in done.err
    assert "Error: " in done.err


@pytest.mark.parametrize(("name", "content", "words", "message"), BAD_TRAINING)
def test_fit_refuses(place, tmp_path, capsys, name, content, words, message):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    done = run_command(
        capsys, "fit", path, *(word.format(dir=place, tmp=tmp_path) for word in words)
    )
    check_refused(done, message)
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


BAD_ROWS = [
    ("t.csv", GOOD.replace("size", "length"), "there is no column 'size', which the model needs. Add it"),
    ("t.csv", GOOD.replace("size", "SIZE"), "no column 'size', which .*Perhaps 'SIZE' is meant; there are 'SIZE'"),
    ("t.csv", "when,x\n2024-01-01,1\n", "no columns 'size', 'color', which the model needs. Add them, or fit without"),
    ("t.csv", GOOD + "tall,red,2024-01-01,big\n", "line 42: column 'size' holds 'tall' where a finite number is"),
    ("t.csv", GOOD + "inf,red,2024-01-01,big\n", "line 42: column 'size' holds 'inf' where a finite number"),
    ("t.csv", GOOD + "1,red,yesterday,big\n", "line 42: column 'when' holds 'yesterday' where a date is expected. C"),
    ("t.csv", "size,color,when,y\n", "a header and no rows"),
    ("t.csv.gz", gzip.compress(GOOD.encode(), mtime=0)[:-12], "truncated or corrupt"),
    ("t.libsvm", b"1 1:1\n", "the suffix '.libsvm' is not supported. Rename it; known suffixes are .csv"),
    ("t.parquet", parquet(size=["a"], color=["red"], when=["2024-01-01"]), "row 1: column 'size' holds 'a' where a f"),
]  # fmt: skip


@pytest.mark.parametrize("command", ["predict", "suggest"])
@pytest.mark.parametrize(("name", "content", "message"), BAD_ROWS)
def test_rows_that_the_model_can_not_take_are_refused_and_nothing_is_written(
    place, tmp_path, capsys, command, name, content, message
):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    out = tmp_path / "out.csv"
    done = run_command(capsys, command, place / "model.skops", path, "--out", out)
    check_refused(done, message)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [name]


def changed(path, name, change):
    """Return a model file's bytes with one member changed; the digest is made right again where
    `name` is not it.
    """
    source = zipfile.ZipFile(path)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for member in source.namelist():
            if member != DIGEST:
                archive.writestr(
                    member, change(source.read(member)) if member == name else source.read(member)
                )
        archive.writestr(DIGEST, _digest(archive))
    return stream.getvalue()


def newer(content):
    return json.dumps(json.loads(content) | {"format": 99, "semisvm": "9.0"}).encode()


def foreign(content):
    return content.replace(b"semisvm.columns.encoder", b"os").replace(
        b"TableEncoder", b"_wrap_close"
    )


BAD_MODELS = [
    (lambda path: b"", "model.skops: the file is empty"),
    (
        lambda path: b"size,y\n1,big\n",
        "this is not a model file of semisvm. Give a file that semisvm fit wrote",
    ),
    (lambda path: path.read_bytes()[:2000], "truncated or damaged. Copy it again"),
    (lambda path: changed(path, MANIFEST, newer), r"written by semisvm 9\.0.*install that version"),
    (
        lambda path: changed(path, "schema.json", foreign),
        "which no model of this library is made of",
    ),
    (lambda path: npz(X=np.eye(2)), "this is not a model file of semisvm"),
]


@pytest.mark.parametrize(("make", "message"), BAD_MODELS)
@pytest.mark.parametrize("command", ["predict", "evaluate", "report"])
def test_a_bad_model_file_is_refused_by_every_command(
    place, tmp_path, capsys, make, message, command
):
    model = tmp_path / "model.skops"
    model.write_bytes(make(place / "model.skops"))
    words = ["--out", tmp_path / "out.csv"] if command == "predict" else []
    check_refused(run_command(capsys, command, model, place / "good.csv", *words), message)


def test_a_model_with_any_byte_changed_is_refused_or_is_the_same_model(place, tmp_path, capsys):
    content = (place / "model.skops").read_bytes()
    model = tmp_path / "model.skops"
    rng = np.random.default_rng(0)
    for position in rng.choice(len(content), 60, replace=False):
        damaged = bytearray(content)
        damaged[position] ^= 0xFF
        model.write_bytes(damaged)
        done = run_command(capsys, "evaluate", model, place / "good.csv")
        assert done.code in (0, 2)
        assert "Traceback" not in done.err
        if done.code == 2:
            assert "model.skops" in done.err


def test_evaluate_refuses_labels_it_does_not_know_and_files_without_one_class(
    place, tmp_path, capsys
):
    path = tmp_path / "t.csv"
    path.write_text(relabel("big", "huge"))
    done = run_command(capsys, "evaluate", place / "model.skops", path)
    known = "There are 'big', 'small'.*Set --unlabeled to 'huge' if it marks unlabeled rows"
    check_refused(done, f"line 3: the label 'huge' is not a class of the model. {known}")
    path.write_text(relabel("big", ""))
    check_refused(
        run_command(capsys, "evaluate", place / "model.skops", path),
        "no row of class 'small' is labeled",
    )


def test_a_report_of_a_report_says_that_it_is_no_model(place, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert run_command(capsys, "report", place / "model.skops", "--out", page).code == 0
    check_refused(
        run_command(capsys, "report", page), "page.html: this is not a model file of semisvm"
    )


@pytest.mark.posix
def test_a_full_disk_leaves_a_sentence_and_no_file(place, tmp_path, capsys):
    """Files may not grow past 4 kB here, which to a program looks as a full disk does."""
    import resource

    words = (
        "fit",
        place / "good.csv",
        "--target",
        "y",
        "--method",
        "supervised",
        "--out",
        tmp_path / "m.skops",
    )
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        done = run_command(capsys, *words)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    check_refused(done, "m.skops: can't be written .*Free some space")
    assert list(tmp_path.iterdir()) == []


def test_help_of_every_command_has_examples(capsys):
    for command in ("fit", "predict", "evaluate", "compare", "suggest", "report"):
        done = run_command(capsys, command, "--help")
        assert done.code == 0
        assert f"semisvm {command}" in done.out.split("Examples:")[1]


def test_debug_shows_the_traceback_and_may_stand_anywhere(place, monkeypatch):
    from semisvm.cli import main
    from semisvm.errors import DataError

    monkeypatch.setattr(
        sys, "argv", ["semisvm", "evaluate", str(place / "absent.skops"), "x.csv", "--debug"]
    )
    with pytest.raises(DataError, match="no such file"):
        main()


# ---- no bytes whatever raise anything else ----

CELLS = st.text(alphabet='ab1-.:,;\t\n\r"?_e# \ufeff\x1c', max_size=40)


@pytest.mark.parametrize("name", ["f.csv", "f.tsv", "f.parquet", "f.csv.gz"])
@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(content=st.one_of(st.binary(max_size=80), CELLS.map(str.encode)), goes_on=st.booleans())
def test_no_bytes_make_a_traceback(place, tmp_path, capsys, name, content, goes_on):
    path = tmp_path / name
    path.write_bytes((GOOD.encode() if goes_on else b"") + content)
    out = tmp_path / "out.csv"
    for words in (
        ("predict", place / "model.skops", path, "--out", out, "--force"),
        (
            "fit",
            path,
            "--target",
            "y",
            "--method",
            "supervised",
            "--out",
            tmp_path / "m.skops",
            "--force",
        ),
        ("evaluate", path, place / "good.csv"),
    ):
        done = run_command(capsys, *words)
        assert done.code in (0, 1, 2, 4)
        assert "Traceback" not in done.err
        assert "a bug in semisvm" not in done.err, done.err
