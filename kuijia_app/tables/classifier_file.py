"""Classifiers in a user's queue layout: a reader that names the line of whatever is wrong."""

from __future__ import annotations

from ipaddress import IPv4Network

import yaml

from kuijia_app.tables.classifiers import LAST_TRANSPORT_PORT, PROTOCOLS, Classifier, PortRange
from kuijia_base.errors import quoted
from kuijia_base.yaml_document import YamlDocument

_FIELDS = ("dscp", "source", "destination", "protocol", "source_port", "destination_port")
_KEYS = ("class", *_FIELDS)
_PORTS = f"a port, or a range such as 5000-5009, from 1 to {LAST_TRANSPORT_PORT}"
_MOST_DIGITS = 5


def read_classifier(document: YamlDocument, node: yaml.Node) -> Classifier:
    """Return the rule in a mapping of a `class`, and of fields that its packets have.

    Raises:
        InputError: a key or a value is wrong in itself; its place is the line.
    """
    keys = document.mapping(node, "a classifier", _KEYS, required=("class",))
    if len(keys) == 1:
        raise document.error(node, "a classifier matches everything", f"one of {', '.join(_FIELDS)}, or key unmatched")
    return Classifier(
        document.whole(keys["class"], "class"),
        document.whole(keys["dscp"], "dscp") if "dscp" in keys else None,
        _prefix(document, keys["source"], "source") if "source" in keys else None,
        _prefix(document, keys["destination"], "destination") if "destination" in keys else None,
        _protocol(document, keys["protocol"]) if "protocol" in keys else None,
        _ports(document, keys["source_port"], "source_port") if "source_port" in keys else None,
        _ports(document, keys["destination_port"], "destination_port") if "destination_port" in keys else None,
    )


def _prefix(document: YamlDocument, node: yaml.Node, what: str) -> IPv4Network:
    text = document.text(node, what)
    try:
        return IPv4Network(text)
    except ValueError as error:
        raise document.error(node, f"{what} {quoted(text)}", "a prefix of IPv4 such as 10.0.1.0/24") from error


def _protocol(document: YamlDocument, node: yaml.Node) -> int:
    text = document.text(node, "protocol")
    known = PROTOCOLS.get(text)
    return document.whole(node, "protocol", f"{', '.join(PROTOCOLS)} or a number") if known is None else known


def _ports(document: YamlDocument, node: yaml.Node, what: str) -> PortRange:
    text = document.text(node, what)
    first, dash, last = text.partition("-")
    ends = [first.strip(), last.strip() if dash else first.strip()]
    if not all(end.isascii() and end.isdecimal() and len(end) <= _MOST_DIGITS for end in ends):
        raise document.error(node, f"{what} {quoted(text)}", _PORTS)
    return PortRange(int(ends[0]), int(ends[1]))
