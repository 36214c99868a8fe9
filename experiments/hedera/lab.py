"""The emulated data centre: a fat-tree with its scheduler, or one tree or one switch to compare it with."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from experiments.hedera.schemes import ECMP, NON_BLOCKING, ONE_TREE, PORTS_OF_SWITCH, centre_of
from experiments.measuring.emulation import describe_run
from experiments.measuring.load import LoadWatch, MachineLoad, overload
from hedera.network.data_centre import DataCentre
from hedera.network.fat_tree import FatTree
from hedera.scheduling import events
from kuijia_app.tables.wiring import Neighbours
from kuijia_app.tables.wiring_file import load_wiring
from kuijia_base.errors import TestbedError
from te_solver.formats.topology_file import save_topology
from testbed.controllers.application_process import LISTEN_PORT, Event, Framework
from testbed.controllers.controller_process import SchedulerProcess
from testbed.machine.machine import Machine, require_emulation
from testbed.machine.network_namespace import private_network
from testbed.machine.ovs import Datapath, PrivateOvs
from testbed.machine.run_directory import RunDirectory
from testbed.network.bridges import NetworkOptions
from testbed.network.leftovers import remove_leftovers
from testbed.network.network import EmulatedNetwork

_QUIET_TIMEOUT = 30.0
"""Timeout in seconds; quiet takes two or three seconds with rounds every second."""

BUFFER_PACKETS = 50
"""Packets of every queue, as in the authors' own reproduction on Mininet."""

ATTEMPTS = 3
"""Attempts at a measurement that fails, or that the busy machine makes untrustworthy."""

T = TypeVar("T")


@dataclass(frozen=True)
class HederaLab:
    """A running lab: the network, whose hosts have the fabric's names, and the scheduler that programs it."""

    centre: DataCentre
    network: EmulatedNetwork
    scheduler: SchedulerProcess
    machine: Machine
    began: float

    def manifest(self) -> dict[str, Any]:
        """Return the circumstances of a measurement that ends now."""
        return describe_run(self.machine, self.network, (), self.began, time.time() - self.began)

    def measure(self, measurement: Callable[[int], T]) -> tuple[T, MachineLoad, tuple[str, ...]]:
        """Measure until nothing fails and the machine is not too busy, at most three times.

        Each attempt begins when the scheduler knows of no elephants. Flows placed beside those of an earlier attempt,
        which have just ended, would be credited with only a part of their demand, and first fit never moves them.

        Args:
            measurement: receives the number of the attempt, counted from 1.

        Returns:
            The last measurement, its load, and the reasons not to trust it, empty for a good one.

        Raises:
            TestbedError: the last attempt failed, or the scheduler still reports elephants although none are sent.
        """
        ovs = self.network.ovs
        watch = LoadWatch(ovs.switch_pid() if ovs.datapath is Datapath.USERSPACE else None)
        attempt = 0
        while True:
            attempt += 1
            if not self.scheduler.wait_for(is_quiet, _QUIET_TIMEOUT):
                raise TestbedError(f"the scheduler still knows of elephants after {_QUIET_TIMEOUT:g} s")
            watch.load()
            try:
                measured = measurement(attempt)
            except TestbedError:
                if attempt == ATTEMPTS:
                    raise
                continue
            load = watch.load()
            disturbed = overload(load)
            if not disturbed or attempt == ATTEMPTS:
                return measured, load, disturbed


def is_quiet(told: Sequence[Event]) -> bool:
    """Return True if the scheduler's last round found no elephants, by its events."""
    elephants = [event["elephants"] for event in told if event["event"] == events.ROUND]
    return elephants[-1:] == [0]


def authors_lab(
    scheme: str, nic_rate: float, period: float, report: Callable[[str], None]
) -> AbstractContextManager[HederaLab]:
    """Run the authors' testbed of 16 hosts for the duration of a block; see `hedera_lab`."""
    return hedera_lab(PORTS_OF_SWITCH, nic_rate, scheme, period, NetworkOptions(buffer_packets=BUFFER_PACKETS), report)


@contextmanager
def hedera_lab(  # noqa: PLR0913  # options are keywords
    k: int,
    nic_rate: float,
    scheme: str,
    period: float,
    options: NetworkOptions,
    report: Callable[[str], None],
    *,
    probes: bool = False,
    learned: bool = False,
    wiring_file: Path | None = None,
    framework: Framework = "os-ken",
) -> Iterator[HederaLab]:
    """Run a lab for the duration of a block.

    Args:
        k: ports of a switch of the fat-tree.
        nic_rate: of every cable, in Mbit/s.
        scheme: the name of a placement, `NON_BLOCKING` or `ONE_TREE`.
        period: seconds between two rounds of the scheduler.
        options: of the network.
        report: receives a line about each step that takes time.
        probes: the scheduler probes links, and avoids those that carry nothing.
        learned: hosts have an address and a default route, and the scheduler learns them.
        wiring_file: numbers and addresses of a fat-tree.
        framework: that of the scheduler.
    """
    began = time.time()
    machine = require_emulation()
    remove_leftovers(report)
    with RunDirectory.create() as run, private_network():
        centre = centre_of(scheme, k, nic_rate)
        told: Mapping[str, object] = {"fat_tree": k, "nic_rate": nic_rate, "placement": scheme, "period": period}
        if scheme in (NON_BLOCKING, ONE_TREE):
            file = run.path / "topology.yaml"
            save_topology(centre.topology, file)
            told = {"topology": file, "placement": ECMP, "period": period}
        if wiring_file is not None:
            centre = DataCentre(FatTree(k, nic_rate), load_wiring(wiring_file))
            told = {**told, "wiring": wiring_file}
        wiring = centre.wiring
        if learned:
            told = {**told, "neighbours": Neighbours.LEARNED.value}
            wiring = replace(wiring, neighbours=Neighbours.LEARNED)
        report(f"starting {len(wiring.topology.nodes)} switches and {len(wiring.sites)} hosts for {scheme}")
        with EmulatedNetwork(wiring.topology, wiring, run, options, report) as network:
            network.start()
            if isinstance(network.ovs, PrivateOvs):
                network.ovs.vsctl("set", "Open_vSwitch", ".", f"other_config:max-revalidator={_statistics_age(period)}")
            checks = {"missing": "warn", "gray_loss": None} if probes else {}
            scheduler = SchedulerProcess(run.path, {**told, **checks}, framework)
            try:
                scheduler.start()
                network.connect(LISTEN_PORT)
                scheduler.wait_until_ready(wiring.topology.nodes)
                yield HederaLab(centre, network, scheduler, machine, began)
            finally:
                scheduler.stop()


def _statistics_age(period: float) -> int:
    """Return the milliseconds after which Open vSwitch updates counters, if its half second is too long."""
    return round(min(max(1000 * period, 100), 500))
