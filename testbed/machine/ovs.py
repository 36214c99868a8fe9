"""The Open vSwitch a lab uses: private daemons in its run directory, or by option the machine's own.

A lab starts its own `ovsdb-server` and `ovs-vswitchd` inside its network namespace, without systemd, and names their
sockets in every call. Their datapath is the kernel's if the machine has the `openvswitch` module, else `netdev`, which
forwards in the daemon. The kernel's datapath belongs to a network namespace just as an interface does, so private
daemons are the better choice on both: labs run side by side, none can touch the machine's bridges, and a killed lab
takes its datapath with it. The machine's own Open vSwitch, `Ovs(SYSTEM_DIRECTORY, …)`, remains for those who must use
it, for instance for a hardware offload set up there; the lab then lives in the machine's namespace. Commands to a
daemon go over its control socket, as `ovs-appctl` sends them, without a process for each.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from itertools import count
from pathlib import Path
from typing import Any

from kuijia_base.bounded_output import require_short
from kuijia_base.commands import located, run_command
from kuijia_base.errors import TestbedError
from testbed.machine.processes import give_priority, processes_with_environment, send_signal, wait_for_end

Vsctl = Callable[..., str]
"""Runs `ovs-vsctl` with these arguments and returns what it prints."""


def rows_of(vsctl: Vsctl, table: str, *columns: str) -> list[list[Any]]:
    """Return these columns of each row of a table, as the database encodes values in JSON (RFC 7047, 5.1)."""
    listed = json.loads(vsctl("--format=json", f"--columns={','.join(columns)}", "list", table))
    rows: list[list[Any]] = listed["data"]
    return rows


def require_port_numbers(vsctl: Vsctl, wanted: Mapping[str, int]) -> None:
    """Check that interfaces have the OpenFlow port numbers that they were created with.

    Raises:
        TestbedError: one has another number; the message has Open vSwitch's reason.
    """
    found = {name: (number, error) for name, number, error in rows_of(vsctl, "Interface", "name", "ofport", "error")}
    for interface, number in wanted.items():
        got, error = found[interface]
        if got != number:
            raise TestbedError(f"Open vSwitch gave {interface} the port {got} instead of {number}: {error}")


SCHEMA_PATHS = (
    Path("/usr/share/openvswitch/vswitch.ovsschema"),
    Path("/usr/local/share/openvswitch/vswitch.ovsschema"),
)
SYSTEM_DIRECTORY = Path("/run/openvswitch")
KERNEL_MODULE = Path("/sys/module/openvswitch")
DELAY_MODULE = Path("/sys/module/sch_netem")

SWITCH_NICENESS = -10
"""Niceness as in Open vSwitch's own start script: frames do not wait for programs."""

_EXIT_TIMEOUT = 10.0

_LIBRARIES = Path("/usr/lib")
_ALLOCATOR = "*/libtcmalloc_minimal.so.4"
"""Of Debian's and Ubuntu's libtcmalloc-minimal4."""


class Datapath(Enum):
    """Type of a datapath; the values are Open vSwitch's names (`datapath_type`)."""

    USERSPACE = "netdev"
    KERNEL = "system"


def allocator(datapath: Datapath, libraries: Path = _LIBRARIES) -> list[str]:
    """Return the setting of the environment that gives a forwarding daemon a faster allocator, if the machine has one.

    The `netdev` datapath takes room for 32 frames each time that it looks at a port, and gives most of it back.
    """
    found = sorted(libraries.glob(_ALLOCATOR)) if datapath is Datapath.USERSPACE else []
    return [f"LD_PRELOAD={path}" for path in found[:1]]


class Ovs:
    """A running Open vSwitch with its sockets in `directory`. A refused command raises TestbedError."""

    def __init__(self, directory: Path, datapath: Datapath) -> None:
        self.directory = directory
        self.datapath = datapath

    @property
    def database(self) -> str:
        return f"unix:{self.directory / 'db.sock'}"

    def management(self, bridge: str) -> Path:
        """Return the bridge's own OpenFlow socket, which works with or without a controller."""
        return self.directory / f"{bridge}.mgmt"

    @property
    def switch_control(self) -> Path:
        """The control socket of `ovs-vswitchd`."""
        return self.directory / f"ovs-vswitchd.{self.switch_pid()}.ctl"

    @property
    def is_alive(self) -> bool:
        """True if there is an `ovs-vswitchd` that listens."""
        try:
            with ControlSocket(self.switch_control):
                return True
        except TestbedError:
            return False

    def switch_pid(self) -> int:
        return self._read_pid("ovs-vswitchd")

    def database_pid(self) -> int:
        return self._read_pid("ovsdb-server")

    def vsctl(self, *arguments: str) -> str:
        """Run `ovs-vsctl`, which waits until the switch has applied the change."""
        return run_command(["ovs-vsctl", f"--db={self.database}", "--timeout=20", *arguments])

    def ofctl(self, command: str, bridge: str, *arguments: str, stdin: str | None = None) -> str:
        """Run `ovs-ofctl COMMAND BRIDGE ARGUMENTS` in OpenFlow 1.3."""
        target = f"unix:{self.management(bridge)}"
        return run_command(["ovs-ofctl", "-O", "OpenFlow13", "--timeout=20", command, target, *arguments], stdin=stdin)

    def appctl(self, *arguments: str) -> str:
        """Run `ovs-appctl` on the switch."""
        return run_command(["ovs-appctl", "-t", str(self.switch_control), "--timeout=20", *arguments])

    def _read_pid(self, daemon: str) -> int:
        path = self.directory / f"{daemon}.pid"
        try:
            return int(path.read_text())
        except (FileNotFoundError, ValueError) as error:
            raise TestbedError(f"{daemon} is not running ({path} names no process)") from error


class PrivateOvs(Ovs):
    """The lab's own daemons, in the network namespace of the thread that calls `start`."""

    def __init__(self, directory: Path, datapath: Datapath, storage: Path | None = None) -> None:
        """Name daemons that do not run yet; their database lies in `storage`, by default in `directory`."""
        super().__init__(directory, datapath)
        self._database_file = (storage or directory) / "conf.db"

    def start(self) -> None:
        """Start both daemons and return when they answer."""
        if self.datapath is Datapath.KERNEL and not KERNEL_MODULE.exists():
            run_command(["modprobe", "openvswitch"])
        self.directory.mkdir(mode=0o700)
        run_command(["ovsdb-tool", "create", str(self._database_file), str(_schema())])
        self.start_database()
        self.vsctl("--no-wait", "init")
        self.start_switches()

    def start_database(self) -> None:
        """Start the server of the database, with what the database's file holds."""
        self._start_daemon("ovsdb-server", str(self._database_file), f"--remote=p{self.database}")

    def kill_database(self) -> None:
        """End the server of the database as a crash would."""
        _kill(self.database_pid())

    def start_switches(self) -> None:
        """Start the daemon of all switches, which makes them as the database has them, with empty tables."""
        self._start_daemon("ovs-vswitchd", self.database, settings=allocator(self.datapath))
        give_priority(self.switch_pid(), SWITCH_NICENESS)

    def kill_switches(self) -> None:
        """End the daemon of all switches as a crash would."""
        _kill(self.switch_pid())

    def stop(self) -> None:
        """End both daemons and delete their files; a daemon that does not answer is killed."""
        self._stop_daemon("ovs-vswitchd", "exit", "--cleanup")
        self._stop_daemon("ovsdb-server", "exit")
        shutil.rmtree(self.directory, ignore_errors=True)

    def _start_daemon(self, name: str, *arguments: str, settings: Sequence[str] = ()) -> None:
        # The environment gives the daemons a folder for the sockets that no option names, such as s1.mgmt.
        places = [self._place(folder) for folder in ("RUN", "LOG", "DB", "SYSCONF")]
        options = ["--detach", "--pidfile", "--log-file", "-vconsole:off"]
        run_command(["env", *places, *settings, *located([name, *arguments, *options])])

    def _place(self, folder: str) -> str:
        return f"OVS_{folder}DIR={self.directory}"

    def _stop_daemon(self, name: str, *command: str) -> None:
        if not (self.directory / f"{name}.pid").exists():
            return
        pid = self._read_pid(name)
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        try:
            if pid not in processes_with_environment(self._place("RUN")):
                return  # it has died, and another process has its number
            control = self.directory / f"{name}.{pid}.ctl"
            try:
                run_command(["ovs-appctl", "-t", str(control), "--timeout=5", *command])
            except TestbedError:
                send_signal(handle, signal.SIGKILL)
            if not wait_for_end(handle, _EXIT_TIMEOUT):
                send_signal(handle, signal.SIGKILL)
                wait_for_end(handle, None)
        finally:
            os.close(handle)


def _kill(pid: int) -> None:
    handle = os.pidfd_open(pid)
    try:
        send_signal(handle, signal.SIGKILL)
        wait_for_end(handle, None)
    finally:
        os.close(handle)


def kernel_datapath_available() -> bool:
    """Return True if the kernel has the `openvswitch` module, loaded or loadable."""
    return _module_available(KERNEL_MODULE)


def kernel_delays_available() -> bool:
    """Return True if the kernel has the `sch_netem` module, loaded or loadable."""
    return _module_available(DELAY_MODULE)


def _module_available(module: Path) -> bool:
    if module.exists():
        return True
    try:
        run_command(["modprobe", "--dry-run", "--quiet", module.name])
    except TestbedError:
        return False
    return True


def _schema() -> Path:
    for path in SCHEMA_PATHS:
        if path.exists():
            return path
    raise TestbedError(f"Open vSwitch's database schema is in none of {', '.join(map(str, SCHEMA_PATHS))}")


_TIMEOUT = 60.0
_CHUNK = 1 << 16


class ControlSocket:
    """One connection; JSON-RPC 1.0 (RFC 7047, section 4, has the framing: objects that simply follow each other)."""

    def __init__(self, path: Path) -> None:
        """Connect; raise TestbedError if no daemon listens there."""
        self._path = path
        self._ids = count()
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(_TIMEOUT)
        try:
            self._socket.connect(str(path))
        except OSError as error:
            self._socket.close()
            raise TestbedError(f"no daemon answers at {path}: {error.strerror or error}") from error

    def __enter__(self) -> ControlSocket:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def command(self, name: str, *arguments: str) -> str:
        """Run a command of ovs-vswitchd(8) and return its answer; raises TestbedError if it is refused."""
        request = {"id": next(self._ids), "method": name, "params": list(arguments)}
        try:
            self._socket.sendall(json.dumps(request).encode())
            answer = self._answer()
        except OSError as error:
            raise TestbedError(f"{name} had no answer from {self._path}: {error.strerror or error}") from error
        if answer.get("error") is not None:
            raise TestbedError(f"{name} was refused: {str(answer['error']).strip()}")
        return str(answer["result"])

    def _answer(self) -> dict[str, object]:
        received = b""
        deadline = time.monotonic() + _TIMEOUT
        while True:
            chunk = self._socket.recv(_CHUNK)
            if not chunk:
                raise TestbedError(f"{self._path} closed the connection")
            received += chunk
            require_short(len(received), str(self._path))
            if time.monotonic() > deadline:
                raise TestbedError(f"{self._path} has not ended its answer after {_TIMEOUT:g} s")
            if not received.rstrip().endswith(b"}"):
                continue
            try:
                answer = json.loads(received)
            except ValueError:  # the rest has not arrived yet
                continue
            return dict(answer)
