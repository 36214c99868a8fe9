"""Discovery leaves other events their turn, however many ports there are to probe."""

from __future__ import annotations

import time
from collections import Counter
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from kuijia_app.control.probe_frames import KEY_BYTES
from kuijia_app.discovery.application import PROBE_INTERVAL, PROBING, Discovery
from kuijia_app.discovery.findings import DiscoveredNetwork
from kuijia_app.framework.seam import ofproto
from tests.kuijia_app.control.fake_switch import PARSER

PORTS = 1000
STEP = 0.001


def test_probes_of_a_large_network_are_spread_over_ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = count()
    monkeypatch.setattr(time, "monotonic", lambda: 100.0 + STEP * next(clock))
    sent: Counter[tuple[int, int]] = Counter()
    application: Any = SimpleNamespace(
        _findings=DiscoveredNetwork(), _datapaths={}, _key=bytes(KEY_BYTES), _round=None, _round_began=0.0
    )
    for switch in (1, 2):
        application._findings.described(switch, dict.fromkeys(range(1, PORTS + 1), True))
        application._datapaths[switch] = SimpleNamespace(
            ofproto=ofproto,
            ofproto_parser=PARSER,
            send_msg=lambda message, switch=switch: sent.update([(switch, message.actions[-1].port)]),
        )
    most = 0
    while sum(sent.values()) < 2 * PORTS:
        before = sum(sent.values())
        Discovery._probe(application, time.monotonic())
        most = max(most, sum(sent.values()) - before)
    assert most <= PROBING / STEP + 1
    assert set(sent.values()) == {1}
    Discovery._probe(application, time.monotonic())
    assert application._round is None
    Discovery._probe(application, application._round_began + PROBE_INTERVAL / 2)
    assert set(sent.values()) == {1}


def test_switches_that_leave_while_they_are_probed_are_left_out() -> None:
    application: Any = SimpleNamespace(
        _findings=DiscoveredNetwork(), _datapaths={1: None}, _key=bytes(KEY_BYTES), _round=None, _round_began=0.0
    )
    application._findings.described(1, {1: True})
    application._round = application._findings.to_probe([1])
    del application._datapaths[1]
    Discovery._probe(application, time.monotonic())
    assert application._round is None
