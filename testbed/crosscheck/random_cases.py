"""Random plans, options, failures and packets for comparing the model with real switches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from ipaddress import IPv4Network, IPv6Network
from random import Random

from kuijia_app.proof.expectation import CODE_POINTS, ECN_CODES
from kuijia_app.proof.model.packet import Label, VlanTag
from kuijia_app.tables.bfd import BfdSessions
from kuijia_app.tables.classifiers import LAST_TRANSPORT_PORT, Classifier, Classifiers, PortRange
from kuijia_app.tables.families import Address, Family, Prefix, first_of
from kuijia_app.tables.options import Form, Liveness, OtherTraffic, PipelineOptions, Tagging
from kuijia_app.tables.queue_layouts import LAYOUTS
from kuijia_app.tables.queues import DSCP_NETWORK_CONTROL, MAX_QUEUES, Queue, QueueLayout, TrafficClass, require_sound
from kuijia_app.tables.rules import LAST_VLAN_ID, TCP, UDP
from kuijia_app.tables.slots import SLOT_COUNTS
from kuijia_app.tables.stated_wiring import StatedWiring, stated
from kuijia_app.tables.wiring import HostEnd, Wiring
from te_solver.model.failures import Failure
from te_solver.model.plan import FIRST_PATH_ID, LAST_PATH_ID, PairPlan, Plan, Tunnel
from te_solver.model.topology import Link, Topology
from te_solver.schemes.all_schemes import switch_schemes

_NODES = (3, 9)
_MOST_PAIRS = 4
_MOST_TUNNELS = 4
_LONGEST_PATH = 6
_RATE = 10.0
_TRAFFIC_CLASSES = 8
_IPV4_SHARE = 0.4
_CLASSIFIED_SHARE = 0.4
"""Share of the plans whose layout has classifiers."""
_MOST_RULES = 6
_TRUNK_SHARE = 0.2
"""Share of the sites of a stated wiring that are behind a trunk."""
_MOST_BESIDE = 2
"""Most further sites at a switch."""


@dataclass(frozen=True, slots=True)
class RandomPlan:
    """A plan and the options of its tables."""

    plan: Plan
    options: PipelineOptions


def random_plan(random: Random) -> RandomPlan:
    """Return a plan on a random connected network: some pairs and classes, up to four tunnels each of any weights."""
    import networkx as nx  # noqa: PLC0415  # slow to import

    options = _options(random)
    if options.tagging is not Tagging.DSCP_ECN:
        options = replace(options, other_traffic=random.choice(list(OtherTraffic)))
    size = random.randint(*_NODES)
    graph: nx.Graph[int] = nx.gnp_random_graph(size, random.uniform(0.2, 0.9), seed=random.randrange(2**32))
    nx.add_path(graph, range(size))
    names = tuple(f"n{number}" for number in range(size))
    links = tuple(Link(names[a], names[b], 1e3) for edge in graph.edges for a, b in (edge, edge[::-1]))
    ends = random.sample(range(size * (size - 1)), random.randint(1, min(_MOST_PAIRS, size)))
    pairs: list[PairPlan] = []
    label = FIRST_PATH_ID
    for number in ends:
        source, target = divmod(number, size - 1)
        target += target >= source
        paths = sorted(nx.all_simple_paths(graph, source, target, _LONGEST_PATH), key=len) or [
            nx.shortest_path(graph, source, target)
        ]
        chosen = random.sample(paths, min(len(paths), random.randint(1, _MOST_TUNNELS)))
        shares = [random.randrange(10) for _ in chosen]
        shares[random.randrange(len(shares))] += 1
        for each in random.sample(options.layout.classes, random.randint(1, len(options.layout.classes))):
            tunnels: list[Tunnel] = []
            for path, share in zip(chosen, shares, strict=True):
                nodes = tuple(names[node] for node in path)
                tunnels.append(Tunnel(label + len(tunnels), nodes, _RATE * share, share / sum(shares)))
            pairs.append(PairPlan(names[source], names[target], _RATE, _RATE, tuple(tunnels), each.priority))
        label += len(chosen)
    plan = Plan(Topology("random", names, links), tuple(pairs), "none", 0.0, "none", 0.0)
    return RandomPlan(plan, replace(options, wiring=_random_families(plan.topology, random)))


def _random_families(topology: Topology, random: Random) -> StatedWiring | None:
    """Return a wiring in which sites have prefixes of IPv4, of IPv6, or of both; often None: all have IPv4 alone."""
    if random.random() < _IPV4_SHARE:
        return None
    found = stated(Wiring(topology))
    switches = dict(found.switches)
    for number, (name, ends) in enumerate(switches.items()):
        host = ends.host
        assert host is not None, "each switch has one unless a file says otherwise"
        prefix = IPv6Network((0x2001_0DB8 << 96 | number << 72, random.choice((56, 64, 127))))
        kind = random.randrange(3)
        if kind == 1:
            host = replace(host, prefixes=(*host.prefixes, prefix), more_addresses=(prefix[1],))
        elif kind == 2:
            host = replace(host, prefixes=(prefix,), address=prefix[1])
        if random.random() < _TRUNK_SHARE:
            host = replace(host, vlan=random.choice((1, 16, 17, random.randint(1, LAST_VLAN_ID))))
        more = _more_sites(host, number, max(ends.ports), random) if random.random() < _TRUNK_SHARE else ()
        if host.vlan is None and not more and random.random() < _TRUNK_SHARE:
            host = replace(host, tagged=True)
        switches[name] = replace(ends, host=host, more_hosts=more)
    return StatedWiring("random", switches)


def _more_sites(host: HostEnd, number: int, last_port: int, random: Random) -> tuple[HostEnd, ...]:
    """Return further sites at a switch: in VLANs of their own, without a tag at ports of their own, or both."""
    found: list[HostEnd] = []
    for place in range(1, random.randint(1, _MOST_BESIDE) + 1):
        port = random.choice((host.port, host.port, last_port + place))
        taken = {each.vlan for each in (host, *found) if each.port == port}
        vlan = random.choice([each for each in (None, 1, 17, 2000, 4094) if each not in taken])
        prefix = IPv4Network((10 << 24 | place << 16 | number << 8, 24))
        found.append(HostEnd(port, prefix[1], (prefix,), vlan=vlan))
    return tuple(found)


def perhaps_classified(case: RandomPlan, random: Random) -> RandomPlan:
    """Return the plan, often with classifiers in the layout."""
    if random.random() >= _CLASSIFIED_SHARE:
        return case
    layout, wiring = case.options.layout, case.options.wired(case.plan.topology)
    layout = replace(layout, classifiers=_random_classifiers(random, layout, wiring))
    return replace(case, options=replace(case.options, layout=layout))


def random_failure(plan: Plan, random: Random) -> Failure:
    """Return a failure of up to three links, sometimes a node or nothing; mostly links that tunnels use."""
    kind = random.random()
    if kind < 0.1:
        return Failure("none")
    if kind < 0.25:
        node = random.choice(plan.topology.nodes)
        return Failure(node, nodes=(node,))
    used = [hop for tunnel in plan.tunnels for hop in tunnel.hops] if kind < 0.85 else list(plan.topology.edges)
    drawn = random.sample(used, min(len(used), random.choice((1, 1, 2, 3))))
    edges = tuple({frozenset(edge): edge for edge in drawn}.values())
    return Failure(" + ".join(f"{a}-{b}" for a, b in edges), edges)


@dataclass(frozen=True, slots=True)
class HostPacket:
    """A host's packet to the host of another site, with any code point; `dp_hash` is the hash of the datapath."""

    source: str
    destination: Address
    dscp: int
    ecn: int
    dp_hash: int


def random_packet(case: RandomPlan, destinations: Mapping[str, tuple[Address, ...]], random: Random) -> HostPacket:
    """Return a packet, mostly between ends of the plan's pairs and with meaningful code points."""
    pair = random.choice(case.plan.pairs)
    source, target = random.choice(((pair.source, pair.target), (pair.target, pair.source)))
    if random.random() < 0.1:
        target = random.choice([node for node in destinations if node != source])
    layout = case.options.layout
    named = [code_point for each in layout.classes for code_point in each.code_points]
    dscp = random.choice([0, DSCP_NETWORK_CONTROL, *named, random.randrange(CODE_POINTS)])
    ecn = random.choice((0, 0, random.randrange(ECN_CODES)))
    return HostPacket(source, random.choice(destinations[target]), dscp, ecn, random.randrange(1, 2**32))


@dataclass(frozen=True, slots=True)
class StrayPacket:
    """A packet arriving at any port, with or without a tunnel there."""

    switch: str
    in_port: int
    tag: Label | VlanTag | None
    dscp: int
    ecn: int


def random_stray(case: RandomPlan, random: Random) -> StrayPacket:
    """Return a packet with tags of tunnels, BFD sessions and others, from a neighbour or the host."""
    plan = case.plan
    sessions = BfdSessions(plan) if case.options.liveness is Liveness.BFD else ()
    labels = [tunnel.path_id for tunnel in plan.tunnels] + [session.label for session in sessions] + [LAST_PATH_ID]
    switch = random.choice([node for tunnel in plan.tunnels for node in tunnel.nodes])
    in_port = random.choice(case.options.wired(plan.topology).ports(switch))
    tag: Label | VlanTag | None = None
    if case.options.tagging is not Tagging.DSCP_ECN and random.random() < 0.9:
        label, traffic_class = random.choice(labels), random.randrange(_TRAFFIC_CLASSES)
        is_label = case.options.tagging is Tagging.MPLS
        tag = Label(label, traffic_class) if is_label else VlanTag(label % LAST_VLAN_ID + 1, traffic_class)
    dscp = random.choice([random.randrange(12), DSCP_NETWORK_CONTROL, random.randrange(CODE_POINTS)])
    return StrayPacket(switch, in_port, tag, dscp, random.randrange(ECN_CODES))


def random_layout(random: Random) -> QueueLayout:
    """Return a layout as users may write it: any ids and tags, queues shared by classes or control, or unused."""
    count = random.randint(2, MAX_QUEUES)
    ids, traffic_classes = random.sample(range(60), count), random.sample(range(_TRAFFIC_CLASSES), count)
    ecn = random.sample(range(ECN_CODES), count) if count <= ECN_CODES else [None] * count
    queues = tuple(
        Queue(queue_id, f"queue {queue_id}", traffic_class, bits)
        for queue_id, traffic_class, bits in zip(ids, traffic_classes, ecn, strict=True)
    )
    code_points = random.sample([code for code in range(CODE_POINTS) if code != DSCP_NETWORK_CONTROL], 10)
    class_count = random.randint(1, 4)
    classes: list[TrafficClass] = []
    for priority in range(class_count):
        least = 0 if priority == class_count - 1 else 1
        marks = tuple(code_points.pop() for _ in range(random.randint(least, 2)))
        normal, victim = sorted(random.sample(range(count), 2))
        classes.append(TrafficClass(priority, marks, queues[normal], queues[victim]))
    layout = QueueLayout("random", queues, random.choice(queues), tuple(classes))
    require_sound(layout)
    return layout


def _random_classifiers(random: Random, layout: QueueLayout, wiring: Wiring) -> Classifiers:
    """Return classifiers of any fields, many of which share packets, without those that earlier ones cover."""
    priorities = [each.priority for each in layout.classes]
    rules: list[Classifier] = []
    for _ in range(random.randint(1, _MOST_RULES)):
        protocol = random.choice([None, TCP, TCP, UDP, 1, 58])
        has_ports, family = protocol in {TCP, UDP}, random.choice(list(Family))
        rule = Classifier(
            random.choice(priorities),
            random.choice([None, None, *layout.classes[0].code_points, random.randrange(DSCP_NETWORK_CONTROL)]),
            _random_prefix(random, wiring, family),
            _random_prefix(random, wiring, family),
            protocol,
            _random_ports(random) if has_ports else None,
            _random_ports(random) if has_ports else None,
        )
        if not any(earlier.covers(rule) for earlier in rules):
            rules.append(rule)
    return Classifiers(tuple(rules), random.choice(priorities))


def _random_prefix(random: Random, wiring: Wiring, family: Family) -> Prefix | None:
    """Return the prefix of a site, a part of it, or one around it; mostly None."""
    if random.random() < 0.6:
        return None
    address = first_of(family, random.choice(wiring.sites).addresses)
    if address is None:
        return None
    length = random.choice((15, 23, 24, 25, 32) if family is Family.IPV4 else (32, 55, 64, 65, 128))
    start = int(address) >> family.bits - length << family.bits - length
    return family.prefix(start, length)


def _random_ports(random: Random) -> PortRange | None:
    if random.random() < 0.4:
        return None
    first = random.choice((1, 999, 1000, 1999, 2000, LAST_TRANSPORT_PORT))
    return PortRange(first, min(first + random.choice((0, 1, 5)), LAST_TRANSPORT_PORT))


def _options(random: Random) -> PipelineOptions:
    layout = random.choice([*LAYOUTS.values(), random_layout(random)])
    taggings = [each for each in Tagging if each is not Tagging.DSCP_ECN or _has_ecn(layout)]
    return PipelineOptions(
        random.choice(switch_schemes()),
        random.choice(SLOT_COUNTS),
        layout,
        random.choice(taggings),
        random.choice(list(Form)),
        random.choice(list(Liveness)),
    )


def _has_ecn(layout: QueueLayout) -> bool:
    return all(queue.ecn is not None for queue in layout.queues)
