"""Examines this machine's means for the emulation, without changing anything."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from kuijia_base.additions import command_for
from kuijia_base.commands import find_program, run_command
from kuijia_base.errors import InputError, TestbedError
from kuijia_base.manifest import cpu_model, distribution_version, kernel_name
from kuijia_base.parallel import processors
from testbed.machine.network_namespace import private_network
from testbed.machine.ovs import SYSTEM_DIRECTORY, kernel_datapath_available
from testbed.machine.packet_origin import forget_origin
from testbed.machine.versions import OLDEST_IPERF, OLDEST_OVS, dotted, is_older, known_faults

PACKAGE_OF = {
    "ovs-vswitchd": "openvswitch-switch",
    "ovsdb-server": "openvswitch-switch",
    "ovsdb-tool": "openvswitch-switch",
    "ovs-vsctl": "openvswitch-switch",
    "ovs-ofctl": "openvswitch-switch",
    "ovs-appctl": "openvswitch-switch",
    "mnexec": "mininet",
    "ifconfig": "net-tools",
    "iperf3": "iperf3",
    "ip": "iproute2",
    "tc": "iproute2",
    "ethtool": "ethtool",
}
"""Program that the emulation runs to its Debian package."""

_VERSION_OPTION = {"ip": "-V", "tc": "-V", "mnexec": "-v"}
_FRAMEWORKS = ("os-ken", "c65ryu")
_VERSION = re.compile(r"\d+(?:\.\d+)+")

_MININET = "the package mininet, and a venv that sees it"

_QDISCS = {
    "htb": "htb",
    "tbf": "tbf rate 1mbit burst 4000 limit 4000",
    "prio": "prio",
    "netem": "netem delay 1ms",
    "pfifo_head_drop": "pfifo_head_drop limit 10",
}
_LABEL_FILTER = "protocol mpls_uc prio 1 u32 match u32 0x200 0xe00 at 0 flowid 1:1"


@dataclass(frozen=True)
class Machine:
    """Results of the examination.

    Attributes:
        cpu_model: as the kernel names it, empty if it does not.
        cpu_count: CPUs this process may use.
        is_root: True if the effective user is root.
        programs: each of PACKAGE_OF to its version, None if it is missing.
        mininet: version of the library that this Python can import, None if it cannot.
        frameworks: controller framework (as a Python distribution) to its version, None if it is missing.
        openvswitch_module: True if the kernel has it, loaded or loadable.
        system_ovs: True if the machine's own Open vSwitch is running.
        namespace_problem: reason why no network namespace can be created, None if one can or it was not tried.
        qdiscs: queueing discipline or filter (`u32` on labels and ports, `bpf` on the hash of packets) to True if it
            works; empty if not tried, which needs root and a network namespace.
    """

    kernel: str
    python: str
    cpu_model: str
    cpu_count: int
    is_root: bool
    programs: dict[str, str | None]
    mininet: str | None
    frameworks: dict[str, str | None]
    openvswitch_module: bool
    system_ovs: bool
    namespace_problem: str | None
    qdiscs: dict[str, bool]

    @property
    def obstacles(self) -> list[tuple[str, str]]:
        """Obstacles to the emulation: each fault and the expected state."""
        found = []
        missing = [program for program, version in self.programs.items() if version is None]
        if missing:
            packages = sorted({PACKAGE_OF[program] for program in missing})
            found.append((f"{', '.join(missing)} not found", f"the Debian packages {', '.join(packages)}"))
        for program, oldest in (("ovs-vswitchd", OLDEST_OVS), ("iperf3", OLDEST_IPERF)):
            version = self.programs[program]
            if version is not None and is_older(version, oldest):
                found.append((f"{program} {version} is too old", f"version {dotted(oldest)} or later"))
        if self.mininet is None:
            found.append((f"Mininet is not importable by Python {self.python}", _MININET))
        if not any(self.frameworks.values()):
            found.append(("neither os-ken nor c65ryu is installed", command_for("os_ken")))
        if not self.is_root:
            found.append(("not running as root", "root, for namespaces and queues"))
        if self.namespace_problem is not None:
            found.append(
                (self.namespace_problem, "a machine or container that permits network namespaces and veth pairs")
            )
        # Hosts limit their flows by u32; a kernel datapath must be made to hash flows by their headers.
        needed = ["htb", "pfifo_head_drop", "u32", *(["bpf"] if self.openvswitch_module else [])]
        if self.qdiscs and not all(self.qdiscs[kind] for kind in needed):
            lacking = ", ".join(kind for kind in needed if not self.qdiscs[kind])
            found.append((f"the kernel has no {lacking}", "a kernel with these traffic control modules"))
        return found

    @property
    def known_faults(self) -> list[str]:
        """Known faults of the programs' versions, a sentence each."""
        return known_faults(self.programs)

    @property
    def consequences(self) -> list[str]:
        """Consequences of the machine's equipment for users of the emulation, a sentence each."""
        if self.openvswitch_module:
            datapath = "Switches forward in the kernel; flow entries choose the queue (set_queue)."
        else:
            datapath = (
                "Switches forward in user space, as the kernel has no openvswitch module; filters on the label choose "
                "the queue. Two CPUs carry about 300,000 packets/s, counted at every hop: take links of 10-40 Mbit/s."
            )
        if self.openvswitch_module and self.qdiscs.get("netem", False):
            delays = "Links have the delays of their topology file (netem)."
        else:
            delays = "Links have no delay: delays of a topology file need the openvswitch module and netem."
        found = [datapath, delays]
        if self.cpu_count < 2:
            found.append("With one CPU, switches and hosts hold each other up: take links of 10 Mbit/s.")
        return found


def examine_machine() -> Machine:
    """Return the examination of the machine; as root it also tries the queues in a throw-away network namespace."""
    is_root = sys.platform != "win32" and os.geteuid() == 0
    programs = {name: _program_version(name) for name in PACKAGE_OF}
    namespace_problem: str | None = None
    qdiscs: dict[str, bool] = {}
    if is_root and programs["ip"] is not None and programs["tc"] is not None:
        try:
            with private_network():
                qdiscs = _try_qdiscs()
        except InputError as error:
            namespace_problem = error.problem
        except TestbedError as error:
            namespace_problem = str(error)
    return Machine(
        kernel=kernel_name(),
        python=platform.python_version(),
        cpu_model=cpu_model(),
        cpu_count=processors(),
        is_root=is_root,
        programs=programs,
        mininet=mininet_version(),
        frameworks={name: distribution_version(name) for name in _FRAMEWORKS},
        openvswitch_module=kernel_datapath_available(),
        system_ovs=(SYSTEM_DIRECTORY / "db.sock").exists(),
        namespace_problem=namespace_problem,
        qdiscs=qdiscs,
    )


def require_emulation() -> Machine:
    """Return the machine if the emulation can run on it.

    Raises:
        InputError: it cannot; the message lists everything missing in one line.
    """
    machine = examine_machine()
    if machine.obstacles:
        problems, expectations = zip(*machine.obstacles, strict=True)
        raise InputError("testbed", "", "; ".join(problems), "; ".join(expectations))
    return machine


def mininet_version() -> str | None:
    """Return the version of Mininet's library without importing it, None if this Python cannot import it."""
    spec = importlib.util.find_spec("mininet")
    if spec is None or spec.origin is None:
        return None
    text = (Path(spec.origin).parent / "net.py").read_text()
    found = re.search(r'^VERSION = "([^"]+)"', text, re.MULTILINE)
    return found[1] if found else "present"


def _program_version(name: str) -> str | None:
    if find_program(name) is None:
        return None
    try:
        found = _VERSION.search(run_command([name, _VERSION_OPTION.get(name, "--version")]))
    except TestbedError:  # installed, but it prints no version
        found = None
    return found[0] if found else "present"


def _try_qdiscs() -> dict[str, bool]:
    """Return which queueing disciplines and filters work, tried in the present namespace."""
    device = ["dev", "probe0"]
    run_command(["ip", "link", "add", "name", device[1], "type", "veth", "peer", "name", "probe1"])
    result = {}
    for kind, parameters in _QDISCS.items():
        result[kind] = _succeeds(["tc", "qdisc", "replace", *device, "root", "handle", "1:", *parameters.split()])
        if kind == "htb":
            result["u32"] = result["htb"] and _succeeds(["tc", "filter", "add", *device, *_LABEL_FILTER.split()])
        if result[kind]:
            run_command(["tc", "qdisc", "delete", *device, "root"])
    try:
        forget_origin([device[1]])
    except TestbedError:
        result["bpf"] = False
    else:
        result["bpf"] = True
    run_command(["ip", "link", "delete", device[1]])
    return result


def _succeeds(argv: list[str]) -> bool:
    try:
        run_command(argv)
    except TestbedError:
        return False
    return True
