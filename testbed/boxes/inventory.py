"""The inventory: the switch or host of each box, its login, and the interfaces that we may use."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar

import yaml

from kuijia_app.framework.listening import require_free, require_usable
from kuijia_app.framework.tls import TlsFiles
from kuijia_base.errors import InputError, quoted
from kuijia_base.reading import reading
from kuijia_base.yaml_document import YamlDocument, is_null
from te_solver.model.topology import Topology
from testbed.controllers.application_process import LISTEN_PORT, Listening
from testbed.machine.ovs import SYSTEM_DIRECTORY, Datapath

DEFAULT_BRIDGE = "kuijia"
_LAST_PORT = 0xFFFF
_SSH_KEYS = ("user", "key", "port", "known_hosts", "sudo")
_BOX_KEYS = ("node", "address", "management", *_SSH_KEYS)
_SWITCH_KEYS = (*_BOX_KEYS, "links", "host", "bridge", "datapath", "ovs")
_HOST_KEYS = (*_BOX_KEYS, "interface")

_ADDRESS = re.compile(r"[0-9A-Za-z][0-9A-Za-z.:_-]*")
_CONTROLLER = re.compile(r"(?!0\.0\.0\.0$)[0-9A-Za-z][0-9A-Za-z.-]*")
"""Excludes IPv6, which the controller does not listen on, and addresses that a switch would take for its own."""

_USER = re.compile(r"[0-9A-Za-z_][0-9A-Za-z._-]*")
_INTERFACE = re.compile(r"(?!(?:all|default|lo)$)[0-9A-Za-z_][0-9A-Za-z._:@-]{0,14}")
"""Narrower than Linux permits: excludes text that a program could take for an option, a list or all interfaces."""

_BRIDGE = re.compile(r"[0-9A-Za-z_][0-9A-Za-z_-]{0,7}")
"""Short enough for the port names derived from it."""

_DIRECTORY = re.compile(r"/[0-9A-Za-z._/-]*")


@dataclass(frozen=True)
class Login:
    """SSH login of a box; None leaves a value to the user's own SSH configuration.

    Attributes:
        sudo: True to become root by `sudo -n`, for other users.
    """

    address: str
    user: str | None = None
    key: Path | None = None
    port: int | None = None
    known_hosts: Path | None = None
    sudo: bool = False


@dataclass(frozen=True)
class SwitchBox:
    """A box that is a switch of the topology.

    Attributes:
        management: the interface that SSH uses, never touched.
        links: neighbour in the topology to the interface cabled to it.
        host: the interface cabled to the site's host, if it has one.
        bridge: name of the bridge to create.
        datapath: type of datapath that forwards.
        ovs_directory: directory of the sockets of the box's Open vSwitch.
    """

    node: str
    login: Login
    management: str
    links: Mapping[str, str]
    host: str | None = None
    bridge: str = DEFAULT_BRIDGE
    datapath: Datapath = Datapath.KERNEL
    ovs_directory: Path = SYSTEM_DIRECTORY
    role: Literal["switch"] = field(default="switch", init=False)

    @property
    def name(self) -> str:
        """Name of the box in messages."""
        return f"{self.role} {self.node}"

    @property
    def interfaces(self) -> tuple[str, ...]:
        return (*self.links.values(), *([self.host] if self.host else []))


@dataclass(frozen=True)
class HostBox:
    """A box that is the host of a site; its `interface` is cabled to the site's switch."""

    node: str
    login: Login
    management: str
    interface: str
    role: Literal["host"] = field(default="host", init=False)

    @property
    def name(self) -> str:
        """Name of the box in messages."""
        return f"{self.role} {self.node}"

    @property
    def interfaces(self) -> tuple[str, ...]:
        return (self.interface,)


Box = SwitchBox | HostBox
_B = TypeVar("_B", SwitchBox, HostBox)


@dataclass(frozen=True)
class BoxInventory:
    """All boxes.

    Attributes:
        path: the file it was read from.
        controller: address on this machine that switches connect to.
    """

    path: Path
    controller: Listening
    switches: Mapping[str, SwitchBox]
    hosts: Mapping[str, HostBox]

    @property
    def boxes(self) -> tuple[Box, ...]:
        return (*self.switches.values(), *self.hosts.values())

    def require_fit(self, topology: Topology) -> None:
        """Raise InputError if the boxes or their cabling do not match a topology."""
        missing = [node for node in topology.nodes if node not in self.switches]
        others = [node for node in self.switches if node not in topology.nodes]
        wrong = [f"switch {node} is no node of {topology.name}" for node in others]
        if missing:
            nodes = "node" if len(missing) == 1 else "nodes"
            wrong.insert(0, f"no switch for {nodes} {', '.join(missing)} of {topology.name}")
        if wrong:
            raise self._unfit("switches", "; ".join(wrong), "one for each node")
        for node, switch in self.switches.items():
            if set(switch.links) != set(topology.neighbours[node]):
                neighbours = ", ".join(topology.neighbours[node])
                raise self._unfit(f"switches.{node}.links", f"{', '.join(switch.links)}", f"{neighbours}")

    def require_hosts(self, sites: set[str]) -> None:
        """Raise InputError if a site has no host."""
        for site in sorted(sites - set(self.hosts)):
            raise self._unfit("hosts", f"site {site} has no host", "one with an interface cabled to its switch")

    def require_controller_here(self) -> None:
        """Raise InputError if the controller's address is not this machine's, or its TLS files are unusable."""
        host = self.controller.host
        try:
            require_free(host, 0)
        except InputError as error:
            problem = f"{host}: {error.problem}"
            raise self._unfit("controller", problem, "an address of this machine, as the switches reach it") from error
        if self.controller.tls is not None:
            require_usable(self.controller.tls, passphrase="")  # it will run without a terminal

    def _unfit(self, place: str, problem: str, expected: str) -> InputError:
        return InputError(self.path, place, problem, expected)


def read_inventory(path: Path) -> BoxInventory:
    """Return the inventory from a YAML file in the form that `docs/boxes.md` describes.

    Raises:
        InputError: the file is invalid, uses an interface twice or also for management, or two switches on one machine
            have the same bridge; its place is the line.
    """
    with reading(path, "an inventory in YAML"):
        return _Reader(path).read()


class _Reader:
    """Walks the nodes of the file."""

    def __init__(self, path: Path) -> None:
        self._document = YamlDocument(path, "an inventory", "controller, switches and hosts")
        self._defaults: dict[str, yaml.Node] = {}
        self._boxes: list[Box] = []

    def read(self) -> BoxInventory:
        root = self._document.root()
        known = ("controller", "ssh", "switches", "hosts")
        keys = self._document.mapping(root, "the file", known, required=("controller", "switches"))
        controller = self._document.mapping(keys["controller"], "controller", ("address", "port", "tls"), ("address",))
        if "ssh" in keys:
            self._defaults = self._document.mapping(keys["ssh"], "ssh", _SSH_KEYS, ())
        switches: dict[str, SwitchBox] = {}
        for entry in self._entries(keys["switches"], "switches"):
            switch = self._switch(entry)
            self._add(switches, switch, entry)
        hosts: dict[str, HostBox] = {}
        for entry in self._entries(keys["hosts"], "hosts") if "hosts" in keys else ():
            host = self._host(entry)
            if host.node not in switches or switches[host.node].host is None:
                problem = f"no switch {quoted(host.node)} has an interface to a host"
                raise self._document.error(entry, problem, "the key host in the switch of the same node")
            self._add(hosts, host, entry)
        return BoxInventory(
            self._document.path,
            Listening(
                self._port(controller["port"]) if "port" in controller else LISTEN_PORT,
                self._word(controller["address"], "address", _CONTROLLER),
                self._tls(controller["tls"]) if "tls" in controller else None,
            ),
            switches,
            hosts,
        )

    def _entries(self, node: yaml.Node, what: str) -> list[yaml.Node]:
        return self._document.sequence(node, what, f"a list of {what}", "at least one")

    def _add(self, boxes: dict[str, _B], box: _B, entry: yaml.Node) -> None:
        if box.node in boxes:
            raise self._document.error(entry, f"a second {box.role} {quoted(box.node)}", "one of each node")
        for interface in box.interfaces:
            if interface == box.management:
                problem = f"{interface} is the management interface"
                raise self._document.error(entry, problem, "another one, as that is never touched")
            if box.interfaces.count(interface) > 1:
                raise self._document.error(entry, f"{interface} is cabled twice", "one interface for each link")
        for other in self._boxes:
            if (other.login.address, other.login.port) == (box.login.address, box.login.port):
                self._require_apart(box, other, entry)
        self._boxes.append(box)
        boxes[box.node] = box

    def _require_apart(self, box: Box, other: Box, entry: yaml.Node) -> None:
        """Raise InputError if two boxes on one machine use the same interface or bridge."""
        for interface in box.interfaces:
            if interface in other.interfaces:
                problem = f"{interface} is an interface of {other.name} at the same address too"
                raise self._document.error(entry, problem, "each interface once, or addresses or ports that differ")
            if interface == other.management:
                problem = f"{interface} is the management interface of {other.name} at the same address"
                raise self._document.error(entry, problem, "another one, as that is never touched")
        if box.management in other.interfaces:
            problem = f"{box.management}, the management interface, is used by {other.name} at the same address"
            raise self._document.error(entry, problem, "another one, as that is never touched")
        if not (isinstance(box, SwitchBox) and isinstance(other, SwitchBox)):
            return
        if (box.bridge, box.ovs_directory) == (other.bridge, other.ovs_directory):
            problem = f"{other.name} at the same address has a bridge {quoted(box.bridge)} too"
            raise self._document.error(entry, problem, "another name by the key bridge, or another ovs")

    def _switch(self, entry: yaml.Node) -> SwitchBox:
        required = ("node", "address", "management", "links")
        keys = self._document.mapping(entry, "a switch", _SWITCH_KEYS, required)
        if not isinstance(keys["links"], yaml.MappingNode) or not keys["links"].value:
            problem = "links names none" if isinstance(keys["links"], yaml.MappingNode) else "links is not a mapping"
            raise self._document.error(keys["links"], problem, "a mapping of neighbours to interfaces")
        links: dict[str, str] = {}
        for neighbour_node, interface_node in keys["links"].value:
            neighbour = self._document.text(neighbour_node, "a neighbour")
            if neighbour in links:
                raise self._document.error(neighbour_node, f"a second link to {quoted(neighbour)}", "one")
            links[neighbour] = self._word(interface_node, "an interface", _INTERFACE)
        return SwitchBox(
            self._document.text(keys["node"], "node"),
            self._login(keys),
            self._word(keys["management"], "management", _INTERFACE),
            links,
            self._word(keys["host"], "host", _INTERFACE) if "host" in keys else None,
            self._word(keys["bridge"], "bridge", _BRIDGE) if "bridge" in keys else DEFAULT_BRIDGE,
            self._datapath(keys["datapath"]) if "datapath" in keys else Datapath.KERNEL,
            Path(self._word(keys["ovs"], "ovs", _DIRECTORY)) if "ovs" in keys else SYSTEM_DIRECTORY,
        )

    def _host(self, entry: yaml.Node) -> HostBox:
        required = ("node", "address", "management", "interface")
        keys = self._document.mapping(entry, "a host", _HOST_KEYS, required)
        return HostBox(
            self._document.text(keys["node"], "node"),
            self._login(keys),
            self._word(keys["management"], "management", _INTERFACE),
            self._word(keys["interface"], "interface", _INTERFACE),
        )

    def _login(self, keys: dict[str, yaml.Node]) -> Login:
        known = {**self._defaults, **keys}
        return Login(
            self._word(keys["address"], "address", _ADDRESS),
            self._word(known["user"], "user", _USER) if "user" in known else None,
            self._file(known["key"]) if "key" in known else None,
            self._port(known["port"]) if "port" in known else None,
            self._file(known["known_hosts"]) if "known_hosts" in known else None,
            "sudo" in known and self._document.flag(known["sudo"], "sudo"),
        )

    def _text(self, node: yaml.Node, what: str) -> str:
        """Return a text that is not a node's name: it refuses an unquoted `null`, which stands for no value."""
        if is_null(node):
            raise self._document.error(node, f"{what} is null", "a value, or no such key")
        return self._document.text(node, what)

    def _word(self, node: yaml.Node, what: str, form: re.Pattern[str]) -> str:
        text = self._text(node, what)
        if not form.fullmatch(text):
            raise self._document.error(node, f"{what} {quoted(text)}", f"text of the form {form.pattern}")
        return text

    def _file(self, node: yaml.Node) -> Path:
        """Return a path; a relative one starts at the inventory's folder."""
        text = self._text(node, "a file")
        try:
            path = self._document.path.parent / Path(text).expanduser()
            exists = path.is_file()
        except (OSError, RuntimeError) as error:  # RuntimeError: there is no such home
            reason = error.strerror if isinstance(error, OSError) else error
            raise self._document.error(node, f"file {quoted(text)} cannot be found ({reason})", "one") from error
        if not exists:
            raise self._document.error(node, f"there is no file {path}", "one")
        return path.absolute()

    def _tls(self, node: yaml.Node) -> TlsFiles:
        names = ("key", "certificate", "ca")
        keys = self._document.mapping(node, "tls", names, names)
        return TlsFiles(*(self._file(keys[name]) for name in names))

    def _port(self, node: yaml.Node) -> int:
        number = self._document.number(node, "port", "a TCP port")
        if not (number.is_integer() and 0 < number <= _LAST_PORT):
            raise self._document.error(node, f"port {number:g}", f"1 to {_LAST_PORT}")
        return int(number)

    def _datapath(self, node: yaml.Node) -> Datapath:
        text = self._document.text(node, "datapath")
        try:
            return Datapath(text)
        except ValueError as error:
            words = " or ".join(datapath.value for datapath in Datapath)
            raise self._document.error(node, f"datapath {quoted(text)}", words) from error
