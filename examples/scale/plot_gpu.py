"""
How fast is a GPU?
==================

``device="cuda"`` trains the same models on an NVIDIA GPU. This example runs without a GPU: it plots
timings of one NVIDIA H200 and of an Intel Xeon, recorded on 16 and 19 November 2026.
``make bench-gpu`` and ``make bench-cores`` measure your own machine; :doc:`/measured/gpu` and
:doc:`/measured/benchmarks` have all tables.
"""

import matplotlib.pyplot as plt
import numpy as np

from semisvm import SupervisedSVC

# %%
# Seconds to train an RBF SVM on all rows
# ---------------------------------------

sets = ["IJCNN1\n49,990 rows", "Adult\n32,561", "Protein\n16,682", "MNIST\n60,000"]
recorded = {
    "2 cores": ([0.683, 2.663, 1.708, 13.5], "#c3d8ee"),
    "16 cores": ([0.223, 0.903, 0.576, 2.905], "#8fb6dd"),
    "one H200": ([0.040, 0.127, 0.065, 0.260], "#2f6db3"),
}

figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
width = 0.27
for place, (name, (seconds, color)) in enumerate(recorded.items()):
    bars = ax.bar(
        np.arange(len(sets)) + (place - 1) * width, seconds, width, color=color, label=name
    )
    ax.bar_label(bars, fmt="%.2g", fontsize=9, padding=2)
ax.set(yscale="log", ylabel="seconds", xticks=range(len(sets)), xticklabels=sets, ylim=(0.02, 40))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(ncols=3, loc="upper left", frameon=False)
plt.show()

# %%
# You need not choose
# -------------------
#
# With ``device="auto"``, the default, a GPU is used if there is one and if the fit is expected to
# take longer on the CPU than it takes to start the GPU, about 5 seconds:

print(SupervisedSVC().device)
