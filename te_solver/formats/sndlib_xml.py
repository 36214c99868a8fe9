"""Parses SNDlib's XML format without interpreting it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kuijia_base.errors import InputError
from kuijia_base.text import require_number
from te_solver.formats.sndlib_network import SndlibDemand, SndlibLink, SndlibNetwork
from te_solver.formats.xml_document import Element, read_xml

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
