"""One machine's part of a calibration: sends probe frames at steady rates and counts those that arrive."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass

from kuijia_base.errors import TestbedError
from testbed.links.probe_frames import ProbeCounter, ProbeSender

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
