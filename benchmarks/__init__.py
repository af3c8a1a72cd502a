"""Questions about speed and memory, each asked by one module and answered by measurement.

    python -m benchmarks.supervised     the supervised SVM beside LIBSVM and oneDAL
    python -m benchmarks.warm_start     one label flips: re-solve against refit
    python -m benchmarks.memory         60,000 rows inside 2,000 MiB of kernel cache
    python -m benchmarks.import_time    what `import semisvm` costs
    python -m benchmarks.table FILE     the table of any file of records

Run them from the repository's root.
"""
