"""Gives the packet sockets of a running process a large send buffer, without touching the machine's default.

The userspace datapath sends the packets of all ports through one packet socket, and packets that wait in the queues of
any port fill that socket's send buffer. With the default buffer a full low queue leaves no room for packets of higher
priority, which then never reach their own, empty queue. The buffer of a socket is set at its creation from
`net.core.wmem_default`, which is one value for the whole machine; duplicating the socket with pidfd_getfd(2) (Linux
5.6) lets us change this one socket instead.
"""

from __future__ import annotations

import ctypes
import errno
import os
import socket
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

from kuijia_base.errors import TestbedError

HARMLESS_FRAME = "02ffffffffff02000000000088b5" + "00" * 46
"""Frame to no host, with an EtherType for local experiments (IEEE 802), for a daemon that has not sent any."""

SEND_BUFFER_BYTES = 256 << 20
"""More than all queues of all ports can hold, as `net.core.wmem_default` and getsockopt(2) count: with bookkeeping."""

_SYS_PIDFD_GETFD = 438  # the same number on every architecture
_SO_SNDBUFFORCE = 32  # asm-generic/socket.h; not limited by net.core.wmem_max
_libc = ctypes.CDLL(None, use_errno=True)


def enlarge_send_buffers(pid: int, size: int = SEND_BUFFER_BYTES) -> None:
    """Give every packet socket of the process a send buffer of `size` bytes.

    The process must have created its sending socket: Open vSwitch creates it for the first packet it sends.

    Raises:
        TestbedError: the process has ended, has no packet socket that may send anywhere, or the kernel denies access to
            it.
    """
    found_sender = False
    for packet_socket in _packet_sockets(pid):
        packet_socket.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, size // 2)  # the kernel doubles it (socket(7))
        found_sender |= _is_sender(packet_socket)
    if not found_sender:
        raise TestbedError(f"process {pid} has made no packet socket to send through")


def send_buffer_of(pid: int) -> int | None:
    """Return the bytes of the process's smallest send buffer, None before it has created its sending socket.

    Raises:
        TestbedError: the process has ended, or the kernel denies access to it.
    """
    sizes = [each.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) for each in _packet_sockets(pid) if _is_sender(each)]
    return min(sizes, default=None)


def _packet_sockets(pid: int) -> Iterator[socket.socket]:
    """Yield a duplicate of each packet socket of a process, closed afterwards."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError as error:
        raise TestbedError(f"process {pid} has ended") from error
    try:
        for descriptor in sorted(_sockets(pid)):
            with _duplicate(process, descriptor) or nullcontext() as found:
                if found is not None and found.family == socket.AF_PACKET:
                    yield found
    finally:
        os.close(process)


def _is_sender(packet_socket: socket.socket) -> bool:
    return bool(packet_socket.getsockname()[0] == "")  # receivers are bound to an interface


def _sockets(pid: int) -> list[int]:
    found = []
    try:
        entries = list(Path(f"/proc/{pid}/fd").iterdir())
    except OSError as error:
        raise TestbedError(f"the sockets of process {pid} cannot be listed ({error.strerror})") from error
    for entry in entries:
        try:
            if str(entry.readlink()).startswith("socket:"):
                found.append(int(entry.name))
        except FileNotFoundError:  # closed in between
            continue
    return found


def _duplicate(process: int, descriptor: int) -> socket.socket | None:
    """Return a duplicate descriptor of the socket, None if the process has closed it meanwhile."""
    duplicate = _libc.syscall(_SYS_PIDFD_GETFD, process, descriptor, 0)
    if duplicate < 0:
        if ctypes.get_errno() == errno.EBADF:
            return None
        raise TestbedError(f"a socket of Open vSwitch cannot be reached: {os.strerror(ctypes.get_errno())}")
    return socket.socket(fileno=duplicate)
