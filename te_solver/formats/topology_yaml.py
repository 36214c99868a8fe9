"""Topologies in our YAML: a reader that names the line of whatever is wrong, a writer that loses nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import yaml

from te_solver.errors import InputError, UnsoundError, quoted
from te_solver.text import parse_number, read_text
from te_solver.topology import POSITIVE_RATE, Link, Topology

_TOPOLOGY_KEYS = ("name", "directed", "nodes", "links")
_LINK_KEYS = ("a", "b", "capacity", "delay")
_KEY_OF_FIELD = {"source": "a", "target": "b", "capacity": "capacity", "delay": "delay"}
_NODES = "a list of node names"
_LINKS = "a list of {a, b, capacity, delay?}"
_PLAIN = re.compile(r"[\w]+([ .-]?[\w]+)*", re.ASCII)
"""What needs no quotes: numbers and words like `yes` are read as text all the same."""


def read_yaml_topology(path: Path) -> Topology:
    """The topology in a YAML file.

    The file holds `nodes`, a list of names, and `links`, a list of `{a, b, capacity, delay?}` with capacities in
    Mbit/s and delays in seconds (default 0). A link stands for both directions unless the file says
    `directed: true`. `name` defaults to the file's name without suffix. Names are text even where they look like
    numbers. `te_solver/schemas/topology.schema.json` says the same for editors.

    Raises:
        InputError: anything else; its place is the line.
    """
    return _Reader(path).read()


def topology_yaml(topology: Topology, comment: str = "") -> str:
    """The text of a YAML file that reads as the same topology, with the comment's lines at its top."""
    data = topology_as_data(topology)
    lines = [f"# {line}".rstrip() for line in comment.splitlines()]
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
    """What a file with this topology holds; undirected when each link is followed by its equal in reverse."""
    links = topology.links
    undirected = len(links) % 2 == 0 and all(
        back == Link(there.target, there.source, there.capacity, there.delay)
        for there, back in zip(links[::2], links[1::2], strict=True)
    )
    return {
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


def _scalar(text: str) -> str:
    # JSON's quoted texts are YAML's.
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def _digits(number: float) -> str:
    """All digits of a number, a whole one without its point."""
    return str(int(number)) if float(number).is_integer() and number < 1e15 else repr(number)


class _Reader:
    """Walks the composed YAML nodes, which know their lines and hold an aliased part once, however often it is used."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> Topology:
        root = self._compose()
        keys = self._mapping(root, "the file", _TOPOLOGY_KEYS, required=("nodes", "links"))
        names = self._sequence(keys["nodes"], "nodes", _NODES)
        entries = self._sequence(keys["links"], "links", _LINKS)
        name = self._text(keys["name"], "name") if "name" in keys else self._path.stem
        directed = "directed" in keys and self._flag(keys["directed"], "directed")
        links = [self._link(entry) for entry in entries]
        if not directed:
            links = [
                each for link in links for each in (link, Link(link.target, link.source, link.capacity, link.delay))
            ]
        try:
            return Topology(name, tuple(self._text(node, "a node name") for node in names), tuple(links))
        except UnsoundError as error:
            if error.where == ("name",):
                at_fault = keys.get("name", root)
            else:
                at_fault = self._entry(error.where, names, entries, links_per_entry=1 if directed else 2)
            raise self._error(at_fault, error.problem, error.expected) from error

    def _compose(self) -> yaml.Node:
        text = read_text(self._path, "a topology file")
        try:
            # The C loader would crash the interpreter on deep nesting; this one raises.
            root = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else ""
            problem = " ".join((error.problem or error.context or "it cannot be parsed").split())
            raise InputError(self._path, line, f"malformed YAML ({problem})", "a topology in YAML") from error
        except yaml.reader.ReaderError as error:
            line = text.count("\n", 0, error.position) + 1
            problem = f"malformed YAML (character {error.character:#04x})"
            raise InputError(self._path, line, problem, "printable text") from error
        except RecursionError as error:
            raise InputError(self._path, "", "nested too deeply", "a topology in YAML") from error
        if not isinstance(root, yaml.Node):
            raise InputError(self._path, "", "the file is empty", "nodes and links")
        return root

    def _link(self, entry: yaml.Node) -> Link:
        keys = self._mapping(entry, "a link", _LINK_KEYS, required=("a", "b", "capacity"))
        return Link(
            self._text(keys["a"], "a"),
            self._text(keys["b"], "b"),
            self._number(keys["capacity"], "capacity", POSITIVE_RATE),
            self._number(keys["delay"], "delay", "a number of seconds") if "delay" in keys else 0.0,
        )

    @staticmethod
    def _entry(
        where: tuple[str | int, ...], names: list[yaml.Node], entries: list[yaml.Node], links_per_entry: int
    ) -> yaml.Node:
        """The YAML node of the node or link that an `UnsoundError` is about."""
        part, position, *field = where
        if part == "nodes":
            return names[int(position)]
        entry = entries[int(position) // links_per_entry]
        key = _KEY_OF_FIELD[str(field[0])] if field else "a"
        found: yaml.Node = next(value for name, value in entry.value if name.value == key)
        return found

    def _mapping(
        self, node: yaml.Node, what: str, known: Collection[str], required: Collection[str]
    ) -> dict[str, yaml.Node]:
        expected = f"the keys {', '.join(known)}"
        if not isinstance(node, yaml.MappingNode):
            raise self._error(node, f"{what} is not a mapping", expected)
        found: dict[str, yaml.Node] = {}
        for key_node, value in node.value:
            key = self._text(key_node, "a key")
            if key not in known:
                raise self._error(key_node, f"unknown key {quoted(key)}", expected)
            if key in found:
                raise self._error(key_node, f"{key} is given twice", "each key once")
            found[key] = value
        for key in required:
            if key not in found:
                raise self._error(node, f"{what} has no {key}", expected)
        return found

    def _sequence(self, node: yaml.Node, what: str, expected: str) -> list[yaml.Node]:
        if not isinstance(node, yaml.SequenceNode):
            raise self._error(node, f"{what} is not a list", expected)
        if not node.value:
            raise self._error(node, f"{what} is empty", "a network of at least two nodes and one link")
        return list(node.value)

    def _text(self, node: yaml.Node, what: str) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise self._error(node, f"{what} is a list or mapping", "a single word or number")
        return str(node.value)

    def _number(self, node: yaml.Node, what: str, expected: str) -> float:
        text = self._text(node, what)
        number = None if _is_quoted(node) else parse_number(text)
        if number is None:
            raise self._error(node, f"{what} {quoted(text)} is not a number", expected)
        return number

    def _flag(self, node: yaml.Node, what: str) -> bool:
        text = self._text(node, what)
        if text not in {"true", "false"} or _is_quoted(node):
            raise self._error(node, f"{what} {quoted(text)}", "true or false")
        return text == "true"

    def _error(self, node: yaml.Node, problem: str, expected: str) -> InputError:
        return InputError(self._path, node.start_mark.line + 1, problem, expected)


def _is_quoted(node: yaml.Node) -> bool:
    """Whether the scalar is a text even where it looks like something else."""
    return isinstance(node, yaml.ScalarNode) and node.style is not None
