"""Public docstrings follow numpydoc, by numpydoc's own validation.

Public are the names in `__all__` of the packages below and the methods that their classes define. `TO_DO` lists those
that do not follow it yet, and must not list any other: `python tests/test_docstrings.py` prints the list as of now.
"""

import importlib.util
import inspect
from dataclasses import fields, is_dataclass

import pytest
from numpydoc.docscrape import ClassDoc
from numpydoc.validate import ERROR_MSGS, validate

PACKAGES = ["semisvm", *(f"semisvm.{name}" for name in ("decision", "dual", "kernels", "model_selection", "report"))]
PACKAGES += [name for name in ("semisvm.datasets",) if importlib.util.find_spec(name)]

# What is asked of every docstring: it exists, begins with a sentence, has its sections in order, and describes every
# parameter (in order, with its type) and what comes back.
CHECKS = {"GL07", "GL08", "SS03", "PR01", "PR02", "PR03", "PR04", "PR07", "RT01", "RT03", "YD01"}
# What is asked of classes that users make: an example, and what to look at beside it.
CHECKS_OF_CLASSES = {"SA01", "EX01"}
assert set(ERROR_MSGS) >= CHECKS | CHECKS_OF_CLASSES

TO_DO = {
    "semisvm.ClusterSVC",
    "semisvm.ClusterSVC.decision_function",
    "semisvm.ClusterSVC.fit",
    "semisvm.ClusterSVC.predict",
    "semisvm.LabelMeanSVC",
    "semisvm.LabelMeanSVC.decision_function",
    "semisvm.LabelMeanSVC.fit",
    "semisvm.LabelMeanSVC.predict",
    "semisvm.LaplacianSVC",
    "semisvm.LaplacianSVC.decision_function",
    "semisvm.LaplacianSVC.fit",
    "semisvm.LaplacianSVC.predict",
    "semisvm.MixtureClassifier",
    "semisvm.MixtureClassifier.fit",
    "semisvm.MixtureClassifier.predict",
    "semisvm.MixtureClassifier.predict_log_proba",
    "semisvm.MixtureClassifier.predict_proba",
    "semisvm.ProgressiveSVC",
    "semisvm.ProgressiveSVC.decision_function",
    "semisvm.ProgressiveSVC.fit",
    "semisvm.ProgressiveSVC.predict",
    "semisvm.SelfTrainingSVC",
    "semisvm.SelfTrainingSVC.decision_function",
    "semisvm.SelfTrainingSVC.fit",
    "semisvm.SelfTrainingSVC.predict",
    "semisvm.SupervisedSVC",
    "semisvm.SupervisedSVC.decision_function",
    "semisvm.SupervisedSVC.fit",
    "semisvm.SupervisedSVC.predict",
    "semisvm.TransductiveSVC",
    "semisvm.TransductiveSVC.decision_function",
    "semisvm.TransductiveSVC.fit",
    "semisvm.TransductiveSVC.predict",
    "semisvm.decision.Counts",
    "semisvm.decision.Counts.at",
    "semisvm.decision.Curve",
    "semisvm.decision.Estimate",
    "semisvm.decision.Guard",
    "semisvm.decision.OperatingPoint",
    "semisvm.decision.OperatingPoint.as_dict",
    "semisvm.decision.OperatingPoint.summary",
    "semisvm.decision.Target",
    "semisvm.decision.Target.objective",
    "semisvm.decision.Target.share_of_risk",
    "semisvm.decision.Target.shortfall",
    "semisvm.decision.accuracy",
    "semisvm.decision.best_of",
    "semisvm.decision.binomial_interval",
    "semisvm.decision.choose_for",
    "semisvm.decision.count_all",
    "semisvm.decision.count_at",
    "semisvm.decision.estimate_cost",
    "semisvm.decision.estimate_f",
    "semisvm.decision.expected_cost",
    "semisvm.decision.f_score",
    "semisvm.decision.guard",
    "semisvm.decision.labels_needed",
    "semisvm.decision.measure",
    "semisvm.decision.precision",
    "semisvm.decision.recall",
    "semisvm.decision.smoothed_cost",
    "semisvm.dual.DualProblem",
    "semisvm.dual.DualSolution",
    "semisvm.dual.Status",
    "semisvm.dual.run_together",
    "semisvm.dual.solve_many",
    "semisvm.kernels.Formula",
    "semisvm.kernels.Formula.as_pairwise",
    "semisvm.kernels.Formula.diagonal",
    "semisvm.kernels.Formula.finish",
    "semisvm.kernels.GivenRows",
    "semisvm.kernels.GivenRows.release",
    "semisvm.kernels.GivenRows.require",
    "semisvm.kernels.GivenRows.times",
    "semisvm.kernels.KernelRows",
    "semisvm.kernels.KernelRows.release",
    "semisvm.kernels.KernelRows.require",
    "semisvm.kernels.KernelRows.times",
    "semisvm.kernels.kernel_rows",
    "semisvm.kernels.make_formula",
    "semisvm.kernels.scores_of_new_rows",
    "semisvm.load",
    "semisvm.report.AuditDisplay.from_estimator",
    "semisvm.report.AuditDisplay.plot",
    "semisvm.report.OperatingPointDisplay",
    "semisvm.report.OperatingPointDisplay.from_scores",
    "semisvm.report.OperatingPointDisplay.plot",
    "semisvm.report.RoundsDisplay",
    "semisvm.report.RoundsDisplay.plot",
    "semisvm.report.ScoresDisplay",
    "semisvm.report.ScoresDisplay.from_estimator",
    "semisvm.report.ScoresDisplay.from_scores",
    "semisvm.report.ScoresDisplay.plot",
    "semisvm.report.write_report",
    "semisvm.save",
}


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
        if not name.startswith("_") and str(getattr(function, "__module__", "")).startswith("semisvm"):
            yield name


def errors_of(name):
    """The checks that a docstring fails, with numpydoc's messages."""
    try:
        found = validate(name)
    except IndentationError:
        return ["numpydoc can't read the source: break no line of a docstring by a backslash"]
    checks = CHECKS | (CHECKS_OF_CLASSES if is_estimator(name) else set())
    if describes_its_fields(name):
        checks -= {"PR01"}
    return [f"{code}: {message}" for code, message in found["errors"] if code in checks]


def is_estimator(name):
    """Whether it is a class of the top level, which users make."""
    package, _, last = name.rpartition(".")
    return package == "semisvm" and inspect.isclass(getattr(importlib.import_module(package), last))


def describes_its_fields(name):
    """Whether it is a record whose fields are described as attributes: users read it and do not make it."""
    package, _, last = name.rpartition(".")
    record = getattr(importlib.import_module(package), last, None) if package in PACKAGES else None
    if not is_dataclass(record):
        return False
    described = {part.strip() for entry in ClassDoc(record)["Attributes"] for part in entry.name.split(",")}
    return {field.name for field in fields(record)} <= described


OBJECTS = sorted(dict.fromkeys(public_objects()))


@pytest.mark.parametrize("name", [name for name in OBJECTS if name not in TO_DO])
def test_docstring(name):
    assert not errors_of(name)


def test_the_list_of_what_is_to_do_holds_nothing_that_is_done():
    done = {name for name in TO_DO if name not in OBJECTS or not errors_of(name)}
    assert not done, "take these off the list"


if __name__ == "__main__":
    print(*[f'    "{name}",' for name in OBJECTS if errors_of(name)], sep="\n")
