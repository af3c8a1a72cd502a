"""The history of a fitted model in a form that tests read easily, and a callback that counts its rounds."""


def records_of(model) -> list[dict]:
    """One flat dictionary per round."""
    return [record.as_dict() for record in model.history_]


class RoundCounter:
    """A callback that counts rounds (or looks), and asks to stop after some."""

    def __init__(self, most, task="round"):
        self.most, self.task, self.n_rounds = most, task, 0

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, **values):
        pass

    def on_fit_task_end(self, estimator, context, **values):
        self.n_rounds += context.task_name == self.task
        return context.task_name == self.task and self.n_rounds >= self.most
