"""Texts by meaning: a small encoder that knows synonyms."""

import pickle
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline

from semisvm.auto import AutoSVC
from semisvm.auto.members import Centroids
from semisvm.auto.stacking import make_target
from semisvm.auto.text_encoder import TextEncoder

N_WORDS = 8_000  # of each topic: most words of a text are in no other text
WORDS = np.random.default_rng(9).choice(list("abcdefghijklmnopqrstuvwxyz"), (2, N_WORDS, 6))
WORDS = [["".join(letters) for letters in topic] for topic in WORDS]


class Encoder:
    """The mean of vectors of words, those of one topic near each other."""

    def __init__(self, d=16, seed=0):
        rng = np.random.default_rng(seed)
        topics = rng.normal(size=(2, d))
        self.vectors = {
            word: topics[k] + 2 * rng.normal(size=d) for k in (0, 1) for word in WORDS[k]
        }
        self.other = rng.normal(size=d)
        self.d, self.n_encoded = d, 0

    def encode(self, texts):
        self.n_encoded += len(texts)
        rows = [[self.vectors.get(word, self.other) for word in text.split()] for text in texts]
        return np.array([np.mean(row, axis=0) for row in rows])


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    texts = [" ".join(rng.choice(WORDS[k], 6)) for k in y]
    return np.array(texts, dtype=object), y, np.where(np.arange(400) < 20, y, -1)


def test_an_encoder_finds_what_words_do_not_tell_and_encodes_each_text_once(data):
    texts, y, hidden = data
    encoder = Encoder()
    model = AutoSVC(text_encoder=encoder).fit(texts[:300], hidden[:300])
    assert {"meaning", "meaning: logistic", "meaning: centroids"} < set(model.families_)
    known = roc_auc_score(y[300:], model.decision_function(texts[300:]))
    words = AutoSVC().fit(texts[:300], hidden[:300])
    assert known > roc_auc_score(y[300:], words.decision_function(texts[300:])) + 0.1
    assert encoder.n_encoded == 400 + 2  # and two sentences to know it by
    AutoSVC(text_encoder=encoder).fit(texts[:300], hidden[:300])
    assert encoder.n_encoded == 400 + 4


def test_text_columns_of_a_table_have_a_meaning_each(data):
    texts, y, hidden = data
    frame = pd.DataFrame({"note": texts, "size": np.random.default_rng(0).normal(size=400)})
    model = AutoSVC(text_encoder=Encoder()).fit(frame[:300], hidden[:300])
    assert "meaning of note: centroids" in model.families_
    assert roc_auc_score(y[300:], model.decision_function(frame[300:])) > 0.9


@pytest.mark.parametrize("kind", ["function", "transformer"])
def test_functions_and_fitted_transformers_are_encoders(data, kind):
    texts, _, hidden = data
    lsa = make_pipeline(TfidfVectorizer(token_pattern=r"\w"), TruncatedSVD(5)).fit(texts)
    encoder = Encoder().encode if kind == "function" else lsa
    model = AutoSVC(text_encoder=encoder).fit(texts[:100], hidden[:100])
    assert model.families_["meaning"] > 0
    assert clone(model).text_encoder is encoder


def test_texts_without_words_are_zeros_and_others_have_length_1():
    encoder = TextEncoder(Encoder())
    texts = np.array(["a b", "", "a b", "😀 我 " * 3000], dtype=object)
    vectors = encoder(texts)
    assert_allclose(np.linalg.norm(vectors, axis=1), [1, 0, 1, 1])
    assert_array_equal(vectors[0], vectors[2])
    assert encoder(texts[:0]).shape == (0, 16)


@pytest.mark.parametrize(
    ("encoder", "error", "message"),
    [
        (3, TypeError, "must be None, a function of a list of strings"),
        ("all-MiniLM-L6-v2", TypeError, "Models are not downloaded"),
        (lambda texts: np.ones(len(texts)), ValueError, r"must give an array \(2, d\), not \(2,\)"),
        (lambda texts: np.full((len(texts), 3), np.nan), ValueError, "not finite"),
        (
            lambda texts: sparse.csr_matrix((len(texts), 5000)),
            ValueError,
            "sparse vectors of 5,000",
        ),
        (
            lambda texts: np.ones((len(texts), len(texts))),
            ValueError,
            r"must give an array \(256, 2\)",
        ),
    ],
)
def test_what_is_no_encoder_is_refused(data, encoder, error, message):
    texts, _, hidden = data
    with pytest.raises(error, match=message):
        AutoSVC(text_encoder=encoder).fit(texts, hidden)


def test_a_saved_model_has_no_encoder_and_knows_its_own(data):
    texts, _, hidden = data
    model = AutoSVC(text_encoder=Encoder()).fit(texts[:100], hidden[:100])
    loaded = pickle.loads(pickle.dumps(model))
    assert loaded.text_encoder is None
    with pytest.raises(ValueError, match=r"saved without its text encoder \(Encoder, 16 numbers\)"):
        loaded.predict(texts)
    with pytest.raises(ValueError, match=r"is not the one of the fit \(Encoder\)"):
        loaded.set_params(text_encoder=Encoder(seed=1)).predict(texts)
    loaded.set_params(text_encoder=Encoder())
    assert_array_equal(loaded.decision_function(texts), model.decision_function(texts))
    unfitted = pickle.loads(pickle.dumps(AutoSVC(text_encoder=Encoder())))
    assert isinstance(unfitted.text_encoder, Encoder)  # for other processes


def test_long_texts_that_are_cut_are_said(data):
    texts, _, hidden = data
    encoder = Encoder()
    encoder.max_seq_length = 5
    with pytest.warns(UserWarning, match="reads 5 tokens, and about 400 of 400 texts"):
        AutoSVC(text_encoder=encoder).fit(texts, hidden)


def test_a_package_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "wordllama", None)
    with pytest.raises(ImportError, match=r"pip install 'semisvm\[text\]'"):
        TextEncoder("wordllama")


def test_centroids_learn_from_rows_without_labels():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((200, 20))
    y = (rows[:, 0] > 0).astype(int)
    rows[:, 0] *= 3
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    target = make_target(np.where(np.arange(200) < 12, y, -1), np.array([0, 1]), np.ones(200), None)
    model = Centroids().fit_all(rows, target, np.ones(12, dtype=bool))
    found = np.exp(model.log_probabilities(rows))[12:16, 1]
    assert_allclose(found, [0.999385, 0.013688, 0.970657, 0.999664], atol=1e-6)


def test_an_array_of_vectors_is_points():
    X, y = load_digits(return_X_y=True)
    vectors = np.tanh((X - 8) @ np.random.default_rng(0).normal(size=(64, 128)) / 32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    model = AutoSVC().fit(vectors[:600], np.where(np.arange(600) < 60, y[:600], -1))
    assert model.score(vectors[600:], y[600:]) > 0.8
