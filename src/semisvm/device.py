"""Where a problem is solved: the processor, or a CUDA device once its solver is here."""

DEVICES = ("cpu",)


def resolve(device: str) -> str:
    """Return the device that `device` names, or say in one sentence why it can't be used."""
    if device == "auto":
        return "cpu"
    if device in DEVICES:
        return device
    if str(device).startswith("cuda"):
        raise ValueError(
            f"device={device!r}: this version of semisvm has no GPU solver yet; use device='cpu' (or 'auto')."
        )
    raise ValueError(f"device must be 'cpu', 'cuda' or 'auto', got {device!r}.")
