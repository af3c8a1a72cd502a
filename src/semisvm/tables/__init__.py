"""Models for people with tables: raw rows in, labels out; saved as files that run no code when they are opened."""

from semisvm.tables.files import load, save
from semisvm.tables.model import Model
from semisvm.tables.read_whole import read_dataset, read_frame

__all__ = ["Model", "load", "read_dataset", "read_frame", "save"]
