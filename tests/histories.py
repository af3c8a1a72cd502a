"""The history of a fitted model in a form that tests read easily, a callback that counts its
rounds, and Ctrl-C.
"""

from semisvm.dual import Status, solve


def records_of(model) -> list[dict]:
    """One flat dictionary per round."""
    return [record.as_dict() for record in model.history_]


class RoundCounter:
    """A callback that counts rounds (or looks), and asks to stop after some."""

    def __init__(self, most, task="round"):
        self.most = most
        self.task = task
        self.n_rounds = 0

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, **values):
        pass

    def on_fit_task_end(self, estimator, context, **values):
        self.n_rounds += context.task_name == self.task
        return context.task_name == self.task and self.n_rounds >= self.most


class InterruptedSolves:
    """Stands for `solve`: the call of this number, counted from 1, and those after it end as if
    by Ctrl-C.
    """

    def __init__(self, at_call):
        self.at_call = at_call
        self.n_calls = 0

    def __call__(self, *arguments, **options):
        self.n_calls += 1
        if self.n_calls < self.at_call:
            return solve(*arguments, **options)
        found = solve(*arguments, **(options | {"max_iter": 3}))
        return found.__class__(**(found.__dict__ | {"status": Status.INTERRUPTED}))
