"""Takes network devices of the calling thread's namespace down and up, within microseconds."""

from __future__ import annotations

import errno
import fcntl
import socket
import struct
import time
from collections.abc import Iterable, Sequence

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
