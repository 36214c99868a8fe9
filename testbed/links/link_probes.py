"""One machine's part of a calibration: sends labelled frames at steady rates and counts those that arrive."""

from __future__ import annotations

import ctypes
import errno
import socket
import struct
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass

from kuijia_base.errors import TestbedError

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


_TICK = 0.001
_LONGEST_BURST = 0.01
"""Seconds' worth of frames sent at once after a delay of the sender; more would overflow a queue."""


class LinkProbeError(TestbedError):
    """A device cannot send or receive probes."""

    def __init__(self, interface: str, error: OSError) -> None:
        super().__init__(f"{interface} cannot be measured: {error.strerror}")
        self.interface = interface
        self.reason = error.strerror


@dataclass(frozen=True)
class ProbeStream:
    """Frames of one traffic class that leave a device; see `ProbeSender` for `skb_priority`."""

    interface: str
    traffic_class: int
    skb_priority: int | None
    frames_per_second: float


@dataclass(frozen=True)
class ProbeSink:
    """Frames of one traffic class that arrive at a device."""

    interface: str
    traffic_class: int


@dataclass(frozen=True)
class ProbeTiming:
    """Durations in seconds: `settle` for queues to fill, `measure`, and `overrun` for machines that measure later."""

    settle: float
    measure: float
    overrun: float = 0.0


@dataclass(frozen=True)
class ProbeCounts:
    """Frames sent by each stream and received by each sink in the same `seconds`."""

    sent: tuple[int, ...]
    arrived: tuple[int, ...]
    seconds: float


def run_probes(streams: Sequence[ProbeStream], sinks: Sequence[ProbeSink], timing: ProbeTiming) -> ProbeCounts:
    """Send and count frames.

    Raises:
        LinkProbeError: there is no such device, or it is down.
    """
    with ExitStack() as stack:
        running = [_Stream(stream, stack) for stream in streams]
        counters = [_open_sink(sink, stack) for sink in sinks]
        clock = _send_until(running, 0.0, timing.settle)
        for counter in counters:
            counter.take()
        sent_before = [stream.sender.sent for stream in running]
        begun_at = time.monotonic()
        clock = _send_until(running, clock, clock + timing.measure)
        arrived = tuple(counter.take() for counter in counters)
        seconds = time.monotonic() - begun_at
        sent = tuple(stream.sender.sent - before for stream, before in zip(running, sent_before, strict=True))
        _send_until(running, clock, clock + timing.overrun)
        return ProbeCounts(sent, arrived, seconds)


class _Stream:
    def __init__(self, stream: ProbeStream, stack: ExitStack) -> None:
        self._stream = stream
        try:
            sender = ProbeSender(stream.interface, stream.traffic_class, stream.skb_priority)
        except OSError as error:
            raise LinkProbeError(stream.interface, error) from error
        self.sender = stack.enter_context(closing(sender))

    def send_up_to(self, clock: float) -> None:
        """Send the frames due `clock` seconds after the start."""
        try:
            self.sender.send(int(clock * self._stream.frames_per_second) - self.sender.sent)
        except OSError as error:
            raise LinkProbeError(self._stream.interface, error) from error


def _open_sink(sink: ProbeSink, stack: ExitStack) -> ProbeCounter:
    try:
        return stack.enter_context(closing(ProbeCounter(sink.interface, sink.traffic_class)))
    except OSError as error:
        raise LinkProbeError(sink.interface, error) from error


def _send_until(streams: Sequence[_Stream], clock: float, end: float) -> float:
    """Send at the offered rates while the sending clock goes from `clock` to `end` seconds; return its final time.

    The clock follows the real one, except after delays of the sender longer than `_LONGEST_BURST`.
    """
    last = time.monotonic()
    while clock < end:
        now = time.monotonic()
        clock += min(now - last, _LONGEST_BURST)
        last = now
        for stream in streams:
            stream.send_up_to(clock)
        time.sleep(_TICK)  # paces the sender
    return clock
