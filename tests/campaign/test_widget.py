"""`Campaign.label`: the widget in a notebook that is executed, the same page in a browser, and the
terminal.
"""

import io
import json
import sys

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits

from semisvm import Campaign
from semisvm.campaign.labeling import LabelSession
from semisvm.campaign.labeling.rows import is_notebook, reader_of

SETUP = """
import json
import numpy as np
from sklearn.datasets import load_digits
from semisvm import Campaign

digits = load_digits(as_frame=True)
truth = (digits.target % 2).to_numpy()
rng = np.random.default_rng(0)
scores = truth - 0.5 + 0.2 * rng.normal(size=len(truth))
campaign = Campaign(scores, min_precision=0.8, seed="00")
"""
SHOW = """
widget = campaign.label(digits.data, "odd.campaign", image="8x8")
widget
"""
CLICK = """
for _ in range(5):
    row = widget.state["row"]
    request = {"do": "answer", "place": row["place"], "label": str(truth[row["place"]]), "id": "1"}
    widget._handle_custom_msg(request, [])
campaign
"""
CHECK = """
print(json.dumps([campaign.n_labels, Campaign.load("odd.campaign").n_labels]))
"""
# What anywidget does in a notebook: it loads the module and gives it a model.
HOST = """
<!doctype html><meta charset="utf-8"><style>%s</style><body><div id="cell"></div>
<script type="module">
const handlers = {}, values = {state: await window.currentState()};
const fire = (name, content) => (handlers[name] || []).forEach((handler) => handler(content));
const model = {
  get: (name) => values[name],
  on: (name, handler) => (handlers[name] ??= []).push(handler),
  off: () => {},
  send: async (request) => {
    const replies = await window.toPython(request);
    values.state = await window.currentState();
    fire("change:state");
    replies.forEach((reply) => fire("msg:custom", reply));
  },
};
const source = new Blob([%s], {type: "text/javascript"});
const widget = await import(URL.createObjectURL(source));
widget.default.render({model, el: document.getElementById("cell")});
</script>
"""


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    """A notebook with the widget, executed by a kernel."""
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    made = nbformat.v4.new_notebook()
    made.cells = [nbformat.v4.new_code_cell(code) for code in (SETUP, SHOW, CLICK, CHECK)]
    client = nbclient.NotebookClient(
        made,
        timeout=300,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path_factory.mktemp("notebook"))}},
    )
    client.execute()
    return made


def test_a_notebook_shows_the_widget_and_saves_every_answer(notebook):
    _, shown, clicked, checked = (cell.outputs for cell in notebook.cells)
    assert "application/vnd.jupyter.widget-view+json" in shown[-1]["data"]
    assert "5 labels so far" in clicked[-1]["data"]["text/html"]
    assert json.loads(checked[-1]["text"]) == [5, 5]


def widget_in(notebook):
    """The stored state of the widget, which notebooks keep for readers without a kernel."""
    models = notebook.metadata["widgets"]["application/vnd.jupyter.widget-state+json"]["state"]
    (state,) = (model["state"] for model in models.values() if "_esm" in model["state"])
    return state


def digit_widget(tmp_path):
    from semisvm.campaign.labeling.widget import LabelWidget

    digits = load_digits(as_frame=True)
    truth = (digits.target % 2).to_numpy()
    scores = truth - 0.5 + 0.2 * np.random.default_rng(0).normal(size=len(truth))
    campaign = Campaign(scores, min_precision=0.8, seed="00")
    reader = reader_of(digits.data, campaign.n_rows)
    session = LabelSession(campaign, reader, image="8x8", state=tmp_path / "odd.campaign")
    return LabelWidget(session), truth


@pytest.mark.parametrize("width", [1100, 390])
def test_the_executed_notebooks_widget_works_in_a_browser(notebook, chromium, tmp_path, width):
    """The style and script that the kernel sent, against the widget in Python."""
    stored = widget_in(notebook)
    widget, truth = digit_widget(tmp_path)
    replies = []
    widget.send = lambda content, buffers=None: replies.append(content)

    def to_python(request):
        replies.clear()
        widget._handle_custom_msg(request, [])
        return list(replies)

    complaints = []
    page = chromium.new_page(viewport={"width": width, "height": 900})
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.expose_function("currentState", lambda: widget.state)
    page.expose_function("toPython", to_python)
    page.set_content(HOST % (stored["_css"], json.dumps(stored["_esm"]).replace("</", "<\\/")))
    page.locator(".classes button").first.wait_for()
    assert page.locator("figure img").evaluate("image => image.naturalWidth") == 8
    assert page.get_by_role("button", name="Stop for now").count() == 0
    assert "Every answer is saved in odd.campaign." in page.locator("header").inner_text()
    for n in range(1, 4):
        place = widget.state["row"]["place"]
        page.locator(f".classes button[data-label='{truth[place]}']").click()
        page.wait_for_function(
            f"() => document.querySelector('aside').textContent.includes('{n} label')"
        )
    page.locator(".semisvm-label").focus()
    page.keyboard.press("u")
    page.wait_for_function(
        "() => document.querySelector('aside').textContent.includes('2 labels so far')"
    )
    assert widget.session.campaign.n_labels == 2
    assert Campaign.load(tmp_path / "odd.campaign").n_labels == 2
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()
    assert complaints == []


def test_a_second_click_in_another_view_is_stale(tmp_path):
    widget, _ = digit_widget(tmp_path)
    replies = []
    widget.send = lambda content, buffers=None: replies.append(content)
    request = {"do": "answer", "place": widget.state["row"]["place"], "label": "1", "id": "a"}
    widget._handle_custom_msg(request, [])
    widget._handle_custom_msg(request | {"id": "b"}, [])
    assert replies == [{"id": "a", "is_stale": False}, {"id": "b", "is_stale": True}]
    assert widget.session.campaign.n_labels == 1


def campaign_of(n_rows):
    return Campaign(np.linspace(-1, 1, n_rows), min_precision=0.8, seed="00")


def test_rows_of_every_kind_are_read():
    frame = pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "z"]})
    polars = pytest.importorskip("polars")
    for X in (frame, polars.from_pandas(frame), frame.to_dict("records")):
        assert reader_of(X, 3)([2, 0]) == [{"a": 3, "b": "z"}, {"a": 1, "b": "x"}]
    assert reader_of(frame["b"], 3)([1]) == [{"b": "y"}]
    assert reader_of(["u", "v"], 2)([1]) == [{"row": "v"}]
    images = np.arange(12).reshape(3, 2, 2)
    assert reader_of(images, 3)([1]) == [{"0": 4, "1": 5, "2": 6, "3": 7}]
    assert reader_of(csr_array(np.eye(2)), 2)([1]) == [{"0": 0.0, "1": 1.0}]
    with pytest.raises(ValueError, match="is about 4 rows, and 3 are given"):
        reader_of(frame, 4)


def test_outside_of_notebooks_the_terminal_asks(monkeypatch, tmp_path, capsys):
    assert not is_notebook()
    campaign = campaign_of(100)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with pytest.raises(ValueError, match="neither a notebook nor a terminal"):
        campaign.label(["text"] * 100)
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stdin", terminal)
    keys = iter("10q")
    monkeypatch.setattr("click.getchar", lambda: next(keys))
    assert campaign.label(["text"] * 100, tmp_path / "a.campaign") is None
    assert sorted(campaign.answers.values()) == [0.0, 1.0]
    assert Campaign.load(tmp_path / "a.campaign").answers == campaign.answers
    assert "Not certified after 2 labels" in capsys.readouterr().out


def test_the_file_of_another_campaign_is_refused_before_the_first_answer(monkeypatch, tmp_path):
    path = tmp_path / "a.campaign"
    earlier = campaign_of(50)
    earlier.tell([0, 1], [0, 1])
    earlier.save(path)
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stdin", terminal)
    keys = iter("1q")
    monkeypatch.setattr("click.getchar", lambda: next(keys))
    campaign = Campaign(np.linspace(1, -1, 50), min_precision=0.8, seed="99")
    with pytest.raises(ValueError, match="this file exists and holds 2 answers"):
        campaign.label(list(range(50)), path)
    assert campaign.n_labels == 0
    assert next(keys) == "1"
    assert Campaign.load(path).answers == earlier.answers


def test_a_campaign_that_has_a_file_is_saved_there(monkeypatch, tmp_path):
    campaign = campaign_of(50)
    campaign.save(tmp_path / "b.campaign")
    keys = iter("1q")
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stdin", terminal)
    monkeypatch.setattr("click.getchar", lambda: next(keys))
    campaign.label(list(range(50)))
    assert Campaign.load(tmp_path / "b.campaign").n_labels == 1


def test_columns_pictures_and_their_folder_are_as_they_are_asked_for(monkeypatch, tmp_path):
    """What `show`, `image` and `folder` mean is tested with `semisvm label`, which has them too."""
    monkeypatch.setattr("semisvm.campaign.labeling.rows.is_notebook", lambda: False)
    seen = {}

    def session(campaign, read_cells, **options):
        seen.update(options)
        raise KeyboardInterrupt

    monkeypatch.setattr("semisvm.campaign.labeling.rows.LabelSession", session)
    with pytest.raises(KeyboardInterrupt):
        campaign_of(4).label(np.zeros((4, 64)), show=["a"], image="8x8", folder=tmp_path)
    assert (seen["show"], seen["image"], seen["folder"]) == (["a"], "8x8", tmp_path)


def test_without_anywidget_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr("semisvm.campaign.labeling.rows.is_notebook", lambda: True)
    monkeypatch.setattr("semisvm.campaign.labeling.rows.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"semisvm\[notebook\]"):
        campaign_of(20).label(list(range(20)))
