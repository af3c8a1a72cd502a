"""A store for every solve of a block of code, for callers that can't pass `store=` yet.

    with remembering(store):
        estimator.fit(X, y)

`semisvm.dual.solve(..., store=store)` is the explicit way.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from semisvm.dual.problem import SolveStore

_ambient_store: ContextVar[SolveStore | None] = ContextVar("store of solves", default=None)


@contextmanager
def remembering(store: SolveStore) -> Iterator[None]:
    """Use a store for every solve inside the block."""
    token = _ambient_store.set(store)
    try:
        yield
    finally:
        _ambient_store.reset(token)


def ambient_store() -> SolveStore | None:
    """The store of the block that the caller is in, if any."""
    return _ambient_store.get()
