"""
Can it learn from a file that does not fit in memory?
=====================================================

With a linear kernel, `SupervisedSVC` and `TransductiveSVC` learn from a `.npy` file of any length:
each pass reads the rows chunk by chunk, and the memory does not grow. In this example the file is
small, so that the result can be compared with a fit in memory.
"""

import os
import tempfile
import time

import matplotlib.pyplot as plt
import numpy as np

from semisvm import SupervisedSVC
from semisvm.primal import FileRows

# %%
# A file of rows
# --------------

folder = tempfile.TemporaryDirectory()
rng = np.random.default_rng(0)
direction = rng.standard_normal(40) / np.sqrt(40)


def write_rows(n):
    """Write n rows to a file and return its path and the classes, of which one in ten is known."""
    X = rng.standard_normal((n, 40)).astype(np.float32)
    codes = (X @ direction + 0.3 * rng.standard_normal(n) > 0).astype(np.int8)
    path = os.path.join(folder.name, f"{n}.npy")
    np.save(path, X)
    return path, np.where(rng.random(n) < 0.1, codes, np.int8(-1)), codes


# %%
# Fit and predict
# ---------------
#
# `FileRows` also contains the labels: `codes` are positions in `classes`, and -1 for rows without a
# label.

path, known, codes = write_rows(20_000)
rows = FileRows(path, codes=known, classes=np.array(["no", "yes"]))
model = SupervisedSVC(kernel="linear").fit(rows, None)
accuracy = np.mean(model.predict(rows) == np.array(["no", "yes"])[codes])
print(f"accuracy {accuracy:.3f}, gap {model.gap_.max():.0e}")

# %%
# The same model as in memory
# ---------------------------

in_memory = SupervisedSVC(kernel="linear", solver="primal").fit(
    np.load(path), np.where(known < 0, -1, known)
)
print(f"largest difference of the coefficients: {np.abs(model.coef_ - in_memory.coef_).max():.0e}")

# %%
# Time grows with the number of rows
# ----------------------------------

sizes = [25_000, 50_000, 100_000, 200_000]
seconds = []
for n in sizes:
    path, known, _ = write_rows(n)
    rows = FileRows(path, codes=known, classes=np.array(["no", "yes"]))
    started = time.process_time()
    SupervisedSVC(kernel="linear").fit(rows, None)
    seconds.append(time.process_time() - started)

figure, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
ax.plot(sizes, seconds, "o-", color="#2f6db3")
ax.set(
    xlabel="rows in the file",
    ylabel="CPU seconds to fit",
    ylim=(0, None),
    xlim=(0, None),
    xticks=[0, 100_000, 200_000],
)
ax.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")
plt.show()
folder.cleanup()
