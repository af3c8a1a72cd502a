"""The dual form on a CUDA device, with torch and Triton; imported only where a device is used.

source     rows of K by matrix products on the device; scores of new rows
kernel     `DeviceKernel`: the whole matrix in the device's memory where it fits
blocks     the solver, which `DeviceKernel.solve` calls: blocks of variables, problems in batches
programs   what it launches
"""

from __future__ import annotations

from typing import Any

import torch

from semisvm.engine.formula import Formula
from semisvm.engine.gpu.kernel import DeviceKernel
from semisvm.engine.gpu.source import current_device, make_source, scores_on_device, torch_device

__all__ = ["DeviceKernel", "device_kernel", "scores_on_device"]


def device_kernel(
    X: Any, formula: Formula, device: str, *, cache_size: float | None, dtype: Any
) -> DeviceKernel:
    """The kernel of rows X on a device that `choose_device` has accepted."""
    place = torch_device(device)
    try:
        with current_device(place):
            return DeviceKernel(make_source(X, formula, dtype, place), place, cache_size)
    except torch.OutOfMemoryError as error:
        raise MemoryError(
            f"The data of {X.shape[0]} rows does not fit the memory of device {place}: free some of"
            " it, or use device='cpu'."
        ) from error
