"""Files for tests of readers: written, and made in memory."""

import io

import numpy as np
import pandas as pd


def write(folder, name, content):
    """Write bytes or text and return the path."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def npz_bytes(**arrays):
    """The bytes of an npz file."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def parquet_bytes(**columns):
    """The bytes of a Parquet file."""
    buffer = io.BytesIO()
    pd.DataFrame(columns).to_parquet(buffer)
    return buffer.getvalue()
