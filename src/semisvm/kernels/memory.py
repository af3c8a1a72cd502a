"""How much memory the kernel rows may take.

The user says so in megabytes (`cache_size`, as in scikit-learn); without a word it is half of what the machine, or
the container it runs in, has free at that moment. Memory is taken as rows are made, not in advance.
"""

import os
from pathlib import Path

MEGABYTE = 1_000_000
FAIR_SHARE = 0.5
_UNKNOWN = 2_000 * MEGABYTE  # where the system does not tell


def budget_bytes(cache_size: float | None) -> int:
    """Bytes that kernel rows may occupy, from the user's megabytes or a fair share of what is free."""
    if cache_size is None:
        return int(FAIR_SHARE * free_bytes())
    if not 0 < cache_size < float("inf"):
        raise ValueError(f"cache_size must be a positive number of megabytes or None, got {cache_size!r}.")
    return int(cache_size * MEGABYTE)


def free_bytes() -> int:
    """Memory that can be taken without swapping: the machine's, or what the control group leaves, if less."""
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
        return _UNKNOWN


def _control_group_bytes_left() -> int | None:
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        used = Path("/sys/fs/cgroup/memory.current").read_text().strip()
    except OSError:
        return None
    return None if limit == "max" else int(limit) - int(used)
