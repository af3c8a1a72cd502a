"""Cells -> typed columns -> matrices, for `AutoSVC` and for the command alike.

cells     how people write numbers, dates and nothing; cells as values
kinds     what each column is
table     a table whose cells are values: decided and read once
views     matrices made from typed columns
encoder   `TableEncoder`: a table as one matrix
"""
