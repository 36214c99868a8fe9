"""Observations about running switches, and the wiring that follows from them; pure."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from kuijia_app.tables.stated_wiring import Mask, StatedWiring, SwitchEnds, datapath_text
from kuijia_app.tables.wiring import HostEnd, Neighbours, Wiring
from kuijia_base.errors import UnsoundError, quoted, shown
from te_solver.model.topology import Link, Topology

if TYPE_CHECKING:
    import networkx as nx

PortOfSwitch = tuple[int, int]
"""Datapath id and port number."""

Cable = frozenset[PortOfSwitch]

Node = TypeVar("Node", bound=Hashable)

_SWITCHES = ("switches",)


def match_names(
    topology: Topology, switches: Collection[int], cables: Iterable[Cable], given: Mapping[str, int]
) -> dict[str, int]:
    """Return the datapath id of each node.

    Raises:
        UnsoundError: there is no such assignment, or more than one.
    """
    import networkx as nx  # noqa: PLC0415  # slow to import

    found: nx.Graph[int] = nx.Graph()
    found.add_nodes_from(switches)
    for cable in cables:
        (one, _), (other, _) = cable
        found.add_edge(one, other)
    wanted: nx.Graph[str] = nx.Graph()
    wanted.add_nodes_from(topology.nodes)
    wanted.add_edges_from(topology.edges)
    _require_counts(topology, wanted, found)
    for name, number in given.items():
        if not topology.has_node(name):
            raise UnsoundError(_SWITCHES, f"unknown node {quoted(name)}", f"a node of {shown(topology.name)}")
        if number not in found:
            raise UnsoundError((*_SWITCHES, name), f"no switch {datapath_text(number)} connected", "one that did")
        wanted.nodes[name]["given"] = found.nodes[number]["given"] = name
    ways = list(islice(_assignments(wanted, found), 2))
    if not ways:
        problem = f"the cables between the {len(found)} switches are not those of {shown(topology.name)}"
        raise UnsoundError(_SWITCHES, problem, "the same network, and right --switch options if any")
    if len(ways) > 1:
        node = next(node for node in topology.nodes if ways[0][node] != ways[1][node])
        either = f"{datapath_text(ways[0][node])} or {datapath_text(ways[1][node])}"
        problem = f"{node} could be {either}, by the cables alone"
        raise UnsoundError((*_SWITCHES, node), problem, f"--switch {node}=DATAPATH-ID")
    return ways[0]


def _assignments(wanted: nx.Graph[str], found: nx.Graph[int]) -> Iterator[dict[str, int]]:
    from networkx.algorithms.isomorphism import GraphMatcher  # noqa: PLC0415  # slow to import

    def alike(one: Mapping[str, object], other: Mapping[str, object]) -> bool:
        return one.get("given") == other.get("given") and one["distances"] == other["distances"]

    _note_distances(wanted)
    _note_distances(found)
    matcher = GraphMatcher(wanted, found, node_match=alike)
    yield from map(dict, matcher.isomorphisms_iter())


def _note_distances(graph: nx.Graph[Node]) -> None:
    """Note at each node how many nodes are how far away, by which most nodes of a network differ.

    The search for an assignment compares no others: without it, networks whose nodes all have as many links take hours.
    """
    from networkx import all_pairs_shortest_path_length  # noqa: PLC0415  # slow to import

    for node, lengths in all_pairs_shortest_path_length(graph):
        graph.nodes[node]["distances"] = sorted(lengths.values())


def _require_counts(topology: Topology, wanted: nx.Graph[str], found: nx.Graph[int]) -> None:
    for what, expected, count in (
        ("switches", len(wanted), len(found)),
        ("links", wanted.number_of_edges(), found.number_of_edges()),
    ):
        if count != expected:
            problem = f"{count} {what} were found"
            raise UnsoundError(_SWITCHES, problem, f"{expected}, as {shown(topology.name)} has")


_ANY_CAPACITY = 1.0

_MOST_PORT = 0xFFFF_FF00
"""Last number of a physical port (OpenFlow 1.3.5, 7.2.1)."""

MOST_SWITCHES = 4096
"""Switches that are taken in: whoever reaches the port may claim any number of datapath ids."""

_HEARD_OF_A_PORT = 16
"""Ports from which probes may come to one port: more than one where a hub, or a switch that does not take part, is in
between."""

_PROBED_IN_TURN = 64
"""Ports of a switch out of which probes are sent before the next switch has its turn."""

MOST_PORTS = 2**20
"""Ports of all switches together that are noted: about a hundred bytes each."""

MOST_REMARKS = 50
_NAMED_PORTS = 12


@dataclass
class DiscoveredNetwork:
    """State of discovery.

    Attributes:
        ports: by datapath id, the numbers of a switch's physical ports, each with True if it is live.
        heard: pairs of ports, of which the second has received a probe of the first.
        others: datapath ids of switches that were left alone.
    """

    ports: dict[int, dict[int, bool]] = field(default_factory=dict)
    heard: set[tuple[PortOfSwitch, PortOfSwitch]] = field(default_factory=set)
    others: set[int] = field(default_factory=set)
    _origins: dict[PortOfSwitch, int] = field(default_factory=dict)
    _answered: set[PortOfSwitch] = field(default_factory=set)
    _cabled: set[frozenset[int]] = field(default_factory=set)
    _port_count: int = 0

    def has_room(self, datapath_id: int) -> bool:
        """Return True if a switch is there already or may still be added."""
        return datapath_id in self.ports or len(self.ports) < MOST_SWITCHES

    def described(self, datapath_id: int, ports: Mapping[int, bool]) -> None:
        """Add some of the ports of a switch; those that only the switch itself uses are left out."""
        of_switch = self.ports.setdefault(datapath_id, {})
        for number, live in ports.items():
            is_new = number not in of_switch
            if 1 <= number <= _MOST_PORT and not (is_new and self.is_full):
                of_switch[number] = live
                self._port_count += is_new

    @property
    def is_full(self) -> bool:
        """True when no more ports are noted."""
        return self._port_count >= MOST_PORTS

    def arrived(self, sent_by: PortOfSwitch, at: PortOfSwitch) -> None:
        """Add that a probe of one port has come to another, if both have been described and few have come there."""
        has_ports = all(port in self.ports.get(switch, ()) for switch, port in (sent_by, at))
        if has_ports and (sent_by, at) not in self.heard and self._origins.get(at, 0) < _HEARD_OF_A_PORT:
            self._origins[at] = self._origins.get(at, 0) + 1
            self.heard.add((sent_by, at))
            self._answered.add(sent_by)
            if (at, sent_by) in self.heard:
                self._cabled.add(frozenset((sent_by[0], at[0])))

    def to_probe(self, switches: Iterable[int]) -> Iterator[PortOfSwitch]:
        """Yield each port without a cable yet once, a few of each switch by turns: none waits for a large one.

        What is added meanwhile counts for the switches that have not had their turn.
        """
        left = dict.fromkeys(switches)
        rests: dict[int, Iterator[int]] = {}
        while left:
            for switch in list(left):
                if switch not in rests:
                    rests[switch] = iter(tuple(self.ports[switch]))
                ports = list(islice(rests[switch], _PROBED_IN_TURN))
                if len(ports) < _PROBED_IN_TURN:
                    del left[switch]
                for port in ports:
                    if not ((switch, port) in self._origins and (switch, port) in self._answered):
                        yield switch, port

    @property
    def cables(self) -> frozenset[Cable]:
        """Cables over which probes have come in both directions."""
        return frozenset(frozenset(ends) for ends in self.heard if ends[::-1] in self.heard)

    def is_complete(self, switches: int, links: int) -> bool:
        """Return True when so many switches have described themselves and at least so many pairs of them are cabled."""
        return len(self.ports) >= switches and all(self.ports.values()) and len(self._cabled) >= links

    def to_json(self) -> dict[str, Any]:
        return {
            "ports": [[switch, sorted(ports.items())] for switch, ports in sorted(self.ports.items())],
            "heard": sorted([*one, *other] for one, other in self.heard),
            "others": sorted(self.others),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> DiscoveredNetwork:
        found = cls(others=set(data["others"]))
        for switch, ports in data["ports"]:
            found.described(switch, dict(ports))
        for a, b, c, d in data["heard"]:
            found.arrived((a, b), (c, d))
        return found


def wiring_found(
    findings: DiscoveredNetwork, topology: Topology | None, given: Mapping[str, int], not_ours: Sequence[Mask]
) -> tuple[StatedWiring, list[str]]:
    """Return the wiring that was found, and remarks about what the user should look at.

    Args:
        findings: the observations.
        topology: names the switches; without one, they have names made of their datapath ids.
        given: datapath ids of some switches by name.
        not_ours: switches that were left alone.

    Raises:
        UnsoundError: the switches and cables are not those of the topology, or could be in several ways.
    """
    remarks: list[str] = []
    cables = _one_for_each_pair(findings.cables, remarks)
    if topology is None:
        _require_connected(given, findings.ports)
        names = {f"switch-{datapath_text(number)}": number for number in findings.ports if number not in given.values()}
        names.update(given)
        topology = _topology_of(dict(sorted(names.items(), key=lambda each: each[1])), cables)
    else:
        names = match_names(topology, findings.ports, cables, given)
    defaults = Wiring(topology, neighbours=Neighbours.LEARNED)
    name_of = {number: name for name, number in names.items()}
    links: dict[str, dict[str, int]] = {node: {} for node in topology.nodes}
    for cable in cables:
        (one, one_port), (other, other_port) = sorted(cable)
        links[name_of[one]][name_of[other]] = one_port
        links[name_of[other]][name_of[one]] = other_port
    switches: dict[str, SwitchEnds] = {}
    cabled = {port for cable in findings.cables for port in cable}
    for node in topology.nodes:
        number = names[node]
        left = {port: live for port, live in findings.ports[number].items() if (number, port) not in cabled}
        port = _host_port(node, left, remarks)
        host = None
        if port is not None:
            ends = defaults.host_address(node), defaults.prefixes(node)
            host = HostEnd(port, *ends, gateways=defaults.gateways(node))
        order = {other: links[node][other] for other in topology.neighbours[node]}
        switches[node] = SwitchEnds(number, order, host)
    if len(remarks) > MOST_REMARKS:
        remarks[MOST_REMARKS:] = [f"{len(remarks) - MOST_REMARKS} more of such notes"]
    return StatedWiring("wiring", switches, tuple(not_ours)), remarks


def _require_connected(given: Mapping[str, int], connected: Collection[int]) -> None:
    named: set[int] = set()
    for name, number in given.items():
        if number not in connected or number in named:
            problem = f"{datapath_text(number)} {'has two names' if number in named else 'has not connected'}"
            raise UnsoundError(("switches", name), problem, "a switch that has, named once")
        named.add(number)


def _one_for_each_pair(cables: Iterable[Cable], remarks: list[str]) -> list[Cable]:
    """Return one cable for each two switches, the one with the lowest ports; the others are remarked on."""
    kept: dict[frozenset[int], Cable] = {}
    for cable in sorted(cables, key=sorted):
        pair = frozenset(switch for switch, _ in cable)
        if len(pair) == 1:
            remarks.append(f"a cable from a switch to itself is left out: {_cable_text(cable)}")
        elif pair in kept:
            remarks.append(f"a second cable between two switches is left out: {_cable_text(cable)}")
        else:
            kept[pair] = cable
    return list(kept.values())


def _cable_text(cable: Cable) -> str:
    return " to ".join(f"{datapath_text(switch)} port {port}" for switch, port in sorted(cable))


def _topology_of(names: Mapping[str, int], cables: Iterable[Cable]) -> Topology:
    name_of = {number: name for name, number in names.items()}
    links = []
    for cable in cables:
        (one, _), (other, _) = sorted(cable)
        ends = name_of[one], name_of[other]
        links += [Link(*ends, _ANY_CAPACITY), Link(*ends[::-1], _ANY_CAPACITY)]
    return Topology("discovered", tuple(names), tuple(links))


def _host_port(node: str, left: Mapping[int, bool], remarks: list[str]) -> int | None:
    """Return the only port that leads to no switch, of the live ones if there are any; None if that leaves a choice."""
    candidates = [port for port, live in left.items() if live] or list(left)
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        listed = ", ".join(map(str, sorted(candidates)[:_NAMED_PORTS]))
        more = f" and {len(candidates) - _NAMED_PORTS} more" if len(candidates) > _NAMED_PORTS else ""
        remarks.append(f"{node} has no host: each of the ports {listed}{more} could lead to it")
    else:
        remarks.append(f"{node} has no host: all its ports lead to switches")
    return None
