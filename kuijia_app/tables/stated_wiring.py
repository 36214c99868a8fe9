"""The numbering of switches that belong to somebody: stated in a file, checked, and fitted to a topology; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from kuijia_app.tables.families import Address, Prefix, family_of
from kuijia_app.tables.identifiers import LAST_PORT
from kuijia_app.tables.wiring import HostEnd, Neighbours, Site, Wiring, default_gateways
from kuijia_base.errors import InputError, UnsoundError, key_path, quoted, shown
from te_solver.model.topology import Topology

ALL_BITS = (1 << 64) - 1

Where = tuple[str | int, ...]


@dataclass(frozen=True)
class SwitchEnds:
    """One switch: its datapath id, its port to each neighbour, and its host, None if it only forwards.

    `ovsdb` is the address of the Open vSwitch database that has it, empty if it is not stated. `more_hosts` are those
    of further sites, each at a port or in a VLAN of its own.
    """

    datapath_id: int
    links: Mapping[str, int]
    host: HostEnd | None = None
    ovsdb: str = ""
    more_hosts: tuple[HostEnd, ...] = ()

    @property
    def hosts(self) -> tuple[HostEnd, ...]:
        """The hosts of all its sites."""
        return () if self.host is None else (self.host, *self.more_hosts)

    @cached_property
    def host_ports(self) -> tuple[int, ...]:
        """Ports to sites, each once."""
        return tuple(dict.fromkeys(port for host in self.hosts for port in host.ports))

    @cached_property
    def ports(self) -> tuple[int, ...]:
        """Ports to neighbours, then those of hosts."""
        return (*self.links.values(), *self.host_ports)

    @property
    def hosts_by_key(self) -> Iterator[tuple[Where, HostEnd]]:
        """The hosts of all its sites, each with its key below the switch."""
        for position, host in enumerate(self.hosts):
            yield (("host", position) if self.more_hosts else ("host",)), host


@dataclass(frozen=True, slots=True)
class Mask:
    """Datapath ids that agree with `value` in the bits set in `bits`."""

    value: int
    bits: int = ALL_BITS

    def covers(self, datapath_id: int) -> bool:
        return not (datapath_id ^ self.value) & self.bits


@dataclass(frozen=True)
class StatedWiring:
    """Content of a wiring file; nothing in it contradicts itself.

    Attributes:
        source: the file, for messages.
        switches: by name.
        not_ours: switches of others, which are left alone.

    Raises:
        UnsoundError: a datapath id, port or prefix has two meanings, or two switches disagree about their link.
    """

    source: str
    switches: Mapping[str, SwitchEnds] = field(hash=False)
    not_ours: tuple[Mask, ...] = ()

    def __post_init__(self) -> None:
        self._require_distinct_datapath_ids()
        for name, ends in self.switches.items():
            self._require_possible_numbers(name, ends)
            self._require_distinct_ports(name, ends)
            self._require_tags_delivered(name, ends)
            self._require_links_both_ways(name, ends)
        self._require_separate_prefixes()

    def of(self, topology: Topology) -> Wiring:
        """Return the wiring of a topology.

        Raises:
            InputError: the file has other switches or links than the topology.
        """
        network = shown(topology.name)
        for node in topology.nodes:
            if node not in self.switches:
                raise self.contradiction(("switches",), f"no switch {quoted(node)}", f"every node of {network}")
        for name in self.switches:
            if not topology.has_node(name):
                raise self.contradiction(("switches", name), f"unknown node {quoted(name)}", f"a node of {network}")
        for name, ends in self.switches.items():
            neighbours = topology.neighbours[name]
            where = ("switches", name, "links")
            for neighbour in neighbours:
                if neighbour not in ends.links:
                    problem = f"no port to {quoted(neighbour)}, a neighbour in {network}"
                    raise self.contradiction(where, problem, "a port for each link")
            for neighbour in ends.links:
                if neighbour not in neighbours:
                    problem = f"{network} has no such link"
                    raise self.contradiction(
                        (*where, neighbour), problem, f"a neighbour: {', '.join(neighbours) or 'none'}"
                    )
        return FittedWiring(topology, self)

    @property
    def untagged(self) -> StatedWiring:
        """The same with one site at a switch and none behind a trunk, for models whose hosts send no tags."""
        switches = {
            name: replace(ends, host=_joined(ends.hosts), more_hosts=()) if ends.hosts else ends
            for name, ends in self.switches.items()
        }
        return replace(self, switches=switches)

    @property
    def databases(self) -> dict[str, str]:
        """Addresses of Open vSwitch databases by switch, for those that have one of their own."""
        return {name: ends.ovsdb for name, ends in self.switches.items() if ends.ovsdb}

    def contradiction(self, where: Where, problem: str, expected: str) -> InputError:
        """Return the error for a fault at this key."""
        return InputError(self.source, key_path(where), problem, expected)

    def _require_distinct_datapath_ids(self) -> None:
        owners: dict[int, str] = {}
        for name, ends in self.switches.items():
            where = ("switches", name, "datapath_id")
            other = owners.setdefault(ends.datapath_id, name)
            if other != name:
                problem = f"{datapath_text(ends.datapath_id)} is also that of {other}"
                raise UnsoundError(where, problem, "one of its own")
            for position, mask in enumerate(self.not_ours):
                if mask.covers(ends.datapath_id):
                    raise UnsoundError(("not_ours", position), f"it covers {name}", "switches of others only")

    @staticmethod
    def _require_possible_numbers(name: str, ends: SwitchEnds) -> None:
        if not ends.datapath_id:
            expected = "another one: Open vSwitch takes none of zeros only, and draws one"
            raise UnsoundError(("switches", name, "datapath_id"), datapath_text(0), expected)
        for port, where in _places_of_ports(ends):
            if not 1 <= port <= LAST_PORT:
                expected = f"1 to {LAST_PORT}: Open vSwitch gives cables no others, and LOCAL is no cable"
                raise UnsoundError(("switches", name, *where), f"port {port}", expected)

    def _require_distinct_ports(self, name: str, ends: SwitchEnds) -> None:
        uses: dict[int, str] = {}
        for other, port in ends.links.items():
            self._take_port(uses, port, ("switches", name, "links", other), f"to {other}")
        sites: set[tuple[int, int | None]] = set()
        for key, host in ends.hosts_by_key:
            where, own = ("switches", name, *key), dict(uses)
            for port in host.ports:
                self._take_port(own, port, (*where, "port"), "to the host")
                if (port, host.vlan) in sites:
                    its = (
                        "packets without a tag at port {} are"
                        if host.vlan is None
                        else f"VLAN {host.vlan} at port {{}} is"
                    )
                    place = (*where, "port" if host.vlan is None else "vlan")
                    raise UnsoundError(place, f"{its.format(port)} also another site's", "a port and a VLAN for each")
                sites.add((port, host.vlan))

    @staticmethod
    def _take_port(uses: dict[int, str], port: int, where: Where, use: str) -> None:
        if port in uses:
            raise UnsoundError(where, f"port {port} is also the one {uses[port]}", "one port for each cable")
        uses[port] = use

    @staticmethod
    def _require_tags_delivered(name: str, ends: SwitchEnds) -> None:
        """Raise UnsoundError if a switch would have to look behind two tags for a host."""
        for key, host in ends.hosts_by_key:
            if host.tagged and (host.gateways or host.vlan is not None or ends.more_hosts):
                where = ("switches", name, *key, "tagged")
                raise UnsoundError(where, "a site with tags of its own", "no gateway, vlan or other site at its switch")

    def _require_links_both_ways(self, name: str, ends: SwitchEnds) -> None:
        for other in ends.links:
            where = ("switches", name, "links", other)
            if other == name:
                raise UnsoundError(where, "a link from a switch to itself", "another switch")
            if other not in self.switches:
                raise UnsoundError(where, f"unknown node {quoted(other)}", "a switch of this file")
            if name not in self.switches[other].links:
                raise UnsoundError(where, f"{other} has no port to {name}", "both ends of each link")

    def _require_separate_prefixes(self) -> None:
        found = sorted(
            (prefix.version, prefix, name, (*key, "prefixes", position))
            for name, ends in self.switches.items()
            for key, host in ends.hosts_by_key
            for position, prefix in enumerate(host.prefixes)
        )
        widest: tuple[Prefix, str] | None = None
        for _, prefix, name, where in found:
            if widest is not None and prefix.overlaps(widest[0]):
                place = ("switches", name, *where)
                whose = f"{widest[0]} of {widest[1]}"
                raise UnsoundError(place, f"{prefix} overlaps {whose}", "prefixes that share no address")
            widest = (prefix, name)


@dataclass(frozen=True)
class FittedWiring(Wiring):
    """The numbering of a topology's switches as a file states it."""

    stated: StatedWiring

    @cached_property
    def _switch_of(self) -> dict[int, str]:
        return {self.stated.switches[node].datapath_id: node for node in self.topology.nodes}

    @cached_property
    def _neighbour_at(self) -> dict[tuple[str, int], str]:
        return {(node, port): other for node in self.topology.nodes for other, port in self._ends(node).links.items()}

    def _ends(self, switch: str) -> SwitchEnds:
        return self.stated.switches[switch]

    def _host(self, switch: str) -> HostEnd:
        host = self._ends(switch).host
        if host is None:
            raise KeyError(switch)
        return host

    def datapath_id(self, switch: str) -> int:
        return self._ends(switch).datapath_id

    def switch_of(self, datapath_id: int) -> str | None:
        return self._switch_of.get(datapath_id)

    def is_not_ours(self, datapath_id: int) -> bool:
        return any(mask.covers(datapath_id) for mask in self.stated.not_ours)

    def port(self, switch: str, neighbour: str) -> int:
        found = self._ends(switch).links.get(neighbour)
        if found is None:
            raise ValueError(f"{switch} and {neighbour} share no link")
        return found

    def neighbour_at(self, switch: str, port: int) -> str | None:
        return self._neighbour_at.get((switch, port))

    def link_ports(self, switch: str) -> Sequence[int]:
        links = self._ends(switch).links
        return [links[neighbour] for neighbour in self.topology.neighbours[switch]]

    def has_host(self, switch: str) -> bool:
        return self._ends(switch).host is not None

    def host_port(self, switch: str) -> int:
        return self._host(switch).port

    def host_ports(self, switch: str) -> tuple[int, ...]:
        self._host(switch)
        return self._ends(switch).host_ports

    @cached_property
    def _host_ends(self) -> dict[str, tuple[HostEnd, ...]]:
        return {
            node: tuple(replace(end, gateways=self._gateways(end)) for end in self._ends(node).hosts)
            for node in self.topology.nodes
        }

    def host_ends(self, switch: str) -> tuple[HostEnd, ...]:
        return self._host_ends[switch]

    def _gateways(self, end: HostEnd) -> tuple[Address, ...]:
        if self.neighbours is Neighbours.STATIC or end.tagged:
            return ()
        is_learned = self.neighbours is Neighbours.LEARNED
        return end.gateways or (default_gateways(end.prefixes, end.addresses) if is_learned else ())

    @cached_property
    def sites(self) -> tuple[Site, ...]:
        """The hosts that the file states, each with its switch's name."""
        return tuple(
            Site(
                node,
                node,
                host.port,
                host.address,
                host.prefixes[0],
                more_prefixes=host.prefixes[1:],
                more_ports=host.more_ports,
                more_addresses=host.more_addresses,
                vlan=host.vlan,
            )
            for node in self.topology.nodes
            for host in self._ends(node).hosts
        )

    def ports(self, switch: str) -> Sequence[int]:
        return self._ends(switch).ports

    def prefix(self, switch: str) -> Prefix:
        return self._host(switch).prefixes[0]

    def prefixes(self, switch: str) -> tuple[Prefix, ...]:
        self._host(switch)
        return tuple(prefix for host in self._ends(switch).hosts for prefix in host.prefixes)

    def host_address(self, switch: str) -> Address:
        return self._host(switch).address

    def host_addresses(self, switch: str) -> tuple[Address, ...]:
        self._host(switch)
        return tuple(address for host in self._ends(switch).hosts for address in host.addresses)

    def require_hosts(self, switches: Iterable[str]) -> None:
        for switch in switches:
            if not self.has_host(switch):
                problem = "it has no host, but one is needed"
                raise self.stated.contradiction(("switches", switch), problem, "the key host")

    def require_ports_up_to(self, last: int, reason: str) -> None:
        for name, ends in self.stated.switches.items():
            for port, where in _places_of_ports(ends):
                if port > last:
                    place = ("switches", name, *where)
                    raise self.stated.contradiction(place, f"port {port}: {reason}", f"1 to {last}")


def _places_of_ports(ends: SwitchEnds) -> Iterator[tuple[int, Where]]:
    yield from ((port, ("links", other)) for other, port in ends.links.items())
    yield from ((port, (*key, "port")) for key, host in ends.hosts_by_key for port in host.ports)


def _joined(hosts: tuple[HostEnd, ...]) -> HostEnd:
    """Return one site with all prefixes of some, at the port of the first."""
    first = hosts[0]
    of_family = {family_of(address): address for host in hosts[::-1] for address in host.addresses[::-1]}
    more = tuple(address for address in of_family.values() if address != first.address)
    prefixes = tuple(prefix for host in hosts for prefix in host.prefixes)
    gateways = tuple(gateway for host in hosts for gateway in host.gateways)
    return replace(first, prefixes=prefixes, gateways=gateways, more_addresses=more, vlan=None, tagged=False)


def stated(wiring: Wiring, source: str = "wiring") -> StatedWiring:
    """Return what a file would have to say for a wiring."""
    switches = {}
    for node in wiring.topology.nodes:
        links = {other: wiring.port(node, other) for other in wiring.topology.neighbours[node]}
        hosts = wiring.host_ends(node)
        host = hosts[0] if hosts else None
        switches[node] = SwitchEnds(wiring.datapath_id(node), links, host, more_hosts=hosts[1:])
    return StatedWiring(source, switches)


def datapath_text(datapath_id: int) -> str:
    """Return a datapath id as Open vSwitch writes it: 16 hexadecimal digits."""
    return f"{datapath_id:016x}"
