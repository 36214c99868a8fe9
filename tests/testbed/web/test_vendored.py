"""Code of others that the page and its tests bring along is what its list says, with its licence."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "testbed" / "web" / "page"
FOLDERS = (PAGE / "vendor", Path(__file__).with_name("vendor"))


@pytest.mark.parametrize("folder", FOLDERS, ids=("page", "tests"))
def test_vendored_files_are_those_of_the_list(folder: Path) -> None:
    packages = json.loads((folder / "vendored.json").read_text(encoding="utf-8"))["packages"]
    listed = {name: digest for package in packages for name, digest in package["files"].items()}
    found = {
        path.relative_to(folder).as_posix(): sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "vendored.json"
    }
    assert found == listed


@pytest.mark.parametrize("folder", FOLDERS, ids=("page", "tests"))
def test_vendored_packages_have_their_licence_and_version(folder: Path) -> None:
    for package in json.loads((folder / "vendored.json").read_text(encoding="utf-8"))["packages"]:
        names = list(package["files"])
        assert f"{package['name']}/LICENSE" in names
        assert package["licence"] in {"MIT", "MPL-2.0"}
        scripts = [folder / name for name in names if name.endswith("js")]
        assert scripts
        assert all(package["version"] in script.read_text(encoding="utf-8") for script in scripts)


def test_the_page_names_nothing_of_other_hosts_and_has_no_inline_code() -> None:
    own = [path for path in PAGE.rglob("*") if path.is_file() and "vendor" not in path.parts]
    assert len(own) > 10
    for path in own:
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "://" not in text, path
        assert "innerHTML" not in text, path
    index = (PAGE / "index.html").read_text(encoding="utf-8")
    assert "style=" not in index
    assert "<style" not in index
    assert "<script>" not in index
