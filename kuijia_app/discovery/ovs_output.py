"""Wiring from what Open vSwitch's tools print: numbers of datapaths and ports, for interfaces given by name.

Two forms are understood: that of `ovs-ofctl -O OpenFlow13 show BRIDGE`, and that of `ovs-vsctl --format=json` for the
tables Bridge (one row) and Interface.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from kuijia_app.tables.stated_wiring import StatedWiring, SwitchEnds
from kuijia_app.tables.wiring import HostEnd, default_gateways
from kuijia_app.tables.wiring_file import parse_datapath_id, read_prefixes, with_defaults
from kuijia_base.errors import InputError, UnsoundError, key_path, quoted
from kuijia_base.reading import reading
from kuijia_base.text import parse_whole, read_text
from kuijia_base.yaml_document import YamlDocument

_EXPECTED = "the output of `ovs-ofctl show` or of `ovs-vsctl --format=json list`"
_LARGEST_BYTES = 16 * 2**20
_DATAPATH = re.compile(r"\bdpid:([0-9a-f]{16})\b")
_PORT = re.compile(r"^ *(\d+|[A-Z]+)\((.+)\): addr:", re.MULTILINE)


@dataclass
class SeenSwitch:
    """Report of the tools on one switch: its datapath id, and port numbers by the names of interfaces."""

    datapath_id: int | None = None
    ports: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class NamedEnds:
    """The interfaces of a switch: to each neighbour, and perhaps to the host, with the host's address and prefixes."""

    links: Mapping[str, str]
    host: str | None
    end: HostEnd | None


def read_output(path: Path) -> SeenSwitch:
    """Return what is known of a switch from a file with the output of one or both tools.

    Raises:
        InputError: the file cannot be read, or has no such output, or that of several switches.
    """
    text = read_text(path, _EXPECTED, _LARGEST_BYTES)
    seen = SeenSwitch()
    with reading(path, _EXPECTED):
        for number in _DATAPATH.findall(text):
            _take_datapath_id(seen, number, path)
        for port, interface in _PORT.findall(text):
            if port.isdecimal():
                seen.ports[interface] = int(port)
        for table in _tables(text):
            _take_table(seen, table, path)
    if seen.datapath_id is None:
        raise InputError(path, "", "no datapath id", _EXPECTED)
    return seen


def read_interfaces(path: Path) -> dict[str, NamedEnds]:
    """Return the cables of a network by the names of interfaces: a wiring file without datapath ids.

    Raises:
        InputError: the file is bad; its place is the line.
    """
    with reading(path, "a YAML file of interfaces"):
        document = YamlDocument(path, "a file of interfaces", "switches")
        keys = document.mapping(document.root(), "the file", ("switches",), required=("switches",))
        return {name: _ends(document, name, node) for name, node in _named(document, keys["switches"], "switches")}


def wiring_of(cables: Mapping[str, NamedEnds], seen: Mapping[str, SeenSwitch], source: Path) -> StatedWiring:
    """Return the wiring; `source` is the file of the cables.

    Raises:
        InputError: a switch or an interface is missing in the tools' output, or the wiring contradicts itself.
    """
    switches: dict[str, SwitchEnds] = {}
    for name, ends in cables.items():
        if name not in seen:
            raise InputError(source, f"switches.{name}", "no output of this switch is given", f"{name}=FILE")
        known = seen[name]
        links = {other: _number(source, name, known, interface) for other, interface in ends.links.items()}
        host = None
        if ends.host is not None and ends.end is not None:
            port = _number(source, name, known, ends.host)
            gateways = default_gateways(ends.end.prefixes, ends.end.addresses)
            host = replace(ends.end, port=port, gateways=gateways)
        assert known.datapath_id is not None, "required when it was read"
        switches[name] = SwitchEnds(known.datapath_id, links, host)
    for name in seen:
        if name not in cables:
            raise InputError(source, "switches", f"no switch {quoted(name)}", "one for each output")
    try:
        return StatedWiring(str(source), switches)
    except UnsoundError as error:
        raise InputError(source, key_path(error.where), error.problem, error.expected) from error


def _number(source: Path, name: str, seen: SeenSwitch, interface: str) -> int:
    if interface not in seen.ports:
        known = ", ".join(sorted(seen.ports)) or "none"
        raise InputError(source, f"switches.{name}", f"no port {quoted(interface)} in its output", f"one of: {known}")
    return seen.ports[interface]


def _ends(document: YamlDocument, name: str, node: yaml.Node) -> NamedEnds:
    what = f"switches.{name}"
    keys = document.mapping(node, what, ("links", "host"), required=("links",))
    links = {
        other: document.text(interface, f"{what}.links.{other}")
        for other, interface in _named(document, keys["links"], f"{what}.links")
    }
    if "host" not in keys:
        return NamedEnds(links, None, None)
    within = document.mapping(keys["host"], f"{what}.host", ("port", "prefixes", "address"), ("port", "prefixes"))
    stated, prefixes = read_prefixes(document, f"{what}.host", within)
    address, *more_addresses = with_defaults(stated, prefixes)
    host = HostEnd(0, address, prefixes, more_addresses=tuple(more_addresses))
    return NamedEnds(links, document.text(within["port"], f"{what}.host.port"), host)


def _named(document: YamlDocument, node: yaml.Node, what: str) -> Iterator[tuple[str, yaml.Node]]:
    if not isinstance(node, yaml.MappingNode):
        raise document.error(node, f"{what} is not a mapping", "a mapping whose keys are names of nodes")
    met: set[str] = set()
    for key_node, value in node.value:
        key = document.text(key_node, f"a key of {what}")
        if key in met:
            raise document.error(key_node, f"{what}.{key} is given twice", "each node once")
        met.add(key)
        yield key, value


def _take_datapath_id(seen: SeenSwitch, text: str, path: Path) -> None:
    number = parse_datapath_id(text)
    if number is None:
        raise InputError(path, "", f"datapath id {quoted(text)}", "16 hexadecimal digits")
    if seen.datapath_id not in {None, number}:
        raise InputError(path, "", "two datapath ids", "the output of one switch")
    seen.datapath_id = number


def _tables(text: str) -> Iterator[Mapping[str, Any]]:
    """Yield the tables that `ovs-vsctl --format=json` has printed, one in a line."""
    for line in text.splitlines():
        if line.startswith("{"):
            try:
                table = json.loads(line)
            except (RecursionError, ValueError):
                continue
            if isinstance(table, dict) and isinstance(table.get("headings"), list):
                yield table


def _take_table(seen: SeenSwitch, table: Mapping[str, Any], path: Path) -> None:
    headings = table["headings"]
    for row in _rows(table, path):
        values = dict(zip(headings, row, strict=False))
        if isinstance(values.get("datapath_id"), str):
            _take_datapath_id(seen, values["datapath_id"], path)
        name, port = values.get("name"), values.get("ofport")
        if isinstance(name, str) and isinstance(port, int) and port > 0 and parse_whole(str(port)) is not None:
            seen.ports[name] = port


def _rows(table: Mapping[str, Any], path: Path) -> Iterable[list[Any]]:
    rows = table.get("data")
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise InputError(path, "", "a table without rows", _EXPECTED)
    return rows
