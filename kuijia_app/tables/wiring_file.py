"""Wiring files in YAML or JSON: a reader that names the line or the key of whatever is wrong, and a writer."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address, IPv6Network, NetmaskValueError
from pathlib import Path
from typing import Any, TypeVar

import yaml

from kuijia_app.tables.families import Address, Prefix, family_of
from kuijia_app.tables.identifiers import LAST_PORT
from kuijia_app.tables.rules import LAST_VLAN_ID
from kuijia_app.tables.stated_wiring import ALL_BITS, Mask, StatedWiring, SwitchEnds, datapath_text
from kuijia_app.tables.wiring import HostEnd, Neighbours, Wiring
from kuijia_base.errors import InputError, UnsoundError, key_path, quoted
from kuijia_base.reading import reading
from kuijia_base.yaml_document import YamlDocument
from te_solver.model.topology import Topology

VERSION = 1

_Value = TypeVar("_Value")

_KEYS = ("version", "switches", "not_ours")
_SWITCH_KEYS = ("datapath_id", "links", "host", "ovsdb")
_HOST_KEYS = ("port", "prefixes", "address", "gateway", "router", "vlan", "tagged")

_DATAPATH_ID = re.compile(r"(?:0[xX])?([0-9A-Fa-f]{16})|0[xX]([0-9A-Fa-f]{1,15})|(\d{1,15})")
_PAIRS = re.compile(r"[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){7}")
DATAPATH_EXPECTED = "16 hexadecimal digits, 0x and fewer, or a decimal number of up to 15 digits"
DATABASE_EXPECTED = "unix:/PATH, tcp:HOST:PORT or ssl:HOST:PORT"
_DATABASE = re.compile(r"unix:/[^\0\n]+|(tcp|ssl):(\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z][0-9A-Za-z.-]*):[0-9]{1,5}")
_PLAIN = re.compile(r"[A-Za-z_][0-9A-Za-z_.-]*")
_NO_TEXTS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
"""Plain words that some readers of YAML take for something else."""

_PREFIX_EXPECTED = "a prefix such as 10.0.1.0/24 or 2001:db8:1::/64"
_ADDRESSES_EXPECTED = "an address, or a list of them"


def load_wiring(path: Path) -> StatedWiring:
    """Return the wiring in a YAML or JSON file, in the form that `docs/wiring.md` describes.

    Raises:
        InputError: anything else, and a file that contradicts itself; its place is the line or the key.
    """
    with reading(path, "a wiring in YAML or JSON"):
        return _Reader(path).read()


def emulated_wiring(topology: Topology, file: str, neighbours: str = Neighbours.WIRING.value) -> Wiring:
    """Return the wiring of a network of Open vSwitch's switches: that of a file, by the topology if `file` is empty.

    `neighbours` is a value of `Neighbours`.

    Raises:
        InputError: the file is bad, that of another network, or has several sites at a switch or one behind a trunk.
    """
    if not file:
        return Wiring(topology, neighbours=Neighbours(neighbours))
    stated = load_wiring(Path(file))
    for name, ends in stated.switches.items():
        if ends.more_hosts:
            raise stated.contradiction(("switches", name, "host"), "several sites", "one in a lab")
        if ends.host is not None and ends.host.vlan is not None:
            problem = "hosts of a lab send no tags"
            raise stated.contradiction(("switches", name, "host", "vlan"), problem, "no such key")
    return replace(stated.of(topology), neighbours=Neighbours(neighbours))


def wiring_to_json(wiring: StatedWiring) -> dict[str, Any]:
    """Return a wiring as JSON data, as described by `docs/schemas/wiring.schema.json`."""
    switches: dict[str, Any] = {}
    for name, ends in wiring.switches.items():
        described: dict[str, Any] = {"datapath_id": datapath_text(ends.datapath_id), "links": dict(ends.links)}
        if ends.hosts:
            described["host"] = _one_or_all(map(_host_to_json, ends.hosts))
        if ends.ovsdb:
            described["ovsdb"] = ends.ovsdb
        switches[name] = described
    others = [mask_text(mask) for mask in wiring.not_ours]
    return {"version": VERSION, "switches": switches, **({"not_ours": others} if others else {})}


def _host_to_json(host: HostEnd) -> dict[str, Any]:
    port: int | list[int] = list(host.ports) if host.more_ports else host.port
    described: dict[str, Any] = {"port": port, "prefixes": list(map(str, host.prefixes))}
    described["address"] = _one_or_all(map(str, host.addresses))
    if host.gateways:
        described["gateway"] = _one_or_all(map(str, host.gateways))
    if host.router is not None:
        described["router"] = str(host.router)
    if host.vlan is not None:
        described["vlan"] = host.vlan
    if host.tagged:
        described["tagged"] = True
    return described


def _one_or_all(values: Iterable[_Value]) -> _Value | list[_Value]:
    found = list(values)
    return found if len(found) > 1 else found[0]


def wiring_text(wiring: StatedWiring, *, as_json: bool = False, remarks: Iterable[str] = ()) -> str:
    """Return the text of a wiring file; remarks become comments, which JSON has none of."""
    data = wiring_to_json(wiring)
    if as_json:
        return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    lines = [*(f"# {remark}" for remark in remarks), f"version: {VERSION}", "switches:"]
    for name, described in data["switches"].items():
        lines.append(f"  {_word(name)}:")
        lines.append(f'    datapath_id: "{described["datapath_id"]}"')
        links = ", ".join(f"{_word(other)}: {port}" for other, port in described["links"].items())
        lines.append(f"    links: {{{links}}}")
        if "host" in described:
            lines.append(f"    host: {_flow_text(described['host'])}")
        if "ovsdb" in described:
            lines.append(f"    ovsdb: {json.dumps(described['ovsdb'])}")
    if "not_ours" in data:
        lines += ["not_ours:", *(f'  - "{each}"' for each in data["not_ours"])]
    return "\n".join(lines) + "\n"


def is_database_address(text: str) -> bool:
    """Return True for an address of an Open vSwitch database in one of the forms of `DATABASE_EXPECTED`."""
    return bool(_DATABASE.fullmatch(text))


def mask_text(mask: Mask) -> str:
    bits = "" if mask.bits == ALL_BITS else f"/{datapath_text(mask.bits)}"
    return f"{datapath_text(mask.value)}{bits}"


def parse_datapath_id(text: str) -> int | None:
    """Return the number in one of the forms of `DATAPATH_EXPECTED`, or in pairs with colons; None if it is none."""
    if _PAIRS.fullmatch(text):
        return int(text.replace(":", ""), 16)
    found = _DATAPATH_ID.fullmatch(text) if text.isascii() else None
    if found is None:
        return None
    whole, short, decimal = found.groups()
    return int(whole or short, 16) if decimal is None else int(decimal)


def read_prefixes(
    document: YamlDocument, what: str, keys: Mapping[str, yaml.Node]
) -> tuple[tuple[Address, ...], tuple[Prefix, ...]]:
    """Return the host's addresses that the key `address` states, if it is there, and the site's prefixes."""
    listed = f"{what}.prefixes"
    nodes = document.sequence(keys["prefixes"], listed, "a list of prefixes", "at least one")
    prefixes = tuple(_prefix(document, each, listed) for each in nodes)
    if "address" not in keys:
        return (), prefixes
    addresses = read_addresses(document, keys["address"], f"{what}.address", prefixes)
    if len({each.version for each in addresses}) < len(addresses):
        problem = f"{what}.address: several of a family"
        raise document.error(keys["address"], problem, "at most one of IPv4 and one of IPv6")
    return addresses, prefixes


def with_defaults(
    addresses: tuple[Address, ...], prefixes: tuple[Prefix, ...], taken: Collection[Address] = ()
) -> tuple[Address, ...]:
    """Return the stated addresses of a host, and one for each other family of its site's prefixes.

    That is the first one after the prefix's own which is not taken.
    """
    found = {family_of(each): each for each in addresses}
    for prefix in prefixes:
        family = family_of(prefix)
        if family not in found:
            places = range(1, min(prefix.num_addresses - 1, len(taken) + 2)) or range(prefix.num_addresses)[::-1]
            free = (prefix[place] for place in places if prefix[place] not in taken)
            found[family] = next(free, prefix[places[0]])
    return tuple(found.values())


def read_addresses(
    document: YamlDocument, node: yaml.Node, what: str, prefixes: tuple[Prefix, ...]
) -> tuple[Address, ...]:
    """Return an address of a site, or a list of them."""
    is_one = isinstance(node, yaml.ScalarNode)
    nodes = [node] if is_one else document.sequence(node, what, _ADDRESSES_EXPECTED, "at least one")
    return tuple(dict.fromkeys(_address(document, each, what, prefixes) for each in nodes))


def _prefix(document: YamlDocument, node: yaml.Node, what: str) -> Prefix:
    text = document.text(node, what)
    try:
        prefix = IPv6Network(text) if ":" in text else IPv4Network(text)
    except (AddressValueError, NetmaskValueError) as error:
        raise document.error(node, f"{what}: {quoted(text)}", _PREFIX_EXPECTED) from error
    except ValueError as error:  # bits of a host
        raise document.error(node, f"{what}: {quoted(text)} has host bits", _PREFIX_EXPECTED) from error
    is_reserved = isinstance(prefix, IPv4Network) and prefix.is_reserved
    is_local = isinstance(prefix, IPv6Network) and prefix.is_link_local
    if prefix.is_multicast or prefix.is_loopback or is_reserved or is_local:
        raise document.error(node, f"{what}: {quoted(text)} is never routed", _PREFIX_EXPECTED)
    return prefix


def _address(document: YamlDocument, node: yaml.Node, what: str, prefixes: tuple[Prefix, ...]) -> Address:
    text = document.text(node, what)
    try:
        address = IPv6Address(text) if ":" in text else IPv4Address(text)
    except AddressValueError as error:
        raise document.error(node, f"{what}: {quoted(text)}", "an IP address") from error
    if "%" in text:
        raise document.error(node, f"{what}: {quoted(text)}", "an IP address without a zone")
    if not any(address in prefix for prefix in prefixes):
        raise document.error(node, f"{what}: {address} is in none of its prefixes", "an address of the site")
    return address


def parse_mask(text: str) -> Mask:
    """Return the datapath ids that a text names: one, or VALUE/MASK; raises UnsoundError."""
    value, slash, bits = text.partition("/")
    numbers = parse_datapath_id(value), parse_datapath_id(bits) if slash else ALL_BITS
    if numbers[0] is None or numbers[1] is None:
        raise UnsoundError((), quoted(text), f"{DATAPATH_EXPECTED}, perhaps with /MASK in the same form")
    return Mask(numbers[0], numbers[1])


def _flow_text(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_flow_text, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {_flow_text(each)}' for key, each in value.items())}}}"
    text = str(value)
    return json.dumps(value) if ":" in text or isinstance(value, bool) else text


def _word(name: str) -> str:
    """Return a name as a scalar of YAML, in quotes unless it is a plain word."""
    is_plain = _PLAIN.fullmatch(name) and name.lower() not in _NO_TEXTS
    return name if is_plain else json.dumps(name)


class _Reader:
    def __init__(self, path: Path) -> None:
        self._document = YamlDocument(path, "a wiring", "version and switches")

    def read(self) -> StatedWiring:
        document = self._document
        keys = document.mapping(document.root(), "the file", _KEYS, required=("version", "switches"))
        version = document.number(keys["version"], "version", str(VERSION))
        if version != VERSION:
            raise document.error(keys["version"], f"version {version:g}", f"{VERSION}")
        named = self._named(keys["switches"], "switches", "a mapping of nodes to switches")
        switches = {name: self._switch(name, node) for name, node in named.items()}
        masks: tuple[Mask, ...] = ()
        if "not_ours" in keys:
            expected = "a list of datapath ids, each perhaps with /MASK"
            nodes = document.sequence(keys["not_ours"], "not_ours", expected, "at least one, or no such key")
            masks = tuple(self._mask(node) for node in nodes)
        try:
            return StatedWiring(str(document.path), switches, masks)
        except UnsoundError as error:
            raise InputError(document.path, key_path(error.where), error.problem, error.expected) from error

    def _switch(self, name: str, node: yaml.Node) -> SwitchEnds:
        keys = self._document.mapping(node, f"switches.{name}", _SWITCH_KEYS, required=("datapath_id", "links"))
        ports: dict[str, int] = {}
        what = f"switches.{name}.links"
        for other, port in self._named(keys["links"], what, "a mapping of neighbours to ports").items():
            ports[other] = self._port(port, f"{what}.{other}")
        datapath_id = self._datapath_id(keys["datapath_id"], f"switches.{name}.datapath_id")
        hosts = self._hosts(f"switches.{name}.host", keys["host"]) if "host" in keys else []
        host = hosts[0] if hosts else None
        what = f"switches.{name}.ovsdb"
        ovsdb = self._database(keys["ovsdb"], what) if "ovsdb" in keys else ""
        return SwitchEnds(datapath_id, ports, host, ovsdb, tuple(hosts[1:]))

    def _database(self, node: yaml.Node, what: str) -> str:
        text = self._document.text(node, what)
        if not is_database_address(text):
            raise self._document.error(node, f"{what}: {quoted(text)}", DATABASE_EXPECTED)
        return text

    def _hosts(self, what: str, node: yaml.Node) -> list[HostEnd]:
        if not isinstance(node, yaml.SequenceNode):
            return [self._host(what, node)]
        nodes = self._document.sequence(node, what, "a site, or a list of them", "at least one")
        return [self._host(f"{what}[{position}]", each) for position, each in enumerate(nodes)]

    def _host(self, what: str, node: yaml.Node) -> HostEnd:
        keys = self._document.mapping(node, what, _HOST_KEYS, required=("port", "prefixes"))
        stated, prefixes = read_prefixes(self._document, what, keys)
        port, *more_ports = self._ports(keys["port"], f"{what}.port")
        gateways: tuple[Address, ...] = ()
        if "gateway" in keys:
            gateways = read_addresses(self._document, keys["gateway"], f"{what}.gateway", prefixes)
            for each in gateways:
                self._require_one(keys["gateway"], f"{what}.gateway", each, prefixes)
        if more_ports and not gateways:
            raise self._document.error(keys["port"], f"{what}.port: several ports", "the key gateway, too")
        for address in stated:
            if address in gateways:
                problem = f"{what}.address: {address} is also the gateway's"
                raise self._document.error(keys["address"], problem, "one of its own")
        router = None
        if "router" in keys:
            router = _address(self._document, keys["router"], f"{what}.router", prefixes)
            self._require_one(keys["router"], f"{what}.router", router, prefixes)
            if router in gateways or not gateways:
                problem = f"{what}.router: {router} {'is also the gateway' if gateways else 'without a gateway'}"
                raise self._document.error(keys["router"], problem, "the site's own router, and the key gateway")
        routed = tuple(more_ports), gateways, router
        address, *more_addresses = with_defaults(stated, prefixes, (*gateways, *([] if router is None else [router])))
        if address in gateways:
            raise self._document.error(keys["gateway"], f"{what}.gateway: no address is left", "one for a host")
        vlan = self._number(keys["vlan"], f"{what}.vlan", "VLAN id", LAST_VLAN_ID) if "vlan" in keys else None
        tagged = "tagged" in keys and self._document.flag(keys["tagged"], f"{what}.tagged")
        return HostEnd(port, address, prefixes, *routed, tuple(more_addresses), vlan, tagged)

    def _require_one(self, node: yaml.Node, what: str, address: Address, prefixes: tuple[Prefix, ...]) -> None:
        """Refuse an address that is that of all hosts of a prefix, or of the prefix itself (RFC 1122, 3.2.1.3)."""
        for prefix in prefixes:
            ends = prefix.network_address, prefix.broadcast_address
            if isinstance(prefix, IPv4Network) and prefix.prefixlen < 31 and address in ends:
                raise self._document.error(node, f"{what}: {address} is no host's in {prefix}", "an address between")

    def _ports(self, node: yaml.Node, what: str) -> list[int]:
        if isinstance(node, yaml.ScalarNode):
            return [self._port(node, what)]
        nodes = self._document.sequence(node, what, "a port number, or a list of them", "at least one")
        return [self._port(each, what) for each in nodes]

    def _named(self, node: yaml.Node, what: str, expected: str) -> dict[str, yaml.Node]:
        """Return the values of a mapping whose keys are names of nodes."""
        if not isinstance(node, yaml.MappingNode):
            raise self._document.error(node, f"{what} is not a mapping", expected)
        found: dict[str, yaml.Node] = {}
        for key_node, value in node.value:
            key = self._document.text(key_node, f"a key of {what}")
            if key in found:
                raise self._document.error(key_node, f"{what}.{key} is given twice", "each node once")
            found[key] = value
        return found

    def _port(self, node: yaml.Node, what: str) -> int:
        return self._number(node, what, "port number", LAST_PORT)

    def _number(self, node: yaml.Node, what: str, kind: str, last: int) -> int:
        expected = f"a {kind} from 1 to {last}"
        number = self._document.number(node, what, expected)
        if not (1 <= number <= last and number.is_integer()):
            raise self._document.error(node, f"{what}: {quoted(str(node.value))}", expected)
        return int(number)

    def _datapath_id(self, node: yaml.Node, what: str) -> int:
        text = self._document.text(node, what)
        found = parse_datapath_id(text)
        if found is None:
            raise self._document.error(node, f"{what}: {quoted(text)}", DATAPATH_EXPECTED)
        return found

    def _mask(self, node: yaml.Node) -> Mask:
        text = self._document.text(node, "not_ours")
        try:
            return parse_mask(text)
        except UnsoundError as error:
            raise self._document.error(node, f"not_ours: {error.problem}", error.expected) from error
