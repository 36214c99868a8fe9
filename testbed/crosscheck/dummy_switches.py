"""Real Open vSwitch switches on the dummy datapath, in daemons of their own, without root; packets traced in them."""

from __future__ import annotations

import fcntl
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import TypeVar

from kuijia_app.proof.model.packet import VlanTag
from kuijia_app.tables.ofctl_text import flows_text, groups_text
from kuijia_app.tables.rules import ETH_TYPE_VLAN, SwitchTables
from kuijia_app.tables.wiring import Wiring
from kuijia_base.errors import TestbedError
from te_solver.model.plan import Plan
from testbed.machine.ovs import Datapath, PrivateOvs
from testbed.machine.processes import end_processes_with_environment
from testbed.machine.trusted_folders import fault_of_folder

_Self = TypeVar("_Self", bound="DummyNetwork")
_FOLDERS = "kuijia-check-"
_OVS, _LOCK = "ovs", "lock"
_COUNTERS = re.compile(r"(duration|n_packets|n_bytes)=[^,]*, ")


@contextmanager
def folder_for_switches() -> Iterator[Path]:
    """Yield a new folder; what processes that were killed have left in theirs ends first, daemons and files."""
    for left in Path(gettempdir()).glob(f"{_FOLDERS}*"):
        _clear(left)
    with TemporaryDirectory(prefix=_FOLDERS) as name, Path(name, _LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield Path(name)


def _clear(folder: Path) -> None:
    """End what a killed process has left in such a folder; leave it alone while its process lives."""
    try:
        if fault_of_folder(folder) is not None:
            return
        with (folder / _LOCK).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            end_processes_with_environment(f"OVS_RUNDIR={folder / _OVS}")
            shutil.rmtree(folder, ignore_errors=True)
    except OSError:
        return  # its process lives, or it has gone meanwhile


class _DummyOvs(PrivateOvs):
    """The daemons of a lab with the datapath that Open vSwitch's own tests use."""

    def _start_daemon(self, name: str, *arguments: str, settings: Sequence[str] = ()) -> None:
        dummy = ("--enable-dummy=override", "--disable-system") if name == "ovs-vswitchd" else ()
        super()._start_daemon(name, *arguments, *dummy, settings=settings)


class DummyNetwork:
    """The switches of a wiring, but wired to nothing.

    `extra_ports` are ports besides those to neighbours and hosts; with `captured` what leaves a port is written to
    the file `capture(switch, port)`.
    """

    def __init__(
        self,
        wiring: Wiring,
        directory: Path,
        extra_ports: Mapping[str, Iterable[int]] | None = None,
        *,
        captured: bool = False,
    ) -> None:
        self.wiring = wiring
        self.ovs = _DummyOvs(directory / _OVS, Datapath.USERSPACE)
        self._directory = directory
        self._extra_ports = {switch: tuple(ports) for switch, ports in (extra_ports or {}).items()}
        self._captured = captured

    def start(self) -> None:
        self.ovs.start()
        for switch in self.wiring.topology.nodes:
            bridge = self.bridge(switch)
            arguments = ["add-br", bridge, "--", "set", "Bridge", bridge, "datapath_type=dummy", "fail_mode=secure"]
            arguments += ["protocols=OpenFlow13", f"other_config:datapath-id={self.wiring.datapath_id(switch):016x}"]
            for port in self.ports(switch):
                name = self.interface(switch, port)
                arguments += ["--", "add-port", bridge, name, "--", "set", "Interface", name, "type=dummy"]
                arguments.append(f"ofport_request={port}")
                if self._captured:
                    arguments.append(f"options:tx_pcap={self.capture(switch, port)}")
            self.ovs.vsctl(*arguments)

    def stop(self) -> None:
        self.ovs.stop()

    def __enter__(self: _Self) -> _Self:  # noqa: PYI019  # typing.Self is not in Python 3.10
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def install(self, tables: Mapping[str, SwitchTables]) -> None:
        """Give every switch its tables, in bundles as `ovs-ofctl` sends them; raises TestbedError when one refuses."""
        for switch, of_switch in tables.items():
            self.ovs.ofctl("add-groups", self.bridge(switch), "--bundle", "-", stdin=groups_text(of_switch))
            self.ovs.ofctl("add-flows", self.bridge(switch), "--bundle", "-", stdin=flows_text(of_switch))

    def groups(self, switch: str) -> list[str]:
        return sorted(self.ovs.ofctl("dump-groups", self.bridge(switch)).splitlines()[1:])

    def flows(self, switch: str) -> list[str]:
        """Flow entries without their counters."""
        lines = self.ovs.ofctl("dump-flows", self.bridge(switch)).splitlines()[1:]
        return sorted(_COUNTERS.sub("", line).strip() for line in lines)

    def set_port(self, switch: str, port: int, state: str) -> None:
        """Take the carrier of a port `down` or `up`."""
        self.ovs.appctl("netdev-dummy/set-admin-state", self.interface(switch, port), state)

    def settle(self) -> None:
        """Return when the switches go by the states that their ports have now.

        The daemon reads a port's state in one turn of its main loop and uses it from the next one on; it needs
        a turn for each change of its configuration, for which `ovs-vsctl` waits.
        """
        for turn in ("one", "two"):
            self.ovs.vsctl("set", "Open_vSwitch", ".", f"external_ids:turn={turn}")

    def ports(self, switch: str) -> tuple[int, ...]:
        return (*self.wiring.ports(switch), *self._extra_ports.get(switch, ()))

    def bridge(self, switch: str) -> str:
        return f"s{self.wiring.number(switch)}"

    def interface(self, switch: str, port: int) -> str:
        return f"{self.bridge(switch)}-eth{port}"

    def capture(self, switch: str, port: int) -> Path:
        return self._directory / f"{self.interface(switch, port)}.pcap"


class DummyBridges(DummyNetwork):
    """The switches of a plan."""

    def __init__(
        self,
        plan: Plan,
        directory: Path,
        extra_ports: Mapping[str, Iterable[int]] | None = None,
        *,
        captured: bool = False,
        wiring: Wiring | None = None,
    ) -> None:
        super().__init__(wiring or Wiring(plan.topology), directory, extra_ports, captured=captured)
        self.plan = plan


_GROUP = re.compile(r"\s*group:(\d+)")
_BUCKET = re.compile(r"\s*-> using bucket (\d+)")
_NO_BUCKET = re.compile(r"\s*-> no live bucket")
_QUEUE = re.compile(r"\s*set_queue:(\d+)")
_ACTIONS = re.compile(r"Datapath actions: (.*)")
_PUSH = re.compile(r"push_mpls\(label=(\d+),tc=(\d+),.*\)")
_PUSH_VLAN = re.compile(r"push_vlan\((?:tpid=(0x[0-9a-f]+),)?vid=(\d+),pcp=(\d+)\)")
_POP = re.compile(r"pop_mpls\(eth_type=0x([0-9a-f]+)\)")
_TOS = re.compile(r"set\(ipv(?:4\(.*?tos|6\(.*?tclass)=(0x[0-9a-f]+|\d+).*\)\)")
_AGAIN = re.compile(r"recirc\(0x[0-9a-f]+\)")
_PRIORITY = re.compile(r"set\(skb_priority\((0x[0-9a-f]+|\d+)\)\)")


@dataclass(frozen=True, slots=True)
class TracedPacket:
    """Treatment of a packet by one switch.

    Attributes:
        groups: the groups used with the position of the bucket each chose, None: none was alive.
        interface: output device, None: it was dropped.
        queue: of the last `set_queue` before the output.
        pushed: labels with their traffic classes that were pushed, in this order.
        popped: EtherTypes that were written as labels were popped, in this order.
        vlans_popped: number of VLAN tags that were popped, before any was pushed.
        vlans_pushed: VLAN tags that were pushed and not popped again, the outermost first.
        is_read_again: True if the switch reads what was under a label before it goes on, which this trace does not.
        tos: new TOS byte of the IPv4 header, or traffic class of the IPv6 header, None: unchanged.
    """

    groups: tuple[tuple[int, int | None], ...]
    interface: str | None
    queue: int | None
    pushed: tuple[tuple[int, int], ...]
    popped: tuple[int, ...]
    tos: int | None
    vlans_popped: int = 0
    vlans_pushed: tuple[VlanTag, ...] = ()
    is_read_again: bool = False


def parse_trace(text: str) -> TracedPacket:
    """Return the packet's treatment from the output of `ofproto/trace BRIDGE FLOW --names`.

    Raises:
        TestbedError: it shows an action that no entry of ours has, such as sending copies.
    """
    groups: list[tuple[int, int | None]] = []
    awaiting: list[int] = []
    queue: int | None = None
    actions: str | None = None
    for line in text.splitlines():
        if found := _GROUP.fullmatch(line):
            awaiting.append(int(found[1]))
        elif found := _BUCKET.fullmatch(line):
            groups.append((awaiting.pop(), int(found[1])))
        elif _NO_BUCKET.fullmatch(line):
            groups.append((awaiting.pop(), None))
        elif found := _QUEUE.fullmatch(line):
            queue = int(found[1])
        elif found := _ACTIONS.fullmatch(line):
            actions = found[1]
    if actions is None or awaiting:
        raise TestbedError(f"the output of ofproto/trace is not understood: {text.strip()!r}")
    return _with_actions(tuple(groups), queue, actions)


def _with_actions(groups: tuple[tuple[int, int | None], ...], queue: int | None, actions: str) -> TracedPacket:
    interface: str | None = None
    pushed: list[tuple[int, int]] = []
    popped: list[int] = []
    vlans = _Vlans()
    tos: int | None = None
    priority = 0
    every = list(_split(actions))
    is_read_again = bool(_AGAIN.fullmatch(every[-1]))
    for action in every[: len(every) - is_read_again]:
        if found := _PUSH.fullmatch(action):
            pushed.append((int(found[1]), int(found[2])))
        elif found := _POP.fullmatch(action):
            popped.append(int(found[1], 16))
        elif vlans.takes(action):
            pass
        elif found := _TOS.fullmatch(action):
            tos = int(found[1], 0)
        elif found := _PRIORITY.fullmatch(action):
            priority = int(found[1], 0)
        elif "(" in action or interface is not None:
            raise TestbedError(f"the datapath's actions are not understood: {actions}")
        elif action != "drop":
            interface = action
    # In the dummy datapath a queue's number is its priority; packets without a queue have priority 0 as well.
    if interface is not None and priority != (queue or 0):
        raise TestbedError(f"set_queue:{queue} came to the datapath as priority {priority}: {actions}")
    sent_in = queue if interface is not None or is_read_again else None
    tags = tuple(pushed), tuple(popped)
    return TracedPacket(groups, interface, sent_in, *tags, tos, vlans.popped, tuple(vlans.pushed), is_read_again)


class _Vlans:
    """The VLAN tags of a packet by the datapath's actions so far."""

    def __init__(self) -> None:
        self.popped = 0
        self.pushed: list[VlanTag] = []

    def takes(self, action: str) -> bool:
        """Carry out an action; return False for one that is not about tags."""
        found = _PUSH_VLAN.fullmatch(action)
        if found:
            self.pushed.insert(0, VlanTag(int(found[2]), int(found[3]), int(found[1] or hex(ETH_TYPE_VLAN), 0)))
        elif action == "pop_vlan":
            self.popped += not self.pushed
            del self.pushed[:1]
        return bool(found) or action == "pop_vlan"


def _split(actions: str) -> Iterator[str]:
    """Yield the actions, split at commas outside brackets."""
    depth = start = 0
    for position, letter in enumerate(actions):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            yield actions[start:position]
            start = position + 1
    yield actions[start:]
