"""Continuous integration runs `.ci/run`, and contributors are told what that installs."""

from __future__ import annotations

import re

import yaml

from tests.packaging.project_lists import ROOT


def packages_of_ci() -> set[str]:
    """Return the Debian packages that `.ci/run` installs before the tests."""
    (groups,) = re.findall(r"^for group in (.*); do$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
    return set(groups.replace("'", "").split())


def test_every_push_installs_what_only_some_tests_need() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text())
    assert "sudo .ci/run" in [step.get("run") for step in workflow["jobs"]["test"]["steps"]]


def test_the_site_is_published_only_where_an_owner_has_said_so() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text())["jobs"]
    (shared,) = (each for each in jobs["docs"]["steps"] if "upload-pages-artifact" in each.get("uses", ""))
    assert jobs["pages"]["needs"] == "docs"
    assert shared["with"]["path"] == "build/docs/html"
    assert all("vars.PAGES == 'yes'" in each["if"] for each in (shared, jobs["pages"]))


def test_contributors_find_every_package_that_only_some_tests_need() -> None:
    named = set(re.findall(r"`([\w-]+)`", (ROOT / "CONTRIBUTING.md").read_text()))
    needed = packages_of_ci()
    assert {"chromium", "prometheus"} <= needed <= named


def test_actions_are_pinned_by_commit() -> None:
    """A tag can be moved to other code."""
    used = [
        (file.name, line.partition("uses:")[2].strip())
        for file in (ROOT / ".github" / "workflows").iterdir()
        for line in file.read_text().splitlines()
        if "uses:" in line
    ]
    assert used
    assert [each for each in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v[0-9.]+", each[1])] == []
