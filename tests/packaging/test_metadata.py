"""The package asks for what its parts import, and messages name extras that exist."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from kuijia_base.additions import EXTRAS
from tests.packaging.project_lists import ROOT, project_lists

PACKAGES = ("experiments", "hedera", "kuijia", "kuijia_app", "kuijia_base", "simulator", "te_solver", "testbed")
MODULE_OF = {"cvxpy-base": "cvxpy", "pyyaml": "yaml", "os-ken": "os_ken", "prometheus-client": "prometheus_client"}
EXTRAS_OF_ALL = {"plot", "networks", "controller", "web", "ryu", "cluster", "notebook"}
LATE = {
    "kuijia_app/pki/folder.py": "cryptography",
    "kuijia_app/pki/making.py": "cryptography",
    "kuijia_app/framework/metrics/exposition.py": "prometheus_client",
    "te_solver/pictures/plan_picture.py": "matplotlib",
    "testbed/chaos/report.py": "matplotlib",
    "testbed/network/mininet_network.py": "mininet",
    "testbed/web/app.py": "starlette",
    "testbed/web/server.py": "uvicorn",
}
"""Modules that others import only after they have asked whether the package of an extra, or of Debian, is there."""


def package_of(requirement: str) -> str:
    return re.match(r"[A-Za-z0-9._-]+", requirement)[0].lower()  # type: ignore[index]


def modules_of(requirements: Iterable[str]) -> set[str]:
    return {MODULE_OF.get(name, name) for name in map(package_of, requirements)}


def imported_at_once(tree: ast.Module) -> Iterator[str]:
    """Yield the packages that a module imports when it is imported itself."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield (node.module or "").partition(".")[0]


def test_what_the_base_does_not_install_is_imported_late() -> None:
    known = {*sys.stdlib_module_names, *PACKAGES, *modules_of(project_lists()["dependencies"])}
    found = {
        str(path.relative_to(ROOT)): module
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for module in imported_at_once(ast.parse(path.read_text(encoding="utf-8")))
        if module not in known
    }
    assert found == LATE


def test_only_code_about_switches_needs_unix_at_once() -> None:
    unix = {"fcntl", "grp", "pwd", "resource", "syslog", "termios"}
    found = {
        path.relative_to(ROOT).parts[:2]
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if unix.intersection(imported_at_once(ast.parse(path.read_text(encoding="utf-8"))))
    }
    assert ("testbed", "machine") in found
    assert all(parts[0] == "testbed" or parts == ("kuijia_app", "gate") for parts in found)


def test_the_extras_that_messages_name_install_what_is_missing() -> None:
    lists = project_lists()
    for module, (package, extra) in EXTRAS.items():
        assert module in modules_of(lists[extra])
        assert MODULE_OF.get(package, package) == module
        assert module not in modules_of(lists["dependencies"])


def test_all_has_what_works_together() -> None:
    (whole,) = project_lists()["all"]
    assert set(re.findall(r"[a-z]+", whole)) == {"kuijia", *EXTRAS_OF_ALL}


def test_the_page_on_installation_lists_what_each_extra_installs() -> None:
    lists = project_lists()
    extras = list(lists)[list(lists).index("dependencies") + 1 :]
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| .* \| ?(.*) \|$", page, re.MULTILINE))
    shown = {name: {each.strip("` ").lower() for each in rows[name].split(",")} for name in rows}
    wanted = {name: {package_of(each) for each in lists[name]} for name in extras}
    wanted["all"] = {""}
    wanted["test"] = wanted["test"] - {"kuijia"} | {"all", "solvers"}
    assert shown == wanted
    assert set(list(rows)[: list(rows).index("all")]) == EXTRAS_OF_ALL, "`all` is all of the rows above it"


@pytest.mark.parametrize(
    ("url", "link", "picture"),
    [
        ("", "without root (the live lab).", ""),
        (
            "https://example.org/kuijia/",
            "([the live lab](https://example.org/kuijia/blob/HEAD/docs/web.md))",
            "](https://example.org/kuijia/raw/HEAD/docs/images/live-lab.png)",
        ),
    ],
)
def test_links_of_the_description_lead_somewhere_from_elsewhere(
    tmp_path: Path, url: str, link: str, picture: str
) -> None:
    for name in ("setup.py", "README.md", "kuijia/rooms.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    urls = f'[project.urls]\n"Source" = "{url}"\n' if url else "[project.urls]\n"
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8").replace("[project.urls]\n", urls)
    (tmp_path / "pyproject.toml").write_text(settings, encoding="utf-8")
    subprocess.run([sys.executable, "setup.py", "-q", "egg_info"], cwd=tmp_path, check=True, capture_output=True)
    description = (tmp_path / "kuijia.egg-info" / "PKG-INFO").read_text(encoding="utf-8").partition("\n\n")[2]
    assert link in description
    assert picture in description
    targets = re.findall(r"\]\(([^)]+)\)", description)
    assert all(each.startswith("https://") for each in targets)
    assert bool(targets) == bool(url)
