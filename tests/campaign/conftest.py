"""Campaigns that are run many times."""

import pytest

from semisvm.campaign import campaign


@pytest.fixture
def planned_once(monkeypatch):
    """Campaigns of one test about one pool: the plan, which takes most of their time, is made once.

    About new rows each has its own, since the seed says which rows are set aside.
    """
    make_plan = campaign.plan_campaign
    plans = {}

    def plan_once(scores, target, confidence, claim, seed, **options):
        if claim == "new rows":
            return make_plan(scores, target, confidence, claim, seed, **options)
        if target not in plans:
            plans[target] = make_plan(scores, target, confidence, claim, seed, **options)
        return plans[target]

    monkeypatch.setattr(campaign, "plan_campaign", plan_once)
