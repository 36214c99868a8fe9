"""Takes network devices down and up within microseconds, and watches switches report it, without any controller."""

from __future__ import annotations

import errno
import fcntl
import select
import socket
import struct
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from kuijia_base.errors import TestbedError

CARRIER_SECONDS = 6.0
"""Seconds until a device that was just brought up has a carrier."""

_SIOCGIFFLAGS, _SIOCSIFFLAGS = 0x8913, 0x8914  # netdevice(7)
_IFF_UP, _IFF_RUNNING = 0x1, 0x40
_REQUEST = struct.Struct("16sH22x")
_POLL_SECONDS = 0.05


def is_running(interface: str) -> bool:
    """Return True if the device is up and has a carrier; raises TestbedError if it has vanished."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        return _flags(handle, interface) & (_IFF_UP | _IFF_RUNNING) == _IFF_UP | _IFF_RUNNING


def are_running(interfaces: Sequence[str]) -> list[bool]:
    """Return `is_running` of many devices."""
    return [is_running(interface) for interface in interfaces]


def set_devices(interfaces: Iterable[str], *, up: bool) -> None:
    """Bring devices up or down, in order; raises TestbedError naming one that has vanished."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        for interface in interfaces:
            flags = _flags(handle, interface)
            _request(handle, _SIOCSIFFLAGS, interface, flags | _IFF_UP if up else flags & ~_IFF_UP)


def bring_up(interfaces: Sequence[str], seconds: float) -> list[str]:
    """Bring devices up; return those that still have no carrier after `seconds`."""
    set_devices(interfaces, up=True)
    deadline = time.monotonic() + seconds
    while silent := [interface for interface in interfaces if not is_running(interface)]:
        if time.monotonic() >= deadline:
            break
        time.sleep(_POLL_SECONDS)
    return silent


def _flags(handle: socket.socket, interface: str) -> int:
    answer = _request(handle, _SIOCGIFFLAGS, interface, 0)
    return int(_REQUEST.unpack(answer)[1])


def _request(handle: socket.socket, request: int, interface: str, flags: int) -> bytes:
    try:
        return fcntl.ioctl(handle, request, _REQUEST.pack(interface.encode(), flags))
    except OSError as error:
        if error.errno == errno.ENODEV:
            raise TestbedError(f"interface {interface} has vanished") from error
        raise TestbedError(f"interface {interface} cannot be switched: {error.strerror}") from error


# OpenFlow 1.3.5, section 7 and appendix A.
_VERSION = 4
_HEADER = struct.Struct("!BBHI")
_HELLO, _ECHO_REQUEST, _ECHO_REPLY, _SET_CONFIG = 0, 2, 3, 9
_PORT_STATUS, _BARRIER_REQUEST, _BARRIER_REPLY, _SET_ASYNC = 12, 20, 21, 28
_PORT_STATUS_BODY = struct.Struct("!B7xI4x6s2x16sII")  # reason, port number, MAC, name, config, state
_ALL_PORT_CHANGES = 0b111
_PORT_DOWN, _LINK_DOWN = 1, 1

_ANSWER_TIMEOUT = 20.0


@dataclass(frozen=True)
class PortStatus:
    """A switch's report on a port; `up` means that it is neither disabled nor without carrier."""

    port: int
    up: bool


class PortObserver:
    """A connection to one bridge that delivers its port-status messages from its creation on.

    Raises:
        TestbedError: the bridge does not answer.
    """

    def __init__(self, management_socket: Path) -> None:
        self._place = management_socket
        self._received = b""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.settimeout(_ANSWER_TIMEOUT)
            self._socket.connect(str(management_socket))
            self._send(_HELLO)
            # Open vSwitch sends nothing unasked on a management connection while its miss_send_len is 0.
            self._send(_SET_CONFIG, struct.pack("!HH", 0, 128))
            # Masks for a master and for a slave: no packet-ins, all port changes, no removed flows.
            self._send(_SET_ASYNC, struct.pack("!6I", 0, 0, _ALL_PORT_CHANGES, _ALL_PORT_CHANGES, 0, 0))
            self._send(_BARRIER_REQUEST)
            while all(kind != _BARRIER_REPLY for kind, _ in self._messages()):
                pass
        except OSError as error:
            self._socket.close()
            raise TestbedError(f"no switch answers at {management_socket}: {error}") from error

    def fileno(self) -> int:
        return self._socket.fileno()

    def read(self) -> list[PortStatus]:
        """Return the messages that have arrived; waits for at least some bytes.

        Raises:
            TestbedError: the switch has ended.
        """
        try:
            return [_parse_port_status(body) for kind, body in self._messages() if kind == _PORT_STATUS]
        except OSError as error:
            raise TestbedError(f"the switch at {self._place} does not answer any more: {error}") from error

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> PortObserver:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send(self, kind: int, body: bytes = b"") -> None:
        self._socket.sendall(_HEADER.pack(_VERSION, kind, _HEADER.size + len(body), 1) + body)

    def _messages(self) -> Iterator[tuple[int, bytes]]:
        chunk = self._socket.recv(65536)
        if not chunk:
            raise TestbedError(f"the switch at {self._place} has closed the connection")
        self._received += chunk
        while len(self._received) >= _HEADER.size:
            _, kind, length, _ = _HEADER.unpack_from(self._received)
            if len(self._received) < length:
                return
            body, self._received = self._received[_HEADER.size : length], self._received[length:]
            if kind == _ECHO_REQUEST:
                self._send(_ECHO_REPLY, body)
            yield kind, body


def wait_for_port_states(
    observers: Mapping[str, tuple[PortObserver, int]], *, up: bool, timeout: float
) -> dict[str, float]:
    """Wait until every switch has reported its port up (or down).

    Args:
        observers: switch to its observer and the port to wait for.
        up: the state to wait for.
        timeout: seconds.

    Returns:
        Switch to the arrival time of its message, on the clock of time.monotonic().

    Raises:
        TestbedError: a switch has not reported in time; the message names it.
    """
    deadline = time.monotonic() + timeout
    seen: dict[str, float] = {}
    poll = select.poll()
    for observer, _ in observers.values():
        poll.register(observer, select.POLLIN)
    while missing := {switch: watch for switch, watch in observers.items() if switch not in seen}:
        ready = {descriptor for descriptor, _ in poll.poll(max(0, deadline - time.monotonic()) * 1000)}
        arrival = time.monotonic()
        if not ready and arrival >= deadline:
            silent, (_, port) = next(iter(missing.items()))
            state = "up" if up else "down"
            raise TestbedError(f"switch {silent} did not report its port {port} {state} within {timeout:g} s")
        for switch, (observer, port) in missing.items():
            if observer.fileno() in ready and PortStatus(port, up) in observer.read():
                seen[switch] = arrival
                poll.unregister(observer)
    return seen


def _parse_port_status(body: bytes) -> PortStatus:
    _, port, _, _, config, state = _PORT_STATUS_BODY.unpack_from(body)
    return PortStatus(port, up=not (config & _PORT_DOWN or state & _LINK_DOWN))


PORT_STATUS_TIMEOUT = 10.0


@dataclass(frozen=True)
class SwitchPort:
    """A port: its device, its OpenFlow number and the OpenFlow socket of its bridge."""

    interface: str
    number: int
    management: Path


def switch_ports(ports: Mapping[str, SwitchPort], *, up: bool) -> tuple[float, dict[str, float]]:
    """Switch the ports' devices, in order; return when every switch has reported its port.

    Args:
        ports: by name of the switch.
        up: True to bring them up.

    Returns:
        Unix time just before the first device was switched; by switch, the seconds from then until its port-status
        message arrived.

    Raises:
        TestbedError: an interface has vanished, or a switch does not report.
    """
    with ExitStack() as stack:
        observers = {
            switch: (stack.enter_context(PortObserver(port.management)), port.number) for switch, port in ports.items()
        }
        requested_at, started = time.time(), time.monotonic()
        set_devices([port.interface for port in ports.values()], up=up)
        arrivals = wait_for_port_states(observers, up=up, timeout=PORT_STATUS_TIMEOUT)
    return requested_at, {switch: arrival - started for switch, arrival in arrivals.items()}
