"""Where a problem is solved: on the CPU, or on a CUDA device with torch and Triton.

"cpu"          working sets on all cores (`dual`)
"cuda"         blocks on the device (`gpu`); "cuda:1" for another device than the current one
"auto"         "cuda" for MANY_ROWS rows or more, if torch sees a device; else "cpu"
"interpreter"  the solver for devices in Triton's interpreter, on the CPU: slow, for tests
"""

from __future__ import annotations

import importlib.util
import os
import re
from typing import Any

MANY_ROWS = 20_000  # importing torch and starting a device take seconds
_NAMES = re.compile(r"cpu|interpreter|cuda(:\d+)?")


def choose_device(device: str, n_rows: int) -> str:
    """The name of the device to use, after checking that it can be used."""
    if device == "auto":
        return "cuda" if n_rows >= MANY_ROWS and not _missing_module() and _n_devices() else "cpu"
    if not _NAMES.fullmatch(str(device)):
        raise ValueError(f"device must be 'cpu', 'cuda' or 'auto', got {device!r}.")
    if device == "cpu":
        return device
    if missing := _missing_module():
        raise ValueError(
            f"device={device!r} needs {missing}, which is not installed: pip install"
            " 'semisvm[gpu]', or use device='cpu'."
        )
    is_interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    if is_interpreted != (device == "interpreter"):
        do = "unset TRITON_INTERPRET" if is_interpreted else "set TRITON_INTERPRET=1"
        raise ValueError(f"device={device!r} can't be used here: {do} before Python starts.")
    if not is_interpreted and int(device.partition(":")[2] or 0) >= _n_devices():
        raise ValueError(
            f"device={device!r}: torch sees {_n_devices() or 'no'} CUDA"
            f" device{'s' * (_n_devices() > 1)} here; use device='cpu' (or 'auto')."
        )
    return device


def on_host(values: Any) -> Any:
    """Values of a device (torch, CuPy) as a NumPy array, anything else as it is."""
    if hasattr(values, "detach") and hasattr(values, "cpu"):
        return values.detach().cpu().numpy()
    if hasattr(values, "__cuda_array_interface__"):
        return values.get()
    return values


def _missing_module() -> str | None:
    return next((m for m in ("torch", "triton") if importlib.util.find_spec(m) is None), None)


def _n_devices() -> int:
    import torch

    return torch.cuda.device_count() if torch.cuda.is_available() else 0
