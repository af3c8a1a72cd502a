"""`semisvm demo`: the main job, start to end, on data that comes with scikit-learn.

Breast-cancer samples with nine labels in ten hidden, and a promise to keep: find at least 97 in 100 of the malignant
ones. The labels that were hidden then tell, as they never can in earnest, what the chosen threshold really gives.
"""

import click
import numpy as np

SHARE_LABELED = 0.1
MIN_RECALL = 0.97
SEED = 0


@click.command()
@click.option("--seed", default=SEED, show_default=True, help="Which tenth of the rows keeps its labels.")
def demo(seed: int) -> None:
    """Few labels, a recall to reach, and what comes of it: breast cancer, in seconds."""
    from rich.console import Console
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from semisvm import SemiSupervisedKFold, SupervisedSVC
    from semisvm.data import hide, load, split
    from semisvm.decision import choose
    from semisvm.model_selection import cross_fit_scores

    console = Console()
    table = load("wdbc")
    is_malignant = (table.y == 0).astype(int)
    rows = split(is_malignant, labeled=SHARE_LABELED, test=0, random_state=seed)
    y = hide(is_malignant, rows.labeled)
    console.print(
        f"[bold]Breast cancer (WDBC)[/bold]: {len(y)} rows, {len(rows.labeled)} labelled, "
        f"{len(rows.unlabeled)} not. Wanted: recall of at least {MIN_RECALL} for malignant."
    )

    model = make_pipeline(StandardScaler(), SupervisedSVC(C=1.0))
    folds = SemiSupervisedKFold(5, shuffle=True, random_state=seed)
    out_of_fold = cross_fit_scores(model, table.X, y, cv=folds)
    labeled = rows.labeled
    sign = np.where(is_malignant == 1, 1, -1)
    point = choose(out_of_fold[labeled], sign[labeled], min_recall=MIN_RECALL, level="cross-fitted")
    scores = model.fit(table.X, y).decision_function(table.X)

    console.print(f"\n[bold]What the {len(labeled)} labels say[/bold] (five-fold cross-fitting)")
    console.print(point.summary(), highlight=False)
    console.print(f"\n[bold]What the {len(rows.unlabeled)} hidden labels say[/bold] (never used above)")
    _print_truth(console, scores[rows.unlabeled], sign[rows.unlabeled], point.threshold)
    console.print(
        "\nRead: the interval, not the point. With so few malignant rows among the labels the recall that was "
        "asked for can be missed or overshot; more labels narrow it."
    )


def _print_truth(console, scores, sign, threshold) -> None:
    from rich.table import Table

    from semisvm.decision import count_at, f_score, precision, recall

    table = Table("", "precision", "recall", "F1")
    for name, at in (("supervised, threshold 0", 0.0), ("with the chosen threshold", threshold)):
        counts = count_at(scores, sign, at)
        measures = (precision(counts), recall(counts), f_score(counts, 1.0))
        table.add_row(name, *(f"{float(value):.3f}" for value in measures))
    console.print(table)
