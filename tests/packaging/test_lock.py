"""The lock names one version of everything, and nothing of the place that it was made in."""

from __future__ import annotations

import re

import pytest

from tests.packaging.project_lists import ROOT, project_lists

REQUIREMENTS = ROOT / "requirements"
EXTRAS = ("plot", "networks", "controller", "ryu", "cluster", "notebook", "solvers", "test")
"""Those that `./run` installs."""

NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]*")


def _requirements(text: str) -> list[str]:
    """Return the requirements, each with its hashes on one line."""
    lines = (line.split(" #")[0].strip() for line in text.replace("\\\n", " ").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def _name(requirement: str) -> str:
    found = NAME.match(requirement)
    assert found is not None, requirement
    return re.sub(r"[-_.]+", "-", found[0]).lower()


@pytest.mark.parametrize("file", ["lock.txt", "build.txt", "docs.txt"])
def test_every_line_is_one_exact_version(file: str) -> None:
    for requirement in _requirements((REQUIREMENTS / file).read_text()):
        version = requirement.partition(" --hash")[0].strip()
        assert re.fullmatch(r"[a-z0-9-]+==([0-9]+!)?[0-9][0-9a-z.]*( ; [^;]+)?", version), requirement


def test_every_package_is_known_by_its_hashes() -> None:
    """pip refuses a file that has another one, whatever index or mirror it comes from."""
    for requirement in _requirements((REQUIREMENTS / "lock.txt").read_text()):
        _, *hashes = requirement.split(" --hash=")
        assert hashes, requirement
        assert all(re.fullmatch("sha256:[0-9a-f]{64}", each.strip()) for each in hashes), requirement


def test_everything_asked_for_is_locked() -> None:
    listed = project_lists()
    wanted = [each for name in ("dependencies", *EXTRAS) for each in listed[name] if not each.startswith("kuijia[")]
    for file in ("ryu.in", "ryu-overrides.txt", "dev.in"):
        wanted += _requirements((REQUIREMENTS / file).read_text())
    locked = {_name(requirement) for requirement in _requirements((REQUIREMENTS / "lock.txt").read_text())}
    assert {_name(requirement) for requirement in wanted} <= locked


def test_no_index_is_named() -> None:
    trace = re.compile(r"https?:|file:|--find-links|--(extra-)?index|--trusted-host")
    assert not [file.name for file in REQUIREMENTS.iterdir() if trace.search(file.read_text())]
