"""A module imports only from rooms below its own, and no modules need each other in a circle."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import networkx as nx
import pytest

from tests.packaging.floors import ROOMS

ROOT = Path(__file__).resolve().parents[2]


class Import(NamedTuple):
    """An import of one of our modules by another, wherever it stands in its file."""

    importer: str
    imported: str
    place: str


def packages_of(rooms: Mapping[str, str]) -> frozenset[str]:
    return frozenset(room.partition(".")[0] for room in rooms)


def modules_of(root: Path, packages: frozenset[str]) -> dict[str, Path]:
    found = {}
    for package in packages:
        for path in [*(root / package).rglob("*.py"), *(root / package).rglob("*.pyi")]:
            parts = path.relative_to(root).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def imports_in(root: Path, packages: frozenset[str]) -> tuple[Import, ...]:
    return tuple(_imports(root, modules_of(root, packages)))


def _imports(root: Path, modules: Mapping[str, Path]) -> Iterator[Import]:
    for name, path in sorted(modules.items()):
        package = name if path.stem == "__init__" else name.rpartition(".")[0]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            place = f"{path.relative_to(root)}:{getattr(node, 'lineno', 0)}"
            for imported in names_imported(node, package):
                known = nearest(imported, modules)
                if known is not None and known != name:
                    yield Import(name, known, place)


def names_imported(node: ast.AST, package: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        above = ".".join(package.split(".")[: len(package.split(".")) - node.level + 1]) if node.level else ""
        origin = ".".join(part for part in (above, node.module) if part)
        yield from (f"{origin}.{alias.name}" for alias in node.names)


def nearest(name: str, known: Mapping[str, object]) -> str | None:
    """Return the longest beginning of a dotted name that is known, None if there is none."""
    while name and name not in known:
        name = name.rpartition(".")[0]
    return name or None


def is_within(module: str, room: str) -> bool:
    return module == room or module.startswith(f"{room}.")


def wrong_imports(root: Path, rooms: Mapping[str, str]) -> list[str]:
    """Return a sentence for each import that leaves its floor, and for each module without a room."""
    packages = packages_of(rooms)
    found = [
        f"{module} is in no room: give it one in tests/packaging/floors.py"
        for module, path in modules_of(root, packages).items()
        if nearest(module, rooms) is None and has_code(path)
    ]
    for each in imports_in(root, packages):
        room = nearest(each.importer, rooms)
        if room is None or is_within(each.imported, room):
            continue
        allowed = rooms[room].split()
        if not any(is_within(each.imported, below) for below in allowed):
            found.append(
                f"{each.importer} imports {each.imported} ({each.place}), but {room} may import only"
                f" {', '.join(allowed) or 'the standard library and other packages'}"
            )
    return found


def has_code(path: Path) -> bool:
    return any(not isinstance(node, ast.Expr) for node in ast.parse(path.read_text(encoding="utf-8")).body)


def circles(root: Path, packages: frozenset[str]) -> list[str]:
    """Return a sentence for each group of modules that import each other."""
    graph = nx.DiGraph((each.importer, each.imported) for each in imports_in(root, packages))
    return [
        f"{' and '.join(sorted(group))} import each other"
        for group in nx.strongly_connected_components(graph)
        if len(group) > 1
    ]


def test_every_import_leads_to_a_floor_below() -> None:
    wrong = wrong_imports(ROOT, ROOMS)
    assert not wrong, "\n".join(wrong)


def test_no_modules_import_each_other() -> None:
    found = circles(ROOT, packages_of(ROOMS))
    assert not found, "\n".join(found)


def test_a_room_names_only_rooms_that_stand_before_it() -> None:
    before: set[str] = set()
    for room, allowed in ROOMS.items():
        for below in allowed.split():
            known = any(is_within(below, each) or is_within(each, below) for each in before)
            assert known, f"{room} may import {below}, which does not stand before it"
            later = [each for each in ROOMS if is_within(each, below) and each not in before]
            assert not later, f"{room} may import {below}, which holds {later}"
        before.add(room)


def test_the_page_on_architecture_shows_every_room() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    missing = [
        room
        for room in ROOMS
        if not any(f"`{room.rpartition('.')[2]}{end}`" in row for end in ("", "/", ".py") for row in rows)
    ]
    assert not missing


def house(root: Path, **files: str) -> Path:
    """Write modules, named with two underscores for a dot, and the `__init__.py` of their packages."""
    for name, text in files.items():
        path = root.joinpath(*name.split("__")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        for folder in path.relative_to(root).parents:
            (root / folder / "__init__.py").touch()
        path.write_text(text, encoding="utf-8")
    return root


TWO_FLOORS = {"base": "", "shop.cellar": "base", "shop.floor": "base shop.cellar"}


@pytest.mark.parametrize(
    "text",
    [
        "import shop.floor.counter",
        "from shop.floor import counter",
        "from shop.floor.counter import sell",
        "from ..floor import counter",
        "def late() -> None:\n    from shop.floor.counter import sell",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from shop.floor.counter import sell",
    ],
)
def test_an_arrow_back_up_is_one_sentence_that_names_both_modules(tmp_path: Path, text: str) -> None:
    house(tmp_path, base__words="", shop__cellar__stock=text, shop__floor__counter="import base.words")
    (sentence,) = wrong_imports(tmp_path, TWO_FLOORS)
    place = f"shop/cellar/stock.py:{len(text.splitlines())}"
    assert sentence == (f"shop.cellar.stock imports shop.floor.counter ({place}), but shop.cellar may import only base")


def test_a_module_outside_all_rooms_is_named(tmp_path: Path) -> None:
    house(tmp_path, base__words="", shop__attic="import base.words")
    assert wrong_imports(tmp_path, TWO_FLOORS) == ["shop.attic is in no room: give it one in tests/packaging/floors.py"]


def test_one_module_of_a_room_may_be_allowed_alone(tmp_path: Path) -> None:
    rooms = {"cellar": "", "shop": "cellar.stock"}
    house(tmp_path, cellar__stock="", cellar__boiler="", shop__floor="import cellar.stock, cellar.boiler")
    (sentence,) = wrong_imports(tmp_path, rooms)
    assert sentence.startswith("shop.floor imports cellar.boiler (shop/floor.py:1), ")


def test_a_circle_is_found_through_imports_inside_functions(tmp_path: Path) -> None:
    names = ("one", "two", "three")
    late = {f"base__{a}": f"def later() -> None:\n    from base import {b}" for a, b in pairwise([*names, names[0]])}
    house(tmp_path, **late, base__four="import base.one")
    assert circles(tmp_path, frozenset({"base"})) == ["base.one and base.three and base.two import each other"]
