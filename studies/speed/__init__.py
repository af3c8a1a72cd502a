"""Questions about speed and memory, each asked by one module and answered by measurement.

    python -m studies.speed.supervised     the supervised SVM beside LIBSVM and oneDAL
    python -m studies.speed.warm_start     one label flips: re-solve against refit
    python -m studies.speed.memory         60,000 rows inside 2,000 MiB of kernel cache
    python -m studies.speed.import_time    what `import semisvm` costs
    python -m studies.speed.table FILE     the table of any file of records

Run them from the repository's root.
"""
