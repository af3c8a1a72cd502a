"""How much memory may be used.

Memory for kernel rows is limited by the user in megabytes (`cache_size`, as in scikit-learn). The
default is half of what the machine, or the container it runs in, has free at that moment. It is
used as rows are made, not in advance.
"""

import os
from pathlib import Path

MEGABYTE = 1_000_000
SHARE_OF_FREE_MEMORY = 0.5
FREE_BYTES_IF_UNKNOWN = 2_000 * MEGABYTE


def budget_bytes(cache_size: float | None) -> int:
    """Bytes that kernel rows may occupy: the user's megabytes, or by default a share of the free
    memory.
    """
    if cache_size is None:
        return int(SHARE_OF_FREE_MEMORY * free_bytes())
    if not 0 < cache_size < float("inf"):
        raise ValueError(
            f"cache_size must be a positive number of megabytes or None, got {cache_size!r}."
        )
    return int(cache_size * MEGABYTE)


def free_bytes() -> int:
    """Memory that can be taken without swapping: the machine's, or the control group's if that
    is less.
    """
    free = _machine_free_bytes()
    left = _control_group_bytes_left()
    return free if left is None else max(min(free, left), 0)


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


def _control_group_bytes_left() -> int | None:
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        used = Path("/sys/fs/cgroup/memory.current").read_text().strip()
    except OSError:
        return None
    return None if limit == "max" else int(limit) - int(used)
