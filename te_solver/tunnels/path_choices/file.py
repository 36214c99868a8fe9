"""Paths that a file lists: as CSV, a plan, or in the forms of YATES, TEAVAR, FIGRET and Flexile."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from kuijia_base.errors import InputError, quoted
from kuijia_base.quantities import counted
from kuijia_base.reading import reading
from kuijia_base.suggestion import meant
from kuijia_base.text import Note, read_lines, require_number
from te_solver.formats.csv_rows import csv_rows
from te_solver.formats.draft import NameOf, finder_of_nodes
from te_solver.formats.plan_file import load_plan
from te_solver.model.topology import Topology
from te_solver.tunnels.path_choice import PairRoutes, PathChoice, PathQuestion, Route, Routes

_WHAT = "a file of paths"
_EXPECTED = "paths as CSV (source,target,path,share), a plan, or the lines of YATES, TEAVAR, FIGRET or Flexile"
_HEADERS = (("source", "target", "path"), ("source", "target", "path", "share"))
_FLEXILE = ["s", "t", "k", "edges"]
_SHARE = "a number from 0 to 1"

_PAIR_OF_YATES = re.compile(r"(\S+)\s*->\s*(\S+)\s*:$")
_PATH_OF_YATES = re.compile(r"\[(.*)\](?:\s*@\s*(\S+))?$")
_PAIR_OF_FIGRET = re.compile(r"(\d{1,7}) (\d{1,7}):(.*)$")


@dataclass(frozen=True)
class ListedPath:
    """A path with its place for messages, such as its line in a file, and its share if one is given."""

    place: int | str
    nodes: tuple[str, ...]
    share: float | None


def load_paths(path: Path, topology: Topology, note: Note) -> dict[tuple[str, str], Routes]:
    """Return the paths of each pair in a file, with their shares.

    The forms are:

    - CSV with the header `source,target,path` and, if wanted, `share`: the path's nodes have spaces between them, or
      commas if the cell is quoted.
    - A plan: its tunnels with their weights.
    - YATES and TEAVAR: `h1 -> h3 :`, then a line such as `[(h1,s1), (s1,s2), (s2,s3), (s3,h3)] @ 0.5` for each path;
      its first and last link lead to hosts.
    - FIGRET: `0 3:0-4-3,0-9-20-3`. Flexile: the header `s t k edges`, then lines such as `7 3 1 7-6,6-3`; a
      fifth column, the length in its files for two classes, is not used.

    Numbers, and YATES's `s1`, are names of nodes where the network has all of them; else they are places in its order,
    from 0 in FIGRET and Flexile, from 1 in YATES, which is noted. Paths without shares share equally, as do the paths
    of a pair whose shares are all zero.

    Raises:
        InputError: anything else, and a path that is none in this network; its place is the line, of plans the key.
    """
    with reading(path, _EXPECTED):
        first = next((text.strip() for _, text in read_lines(path, _EXPECTED) if text.strip()), "")
        if first.startswith("{"):
            plan = load_plan(path)
            # Classes of a pair share its tunnels: the shares are those of the most important class.
            by_class = sorted(plan.pairs, key=lambda pair: -pair.priority)
            of_pair = {(pair.source, pair.target): pair for pair in by_class}
            listed = [
                ListedPath(0, tunnel.nodes, tunnel.weight) for pair in of_pair.values() for tunnel in pair.tunnels
            ]
        elif _PAIR_OF_YATES.match(first):
            listed = _named(_yates, path, topology, 1, "s", note)
        elif _PAIR_OF_FIGRET.match(first):
            listed = _named(_figret, path, topology, 0, "", note)
        elif first.split() == _FLEXILE:
            listed = _named(_flexile, path, topology, 0, "", note)
        else:
            listed = list(_csv(path))
        return routes_of(path, listed, topology)


def _csv(path: Path) -> Iterator[ListedPath]:
    rows = csv_rows(path, _WHAT, _EXPECTED)
    number, header = next(rows, (0, ()))
    if header not in _HEADERS:
        raise InputError(path, number or "", f"found {quoted(','.join(header))}" if number else "is empty", _EXPECTED)
    for number, row in rows:
        if len(row) != len(header):
            raise InputError(path, number, counted(len(row), "column"), f"{len(header)}, as in the header")
        nodes = tuple(node.strip() for node in row[2].split(",")) if "," in row[2] else tuple(row[2].split())
        if nodes[:1] != row[:1] or nodes[-1:] != row[1:2]:
            raise InputError(path, number, "the path does not join the pair", f"a path from {row[0]} to {row[1]}")
        yield ListedPath(number, nodes, _share(path, number, row[3]) if len(row) > 3 else None)


def _named(
    read: Callable[[Path, NameOf], Iterator[ListedPath]],
    path: Path,
    topology: Topology,
    first: int,
    prefix: str,
    note: Note,
) -> list[ListedPath]:
    """Return the paths in a file whose words for nodes can be places: all of them are read before the first is one."""
    words = {node for each in read(path, lambda _path, _line, word: word) for node in each.nodes}
    return list(read(path, finder_of_nodes(topology, words, first, prefix, note)))


def _yates(path: Path, name_of: NameOf) -> Iterator[ListedPath]:
    for line, text in read_lines(path, _WHAT):
        word = text.strip()
        if not word or _PAIR_OF_YATES.match(word):
            continue
        found = _PATH_OF_YATES.match(word)
        if found is None:
            raise InputError(path, line, f"found {quoted(word)}", "a path such as [(h1,s1), (s1,s2), (s2,h2)] @ 0.5")
        links = [tuple(link.split(",")) for link in found[1].strip().strip("()").replace("), (", "),(").split("),(")]
        if len(links) < 3 or any(len(link) != 2 for link in links):
            raise InputError(path, line, f"found {quoted(word)}", "links from a host over switches to a host")
        if any(a[1].strip() != b[0].strip() for a, b in pairwise(links)):
            raise InputError(path, line, "a link does not begin where the one before ends", "a path")
        nodes = tuple(name_of(path, line, link[0]) for link in links[1:])
        yield ListedPath(line, nodes, None if found[2] is None else _share(path, line, found[2]))


def _figret(path: Path, name_of: NameOf) -> Iterator[ListedPath]:
    for line, text in read_lines(path, _WHAT):
        if not text.strip():
            continue
        found = _PAIR_OF_FIGRET.match(text.strip())
        if found is None:
            raise InputError(path, line, f"found {quoted(text.strip())}", "a line such as 0 3:0-4-3,0-9-20-3")
        ends = name_of(path, line, found[1]), name_of(path, line, found[2])
        for each in found[3].split(","):
            nodes = tuple(name_of(path, line, node) for node in each.split("-"))
            if (nodes[0], nodes[-1]) != ends:
                raise InputError(path, line, f"path {quoted(each)}", f"a path from {ends[0]} to {ends[1]}")
            yield ListedPath(line, nodes, None)


def _flexile(path: Path, name_of: NameOf) -> Iterator[ListedPath]:
    for number, (line, text) in enumerate((line, text) for line, text in read_lines(path, _WHAT) if text.strip()):
        cells = text.split()
        if number == 0:
            continue
        if len(cells) not in {4, 5}:
            raise InputError(path, line, counted(len(cells), "column"), "a line such as 7 3 1 7-6,6-3")
        links = [link.split("-") for link in cells[3].split(",")]
        if any(len(link) != 2 for link in links) or any(a[1] != b[0] for a, b in pairwise(links)):
            raise InputError(path, line, f"links {quoted(cells[3])}", "the links of a path in their order, as 7-6,6-3")
        nodes = tuple(name_of(path, line, node) for node in (*(link[0] for link in links), links[-1][1]))
        if (nodes[0], nodes[-1]) != (name_of(path, line, cells[0]), name_of(path, line, cells[1])):
            raise InputError(path, line, f"links {quoted(cells[3])}", f"a path from {cells[0]} to {cells[1]}")
        yield ListedPath(line, nodes, None)


def _share(path: Path, line: int, text: str) -> float:
    share = require_number(text, path, line, "share", _SHARE)
    if not 0 <= share <= 1:
        raise InputError(path, line, f"share {quoted(text)}", _SHARE)
    return share


def routes_of(source: str | Path, listed: Iterable[ListedPath], topology: Topology) -> dict[tuple[str, str], Routes]:
    """Return listed paths by their pair, with shares that sum to one, equal ones where none are given.

    Raises:
        InputError: there is no path, one is not a simple path of the network, or one is listed twice.
    """
    found: dict[tuple[str, str], dict[tuple[str, ...], float | None]] = {}
    for each in listed:
        nodes, place = each.nodes, each.place
        for node in nodes:
            if not topology.has_node(node):
                problem = f"unknown node {quoted(node)}{meant(node, topology.nodes)}"
                raise InputError(source, place, problem, f"a node of {topology.name}")
        for a, b in pairwise(nodes):
            if not topology.has_link(a, b):
                raise InputError(source, place, f"there is no link {a}-{b}", f"a link of {topology.name}")
        if len(nodes) < 2 or len(set(nodes)) < len(nodes):
            raise InputError(source, place, "the path meets a node twice", "a path without a loop")
        of_pair = found.setdefault((nodes[0], nodes[-1]), {})
        if nodes in of_pair:
            raise InputError(source, place, f"the path {' '.join(nodes)} is given twice", "each path once")
        of_pair[nodes] = each.share
    if not found:
        raise InputError(source, "", "there is no path", "at least one")
    return {pair: _shared(paths) for pair, paths in found.items()}


def _shared(paths: dict[tuple[str, ...], float | None]) -> Routes:
    total = sum(share or 0.0 for share in paths.values())
    if total <= 0:
        return tuple((nodes, 1 / len(paths)) for nodes in paths)
    return tuple((nodes, (share or 0.0) / total) for nodes, share in paths.items())


def _routes(question: PathQuestion) -> PairRoutes:
    if question.file is None:
        raise ValueError("no file of paths")
    known = load_paths(question.file, question.topology, question.note)

    def largest(route: Route) -> float:
        return -route[1]

    def of_pair(source: str, target: str, count: int) -> Routes:
        """Paths with the largest shares come first; of equal ones those that the file has first."""
        return tuple(sorted(known.get((source, target), ()), key=largest)[:count])

    return of_pair


CHOICE = PathChoice("file", _routes)
