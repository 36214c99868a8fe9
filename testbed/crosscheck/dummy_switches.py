"""Real Open vSwitch switches on the dummy datapath: no root, no interfaces, in daemons of their own."""

from __future__ import annotations

import fcntl
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import TypeVar

from kuijia_app.tables.ofctl_text import flows_text, groups_text
from kuijia_app.tables.rules import SwitchTables
from kuijia_app.tables.wiring import Wiring
from te_solver.model.plan import Plan
from testbed.machine.ovs import Datapath, PrivateOvs
from testbed.machine.processes import end_processes_with_environment
from testbed.machine.run_directory import fault_of_folder

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
