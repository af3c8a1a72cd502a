"""Whatever the facts hold, and whatever they lack, the page is well-formed."""

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from report_html import HOSTILE, read_html
from semisvm.report import render
from semisvm.report.render import SCRIPTS

numbers = st.none() | st.floats() | st.integers(-(10**400), 10**400) | st.booleans()
texts = st.text(max_size=8) | st.sampled_from([HOSTILE, "\x00", "\ud800", "inf", "-inf", "certified", "cross-fitted"])
plain = st.recursive(
    numbers | texts,
    lambda part: st.lists(part, max_size=3) | st.dictionaries(texts, part, max_size=3),
    max_leaves=6,
)
estimates = plain | st.fixed_dictionaries({}, optional={"value": numbers, "low": numbers, "high": numbers})
points = plain | st.fixed_dictionaries(
    {},
    optional={
        "threshold": numbers | texts,
        "target": plain
        | st.fixed_dictionaries({}, optional={"min_recall": numbers, "min_precision": numbers, "beta": numbers}),
        "asked": texts,
        "level": texts,
        "confidence": numbers,
        "reached": numbers,
        "reason": texts,
        "share_accepted": numbers,
        "counts": plain | st.fixed_dictionaries(dict.fromkeys(("tp", "fp", "fn", "tn"), numbers)),
        "precision": estimates,
        "recall": estimates,
        "cost": estimates,
    },
)
audits = plain | st.lists(st.fixed_dictionaries({}, optional={"step": texts, "recall": estimates}), max_size=3)
scores = plain | st.fixed_dictionaries(
    {},
    optional={
        "labeled": st.lists(numbers, max_size=6),
        "sign": st.lists(st.sampled_from([1, -1, 0, None, 1.0, "1"]), max_size=6),
        "level": texts,
        "unlabeled": st.lists(numbers, max_size=6),
        "n_unlabeled": numbers,
    },
)
any_facts = st.fixed_dictionaries(
    {},
    optional={
        "title": texts,
        "created": plain,
        "data": plain | st.fixed_dictionaries({"rows": numbers, "features": st.lists(st.dictionaries(texts, texts))}),
        "classes": plain,
        "positive": plain,
        "method": plain | st.fixed_dictionaries({"parameters": plain}),
        "operating_point": points | st.dictionaries(texts, points, max_size=3),
        "audit": audits | st.dictionaries(texts, audits, max_size=3),
        "scores": scores | st.dictionaries(texts, scores, max_size=3),
        "costs": plain | st.fixed_dictionaries({"missed": numbers, "accepted": numbers}),
        "rounds": plain | st.lists(st.dictionaries(texts, plain, max_size=3), max_size=3),
        "suggest": plain | st.lists(st.fixed_dictionaries({"row": plain, "score": numbers, "values": plain})),
        "guard": plain,
        "comparison": plain
        | st.fixed_dictionaries(
            {
                "measure": st.just("cost") | texts,
                "methods": st.lists(st.dictionaries(texts, plain) | plain, max_size=3),
            },
            optional={"chosen": texts, "verdict": plain, "left_out": plain},
        ),
        "notes": plain,
        "seconds": plain,
        "versions": plain,
        "machine": plain,
    },
)


@given(any_facts)
@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
def test_any_facts_make_well_formed_html(facts):
    page = render(facts)
    page.encode("utf-8")
    tree = read_html(page)
    assert len(list(tree.iter("script"))) == 1 + len(SCRIPTS)
    json.loads(next(e.text for e in tree.iter("script") if e.get("type") == "application/json"))
