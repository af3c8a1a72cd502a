"""Public docstrings follow numpydoc, by numpydoc's own validation.

Public are the names in `__all__` of the packages below and the methods that their classes define.
"""

import importlib
import inspect
from dataclasses import fields, is_dataclass
from enum import Enum

import pytest
from numpydoc.docscrape import ClassDoc
from numpydoc.validate import ERROR_MSGS, validate

PACKAGES = [
    "semisvm",
    *(
        f"semisvm.{name}"
        for name in (
            "decision",
            "dual",
            "primal",
            "kernels",
            "model_selection",
            "report",
        )
    ),
]

# What is asked of every docstring: it exists, begins with a sentence, has its sections in order,
# and describes every parameter (in order, with its type) and what comes back.
CHECKS = {"GL07", "GL08", "SS03", "PR01", "PR02", "PR03", "PR04", "PR07", "RT01", "RT03", "YD01"}
# What is asked of classes that users make: an example, and what to look at beside it.
CHECKS_OF_CLASSES = {"SA01", "EX01"}
assert set(ERROR_MSGS) >= CHECKS | CHECKS_OF_CLASSES


def public_objects():
    """The full names of public classes, functions and methods."""
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in module.__all__:
            value = getattr(module, name)
            if not callable(value) or not (value.__module__ or "").startswith("semisvm"):
                continue
            yield f"{package}.{name}"
            if inspect.isclass(value):
                yield from (f"{package}.{name}.{method}" for method in methods_of(value))


def methods_of(cls):
    """Public methods that the library defines, inherited ones included, dataclass fields not."""
    for name, value in inspect.getmembers(cls, inspect.isroutine):
        function = inspect.unwrap(value)
        if not name.startswith("_") and str(getattr(function, "__module__", "")).startswith(
            "semisvm"
        ):
            yield name


def errors_of(name):
    """The checks that a docstring fails, with numpydoc's messages."""
    try:
        found = validate(defining_name(name))
    except IndentationError:
        return ["numpydoc can't read the source: break no line of a docstring by a backslash"]
    checks = CHECKS | (CHECKS_OF_CLASSES if is_estimator(name) else set())
    if is_not_made_by_users(name):
        checks -= {"PR01"}
    return [f"{code}: {message}" for code, message in found["errors"] if code in checks]


def value_of(name):
    """The public object of this name, or the one whose method it is: (object, method or "")."""
    package = max((package for package in PACKAGES if name.startswith(f"{package}.")), key=len)
    first, _, method = name.removeprefix(f"{package}.").partition(".")
    return getattr(importlib.import_module(package), first), method


def defining_name(name):
    """The name with the module that defines it; a method without a docstring has that of the class
    of ours which it overrides, as `help` shows it.
    """
    value, method = value_of(name)
    classes = value.__mro__ if method else ()
    owner = next(
        (
            cls
            for cls in classes
            if cls.__module__.startswith("semisvm")
            and getattr(vars(cls).get(method), "__doc__", "")
        ),
        value,
    )
    return ".".join(filter(None, [owner.__module__, owner.__qualname__, method]))


def is_estimator(name):
    """Whether it is a class of the top level, which users make."""
    return name.count(".") == 1 and inspect.isclass(value_of(name)[0])


def is_not_made_by_users(name):
    """Whether it is a protocol, an enumeration, or a record whose fields are described as
    attributes.
    """
    value, method = value_of(name)
    if method or not inspect.isclass(value):
        return False
    if issubclass(value, Enum) or getattr(value, "_is_protocol", False):
        return True
    described = {
        part.strip() for entry in ClassDoc(value)["Attributes"] for part in entry.name.split(",")
    }
    return is_dataclass(value) and {field.name for field in fields(value)} <= described


OBJECTS = sorted(dict.fromkeys(public_objects()))


@pytest.mark.parametrize("name", OBJECTS)
def test_docstring(name):
    assert not errors_of(name)
