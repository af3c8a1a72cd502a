"""A mixed table in memory, and the same table as a folder of files."""

from itertools import pairwise

import numpy as np
import pandas as pd


def mixed_table(n=1_200, seed=0, share_labeled=0.15):
    """Numbers with gaps, dates, few and many categories, free text, a key, and a target that
    some rows have.
    """
    rng = np.random.default_rng(seed)
    is_spam = rng.random(n) < 0.4
    words = np.array(["win", "prize", "cash", "free", "meeting", "report", "lunch", "notes"])
    text = [" ".join(rng.choice(words[:6] if one else words[2:], 5)) for one in is_spam]
    frame = pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.1, np.nan, rng.normal(2.0 * is_spam, 1.0)),
            "age": rng.integers(0, 9, n).astype(float),
            "customer_id": rng.permutation(n).astype(float) + 1_000,
            "sent": (
                pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 500, n), unit="D")
            ),
            "country": rng.choice(["DE", "FR", "US", "TW"], n),
            "shop": [f"s{number}" for number in rng.geometric(0.02, n)],
            "subject": text,
            "constant": "x",
        }
    )
    frame.loc[rng.random(n) < 0.05, "sent"] = pd.NaT
    frame.loc[rng.random(n) < 0.05, "country"] = None
    truth = np.where(is_spam, "spam", "ham")
    frame["kind"] = np.where(rng.random(n) < share_labeled, truth, None)
    return frame, truth


def write_parts(frame, folder, n_parts=4, form="parquet"):
    """Write consecutive rows as files of a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    ends = np.linspace(0, len(frame), n_parts + 1).astype(int)
    for number, (first, last) in enumerate(pairwise(ends)):
        part = frame.iloc[first:last]
        path = folder / f"part-{number:03d}.{form}"
        part.to_parquet(path) if form == "parquet" else part.to_csv(path, index=False)
    return folder
