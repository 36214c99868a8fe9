"""Raw labelled frames sent through the queues of a port, and a count of those that arrive at the other end."""

from __future__ import annotations

import ctypes
import errno
import socket
import struct

PROBE_LABEL = 9
"""A label that no plan uses and no standard has assigned (IANA special-purpose MPLS label values 0 to 15)."""

FRAME_BYTES = 1518
"""Ethernet's 14 bytes, one label, 1500 bytes: the largest labelled frame of a host's packet."""

_ETH_P_ALL, _ETH_P_MPLS_UC = 0x0003, 0x8847
_SO_SNDBUFFORCE, _SO_ATTACH_FILTER = 32, 26  # asm-generic/socket.h
_SOL_PACKET, _PACKET_STATISTICS, _PACKET_IGNORE_OUTGOING = 263, 6, 23  # linux/if_packet.h
_SEND_BUFFER_BYTES = 16 << 20
_LABEL_AND_CLASS = 0xFFFFFE00

# Classic BPF instructions, linux/filter.h.
_LOAD_WORD, _LOAD_HALF_WORD, _AND, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x28, 0x54, 0x15, 0x06


class ProbeSender:
    """Sends probe frames of one MPLS traffic class out of a device, through its queues.

    Args:
        interface: the device.
        traffic_class: 0 to 7.
        skb_priority: the class of the device's HTB tree for the frames, as the kernel datapath's `set_queue` selects
            it; None leaves the choice to the device's filters.

    Raises:
        OSError: there is no such device.
    """

    def __init__(self, interface: str, traffic_class: int, skb_priority: int | None) -> None:
        self.sent = 0
        addresses = bytes.fromhex("02ffffffffff020000000000")  # no host's address
        header = addresses + struct.pack("!HI", _ETH_P_MPLS_UC, _label_entry(traffic_class))
        self._frame = header.ljust(FRAME_BYTES, b"\0")
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        try:
            self._socket.setblocking(False)
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, _SEND_BUFFER_BYTES)
            if skb_priority is not None:
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, skb_priority)
            self._socket.bind((interface, 0))
        except OSError:
            self._socket.close()
            raise

    def send(self, frames: int) -> None:
        """Send frames; those that the queue refuses count as sent. Raises OSError if the device is down."""
        for _ in range(frames):
            try:
                self._socket.send(self._frame)
            except OSError as error:
                if error.errno not in (errno.EAGAIN, errno.ENOBUFS):
                    raise
        self.sent += frames

    def close(self) -> None:
        self._socket.close()


class ProbeCounter:
    """Counts the probe frames of one traffic class that arrive at a device, in the kernel.

    Raises:
        OSError: there is no such device.
    """

    def __init__(self, interface: str, traffic_class: int) -> None:
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        try:
            # The filter is attached before binding, so that no other frame is ever counted; nothing is read, only
            # counted.
            _attach_filter(self._socket, _label_entry(traffic_class) & _LABEL_AND_CLASS)
            # The kernel datapath takes the frames before any receiver of one protocol; a receiver of all protocols
            # would also get
            # those that leave.
            self._socket.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
            self._socket.bind((interface, _ETH_P_ALL))
        except OSError:
            self._socket.close()
            raise

    def take(self) -> int:
        """Return the number of frames since the last call (packet(7), PACKET_STATISTICS)."""
        received, _ = struct.unpack("II", self._socket.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8))
        return int(received)

    def close(self) -> None:
        self._socket.close()


def _label_entry(traffic_class: int) -> int:
    """Return a label stack entry (RFC 3032): label, traffic class, bottom of stack, time to live 64."""
    return PROBE_LABEL << 12 | traffic_class << 9 | 1 << 8 | 64


def _attach_filter(packet_socket: socket.socket, wanted: int) -> None:
    """Accept only frames with the label and traffic class of `wanted`, truncated to one byte."""
    instructions = (
        (_LOAD_HALF_WORD, 0, 0, 12),  # EtherType
        (_JUMP_IF_EQUAL, 0, 4, _ETH_P_MPLS_UC),
        (_LOAD_WORD, 0, 0, 14),  # the label stack entry
        (_AND, 0, 0, _LABEL_AND_CLASS),
        (_JUMP_IF_EQUAL, 0, 1, wanted),
        (_RETURN, 0, 0, 1),
        (_RETURN, 0, 0, 0),
    )
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *instruction) for instruction in instructions))
    pointer = struct.pack("HP", len(instructions), ctypes.addressof(program))
    packet_socket.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, pointer)
