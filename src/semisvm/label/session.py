"""LabelSession: ask for labels, keep every answer, and say what is proved."""

from __future__ import annotations

import hashlib
import secrets
import zlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from semisvm.errors import DataError
from semisvm.evidence.job import pack, unpack
from semisvm.label.job import LabelingJob, LabelingStatus
from semisvm.label.pool import Pool, has_changed
from semisvm.label.procedures import make_procedure
from semisvm.label.rows_file import RowsFile
from semisvm.label.state import StateFile


class LabelSession:
    """One job of labeling. The page, the notebook and the files are ways to answer it.

    Everything is in the state: the job, the seed, and one line per answer. A session that is opened
    again replays the answers, and comes to the same verdict and the same next rows.

    Attributes
    ----------
    pool : Pool
        The rows to label.
    job : LabelingJob
        What is wanted.
    answers : dict of {str: str or None}
        The label of each row that was asked; None is "don't know".

    Examples
    --------
    >>> session = LabelSession.open("loans.label")  # doctest: +SKIP
    >>> for row in session.ask(10):  # doctest: +SKIP
    ...     session.answer(row, "yes")
    >>> session.verdict().n_free  # doctest: +SKIP
    216
    """

    def __init__(self, pool: Pool, state: StateFile):
        self.pool, self._state = pool, state
        self.job = LabelingJob(**state.header["job"])
        self.answers: dict[str, str | None] = {}
        self._postponed: list[str] = []
        self.procedure = make_procedure(pool, self.job, state.header)
        for line in state.lines:
            self._learn(line)

    @classmethod
    def begin(
        cls,
        pool: Pool,
        job: LabelingJob,
        scores: np.ndarray,
        state: str | Path,
        *,
        probabilities: np.ndarray | None = None,
        order: list[int] | None = None,
        model: str | None = None,
        random_state: int | None = None,
    ) -> LabelSession:
        """Begin a session: fix the job and the scores, and write the first line of the state.

        Parameters
        ----------
        pool : Pool
            The rows to label.
        job : LabelingJob
            What is wanted.
        scores : array-like of shape (n_rows,)
            How likely each row of the pool is positive, or how sure its given label is.
        state : str or path
            The file to write.
        probabilities : array-like of shape (n_rows,), optional
            How probable each row is positive, to plan with; a wrong one costs labels only.
        order : list of int, optional
            Where nothing is promised: the rows in the order in which they are asked.
        model : str, optional
            The digest of the file of the model, if one gave the scores.
        random_state : int, optional
            Determines all draws; by default from the operating system. A promise does not hold if
            several were tried until one passed.
        """
        header = {
            "job": asdict(job),
            "seed": secrets.randbits(62) if random_state is None else random_state,
            "data": str(pool.path.resolve()),
            "pool": pool.digest,
            "n_rows": len(pool.ids),
            "scores": pack(scores),
            "probabilities": None if probabilities is None else pack(probabilities),
            "order": order,
            "model": model,
        }
        return cls._with(pool, StateFile.begin(state, header))

    @classmethod
    def open(cls, state: str | Path, data: str | Path | None = None) -> LabelSession:
        """Go on with a session; its file must hold the rows that it held at the start."""
        return cls._with(data, StateFile.open(state))

    @classmethod
    def _with(cls, pool: Pool | str | Path | None, log: StateFile) -> LabelSession:
        """The session of a log, which is closed if it is none."""
        try:
            header = log.header
            if not isinstance(pool, Pool):
                path = Path(pool or header["data"])
                if not path.exists():
                    raise DataError(
                        f"{path}: there is no such file. Name the data of {log.path}: --data FILE."
                    )
                pool = Pool(path, header["job"]["target"], header["job"]["unlabeled"])
            if pool.digest != header["pool"]:
                raise has_changed(pool.path, header["n_rows"], len(pool.ids))
            return cls(pool, log)
        except BaseException as error:
            log.close()
            if isinstance(error, LookupError | TypeError | zlib.error):
                raise DataError(
                    f"{log.path}: is no state of semisvm label, or is damaged."
                ) from None
            raise

    def close(self) -> None:
        """Let other programs have the state."""
        self._state.close()

    def __enter__(self) -> LabelSession:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def state(self) -> Path:
        """The file of the session."""
        return self._state.path

    def is_of_model(self, digest: str) -> bool:
        """Whether the session was begun with this model, or before models were kept."""
        return self._state.header.get("model", digest) == digest

    def has_scores_of(self, column: str) -> bool:
        """Whether the session was begun with the numbers of this column."""
        return np.array_equal(self.pool.numbers(column), unpack(self._state.header["scores"]))

    # ---- ask and answer ----

    def ask(self, n: int = 1) -> list[str]:
        """The rows to ask next; empty where more labels are not expected to help."""
        if self.job.budget is not None:
            n = min(n, self.job.budget - len(self.answers))
        if n <= 0:
            return []
        drawn = [self.pool.ids[k] for k in self.procedure.draw(n + len(self._postponed))]
        fresh = [name for name in drawn if name not in self._postponed]
        if drawn and not fresh:  # only rows are left that were put off
            self._postponed, fresh = [], drawn
        return fresh[:n]

    def postpone(self, name: str) -> None:
        """Ask this row later."""
        self._postponed.append(name)

    def answer(self, name: str, label: str | None) -> None:
        """Keep one answer; None is "don't know"."""
        self.answer_all({name: label})

    def answer_all(self, answers: dict[str, str | None]) -> None:
        """Keep answers: on disk first, then in the procedure."""
        self.pool.check()
        for name, label in answers.items():
            if name not in self.pool.place:
                raise DataError(f"{name!r} is no row of {self.pool.path}.")
            is_new = (
                self.job.given is not None and isinstance(label, str) and label.strip() == label
            )
            if label is not None and label not in self.classes and not (is_new and label):
                raise DataError(f"{label!r} is none of the classes {', '.join(self.classes)}.")
        lines = [{"id": name, "label": label} for name, label in answers.items()]
        self._state.append(lines)
        for line in lines:
            self._learn(line)

    def undo(self) -> str | None:
        """Take the last answer back; return its row."""
        if not self.answers:
            return None
        name = next(reversed(self.answers))
        self._state.append([{"id": name, "undo": True}])
        self._learn({"id": name, "undo": True})
        return name

    def _learn(self, line: dict[str, Any]) -> None:
        """Take a line of the log into account: all of them, in their order, are the session."""
        name, row = line["id"], self.pool.place[line["id"]]
        self.answers.pop(name, None)
        if line.get("undo"):
            self.procedure.take_back(row)
        else:
            self.answers[name] = line["label"]
            self.procedure.tell(row, line["label"])

    @property
    def classes(self) -> list[str]:
        """The labels that may be answered, and others that were: a machine may not know all."""
        more = {label for label in self.answers.values() if label is not None}
        return [*self.job.classes, *sorted(more - set(self.job.classes))]

    # ---- files of rows ----

    @property
    def tag(self) -> str:
        """What marks files of this session."""
        return hashlib.blake2b(str(self._state.header["seed"]).encode(), digest_size=2).hexdigest()

    @property
    def files(self) -> RowsFile:
        """Files of rows to label."""
        return RowsFile(
            self.pool,
            self.tag,
            self.state.name,
            self.classes,
            hidden=self.job.given,
            may_be_new=self.job.given is not None,
        )

    def write_rows(
        self, out: str | Path, n: int, show: tuple[str, ...] = (), *, force: bool = False
    ) -> int:
        """Write the next rows to a file with an empty column to fill in; return how many."""
        return self.files.write(out, self.ask(n), show, force=force)

    def read_answers(self, path: str | Path) -> tuple[int, int, list[str]]:
        """Read a file of rows back; return the new answers, the rows without one, and remarks."""
        answers, n_blank, remarks = self.files.read(path)
        for name, label in answers.items():
            if self.answers.get(name, label) != label:
                raise DataError(
                    f"{path}: row {self.tag}-{name}: was answered {self.answers[name]!r} before,"
                    f" and {label!r} here. Undo the first answer on the page, or correct this one."
                )
        new = {name: label for name, label in answers.items() if name not in self.answers}
        if new:
            self.answer_all(new)
        return len(new), n_blank, remarks

    # ---- what is known ----

    def verdict(self) -> LabelingStatus:
        """What is proved now, and what more labels are expected to bring."""
        job, n_rows = self.job, len(self.pool.ids)
        standing = self.procedure.standing()
        n_known = sum(label is not None for label in self.answers.values())
        return LabelingStatus(
            promise=job.promise,
            level=job.level,
            confidence=job.confidence,
            n_pool=n_rows,
            n_labels=len(self.answers),
            n_free=standing.n_free,
            n_left=n_rows - standing.n_free - n_known,
            next_labels=standing.next_labels,
            next_free=standing.next_free,
            budget=job.budget,
            stop=standing.stop,
        )
