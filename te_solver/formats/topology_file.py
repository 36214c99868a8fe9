"""Topologies in and out: reads every format there is, chosen by suffix or by name, and writes our YAML."""

from __future__ import annotations

import math
import re
from pathlib import Path

from kuijia_base.additions import TOPOLOGY_FORMATS as FORMATS_GROUP
from kuijia_base.additions import additions, usable
from kuijia_base.errors import InputError, UnsoundError, shown
from kuijia_base.reading import reading
from kuijia_base.text import Note, unheard, write_text
from te_solver.formats.added_format import TopologyFormat
from te_solver.formats.flexile import read_flexile_topology
from te_solver.formats.gml import read_gml
from te_solver.formats.graphml import read_graphml
from te_solver.formats.node_link import read_node_link_topology
from te_solver.formats.repetita import read_repetita_topology
from te_solver.formats.sndlib import is_sndlib_native, read_sndlib_topology
from te_solver.formats.teavar import TOPOLOGY_FILE, file_of_folder, read_teavar_topology
from te_solver.formats.topohub_networks import PREFIX, read_topohub_topology
from te_solver.formats.topology_yaml import read_yaml_topology, topology_yaml
from te_solver.formats.yates import read_yates_topology
from te_solver.model.topology import Topology

_READERS = {"graphml": read_graphml, "gml": read_gml, "yates": read_yates_topology}
_READERS_OF_OPEN_UNITS = {
    "sndlib": read_sndlib_topology,
    "teavar": read_teavar_topology,
    "repetita": read_repetita_topology,
    "flexile": read_flexile_topology,
    "node-link": read_node_link_topology,
}
"""Readers of formats that leave the unit of capacities open."""

TOPOLOGY_FORMATS = ("yaml", *_READERS, *_READERS_OF_OPEN_UNITS)
"""Our own formats."""

_FORMAT_OF_SUFFIX = {
    "": "yaml",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".json": "yaml",
    ".graphml": "graphml",
    ".gml": "gml",
    ".xml": "sndlib",
    ".dot": "yates",
    ".graph": "repetita",
    ".tab": "flexile",
}

_BEGINNING = 200
_DOCUMENT = re.compile(rb'\s*\{\s*"format":\s*"kuijia-([a-z-]+)"')
"""Beginning of a document of ours in JSON."""

_NODE_LINK = re.compile(rb'\s*\{\s*"directed":\s*(true|false),\s*"multigraph":')
"""Beginning of a graph as networkx writes it."""


def topology_formats() -> tuple[str, ...]:
    """Return the names of all formats, ours and those of installed packages."""
    return (*TOPOLOGY_FORMATS, *additions(FORMATS_GROUP, TOPOLOGY_FORMATS))


def load_topology(
    source: str | Path,
    file_format: str | None = None,
    default_capacity: float | None = None,
    note: Note = unheard,
    rate_unit: str | None = None,
) -> Topology:
    """Return the topology in a file, or the network `topohub:KEY`.

    The format is one of `topology_formats()`; by default it is chosen by the suffix: .yaml, .yml, .json (node-link
    where it begins so, else our own, as JSON is YAML) or none, .graphml, .gml, .xml (SNDlib), .dot (YATES), .graph
    (REPETITA), .tab (Flexile), .txt (SNDlib's native format where its heading says so, else TEAVAR), or one that an
    installed format claims; a folder stands for TEAVAR's file in it. Links without a capacity get
    `default_capacity`, in Mbit/s; None stands for `draft.DEFAULT_CAPACITY`. Only YAML leaves nothing open; what a
    reader assumes elsewhere goes to `note`, one sentence each. Where a format leaves the unit of capacities open, it is
    `rate_unit`, one of `RATE_UNITS`; None stands for that which the reader assumes.

    Raises:
        InputError: the file is no such topology; its place is the line where the format has lines. Or the package
            that adds the format is broken.
        ValueError: an unknown format, a default capacity that is not positive and finite.
    """
    if default_capacity is not None and not (math.isfinite(default_capacity) and default_capacity > 0):
        raise ValueError(f"a default capacity of {default_capacity} Mbit/s")
    if str(source).startswith(PREFIX):
        with reading(str(source), "a network of topohub"):
            return read_topohub_topology(str(source), default_capacity, note)
    path = file_of_folder(Path(source), TOPOLOGY_FILE)
    chosen = file_format or _format_of(path)
    if chosen not in topology_formats():
        raise ValueError(f"no topology format {chosen!r}, there are {', '.join(topology_formats())}")
    with reading(path, f"a topology in the format {chosen}"):
        if chosen == "yaml":
            if path.suffix == ".json" and path.is_file():  # what a pipe has can be read only once
                _refuse_documents(path)
            return read_yaml_topology(path)
        if chosen in _READERS:
            return _READERS[chosen](path, default_capacity, note)
        if chosen in _READERS_OF_OPEN_UNITS:
            return _READERS_OF_OPEN_UNITS[chosen](path, default_capacity, note, rate_unit)
        return additions(FORMATS_GROUP)[chosen].load(TopologyFormat).read(path, default_capacity, note)


def save_topology(topology: Topology, path: Path, comment: str = "") -> None:
    """Write our YAML, whole or not at all; raises InputError when the file cannot be written or would be too large."""
    try:
        text = topology_yaml(topology, comment)
    except UnsoundError as error:
        raise InputError(path, "", error.problem, error.expected) from error
    write_text(path, text)


def document_kind(path: Path) -> str | None:
    """Return what a JSON document of ours holds by its first bytes, such as "plan"; None for any other file."""
    try:
        with path.open("rb") as file:
            found = _DOCUMENT.match(file.read(_BEGINNING))
    except (OSError, ValueError):
        return None
    return found and found[1].decode().replace("-", " ")


def _refuse_documents(path: Path) -> None:
    """Raise InputError for a plan or another document of ours, which may be too large to be read as YAML in time."""
    if (kind := document_kind(path)) is not None:
        raise InputError(path, 1, f"a {kind} of kuijia", "a topology")


def _format_of(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix == ".txt":
        return "sndlib" if is_sndlib_native(path, "a topology file") else "teavar"
    if suffix == ".json" and path.is_file():  # what a pipe has can be read only once
        with path.open("rb") as file:
            return "node-link" if _NODE_LINK.match(file.read(_BEGINNING)) else "yaml"
    if suffix in _FORMAT_OF_SUFFIX:
        return _FORMAT_OF_SUFFIX[suffix]
    added = {
        each: name
        for name, form in usable(FORMATS_GROUP, TopologyFormat, TOPOLOGY_FORMATS).items()
        for each in form.suffixes
    }
    if suffix not in added:
        known = ", ".join(name for name in (*_FORMAT_OF_SUFFIX, *added) if name)
        raise InputError(
            path, "", f"{shown(path.suffix)} is no known suffix of a topology", f"{known}, .txt or the option --format"
        )
    return added[suffix]
