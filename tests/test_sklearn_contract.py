"""Every estimator keeps scikit-learn's contract, with one exception that is ours by design."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from semisvm import SupervisedSVC

MINUS_ONE_IS_UNLABELED = {
    "check_classifiers_classes": "trains on {-1, +1}, where -1 marks unlabelled rows: refused, never guessed"
}

ESTIMATORS = [SupervisedSVC(), SupervisedSVC(kernel="linear", multi_class="ovr")]


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda estimator: MINUS_ONE_IS_UNLABELED)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
