"""Wirings for tests: the numbers of a topology's switches, permuted; sites with prefixes of both families."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv6Network
from itertools import chain
from random import Random

from kuijia_app.tables.stated_wiring import StatedWiring, SwitchEnds, stated
from kuijia_app.tables.wiring import HostEnd, Neighbours, Wiring
from te_solver.model.topology import Topology


def permuted(
    topology: Topology, seed: int, last_port: int = 999, neighbours: Neighbours = Neighbours.STATIC
) -> StatedWiring:
    """Return a wiring with drawn datapath ids and port numbers, and the sites' usual prefixes."""
    random = Random(seed)
    usual = Wiring(topology, neighbours=neighbours)
    ids = random.sample(range(1, 1 << 48), len(topology.nodes))
    switches = {}
    for node, datapath_id in zip(topology.nodes, ids, strict=True):
        others = topology.neighbours[node]
        *ports, host_port = random.sample(range(1, last_port + 1), len(others) + 1)
        host = HostEnd(host_port, usual.host_address(node), usual.prefixes(node), gateways=usual.gateways(node))
        switches[node] = SwitchEnds(datapath_id, dict(zip(others, ports, strict=True)), host)
    return StatedWiring("permuted", switches)


def dual_stack(topology: Topology, *, gateways: bool = False, ipv4: str = "", ipv6: str = "") -> StatedWiring:
    """Return the usual wiring, in which sites also have 2001:db8:0:N::/64, with N as in 10.0.N.0/24.

    The sites in `ipv4` and `ipv6`, separated by spaces, have prefixes of that family alone.
    """
    found = stated(Wiring(topology, neighbours=Neighbours.LEARNED if gateways else Neighbours.STATIC))
    switches = {}
    for number, (name, ends) in enumerate(found.switches.items(), start=1):
        assert ends.host is not None
        prefix = IPv6Network((0x2001_0DB8 << 96 | number << 64, 64))
        own = [] if name in ipv6.split() else [(ends.host.address, ends.host.prefixes, ends.host.gateways)]
        if name not in ipv4.split():
            own.append((prefix[1], (prefix,), (prefix[0xFE],) if gateways else ()))
        addresses, prefixes, routers = zip(*own, strict=True)
        host = HostEnd(
            ends.host.port,
            addresses[0],
            tuple(chain(*prefixes)),
            gateways=tuple(chain(*routers)),
            more_addresses=addresses[1:],
        )
        switches[name] = replace(ends, host=host)
    return StatedWiring("dual stack", switches)
