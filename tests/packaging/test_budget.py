"""The house grows only on purpose: lines and files of rooms, what start-up imports, and names of classes used twice."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.packaging.budget import CLASS_NAMES_USED_TWICE, MODULES, OTHER_PACKAGES, ROOMS

ROOT = Path(__file__).resolve().parents[2]
SUFFIXES = {".py", ".pyi", ".cpp", ".hpp"}

IMPORTED = """
import contextlib, io, json, sys
{program}
print(json.dumps(sorted(sys.modules)))
"""

PROGRAMS = {
    "import kuijia": "import kuijia",
    "kuijia --help": """
from kuijia.cli.main import main
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
    main(["--help"])
""",
    "kuijia list": """
from kuijia.cli.main import main
with contextlib.redirect_stdout(io.StringIO()):
    main(["list"])
""",
}


def sources(root: Path, room: str) -> list[Path]:
    return [path for path in sorted((root / room).rglob("*")) if path.suffix in SUFFIXES]


def size(files: Iterable[Path]) -> tuple[int, int]:
    """Return the lines and the number of files."""
    lines = [len(path.read_text(encoding="utf-8").splitlines()) for path in files]
    return sum(lines), len(lines)


def excess(root: Path, budget: Mapping[str, tuple[int, int]]) -> list[str]:
    """Return a sentence for each room that is larger than its budget."""
    return [
        f"{room} has {found} {what}, its budget is {allowed}: take some away,"
        " or edit tests/packaging/budget.py and say why"
        for room, allowances in budget.items()
        for what, found, allowed in zip(("lines", "files"), size(sources(root, room)), allowances, strict=True)
        if found > allowed
    ]


def public_classes(files: Iterable[Path]) -> Iterator[str]:
    for path in files:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield node.name


def imported(program: str) -> set[str]:
    """Return the modules that an interpreter has imported after a program."""
    made = subprocess.run(
        [sys.executable, "-c", IMPORTED.format(program=PROGRAMS[program])],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return set(json.loads(made.stdout))


def test_rooms_are_within_their_budgets() -> None:
    found = excess(ROOT, ROOMS)
    assert not found, "\n".join(found)


def test_every_room_has_a_budget() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert packages <= ROOMS.keys()


def test_public_names_of_classes_are_used_once() -> None:
    rooms = [room for room in ROOMS if room != "tests"]
    files = [path for room in rooms for path in sources(ROOT, room) if path.suffix == ".py"]
    twice = {name for name, count in Counter(public_classes(files)).items() if count > 1}
    assert twice <= CLASS_NAMES_USED_TWICE, sorted(twice - CLASS_NAMES_USED_TWICE)


@pytest.mark.parametrize("program", PROGRAMS)
def test_start_up_imports_no_more_than_its_budget(program: str) -> None:
    modules = imported(program)
    ours = [name for name in modules if name.partition(".")[0] in ROOMS]
    assert len(ours) <= MODULES[program], f"{len(ours)} modules of our own"
    installed = packages_distributions().keys() - ROOMS.keys() - {"_distutils_hack"}
    others = installed & {name.partition(".")[0] for name in modules}
    assert others <= OTHER_PACKAGES[program], sorted(others - OTHER_PACKAGES[program])


def test_a_room_that_has_grown_is_one_sentence_for_each_figure(tmp_path: Path) -> None:
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "a.py").write_text("one\ntwo\n", encoding="utf-8")
    (tmp_path / "room" / "b.txt").write_text("no source\n", encoding="utf-8")
    assert excess(tmp_path, {"room": (2, 1)}) == []
    (lines, files) = excess(tmp_path, {"room": (1, 0)})
    assert lines.startswith("room has 2 lines, its budget is 1: ")
    assert files.startswith("room has 1 files, its budget is 0: ")


def test_a_class_of_the_same_name_is_noticed(tmp_path: Path) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("class Case: ...\nclass _Own: ...\n", encoding="utf-8")
    assert list(public_classes(sorted(tmp_path.iterdir()))) == ["Case", "Case"]
