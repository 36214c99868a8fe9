"""Topologies in our YAML: a reader whose errors name the line, and a lossless writer."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

from kuijia_base.errors import UnsoundError, one_line
from kuijia_base.quantities import RATE_EXPECTED
from kuijia_base.yaml_document import MOST_VALUES, YamlDocument
from te_solver.model.topology import MOST_LINKS, Link, Topology

_TOPOLOGY_KEYS = ("name", "directed", "nodes", "links")
_LINK_KEYS = ("a", "b", "capacity", "delay")
_KEY_OF_FIELD = {"source": "a", "target": "b", "capacity": "capacity", "delay": "delay"}
_NODES = "a list of node names"
_LINKS = "a list of {a, b, capacity, delay?}"
_FILLED = "a network of at least two nodes and one link"
_PLAIN = re.compile(r"\w+(?:[ .-]\w+)*", re.ASCII)
"""Text that needs no quotes: the reader takes numbers and words like `yes` for text too."""


def read_yaml_topology(path: Path) -> Topology:
    """Return the topology in a YAML file.

    The file holds `nodes`, a list of names, and `links`, a list of `{a, b, capacity, delay?}`, capacities in Mbit/s or
    with a unit as in `10G`, delays in seconds (default 0). A link stands for both directions unless the file says
    `directed: true`. `name` defaults to the file's name without suffix. Names are text even where they look like
    numbers. `te_solver/schemas/topology.schema.json` says the same for editors.

    Raises:
        InputError: anything else; its place is the line.
    """
    return _Reader(path).read()


def topology_yaml(topology: Topology, comment: str = "") -> str:
    """Return the text of a YAML file that reads as the same topology, with the comment's lines at its top.

    Raises:
        UnsoundError: the text would have more values than the reader takes.
    """
    data = topology_as_data(topology)
    lines = [f"# {one_line(line)}".rstrip() for line in comment.splitlines()]
    lines.append(f"name: {_scalar(data['name'])}")
    if data.get("directed"):
        lines.append("directed: true")
    lines += ["nodes:", *(f"  - {_scalar(node)}" for node in data["nodes"]), "links:"]
    for link in data["links"]:
        ends = f"a: {_scalar(link['a'])}, b: {_scalar(link['b'])}"
        numbers = "".join(f", {key}: {_digits(link[key])}" for key in ("capacity", "delay") if key in link)
        lines.append(f"  - {{{ends}{numbers}}}")
    return "\n".join(lines) + "\n"


def topology_as_data(topology: Topology) -> dict[str, Any]:
    """Return the data of a file with this topology; undirected if each link is followed by its equal in reverse.

    Raises:
        UnsoundError: these are more values than the reader of such a file takes.
    """
    links = topology.links
    undirected = len(links) % 2 == 0 and all(
        back == Link(there.target, there.source, there.capacity, there.delay)
        for there, back in zip(links[::2], links[1::2], strict=True)
    )
    data = {
        "name": topology.name,
        **({} if undirected else {"directed": True}),
        "nodes": list(topology.nodes),
        "links": [
            {
                "a": link.source,
                "b": link.target,
                "capacity": link.capacity,
                **({"delay": link.delay} if link.delay else {}),
            }
            for link in (links[::2] if undirected else links)
        ],
    }
    if (values := _values(data)) > MOST_VALUES:
        raise UnsoundError((), f"{topology.name} has {values} values in YAML", f"at most {MOST_VALUES}")
    return data


def _values(data: dict[str, Any]) -> int:
    """Return the number of keys, texts, lists and mappings, as `yaml_document` counts them."""
    return 1 + 2 * len(data) + len(data["nodes"]) + sum(1 + 2 * len(link) for link in data["links"])


def _scalar(text: str) -> str:
    # JSON's quoted texts are YAML's.
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def _digits(number: float) -> str:
    """Return all digits of a number, without the point if it is whole."""
    return str(int(number)) if float(number).is_integer() and number < 1e15 else repr(number)


class _Reader:
    """Reader that walks the YAML nodes of the file."""

    def __init__(self, path: Path) -> None:
        self._document = YamlDocument(path, "a topology", "nodes and links")

    def read(self) -> Topology:
        root = self._document.root()
        keys = self._document.mapping(root, "the file", _TOPOLOGY_KEYS, required=("nodes", "links"))
        names = self._document.sequence(keys["nodes"], "nodes", _NODES, _FILLED)
        entries = self._document.sequence(keys["links"], "links", _LINKS, _FILLED)
        name = self._document.text(keys["name"], "name") if "name" in keys else self._document.path.stem
        directed = "directed" in keys and self._document.flag(keys["directed"], "directed")
        most = MOST_LINKS if directed else MOST_LINKS // 2
        if len(entries) > most:
            raise self._document.error(entries[most], "too many links", f"a network of at most {MOST_LINKS} links")
        links = [self._link(entry) for entry in entries]
        if not directed:
            links = [
                each for link in links for each in (link, Link(link.target, link.source, link.capacity, link.delay))
            ]
        try:
            return Topology(name, tuple(self._document.text(node, "a node name") for node in names), tuple(links))
        except UnsoundError as error:
            if error.where == ("name",):
                at_fault = keys.get("name", root)
            else:
                at_fault = self._entry(error.where, names, entries, links_per_entry=1 if directed else 2)
            raise self._document.error(at_fault, error.problem, error.expected) from error

    def _link(self, entry: yaml.Node) -> Link:
        keys = self._document.mapping(entry, "a link", _LINK_KEYS, required=("a", "b", "capacity"))
        return Link(
            self._document.text(keys["a"], "a"),
            self._document.text(keys["b"], "b"),
            self._document.rate(keys["capacity"], "capacity", RATE_EXPECTED),
            self._document.number(keys["delay"], "delay", "a number of seconds") if "delay" in keys else 0.0,
        )

    @staticmethod
    def _entry(
        where: tuple[str | int, ...], names: list[yaml.Node], entries: list[yaml.Node], links_per_entry: int
    ) -> yaml.Node:
        """Return the YAML node of the node or link that an `UnsoundError` is about."""
        part, position, *field = where
        if part == "nodes":
            return names[int(position)]
        entry = entries[int(position) // links_per_entry]
        key = _KEY_OF_FIELD[str(field[0])] if field else "a"
        found: yaml.Node = next(value for name, value in entry.value if name.value == key)
        return found
