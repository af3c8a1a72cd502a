"""Inputs on which the command once ended with a wrong exit code, a lost file, or a message about
itself.
"""

import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest

import semisvm
from command_line import run_command, write_rows
from files import write
from semisvm.disk import whole_file
from semisvm.errors import DataError
from semisvm.tables import files

# ---- labels from NaN, and reports of nothing ----


@pytest.mark.parametrize("cells", ["1e300,1e308,red", "1,1e149,red"])
def test_a_row_without_a_score_is_an_error_that_names_the_row_and_the_column(
    tmp_path, capsys, fitted, cells
):
    new = write(tmp_path, "new.csv", f"a,b,c\n1,2,red\n{cells}\n")
    done = run_command(capsys, "predict", fitted[1], new, "--out", tmp_path / "p.csv")
    if done.code == 0:  # far away, but a number: the rbf kernel is 0 there
        assert np.isfinite(pd.read_csv(tmp_path / "p.csv").score).all()
        return
    assert done.code == 2
    assert "line 3" in done.err
    assert "column" in done.err
    assert not (tmp_path / "p.csv").exists()


@pytest.mark.parametrize(
    "content", [None, "", "a,b\n1,2\n", "a,b,c,y\nx,y,red,ham\n", "a,b,c,y\n1,2,red,egg\n"]
)
def test_a_report_on_data_that_cannot_be_read_ends_with_code_2_and_writes_nothing(
    tmp_path, capsys, fitted, content
):
    data = tmp_path / "bad.csv"
    if content is not None:
        write(tmp_path, "bad.csv", content)
    done = run_command(capsys, "report", fitted[1], data, "--out", tmp_path / "r.html")
    assert done.code == 2
    assert "bad.csv" in done.err
    assert not (tmp_path / "r.html").exists()


def test_a_report_on_rows_without_labels_says_whose_figures_it_shows(tmp_path, capsys, fitted):
    data = write(tmp_path, "new.csv", "a,b,c\n1,2,red\n0,0.5,blue\n")
    assert run_command(capsys, "report", fitted[1], data, "--out", tmp_path / "r.html").code == 0
    assert "is that of the fit, not of new.csv" in (tmp_path / "r.html").read_text()


# ---- files that must not be lost ----


@pytest.mark.parametrize("output", ["--out", "--report"])
def test_an_input_is_never_replaced_even_by_force(tmp_path, capsys, output):
    data = write_rows(tmp_path / "t.csv")
    before = data.read_bytes()
    outputs = {"--out": tmp_path / "m.skops"} | {output: tmp_path / "." / "t.csv"}
    words = [word for pair in outputs.items() for word in pair]
    done = run_command(capsys, "fit", data, "--target", "y", *words, "--force")
    assert done.code == 2
    assert "read or written by the same command" in done.err
    assert data.read_bytes() == before


def test_a_prediction_replaces_neither_its_model_nor_its_data(capsys, fitted):
    data, model = fitted
    before = data.read_bytes(), model.read_bytes()
    for out in fitted:
        assert run_command(capsys, "predict", model, data, "--out", out, "--force").code == 2
    assert (data.read_bytes(), model.read_bytes()) == before


def test_one_file_for_model_and_report_is_refused_before_any_work(tmp_path, capsys):
    done = run_command(capsys, "fit", write_rows(tmp_path / "t.csv"), "--target", "y", *("--out", tmp_path / "x"),
                       *("--report", tmp_path / "x"))  # fmt: skip
    assert done.code == 2
    assert not (tmp_path / "x").exists()


def test_a_file_that_appears_meanwhile_is_not_replaced_and_the_result_is_kept(tmp_path):
    path = tmp_path / "m.skops"

    def write_slowly():
        with whole_file(path, force=False) as slow:
            slow.write_text("slow")
            path.write_text("fast")  # another program

    with pytest.raises(DataError, match="nothing was replaced"):
        write_slowly()
    assert path.read_text() == "fast"
    (kept,) = set(tmp_path.iterdir()) - {path}
    assert kept.suffix == ".skops"
    assert kept.read_text() == "slow"


@pytest.mark.posix
def test_a_symbolic_link_stays_and_its_file_is_written(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with whole_file(tmp_path / "link", force=False) as unfinished:
        unfinished.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


# ---- model files ----


def tampered(source, target, change):
    """A copy of a model file with other entries and a correct digest."""
    with zipfile.ZipFile(source) as old:
        entries = {name: old.read(name) for name in old.namelist() if name != files.DIGEST}
    change(entries)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
        for name, content in entries.items():
            new.writestr(name, content)
        new.writestr(files.DIGEST, files._digest(new))
    target.write_bytes(buffer.getvalue())
    return target


@pytest.mark.parametrize("version", ["9", None, 2.5, True, 0, -1])
def test_a_manifest_without_a_version_number_is_refused(tmp_path, fitted, version):
    def change(entries):
        entries[files.MANIFEST] = json.dumps(
            json.loads(entries[files.MANIFEST]) | {"format": version}
        )

    with pytest.raises(DataError, match="where this version reads"):
        semisvm.load(tampered(fitted[1], tmp_path / "m.skops", change))


def test_a_file_that_claims_to_unpack_to_gigabytes_is_refused_before_it_is_read(
    tmp_path, fitted, monkeypatch
):
    monkeypatch.setattr(files, "MOST_UNPACKED_BYTES", 50_000_000)
    path = tampered(
        fitted[1], tmp_path / "m.skops", lambda entries: entries.update(bomb=b"\0" * 60_000_000)
    )
    assert path.stat().st_size < 500_000
    with pytest.raises(DataError, match=r"claim to hold 0\.1 GB"):
        semisvm.load(path)


def test_a_bare_estimator_is_no_model_of_a_table(tmp_path, capsys, fitted):
    X = np.random.default_rng(0).normal(size=(20, 2))
    semisvm.save(semisvm.SupervisedSVC().fit(X, np.arange(20) % 2), tmp_path / "bare.skops")
    start = (
        "--min-precision",
        "0.9",
        "--state",
        tmp_path / "c.campaign",
        "--out",
        tmp_path / "l.csv",
    )
    for words in (
        ("predict", "--out", tmp_path / "p.csv"),
        ("evaluate",),
        ("suggest", "--out", tmp_path / "s.csv"),
        ("certify start", *start),
        ("certify start", *start, "--costs", "a=1,b=2"),
    ):
        done = run_command(
            capsys, *words[0].split(), tmp_path / "bare.skops", fitted[0], *words[1:]
        )
        assert done.code == 2
        assert "holds a bare SupervisedSVC" in done.err


# ---- sentences ----


def test_a_target_that_is_dropped_is_refused_in_words(tmp_path, capsys):
    data = write_rows(tmp_path / "t.csv")
    done = run_command(
        capsys, "fit", data, "--target", "y", "--drop", "y", "--out", tmp_path / "m.skops"
    )
    assert done.code == 2
    assert "is the target and can't be left out" in done.err


def test_a_column_of_numbers_without_squares_is_refused_by_name_and_row(tmp_path, capsys):
    data = write(tmp_path, "t.csv", "a,b,y\n1,2,x\n2,1e300,z\n1.5,2,\n2.2,1,x\n3,1.7,z\n")
    done = run_command(capsys, "fit", data, "--target", "y", "--out", tmp_path / "m.skops")
    assert done.code == 2
    said = "column 'b' holds '1e300' where a number up to 1e+150"
    assert f"t.csv, line 3: {said}" in done.err
    first = write(tmp_path, "first.csv", "a,b,y\n,,\n1,2,x\n3,2,z\n2,2,\n")
    more = write(tmp_path, "more.csv", "b,a\n2,2\n\n2,2\n1e300,7\n")
    fit = ["fit", first, "--target", "y", "--out", tmp_path / "m.skops"]
    assert f"t.csv, line 3: {said}" in run_command(capsys, *fit, data).err
    done = run_command(capsys, *fit, "--unlabeled-data", more)
    assert f"more.csv, line 5: {said}" in done.err


def test_a_comparison_for_a_certificate_keeps_the_supervised_method_and_names_the_others_that_give_none(
    tmp_path, capsys
):
    words = ["--target", "y", "--min-precision", "0.8", "--confidence", "0.9", "--no-tune"]
    methods = ["--method", "preference", "--method", "transductive"]
    done = run_command(capsys, "compare", write_rows(tmp_path / "t.csv"), *words, *methods)
    assert done.code == 0
    assert "transductive was left out: does not give certificates" in done.out
    assert "supervised" in done.out


def test_auto_is_not_compared_with_itself(tmp_path, capsys):
    done = run_command(
        capsys, "compare", write_rows(tmp_path / "t.csv"), "--target", "y", "--method", "auto"
    )
    assert done.code == 2
    assert "leave --method out to compare all of them" in done.err
    assert "erhaps" not in done.err


def write_prices(folder):
    """A table with numbers of which nobody knows whether the comma ends the whole part."""
    prices = "".join(
        f'{i % 7},"$ {i % 12 + 1},{i % 12}00",{"xz"[i % 2] if i < 20 else ""}\n' for i in range(40)
    )
    return write(folder, "t.csv", "a,price,y\n" + prices)


def test_the_notes_of_a_report_name_options(tmp_path, capsys):
    data, model, first, later = (
        tmp_path / name for name in ("t.csv", "m.skops", "first.html", "later.html")
    )
    write_prices(tmp_path)
    fit = [
        "fit",
        data,
        "--target",
        "y",
        "--method",
        "supervised",
        "--no-tune",
        "--out",
        model,
        "--report",
        first,
    ]
    assert run_command(capsys, *fit).code == 0
    assert run_command(capsys, "report", model, "--out", later).code == 0
    for page in (first.read_text(encoding="utf-8"), later.read_text(encoding="utf-8")):
        assert "set the decimal mark (--decimal)" in page
        assert "Please check the column &#39;price&#39; (see the notes)." in page
        assert "<td>looks like numbers, for example" in page
        assert "--details" not in page
        assert "`decimal`" not in page
        assert "`details`" not in page


def test_one_row_is_a_row(tmp_path, capsys, fitted):
    data, model = fitted
    lines = data.read_text().splitlines()
    one = write(tmp_path, "one.csv", f"{lines[0]}\n{lines[-1]}\n")
    bad = write(tmp_path, "bad.csv", f"{lines[0]}\n1\n")
    words = {
        ("predict", model, one, "--out", tmp_path / "p.csv"): "1 row: ",
        ("suggest", model, data, "-n", "1", "--out", tmp_path / "s.csv"): "1 row to label: ",
        ("evaluate", model, one): "(0 labeled rows)",
        (
            "predict",
            model,
            bad,
            "--out",
            tmp_path / "q.csv",
        ): "the row has 1 cell where the header has 4",
    }
    for command, told in words.items():
        done = run_command(capsys, *command)
        assert told in done.out + done.err


def test_notes_of_a_comparison_name_options(tmp_path, capsys):
    data = write_prices(tmp_path)
    done = run_command(
        capsys, "compare", data, "--target", "y", "--method", "supervised", "--no-tune"
    )
    assert done.code == 0
    assert "set the decimal mark (--decimal)" in done.out


def test_one_label_per_class_is_too_few_for_a_threshold_and_no_missing_option_is_advised(
    tmp_path, capsys
):
    data = write(tmp_path, "t.csv", "a,b,y\n1,2,x\n2,3,z\n1.5,2,\n2.2,1,\n3,1.7,\n")
    done = run_command(
        capsys,
        "fit",
        data,
        "--target",
        "y",
        "--min-precision",
        "0.8",
        "--out",
        tmp_path / "m.skops",
    )
    assert done.code == 2
    assert "class 'x' has a single labeled row" in done.err
    assert "calibration" not in done.err


def test_suggestions_are_written_in_the_format_that_the_suffix_names(tmp_path, capsys, fitted):
    data, model = fitted
    for suffix, reader in (
        (".parquet", pd.read_parquet),
        (".tsv", lambda path: pd.read_csv(path, sep="\t")),
    ):
        out = tmp_path / f"s{suffix}"
        assert run_command(capsys, "suggest", model, data, "-n", "3", "--out", out).code == 0
        assert list(reader(out).columns) == ["a", "b", "c", "y", "drawn"]
    assert run_command(capsys, "suggest", model, data, "--out", tmp_path / "s.xlsx").code == 2


def test_suggested_numbers_keep_all_digits_in_parquet_files(tmp_path, capsys, fitted):
    """to_numeric of pandas 2 reads this number with another last digit."""
    number = "0.25891675029296335"
    data = write(tmp_path, "t.csv", f"a,b,c,y\n{number},2,red,\n{number},3,red,\n")
    out = tmp_path / "s.parquet"
    assert run_command(capsys, "suggest", fitted[1], data, "-n", "1", "--out", out).code == 0
    assert pd.read_parquet(out).a.tolist() == [float(number)]


def test_cells_that_a_spreadsheet_would_run_are_neutralized_on_request(tmp_path, capsys, fitted):
    data = write(tmp_path, "t.csv", 'a,b,c,note\n1,2,red,=1+1\n1,2,red,plain\n1,2,red,"@SUM(A1)"\n')
    for words, cells in (
        ((), ["=1+1", "plain", "@SUM(A1)"]),
        (("--neutralize",), ["'=1+1", "plain", "'@SUM(A1)"]),
    ):
        out = tmp_path / f"p{len(words)}.csv"
        assert (
            run_command(
                capsys, "predict", fitted[1], data, "--keep", "note", "--out", out, *words
            ).code
            == 0
        )
        assert pd.read_csv(out).note.tolist() == cells


def test_without_unlabeled_rows_nothing_is_said_about_their_help(tmp_path, capsys):
    data = write_rows(tmp_path / "t.csv", share_labeled=1)
    out = tmp_path / "m.skops"
    done = run_command(capsys, "fit", data, "--target", "y", "--out", out)
    assert done.code == 0
    assert semisvm.load(out).method == "supervised"
    assert "Every row has a label, so there were no unlabeled rows to learn from." in done.out
    assert "unlabeled rows help" not in done.out
    assert "Next: semisvm predict" in done.out
    assert str(data) not in done.out  # there is nothing to label in it
    assert semisvm.load(out).summary.comparison is None


def test_the_commands_to_run_next_name_the_file_with_unlabeled_rows_and_can_be_copied(
    tmp_path, capsys
):
    data = write_rows(tmp_path / "t.csv", share_labeled=1)
    folder = tmp_path / "two words"
    folder.mkdir()
    pool = write(folder, "pool.csv", "a,b,c\n" + "1,2,red\n0,0.5,blue\n" * 9)
    words = (
        "--unlabeled-data",
        pool,
        "--target",
        "y",
        "--method",
        "supervised",
        "--out",
        tmp_path / "m.skops",
    )
    done = run_command(capsys, "fit", data, *words)
    assert f'semisvm suggest {tmp_path / "m.skops"} "{pool}"' in " ".join(done.out.split("\n")), (
        done.out
    )


def test_a_method_that_does_not_fit_the_memory_is_left_out_with_a_sentence(monkeypatch):
    from semisvm.estimators import find_method
    from semisvm.tables.methods import Settings, why_not

    monkeypatch.setattr("semisvm.tables.methods.budget_bytes", lambda cache_size: 1_000_000_000)
    X = np.empty((24_000, 2))
    assert (
        why_not(find_method("laplacian"), X, Settings())
        == "would need 13.8 GB of memory for 24000 rows, where 1.0 GB may be used"
    )
    assert why_not(find_method("transductive"), X, Settings()) == ""
