"""Groups of characters, counted without a vocabulary, against scikit-learn's analyzer."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from semisvm.columns import characters
from semisvm.columns.characters import count_groups, fit_characters
from semisvm.columns.views import make_views_of


def some_texts(n=200):
    rng = np.random.default_rng(0)
    letters = list("abcdefgh\u00e9\u2603\u00df")
    words = ["".join(rng.choice(letters, rng.integers(1, 9))) for _ in range(500)]
    texts = [" ".join(rng.choice(words, rng.integers(1, 30))) for _ in range(n)]
    return np.array([*texts, "", " a ", "ab\tcd\n E", "\ud800 x"], dtype=object)


def test_groups_are_those_of_scikit_learn():
    texts = some_texts()
    theirs = CountVectorizer(analyzer="char_wb", ngram_range=(3, 5)).fit_transform(texts)
    ours = count_groups(texts)
    assert_array_equal(ours.sum(axis=1), theirs.sum(axis=1))
    # Groups that meet at one place are few: n^2 / 2^23 are expected.
    n = theirs.shape[1]
    assert n - 6 * n**2 / 2**23 <= len(np.unique(ours.indices)) <= n
    assert_allclose((ours @ ours.T).sum(), (theirs @ theirs.T).sum(), rtol=0.02)


def test_tfidf_is_that_of_scikit_learn_and_new_texts_are_placed_alike(monkeypatch):
    texts = some_texts()
    monkeypatch.setattr(characters, "TEXTS_AT_ONCE", 37)
    fitted, matrix = fit_characters(texts, 2, 0.5, 50_000)
    theirs = TfidfVectorizer(
        analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True, min_df=2, max_df=0.5
    ).fit_transform(texts)
    assert abs(matrix @ matrix.T - theirs @ theirs.T).max() < 0.05
    assert_array_equal(fitted.transform(texts[:50]).toarray(), matrix[:50].toarray())
    few, small = fit_characters(texts, 2, 0.5, 100)
    assert small.shape[1] == len(few.places) == 100
    with pytest.raises(ValueError, match="no group"):
        fit_characters(np.array(["", " "], dtype=object), 2, 0.5, 100)


def test_views_of_the_fit_are_those_that_are_made_again():
    texts = some_texts(60)
    views, ready = make_views_of(texts)
    again = views.of(texts)
    for name in ("words", "characters"):
        assert_allclose(ready[name].toarray(), again[name].toarray())
