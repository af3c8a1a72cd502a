"""How much memory kernel rows may take.

`cache_size` is in megabytes, as in scikit-learn, and is kept. By default it is half of what the
machine, or the container it runs in, has free at that moment, divided among the workers of joblib.
Memory is taken as rows are made, not in advance.
"""

from __future__ import annotations

import os
from pathlib import Path

from semisvm.engine.parallel import n_workers

MEGABYTE = 1_000_000
SHARE_OF_FREE_MEMORY = 0.5
FREE_BYTES_IF_UNKNOWN = 2_000 * MEGABYTE


def budget_bytes(cache_size: float | None) -> int:
    """Bytes for kernel rows: the user's megabytes, or by default a share of the free memory."""
    if cache_size is None:
        return int(SHARE_OF_FREE_MEMORY * free_bytes() / n_workers())
    if not 0 < cache_size < float("inf"):
        raise ValueError(
            f"cache_size must be a positive number of megabytes or None, got {cache_size!r}."
        )
    return int(cache_size * MEGABYTE)


def free_bytes() -> int:
    """Memory that can be taken without swapping: the machine's, or the container's if less."""
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        used = int(Path("/sys/fs/cgroup/memory.current").read_text())
        left = float("inf") if limit == "max" else max(int(limit) - used, 0)
    except OSError:
        left = float("inf")
    return int(min(_machine_free_bytes(), left))


def _machine_free_bytes() -> int:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, OSError, ValueError):
        return FREE_BYTES_IF_UNKNOWN
