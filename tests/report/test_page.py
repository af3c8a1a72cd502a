"""The page as text: what it says, what it says about missing parts, and that no text of the data
becomes markup.
"""

import hashlib
import re
from dataclasses import fields, is_dataclass, replace

import pytest

from report_html import HOSTILE, read_html, without_scripts
from report_summaries import (
    EMPTY,
    answer,
    answers,
    binary_summary,
    make_comparison,
    multiclass_summary,
)
from semisvm.decision import OperatingPoint, Target, choose
from semisvm.decision.audit import WITH_UNLABELED
from semisvm.report import SCRIPTS, _asset, render_page, write_page
from semisvm.tables.sentences import verdict
from semisvm.tables.summary import FitSummary


def words(page):
    tree = read_html(page)
    for hidden in ("script", "style"):
        for element in tree.iter(hidden):
            element.text = ""
    return " ".join(" ".join(tree.itertext()).split())


def test_the_target_and_whether_it_is_reached_come_first():
    told = words(render_page(binary_summary()))
    headline = "Reached on the labeled rows, not proven: recall at least 0.97."
    assert (
        told.index(headline)
        < told.index("The numbers ")
        < told.index("90% interval")
        < told.index("What to do Next")
        < told.index("Where the gain comes from")
        < told.index("Model card Model")
        < told.index("Notes The unlabeled rows did not help")
    )
    page = render_page(binary_summary())
    assert page.count('class="verdict') == 1  # one box
    assert "–" not in told
    assert "90% interval 0.861 to 1.000" in told
    assert "cross-fitted" in told


@pytest.mark.parametrize(
    ("how", "headline"),
    [
        ({"min_recall": 0.5}, "Reached: recall at least 0.5."),
        ({"min_recall": 0.97}, "Reached on the labeled rows, not proven: recall at least 0.97."),
        (
            {"min_precision": 0.99, "min_recall": 0.99},
            "Not reached: precision at least 0.99, recall at least 0.99.",
        ),
        ({"beta": 2.0}, "The threshold was chosen for: best F2."),
        ({"level": "certified", "min_recall": 0.5}, "Certified: recall at least 0.5."),
        ({"level": "certified", "min_recall": 0.97}, "Not certified: recall at least 0.97."),
    ],
)
def test_the_headline_says_what_was_found_and_no_more(how, headline):
    assert verdict(answer(**how)[0]).headline == headline


def test_a_target_whose_interval_goes_below_it_is_not_called_reached_without_saying_so():
    point = answer(min_recall=0.97)[0]
    assert point.reached
    assert point.recall.low < 0.97
    assert (
        f"interval of recall starts at {point.recall.low:.3f}, below 0.97"
        in verdict(point).sentence
    )
    assert (
        "takes at least 76, all of them right" in verdict(point).sentence
    )  # 0.97^76 < 0.1 < 0.97^75
    assert "semisvm certify start" in verdict(point).advice
    assert "not a random sample, so they prove nothing" in verdict(point).advice


def test_how_thin_the_evidence_is_stands_in_the_sentence():
    point = choose(
        [3.0, 2.0, 1.0, 0.0], [1, 1, -1, -1], Target(min_precision=0.95), level="cross-fitted"
    )
    assert point.status == "unproven"
    assert point.reason
    assert point.reason in verdict(point).sentence


def test_every_part_of_the_summary_is_shown():
    told = words(
        render_page(replace(binary_summary(), guard={"choice": "label mean", "own_cost": 0.125}))
    )
    for part in (
        "wdbc.csv, 569 rows: 57 labeled, 512 unlabeled",
        "The unlabeled rows did not help: the gain comes from the threshold.",
        "Supervised + threshold",
        "worst concavity",
        "label mean",
        "own cost",
        "PSVM",
        "A minimum recall was asked for.",
        "3.2 seconds",
        "scikit-learn",
    ):
        assert part in told, part


def test_audit_rows_hold_the_figures_of_the_summary():
    summary = binary_summary()
    told = words(render_page(summary))
    for point in summary.audits["malignant"].values():
        for value, low, high in (point.precision, point.recall, point.f_score):
            assert f"{value:.3f} {low:.3f} to {high:.3f}" in told


def test_where_costs_were_asked_the_audit_is_of_costs():
    summary = binary_summary(costs=(10.0, 1.0))
    told = words(render_page(summary))
    costs = [point.cost for point in summary.audits["malignant"].values()]
    assert "Cost per row" in told
    for value, low, high in costs:
        assert f"{value:.3f} {low:.3f} to {high:.3f}" in told


@pytest.mark.parametrize("sign", [1, -1])
def test_methods_compared_are_shown_with_costs_the_right_way_round(sign):
    told = words(render_page(replace(binary_summary(), comparison=make_comparison(sign))))
    assert "transductive 0.940 0.900 to 0.980 +0.030 −0.010 to +0.060" in told
    assert "cluster 0.880 0.840 to 0.920" in told
    assert "target not reached" in told
    assert "laplacian was left out: takes no costs." in told
    assert "Methods compared" not in words(render_page(binary_summary()))


def test_unlabeled_rows_that_change_nothing_are_said_to():
    summary = binary_summary()
    supervised, threshold, _ = summary.audits["malignant"].items()
    idle = dict([supervised, threshold, (WITH_UNLABELED, threshold[1])])
    assert "The unlabeled rows were not needed." in words(
        render_page(replace(summary, audits={"malignant": idle}))
    )
    assert "The unlabeled rows were not needed." not in words(render_page(summary))


def test_each_of_many_classes_has_its_own_answer():
    told = words(render_page(multiclass_summary()))
    for name in ("setosa", "versicolor", "virginica"):
        assert f"Class {name}" in told


def test_a_class_may_have_the_name_of_a_part_of_the_summary():
    names = ("labeled", "level", "threshold")
    told = words(render_page(multiclass_summary(names)))
    assert all(f"Class {name}" in told for name in names)


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ("audits", "No audit was stored"),
        ("scores", "No scores of labeled rows were stored"),
        ("operating_points", "Nothing was measured."),
        ("data", "No features were stored"),
    ],
)
def test_a_missing_part_is_said_to_be_missing(part, told):
    summary = replace(binary_summary(), **{part: getattr(EMPTY, part)})
    assert told in words(render_page(summary))
    assert told not in words(render_page(binary_summary()))


def test_an_empty_summary_makes_a_page_that_says_so():
    told = words(render_page(EMPTY))
    assert "Nothing was measured." in told
    assert "No audit was stored" in told


def test_scores_of_one_class_are_said_to_judge_nothing():
    summary = binary_summary()
    sample = replace(summary.scores["malignant"], sign=(1,) * 57)
    assert "all of one class" in words(render_page(replace(summary, scores={"malignant": sample})))


def test_scores_that_are_not_finite_are_left_out():
    summary = binary_summary()
    sample = summary.scores["malignant"]
    sample = replace(
        sample,
        labeled=(float("nan"), *sample.labeled[1:]),
        unlabeled=(float("inf"), *sample.unlabeled),
    )
    assert "Measured on 56 labeled rows" in words(
        render_page(replace(summary, scores={"malignant": sample}))
    )


def poison(value):
    """The same summary with every text hostile, except those of operating points, which are not
    free texts.
    """
    if isinstance(value, OperatingPoint):
        return replace(value, reason=HOSTILE)
    if isinstance(value, str):
        return value if value == "cross-fitted" else HOSTILE + value
    if is_dataclass(value):
        return replace(
            value, **{one.name: poison(getattr(value, one.name)) for one in fields(value)}
        )
    if isinstance(value, dict):
        return {poison(name): poison(part) for name, part in value.items()}
    return tuple(map(poison, value)) if type(value) is tuple else value


@pytest.mark.parametrize(
    "summary", [binary_summary(), multiclass_summary()], ids=["binary", "multiclass"]
)
def test_no_text_of_the_data_becomes_markup(summary):
    summary = poison(replace(summary, comparison=make_comparison(), guard={"a": "b"}))
    page = without_scripts(render_page(summary))
    tree = read_html(page)
    assert len(list(tree.iter("script"))) == 1 + len(SCRIPTS)
    assert not list(tree.iter("img"))
    assert HOSTILE in "".join(tree.itertext())
    assert "49" not in re.findall(r"<title>(.*?)</title>", page)[0]


def test_the_policy_forbids_the_network_and_allows_these_scripts_alone():
    policy = next(
        element.get("content")
        for element in read_html(render_page(binary_summary())).iter("meta")
        if element.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none';")
    assert policy.count("'sha256-") == len(SCRIPTS)
    scripts = policy.split("script-src")[1].split(";")[0]
    assert "unsafe" not in scripts
    assert "http" not in policy


def test_the_page_names_no_address_to_fetch_from():
    page = without_scripts(render_page(binary_summary()))
    assert not re.search(r"""(src|href)\s*=\s*["']?(?!#)\w""", page)
    assert "@import" not in page
    assert "url(" not in page


@pytest.mark.parametrize("name", ["plot.umd.min.js", "d3.min.js"])
def test_the_chart_library_is_the_published_one_with_its_license(name):
    licenses = _asset("LICENSES.txt")
    digest = hashlib.sha256((_asset(name) + "\n").encode()).hexdigest()
    assert re.search(rf"^{re.escape(name)} .*\n  sha256 {digest}$", licenses, re.MULTILINE)
    assert "Permission to use, copy, modify" in words(render_page(EMPTY))


def test_a_report_is_written_whole_and_never_over_another_without_force(tmp_path):
    path = tmp_path / "report.html"
    assert write_page(binary_summary(), path) == path
    first = path.read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="exists"):
        write_page(EMPTY, path)
    assert path.read_text(encoding="utf-8") == first
    write_page(EMPTY, path, force=True)
    assert path.read_text(encoding="utf-8") == render_page(EMPTY)
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_parameters_can_be_named_as_the_reader_knows_them(tmp_path):
    summary = replace(binary_summary(), notes=("Set `decimal` to ',' to read them as numbers.",))
    plain = write_page(summary, tmp_path / "plain.html").read_text(encoding="utf-8")
    said = write_page(
        summary,
        tmp_path / "command.html",
        reword=lambda sentence: sentence.replace("`decimal`", "--decimal"),
    ).read_text(encoding="utf-8")
    assert "Set `decimal` to" in plain
    assert "Set --decimal to" in said
    assert "`decimal`" not in said


def test_equal_summaries_make_equal_pages_also_after_a_trip_through_json():
    summary = replace(binary_summary(), comparison=make_comparison(-1))
    assert render_page(summary) == render_page(FitSummary.from_json(summary.to_json()))
    assert render_page(summary) == render_page(
        replace(binary_summary(), comparison=make_comparison(-1))
    )


def test_more_than_two_classes_are_answered_in_their_order():
    names = ("b", "a", "c")
    summary = replace(
        multiclass_summary(names), **answers({name: answer() for name in sorted(names)})
    )
    told = words(render_page(summary))
    assert told.index("Class b") < told.index("Class a") < told.index("Class c")
