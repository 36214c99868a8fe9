"""Networks beside the fat-tree: one switch that does not block, and one tree; pure."""

from __future__ import annotations

from experiments.hedera.testbed_cases import NON_BLOCKING, ONE_TREE
from hedera.network.data_centre import DataCentre
from hedera.network.fat_tree import FatTree
from hedera.network.multi_rooted import MultiRooted
from te_solver.topology import Link, Topology


def centre_of(scheme: str, ports: int, nic_rate: float) -> DataCentre:
    """Return the network that a scheme uses: a fat-tree, one tree of it, or one switch for the same hosts."""
    centre = DataCentre(FatTree(ports, nic_rate))
    if scheme == NON_BLOCKING:
        return DataCentre(MultiRooted(one_switch(centre)))
    if scheme == ONE_TREE:
        return DataCentre(MultiRooted(one_tree(centre)))
    return centre


def one_switch(centre: DataCentre) -> Topology:
    """Return the hosts of a data centre at one non-blocking switch."""
    switch, rate = "switch", centre.fabric.nic_rate
    names = [site.name for site in centre.wiring.sites]
    cables = [(name, switch) for name in names] + [(switch, name) for name in names]
    return Topology(NON_BLOCKING, (switch, *names), tuple(Link(a, b, rate) for a, b in cables))


def one_tree(centre: DataCentre) -> Topology:
    """Return the part of a data centre that remains when all flows use the first of their paths."""
    topology = centre.topology
    paths = (centre.fabric.path(0, host, 0) for host in range(1, centre.fabric.hosts))
    kept = {node for path in paths for link in path for node in topology.links[link].ends}
    return Topology(
        ONE_TREE,
        tuple(node for node in topology.nodes if node in kept),
        tuple(link for link in topology.links if kept.issuperset(link.ends)),
    )
