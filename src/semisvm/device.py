"""Where a problem is solved: on the processor, or on a CUDA device by torch and Triton.

    "cpu"          compiled pairwise steps (`dual.pairwise`)
    "cuda"         blocks on the device (`dual.block`); "cuda:1" for another than the current one
    "auto"         "cuda" where torch, Triton and a device are there and the problem is large enough to gain by it
    "interpreter"  the device's solver by Triton's interpreter, on the processor: slow, for tests

torch takes a second or two to import, so nobody who has no device, or has small problems, waits for it.
"""

import ctypes
import importlib.util
import os
import re
from functools import cache
from typing import Any

WORTH_A_DEVICE = 5_000  # rows; below, a few milliseconds on the processor are over before a device is under way
_NAMES = re.compile(r"cpu|interpreter|cuda(:\d+)?")


def resolve(device: str, n_rows: int | None = None) -> str:
    """Return the device that `device` names, "auto" settled, or say in one sentence why it can't be used."""
    if device == "auto":
        is_large = n_rows is not None and n_rows >= WORTH_A_DEVICE
        return "cuda" if is_large and _driver_is_there() and _missing() is None and _n_devices() > 0 else "cpu"
    if not _NAMES.fullmatch(str(device)):
        raise ValueError(f"device must be 'cpu', 'cuda' or 'auto', got {device!r}.")
    if device != "cpu":
        _check_usable(device)
    return device


def on_host(values: Any) -> Any:
    """What lies in a device's memory (a torch tensor, a CuPy array) as a NumPy array; anything else as it is."""
    if hasattr(values, "detach") and hasattr(values, "cpu"):
        return values.detach().cpu().numpy()
    if hasattr(values, "__cuda_array_interface__"):
        return values.get()
    return values


def _check_usable(device: str) -> None:
    if (missing := _missing()) is not None:
        raise ValueError(
            f"device={device!r} needs {missing}, which is not installed: pip install 'semisvm[gpu]', or use "
            "device='cpu'."
        )
    interprets = os.environ.get("TRITON_INTERPRET") == "1"
    if device == "interpreter":
        if not interprets:
            raise ValueError("device='interpreter' needs TRITON_INTERPRET=1 in the environment before Python starts.")
        return
    if interprets:
        raise ValueError(f"device={device!r} is out of use while TRITON_INTERPRET=1 is set: unset it.")
    number = int(device.partition(":")[2] or 0)
    if number >= _n_devices():
        raise ValueError(
            f"device={device!r}: torch sees {_n_devices() or 'no'} CUDA device{'s' * (_n_devices() > 1)} here; use "
            "device='cpu' (or 'auto')."
        )


@cache
def _missing() -> str | None:
    return next((name for name in ("torch", "triton") if importlib.util.find_spec(name) is None), None)


@cache
def _driver_is_there() -> bool:
    """Whether the machine has NVIDIA's driver: a glance that spares most users the import of torch."""
    try:
        ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
    except OSError:
        return False
    return True


@cache
def _n_devices() -> int:
    import torch

    return torch.cuda.device_count() if torch.cuda.is_available() else 0
