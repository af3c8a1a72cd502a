"""The papers' sets: the catalog is whole, and only the recorded contents are used."""

import bz2
import shutil

import numpy as np
import pytest

from studies.data import DataError, catalog, checksums, load, why_missing
from studies.data.layouts import hash_contents, read_layout


def test_every_set_has_a_source_terms_and_a_checksum():
    for name, described in catalog().items():
        assert described.source, name
        assert described.terms, name
        assert not described.file or described.file in checksums(), name
        assert "{" not in described.source + described.file, name


def test_sets_of_scikit_learn_need_no_folder():
    data = load("wdbc")
    assert data.X.shape == (569, 30)
    assert np.bincount(data.y).tolist() == [212, 357]
    assert why_missing("wdbc") == ""


def test_what_is_not_here_is_refused_with_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("SEMISVM_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(DataError, match=r"not on this machine.*Set SEMISVM_DATA to a folder"):
        load("german")
    assert "psvm/a9a.libsvm.bz2" in why_missing("adult")
    with pytest.raises(DataError, match="There is no set called 'germany'"):
        load("germany")


@pytest.mark.data
@pytest.mark.parametrize("name", ["german", "reuters-induction", "tutorial", "protein", "ssl-bci"])
def test_a_set_has_the_recorded_contents(paper_data, name):
    data = load(name, paper_data)
    described = catalog()[name]
    assert data.X.shape == (described.rows, described.features)
    assert set(np.unique(data.y)) <= {-1, 0, 1}
    if name == "tutorial":
        parts = data.split
        assert [len(part) for part in (parts.labeled, parts.unlabeled, parts.test)] == [6, 20, 100]
        assert len(parts.train) == 26
    if name == "ssl-bci":
        assert {n: len(splits) for n, splits in data.splits.items()} == {10: 12, 100: 12}


@pytest.mark.data
def test_a_file_with_other_contents_is_never_used(paper_data, tmp_path):
    file = catalog()["reuters-induction"].file
    (tmp_path / file).parent.mkdir()
    content = bz2.decompress((paper_data / file).read_bytes())
    packed_again = tmp_path / file
    packed_again.write_bytes(bz2.compress(content, 1))  # another file, the same contents
    assert load("reuters-induction", tmp_path).X.shape == (10, 9947)
    packed_again.write_bytes(bz2.compress(content.replace(b"0.1", b"0.2", 1)))
    with pytest.raises(DataError, match="is not the file that 'reuters-induction' was recorded"):
        load("reuters-induction", tmp_path)
    packed_again.write_bytes(b"no archive")
    with pytest.raises(DataError, match="can't be read as 'reuters-induction'"):
        load("reuters-induction", tmp_path)


@pytest.mark.data
def test_equal_contents_have_equal_hashes_whatever_the_format(paper_data, tmp_path):
    path = paper_data / catalog()["tutorial"].file
    copy = tmp_path / "copy.csv"
    shutil.copy(path, copy)
    layout = {"n_features": 2, "member": "", "classes": ()}
    one, other = (read_layout(p, "csv with roles", **layout) for p in (path, copy))
    assert hash_contents(one) == hash_contents(other) == checksums()["ptsvm/tutorial.csv"][1]
