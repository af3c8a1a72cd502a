"""The public sets of the study, `public.toml`: rows as they are given to a method, and classes.

Tables are DataFrames: levels of R's factors that are all numbers become numbers, other factors
become strings. Reading the files of R needs the package `rdata`.
"""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import tarfile
import tomllib
import warnings
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets

LIST = tomllib.loads(Path(__file__).with_name("public.toml").read_text(encoding="utf-8"))
TABLES: Mapping[str, Mapping[str, Any]] = LIST["tables"]
TEXTS: Mapping[str, Mapping[str, Any]] = LIST["texts"]
DOWNLOADS = Path("studies-out/packages")


@cache
def load_task(name: str) -> tuple[Any, np.ndarray]:
    """The rows of a set, a DataFrame or an array of strings, and its classes, 0 or 1."""
    if name in TABLES:
        return _load_table(name, **TABLES[name])
    return _load_texts(**TEXTS[name])


def _load_table(
    name: str,
    package: str = "",
    fetcher: str = "",
    table: str = "",
    target: str = "",
    classes: str = "",
    above: float | None = None,
    leave_out: tuple[str, ...] = (),
) -> tuple[pd.DataFrame, np.ndarray]:
    if fetcher:
        frame = getattr(datasets, fetcher)(as_frame=True).frame
        objects = {}
    else:
        objects = _read_r(package, name)
        frame = objects[table or name]
    values = pd.Series(objects[classes]) if classes else frame[target]
    X = frame.drop(columns=[*leave_out, *([target] if target else [])])
    X = pd.DataFrame({name: _plain_column(column) for name, column in X.items()})
    if above is not None:
        return X, (values.to_numpy() > above).astype(int)
    counts = values.value_counts()
    positive = counts.index[-1] if len(counts[counts > 0]) == 2 else counts.index[0]
    return X, (values == positive).to_numpy().astype(int)


def _plain_column(column: pd.Series) -> np.ndarray:
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return column.to_numpy(dtype=float, na_value=np.nan)
    levels = pd.to_numeric(column.cat.categories.to_series(), errors="coerce")
    if levels.notna().all():
        return column.map(levels).to_numpy(dtype=float, na_value=np.nan)
    return column.astype(object).where(column.notna(), None).to_numpy()


def _load_texts(
    package: str = "", fetcher: str = "", file: str = "", target: str = ""
) -> tuple[np.ndarray, np.ndarray]:
    if fetcher:
        news = getattr(datasets, fetcher)(subset="all", remove=("headers", "footers", "quotes"))
        classes = np.asarray(news.target) == news.target_names.index(target)
        texts = dict(zip(news.data, classes.tolist(), strict=True))
    elif package == "fortunes":
        texts = _read_fortunes(file)
    else:
        texts = _read_rated(package, file)
    texts = {text: is_positive for text, is_positive in texts.items() if text.strip()}
    return np.array(list(texts), dtype=object), np.array(list(texts.values())).astype(int)


def sayings() -> Iterator[tuple[str, str]]:
    """The sayings of Debian's `fortunes`, and the topic, the file that each is in."""
    for path, content in _members("fortunes"):
        folder, _, topic = path.rpartition("/")
        if folder.endswith("/games/fortunes") and "." not in topic:
            for text in content.decode("utf-8", "replace").split("\n%\n"):
                yield text.strip(), topic


def _read_fortunes(topic: str) -> dict[str, bool]:
    """Sayings, each once; one in several files is of the topic where one of these is."""
    texts: dict[str, bool] = {}
    for text, file in sayings():
        texts[text] = texts.get(text, False) or file == topic
    return texts


def _read_rated(package: str, file: str) -> dict[str, bool]:
    """Texts whose mean rating by people is above 0, and others."""
    inner = next(content for path, content in _members(package) if path.endswith("2014.tar.gz"))
    lines = next(content for path, content in _untar(inner) if path.endswith(f"/{file}"))
    rows = [line.split("\t", 2) for line in lines.decode("utf-8", "replace").splitlines()]
    return {text: float(rating) > 0 for _, rating, text in rows}


def _read_r(package: str, name: str) -> dict[str, Any]:
    import rdata

    ends = (f"/data/{name}.rda", f"/data/{name}.RData")
    content = next(content for path, content in _members(package) if path.endswith(ends))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # attributes that Python has no use for
        return rdata.conversion.convert(rdata.parser.parse_data(content))


def _members(package: str) -> Iterator[tuple[str, bytes]]:
    """The files of a package: their paths and contents."""
    path = fetch(**LIST["packages"][package])
    content = path.read_bytes()
    if path.suffix == ".deb":
        command = ["dpkg-deb", "--fsys-tarfile", str(path)]
        content = subprocess.run(command, check=True, capture_output=True).stdout
    return _untar(content)


def _untar(content: bytes) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for member in archive:
            if member.isfile():
                file = archive.extractfile(member)
                assert file is not None
                yield member.name, file.read()


def fetch(sha256: str, apt: str = "", pip: str = "") -> Path:
    """The file of a package, downloaded once; raises ValueError where it is another one."""
    DOWNLOADS.mkdir(parents=True, exist_ok=True)
    name = apt.partition("=")[0] or pip.partition("=")[0]
    for is_downloaded in (False, True):
        for path in DOWNLOADS.glob(f"{name}[-_]*"):
            if hashlib.sha256(path.read_bytes()).hexdigest() == sha256:
                return path
        if not is_downloaded:
            sources = ["--no-deps", "--no-binary", ":all:"]
            command = (
                ["apt-get", "download", apt]
                if apt
                else [sys.executable, "-m", "pip", "download", *sources, pip]
            )
            subprocess.run(command, cwd=DOWNLOADS, check=True, capture_output=True)
    raise ValueError(f"{apt or pip} was downloaded to {DOWNLOADS}, with another checksum.")
