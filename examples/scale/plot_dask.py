"""
Can it learn from rows on a cluster?
====================================

With a linear kernel, `SupervisedSVC` and `TransductiveSVC` accept Dask arrays and data frames. Each
worker computes sums over its own rows, and only these sums are sent over the network. In this
example two workers run in one process; for a real cluster, pass its address to `Client`.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client

from semisvm import SupervisedSVC

# %%
# A cluster of two workers, and 40,000 rows
# -----------------------------------------

client = Client(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None)

rng = np.random.default_rng(0)
direction = rng.standard_normal(20)
rows = rng.standard_normal((40_000, 20))
truth = (rows @ direction + rng.standard_normal(40_000) > 0).astype(int)
labels = np.where(rng.random(40_000) < 0.1, truth, -1)  # one row in ten has a label

# %%
# Fit and predict
# ---------------
#
# Predictions are lazy: they are computed by the workers that have the rows.

X = da.from_array(rows, chunks=(5_000, 20))
y = da.from_array(labels, chunks=5_000)
model = SupervisedSVC(kernel="linear").fit(X, y)
predicted = model.predict(X)
print(type(predicted).__module__, predicted.shape)
print(f"accuracy: {(predicted == da.from_array(truth, chunks=5_000)).mean().compute():.3f}")

# %%
# The same model as in memory
# ---------------------------

in_memory = SupervisedSVC(kernel="linear", solver="primal").fit(rows, labels)
figure, ax = plt.subplots(figsize=(5, 4.2), layout="constrained")
ax.axline((0, 0), slope=1, color="0.7", lw=1)
ax.plot(in_memory.coef_.ravel(), model.coef_.ravel(), "o", color="#2f6db3")
ax.set(xlabel="coefficients, in memory", ylabel="coefficients, on the cluster", aspect="equal")
plt.show()
client.close()
