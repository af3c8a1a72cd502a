"""The dual form on the CPU: pairwise steps (`steps`) in working sets (`solver`)."""
