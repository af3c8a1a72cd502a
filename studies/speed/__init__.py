"""Benchmarks of time, memory and quality: one question per module; README.md lists them."""
