"""The history of a fitted model in a form that tests read easily."""


def records_of(model) -> list[dict]:
    """One flat dictionary per round."""
    return [record.as_dict() for record in model.history_]
