"""AutoSVC beside the usual classifiers with few labels, on tables and texts: `python -m
studies.few_labels`.
"""
