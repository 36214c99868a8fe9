"""The finder of tunnels by the name of a path choice: disjoint tunnels, one of ours, or one of an installed package."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from kuijia_base.additions import PATH_CHOICES, Addition, additions
from kuijia_base.errors import UnsoundError, quoted
from kuijia_base.text import Note, unheard
from te_solver.model.plan import DISJOINT, NODE_DISJOINT, PlanOptions, Weight
from te_solver.model.topology import Topology
from te_solver.tunnels import path_choices
from te_solver.tunnels.finder import PairsFinder, TunnelFinder
from te_solver.tunnels.path_choice import PathChoice, PathFinder, PathQuestion

_WHERE = ("paths",)

FILE_MARK = ":"
"""Sign between a choice and its file, as in `file:paths.csv`."""

_FILES = {"file": "paths", "srlg-disjoint": "cables that fail together"}
"""What the files of choices hold that need one."""


@cache
def _shipped() -> tuple[str, ...]:
    """Return the names of the modules of choices, which are not imported: some need NumPy."""
    return tuple(each.name.replace("_", "-") for each in iter_modules(path_choices.__path__))


def path_choice_names() -> tuple[str, ...]:
    """Return all names; those of installed packages come last, as their code is not loaded."""
    return (DISJOINT, NODE_DISJOINT, *_shipped(), *_additions())


def path_choice_words() -> tuple[str, ...]:
    """Return the names as users write them, with `:FILE` where one is needed."""
    return tuple(f"{name}{FILE_MARK}FILE" if name in _FILES else name for name in path_choice_names())


def require_path_choice(word: str) -> str:
    """Return a user's choice as it is.

    Raises:
        UnsoundError: it is unknown, lacks its file, or has one that it does not read; its `where` is `paths`.
    """
    name, _, file = word.partition(FILE_MARK)
    if name not in path_choice_names():
        raise UnsoundError(_WHERE, f"path choice {quoted(name)}", f"one of {', '.join(path_choice_words())}")
    if name in _FILES and not file:
        raise UnsoundError(_WHERE, f"{name} without its file", f"{name}{FILE_MARK}FILE, which holds {_FILES[name]}")
    if file and name not in _FILES and name not in _additions():
        raise UnsoundError(_WHERE, f"{name} reads no file, and {quoted(file)} is given", name)
    return word


def finder_by(
    topology: Topology,
    word: str,
    weight: Weight = "hops",
    seed: int = 1,
    note: Note = unheard,
    progress: Callable[[int, int], None] | None = None,
) -> PairsFinder:
    """Return the finder of a user's choice; the two kinds of disjoint tunnels have a `TunnelFinder`.

    Raises:
        UnsoundError: as `require_path_choice`.
        InputError: the package that adds the choice is broken.
    """
    require_path_choice(word)
    if word in (DISJOINT, NODE_DISJOINT):
        return TunnelFinder(topology, weight, node_disjoint=word == NODE_DISJOINT)
    name, _, file = word.partition(FILE_MARK)
    question = PathQuestion(topology, weight, seed, Path(file) if file else None, note)
    return PathFinder(_choice(name), question, progress)


def finder_like(topology: Topology, options: PlanOptions) -> PairsFinder:
    """Return the finder that a plan's tunnels were found by, for another network.

    Paths of a file, or by risks of a file, belong to the network that the file was written for: disjoint ones replace
    them.
    """
    word = NODE_DISJOINT if options.node_disjoint else options.paths
    return finder_by(topology, DISJOINT if word in _FILES else word, options.tunnel_weight, options.seed)


def _choice(name: str) -> PathChoice:
    if name in _shipped():
        choice: PathChoice = import_module(f"{path_choices.__name__}.{name.replace('-', '_')}").CHOICE
        return choice
    addition = _additions()[name]
    added = addition.load(PathChoice)
    addition.require_name(added.name)
    return added


def _additions() -> dict[str, Addition]:
    return additions(PATH_CHOICES, [DISJOINT, NODE_DISJOINT, *_shipped()])
