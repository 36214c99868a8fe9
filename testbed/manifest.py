"""The circumstances of a measurement or computation, as plain data to store beside its result."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from functools import cache
from pathlib import Path
from typing import Any

from testbed.calibration import LinkCalibration
from testbed.commands import find_program, run_command
from testbed.errors import TestbedError
from testbed.fabric import Fabric
from testbed.machine import Machine, distribution_version, kernel_name

_PACKAGES = ("numpy", "scipy", "highspy", "cvxpy", "matplotlib")


def package_versions() -> dict[str, str]:
    """Return the versions of the computing packages by name."""
    return {name: distribution_version(name) or "not installed" for name in _PACKAGES}


def describe_program() -> dict[str, Any]:
    """Return the program and the machine without times, ready for JSON: equal for equal runs."""
    return {
        "kuijia": distribution_version("kuijia"),
        "commit": _commit(),
        "kernel": kernel_name(),
        "python": platform.python_version(),
    }


def describe_time(started_at: float, duration: float) -> dict[str, Any]:
    """Return the time of a run, ready for JSON; both in seconds, the first since the epoch."""
    return {
        "started": datetime.fromtimestamp(started_at, timezone.utc).isoformat(timespec="seconds"),
        "duration": round(duration, 3),
    }


def describe_computation(started_at: float, duration: float) -> dict[str, Any]:
    """Return versions and times of a model's computation, ready for JSON; times as in `describe_time`."""
    return {**describe_program(), "packages": package_versions(), **describe_time(started_at, duration)}


def describe_run(
    machine: Machine, network: Fabric, calibration: Sequence[LinkCalibration], started_at: float, duration: float
) -> dict[str, Any]:
    """Return versions, machine and network of a run, ready for JSON.

    Args:
        machine: as `testbed.machine` found it before the run.
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


@cache
def _commit() -> str | None:
    """Return the commit of this checkout, with `-dirty` if files differ from it; None outside a checkout."""
    root = Path(__file__).resolve().parent.parent
    if find_program("git") is None or not (root / ".git").exists():
        return None
    # As root in a user's checkout, git would refuse because of hooks, which `describe` does not run.
    git = ["git", "-c", "safe.directory=*", "-C", str(root)]
    try:
        return run_command([*git, "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]).strip()
    except TestbedError:  # a checkout without a commit
        return None
