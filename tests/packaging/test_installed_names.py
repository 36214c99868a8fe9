"""What is installed has no name that a user's own file may have; a clone knows the names of what is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kuijia.rooms import ROOMS
from kuijia_base.commands import MODULES
from tests.plugins.packages import EXAMPLE, install_example

EVERY_MODULE = """
import pkgutil, sys
import kuijia, kuijia_app, kuijia_base
from importlib import import_module
for package in (kuijia, kuijia_app, kuijia_base):
    for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if each.name != "kuijia.__main__":
            import_module(each.name)
print(sorted({name.partition(".")[0] for name in sys.modules} & set(sys.argv[1:])))
"""
EVERY_EXPERIMENT = """
from kuijia.experiments.catalog import CATALOG
print(len([each.load() for each in CATALOG]))
"""
EVERY_CHOICE = """
import kuijia
from kuijia.te_solver.programs.registry import find_objective
plans = [kuijia.solve("fig1", "fig1", paths=name) for name in kuijia.path_choices() if ":" not in name]
print(len([find_objective(name) for name in kuijia.objectives()]), len(kuijia.schemes()), len(plans))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what a wheel installs; the compiled cores are those of the clone."""
    folder = tmp_path_factory.mktemp("installed")
    command = [sys.executable, "setup.py", "--quiet", "build_py", "--build-lib", str(folder)]
    subprocess.run(command, cwd=MODULES, check=True, capture_output=True)
    for room in ROOMS:
        for core in (MODULES / room).rglob("_core*.so"):
            shutil.copy(core, folder / "kuijia" / core.relative_to(MODULES))
    return folder


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """A user's folder with files and folders of the names that ours have in a clone; importing one ends the program."""
    for number, name in enumerate(ROOMS):
        path = tmp_path / f"{name}.py"
        if number % 2:
            path = tmp_path / name / "__init__.py"
            path.parent.mkdir()
        path.write_text(f'raise SystemExit("imported the user\'s {name}")', encoding="utf-8")
    return tmp_path


def run(theirs: Path, path: Path | str, *arguments: str) -> str:
    """Return what Python prints in the user's folder, with modules found along a path."""
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(path), "HOME": str(theirs)}
    command = [sys.executable, *arguments]
    completed = subprocess.run(command, cwd=theirs, env=environment, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


def test_a_system_without_a_compiler_says_so_in_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "setup.py", "-q", "build_ext", f"--build-lib={tmp_path}", f"--build-temp={tmp_path}"]
    place = {**os.environ, "CXX": "no-g++"}
    built = subprocess.run(command, cwd=MODULES, env=place, check=False, capture_output=True, text=True)
    expected = "error: no-g++ not found, expected a C++20 compiler, as of Debian's package g++"
    assert (built.returncode, built.stderr.splitlines()[-1]) == (1, expected)


def test_only_names_of_ours_are_installed(installed: Path, tmp_path: Path) -> None:
    names = {"kuijia", "kuijia_app", "kuijia_base"}
    assert {path.name for path in installed.iterdir()} == names
    command = [sys.executable, "setup.py", "--quiet", "egg_info", "--egg-base", str(tmp_path)]
    subprocess.run(command, cwd=MODULES, check=True, capture_output=True)
    assert set((tmp_path / "kuijia.egg-info" / "top_level.txt").read_text(encoding="utf-8").split()) == names


def test_no_module_imports_by_a_name_of_the_clone(theirs: Path, installed: Path) -> None:
    assert run(theirs, installed, "-c", EVERY_MODULE, *ROOMS) == "[]\n"


@pytest.mark.parametrize("program", [EVERY_EXPERIMENT, EVERY_CHOICE])
def test_what_is_found_by_name_is_found(program: str, theirs: Path, installed: Path) -> None:
    counts = run(theirs, installed, "-c", program)
    assert counts == run(MODULES, MODULES, "-c", program)
    assert all(int(count) > 3 for count in counts.split())


@pytest.mark.parametrize(
    "words",
    [("whatif", "fig1", "fig1"), ("packet", "single-switch:3", "--flows", "10"), ("run", "fig6", "-o", "results")],
)
def test_commands_say_what_they_say_in_a_clone(words: tuple[str, ...], theirs: Path, installed: Path) -> None:
    own = run(theirs, installed, "-m", "kuijia", *words)
    assert len(own.splitlines()) > 3
    (theirs / "clone").mkdir()
    assert own == run(theirs / "clone", MODULES, "-m", "kuijia", *words)


def test_a_box_runs_what_is_installed_from_memory(theirs: Path, installed: Path) -> None:
    program = "from kuijia.testbed.boxes.ssh import AGENT, bundle; open('box.zip', 'wb').write(bundle()); print(AGENT)"
    agent = run(theirs, installed, "-c", program).strip()
    found = run(theirs, theirs / "box.zip", "-S", "-c", f"from {agent} import serve; print(serve.__module__)")
    assert found == f"{agent}\n" == "kuijia.testbed.boxes.agent\n"


def test_a_package_adds_to_what_is_installed(
    theirs: Path, installed: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    metadata = tmp_path_factory.mktemp("added")
    install_example(metadata, monkeypatch)
    path = f"{installed}:{metadata}:{EXAMPLE}"
    found = run(theirs, path, "-m", "kuijia", "whatif", "fig1", "fig1", "--schemes", "kuijia,drop-victims")
    assert "drop-victims" in found
    assert "hops" in run(theirs, path, "-m", "kuijia", "list")


def test_a_module_of_a_clone_is_the_same_under_both_names() -> None:
    lines = (
        "import kuijia.te_solver.model.demands as one, te_solver.model.demands as two",
        "from kuijia.te_solver.model import demands as three",
        "from importlib.resources import files",
        "print(one is two is three, one.__spec__.name, files('kuijia.te_solver.schemas').name)",
    )
    found = run(MODULES, MODULES, "-c", "\n".join(lines))
    assert found == "True te_solver.model.demands schemas\n"


def test_a_module_that_a_clone_lacks_is_missing_under_both_names() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"te_solver\.unheard_of"):
        __import__("kuijia.te_solver.unheard_of")
