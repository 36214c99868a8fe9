"""Faults are injected although what they need is away for a while, owed to others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from kuijia_base.errors import TestbedError
from testbed.chaos import injection
from testbed.chaos.faults import PLAN_REFUSED, ChaosFault
from testbed.chaos.injection import Injector


class SwitchesComingBack:
    """Open vSwitch whose switches answer from the third question on."""

    def __init__(self) -> None:
        self.refusals = 2
        self.settings: list[tuple[str, ...]] = []

    def ofctl(self, *_words: str) -> str:
        if self.refusals > 0:
            self.refusals -= 1
            raise TestbedError("Connection refused")
        return "table=0 actions=drop\ntable=1 actions=drop"

    def vsctl(self, *words: str) -> str:
        self.settings.append(words)
        return ""


def test_a_plan_is_refused_once_the_switches_that_others_killed_are_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(injection, "_RETRY_SECONDS", 0.0)
    ovs = SwitchesComingBack()
    network = SimpleNamespace(ovs=ovs, bridge=lambda switch: f"bridge-{switch}")
    lab = SimpleNamespace(plan="plan", emulated_network=network, update=lambda _plan: None)
    anything = cast("Any", None)
    with Injector(cast("Any", lab), anything, cast("Any", "other"), anything, lambda _line: None) as injector:
        injector.begin(ChaosFault(0.0, PLAN_REFUSED, ("s1",), 1.0))
        injector.settle()
    assert ovs.refusals == 0
    assert any("flow_limit=2" in words for words in ovs.settings)
