"""Facts as a model stores them, made of scores drawn here: what the report's tests and pictures are fed with."""

import numpy as np

from semisvm.decision import Target, choose, measure

FEATURES = ("mean radius", "mean texture", "mean perimeter", "mean area", "worst concavity", "worst symmetry")


def draw_scores(n, positive_share, distance, seed):
    """Scores of rows of two classes, `distance` apart, and their signs."""
    random = np.random.default_rng(seed)
    sign = np.where(random.random(n) < positive_share, 1, -1)
    return random.normal(sign * distance / 2, 1.0), sign


def answer(seed=0, n_labeled=57, n_unlabeled=512, positive_share=0.37, distance=3.6, level="cross-fitted", **asked):
    """Operating point, audit and scores of one question, as they stand in the facts."""
    asked = asked or {"min_recall": 0.97}
    scores, sign = draw_scores(n_labeled, positive_share, distance, seed)
    plain, _ = draw_scores(n_labeled, positive_share, 0.85 * distance, seed)
    pool, _ = draw_scores(n_unlabeled, positive_share, distance, seed + 1)
    point = choose(scores, sign, level=level, **asked)
    steps = {
        "supervised": measure(plain, sign, 0.0, target=Target(**asked), level="empirical"),
        "supervised + threshold": choose(plain, sign, level="empirical", **asked),
        "with unlabeled": point,
    }
    audit = [
        {"step": step}
        | {name: found.as_dict()[name] for name in ("precision", "recall", "f_score", "threshold", "cost")}
        for step, found in steps.items()
    ]
    kept = {"labeled": scores.tolist(), "sign": sign.tolist(), "level": level}
    kept |= {"unlabeled": pool[:5000].tolist(), "n_unlabeled": n_unlabeled}
    return {"operating_point": point.as_dict(), "audit": audit, "scores": kept}


def rest(n_labeled=57, n_unlabeled=512):
    """Everything of the facts that is not an answer."""
    random = np.random.default_rng(7)
    rounds = [
        {
            "problem": "malignant",
            "round": k,
            "f_score": 0.88 + 0.07 * (1 - 0.6**k),
            "threshold": 0.3 - 0.04 * k,
            "n_positive": 150 + 12 * k,
            "n_changed": int(160 * 0.55**k),
            "end": "" if k < 7 else "no_change",
            "steps": 900 + 130 * k,
            "gap": 9.1e-4,
            "seconds": 0.05 * k,
        }
        for k in range(1, 8)
    ]
    suggest = [
        {
            "row": int(random.integers(569)),
            "score": 0.02 * k - 0.2,
            "label": "malignant" if k > 9 else "benign",
            "values": {name: float(random.normal(20, 5)) for name in FEATURES},
        }
        for k in range(20)
    ]
    return {
        "title": "Breast cancer: malignant or not",
        "created": "2026-11-15 09:30",
        "data": {
            "name": "wdbc.csv",
            "rows": n_labeled + n_unlabeled,
            "labeled": n_labeled,
            "unlabeled": n_unlabeled,
            "target": "diagnosis",
            "features": [{"name": name, "type": "number"} for name in FEATURES],
        },
        "classes": ["benign", "malignant"],
        "positive": "malignant",
        "method": {
            "name": "preference",
            "paper_name": "PSVM",
            "why": "A least recall was asked for.",
            "parameters": {"C": 1.0, "C_unlabeled": 0.1, "kernel": "rbf", "gamma": "scale", "min_recall": 0.97},
        },
        "costs": None,
        "rounds": rounds,
        "suggest": suggest,
        "comparison": None,
        "guard": None,
        "notes": [
            "The unlabeled rows did not help: the gain is the threshold's.",
            "21 positive labels are few: read the intervals, not the points.",
        ],
        "seconds": 3.21,
        "versions": {"semisvm": "0.1.0", "python": "3.11.7", "numpy": "2.3.1", "scikit-learn": "1.9.0"},
        "machine": {"system": "Linux", "cores": 2, "memory": "24 GB"},
    }


def comparison(sign=1):
    """Methods compared, as `semisvm compare` stores them; with sign -1 as it stores costs."""
    means = {"supervised": 0.91, "cluster": 0.88, "transductive": 0.94}
    methods = [
        {
            "name": name,
            "merit": {"value": sign * mean, "low": sign * mean - 0.04, "high": sign * mean + 0.04},
            "standard_error": 0.02,
            "difference": {"value": mean - 0.91, "low": mean - 0.95, "high": mean - 0.88},
            "reaches_target": name != "cluster",
            "seconds": 0.4,
            "complaints": [],
        }
        for name, mean in means.items()
    ]
    return {
        "measure": "balanced accuracy" if sign > 0 else "cost",
        "methods": methods,
        "left_out": {"laplacian": "knows no costs"},
        "chosen": "supervised",
        "verdict": "The labels can't tell whether the unlabeled rows help.",
        "was_stopped": False,
    }


def binary_facts(**how):
    """Two classes: one answer."""
    return rest() | answer(**how)


def multiclass_facts(classes=("setosa", "versicolor", "virginica")):
    """An answer a class."""
    answers = {
        name: answer(seed=k, positive_share=1 / 3, distance=2.5 + k, min_precision=0.9)
        for k, name in enumerate(classes)
    }
    parts = ("operating_point", "audit", "scores")
    facts = rest()
    rounds = [record | {"problem": f"{name} vs rest"} for name in classes for record in facts["rounds"]]
    return (
        facts
        | {"classes": list(classes), "positive": None, "title": "Irises", "rounds": rounds}
        | {part: {name: found[part] for name, found in answers.items()} for part in parts}
    )
