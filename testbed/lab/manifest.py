"""The circumstances of a measurement on switches, as plain data to store beside its result."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from kuijia_base.manifest import describe_program, describe_time
from testbed.machine.machine import Machine
from testbed.network.calibration import LinkCalibration
from testbed.network.lab_network import LabNetwork


def describe_run(
    machine: Machine, network: LabNetwork, calibration: Sequence[LinkCalibration], started_at: float, duration: float
) -> dict[str, Any]:
    """Return versions, machine and network of a run, ready for JSON.

    Args:
        machine: as `testbed.machine.machine` found it before the run.
        network: network of the measurement; it may have been stopped.
        calibration: rates of its links before the run, in Mbit/s; empty if they were not measured.
        started_at: Unix time in seconds.
        duration: seconds.
    """
    return {
        **describe_program(),
        **describe_time(started_at, duration),
        "open_vswitch": machine.programs["ovs-vswitchd"],
        "iperf3": machine.programs["iperf3"],
        "mininet": machine.mininet,
        **network.describe(),
        "cpu": {"model": machine.cpu_model, "count": machine.cpu_count},
        "load_average": [round(load, 2) for load in os.getloadavg()],
        "calibration": [asdict(link) for link in calibration],
    }
