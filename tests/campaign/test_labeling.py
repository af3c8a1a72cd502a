"""How rows are shown to a person who labels them: pictures, texts, links, values."""

import base64
import io

import numpy as np
import pytest
from rich.console import Console

from semisvm import Campaign
from semisvm.campaign.labeling import LabelSession
from semisvm.campaign.labeling.cells import RowView, png_of
from semisvm.campaign.labeling.terminal import ask_in_terminal, draw_pixels

PNG = png_of(np.arange(12, dtype=np.uint8).reshape(3, 4) * 20)


def kinds(view, row):
    return {cell.name: cell.kind for cell in view.cells(row)}


def make_campaign(n_rows=200, **options):
    scores = np.linspace(-1, 1, n_rows)
    return Campaign(scores, min_precision=0.8, seed="00", **options)


def test_a_png_is_read_as_it_was_written():
    image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(0)
    for shape in ((3, 4), (5, 2, 3)):
        pixels = rng.integers(0, 256, shape).astype(np.uint8)
        read = np.asarray(image.open(io.BytesIO(png_of(pixels))))
        np.testing.assert_array_equal(read, pixels)


def test_pictures_come_first_then_texts_the_longest_first_then_links_then_the_rest():
    row = {
        "id": "7",
        "title": "a title that is longer than sixty characters, as titles of articles are",
        "photo": base64.b64encode(PNG).decode(),
        "body": "many words\n" * 30,
        "page": "https://example.org/7?a=b",
    }
    view = RowView([row])
    assert [cell.name for cell in view.cells(row)] == ["photo", "body", "title", "page", "id"]
    assert list(kinds(view, row).values()) == ["image", "text", "text", "value", "value"]


def test_cells_that_are_pictures(tmp_path):
    (tmp_path / "a b.png").write_bytes(PNG)
    (tmp_path / "not.png").write_bytes(b"secret")

    class Drawn:
        def _repr_png_(self):
            return PNG

    row = {
        "path": "a b.png",
        "base64": base64.b64encode(PNG).decode(),
        "data": f"data:image/png;base64,{base64.b64encode(PNG).decode()}",
        "bytes": PNG,
        "object": Drawn(),
        "missing": "no such.png",
        "other": "not.png",
        "web": "https://example.org/a.png",
    }
    view = RowView([row], folder=tmp_path)
    shown = {cell.name: cell for cell in view.cells(row)}
    expected = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    for name in ("path", "base64", "data", "bytes", "object"):
        assert (shown[name].kind, shown[name].value) == ("image", expected), name
    assert shown["missing"].value == "no such.png (no picture: there is no such file)"
    assert "secret" not in str(shown["other"])
    assert shown["web"].kind == "value"


def test_columns_of_numbers_make_a_picture():
    rows = [{"id": f"r{i}"} | {f"p{j}": str((i + j) % 17) for j in range(6)} for i in range(17)]
    view = RowView(rows, image="3x2")
    picture, *rest = view.cells(rows[0])
    assert picture.name == "p0 to p5"
    np.testing.assert_array_equal(picture.pixels, np.rint(np.arange(6) * 255 / 16).reshape(2, 3))
    assert [cell.name for cell in rest] == ["id"]
    assert RowView([{"size": 3, "p0": 1, "p1": 2}], image="1x2:p").pixel_columns == ["p0", "p1"]
    with pytest.raises(ValueError, match="needs 64 columns of numbers, but there are 6 in"):
        RowView(rows, image="8x8")
    with pytest.raises(ValueError, match="must be a size such as '8x8'"):
        RowView(rows, image="large")


def test_few_of_many_columns_are_shown_at_once():
    rows = [{f"c{j}": i * j for j in range(40)} for i in range(12)]
    view = RowView(rows)
    shown = [cell.name for cell in view.cells(rows[1]) if not cell.is_extra]
    assert shown == [f"c{j}" for j in range(1, 13)]  # c0 is always 0
    assert len(view.cells(rows[1])) == 40
    chosen = RowView(rows, show=["c9", "c0"])
    assert [c.name for c in chosen.cells(rows[1]) if not c.is_extra] == ["c9", "c0"]
    with pytest.raises(ValueError, match=r"no column 'c99' to `show`. Perhaps 'c9'"):
        RowView(rows, show=["c99"])


def test_a_campaign_without_classes_is_answered_by_0_and_1():
    campaign = make_campaign()
    session = LabelSession(campaign, lambda places: [{"x": place} for place in places])
    place = session.row().place
    session.answer(place, "1")
    assert campaign.answers == {place: 1.0}
    assert session.page()["positive"] == "1"
    assert session.keys == {"0": "0", "1": "1"}
    with pytest.raises(ValueError, match="'2' is none of the classes 0, 1"):
        session.answer(session.row().place, "2")


def test_a_campaign_about_the_labels_of_others_is_for_those_that_are_right():
    campaign = Campaign.for_labels(["bug", "idea"] * 10, min_precision=0.8)
    session = LabelSession(campaign, lambda places: [{"x": place} for place in places])
    assert session.page()["positive"] == "right labels"
    assert list(session.names) == ["bug", "idea"]


def test_progress_and_keys_stay_on_a_small_terminal():
    rows = [{"body": "line\n" * 100, "n": 1}]
    session = LabelSession(make_campaign(), lambda places: rows * len(places))
    lines = []
    for keys in ("q", " q"):
        written = io.StringIO()
        console = Console(file=written, width=80, height=24)
        pressed = iter(keys)
        ask_in_terminal(session, console, lambda pressed=pressed: next(pressed))
        lines.append(written.getvalue().splitlines())
    assert len(lines[0]) <= 24
    assert "[space] all of it" in lines[0][-1]
    assert lines[0][0].startswith("0 labels.")
    assert sum(line == "line" for line in lines[1][len(lines[0]) :]) == 100


def test_a_small_picture_is_drawn_in_the_terminal():
    drawn = draw_pixels(np.array([[0, 255], [128, 7]], np.uint8))
    assert drawn.plain == "▀▀▀▀\n▀▀▀▀\n"
    styles = [str(span.style) for span in drawn.spans]
    assert styles[0] == "rgb(0,0,0) on rgb(0,0,0)"
    assert styles[6] == "rgb(7,7,7) on rgb(7,7,7)"
