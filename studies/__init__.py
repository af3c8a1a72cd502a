"""Not in the wheel: the papers' tables (`papers`), benchmarks (`speed`), and what both run on (`harness`)."""
