"""A user's own queue layout in YAML: a reader that names the line of whatever is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path
from types import MappingProxyType

import yaml

from kuijia_app.tables.classifiers import LAST_TRANSPORT_PORT, PROTOCOLS, Classifier, Classifiers, PortRange
from kuijia_app.tables.families import Prefix
from kuijia_app.tables.queues import Queue, QueueLayout, TrafficClass, require_sound
from kuijia_base.errors import UnsoundError, quoted
from kuijia_base.reading import reading
from kuijia_base.yaml_document import YamlDocument

_KEYS = ("name", "queues", "control", "classes", "base", "classifiers", "unmatched")
_OWN_KEYS = ("queues", "control", "classes")
_QUEUE_KEYS = ("id", "name", "traffic_class", "ecn", "guaranteed")
_CLASS_KEYS = ("priority", "code_points", "normal", "victim")
_FIELDS = ("dscp", "source", "destination", "protocol", "source_port", "destination_port")
_CLASSIFIER_KEYS = ("class", *_FIELDS)
_PORTS = f"a port, or a range such as 5000-5009, from 1 to {LAST_TRANSPORT_PORT}"
_MOST_DIGITS = 5
_KEY_OF_FIELD = {"queue_id": "id"}
_QUEUES = "a list of {id, name, traffic_class, ecn?, guaranteed?}"
_CLASSES = "a list of {priority, code_points?, normal, victim}"
_CLASSIFIERS = "a list of {class, dscp?, source?, destination?, protocol?, source_port?, destination_port?}"
_NO_BASES: Mapping[str, QueueLayout] = MappingProxyType({})


def load_layout(path: Path, bases: Mapping[str, QueueLayout] = _NO_BASES) -> QueueLayout:
    """Return the layout in a YAML file; `bases` are the layouts on which one may be based.

    The file holds `queues`, in the strict order in which they are served, each with the `id` that switches know it by,
    a `name`, the `traffic_class` that labels carry, perhaps the `ecn` bits for tagging dscp-ecn and the share of the
    rate that is `guaranteed`; `control`, the name of a queue; and `classes`, the most important first, each with its
    `priority`, the `code_points` its packets are marked with and the names of its `normal` and `victim` queues. Instead
    of these three, `base` may name a layout that has them. `classifiers` are rules that are tried before code points,
    the first one first; `unmatched` is the class of packets that have no other. `name` defaults to the file's name
    without suffix.

    Raises:
        InputError: anything else, and what `require_sound` refuses; its place is the line.
    """
    with reading(path, "a queue layout in YAML"):
        return _Reader(path, bases).read()


class _Reader:
    def __init__(self, path: Path, bases: Mapping[str, QueueLayout]) -> None:
        self._document = YamlDocument(path, "a queue layout", "queues, control and classes")
        self._bases = bases

    def read(self) -> QueueLayout:
        document = self._document
        root = document.root()
        is_based = isinstance(root, yaml.MappingNode) and any(key.value == "base" for key, _ in root.value)
        keys = document.mapping(root, "the file", _KEYS, required=() if is_based else _OWN_KEYS)
        name = document.text(keys["name"], "name") if "name" in keys else document.path.stem
        layout = self._based(name, keys) if is_based else self._own(name, keys)
        layout = replace(layout, classifiers=self._classifiers(keys, layout))
        try:
            require_sound(layout)
        except UnsoundError as error:
            part, *inside = error.where
            at_fault = keys[str(part)]
            if inside:
                position, key = inside
                at_fault = _value(at_fault.value[int(position)], _KEY_OF_FIELD.get(str(key), str(key)))
            raise document.error(at_fault, error.problem, error.expected) from error
        return layout

    def _own(self, name: str, keys: dict[str, yaml.Node]) -> QueueLayout:
        document = self._document
        queue_nodes = document.sequence(keys["queues"], "queues", _QUEUES, "at least one queue")
        class_nodes = document.sequence(keys["classes"], "classes", _CLASSES, "at least one class")
        queues = tuple(self._queue(node) for node in queue_nodes)
        by_name = {queue.name: queue for queue in queues}
        classes = tuple(self._class(node, by_name) for node in class_nodes)
        return QueueLayout(name, queues, self._named(keys["control"], "control", by_name), classes)

    def _based(self, name: str, keys: dict[str, yaml.Node]) -> QueueLayout:
        for key in _OWN_KEYS:
            if key in keys:
                raise self._document.error(keys[key], f"{key} beside a base, which has its own", "one of the two")
        base = self._document.text(keys["base"], "base")
        if base not in self._bases:
            raise self._document.error(keys["base"], f"base {quoted(base)} is unknown", " or ".join(self._bases))
        return replace(self._bases[base], name=name)

    def _classifiers(self, keys: dict[str, yaml.Node], layout: QueueLayout) -> Classifiers:
        document = self._document
        nodes: list[yaml.Node] = []
        if "classifiers" in keys:
            nodes = document.sequence(keys["classifiers"], "classifiers", _CLASSIFIERS, "at least one")
        unmatched = layout.classes[-1].priority if nodes else None
        if "unmatched" in keys:
            unmatched = document.whole(keys["unmatched"], "unmatched")
        return Classifiers(tuple(_classifier(document, node) for node in nodes), unmatched)

    def _queue(self, node: yaml.Node) -> Queue:
        keys = self._document.mapping(node, "a queue", _QUEUE_KEYS, required=("id", "name", "traffic_class"))
        return Queue(
            self._document.whole(keys["id"], "id"),
            self._document.text(keys["name"], "name"),
            self._document.whole(keys["traffic_class"], "traffic_class"),
            self._document.whole(keys["ecn"], "ecn") if "ecn" in keys else None,
            self._document.number(keys["guaranteed"], "guaranteed", "0 to 1") if "guaranteed" in keys else 0.0,
        )

    def _class(self, node: yaml.Node, by_name: dict[str, Queue]) -> TrafficClass:
        keys = self._document.mapping(node, "a class", _CLASS_KEYS, required=("priority", "normal", "victim"))
        code_points: tuple[int, ...] = ()
        if "code_points" in keys:
            marks = self._document.sequence(keys["code_points"], "code_points", "a list of DSCP values", "at least one")
            code_points = tuple(self._document.whole(mark, "a code point") for mark in marks)
        return TrafficClass(
            self._document.whole(keys["priority"], "priority"),
            code_points,
            self._named(keys["normal"], "normal", by_name),
            self._named(keys["victim"], "victim", by_name),
        )

    def _named(self, node: yaml.Node, what: str, by_name: dict[str, Queue]) -> Queue:
        name = self._document.text(node, what)
        if name not in by_name:
            raise self._document.error(node, f"{what} is {quoted(name)}", f"a queue: {', '.join(map(quoted, by_name))}")
        return by_name[name]


def _value(item: yaml.Node, key: str) -> yaml.Node:
    """Return the value of a key that `mapping` has found, the item itself if the key is missing."""
    return next((value for name, value in item.value if name.value == key), item)


def _classifier(document: YamlDocument, node: yaml.Node) -> Classifier:
    """Return the rule in a mapping of a `class`, and of fields that its packets have."""
    keys = document.mapping(node, "a classifier", _CLASSIFIER_KEYS, required=("class",))
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


def _prefix(document: YamlDocument, node: yaml.Node, what: str) -> Prefix:
    text = document.text(node, what)
    try:
        if "%" in text:
            raise ValueError("a zone")  # one sentence for all faults
        return ip_network(text)
    except ValueError as error:
        raise document.error(node, f"{what} {quoted(text)}", "a prefix such as 10.0.1.0/24 or 2001:db8::/32") from error


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
