"""Memory and processor time of this very process.

Peak memory is the kernel's high-water mark of resident memory, in MiB. On Linux the mark can be set
back to the present, so that what came before (reading and converting data) is not in it.
"""

import resource
import sys
from pathlib import Path


def reset_peak():
    """Set the high-water mark back to present use where the system can; tell whether it did."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def peak_mib():
    """Return the most memory this process has held, MiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10  # bytes there, KiB here


def present_mib():
    """Return the memory this process holds now, MiB; the peak where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return peak_mib()
    return pages * resource.getpagesize() / 2**20
