"""The `estimator` decorator: a parameter is declared once and documented once.

A class lists its own parameters as annotated fields, and describes them in its docstring. Those of
its bases are inherited, in the signature of the constructor as in `help()`:

    @estimator
    class ProgressiveSVC(PrimalSVC):
        '''(the sections "Parameters", with max_resets, and "Attributes")'''

        max_resets: int = 5

It makes a standard dataclass, so editors and type checkers know the whole signature too. A class
may give an inherited parameter another default, or describe it in other words.
"""

import inspect
import re
from dataclasses import dataclass, field, fields
from typing import dataclass_transform

# A section of a docstring: its title, the underline, and what follows up to the next title.
_SECTION = r"(?ms)^{}\n-+\n(.*?)(?=^\S[^\n]*\n-{{3,}}$|\Z)"
_ENTRY = re.compile(r"(?m)^(?=\S)")  # an entry begins at the margin, and its text is indented


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def estimator(cls: type) -> type:
    """Give a class its constructor, and the documentation of what it inherits."""
    cls = dataclass(kw_only=True, eq=False, repr=False, match_args=False)(cls)
    if cls.__doc__ is not None:  # None: Python was started with -OO
        for section in ("Parameters", "Attributes"):
            cls.__doc__ = _with_inherited(section, cls)
    return cls


def _with_inherited(section: str, cls: type) -> str:
    """The docstring, its section followed by the entries that only the base class has."""
    own = inspect.cleandoc(cls.__doc__ or "")
    inherited = inspect.cleandoc(cls.__mro__[1].__doc__ or "")
    known = {name for names in _entries(own, section) for name in names}
    if section == "Parameters":  # a parameter that the class fixes, by a ClassVar, has no entry
        known |= {name for names in _entries(inherited, section) for name in names} - {
            parameter.name for parameter in fields(cls)
        }
    more = [text for names, text in _entries(inherited, section).items() if not known & {*names}]
    if not more:
        return own
    place = re.search(_SECTION.format(section), own)
    if place is None:  # a class without attributes of its own: they follow the parameters
        place = re.search(_SECTION.format("Parameters"), own)
        assert place is not None, f"{cls.__name__} documents no parameters"
        more = ["\n", f"{section}\n{'-' * len(section)}\n", *more]
    return f"{own[: place.end()].rstrip()}\n{''.join(more)}\n{own[place.end() :]}"


def _entries(docstring: str, section: str) -> dict[tuple[str, ...], str]:
    """The entries of a section, by the names that each describes."""
    found = re.search(_SECTION.format(section), docstring)
    entries = [] if found is None else [e for e in _ENTRY.split(found[1]) if e.strip()]
    return {tuple(entry.partition(" :")[0].split(", ")): entry.rstrip() + "\n" for entry in entries}
