"""Nested data with all that JSON and YAML can express and Python's types cannot: keys twice, words as they stand."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from random import Random

from tests.fuzz import hostile


@dataclass(frozen=True)
class Word:
    """A value that is written as it stands: a number, `null`, or what is no value."""

    text: str


@dataclass
class Mapping:
    """Keys and values in their order; a key may stand in it several times."""

    entries: list[tuple[str, Tree]]


Tree = Mapping | list["Tree"] | str | Word
_Place = tuple[Mapping | list["Tree"], int]

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_ -]*[A-Za-z0-9_]")
_FEW = 3
_DEEPEST_LIST = 4
_MOST_PLACES = 5_000


def tree_of(data: object) -> Tree:
    """Return data as `json.loads` or `yaml.safe_load` has it as a tree."""
    if isinstance(data, dict):
        return Mapping([(str(key), tree_of(value)) for key, value in data.items()])
    if isinstance(data, list):
        return [tree_of(each) for each in data]
    return data if isinstance(data, str) else Word(json.dumps(data))


def mutated(random: Random, tree: Tree) -> Tree:
    """Return a copy with one to four changes, each at a place drawn at random."""
    copy = _copy(tree)
    for _ in range(random.choice((1, 1, 1, 2, 2, 4))):
        places: list[_Place] = []
        _places(copy, places)
        if not places:
            return hostile_tree(random)
        if len(places) > _MOST_PLACES:
            break
        container, position = random.choice(places)
        _change(random, container, position, places)
    return copy


def hostile_tree(random: Random) -> Tree:
    """Return a small tree that is not to be expected."""
    kind = random.random()
    if kind < 0.45:
        return hostile.text(random)
    return Word(hostile.value(random))


def as_json(random: Random, tree: Tree) -> bytes:
    """Return a tree as JSON; a surrogate stands as an escape or in bytes that are no UTF-8."""
    escaped = random.random() < 0.7
    pieces: list[str] = []
    _write_json(tree, pieces, escaped=escaped)
    return "".join(pieces).encode(errors="surrogatepass")


def as_yaml(random: Random, tree: Tree) -> bytes:
    """Return a tree as YAML: in blocks, or as JSON."""
    if random.random() < 0.3:
        return as_json(random, tree)
    pieces: list[str] = []
    _write_yaml(random, tree, 0, pieces)
    return "".join(pieces).encode(errors="surrogatepass")


def _copy(tree: Tree) -> Tree:
    if isinstance(tree, Mapping):
        return Mapping([(key, _copy(value)) for key, value in tree.entries])
    if isinstance(tree, list):
        return [_copy(each) for each in tree]
    return tree


def _places(tree: Tree, places: list[_Place]) -> None:
    if isinstance(tree, Mapping):
        for position, (_, value) in enumerate(tree.entries):
            places.append((tree, position))
            _places(value, places)
    elif isinstance(tree, list):
        for position, value in enumerate(tree):
            places.append((tree, position))
            _places(value, places)


def _change(random: Random, container: Mapping | list[Tree], position: int, places: list[_Place]) -> None:
    kind = random.random()
    if isinstance(container, Mapping):
        if kind < 0.35:
            _change_entries(random, container.entries, position, kind)
        else:
            key, value = container.entries[position]
            container.entries[position] = (key, _instead(random, value, places))
    elif kind < 0.2:
        container[position : position + 1] = [container[position]] * _times(random, kind)
    else:
        container[position] = _instead(random, container[position], places)


def _change_entries(random: Random, entries: list[tuple[str, Tree]], position: int, kind: float) -> None:
    """Lose or repeat an entry of a mapping, give it another key, or put one before it."""
    key, value = entries[position]
    if kind < 0.2:
        entries[position : position + 1] = [entries[position]] * _times(random, kind)
    elif kind < 0.3:
        entries[position] = (random.choice((hostile.text(random), f"{key}x", key.upper(), entries[0][0])), value)
    else:
        entries.insert(position, (hostile.text(random), hostile_tree(random)))


def _times(random: Random, kind: float) -> int:
    return 0 if kind < 0.1 else random.choice((2, 2, 3, 50))


def _instead(random: Random, value: Tree, places: list[_Place]) -> Tree:
    """Return what takes the place of a value: a hostile one, one from elsewhere, or a variation of it."""
    kind = random.random()
    if kind < 0.55:
        return hostile_tree(random)
    if kind < 0.7:
        other, position = random.choice(places)
        return _copy(other.entries[position][1] if isinstance(other, Mapping) else other[position])
    if kind < 0.75:
        return [value]
    return _varied(random, value)


def _varied(random: Random, value: Tree) -> Tree:
    """Return something much like a value."""
    if isinstance(value, Word):
        appended = [f"{value.text}{more}" for more in ("0", "e9", ".5")]
        return Word(random.choice((f"-{value.text}", *appended, hostile.number(random))))
    if isinstance(value, str):
        return random.choice((value + hostile.text(random), hostile.text(random) + value, value[:-1], value.swapcase()))
    if isinstance(value, Mapping):
        return Mapping(value.entries[::-1])
    return value[:-1] if random.random() < 0.5 else [*value, *value[:1]] * random.randrange(1, _FEW)


def _write_json(tree: Tree, pieces: list[str], *, escaped: bool) -> None:
    if isinstance(tree, Mapping):
        pieces.append("{")
        for number, (key, value) in enumerate(tree.entries):
            pieces.append(f"{', ' if number else ''}{json.dumps(key, ensure_ascii=escaped)}: ")
            _write_json(value, pieces, escaped=escaped)
        pieces.append("}")
    elif isinstance(tree, list):
        pieces.append("[")
        for number, each in enumerate(tree):
            pieces.append(", " if number else "")
            _write_json(each, pieces, escaped=escaped)
        pieces.append("]")
    else:
        pieces.append(tree.text if isinstance(tree, Word) else json.dumps(tree, ensure_ascii=escaped))


def _write_yaml(random: Random, tree: Tree, depth: int, pieces: list[str]) -> None:
    """Write a tree whose place begins at the end of what is written so far."""
    indent = "  " * depth
    if isinstance(tree, Mapping) and tree.entries:
        pieces.append("\n")
        for key, value in tree.entries:
            pieces.append(f"{indent}{_scalar(random, key)}: ")
            _write_yaml(random, value, depth + 1, pieces)
    elif isinstance(tree, list) and tree and depth < _DEEPEST_LIST:
        pieces.append("\n")
        for each in tree:
            pieces.append(f"{indent}- ")
            if isinstance(each, list):
                _write_json(each, pieces, escaped=True)
                pieces.append("\n")
            else:
                _write_yaml(random, each, depth + 1, pieces)
    elif isinstance(tree, Mapping | list):
        _write_json(tree, pieces, escaped=True)
        pieces.append("\n")
    else:
        pieces.append(f"{tree.text if isinstance(tree, Word) else _scalar(random, tree)}\n")


def _scalar(random: Random, text: str) -> str:
    if _PLAIN.fullmatch(text) or random.random() < 0.1:
        return text
    return json.dumps(text, ensure_ascii=random.random() < 0.5)
