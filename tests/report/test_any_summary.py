"""Whatever a summary holds and whatever it lacks, the page is well-formed, also after a trip
through JSON.
"""

import json
import math

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from report_html import HOSTILE, read_html
from semisvm.decision import Counts, Estimate, Target
from semisvm.decision.operating_point import operating_point
from semisvm.report import SCRIPTS, render_page
from semisvm.tables.summary import (
    Comparison,
    DataSummary,
    ErrorCosts,
    FeatureSummary,
    FitSummary,
    MethodResult,
    MethodSummary,
    ScoreSample,
)

# What pages went wrong on before stands here, so that few examples find it again.
NASTY = [
    HOSTILE,
    "\x00",
    "\x0b",
    "\ud800",
    "\ufffe",
    "\U0001fffe",
    "\ufdd0",
    "inf",
    "supervised",
    "with unlabeled",
]
any_character = st.characters(exclude_categories=())  # half surrogate pairs too
texts = st.text(any_character, max_size=8) | st.sampled_from(NASTY)
counts = st.integers(0, 10**6)
floats = st.floats() | st.sampled_from([0.0, 1e308, -1e308, math.inf, -math.inf, math.nan])
plain = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers(-(10**400), 10**400) | texts,
    lambda part: st.lists(part, max_size=3) | st.dictionaries(texts, part, max_size=3),
    max_leaves=4,
)
details = st.dictionaries(texts, plain, max_size=3)
thresholds = st.floats(-5, 5) | st.sampled_from([math.inf, -math.inf, 1e308])
cells = st.integers(0, 40)
points = st.builds(
    operating_point,
    thresholds,
    st.builds(Counts, cells, cells, cells, cells),
    st.builds(
        Target,
        min_precision=st.none() | st.floats(0.01, 1),
        min_recall=st.none() | st.floats(0.01, 1),
        beta=st.sampled_from([0.5, 1.0, 2.0]),
        costs=st.none() | st.tuples(st.floats(0.1, 10), st.floats(0, 10)),
    ),
    level=st.sampled_from(["empirical", "cross-fitted", "certified"]),
    confidence=st.sampled_from([0.5, 0.9, 0.999]),
    reached=st.booleans(),
    reason=texts,
)
estimates = st.builds(Estimate, floats, floats, floats)
labeled_scores = st.lists(st.tuples(floats, st.sampled_from([1, -1])), max_size=8)


@st.composite
def samples(draw):
    labeled = draw(labeled_scores)
    unlabeled = tuple(draw(st.lists(floats, max_size=6)))
    return ScoreSample(
        tuple(score for score, _ in labeled),
        tuple(sign for _, sign in labeled),
        draw(st.sampled_from(["empirical", "cross-fitted", "certified"])),
        unlabeled,
        draw(st.integers(0, 1000)),
    )


def tuples_of(part):
    return st.lists(part, max_size=3).map(tuple)


@st.composite
def summaries(draw):
    classes = tuple(draw(st.lists(texts, min_size=2, max_size=3, unique=True)))
    names = st.sampled_from(classes if len(classes) > 2 else classes[1:])
    audits = st.dictionaries(texts, points, max_size=3)
    results = st.builds(
        MethodResult,
        name=texts,
        merit=estimates,
        difference=estimates,
        reaches_target=st.booleans(),
        seconds=st.floats(0, 1e6),
        complaints=tuples_of(texts),
    )
    return FitSummary(
        title=draw(texts),
        created=draw(texts),
        data=draw(
            st.builds(
                DataSummary,
                name=texts,
                rows=counts,
                labeled=counts,
                unlabeled=counts,
                target=texts,
                features=tuples_of(st.builds(FeatureSummary, texts, texts)),
            )
        ),
        classes=classes,
        positive=classes[1] if len(classes) == 2 else None,
        method=draw(st.builds(MethodSummary, texts, texts, texts, details)),
        operating_points=draw(st.dictionaries(names, points, max_size=3)),
        audits=draw(st.dictionaries(names, audits, max_size=3)),
        scores=draw(st.dictionaries(names, samples(), max_size=3)),
        costs=draw(st.none() | st.builds(ErrorCosts, st.floats(0, 1e9), st.floats(0, 1e9))),
        comparison=draw(
            st.none()
            | st.builds(
                Comparison,
                measure=st.just("cost") | texts,
                methods=tuples_of(results),
                left_out=st.dictionaries(texts, texts, max_size=2),
                chosen=texts,
                verdict=texts,
            )
        ),
        guard=draw(st.none() | details),
        notes=draw(tuples_of(texts)),
        seconds=draw(floats),
        versions=draw(st.dictionaries(texts, texts, max_size=2)),
        machine=draw(details),
    )


@given(summaries())
@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    deadline=None,
)
def test_any_summary_makes_well_formed_html(summary):
    page = render_page(summary)
    page.encode("utf-8")
    tree = read_html(page)
    assert len(list(tree.iter("script"))) == 1 + len(SCRIPTS)
    json.loads(next(e.text for e in tree.iter("script") if e.get("type") == "application/json"))


@given(summaries())
@settings(
    max_examples=20,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    deadline=None,
)
def test_any_summary_that_was_stored_makes_well_formed_html(summary):
    read_html(render_page(FitSummary.from_json(summary.to_json())))
