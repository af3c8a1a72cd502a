"""
How fast is a GPU?
==================

``device="cuda"`` trains the same models on an NVIDIA GPU. This page needs none: it draws timings
that were recorded on 15 and 16 November 2026: on one NVIDIA H200 (driver 580.159, CUDA 13.0, torch
2.11, Triton 3.6); for semisvm on the CPU on 2 and on 16 cores of an Intel Xeon; for LIBSVM on an
AMD EPYC, where Adult was stopped after 150 seconds. Measure your own machine by ``make bench-gpu``
and ``make bench-cores``; :doc:`/gpu` and :doc:`/measured/benchmarks` have all tables.
"""

import matplotlib.pyplot as plt
import numpy as np

# Seconds to train an RBF SVM on all rows, tolerance 1e-3, kernel included. None: was not run, or
# not to its end.
sets = ["IJCNN1\n49,990 rows", "Adult\n32,561", "Protein\n16,682", "MNIST\n60,000"]
recorded = {
    "LIBSVM, 1 core": ([10.3, None, 48.4, None], "0.75"),
    "semisvm, 2 cores": ([0.683, 2.663, 1.708, 13.5], "#c3d8ee"),
    "semisvm, 16 cores": ([0.223, 0.903, 0.576, 2.905], "#8fb6dd"),
    "semisvm, H200": ([0.047, 0.132, 0.068, 0.265], "#2f6db3"),
}

figure, ax = plt.subplots(figsize=(9, 4.4), layout="constrained")
width = 0.2
for place, (name, (seconds, color)) in enumerate(recorded.items()):
    at = np.arange(len(sets)) + (place - 1.5) * width
    known = [(x, s) for x, s in zip(at, seconds, strict=True) if s is not None]
    bars = ax.bar(*zip(*known, strict=True), width, color=color, label=name)
    ax.bar_label(bars, [f"{s:.3g}" for _, s in known], fontsize=7, padding=2)
ax.set(
    yscale="log",
    ylabel="seconds (logarithmic)",
    xticks=range(len(sets)),
    xticklabels=sets,
    ylim=(0.02, 2000),
)
ax.legend(ncols=2, loc="upper left", fontsize=9)
plt.show()

# %%
# With ``device="auto"``, the default, a GPU is used if there is one and the CPU is expected to take
# longer than starting it, about 5 seconds:

from semisvm import SupervisedSVC  # noqa: E402

print(SupervisedSVC().device)
