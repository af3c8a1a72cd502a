"""Where a problem is solved: on the CPU, or on a CUDA device with torch and Triton.

    "cpu"          compiled steps on all cores (`dual.host`)
    "cuda"         blocks on the device (`dual.block`); "cuda:1" for another device than the current
                   one
    "auto"         "cuda" if there is a device and the CPU is expected to take longer than starting
                   it, else "cpu"
    "interpreter"  the solver for devices in Triton's interpreter, on the CPU: slow, for tests

Importing torch and starting a device take several seconds, more than most problems take on the CPU.
So "auto" estimates the seconds of the CPU first, then asks NVIDIA's driver; torch is imported only
where a device will be used.
"""

import ctypes
import importlib.util
import os
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

# Seconds that a device takes to start: importing torch, and then CUDA's own start.
SECONDS_OF_IMPORT, SECONDS_OF_START = 3.5, 1.5
# What the CPU is expected to take: so many of all kernel values, each so many seconds plus so many
# per feature.
SHARE_OF_VALUES = 0.7
SECONDS_PER_VALUE = 2e-9
SECONDS_PER_PRODUCT = 2e-11
FEATURES_IF_UNKNOWN = 100
# A method with several rounds solves, in effect, this many problems from the beginning.
SOLVES_OF_A_SEQUENCE = 5
_DEVICE_NAMES = re.compile(r"cpu|interpreter|cuda(:\d+)?")


def resolve(
    device: str,
    n_rows: int | None = None,
    n_features: int | None = None,
    *,
    n_threads: int = 1,
    n_solves: int = 1,
    seconds: float | None = None,
) -> str:
    """Return the name of the device to use; for "auto" either "cuda" or "cpu". Raise an error if it
    can't be used.

    n_rows      data rows, for "auto"; None counts as few
    n_features  for "auto"; None counts as a hundred
    n_threads   threads that the CPU would use, for "auto"
    n_solves    how many problems will be solved, for "auto"
    seconds     what the CPU is expected to take, for "auto", where that does not follow from the
                size
    """
    if device == "auto":
        return _weigh(n_rows, n_features, n_threads, n_solves, seconds)[0]
    if not _DEVICE_NAMES.fullmatch(str(device)):
        raise ValueError(f"device must be 'cpu', 'cuda' or 'auto', got {device!r}.")
    if device != "cpu":
        _check_usable(device)
    return device


def explain_choice(
    n_rows: int | None, n_features: int | None, *, n_threads: int = 1, n_solves: int = 1
) -> str:
    """Say in a few words which device "auto" is, and why."""
    return "{}: {}".format(*_weigh(n_rows, n_features, n_threads, n_solves))


def _weigh(
    n_rows: int | None,
    n_features: int | None,
    n_threads: int,
    n_solves: int,
    seconds: float | None = None,
) -> tuple[str, str]:
    """The device that "auto" is, and why."""
    d = FEATURES_IF_UNKNOWN if n_features is None else n_features
    values = SHARE_OF_VALUES * float(n_rows or 0) ** 2 * n_solves
    if seconds is None:
        seconds = values * (SECONDS_PER_VALUE + SECONDS_PER_PRODUCT * d) / max(n_threads, 1)
    start = SECONDS_OF_START + (0.0 if "torch" in sys.modules else SECONDS_OF_IMPORT)
    expected = f"expected to take {'less than 0.1' if seconds < 0.1 else f'{seconds:.1f}'} s"
    if seconds < start:
        return "cpu", f"{expected}, starting a device would take {start:.1f} s"
    if (missing := _missing_module()) is not None:
        return "cpu", f"{expected}; {missing} is not installed, which a device needs"
    if _n_driver_devices() == 0:
        return "cpu", f"{expected}; there is no CUDA device"
    return "cuda", f"the CPU is {expected}, starting the device takes {start:.1f} s"


def explain_compilation(device: str) -> str | None:
    """Say that a device has to compile its programs first, which takes seconds; None where it has
    them already.

    Triton keeps the programs in a folder, so it is said once per machine and version.
    """
    if not device.startswith("cuda"):
        return None
    folder = Path(os.environ.get("TRITON_CACHE_DIR") or Path.home() / ".triton" / "cache")
    if folder.is_dir() and next(folder.glob("*/solve_blocks.json"), None) is not None:
        return None
    return (
        f"{device}: compiles its programs during the first fit, which takes seconds; they are kept"
        f" in {folder}"
    )


class TensorRows:
    """Rows in a device's memory, picked there; NumPy's functions get a copy on the host."""

    def __init__(self, tensor: Any):
        self.tensor = tensor

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.tensor.shape)

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(str(self.tensor.dtype).removeprefix("torch."))

    @property
    def place(self) -> str:
        """The name of the device, for `resolve`."""
        return str(self.tensor.device) if self.tensor.is_cuda else "interpreter"

    def __len__(self) -> int:
        return len(self.tensor)

    def __getitem__(self, index: Any) -> "TensorRows":
        parts = index if isinstance(index, tuple) else (index,)
        return TensorRows(self.tensor[tuple(self._index(part) for part in parts)])

    def _index(self, part: Any) -> Any:
        return part if isinstance(part, slice) else self.like(part)

    def like(self, values: Any) -> Any:
        """Copy an array of the host to the device of these rows."""
        import torch

        return torch.tensor(np.asarray(values), device=self.tensor.device)

    def astype(self, dtype: Any) -> "TensorRows":
        import torch

        return TensorRows(self.tensor.to(getattr(torch, np.dtype(dtype).name)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.tensor.cpu().numpy().astype(dtype or self.dtype, copy=bool(copy))


def on_host(values: Any) -> Any:
    """Return values of a device (torch, CuPy) as a NumPy array, anything else as it is."""
    if isinstance(values, TensorRows):
        return np.asarray(values)
    if hasattr(values, "detach") and hasattr(values, "cpu"):
        return values.detach().cpu().numpy()
    if hasattr(values, "__cuda_array_interface__"):
        return values.get()
    return values


def on_device_of(X: Any, device: str) -> Any:
    """Return rows in the memory of a CUDA device as `TensorRows`, in float32 or float64; anything
    else, and where `device` is the CPU, as `on_host` does.
    """
    is_tensor = hasattr(X, "detach") and hasattr(X, "is_cuda")
    if is_tensor:
        is_there = X.is_cuda or device == "interpreter"
    else:
        is_there = hasattr(X, "__cuda_array_interface__")
    if device == "cpu" or not is_there or _missing_module() is not None:
        return on_host(X)
    import torch

    tensor = X.detach() if is_tensor else torch.as_tensor(X, device="cuda")
    if tensor.layout is not torch.strided or tensor.is_complex():
        return on_host(X)
    is_float = tensor.dtype in (torch.float32, torch.float64)
    return TensorRows(tensor if is_float else tensor.double())


def _check_usable(device: str) -> None:
    if (missing := _missing_module()) is not None:
        raise ValueError(
            f"device={device!r} needs {missing}, which is not installed: pip install"
            " 'semisvm[gpu]', or use device='cpu'."
        )
    uses_interpreter = os.environ.get("TRITON_INTERPRET") == "1"
    if device == "interpreter":
        if not uses_interpreter:
            raise ValueError(
                "device='interpreter' needs TRITON_INTERPRET=1 in the environment before Python"
                " starts."
            )
        return
    if uses_interpreter:
        raise ValueError(
            f"device={device!r} can't be used while TRITON_INTERPRET=1 is set: unset it."
        )
    number = int(device.partition(":")[2] or 0)
    if number >= _n_devices():
        raise ValueError(
            f"device={device!r}: torch sees {_n_devices() or 'no'} CUDA"
            f" device{'s' * (_n_devices() > 1)} here; use device='cpu' (or 'auto')."
        )


@cache
def _missing_module() -> str | None:
    return next(
        (name for name in ("torch", "triton") if importlib.util.find_spec(name) is None), None
    )


@cache
def _n_driver_devices() -> int:
    """How many devices NVIDIA's driver has for this process; asked directly, without torch."""
    try:
        driver = ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int(0)
    is_there = driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0
    return count.value if is_there else 0


@cache
def _n_devices() -> int:
    import torch

    return torch.cuda.device_count() if torch.cuda.is_available() else 0
