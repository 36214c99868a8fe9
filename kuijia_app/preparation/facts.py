"""State of switches and their network devices, read from the output of `ovs-vsctl`, `ip` and `tc`; pure.

The output comes from outside: what is not in Open vSwitch's form is refused in one line.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from kuijia_base.errors import TestbedError, one_line, quoted

COLUMNS = {
    "Bridge": ("_uuid", "name", "datapath_id", "datapath_type", "fail_mode", "protocols", "ports", "external_ids"),
    "Port": ("_uuid", "name", "interfaces", "qos", "external_ids"),
    "Interface": ("_uuid", "name", "type", "ofport", "mtu", "mtu_request", "error", "external_ids", "bfd"),
    "QoS": ("_uuid", "type", "other_config", "queues", "external_ids"),
    "Queue": ("_uuid", "other_config", "external_ids"),
    "Open_vSwitch": ("other_config",),
}
"""Tables of Open vSwitch's database and the columns to read (ovs-vswitchd.conf.db(5))."""

USERSPACE = "netdev"
"""`datapath_type` of switches that forward in the daemon."""

_NAME = re.compile(r"[A-Za-z0-9_.:@+][A-Za-z0-9_.:@+-]{0,14}")
"""Names of network devices that can be given to programs; others are not taken from a database."""

_UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_CLASS = re.compile(r"class htb (1:[0-9a-f]+) (?:parent (1:[0-9a-f]+)|root)\b.*? rate (\d+(?:\.\d+)?)([KMG]?)bit")
_FILTER = re.compile(r"^filter .*?\bprotocol (\S+) .*? \*?flowid (\S+)", re.MULTILINE)
_UNITS = {"": 1e-6, "K": 1e-3, "M": 1.0, "G": 1e3}

_T = TypeVar("_T")


@dataclass(frozen=True)
class QosFacts:
    """Queues of a port in the database: type, settings, and the rows of queues by id with their settings."""

    uuid: str
    kind: str
    settings: Mapping[str, str]
    queue_rows: Mapping[int, str]
    queues: Mapping[int, Mapping[str, str]]
    notes: Mapping[str, str]


@dataclass(frozen=True)
class PortFacts:
    """A port of a bridge and its interface, with the rows of both; `notes` are those of the port."""

    uuid: str
    interface_uuid: str
    name: str
    number: int
    kind: str
    mtu: int | None
    mtu_request: int | None
    error: str
    qos: QosFacts | None
    notes: Mapping[str, str]
    interface_notes: Mapping[str, str]
    bfd: Mapping[str, str]


@dataclass(frozen=True)
class BridgeFacts:
    """A bridge; `unnumbered` are ports that have no OpenFlow number, with Open vSwitch's reason."""

    uuid: str
    name: str
    datapath_id: int
    datapath_type: str
    fail_mode: str
    protocols: frozenset[str]
    ports: Mapping[int, PortFacts]
    unnumbered: Mapping[str, str]
    notes: Mapping[str, str]

    @property
    def is_userspace(self) -> bool:
        return self.datapath_type == USERSPACE


@dataclass(frozen=True)
class DatabaseFacts:
    """All bridges, the names of all QoS rows, those without a port, and the stated number of tags that are read."""

    bridges: tuple[BridgeFacts, ...]
    qos_rows: frozenset[str] = frozenset()
    unused_qos: tuple[QosFacts, ...] = ()
    vlan_limit: str = ""


@dataclass(frozen=True)
class DeviceFacts:
    """A network device and its queues.

    Attributes:
        is_cable: True for one end of a veth pair.
        is_up: False if somebody has switched it off.
        root: kind of the root qdisc, empty if it is the kernel's own.
        parents: of HTB classes; an empty text is the qdisc itself.
        rates: of HTB classes in Mbit/s.
        leaves: kinds of qdiscs by the class that they serve.
        filters: how many filters of a protocol lead to a class.
    """

    is_cable: bool = False
    is_up: bool = True
    root: str = ""
    parents: Mapping[str, str] = field(default_factory=dict)
    rates: Mapping[str, float] = field(default_factory=dict)
    leaves: Mapping[str, str] = field(default_factory=dict)
    filters: Counter[tuple[str, str]] = field(default_factory=Counter)


def list_arguments() -> list[str]:
    """Return the arguments of `ovs-vsctl` that print what `parse_database` reads."""
    arguments = ["--format=json"]
    for table, columns in COLUMNS.items():
        arguments += ["--", f"--columns={','.join(columns)}", "list", table]
    return arguments


def parse_database(text: str, source: str) -> DatabaseFacts:
    """Return the facts in the output of `ovs-vsctl` with `list_arguments`.

    Raises:
        TestbedError: the output has another form; the message names the source.
    """
    return _parsed(lambda: _database(text), text, source)


def parse_devices(
    links: str, qdiscs: str, classes: Mapping[str, str], filters: Mapping[str, str]
) -> dict[str, DeviceFacts]:
    """Return the facts of all devices.

    Args:
        links: output of `ip -json -details link show`.
        qdiscs: output of `tc -json qdisc show`.
        classes: output of `tc class show` by device.
        filters: output of `tc filter show` by device, as text: older releases print no valid JSON for u32 filters.

    Raises:
        TestbedError: an output has another form.
    """

    def read() -> dict[str, DeviceFacts]:
        of_device: dict[str, list[Any]] = {}
        for qdisc in json.loads(qdiscs):
            of_device.setdefault(qdisc.get("dev", ""), []).append(qdisc)
        return {
            link["ifname"]: _device(
                link,
                of_device.get(link["ifname"], ()),
                classes.get(link["ifname"], ""),
                filters.get(link["ifname"], ""),
            )
            for link in json.loads(links)
            if link
        }

    return _parsed(read, links, "this machine")


def _parsed(read: Callable[[], _T], text: str, source: str) -> _T:
    try:
        return read()
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        said = quoted(one_line(text, 80))
        raise TestbedError(f"{source} answers in another form than Open vSwitch or iproute2: {said}") from error


def _device(link: Mapping[str, Any], qdiscs: Iterable[Any], classes: str, filters: str) -> DeviceFacts:
    found = _CLASS.findall(classes)
    qdiscs = list(qdiscs)
    return DeviceFacts(
        is_cable=link.get("linkinfo", {}).get("info_kind") == "veth",
        is_up="UP" in link.get("flags", ["UP"]),
        root=next((each["kind"] for each in qdiscs if each.get("root") and each["handle"] != "0:"), ""),
        parents={name: parent for name, parent, _, _ in found},
        rates={name: float(rate) * _UNITS[unit] for name, _, rate, unit in found},
        leaves={each["parent"]: each["kind"] for each in qdiscs if "parent" in each},
        filters=Counter(_FILTER.findall(filters)),
    )


def _database(text: str) -> DatabaseFacts:
    tables = dict(zip(COLUMNS, map(_table, text.splitlines()), strict=True))
    settings = {row["_uuid"]: _map(row["other_config"]) for row in tables["Queue"]}
    qos = {row["_uuid"]: _qos(row, settings) for row in tables["QoS"]}
    interfaces = {row["_uuid"]: row for row in tables["Interface"]}
    ports = {row["_uuid"]: row for row in tables["Port"]}
    named = [row for row in tables["Bridge"] if _NAME.fullmatch(str(row["name"]))]
    found = [_bridge(row, ports, interfaces, qos) for row in named]
    daemon: dict[str, str] = next((_map(row["other_config"]) for row in tables["Open_vSwitch"]), {})
    used = {_optional(row["qos"]) for row in tables["Port"]}
    unused = tuple(each for uuid, each in qos.items() if uuid not in used)
    return DatabaseFacts(tuple(found), frozenset(qos), unused, one_line(daemon.get("vlan-limit", ""), 20))


def _table(line: str) -> list[dict[str, Any]]:
    listed = json.loads(line)
    return [dict(zip(listed["headings"], map(_value, row), strict=True)) for row in listed["data"]]


def _value(value: Any) -> Any:  # noqa: ANN401  # JSON
    """Return a value of a row in Python's types (RFC 7047, 5.1); optional ones that are not there are an empty list."""
    if not isinstance(value, list):
        return value
    kind, content = value
    if kind == "uuid":
        if not _UUID.fullmatch(content):
            raise ValueError(f"{quoted(content)} is no UUID")
        return str(content)
    if kind == "set":
        return [_value(each) for each in content]
    return {_value(key): _value(each) for key, each in content}


def _qos(row: Mapping[str, Any], settings: Mapping[str, Mapping[str, str]]) -> QosFacts:
    rows = {int(number): str(uuid) for number, uuid in row["queues"].items()}
    queues = {number: settings[uuid] for number, uuid in rows.items() if uuid in settings}
    return QosFacts(row["_uuid"], str(row["type"]), _map(row["other_config"]), rows, queues, _map(row["external_ids"]))


def _bridge(
    row: Mapping[str, Any],
    ports: Mapping[str, Mapping[str, Any]],
    interfaces: Mapping[str, Mapping[str, Any]],
    qos: Mapping[str, QosFacts],
) -> BridgeFacts:
    found: dict[int, PortFacts] = {}
    unnumbered: dict[str, str] = {}
    for port in (ports[uuid] for uuid in _set(row["ports"])):
        for interface in (interfaces[uuid] for uuid in _set(port["interfaces"])):
            number, error = _optional(interface["ofport"]), str(_optional(interface["error"]) or "")
            name = str(interface["name"])
            if number is None or int(number) < 0 or not _NAME.fullmatch(name):
                unnumbered[one_line(name, 40)] = one_line(error, 200)
                continue
            found[int(number)] = PortFacts(
                port["_uuid"],
                interface["_uuid"],
                name,
                int(number),
                str(interface["type"]),
                _whole(interface["mtu"]),
                _whole(interface["mtu_request"]),
                one_line(error, 200),
                qos.get(str(_optional(port["qos"]))),
                _map(port["external_ids"]),
                _map(interface["external_ids"]),
                _map(interface["bfd"]),
            )
    return BridgeFacts(
        row["_uuid"],
        str(row["name"]),
        int(str(_optional(row["datapath_id"]) or "0"), 16),
        str(row["datapath_type"]),
        str(_optional(row["fail_mode"]) or ""),
        frozenset(map(str, _set(row["protocols"]))),
        found,
        unnumbered,
        _map(row["external_ids"]),
    )


def _set(value: Any) -> list[Any]:  # noqa: ANN401  # JSON
    """Return the members of a set; one of a single member is that member."""
    return value if isinstance(value, list) else [value]


def _optional(value: Any) -> Any:  # noqa: ANN401  # JSON
    return None if value == [] else value


def _whole(value: Any) -> int | None:  # noqa: ANN401  # JSON
    return None if _optional(value) is None else int(value)


def _map(value: Any) -> dict[str, str]:  # noqa: ANN401  # JSON
    return {str(key): str(each) for key, each in value.items()}
