"""A fabric with its switches' ports and its hosts' addresses, shared by the scheduler and the testbed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from ipaddress import IPv4Address, IPv4Network
from itertools import pairwise

from hedera.network.fabric import Fabric
from hedera.network.fat_tree import FatTree
from hedera.network.multi_rooted import MultiRooted
from kuijia_app.tables.families import Address, Prefix, family_of, first_of, whole
from kuijia_app.tables.neighbours import Segment
from kuijia_app.tables.stated_wiring import FittedWiring, StatedWiring
from kuijia_app.tables.wiring import HostEnd, Neighbours, Site, Wiring
from kuijia_base.errors import UnsoundError, shown
from te_solver.model.topology import Topology

ROUTE_TABLE = 1
"""Table of all routes."""

_FIRST_HOST = 2
_MOST_HOSTS_AT_EDGE = 253
_EDGE_BITS = 8


@dataclass(frozen=True)
class HostedWiring(Wiring):
    """The ports between switches, and those to hosts; a switch has any number of hosts."""

    hosts: tuple[Site, ...]

    @cached_property
    def sites(self) -> tuple[Site, ...]:
        return self.hosts

    def gateways(self, switch: str) -> tuple[Address, ...]:
        own = (site.address for site in self.hosts if site.switch == switch)
        edges = dict.fromkeys(_around(address)[1] for address in own)
        return tuple(edges) if self.neighbours is Neighbours.LEARNED else ()


@dataclass(frozen=True)
class FittedHostedWiring(FittedWiring):
    """The same as a file states it."""

    hosts: tuple[Site, ...]

    @cached_property
    def sites(self) -> tuple[Site, ...]:
        return self.hosts


class DataCentre:
    """A fat-tree, or any multi-rooted graph, with its wiring and addresses.

    Host number i of the fabric is site number i of the wiring. Ports of a switch count from 1: first those to other
    switches, in the order of the topology, then those to its hosts. A fat-tree has the paper's addresses; in other
    graphs edge switch number 256 x + y has the prefix 10.x.y.0/24, and its hosts count from .2. A wiring file may state
    others: for each edge switch a port for each host, and a prefix of each family, whose hosts count from the key
    `address`.

    Attributes:
        fabric: hosts, links and paths.
        topology: the fabric as a graph, hosts included; links have the same numbers.
        wiring: the wiring of the switches, without host nodes; hosts are its sites.

    Raises:
        UnsoundError: there are more edge switches, or more hosts at one, than addresses.
        InputError: the wiring file is that of another network.
    """

    def __init__(
        self,
        fabric: FatTree | MultiRooted,
        stated: StatedWiring | None = None,
        neighbours: Neighbours = Neighbours.WIRING,
    ) -> None:
        self.fabric: Fabric = fabric
        self.topology = topology = fabric.topology
        names = _host_names(fabric)
        hosts = set(names)
        among_switches = Topology(
            topology.name,
            tuple(node for node in topology.nodes if node not in hosts),
            tuple(link for link in topology.links if hosts.isdisjoint(link.ends)),
        )
        edge_of = {name: topology.neighbours[name][0] for name in names}
        self._stated = stated
        self.wiring: Wiring
        if stated is None:
            sites = _numbered_sites(edge_of, _addresses(fabric), among_switches, fabric.nic_rate)
            self.wiring = HostedWiring(among_switches, sites, neighbours=neighbours)
        else:
            stated.of(among_switches)
            sites = _stated_sites(edge_of, stated, fabric.nic_rate)
            self.wiring = FittedHostedWiring(among_switches, stated, sites, neighbours=neighbours)
        self._number_of = {address: number for number, site in enumerate(sites) for address in site.addresses}

    @cached_property
    def edges(self) -> tuple[tuple[str, tuple[Prefix, ...]], ...]:
        """The switches that have hosts, with the prefix of their addresses, or one of each family."""
        if self._stated is None:
            return tuple({site.switch: (_around(site.address),) for site in self.wiring.sites}.items())
        return tuple((switch, self.wiring.prefixes(switch)) for switch in self.hosts_of)

    @cached_property
    def hosts_of(self) -> Mapping[str, tuple[Site, ...]]:
        """The hosts of each switch that has hosts."""
        found: dict[str, list[Site]] = {}
        for site in self.wiring.sites:
            found.setdefault(site.switch, []).append(site)
        return {switch: tuple(sites) for switch, sites in found.items()}

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """The hosts of each edge switch that are learned."""
        found = []
        for switch, prefixes in self.edges:
            gateways = self.wiring.gateways(switch)
            if gateways:
                ports = tuple(site.port for site in self.hosts_of[switch])
                found.append(Segment(switch, ports, prefixes, gateways, table_id=ROUTE_TABLE))
        return tuple(found)

    def host_at(self, address: Address) -> int | None:
        """Return the number of the host with an address, None if there is none."""
        return self._number_of.get(address)

    def switch_path(self, links: Sequence[int]) -> tuple[str, ...]:
        """Return the switches on a path of the fabric from host to host."""
        return tuple(self.topology.links[link].target for link in links[:-1])


def _around(address: Address) -> IPv4Network:
    """Return the prefix of the edge switch of a host that no file states."""
    return IPv4Network((int(address) >> _EDGE_BITS << _EDGE_BITS, 32 - _EDGE_BITS))


def _numbered_sites(
    edge_of: Mapping[str, str], addresses: Sequence[IPv4Address], switches: Topology, nic_rate: float
) -> tuple[Site, ...]:
    """Return the hosts with ports by the topology."""
    taken = {switch: len(others) for switch, others in switches.neighbours.items()}
    sites = []
    for (name, switch), address in zip(edge_of.items(), addresses, strict=True):
        taken[switch] += 1
        sites.append(Site(name, switch, taken[switch], address, IPv4Network(address), nic_rate))
    return tuple(sites)


def _stated_sites(edge_of: Mapping[str, str], stated: StatedWiring, nic_rate: float) -> tuple[Site, ...]:
    """Return the hosts with the ports and addresses of a file; raises InputError."""
    counts = Counter(edge_of.values())
    place: Counter[str] = Counter()
    sites = []
    for name, switch in edge_of.items():
        where, host = ("switches", switch, "host"), stated.switches[switch].host
        if host is None or len(host.ports) != counts[switch]:
            found = "no host" if host is None else f"{len(host.ports)} ports"
            raise stated.contradiction(where, found, f"a port for each of its {counts[switch]} hosts")
        if len({prefix.version for prefix in host.prefixes}) < len(host.prefixes):
            found = f"prefixes {', '.join(map(str, host.prefixes))}"
            raise stated.contradiction(where, found, "at most one of IPv4 and one of IPv6")
        addresses = _addresses_at(host, place[switch])
        if addresses is None:
            first = " and ".join(map(str, host.addresses))
            expected = f"{counts[switch]} addresses from {first} on, none of them the gateway's"
            raise stated.contradiction(where, f"host {shown(name)} has no address", expected)
        address, *more = addresses
        site = Site(name, switch, host.ports[place[switch]], address, whole(address), nic_rate)
        sites.append(replace(site, more_prefixes=tuple(map(whole, more)), more_addresses=tuple(more)))
        place[switch] += 1
    return tuple(sites)


def _addresses_at(host: HostEnd, place: int) -> tuple[Address, ...] | None:
    """Return the addresses of the host at this place of an edge switch, None if one of its prefixes has none left."""
    found = []
    for prefix in host.prefixes:
        first = first_of(family_of(prefix), host.addresses)
        assert first is not None, "a host has an address of each family of its prefixes"
        number = int(first) + place
        if number > int(prefix.broadcast_address):
            return None
        found.append(family_of(prefix).address(number))
    return None if set(found) & set(host.gateways) else tuple(found)


def _host_names(fabric: FatTree | MultiRooted) -> tuple[str, ...]:
    return fabric.host_names if isinstance(fabric, MultiRooted) else tuple(f"h{host}" for host in range(fabric.hosts))


def _addresses(fabric: FatTree | MultiRooted) -> list[IPv4Address]:
    if isinstance(fabric, FatTree):
        return [fabric.address(host) for host in range(fabric.hosts)]
    edge_first = fabric.edge_first.tolist()
    sizes = [end - begin for begin, end in pairwise(edge_first)]
    if len(sizes) > 1 << (2 * _EDGE_BITS) or max(sizes) > _MOST_HOSTS_AT_EDGE:
        problem = f"{len(sizes)} edge switches with up to {max(sizes)} hosts"
        raise UnsoundError(("nodes",), problem, f"at most 65536 with {_MOST_HOSTS_AT_EDGE} each, as addresses allow")
    base = int(IPv4Address("10.0.0.0"))
    return [
        IPv4Address(base + (edge << _EDGE_BITS) + _FIRST_HOST + place)
        for edge, size in enumerate(sizes)
        for place in range(size)
    ]
