"""Files of campaigns and monitors, and certificates: one JSON each, written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from semisvm.errors import fault
from semisvm.evidence.answers import Answers
from semisvm.evidence.job import Job
from semisvm.evidence.order import digest
from semisvm.evidence.procedure import Procedure, Proved
from semisvm.evidence.verdict import Verdict
from semisvm.files import one_writer, whole_file

CAMPAIGN = "semisvm campaign"
MONITOR = "semisvm monitor"
CERTIFICATE = "semisvm certificate"
VERSION = 1


def heading(kind: str) -> dict[str, Any]:
    """Return how every file begins."""
    return {"kind": kind, "version": VERSION}


def save(path: str | Path, content: Mapping[str, Any], synced: str | None, force: bool) -> str:
    """Write content to a file, and return the digest of the file.

    `synced` is the digest of the file when it was last read or written: another file is replaced
    only by `force`.
    """
    path = Path(path)
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    with one_writer(path):
        is_ours = path.is_file() and synced is not None and _digest_of(path) == synced
        if path.is_file() and synced is not None and not is_ours and not force:
            reason = "another program has written it since it was read, so nothing was saved"
            raise fault(path, reason, "Save under another name, or load the file again")
        with whole_file(path, force=force or is_ours) as stream:
            stream.write(text)
        return _digest_of(path)


def load(path: str | Path, kind: str) -> tuple[dict[str, Any], str]:
    """Return the content of a file and its digest."""
    path = Path(path)
    try:
        raw = path.read_bytes()
        content = json.loads(raw)
    except OSError as error:
        reason = f"can't be read ({error.strerror or error})"
        raise fault(path, reason, "Check the path") from None
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or content.get("kind") != kind:
        raise fault(path, f"this is not the file of a {kind}", "Give the file that `save` wrote")
    if content.get("version") != VERSION:
        reason = f"it has version {content.get('version')!r}, and this semisvm reads {VERSION}"
        raise fault(path, reason, "Use the semisvm that wrote it")
    return content, hashlib.sha256(raw).hexdigest()


@contextmanager
def refusing_damaged(path: str | Path) -> Iterator[None]:
    """Name the file whose content is not what `save` wrote."""
    try:
        yield
    except (
        LookupError,
        TypeError,
        ArithmeticError,
        AttributeError,
        ValueError,
        zlib.error,
    ) as error:
        reason = f"it is damaged ({type(error).__name__}: {error})"
        raise fault(path, reason, "Give the file that `save` wrote") from None


def write_certificate(
    path: str | Path,
    job: Job,
    answers: Answers,
    parts: Sequence[tuple[Any, Procedure, Proved]],
    verdict: Verdict,
    force: bool,
) -> Path:
    """Write what another program needs to check a promise: `verify` reads it."""
    if not verdict.certified:
        raise ValueError(f"There is nothing to certify yet. {verdict}")
    if job.about in ("returned", "new rows") or parts[0][1].scan is None:
        raise ValueError(
            "Certificate files are for a precision of unseen rows, a total error, and a recall"
            " without a budget. Keep the campaign itself, by `save`."
        )
    content = {
        **heading(CERTIFICATE),
        "promise": verdict.promise(),
        "confidence": job.confidence,
        "n_rows": len(job.scores),
        "n_promises": len(job.levels),
        "scores_sha256": digest(job.scores),
        "random_state": str(job.random_state),
        "positive": 1 if job.classes is None else job.pos_label,
        "answers": [
            [row, label] if job.machine is None else [row, label, job.machine[row]]
            for row, label in answers.labels.items()
        ],
        "n_corrections": answers.n_corrections,
        "parts": [
            {
                "plan": part.scan.plan,
                "rows": part.scan.rows.tolist(),
                "unseen": part.rows[proved.rows].tolist(),
                "right_at_least": proved.n_right,
                "threshold": part.threshold,
            }
            for _, part, proved in parts
            if proved.is_certified and part.scan is not None
        ],
    }
    with whole_file(path, force=force) as stream:
        json.dump(content, stream, ensure_ascii=False)
    return Path(path)


def _digest_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
