"""Files are whole or absent, replaced only when asked, and held by one writer at a time."""

import os
import subprocess
import sys

import pytest

from semisvm.errors import DataError
from semisvm.files import check_can_write, one_writer, whole_file


@pytest.mark.parametrize(("mode", "content"), [("w", "a\r\nä\n"), ("wb", b"\x00\x01")])
def test_a_file_is_written_and_nothing_else_is_left(tmp_path, mode, content):
    with whole_file(tmp_path / "f", mode=mode) as stream:
        stream.write(content)
    written = (tmp_path / "f").read_bytes()
    assert written == (content if mode == "wb" else content.encode())
    assert os.listdir(tmp_path) == ["f"]


@pytest.mark.parametrize("ending", [ValueError, KeyboardInterrupt, OSError])
@pytest.mark.parametrize("before", [None, "old"])
def test_an_error_half_way_leaves_what_was_there(tmp_path, ending, before):
    path = tmp_path / "f"
    if before:
        path.write_text(before)
    expected = DataError if ending is OSError else ending
    with pytest.raises(expected), whole_file(path, force=True) as stream:  # noqa: PT012
        stream.write("new")
        raise ending
    assert os.listdir(tmp_path) == (["f"] if before else [])
    assert not before or path.read_text() == before


def test_permissions_and_links_stay(tmp_path):
    path, link = tmp_path / "f", tmp_path / "link"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    with whole_file(link, force=True) as stream:
        stream.write("new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o640)
    assert link.is_symlink()


def test_what_cannot_be_written_is_refused_in_one_sentence(tmp_path):
    (tmp_path / "f").touch()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for path, words in {
        tmp_path: "this is a folder",
        tmp_path / "no" / "f": "there is no folder",
        tmp_path / "f": "the file exists. Choose another name",
        "/dev/null": "this is a device",
        tmp_path / "loop": "leads back to itself",
    }.items():
        with pytest.raises(DataError, match=words):
            check_can_write(path)


def test_a_name_that_is_taken_meanwhile_is_not_replaced(tmp_path):
    path = tmp_path / "f.txt"
    with pytest.raises(DataError, match="another"), whole_file(path) as stream:  # noqa: PT012
        stream.write("ours")
        path.write_text("theirs")
    kept = next(other for other in tmp_path.iterdir() if other != path)
    assert (path.read_text(), kept.read_text()) == ("theirs", "ours")


def test_one_writer_at_a_time(tmp_path):
    path = tmp_path / "f"
    other = (
        "import sys; from semisvm.files import one_writer\n"
        "with one_writer(sys.argv[1], timeout=0.1): pass"
    )
    with one_writer(path):
        held = subprocess.run([sys.executable, "-c", other, path], capture_output=True, text=True)
    assert "another program is writing it" in held.stderr
    free = subprocess.run([sys.executable, "-c", other, path], capture_output=True, text=True)
    assert free.returncode == 0
