"""Labeling: one job, answered on a page, in a notebook or with files, until a promise is proved.

pool         the rows without a label, known by what they hold
job          what is wanted; LabelingStatus: what is known
procedures   which row is asked next, and what is proved
state        the log of answers on disk
session      LabelSession: asks, keeps answers, says what is proved
words        a verdict in sentences
rows_file    rows in a file, and answers back
page         what the page shows and does; server: in a browser; widget: in a notebook
finish       the whole table, labeled
watch        a promise on new rows
"""

from semisvm.label.job import LabelingJob, LabelingStatus
from semisvm.label.pool import Pool
from semisvm.label.session import LabelSession

__all__ = ["LabelSession", "LabelingJob", "LabelingStatus", "Pool"]
