"""A fabric with its switches' ports and its hosts' addresses, shared by the scheduler and the testbed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Address, IPv4Network
from itertools import pairwise

from hedera.fabric import Fabric
from hedera.fat_tree import FatTree
from hedera.multi_rooted import MultiRooted
from kuijia_app.tables.wiring import Site, Wiring
from kuijia_base.errors import UnsoundError
from te_solver.topology import Topology

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


class DataCentre:
    """A fat-tree, or any multi-rooted graph, with its wiring and addresses.

    Host number i of the fabric is site number i of the wiring. Ports of a switch count from 1: first those to other
    switches, in the order of the topology, then those to its hosts. A fat-tree has the paper's addresses; in other
    graphs edge switch number 256 x + y has the prefix 10.x.y.0/24, and its hosts count from .2.

    Attributes:
        fabric: hosts, links and paths.
        topology: the fabric as a graph, hosts included; links have the same numbers.
        wiring: the wiring of the switches, without host nodes; hosts are its sites.

    Raises:
        UnsoundError: there are more edge switches, or more hosts at one, than addresses.
    """

    def __init__(self, fabric: FatTree | MultiRooted) -> None:
        self.fabric: Fabric = fabric
        self.topology = topology = fabric.topology
        names = _host_names(fabric)
        hosts = set(names)
        among_switches = Topology(
            topology.name,
            tuple(node for node in topology.nodes if node not in hosts),
            tuple(link for link in topology.links if hosts.isdisjoint(link.ends)),
        )
        taken = {switch: len(others) for switch, others in among_switches.neighbours.items()}
        sites = []
        for name, address in zip(names, _addresses(fabric), strict=True):
            switch = topology.neighbours[name][0]
            taken[switch] += 1
            prefix = IPv4Network((address, 32))
            sites.append(Site(name, switch, taken[switch], address, prefix, fabric.nic_rate))
        self.wiring = HostedWiring(among_switches, tuple(sites))
        self._number_of = {site.address: number for number, site in enumerate(sites)}

    @cached_property
    def edges(self) -> tuple[tuple[str, IPv4Network], ...]:
        """The switches that have hosts, with the prefix of their addresses."""
        prefixes = {
            site.switch: IPv4Network((int(site.address) >> _EDGE_BITS << _EDGE_BITS, 32 - _EDGE_BITS))
            for site in self.wiring.sites
        }
        return tuple(prefixes.items())

    @cached_property
    def hosts_of(self) -> Mapping[str, tuple[Site, ...]]:
        """The hosts of each switch that has hosts."""
        found: dict[str, list[Site]] = {}
        for site in self.wiring.sites:
            found.setdefault(site.switch, []).append(site)
        return {switch: tuple(sites) for switch, sites in found.items()}

    def host_at(self, address: IPv4Address) -> int | None:
        """Return the number of the host with an address, None if there is none."""
        return self._number_of.get(address)

    def switch_path(self, links: Sequence[int]) -> tuple[str, ...]:
        """Return the switches on a path of the fabric from host to host."""
        return tuple(self.topology.links[link].target for link in links[:-1])


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
