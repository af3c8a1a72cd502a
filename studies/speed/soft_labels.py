"""Do unlabeled rows add anything beyond a well-chosen threshold, when the labels alone decide how
they are used?

The audit on the PSVM paper's four sets: F1 on test rows of the supervised SVM at threshold 0, the
same SVM with its cross-fitted threshold, and what was chosen. Each seed draws 20,000 rows of a set:
a tenth is for the test, 100, 400, 1,600 or a tenth are labeled (the smaller sets of labels are part
of the larger), the rest is unlabeled. C and gamma are the paper's, and for three sets there is a
second pair. Afterward every candidate is trained in full as well: "best" is the candidate with the
highest mean over the seeds, which no rule could know; this number is too good.

`--tuning` runs the same on small parts of the sets that the rule was tuned on. A run that was
stopped goes on where it stopped.
"""

from __future__ import annotations

import statistics
import sys
import time

import numpy as np

from semisvm.decision import choose, measure
from semisvm.dual import solve_many
from semisvm.estimators.class_shares import rank_rows
from semisvm.estimators.preference._cross import SUPERVISED_CANDIDATE, CrossFitted, draw_folds
from semisvm.estimators.preference._decision import POOL_SIZE
from semisvm.estimators.preference._learner import ALL_LABELS, Learner
from semisvm.kernels import kernel_rows, make_formula
from semisvm.machines import hinge_problem
from studies.harness.machine import describe_session
from studies.harness.records import Journal, cell_key, done_keys, read_records
from studies.harness.tables import markdown_table
from studies.speed.runs import make_parser
from studies.speed.soft_labels_tasks import REPORTED, TUNING

LABELS = ("100", "400", "1600", "10%")
TUNING_LABELS = ("20", "50", "100", "400")
ROWS, TUNING_ROWS, SEEDS = 20_000, 1_600, 10
TEST, TUNING_TEST = 0.1, 0.25
CACHE_MIB = 30_000  # a bound; memory is taken as rows are made


class KernelSVM(Learner):
    """A C-SVC on kernel rows that all trainings share; rows from n_train on are scored but never
    trained on.
    """

    def __init__(self, kernel, C, n_train):
        self.kernel = kernel
        self.C = C
        self.n_train = n_train
        self.n_iter = 0
        self.last = {}

    def train(self, sign, share, sequence):
        return self.train_many([(sign, share, sequence)])[0]

    def train_many(self, trainings):
        """Return the decision values of several trainings; on a device they are one batch."""
        problems = [self._problem(sign, share) for sign, share, _ in trainings]
        solutions = solve_many(problems, [self.last.get(sequence) for *_, sequence in trainings])
        for (*_, sequence), found in zip(trainings, solutions, strict=True):
            self.last[sequence] = found
            self.n_iter += found.n_iter
        return [found.decision_values[: self.n_train] for found in solutions]

    @property
    def model(self):
        """The last training on all labels."""
        return self.last[ALL_LABELS]

    def _problem(self, sign, share):
        out_of_use = np.zeros(self.kernel.n_rows - self.n_train)
        return hinge_problem(
            self.kernel, np.append(sign, out_of_use), self.C * np.append(share, out_of_use)
        )

    def test_values(self):
        """Return the decision values of the test rows from the last training on all labels."""
        return self.model.decision_values[self.n_train :]


def draw(X, sign, n_rows, test, seed):
    """Draw a seed's rows: X and signs with the training rows first and the test rows last, and
    how many train.
    """
    order = np.random.default_rng(seed).permutation(len(sign))[:n_rows]
    n_train = len(order) - round(test * len(order))
    return X[order], sign[order], n_train


def hide_all_but(sign, n_labeled):
    """Keep the labels of the first rows, which are in random order."""
    return np.where(np.arange(len(sign)) < n_labeled, sign, 0.0)


def audit(kernel, C, truth, n_train, n_labeled, seed):
    """Measure one cell on its test rows."""
    began = time.perf_counter()
    svm = KernelSVM(kernel, C, n_train)
    sign = hide_all_but(truth[:n_train], n_labeled)
    test = truth[n_train:]
    label_sign = sign[sign != 0]
    random = np.random.default_rng(seed)
    pool = np.flatnonzero(sign == 0)
    if len(pool) > POOL_SIZE:
        pool = np.sort(random.choice(pool, POOL_SIZE, replace=False))
    choice = CrossFitted(svm, sign, draw_folds(sign, seed=seed), seed=random)
    choice.pool = pool
    choice.run()
    seconds = time.perf_counter() - began
    steps = svm.n_iter
    chosen = f1_at(choose(choice.leader.scores, label_sign).threshold, svm.test_values(), test)
    svm.train(sign, np.abs(sign), ALL_LABELS)
    at_zero = f1_at(0.0, svm.test_values(), test)
    after_the_fact = {}
    for trial in choice.trials:
        values = choice.supervised[1]
        for _ in range(trial.candidate.n_rounds):
            ranked = rank_rows(values, choice.pool)
            values = svm.train(
                *choice.soft_training(trial.candidate, ranked, choice.sign, ALL_LABELS)
            )
        threshold = choose(trial.scores, label_sign).threshold
        after_the_fact[str(trial.candidate)] = f1_at(threshold, svm.test_values(), test)
    return {
        "supervised": at_zero,
        "threshold": after_the_fact[str(SUPERVISED_CANDIDATE)],
        "settled": chosen,
        "chosen": str(choice.chosen),
        "after_the_fact": after_the_fact,
        "candidates": [trial.details | {"n_iter": trial.n_iter} for trial in choice.trials],
        "n_positive_labels": int((label_sign > 0).sum()),
        "seconds": seconds,
        "steps": steps,
    }


def f1_at(threshold, values, truth):
    """Return F1 on rows whose class is known."""
    return measure(values, truth, threshold).f_score.value


def n_labels(labels, n_rows):
    """Return the number that a text like "400" or "10%" stands for."""
    return round(n_rows * float(labels[:-1]) / 100) if labels.endswith("%") else int(labels)


def run(settings, labels, seeds, n_rows, out, minutes, device):
    """Run the cells that have no record yet, seed by seed, until the time is up; return whether
    all are done.
    """
    end = time.monotonic() + 60 * minutes
    done = done_keys(out)
    with Journal(out, describe_session()) as journal:
        for seed in range(seeds):
            for name, setting in settings.items():
                tasks = [{"setting": name, "labels": count, "rows": n_rows} for count in labels]
                wanted = [task for task in tasks if cell_key(task, seed) not in done]
                if not wanted:
                    continue
                X, truth, n_train = draw(
                    *setting.load(), n_rows, TUNING_TEST if name in TUNING else TEST, seed
                )
                formula = make_formula("rbf", X, gamma=setting.gamma)
                kernel = kernel_rows(X, formula, cache_size=CACHE_MIB, device=device)
                for task in wanted:
                    if time.monotonic() > end:
                        return False
                    n_labeled = n_labels(task["labels"], len(truth))
                    if not is_possible(truth[:n_train], n_labeled):
                        continue
                    measures = audit(kernel, setting.C, truth, n_train, n_labeled, seed)
                    journal.append(
                        {"task": task, "seed": seed, "outcome": "done", "measures": measures}
                    )
                    print(
                        "{setting}, {labels} labels".format(**task),
                        f"seed {seed}: {measures['chosen']}",
                        flush=True,
                    )
    return True


def is_possible(truth, n_labeled):
    """Return whether most rows stay unlabeled and both classes have the two labels that folds
    need.
    """
    labels = truth[:n_labeled]
    return n_labeled <= 0.4 * len(truth) and min(np.sum(labels > 0), np.sum(labels < 0)) >= 2


def render(records, n_rows):
    """Return the audit as a table: means over the seeds, and what the choice gained over the
    threshold alone.
    """
    rows = []
    for (setting, labels), runs in sorted(
        by_cell(records, n_rows).items(), key=lambda item: _place(*item[0])
    ):
        means = [
            statistics.mean(run[name] for run in runs)
            for name in ("supervised", "threshold", "settled")
        ]
        best, value = _best_fixed(runs)
        kept = sum(run["chosen"] == str(SUPERVISED_CANDIDATE) for run in runs)
        shown = [f"{mean:.3f}" for mean in means]
        rows.append(
            [setting, best, labels, str(len(runs)), *shown, _gain(runs), f"{value:.3f}", str(kept)]
        )
    head = [
        "set",
        "best afterward",
        "labels",
        "seeds",
        "at 0",
        "+ threshold",
        "chosen",
        "gain ± s.e.",
        "best",
        "kept",
    ]
    return markdown_table(head, rows, n_text=2)


def render_tuning(records, n_rows):
    """Return the tuning sets in short: the mean gain for each number of labels, and the settings
    that lost.
    """
    cells = by_cell(records, n_rows)
    lines = []
    for labels in TUNING_LABELS:
        runs = [run for (_, count), some in cells.items() if count == labels for run in some]
        if runs:
            kept = sum(run["chosen"] == str(SUPERVISED_CANDIDATE) for run in runs)
            lines.append(
                f"{labels:>4} labels, {len(runs)} runs: gain {_gain(runs)}, supervised kept {kept}"
                " times"
            )
    by_setting = {}
    for (setting, _), runs in cells.items():
        by_setting.setdefault(setting, []).extend(run["settled"] - run["threshold"] for run in runs)
    means = sorted((statistics.mean(gains), setting) for setting, gains in by_setting.items())
    lost = sum(gain < -0.01 for gain, _ in means)
    lines.append(f"{lost} of {len(means)} settings lose more than 0.01 in the mean; the worst:")
    return "\n".join(lines + [f"  {gain:+.3f} {setting}" for gain, setting in means[:3]])


def by_cell(records, n_rows):
    """Return the measures of the runs with this many rows, by setting and number of labels."""
    cells = {}
    for record in records:
        task = record["task"]
        if task["rows"] == n_rows:
            cells.setdefault((task["setting"], task["labels"]), []).append(record["measures"])
    return cells


def _gain(runs):
    gains = [run["settled"] - run["threshold"] for run in runs]
    error = statistics.stdev(gains) / len(gains) ** 0.5 if len(gains) > 1 else float("nan")
    return f"{statistics.mean(gains):+.3f} ± {error:.3f}"


def _best_fixed(runs):
    """Return the candidate with the highest mean, and that mean."""
    names = set.intersection(*(set(run["after_the_fact"]) for run in runs))
    means = {name: statistics.mean(run["after_the_fact"][name] for run in runs) for name in names}
    best = max(sorted(means), key=means.get)
    return best, means[best]


def _place(setting, labels):
    return list(REPORTED).index(setting), LABELS.index(labels) if labels in LABELS else len(LABELS)


def main(argv=None):
    """Run what is missing and print the table; the exit status is 1 while cells are missing."""
    parser = make_parser("soft_labels", __doc__)
    add = parser.add_argument
    add("--tuning", action="store_true", help="the sets that the rule was tuned on")
    add("--settings", nargs="+", choices=[*REPORTED, *TUNING], metavar="SET")
    add("--labels", nargs="+", metavar="N")
    add("--seeds", type=int, default=SEEDS, metavar="N")
    add("--rows", type=int, metavar="N", help=f"rows drawn from a set, by default {ROWS:,}")
    add(
        "--minutes",
        type=float,
        default=float("inf"),
        metavar="M",
        help="start no cell after this time",
    )
    add("--device", default="auto", metavar="DEVICE", help="cpu, cuda, or auto")
    add("--table", action="store_true", help="only print the table of the records")
    options = parser.parse_args(argv)
    known = TUNING if options.tuning else REPORTED
    settings = {name: known[name] for name in options.settings or known}
    labels = options.labels or (TUNING_LABELS if options.tuning else LABELS)
    n_rows = options.rows or (TUNING_ROWS if options.tuning else ROWS)
    out = options.out.with_stem(options.out.stem + "_tuning") if options.tuning else options.out
    limits = options.minutes, options.device
    is_done = options.table or run(settings, labels, options.seeds, n_rows, out, *limits)
    print((render_tuning if options.tuning else render)(read_records(out), n_rows))
    return 0 if is_done else 1


if __name__ == "__main__":
    sys.exit(main())
