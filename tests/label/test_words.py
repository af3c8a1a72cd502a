"""What a verdict says: a table of verdicts and sentences."""

from dataclasses import replace

import pytest

from semisvm.label import LabelingJob, LabelingStatus, words

V = LabelingStatus("precision", 0.9, 0.95, 1_000, 0, 0, 1_000, 80, 300, 100, "")
USED = "The budget of 100 labels is used."
CASES = [
    ({}, "0 labels: 0 rows that nobody has to look at; 80 more labels: about 300."),
    ({"n_labels": 1, "n_free": 1}, "1 label: 1 row that nobody has to look at; 80 more labels: about 300."),
    ({"next_labels": None, "next_free": None}, "0 labels: 0 rows that nobody has to look at."),
    ({"n_labels": 60, "n_free": 300}, "60 labels: 300 rows that nobody has to look at."),
    ({"n_labels": 100, "n_free": 612, "stop": USED}, f"100 labels: 612 rows that nobody has to look at. {USED}"),
    ({"n_labels": 100, "n_free": 0, "stop": USED}, "100 labels: not worth it. 100 labels for 0 rows."),
    ({"n_labels": 100, "n_free": 100, "stop": USED}, "100 labels: not worth it. 100 labels for 100 rows."),
    ({"promise": "error", "n_labels": 10, "n_free": 20, "stop": USED}, "10 labels: not worth it. A person would have to label 98% of the rows."),
    ({"promise": "none", "n_labels": 9}, "9 labels. Add them to the data (semisvm finish) and fit again."),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "line"), CASES)
def test_where_the_labeling_stands(changes, line):
    assert words.verdict_line(replace(V, **changes)) == line


JOB = LabelingJob("precision", 0.9, 0.95, 100, ["no", "yes"], "yes")
PROMISES = [
    ({"n_free": 216}, {}, "With probability 95%, at least 90% of the 216 rows that the machine accepted and nobody looked at are 'yes'."),
    ({"n_free": 216}, {"given": "ai"}, "With probability 95%, at least 90% of the 216 rows that the machine accepted and nobody looked at have the right label."),
    ({}, {}, "Nothing is proved yet. Wanted: with probability 95%, at least 90% of the rows that the machine accepted and nobody looked at are 'yes'."),
    ({"promise": "recall", "n_free": 700}, {}, "With probability 95%, at most 10% of all 'yes' rows are among the 700 rows that the machine rejected: nobody has to read these."),
    ({"promise": "error", "level": 0.05, "n_free": 500, "n_left": 400}, {"given": "ai"}, "With probability 95%, at most 50 of all 1,000 labels (5%) are wrong once people have labeled the 400 rows that are left."),
    ({"promise": "none"}, {}, "Nothing is promised: the rows were chosen to improve the model."),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "job", "line"), PROMISES)
def test_what_is_promised(changes, job, line):
    assert words.promise_line(replace(V, **changes), replace(JOB, **job)) == line


def test_what_a_finished_table_holds():
    counts = {"file": 3, "person": 10, "machine": 20, "nobody": 0}
    lines = words.finished(counts, replace(V, promise="error", n_free=20, stop=USED), JOB, "f.csv")
    assert (
        lines.splitlines()[0]
        == "f.csv: 33 rows, labeled: 3 before, 10 by people, 20 by the machine."
    )
    assert (
        lines.splitlines()[-1]
        == "It was not worth it: A person would have to label 98% of the rows."
    )
