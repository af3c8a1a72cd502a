"""Bad input is refused before any work, in one sentence that says what is wrong."""

import numpy as np
import pytest

from semisvm import decision
from semisvm.decision.counts import count_all, count_at

SCORES = [2.0, 1.0, -1.0]
SIGN = [1, 1, -1]

ROWS = [
    (([1.0, np.nan, 2.0], SIGN), "scores must be finite: 1 of 3 are NaN or infinite"),
    (([1.0, np.inf, -np.inf], SIGN), "scores must be finite: 2 of 3 are NaN or infinite"),
    ((SCORES, [1, -1]), "scores and sign differ in length"),
    (([[1.0, 2.0, 3.0]], SIGN), "scores must have one number per row"),
    (([], []), "scores is empty"),
    (
        (SCORES, [1, 0, -1]),
        r"sign must be \+1 or -1 on every row, found 0; leave unlabeled rows out",
    ),
    ((SCORES, [1, 2, -1]), r"sign must be \+1 or -1 on every row, found 2"),
    ((SCORES, [-1, -1, -1]), "no positive among the 3 rows"),
    ((SCORES, [1, 1, 1]), "no negative among the 3 rows"),
]

FUNCTIONS = {
    "choose": decision.choose,
    "choose a number of rows": lambda scores, sign: decision.choose(
        scores, sign, decision.Target(accept=1)
    ),
    "certify": lambda scores, sign: decision.certify(
        scores, sign, decision.Target(min_precision=0.8)
    ),
    "measure": decision.measure,
    "count_all": count_all,
    "count_at": lambda scores, sign: count_at(scores, sign, 0.0),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(("rows", "message"), ROWS)
def test_rows_that_cannot_be_measured(name, rows, message):
    with pytest.raises(ValueError, match=message):
        FUNCTIONS[name](*rows)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"min_precision": 0.0}, r"min_precision must lie in \(0, 1\], got 0.0"),
        ({"min_precision": 1.2}, r"min_precision must lie in \(0, 1\], got 1.2"),
        ({"min_recall": -0.1}, r"min_recall must lie in \(0, 1\], got -0.1"),
        ({"min_recall": np.nan}, r"min_recall must lie in \(0, 1\], got nan"),
        ({"min_precision": "0.9"}, r"min_precision must lie in \(0, 1\], got '0.9'"),
        ({"beta": 0.0}, "beta must be a positive number"),
        ({"beta": 1e200}, r"at most 1e\+100"),
        ({"costs": 3.0}, r"costs must be a pair \(missed positive, accepted negative\)"),
        ({"costs": (1.0, -1.0)}, "costs must be finite, not negative and not both 0"),
        ({"costs": (0.0, 0.0)}, "costs must be finite, not negative and not both 0"),
        ({"accept": 0}, "accept must be"),
        ({"accept": 1.5}, "accept must be"),
        ({"accept": True}, "accept must be a share"),
        ({"accept": 4}, "accept asks for 4 rows of 3"),
        ({"accept": 2, "min_precision": 0.5}, "accept already fixes the threshold"),
    ],
)
def test_questions_that_have_no_answer(asked, message):
    with pytest.raises(ValueError, match=message):
        decision.choose(SCORES, SIGN, decision.Target(**asked))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"level": "sure"},
            (
                "level must be one of empirical, cross-fitted, certified, certified by sampling;"
                " got 'sure'"
            ),
        ),
        ({"level": "certified"}, "use certify with held-out labels"),
        ({"confidence": 1.0}, "confidence must lie strictly between 0 and 1"),
        ({"reference": [1.0, np.nan]}, "reference must be finite"),
    ],
)
def test_ways_to_choose_that_there_are_not(options, message):
    with pytest.raises(ValueError, match=message):
        decision.choose(SCORES, SIGN, decision.Target(accept=1), **options)


@pytest.mark.parametrize("asked", [{}, {"accept": 1}, {"costs": (1, 1)}])
def test_only_a_precision_and_a_recall_are_certified(asked):
    with pytest.raises(ValueError, match="only min_precision and min_recall can be certified"):
        decision.certify(SCORES, SIGN, decision.Target(**asked))


def test_a_threshold_that_is_not_a_number():
    with pytest.raises(ValueError, match="threshold must be a number"):
        count_at(SCORES, SIGN, np.nan)


def test_a_given_threshold_is_not_certified():
    with pytest.raises(ValueError, match="measured, not certified"):
        decision.measure(SCORES, SIGN, level="certified")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: decision.binomial_interval(3, 2), "successes must lie between 0 and trials"),
        (
            lambda: decision.binomial_interval(1, 2, 0.0),
            "confidence must lie strictly between 0 and 1",
        ),
        (lambda: decision.binomial_interval(1, 2, side="left"), "side must be"),
        (
            lambda: decision.certify(SCORES, SIGN, decision.Target(0.8), n_thresholds=0),
            "n_thresholds must be",
        ),
    ],
)
def test_arithmetic_without_an_answer(call, message):
    with pytest.raises(ValueError, match=message):
        call()
