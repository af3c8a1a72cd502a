"""Tables: a file of rows, what its columns are, and a model of them.

frame      files of rows as they were written, in one piece or in chunks; guards
output     files that are written whole or not at all
columns    what each column is, decided at the fit
views      rows as matrices; matrix: all of a table as one
fitting    the steps of a fit: classes, method, threshold, what left-out labels say
model      TableModel: fit, save, load, predict, evaluate
summary    what a fit found, in one record
"""
