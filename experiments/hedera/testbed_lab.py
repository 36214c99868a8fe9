"""The emulated data centre: a fat-tree with its scheduler, or one switch that never blocks, to hold it against."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from hedera.data_centre import DataCentre
from hedera.fat_tree import FatTree
from hedera.multi_rooted import MultiRooted
from te_solver.topology import Link, Topology
from te_solver.topology_file import save_topology
from testbed.application_process import LISTEN_PORT
from testbed.leftovers import remove_leftovers
from testbed.machine import Machine, require_emulation
from testbed.network import Network, NetworkOptions
from testbed.network_namespace import private_network
from testbed.run_directory import RunDirectory
from testbed.scheduler_process import SchedulerProcess

NON_BLOCKING = "non-blocking"
"""In place of a placement: all hosts at one switch."""


@dataclass(frozen=True)
class HederaLab:
    """What is running: the network, whose hosts have the fabric's names, and what programs it."""

    centre: DataCentre
    network: Network
    scheduler: SchedulerProcess
    machine: Machine


@contextmanager
def hedera_lab(
    k: int, nic_rate: float, scheme: str, period: float, options: NetworkOptions, report: Callable[[str], None]
) -> Iterator[HederaLab]:
    """A lab for the time of a block.

    Args:
        k: ports of a switch of the fat-tree.
        nic_rate: of every cable, in Mbit/s.
        scheme: the name of a placement, or `NON_BLOCKING`.
        period: seconds between two rounds of the scheduler.
        options: of the network.
        report: is told in one line each of what takes time.
    """
    machine = require_emulation()
    remove_leftovers(report)
    with RunDirectory.create() as run, private_network():
        centre = DataCentre(FatTree(k, nic_rate))
        told: Mapping[str, object] = {"fat_tree": k, "nic_rate": nic_rate, "placement": scheme, "period": period}
        if scheme == NON_BLOCKING:
            topology = _one_switch(centre)
            centre = DataCentre(MultiRooted(topology))
            file = run.path / "topology.yaml"
            save_topology(topology, file)
            told = {"topology": file, "placement": "ecmp", "period": period}
        wiring = centre.wiring
        report(f"starting {len(wiring.topology.nodes)} switches and {len(wiring.sites)} hosts for {scheme}")
        with Network(wiring.topology, wiring, run, options, report) as network:
            network.start()
            scheduler = SchedulerProcess(run.path, told)
            try:
                scheduler.start()
                network.connect(LISTEN_PORT)
                scheduler.wait_until_ready(wiring.topology.nodes)
                yield HederaLab(centre, network, scheduler, machine)
            finally:
                scheduler.stop()


def _one_switch(centre: DataCentre) -> Topology:
    """The hosts of a data centre at one switch."""
    switch, rate = "switch", centre.fabric.nic_rate
    names = [site.name for site in centre.wiring.sites]
    cables = [(name, switch) for name in names] + [(switch, name) for name in names]
    return Topology("non-blocking", (switch, *names), tuple(Link(a, b, rate) for a, b in cables))
