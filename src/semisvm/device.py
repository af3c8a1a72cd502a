"""Where a problem is solved: on the CPU, or on a CUDA device with torch and Triton.

    "cpu"          compiled pairwise steps (`dual.pairwise`)
    "cuda"         blocks on the device (`dual.block`); "cuda:1" for another device than the current one
    "auto"         "cuda" if torch, Triton and a device are available and the problem is large enough, else "cpu"
    "interpreter"  the solver for devices in Triton's interpreter, on the CPU: slow, for tests

Importing torch takes a second or two, so it is not imported on a machine without a device or for a small problem.
"""

import ctypes
import importlib.util
import os
import re
from functools import cache
from typing import Any

DEVICE_PAYS_FROM_ROWS = 5_000  # smaller problems take a few milliseconds on the CPU, less than starting a device
_DEVICE_NAMES = re.compile(r"cpu|interpreter|cuda(:\d+)?")


def resolve(device: str, n_rows: int | None = None) -> str:
    """Return the name of the device to use, or raise an error that says why it can't be used.

    Parameters
    ----------
    device : str
        "cpu", "cuda", "cuda:1", ..., "auto", or "interpreter".
    n_rows : int, default=None
        Number of data rows, for "auto"; None counts as few.

    Returns
    -------
    str
        `device` itself; for "auto" either "cuda" or "cpu".

    Raises
    ------
    ValueError
        If the name is unknown, torch or Triton is not installed, or there is no such device.

    Examples
    --------
    >>> from semisvm.device import resolve
    >>> resolve("auto", n_rows=100)
    'cpu'
    """
    if device == "auto":
        is_large = n_rows is not None and n_rows >= DEVICE_PAYS_FROM_ROWS
        return "cuda" if is_large and _has_driver() and _missing_module() is None and _n_devices() > 0 else "cpu"
    if not _DEVICE_NAMES.fullmatch(str(device)):
        raise ValueError(f"device must be 'cpu', 'cuda' or 'auto', got {device!r}.")
    if device != "cpu":
        _check_usable(device)
    return device


def on_host(values: Any) -> Any:
    """Return values from a device's memory (a torch tensor, a CuPy array) as a NumPy array, anything else as it is.

    Parameters
    ----------
    values : object
        Anything.

    Returns
    -------
    object
        An ndarray for a tensor or a CuPy array, else `values`.
    """
    if hasattr(values, "detach") and hasattr(values, "cpu"):
        return values.detach().cpu().numpy()
    if hasattr(values, "__cuda_array_interface__"):
        return values.get()
    return values


def _check_usable(device: str) -> None:
    if (missing := _missing_module()) is not None:
        raise ValueError(
            f"device={device!r} needs {missing}, which is not installed: pip install 'semisvm[gpu]', or use "
            "device='cpu'."
        )
    uses_interpreter = os.environ.get("TRITON_INTERPRET") == "1"
    if device == "interpreter":
        if not uses_interpreter:
            raise ValueError("device='interpreter' needs TRITON_INTERPRET=1 in the environment before Python starts.")
        return
    if uses_interpreter:
        raise ValueError(f"device={device!r} can't be used while TRITON_INTERPRET=1 is set: unset it.")
    number = int(device.partition(":")[2] or 0)
    if number >= _n_devices():
        raise ValueError(
            f"device={device!r}: torch sees {_n_devices() or 'no'} CUDA device{'s' * (_n_devices() > 1)} here; use "
            "device='cpu' (or 'auto')."
        )


@cache
def _missing_module() -> str | None:
    return next((name for name in ("torch", "triton") if importlib.util.find_spec(name) is None), None)


@cache
def _has_driver() -> bool:
    """Whether the machine has NVIDIA's driver; checking this first avoids importing torch on most machines."""
    try:
        ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
    except OSError:
        return False
    return True


@cache
def _n_devices() -> int:
    import torch

    return torch.cuda.device_count() if torch.cuda.is_available() else 0
