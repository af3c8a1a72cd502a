"""Small sessions of labeling: a table of texts with scores, and what a person would say."""

import numpy as np
import pandas as pd

from semisvm.label import LabelingJob, LabelSession, Pool

WANTED = {"precision": 0.7, "recall": 0.8, "error": 0.1, "none": 0.0}


def write_notes(path, n=400, seed=0):
    """Write notes with a score; return the truth by the number of the note."""
    rng = np.random.default_rng(seed)
    score = np.round(rng.random(n), 4)
    truth = np.where(rng.random(n) < score**0.5, "yes", "no")
    given = np.where(rng.random(n) < 0.05 + 0.3 * (1 - score), "no", truth)
    columns = {
        "note": np.arange(n).astype(str),
        "day": [f"2024-{1 + k % 12:02d}-{1 + k % 28:02d}" for k in range(n)],
        "text": [f"a note, number {k}: {'word ' * (k % 4)}" for k in rng.permutation(n)],
        "score": score,
        "given": given,
    }
    pd.DataFrame(columns).to_csv(path, index=False)
    return truth


def begin(folder, promise="precision", *, n=400, budget=60, name="notes", **how):
    """Begin a session about notes.csv; return it and the truth of each row."""
    path = folder / f"{name}.csv"
    truth = write_notes(path, n)
    pool = Pool(path)
    given = "given" if promise == "error" else None
    job = LabelingJob(
        promise,
        WANTED[promise],
        0.9,
        None if promise == "none" else budget,
        ["no", "yes"],
        "yes",
        given=given,
    )
    order = list(range(n)) if promise == "none" else None
    state = folder / f"{name}.label"
    session = LabelSession.begin(
        pool, job, pool.numbers("score"), state, order=order, random_state=1, **how
    )
    return session, truth


def truth_of(session, truth, row):
    """What a person would say to a row."""
    return str(truth[int(session.pool.cells["note"][session.pool.place[row]])])


def answer(session, truth, n=20):
    """Answer the next rows; return which."""
    rows = session.ask(n)
    session.answer_all({row: truth_of(session, truth, row) for row in rows})
    return rows
