"""Rows as matrices, beside scikit-learn's transformers."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, QuantileTransformer, StandardScaler

from semisvm.tables.views import Categories, Characters, Ranks, Table, Texts, looks_like_a_table


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "a": rng.normal(size=300),
            "b": np.where(rng.random(300) < 0.2, np.nan, rng.exponential(size=300)),
            "c": rng.choice(["x", "y", "z"], 300),
            "d": pd.Timestamp("2024-03-01") + pd.to_timedelta(rng.integers(0, 200, 300), unit="h"),
            "e": [" ".join(rng.choice(["one", "two", "three", "four"], 4)) for _ in range(300)],
        }
    )


def test_numbers_are_scaled_and_ranked_as_by_scikit_learn(frame):
    numbers = frame[["a", "b"]]
    found = Table().fit_views(numbers)
    scaled = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    expected = scaled.fit_transform(numbers)
    assert_allclose(found["standardized"], expected, atol=1e-12)
    filled = numbers.fillna(numbers.median()).to_numpy()
    ranks = QuantileTransformer(n_quantiles=300, output_distribution="normal", subsample=None)
    assert_allclose(found["quantile"][:, 0], ranks.fit_transform(filled)[:, 0], atol=1e-6)
    assert_allclose(found["quantile"][:, 2], expected[:, 2], atol=1e-12)


def test_ranks_of_repeated_numbers_are_in_the_middle_and_symmetric():
    x = np.repeat([[1.0], [2.0], [3.0]], [5, 10, 5], axis=0)
    ranks = Ranks(x)
    assert_allclose(ranks(np.array([[2.0]])), 0, atol=1e-12)
    assert_allclose(ranks(np.array([[0.0]])), -ranks(np.array([[9.0]])))


@pytest.mark.parametrize("n_values", [4, 150])
def test_categories_are_those_of_scikit_learn(n_values):
    rng = np.random.default_rng(0)
    values = np.array([f"v{k}" for k in rng.integers(0, n_values, 2000)], dtype=object)
    encoder = OneHotEncoder(max_categories=100, handle_unknown="infrequent_if_exist")
    expected = encoder.fit_transform(values[:, None]).toarray()
    categories = Categories(values)
    found = categories.one_hot(categories.places(values))
    assert sorted(found.sum(axis=0)) == sorted(expected.sum(axis=0))
    unknown = categories.one_hot(categories.places(np.array(["other"], dtype=object)))
    assert unknown.sum() == (n_values > 100)


def test_numbers_of_few_values_may_be_codes():
    codes = pd.DataFrame({"p": [1, 2, 3] * 10, "q": [0, 0, 1] * 10})
    assert Table().fit_views(codes)["quantile"].shape == (30, 5)
    assert Table().fit_views(codes.assign(r=np.arange(30) % 7))["quantile"].shape == (30, 3)


def test_new_rows_have_the_views_of_the_fit_one_by_one_and_together(frame):
    table = Table()
    fitted = table.fit_views(frame)
    assert list(fitted) == ["standardized", "quantile", "words of e", "characters of e"]
    again = table.views(table.read(frame))
    last = table.views(table.read(frame[frame.columns[::-1]][-1:]))
    for name, matrix in fitted.items():
        dense = [
            m.toarray() if hasattr(m, "toarray") else m for m in (matrix, again[name], last[name])
        ]
        assert_array_equal(dense[0], dense[1])
        assert_allclose(dense[2][0], dense[0][-1], atol=1e-12)


@pytest.mark.parametrize("text", ["abc ab", "Ünïcode  words!", "a", "", "我喜欢 这个"])
def test_groups_of_characters_are_those_of_char_wb(text):
    counts = Characters().count(np.array([text], dtype=object))
    try:
        expected = CountVectorizer(analyzer="char_wb", ngram_range=(3, 5)).fit_transform([text])
    except ValueError:  # none
        assert counts.nnz == 0
        return
    assert sorted(counts.data) == sorted(expected.data)


def test_places_of_characters_do_not_change():
    counts = Characters().count(np.array(["abc ab"], dtype=object))
    places = [1084881, 1344348, 1644487, 2128317, 2635416, 3345835, 3466836, 3770933]
    assert counts.indices.tolist() == places
    assert counts.data.tolist() == [1, 1, 1, 2, 1, 1, 1, 1]


def test_texts_of_one_word_each_and_without_words():
    assert Texts().fit_views(np.array(["a", "b", "!!!"], dtype=object))["words"].shape[0] == 3
    with pytest.raises(ValueError, match="No text holds a word"):
        Texts().fit_views(np.array(["", " "], dtype=object))


@pytest.mark.parametrize(
    ("load", "is_table"),
    [(load_digits, False), (load_wine, True), (load_iris, False), (load_breast_cancer, True)],
)
def test_which_arrays_look_like_tables(load, is_table):
    assert looks_like_a_table(load().data) == is_table
