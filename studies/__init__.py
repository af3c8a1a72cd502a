"""Studies measure the library: the papers' tables, accuracy, certificates and speed.

They are not part of the wheel; run them from the root of a checkout. README.md lists them.
"""
