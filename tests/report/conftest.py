"""The folder with a fitted model, which is made once for all tests."""

from helpers.command import fitted, place

__all__ = ["fitted", "place"]
