"""The page as text: what it says, what it says of missing parts, and that nothing from the data can become markup."""

import hashlib
import json
import re

import pytest

from report_facts import answer, binary_facts, comparison, multiclass_facts
from report_html import HOSTILE, read_html, without_scripts
from semisvm.report import render, write_report
from semisvm.report.render import SCRIPTS, _asset
from semisvm.report.wording import verdict


def words(page):
    tree = read_html(page)
    for hidden in ("script", "style"):
        for element in tree.iter(hidden):
            element.text = ""
    return " ".join(" ".join(tree.itertext()).split())


def test_the_target_and_whether_it_is_reached_come_first():
    told = words(render(binary_facts()))
    headline = "Reached on the labeled rows, not proven: recall at least 0.97."
    assert told.index(headline) < told.index("What to do:") < told.index("Where the gain comes from")
    assert "90% interval 0.861 to 1.000" in told
    assert "cross-fitted" in told


@pytest.mark.parametrize(
    ("how", "headline"),
    [
        ({"min_recall": 0.5}, "Reached: recall at least 0.5."),
        ({"min_recall": 0.97}, "Reached on the labeled rows, not proven: recall at least 0.97."),
        ({"min_precision": 0.99, "min_recall": 0.99}, "Not reached: precision at least 0.99, recall at least 0.99."),
        ({"beta": 2.0}, "The threshold was chosen for this: best F2."),
        ({"level": "certified", "min_recall": 0.5}, "Certified: recall at least 0.5."),
        ({"level": "certified", "min_recall": 0.97}, "Not certified: recall at least 0.97."),
    ],
)
def test_the_headline_says_what_was_found_and_no_more(how, headline):
    assert verdict(answer(**how)["operating_point"])["headline"] == headline


def test_a_target_whose_interval_goes_below_it_is_not_called_reached_without_saying_so():
    point = answer(min_recall=0.97)["operating_point"]
    assert point["reached"]
    assert point["recall"]["low"] < 0.97
    assert "below the 0.97 that was asked" in verdict(point)["sentence"]
    assert "recall 0.97 takes 76 positive rows without one error" in verdict(point)["advice"]  # 0.97^76 < 0.1 < 0.97^75


def test_every_part_of_the_facts_is_shown():
    facts = binary_facts() | {"guard": {"choice": "label mean", "own_cost": 0.125}}
    told = words(render(facts))
    for part in (
        "wdbc.csv, 569 rows, 57 labeled, 512 not",
        "The unlabeled rows did not help: the gain is the threshold's.",
        "Supervised + threshold",
        "worst concavity",
        "label mean",
        "own cost",
        "PSVM",
        "A least recall was asked for.",
        "3.21 seconds",
        "scikit-learn",
        "n positive",
    ):
        assert part in told, part


def test_audit_rows_hold_the_figures_of_the_facts():
    facts = binary_facts()
    told = words(render(facts))
    for row in facts["audit"]:
        for measure in ("precision", "recall", "f_score"):
            estimate = row[measure]
            assert f"{estimate['value']:.3f} {estimate['low']:.3f} to {estimate['high']:.3f}" in told


def test_where_costs_were_asked_the_audit_is_of_costs():
    facts = binary_facts(costs=(10.0, 1.0))
    told = words(render(facts))
    costs = [row["cost"] for row in facts["audit"]]
    assert f"Cost a row: {costs[0]['value']:.3f}, then {costs[1]['value']:.3f}" in told
    for cost in costs:
        assert f"{cost['value']:.3f} {cost['low']:.3f} to {cost['high']:.3f}" in told


@pytest.mark.parametrize("sign", [1, -1])
def test_methods_compared_are_shown_with_costs_the_right_way_round(sign):
    told = words(render(binary_facts() | {"comparison": comparison(sign)}))
    assert "transductive 0.940 0.900 to 0.980 +0.030 −0.010 to +0.060" in told
    assert "cluster 0.880 0.840 to 0.920" in told
    assert "target not reached" in told
    assert "laplacian was left out: knows no costs." in told
    assert "Methods compared" not in words(render(binary_facts()))


def test_unlabeled_rows_that_change_nothing_are_said_to():
    facts = binary_facts()
    facts["audit"][2] = facts["audit"][1] | {"step": "with unlabeled"}
    assert "The last step changes nothing" in words(render(facts))
    assert "The last step changes nothing" not in words(render(binary_facts()))


def test_many_classes_have_an_answer_each():
    told = words(render(multiclass_facts()))
    for name in ("setosa", "versicolor", "virginica"):
        assert f"Class {name}" in told


def test_a_class_may_be_called_like_a_part_of_the_facts():
    names = ("labeled", "level", "threshold")
    told = words(render(multiclass_facts(names)))
    assert all(f"Class {name}" in told for name in names)


@pytest.mark.parametrize(
    "part", ["data", "operating_point", "audit", "scores", "rounds", "suggest", "method", "classes"]
)
def test_a_missing_part_is_said_to_be_missing(part):
    facts = binary_facts()
    del facts[part]
    assert render(facts) == render(facts | {part: None})
    told = words(render(facts))
    said = {
        "audit": "No audit was stored",
        "scores": "No scores of labeled rows were stored",
        "rounds": "This method has no rounds",
        "suggest": "No rows were picked for labeling",
        "operating_point": "No target was set.",
        "data": "No features were stored",
    }
    assert said.get(part, "Model card") in told


def test_no_facts_at_all_make_a_page_that_says_so():
    told = words(render({}))
    assert "No target was set." in told
    assert "No audit was stored" in told


def test_scores_of_one_class_are_said_to_judge_nothing():
    facts = binary_facts()
    facts["scores"]["sign"] = [1] * 57
    assert "all of one class" in words(render(facts))


def poison(value):
    """The same facts with every name and every text hostile, but for those that steer the page."""
    if isinstance(value, str):
        return value if value in ("cross-fitted", "inf", "-inf") else HOSTILE + value
    if isinstance(value, dict):
        return {name: poison(part) for name, part in value.items()}
    return [poison(part) for part in value] if isinstance(value, list) else value


@pytest.mark.parametrize("facts", [binary_facts(), multiclass_facts()])
def test_no_text_of_the_data_becomes_markup(facts):
    facts = poison(facts)
    facts["rounds"] = [{HOSTILE: HOSTILE, "x": k} for k in range(3)]
    facts["method"]["parameters"] = {HOSTILE: HOSTILE}
    page = without_scripts(render(facts))
    tree = read_html(page)
    assert len(list(tree.iter("script"))) == 1 + len(SCRIPTS)
    assert not list(tree.iter("img"))
    assert HOSTILE in "".join(tree.itertext())
    assert "49" not in re.findall(r"<title>(.*?)</title>", page)[0]


def test_the_policy_forbids_the_network_and_allows_these_scripts_alone():
    policy = next(
        element.get("content")
        for element in read_html(render(binary_facts())).iter("meta")
        if element.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none';")
    assert policy.count("'sha256-") == len(SCRIPTS)
    scripts = policy.split("script-src")[1].split(";")[0]
    assert "unsafe" not in scripts
    assert "http" not in policy


def test_the_page_names_no_address_to_fetch_from():
    page = without_scripts(render(binary_facts()))
    assert not re.search(r"""(src|href)\s*=\s*["']?(?!#)\w""", page)
    assert "@import" not in page
    assert "url(" not in page


@pytest.mark.parametrize("name", ["plot.umd.min.js", "d3.min.js"])
def test_the_chart_library_is_the_published_one_with_its_license(name):
    licenses = _asset("LICENSES.txt")
    digest = hashlib.sha256((_asset(name) + "\n").encode()).hexdigest()
    assert re.search(rf"^{re.escape(name)} .*\n  sha256 {digest}$", licenses, re.MULTILINE)
    assert "Permission to use, copy, modify" in words(render({}))


def test_a_report_is_written_whole_and_never_over_another_without_force(tmp_path):
    path = tmp_path / "report.html"
    assert write_report(binary_facts(), path) == path
    first = path.read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="exists"):
        write_report({}, path)
    assert path.read_text(encoding="utf-8") == first
    write_report({}, path, force=True)
    assert path.read_text(encoding="utf-8") == render({})
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_equal_facts_make_equal_pages_and_are_left_as_they_were():
    facts = binary_facts()
    before = json.dumps(facts)
    assert render(facts) == render(json.loads(before))
    assert json.dumps(facts) == before
