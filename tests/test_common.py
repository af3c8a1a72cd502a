"""Every estimator keeps scikit-learn's contract, with one exception that is ours by design."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from semisvm import LabelMeanSVC, PreferenceSVC, SupervisedSVC

MINUS_ONE_IS_UNLABELED = {
    "check_classifiers_classes": "trains on {-1, +1}, where -1 marks unlabeled rows: refused, never guessed"
}

ESTIMATORS = [LabelMeanSVC(), SupervisedSVC(), SupervisedSVC(kernel="linear", multi_class="ovr")]


ROWS_ARE_COUNTED = "the threshold counts rows and folds are dealt by rows, whatever their weights"
A_THRESHOLD_UNDOES_IT = "class weights move the scores, and the threshold that is chosen on them moves along"
PREFERENCE = MINUS_ONE_IS_UNLABELED | {
    "check_sample_weight_equivalence_on_dense_data": ROWS_ARE_COUNTED,
    "check_sample_weight_equivalence_on_sparse_data": ROWS_ARE_COUNTED,
    "check_class_weight_classifiers": A_THRESHOLD_UNDOES_IT,
}


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda estimator: MINUS_ONE_IS_UNLABELED)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@parametrize_with_checks([PreferenceSVC()], expected_failed_checks=lambda estimator: PREFERENCE)
def test_scikit_learn_contract_of_preferences(estimator, check):
    check(estimator)
