"""Boxes for tests: each a container on this machine, with its own network, processes, SSH daemon and Open vSwitch."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from kuijia_base.commands import find_program, run_command
from te_solver.formats.topology_file import save_topology
from te_solver.model.topology import Topology
from testbed.machine.network_namespace import private_network
from testbed.machine.ovs import SCHEMA_PATHS, Datapath
from testbed.machine.packet_origin import forget_origin
from tests.certificates import make_certificate

needs_sshd = pytest.mark.skipif(find_program("sshd") is None, reason="sshd not found (Debian package openssh-server)")

CONTROLLER = "192.0.2.1"
CONTROLLER_WITH_TLS = {
    "address": CONTROLLER,
    "tls": {"key": "controller.key", "certificate": "controller.pem", "ca": "ca.pem"},
}
"""Inventory entry of a controller that uses TLS."""

_START_SECONDS = 60.0
_END_SECONDS = 60.0
_CONTAINER = ["unshare", "--net", "--mount", "--pid", "--uts", "--fork", "--mount-proc", "--kill-child"]
_OVS = "/run/openvswitch"
_IN_SWITCH = ["env", *(f"OVS_{each}DIR={_OVS}" for each in ("RUN", "LOG", "DB", "SYSCONF"))]
_AS_DAEMON = ["--detach", "--pidfile", "--log-file", "-vconsole:off"]


@dataclass
class TestBox:
    """A box: `number` determines its address; killing `holder` ends everything in it; `folder` has its files."""

    __test__ = False

    name: str
    number: int
    holder: subprocess.Popen[bytes]
    init: int
    folder: Path

    @property
    def address(self) -> str:
        return f"192.168.{self.number}.2"

    @property
    def is_switch(self) -> bool:
        return not self.name.startswith("host-")

    def run(self, *argv: str) -> str:
        return run_command(["nsenter", "--target", str(self.init), "--all", *argv])

    def kill(self) -> None:
        """End everything in it; return when nothing runs there any more, some time after its holder has ended."""
        if self.holder.poll() is not None:
            return
        init = os.pidfd_open(self.init)
        try:
            self.holder.kill()
            self.holder.wait()
            ended, _, _ = select.select([init], [], [], _END_SECONDS)
        finally:
            os.close(init)
        assert ended, f"{self.name} still runs after {_END_SECONDS:g} s"

    def lose_connections(self) -> None:
        """End the sessions of SSH, but not the daemon that accepts new ones."""
        sessions = self.run("ps", "--ppid", self._daemon(), "-o", "pid=").split()
        self.run("kill", "-KILL", *sessions)

    @contextmanager
    def out_of_reach(self) -> Iterator[None]:
        """Stop the SSH daemon for a block."""
        self.run("kill", self._daemon())
        try:
            yield
        finally:
            self.start_sshd()

    def start_sshd(self) -> None:
        sshd = find_program("sshd")
        assert sshd is not None
        self.run(sshd, "-f", str(self.folder / f"sshd-{self.name}"), "-E", str(self.folder / f"sshd-{self.name}.log"))

    def start_forwarder(self) -> None:
        """Start `ovs-vswitchd`."""
        self.run(*_IN_SWITCH, "ovs-vswitchd", f"unix:{_OVS}/db.sock", *_AS_DAEMON)

    def kill_forwarder(self) -> None:
        self.run("kill", "-KILL", self.run("cat", f"{_OVS}/ovs-vswitchd.pid").strip())

    def _daemon(self) -> str:
        return self.run("cat", "/run/sshd.pid").strip()


@dataclass
class Rig:
    """Cabled boxes, their inventory, and a file of their topology."""

    inventory: Path
    topology_file: Path
    boxes: dict[str, TestBox] = field(default_factory=dict)

    def wake(self) -> None:
        """Bring all cables up, so that a check can follow them."""
        for box in self.boxes.values():
            for link in json.loads(box.run("ip", "-json", "link", "show", "type", "veth")):
                box.run("ip", "link", "set", link["ifname"], "up")

    def records(self) -> str:
        """Return box and file name, a line each, of all records of changes on boxes that still run."""
        running = [box for box in self.boxes.values() if box.holder.poll() is None]
        find = ["find", "/var/lib", "-name", "*.jsonl", "-printf"]
        return "".join(box.run(*find, f"{box.name} %f\n") for box in running)

    def edit(self, **changes: object) -> Path:
        """Write another inventory, with other keys at its top, and return it."""
        data = {**yaml.safe_load(self.inventory.read_text()), **changes}
        other = self.inventory.with_name("other.yaml")
        other.write_text(yaml.safe_dump(data))
        return other


@contextmanager
def rig(
    folder: Path,
    topology: Topology,
    sites: Sequence[str],
    swapped: Sequence[str] = (),
    apart: int = 0,
    datapath: Datapath = Datapath.USERSPACE,
) -> Iterator[Rig]:
    """Run boxes for a topology's switches and some sites' hosts; the calling thread stays beside them.

    Args:
        folder: for keys and the inventory.
        topology: its links become cables.
        sites: sites with a host.
        swapped: two neighbours of the first switch whose cables are swapped.
        apart: seconds by which each box's monotonic clock is ahead of the previous one's.
        datapath: of all switches.
    """
    folder.chmod(0o700)
    for name in ("user", "host"):
        run_command(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)])
    for name in ("controller", "switch"):
        make_certificate(folder, name)
    made = Rig(folder / "inventory.yaml", folder / "topology.yaml")
    save_topology(topology, made.topology_file)
    with private_network():
        try:
            run_command(["ip", "address", "add", f"{CONTROLLER}/32", "dev", "lo"])
            for name in [*topology.nodes, *(f"host-{site}" for site in sites)]:
                made.boxes[name] = _start_box(name, len(made.boxes) + 1, folder, apart)
            _cable_switches(made.boxes, topology, swapped)
            for site in sites:
                _cable_host(made.boxes[site], made.boxes[f"host-{site}"], datapath)
            made.inventory.write_text(yaml.safe_dump(_inventory(made.boxes, topology, sites, datapath)))
            key = " ".join((folder / "host.pub").read_text().split()[:2])
            (folder / "known_hosts").write_text("".join(f"{box.address} {key}\n" for box in made.boxes.values()))
            yield made
        finally:
            for box in made.boxes.values():
                box.kill()


def _start_box(name: str, number: int, folder: Path, apart: int) -> TestBox:
    clock = ["--time", f"--monotonic={number * apart}"] if apart else []
    holder = subprocess.Popen([*_CONTAINER, *clock, "sleep", "infinity"])
    box = TestBox(name, number, holder, _child_of(holder.pid), folder)
    for place in ("/run", "/var/lib"):
        box.run("mount", "-t", "tmpfs", "none", place)
    box.run("mkdir", "-p", "/run/sshd", "/run/openvswitch")
    box.run("hostname", name)
    link = ["ip", "link", "add", "name", f"m{number}", "type", "veth", "peer", "name", "mgmt0", "netns", str(box.init)]
    run_command(link)
    run_command(["ip", "address", "add", f"192.168.{number}.1/24", "dev", f"m{number}"])
    run_command(["ip", "link", "set", f"m{number}", "up"])
    for command in (
        "link set lo up",
        f"address add {box.address}/24 dev mgmt0",
        "link set mgmt0 up",
        f"route add default via 192.168.{number}.1",
    ):
        box.run("ip", *command.split())
    _configure_sshd(box)
    box.start_sshd()
    if box.is_switch:
        _start_switch(box)
    return box


def _child_of(pid: int) -> int:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        with suppress(FileNotFoundError):
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            if children and Path(f"/proc/{children[0]}/comm").read_text().strip() == "sleep":
                return int(children[0])
        time.sleep(0.01)
    raise AssertionError("the container did not start")


def _configure_sshd(box: TestBox) -> None:
    folder = box.folder
    lines = [
        f"ListenAddress {box.address}",
        f"HostKey {folder / 'host'}",
        f"AuthorizedKeysFile {folder / 'user.pub'}",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "UsePAM no",
        "StrictModes no",
        "PidFile /run/sshd.pid",
        "SetEnv HOME=/nonexistent",  # the start files of the user's shell are no part of a box
    ]
    (folder / f"sshd-{box.name}").write_text("\n".join(lines) + "\n")


def _start_switch(box: TestBox) -> None:
    schema = next(path for path in SCHEMA_PATHS if path.exists())
    box.run(*_IN_SWITCH, "ovsdb-tool", "create", f"{_OVS}/conf.db", str(schema))
    box.run(*_IN_SWITCH, "ovsdb-server", f"{_OVS}/conf.db", f"--remote=punix:{_OVS}/db.sock", *_AS_DAEMON)
    box.run(*_IN_SWITCH, "ovs-vsctl", "--no-wait", "init")
    files = (str(box.folder / name) for name in ("switch.key", "switch.pem", "ca.pem"))
    box.run(*_IN_SWITCH, "ovs-vsctl", "--no-wait", "set-ssl", *files)
    box.start_forwarder()


def _cable_switches(boxes: dict[str, TestBox], topology: Topology, swapped: Sequence[str]) -> None:
    cables = [((boxes[a], f"to-{b}"), (boxes[b], f"to-{a}")) for a, b in topology.edges]
    other = {f"to-{here}": f"to-{there}" for here, there in (swapped, swapped[::-1])} if swapped else {}
    for (near, interface), (far, far_interface) in cables:
        name = other.get(interface, interface) if near.name == topology.nodes[0] else interface
        _add_cable(_end(near, name), _end(far, far_interface))


def _cable_host(switch: TestBox, host: TestBox, datapath: Datapath) -> None:
    """Connect them by a cable; for the kernel's datapath, one whose frames look as if from a network card."""
    ends = _end(switch, "to-host"), _end(host, "to-switch")
    if datapath is Datapath.USERSPACE:
        _add_cable(*ends)
        return
    bridge, *ports = (f"{kind}{host.number}" for kind in ("bridge", "switch", "host"))
    run_command(["ip", "link", "add", "name", bridge, "up", "type", "bridge", "forward_delay", "0"])
    for port, end in zip(ports, ends, strict=True):
        _add_cable(["name", port], end)
        run_command(["ip", "link", "set", port, "master", bridge, "up"])
    forget_origin(ports[1:])


def _end(box: TestBox, interface: str) -> list[str]:
    return ["name", interface, "netns", str(box.init)]


def _add_cable(near: Sequence[str], far: Sequence[str]) -> None:
    run_command(["ip", "link", "add", *near, "type", "veth", "peer", *far])


def _inventory(
    boxes: dict[str, TestBox], topology: Topology, sites: Sequence[str], datapath: Datapath
) -> dict[str, object]:
    return {
        "controller": {"address": CONTROLLER},
        "ssh": {"user": "root", "key": "user", "known_hosts": "known_hosts"},
        "switches": [
            {
                "node": node,
                "address": boxes[node].address,
                "management": "mgmt0",
                "links": {other: f"to-{other}" for other in topology.neighbours[node]},
                **({"host": "to-host"} if node in sites else {}),
                "datapath": datapath.value,
            }
            for node in topology.nodes
        ],
        "hosts": [
            {
                "node": site,
                "address": boxes[f"host-{site}"].address,
                "management": "mgmt0",
                "interface": "to-switch",
            }
            for site in sites
        ],
    }
