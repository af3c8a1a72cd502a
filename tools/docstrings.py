"""Write the entries that docstrings share into all of them, or check that they are current.

A parameter or attribute that means the same in several estimators is described once, in the class
that `SHARED` names. Entries of other classes with the same header (`name : type, default=...`) get
its text, so that editors and code browsers show what `help()` shows; `OWN` has exceptions.

    python tools/docstrings.py           # write
    python tools/docstrings.py --check   # list what is not current, and fail if there is anything
"""

import ast
import re
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "semisvm" / "estimators"
SHARED = {
    "SupervisedSVC": "loss kernel degree gamma coef0 class_weight multi_class unlabeled solver tol"
    " max_iter time_limit cache_size device verbose classes_ support_,n_support_,support_vectors_"
    " dual_coef_,intercept_,coef_ gap_ transduction_,labeled_iter_"
    " history_,n_iter_,termination_condition_ n_features_in_,feature_names_in_",
    "SelfTrainingSVC": "costs",
    "PreferenceSVC": "min_precision min_recall confidence calibration_size probability random_state"
    " threshold_ fair_sample_ operating_points_,operating_point_ audits_,audit_"
    " calibration_scores_,calibration_sign_",
    "BaseSVC.fit": "y sample_cost",
    "PreferenceSVC.fit": "sample_weight random_sample",
}
# Entries that mean something else: {class: names}.
OWN = {
    "AutoSVC": "costs class_weight device confidence random_state threshold_ fair_sample_"
    " operating_points_",
    "AutoSVC.fit": "sample_weight",
    "BaseSVC.fit": "sample_weight",
    "ClusterSVC": "kernel",
    "LabelMeanSVC": "costs",
    "MixtureClassifier": "costs",
    "MixtureClassifier.fit": "sample_weight",
    "PaperPreferenceSVC": "calibration_size",
    "PositiveUnlabeledSVC": "confidence",
    "PreferenceClassifier": "history_,n_iter_,termination_condition_",
    "PreferenceClassifier.fit": "sample_weight",
    "SupervisedSVC": "costs probability",
    "SVCCV": "costs time_limit probability",
    "SVCCV.fit": "sample_weight sample_cost",
    "UnlabeledKernel": "device",
}
ENTRY = re.compile(r" *(\w+_?(?:, \w+)*) : .")


def docstrings(tree: ast.Module):
    """The name of each class and method, with the first and the last line of its docstring."""
    for class_ in tree.body:
        if not isinstance(class_, ast.ClassDef):
            continue
        for node in [class_, *class_.body]:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
                name = class_.name if node is class_ else f"{class_.name}.{node.name}"
                constant = node.body[0].value
                yield name, constant.lineno - 1, constant.end_lineno


def entries(owner: str, lines: list[str]):
    """The first line, the end, the names and the header of each entry that `owner` may share."""
    for first, line in enumerate(lines):
        match = ENTRY.match(line)
        names = match[1].replace(" ", "") if match else ""
        if not names or names in OWN.get(owner, "").split():
            continue
        margin = line[: len(line) - len(line.lstrip())] + "    "
        end = first + 1
        while lines[end].startswith(margin):
            end += 1
        yield first, end, names, line.strip()


def shared_texts(paths: list[Path]) -> dict[tuple[bool, str], list[str]]:
    """The lines of each shared entry, by whether it is a method's, and by header."""
    texts = {}
    for path in paths:
        lines = path.read_text(encoding="utf-8").split("\n")
        for owner, start, last in docstrings(ast.parse("\n".join(lines))):
            for first, end, names, header in entries(owner, lines[start:last]):
                if names in SHARED.get(owner, "").split():
                    texts["." in owner, header] = lines[start + first : start + end]
    return texts


def main(check: bool) -> int:
    """Rewrite the files that are not current, or name them."""
    paths = sorted(SOURCE.rglob("*.py"))
    texts = shared_texts(paths)
    outdated = []
    for path in paths:
        before = path.read_text(encoding="utf-8")
        lines = before.split("\n")
        for owner, start, last in sorted(docstrings(ast.parse(before)), key=lambda one: -one[1]):
            for first, end, _, header in reversed([*entries(owner, lines[start:last])]):
                own = lines[start + first : start + end]
                lines[start + first : start + end] = texts.get(("." in owner, header), own)
        if (after := "\n".join(lines)) != before:
            outdated.append(path.relative_to(SOURCE.parents[2]))
            if not check:
                path.write_text(after, encoding="utf-8")
    for path in outdated:
        print(f"{path} is not current: make docstrings" if check else f"{path} written")
    return int(check and bool(outdated))


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
