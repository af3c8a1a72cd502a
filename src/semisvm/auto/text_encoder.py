"""Texts by meaning: vectors from an encoder of the user's, or from wordllama if it is installed.

    encoder    a function of a list of strings, an object with `encode` (sentence-transformers,
               model2vec) or `transform` (a fitted transformer of scikit-learn), or "wordllama"
    vectors    (n, d), scaled to length 1; an empty text has the vector 0

Nothing is ever downloaded. A text is encoded once per process (`cached`): cross-validation and
campaigns ask for the same texts again and again. A fitted model is saved without its encoder, but
with the vectors of two sentences, by which it knows the encoder again (`TextEncoder.bind`).
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from semisvm.matrices import is_sparse_matrix

PROBES = ("The battery lasts all day.", "I want my money back.")
SAME_VECTOR = 1e-3
TEXTS_AT_ONCE = 256
MOST_BYTES = 2**28  # of the vectors kept per encoder
MOST_DENSE = 4_096  # columns of a sparse matrix that are taken for a vector
TOKENS_PER_WORD = 1.3  # of English in sentence encoders
MOST_CUT = 0.1  # share of texts longer than the encoder reads, from which a warning is due

_cache_of: WeakKeyDictionary[Any, dict[bytes, np.ndarray]] = WeakKeyDictionary()


class TextEncoder:
    """What turns texts into rows of length 1.

    given     the user's encoder; None after the model was saved and loaded
    name, d   its class, and how many numbers a vector has
    probes    (2, d) the vectors of two sentences
    """

    def __init__(self, given: Any):
        self.given, self.name = given, _name_of(given)
        self._vectors: Callable[[list[str]], Any] | None = read_encoder(given)
        self.probes = self._checked(list(PROBES))
        self.d = self.probes.shape[1]

    def __call__(self, texts: np.ndarray) -> np.ndarray:
        """The vectors of texts, (n, d), of length 1 or 0."""
        if self._vectors is None:
            self.bind(self.given)
        keys = [_key(text) for text in texts]
        known = _known_of(self.given)
        new = {
            key: text for key, text in zip(keys, texts, strict=True) if text and key not in known
        }
        order = sorted(new, key=lambda key: len(new[key]))  # texts of similar length together
        found: dict[bytes, np.ndarray] = {_key(""): np.zeros(self.d, dtype=np.float32)}
        for start in range(0, len(order), TEXTS_AT_ONCE):
            part = order[start : start + TEXTS_AT_ONCE]
            found |= zip(part, self._checked([new[key] for key in part]), strict=True)
        rows = np.array([found[key] if key in found else known[key] for key in keys])
        known |= found
        for key in list(known)[: max(0, len(known) - MOST_BYTES // (4 * self.d))]:
            del known[key]  # the oldest ones
        return of_length_1(rows.reshape(len(keys), self.d))

    def _checked(self, texts: list[str]) -> np.ndarray:
        """The vectors of some texts as the encoder gives them."""
        assert self._vectors is not None
        vectors = self._vectors(texts)
        if is_sparse_matrix(vectors):
            if vectors.shape[1] > MOST_DENSE:
                raise ValueError(
                    f"text_encoder gives sparse vectors of {vectors.shape[1]:,} numbers: use them"
                    " as an array, or reduce them first (TruncatedSVD)."
                )
            vectors = vectors.toarray()
        vectors = np.asarray(vectors, dtype=np.float32)
        d = getattr(self, "d", None)
        if vectors.ndim != 2 or len(vectors) != len(texts) or d not in (None, vectors.shape[1]):
            wanted = f"({len(texts)}, {'d' if d is None else d})"
            raise ValueError(f"text_encoder must give an array {wanted}, not {vectors.shape}.")
        if not np.isfinite(vectors).all():
            raise ValueError("text_encoder gives numbers that are not finite.")
        return vectors

    def bind(self, given: Any) -> None:
        """Take an encoder for one that was not saved; ValueError if it is another one."""
        if given is None:
            raise ValueError(
                f"the model was saved without its text encoder ({self.name}, {self.d} numbers):"
                " model.set_params(text_encoder=...) gives it back."
            )
        self._vectors, self.given = read_encoder(given), given
        vectors = self._checked(list(PROBES))
        apart = np.abs(of_length_1(vectors) - of_length_1(self.probes)).max()
        if apart > SAME_VECTOR:
            self._vectors = self.given = None
            raise ValueError(
                f"text_encoder is not the one of the fit ({self.name}): its vectors differ by"
                f" {apart:.2g}."
            )

    def warn_of_cuts(self, texts: np.ndarray) -> None:
        """Warn if the encoder reads no more than the beginning of many texts."""
        most = getattr(self.given, "max_seq_length", None)
        if not isinstance(most, int):
            return
        n_cut = sum(len(text.split()) * TOKENS_PER_WORD > most for text in texts)
        if n_cut > MOST_CUT * len(texts):
            warnings.warn(
                f"text_encoder reads {most} tokens, and about {n_cut:,} of {len(texts):,} texts"
                " are longer: the rest of them is not seen.",
                UserWarning,
                stacklevel=4,
            )

    def __getstate__(self) -> dict[str, Any]:
        is_name = isinstance(self.given, str)
        return vars(self) | {"_vectors": None, "given": self.given if is_name else None}


def read_encoder(given: Any) -> Callable[[list[str]], Any]:
    """A function from a list of strings to vectors."""
    if isinstance(given, str) and given == "wordllama":
        return _wordllama()
    if hasattr(given, "encode") and not isinstance(given, str):
        return given.encode
    if hasattr(given, "transform"):
        return given.transform
    if callable(given):
        return given
    raise TypeError(
        "text_encoder must be None, a function of a list of strings, an object with `encode` or"
        f" `transform`, or 'wordllama'; got {given!r}. Models are not downloaded: load one first,"
        " as by sentence_transformers.SentenceTransformer(folder)."
    )


def _wordllama() -> Callable[[list[str]], Any]:
    """The vectors that the package brings: its `load` alone would ask a hub for the tokenizer."""
    try:
        import wordllama  # type: ignore[import-not-found]
    except ImportError:
        raise ImportError(
            "text_encoder='wordllama' needs the package wordllama. Run: pip install 'semisvm[text]'"
        ) from None
    folder = Path(wordllama.__file__).parent
    return wordllama.WordLlama.load(cache_dir=folder, disable_download=True).embed


def _name_of(given: Any) -> str:
    if isinstance(given, str):
        return given
    return getattr(given, "__name__", None) or type(given).__name__


def _known_of(given: Any) -> dict[bytes, np.ndarray]:
    """The vectors of an encoder that are kept; of one that can't be a key, those of one call."""
    try:
        return _cache_of.setdefault(given, {})
    except TypeError:
        return _words_known if isinstance(given, str) else {}


_words_known: dict[bytes, np.ndarray] = {}  # of "wordllama"


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def of_length_1(rows: np.ndarray) -> np.ndarray:
    """Rows scaled to length 1, float64; a row of zeros stays."""
    length = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    return np.divide(rows, length, out=np.zeros(rows.shape), where=length > 0)
