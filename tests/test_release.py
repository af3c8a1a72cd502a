"""The files of a release agree: pyproject.toml, the conda recipe, the workflows, the Makefile,
the citation.
"""

import re
import sys
import tomllib

import pytest
import yaml

from source_files import REPOSITORY

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MAKEFILE = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
WORKFLOWS = sorted((REPOSITORY / ".github" / "workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z][a-z-]*):", MAKEFILE, re.MULTILINE))


def read_yaml(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def without_spaces(requirement):
    return re.sub(r"\s+", "", requirement)


def test_the_conda_recipe_asks_for_what_the_project_asks_for():
    recipe = read_yaml(REPOSITORY / "conda" / "recipe.yaml")
    run = {without_spaces(requirement) for requirement in recipe["requirements"]["run"]}
    required = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["cli"]]
    assert run == {without_spaces(requirement) for requirement in required} | {
        f"python{PROJECT['requires-python']}"
    }
    assert recipe["context"]["version"] == PROJECT["version"]
    assert recipe["package"]["name"] == PROJECT["name"]
    assert recipe["about"]["license"] == PROJECT["license"]
    assert recipe["about"]["license_file"] == PROJECT["license-files"]
    command = [f"{name} = {place}" for name, place in PROJECT["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == command
    assert "hatchling" in recipe["requirements"]["host"]
    for name in PROJECT["license-files"]:
        assert (REPOSITORY / name).is_file()


def test_the_citation_and_the_changelog_name_the_version():
    citation = read_yaml(REPOSITORY / "CITATION.cff")
    assert str(citation["version"]) == PROJECT["version"]
    changelog = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    day = citation.get("date-released", "unreleased")
    newest = re.search(r"^## \[(.*?)\] - (\S+)", changelog, re.MULTILINE)
    assert newest.groups() == (PROJECT["version"], str(day))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_call_targets_that_exist(path):
    jobs = read_yaml(path)["jobs"]
    for name, job in jobs.items():
        assert set(job.get("needs", "").split()) <= set(jobs), name
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step), name
            for target in re.findall(r"^make ([a-z-]+)", step.get("run", ""), re.MULTILINE):
                assert target in TARGETS, f"{path.name}, {name}: make {target}"


def test_the_tests_run_on_every_version_and_system_that_is_promised():
    matrix = read_yaml(REPOSITORY / ".github" / "workflows" / "test.yml")["jobs"]["test"][
        "strategy"
    ]["matrix"]
    named = [
        name.rsplit(" ", 1)[1]
        for name in PROJECT["classifiers"]
        if re.search(r"Python :: 3\.\d+$", name)
    ]
    assert matrix["python"] == named
    assert PROJECT["requires-python"] == f">={named[0]}"
    assert f"{sys.version_info[0]}.{sys.version_info[1]}" in named
    systems = {"ubuntu": "Linux", "macos": "MacOS", "windows": "Windows"}
    for image in matrix["os"]:
        assert any(systems[image.split("-")[0]] in name for name in PROJECT["classifiers"])


def test_every_target_is_declared_and_explained():
    declared = set(re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)[1].split())
    assert declared == TARGETS
    explained = set(re.findall(r"^([a-z-]+):.*## ", MAKEFILE, re.MULTILINE))
    assert explained == TARGETS
