"""Studies, which are not part of the wheel: the papers' tables, benchmarks, and the harness that
runs both.
"""
