"""Program, versions and time of a computation or a measurement, as plain data to store beside its result."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from datetime import datetime, timezone
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

_PACKAGES = ("numpy", "scipy", "highspy", "cvxpy", "matplotlib")
_PATIENCE_SECONDS = 30.0


def distribution_version(name: str) -> str | None:
    """Return the version of an installed Python distribution, None if it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def kernel_name() -> str:
    """Return name and release of the kernel."""
    return f"{platform.system()} {platform.release()}"


def cpu_model() -> str:
    """Return the processor as the kernel names it, empty if it does not."""
    try:
        found = re.search(r"^model name\s*:\s*(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:  # not Linux
        return platform.processor()
    return found[1] if found else ""


def describe_machine() -> dict[str, Any]:
    """Return the machine, ready for JSON."""
    return {"cpu": cpu_model(), "processors": os.cpu_count(), "system": platform.machine()}


def package_versions() -> dict[str, str]:
    """Return the versions of the computing packages by name."""
    return {name: library_version(name) or "not installed" for name in _PACKAGES}


def library_version(package: str) -> str | None:
    """Return the version of a package; `cvxpy-base` is CVXPY without all of its solvers."""
    return distribution_version(package) or distribution_version(f"{package}-base")


def python_versions() -> dict[str, str]:
    """Return the versions of Python, of this program and of the computing packages by name."""
    own = distribution_version("kuijia") or "not installed"
    return {"Python": platform.python_version(), "kuijia": own, **package_versions()}


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


@cache
def _commit() -> str | None:
    """Return the commit of this checkout, with `-dirty` if files differ from it; None outside a checkout."""
    root = Path(__file__).resolve().parent.parent
    if not (root / ".git").exists():
        return None
    # As root in a user's checkout, git would refuse because of hooks, which `describe` does not run.
    git = ["git", "-c", "safe.directory=*", "-C", str(root), "describe"]
    try:
        found = subprocess.run(
            [*git, "--always", "--dirty", "--abbrev=40", "--exclude=*"],
            capture_output=True,
            text=True,
            timeout=_PATIENCE_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):  # no git, or a checkout without a commit
        return None
    return found.stdout.strip()
