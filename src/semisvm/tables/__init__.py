"""Models for people with tables: raw rows in, labels out; saved as files that run no code when they are opened."""

from semisvm.tables.files import load, save
from semisvm.tables.model import Model

__all__ = ["Model", "load", "save"]
