"""Networks by name from the `topohub` package (Jurkiewicz, SoftwareX 2023), such as `topohub:topozoo/Abilene`."""

from __future__ import annotations

import difflib
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

from kuijia_base.additions import command_for, is_installed
from kuijia_base.errors import InputError
from kuijia_base.text import Note
from te_solver.formats.draft import DemandSum, NetworkDraft
from te_solver.model.demands import Demand
from te_solver.model.topology import Topology

PREFIX = "topohub:"

_EXAMPLE = "such as topozoo/Abilene or sndlib/polska"
_KEY = re.compile(r"[\w-]+(/[\w-]+)+")
_FIBRE_KM_PER_SECOND = 200_000
"""Speed of light in glass of refractive index 1.5."""
_DELAY_DIGITS = 9


def read_topohub_topology(name: str, default_capacity: float | None, note: Note) -> Topology:
    """Return the network called `name`: `PREFIX` and then topohub's key.

    topohub knows no capacities, and parallel links are merged there already. A link's delay is that of its length in
    fibre.

    Raises:
        InputError: the package is missing or has no such network.
    """
    network = _network(name)
    draft = NetworkDraft(name, name.rpartition("/")[2], default_capacity, note)
    for node in network["nodes"]:
        draft.add_node(str(node["id"]), node.get("name"))
        draft.put_node(str(node["id"]), *map(str, node.get("pos", ("", ""))))
    for edge in network["edges"]:
        delay = round(edge.get("dist", 0.0) / _FIBRE_KM_PER_SECOND, _DELAY_DIGITS)
        draft.add_edge(str(edge["source"]), str(edge["target"]), None, delay, directed=network["directed"])
    note(f"delays are those of the links' lengths at {_FIBRE_KM_PER_SECOND} km/s")
    return draft.topology()


def read_topohub_demands(name: str, topology: Topology, note: Note) -> tuple[Demand, ...]:
    """Return the demands that come with a network of SNDlib; others have none.

    Raises:
        InputError: the package is missing, or has no such network, or no demands for it, or the topology has other
            nodes.
    """
    network = _network(name)
    names = {str(node["id"]): str(node.get("name")) for node in network["nodes"]}
    given = network["graph"].get("demands") or {}
    if not given:
        raise InputError(name, "", "topohub has no demands for this network", "a network of SNDlib, or a demand file")
    total = DemandSum(name, topology)
    for source, row in given.items():
        for target, rate in row.items():
            total.add(names[str(source)], names[str(target)], float(rate), f"{names[str(source)]} demands")
    note("demands are taken as Mbit/s")
    return total.demands(note)


def topohub_names() -> tuple[str, ...]:
    """Return the names of all networks of topohub with their prefix; none if it is not installed."""
    if not is_installed("topohub"):
        return ()
    folder = Path(str(files("topohub"))) / "data"
    found = (path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.json"))
    return tuple(f"{PREFIX}{key}" for key in sorted(found) if _KEY.fullmatch(key))


def _network(name: str) -> dict[str, Any]:
    key = name.removeprefix(PREFIX)
    try:
        import topohub  # noqa: PLC0415  # large, and needed by those only who ask for its networks
    except ImportError as error:
        expected = f"it, which `{command_for('topohub')}` brings"
        raise InputError(name, "", "the package topohub is not installed", expected) from error
    # The key becomes a path inside the package: nothing else may come of it.
    if not _KEY.fullmatch(key):
        raise InputError(name, "", "not the name of a network of topohub", f"one {_EXAMPLE}")
    try:
        network: dict[str, Any] = topohub.get(key)
    except KeyError as error:
        raise InputError(name, "", "topohub has no network of this name", _close_to(key)) from error
    return network


def _close_to(key: str) -> str:
    group, _, wanted = key.partition("/")
    folder = files("topohub") / "data" / group
    names = sorted(file.name.removesuffix(".json") for file in folder.iterdir()) if folder.is_dir() else []
    by_lower = {name.lower(): name for name in names}
    close = [by_lower[name] for name in difflib.get_close_matches(wanted.lower(), by_lower, n=3)]
    return " or ".join(f"{group}/{name}" for name in close) if close else f"one {_EXAMPLE}"
