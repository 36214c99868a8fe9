"""Sent and counted frames belong to the same window, and a failing device is named."""

from __future__ import annotations

import errno
import os

import pytest

from testbed.links import link_probes
from testbed.links.link_probes import LinkProbeError, ProbeSink, ProbeStream, ProbeTiming, run_probes

arrived: dict[str, int] = {}
"""Frames by sending device: every device is its own other end."""


class Sender:
    def __init__(self, interface: str, traffic_class: int, skb_priority: int | None) -> None:
        if interface == "missing":
            raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))
        assert (traffic_class, skb_priority) == (1, 65539)
        self.sent = 0
        self._interface = interface
        arrived[interface] = 0

    def send(self, frames: int) -> None:
        if self._interface == "down":
            raise OSError(errno.ENETDOWN, os.strerror(errno.ENETDOWN))
        self.sent += frames
        arrived[self._interface] += frames

    def close(self) -> None:
        pass


class Counter:
    def __init__(self, interface: str, traffic_class: int) -> None:
        assert traffic_class == 1
        self._interface = interface

    def take(self) -> int:
        count, arrived[self._interface] = arrived[self._interface], 0
        return count

    def close(self) -> None:
        pass


@pytest.fixture(autouse=True)
def devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_probes, "ProbeSender", Sender)
    monkeypatch.setattr(link_probes, "ProbeCounter", Counter)


def stream(interface: str, frames_per_second: float = 1000.0) -> ProbeStream:
    return ProbeStream(interface, 1, 65539, frames_per_second)


def test_only_what_is_sent_while_it_is_measured_counts() -> None:
    timing = ProbeTiming(settle=0.03, measure=0.05, overrun=0.03)
    counts = run_probes([stream("a"), stream("b", 4000.0)], [ProbeSink("b", 1), ProbeSink("a", 1)], timing)
    assert counts.arrived == counts.sent[::-1]
    assert 40 <= counts.sent[0] <= 65  # the clock advances by ticks of up to ten milliseconds
    assert counts.sent[1] == pytest.approx(4 * counts.sent[0], abs=4)
    assert counts.seconds >= timing.measure
    assert arrived["a"] > 0


@pytest.mark.parametrize(("interface", "reason"), [("down", "Network is down"), ("missing", "No such device")])
def test_a_device_that_fails_is_named(interface: str, reason: str) -> None:
    with pytest.raises(LinkProbeError, match=rf"^{interface} cannot be measured: {reason}$") as caught:
        run_probes([stream("a"), stream(interface)], [], ProbeTiming(0.01, 0.01))
    assert (caught.value.interface, caught.value.reason) == (interface, reason)
