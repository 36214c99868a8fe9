"""A user's own queue layout in YAML: a reader that names the line of whatever is wrong."""

from __future__ import annotations

from pathlib import Path

import yaml

from kuijia_app.tables.queues import Queue, QueueLayout, TrafficClass, require_sound
from kuijia_base.errors import UnsoundError, quoted
from kuijia_base.reading import reading
from kuijia_base.yaml_document import YamlDocument

_KEYS = ("name", "queues", "control", "classes")
_QUEUE_KEYS = ("id", "name", "traffic_class", "ecn", "guaranteed")
_CLASS_KEYS = ("priority", "code_points", "normal", "victim")
_KEY_OF_FIELD = {"queue_id": "id"}
_QUEUES = "a list of {id, name, traffic_class, ecn?, guaranteed?}"
_CLASSES = "a list of {priority, code_points?, normal, victim}"
_WHOLE = "a whole number, zero or more"


def load_layout(path: Path) -> QueueLayout:
    """Return the layout in a YAML file.

    The file holds `queues`, in the strict order in which they are served, each with the `id` that switches know it by,
    a `name`, the `traffic_class` that labels carry, perhaps the `ecn` bits for tagging dscp-ecn and the share of the
    rate that is `guaranteed`; `control`, the name of a queue; and `classes`, the most important first, each with its
    `priority`, the `code_points` its packets are marked with and the names of its `normal` and `victim` queues. `name`
    defaults to the file's name without suffix.

    Raises:
        InputError: anything else, and what `require_sound` refuses; its place is the line.
    """
    with reading(path, "a queue layout in YAML"):
        return _Reader(path).read()


class _Reader:
    def __init__(self, path: Path) -> None:
        self._document = YamlDocument(path, "a queue layout", "queues, control and classes")

    def read(self) -> QueueLayout:
        document = self._document
        root = document.root()
        keys = document.mapping(root, "the file", _KEYS, required=("queues", "control", "classes"))
        name = document.text(keys["name"], "name") if "name" in keys else document.path.stem
        queue_nodes = document.sequence(keys["queues"], "queues", _QUEUES, "at least one queue")
        class_nodes = document.sequence(keys["classes"], "classes", _CLASSES, "at least one class")
        queues = tuple(self._queue(node) for node in queue_nodes)
        by_name = {queue.name: queue for queue in queues}
        classes = tuple(self._class(node, by_name) for node in class_nodes)
        layout = QueueLayout(name, queues, self._named(keys["control"], "control", by_name), classes)
        try:
            require_sound(layout)
        except UnsoundError as error:
            part, *inside = error.where
            at_fault = keys[str(part)]
            if inside:
                position, key = inside
                item = (queue_nodes if part == "queues" else class_nodes)[int(position)]
                at_fault = _value(item, _KEY_OF_FIELD.get(str(key), str(key)))
            raise document.error(at_fault, error.problem, error.expected) from error
        return layout

    def _queue(self, node: yaml.Node) -> Queue:
        keys = self._document.mapping(node, "a queue", _QUEUE_KEYS, required=("id", "name", "traffic_class"))
        return Queue(
            self._whole(keys["id"], "id"),
            self._document.text(keys["name"], "name"),
            self._whole(keys["traffic_class"], "traffic_class"),
            self._whole(keys["ecn"], "ecn") if "ecn" in keys else None,
            self._document.number(keys["guaranteed"], "guaranteed", "0 to 1") if "guaranteed" in keys else 0.0,
        )

    def _class(self, node: yaml.Node, by_name: dict[str, Queue]) -> TrafficClass:
        keys = self._document.mapping(node, "a class", _CLASS_KEYS, required=("priority", "normal", "victim"))
        code_points: tuple[int, ...] = ()
        if "code_points" in keys:
            marks = self._document.sequence(keys["code_points"], "code_points", "a list of DSCP values", "at least one")
            code_points = tuple(self._whole(mark, "a code point") for mark in marks)
        return TrafficClass(
            self._whole(keys["priority"], "priority"),
            code_points,
            self._named(keys["normal"], "normal", by_name),
            self._named(keys["victim"], "victim", by_name),
        )

    def _named(self, node: yaml.Node, what: str, by_name: dict[str, Queue]) -> Queue:
        name = self._document.text(node, what)
        if name not in by_name:
            raise self._document.error(node, f"{what} is {quoted(name)}", f"a queue: {', '.join(map(quoted, by_name))}")
        return by_name[name]

    def _whole(self, node: yaml.Node, what: str) -> int:
        number = self._document.number(node, what, _WHOLE)
        if not (number >= 0 and number.is_integer()):
            raise self._document.error(node, f"{what} {quoted(str(node.value))}", _WHOLE)
        return int(number)


def _value(item: yaml.Node, key: str) -> yaml.Node:
    """Return the value of a key that `mapping` has found, the item itself if the key is missing."""
    return next((value for name, value in item.value if name.value == key), item)
