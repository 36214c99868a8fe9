"""Reads topologies and demands of SNDlib (Orlowski et al., Networks 55, 2010), in its native and its XML format."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from kuijia_base.errors import InputError, quoted
from kuijia_base.quantities import counted
from kuijia_base.text import Note, read_lines, read_text, require_number
from te_solver.formats.draft import DemandSum, NetworkDraft, RateUnit
from te_solver.formats.xml_document import Element, read_xml
from te_solver.model.demands import Demand
from te_solver.model.topology import Topology

HEADER = "?SNDlib native format"

_NATIVE = "an SNDlib network file"
_TOKEN = re.compile(r"[()]|[^\s()]+")
_META = re.compile(r"META\s*\(")
_END = ("", 0)
_MOST_BYTES = 16 * 2**20


def parse_sndlib_native(path: Path) -> SndlibNetwork:
    """Return META, NODES, LINKS and DEMANDS of a network file (http://sndlib.zib.de/home.action, "Native format").

    Raises:
        InputError: anything else; its place is the line.
    """
    lines = read_text(path, _NATIVE, _MOST_BYTES).split("\n")
    is_data = (bool(line.strip()) and not line.lstrip().startswith("#") for line in lines)
    number, header = next(((number, lines[number]) for number, data in enumerate(is_data) if data), (0, ""))
    kind = dict(part.strip().partition(":")[::2] for part in header.split(";")[1:])
    if not header.lstrip().startswith(HEADER) or kind.get("type", "").strip() != "network":
        expected = f"{HEADER}; type: network; version: 1.0"
        raise InputError(path, number + 1, f"found {quoted(header.strip())}", expected)
    return _NativeParser(path, lines).parse()


class _NativeParser:
    """Parser of the file's words and brackets; a `#` starts a comment."""

    def __init__(self, path: Path, lines: list[str]) -> None:
        self._path = path
        self._network = SndlibNetwork()
        self._tokens = self._split(lines)
        self._text, self._line = next(self._tokens, _END)

    def _split(self, lines: list[str]) -> Iterator[tuple[str, int]]:
        """Yield words and brackets with their lines, without those of META."""
        data = (
            (number, line.partition("#")[0].strip())
            for number, line in enumerate(lines, start=1)
            if not line.lstrip().startswith("?")
        )
        for number, line in data:
            if _META.match(line):
                self._meta(line, data)
            else:
                for match in _TOKEN.finditer(line):
                    yield match.group(), number

    def _meta(self, line: str, lines: Iterator[tuple[int, str]]) -> None:
        """Read META, whose first line is given: settings such as `unit = MBITPERSEC`, one a line.

        Their values are free text: brackets in it end the section only if nothing opens them.
        """
        line = line.partition("(")[2]
        while True:
            ends = line.endswith(")") and line.count(")") > line.count("(")
            key, _, value = line[: len(line) - ends].partition("=")
            if key.strip() == "unit":
                self._network.unit = value.strip()
            if ends:
                return
            number, line = next(lines, (0, ""))
            if not number:
                raise InputError(self._path, "", "the file ends in the middle of a section", "a key")

    def parse(self) -> SndlibNetwork:
        items = {"NODES": self._node, "LINKS": self._link, "DEMANDS": self._demand}
        while self._text:
            section, line = self._next("a section")
            if section not in items and section != "ADMISSIBLE_PATHS":
                raise InputError(self._path, line, f"unknown section {quoted(section)}", ", ".join([*items, "META"]))
            self._take("(")
            if section in items:
                while self._text != ")":
                    items[section]()
            else:
                self._skip()
            self._take(")")
        return self._network

    def _node(self) -> None:
        """`Berlin ( 13.4 52.5 )`, with further brackets or without any."""
        self._network.nodes.append(self._next("a node"))
        while self._text == "(":
            self._take("(")
            self._skip()
            self._take(")")

    def _link(self) -> None:
        """`L1 ( A B ) installed installed_cost routing_cost setup_cost ( capacity cost capacity cost )`."""
        _, line = self._next("a link")
        source, target = self._ends()
        installed, *_costs = [self._number(what) for what in ("the pre-installed capacity", *["a cost"] * 3)]
        modules = []
        self._take("(")
        while self._text != ")":
            modules.append(self._number("the capacity of a module"))
            self._number("the cost of a module")
        self._take(")")
        self._network.links.append(SndlibLink(source, target, installed, tuple(modules), line))

    def _demand(self) -> None:
        """`D1 ( A B ) routing_unit value longest_path`."""
        _, line = self._next("a demand")
        source, target = self._ends()
        routing_unit, value = self._number("the routing unit"), self._number("the demand")
        self._next("the longest path")
        self._network.demands.append(SndlibDemand(source, target, value, routing_unit, line))

    def _ends(self) -> tuple[str, str]:
        self._take("(")
        ends = self._next("a node")[0], self._next("a node")[0]
        self._take(")")
        return ends

    def _skip(self) -> None:
        """Skip to the bracket that closes the current section."""
        depth = 0
        while self._text != ")" or depth:
            depth += (self._text == "(") - (self._text == ")")
            self._next(")", brackets=True)

    def _number(self, what: str) -> float:
        text, line = self._next(what)
        return require_number(text, self._path, line, what, "a number")

    def _take(self, bracket: str) -> None:
        text, line = self._next(bracket, brackets=True)
        if text != bracket:
            raise InputError(self._path, line, f"found {quoted(text)}", quoted(bracket))

    def _next(self, what: str, *, brackets: bool = False) -> tuple[str, int]:
        """Return the current word and its line, and move to the next one."""
        found = self._text, self._line
        if not self._text:
            raise InputError(self._path, "", "the file ends in the middle of a section", f"{what}")
        if not brackets and self._text in {"(", ")"}:
            raise InputError(self._path, self._line, f"found {quoted(self._text)}", what)
        self._text, self._line = next(self._tokens, _END)
        return found


@dataclass(frozen=True, slots=True)
class SndlibLink:
    """A link between two nodes: the installed capacity and those that could be installed, in the file's unit."""

    source: str
    target: str
    installed: float
    modules: tuple[float, ...]
    line: int


@dataclass(frozen=True, slots=True)
class SndlibDemand:
    """A demand in multiples of its routing unit, in the file's unit."""

    source: str
    target: str
    value: float
    routing_unit: float
    line: int


@dataclass
class SndlibNetwork:
    """Contents of a network file, uninterpreted; `unit` is empty if the file does not give it.

    `positions` are the longitude and latitude, or x and y, of nodes that have them.
    """

    nodes: list[tuple[str, int]] = field(default_factory=list)
    positions: dict[str, tuple[str, str]] = field(default_factory=dict)
    links: list[SndlibLink] = field(default_factory=list)
    demands: list[SndlibDemand] = field(default_factory=list)
    unit: str = ""


_EXPECTED = "an SNDlib network in XML"


def parse_sndlib_xml(path: Path) -> SndlibNetwork:
    """Return the network of an XML file (http://sndlib.zib.de/network.xsd).

    Raises:
        InputError: anything else; its place is the line.
    """
    root = read_xml(path, "network", _EXPECTED)
    network = SndlibNetwork()
    unit = _inside(root, "meta", "unit")
    if unit is not None:
        network.unit = unit.text
    network.nodes += [(_identity(path, node), node.line) for node in _items(root, "networkStructure", "nodes", "node")]
    for node in _items(root, "networkStructure", "nodes", "node"):
        x, y = _inside(node, "coordinates", "x"), _inside(node, "coordinates", "y")
        if x is not None and y is not None:
            network.positions[_identity(path, node)] = x.text, y.text
    network.links += [_link(path, link) for link in _items(root, "networkStructure", "links", "link")]
    network.demands += [_demand(path, demand) for demand in _items(root, "demands", "demand")]
    return network


def _link(path: Path, link: Element) -> SndlibLink:
    installed = _inside(link, "preInstalledModule", "capacity")
    modules = [_child(path, module, "capacity") for module in _items(link, "additionalModules", "addModule")]
    return SndlibLink(
        _child(path, link, "source").text,
        _child(path, link, "target").text,
        _number(path, installed) if installed is not None else 0.0,
        tuple(_number(path, capacity) for capacity in modules),
        link.line,
    )


def _demand(path: Path, demand: Element) -> SndlibDemand:
    routing_unit = demand.first("routingUnit")
    return SndlibDemand(
        _child(path, demand, "source").text,
        _child(path, demand, "target").text,
        _number(path, _child(path, demand, "demandValue")),
        _number(path, routing_unit) if routing_unit is not None else 1.0,
        demand.line,
    )


def _items(element: Element, *way: str) -> Iterator[Element]:
    """Return the elements with the last name, inside the first elements with the names before it."""
    *outer, tag = way
    parent = _inside(element, *outer)
    return parent.all(tag) if parent is not None else iter(())


def _inside(element: Element, *way: str) -> Element | None:
    found: Element | None = element
    for tag in way:
        found = found.first(tag) if found is not None else None
    return found


def _child(path: Path, element: Element, tag: str) -> Element:
    found = element.first(tag)
    if found is None:
        raise InputError(path, element.line, f"a {element.tag} without {tag}", _EXPECTED)
    return found


def _identity(path: Path, element: Element) -> str:
    if "id" not in element.attributes:
        raise InputError(path, element.line, f"a {element.tag} without id", _EXPECTED)
    return element.attributes["id"]


def _number(path: Path, element: Element) -> float:
    return require_number(element.text, path, element.line, element.tag, "a number")


_MBITS_PER_UNIT = {"BITSPERSEC": 1e-6, "KBITPERSEC": 1e-3, "MBITPERSEC": 1.0, "GBITPERSEC": 1e3}
_LINES_LOOKED_AT = 50


def is_sndlib_native(path: Path, expected: str) -> bool:
    """Return True if the file begins as SNDlib's native format does; raises InputError if it cannot be read."""
    return any(line.lstrip().startswith(HEADER) for _, line in islice(read_lines(path, expected), _LINES_LOOKED_AT))


def read_sndlib_topology(path: Path, default_capacity: float | None, note: Note, unit: str | None) -> Topology:
    """Return the topology of a network file.

    A link has its pre-installed capacity; where none is installed, that of its largest module; else the default.
    SNDlib's model, another file, says whether links are directed. Here they are if each has its reverse in
    the file, otherwise a link carries its capacity in each direction (SNDlib's link model BIDIRECTED).

    Raises:
        InputError: the file cannot be read, or the network breaks a rule of `Topology`; its place is the line.
    """
    network = _parse(path)
    factor = _unit(path, network, note, unit)
    draft = NetworkDraft(path, path.stem, default_capacity, note)
    for node, line in network.nodes:
        draft.add_node(node, place=line)
        draft.put_node(node, *network.positions.get(node, (None, None)))
    given = {(link.source, link.target) for link in network.links}
    directed = bool(given) and all((target, source) in given for source, target in given)
    from_modules = 0
    for link in network.links:
        capacity: float | None = link.installed * factor
        if not link.installed:
            largest = max(link.modules, default=0.0)
            capacity = largest * factor or None
            from_modules += capacity is not None
        draft.add_edge(link.source, link.target, capacity, directed=directed, place=link.line)
    if from_modules:
        share = f"{from_modules} of {counted(len(network.links), 'link')}"
        note(f"{share} without installed capacity: that of the largest module taken")
    if directed:
        note("each link has its reverse in the file: links are taken as directed")
    return draft.topology()


def read_sndlib_demands(
    path: Path, topology: Topology, row: int | None, note: Note, unit: str | None
) -> tuple[Demand, ...]:
    """Return the demands of a network file: value times routing unit, from source to target.

    Raises:
        InputError: the file cannot be read, an unknown node, a value that is negative or not finite; its place is the
            line.
    """
    del row  # the file has one matrix
    network = _parse(path)
    factor = _unit(path, network, note, unit)
    total = DemandSum(path, topology)
    for each in network.demands:
        total.add(each.source, each.target, each.value * each.routing_unit * factor, each.line)
    return total.demands(note)


def _parse(path: Path) -> SndlibNetwork:
    in_xml = path.suffix.lower() == ".xml" or _opens_like_xml(path)
    return parse_sndlib_xml(path) if in_xml else parse_sndlib_native(path)


def _opens_like_xml(path: Path) -> bool:
    first = next((line.strip() for _, line in read_lines(path, "an SNDlib network file") if line.strip()), "")
    return first.startswith("<")


def _unit(path: Path, network: SndlibNetwork, note: Note, stated: str | None) -> float:
    """Return the file's unit in Mbit/s."""
    if not network.unit:
        rates = RateUnit(stated, "Mbit/s")
        rates.note("the file names no unit: its capacities and demands", note)
        return 1 / rates.per_mbit
    if network.unit not in _MBITS_PER_UNIT:
        raise InputError(path, "", f"unit {quoted(network.unit)}", f"one of {', '.join(_MBITS_PER_UNIT)}")
    return _MBITS_PER_UNIT[network.unit]
