"""Under `ryu-manager` the application shares its process with Ryu's own ones, as labs run it."""

from __future__ import annotations

import json
import urllib.request
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kuijia_app.tables.pipeline import build_tables
from testbed.controllers.controller_process import ControllerProcess
from tests.kuijia_app.dummy_switches import DummySwitches, free_port, wait_until
from tests.kuijia_app.plans import motivation_plan
from tests.kuijia_app.test_controller import T1, controller, port, told

pytestmark = [pytest.mark.ovs, pytest.mark.slow]

OTHERS = ("ryu.app.ofctl_rest", "ryu.topology.switches")


def add_to_command(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    command = ControllerProcess._command
    monkeypatch.setattr(ControllerProcess, "_command", lambda process: [*command(process), *arguments])


def answer(rest_port: int, path: str) -> Any:  # noqa: ANN401  # JSON
    with urllib.request.urlopen(f"http://127.0.0.1:{rest_port}/{path}", timeout=10) as answered:
        return json.load(answered)


def has_entries(switches: DummySwitches, switch: str, number: int) -> bool:
    return len(switches.flows(switch)) == number


def test_ofctl_rest_and_observe_links_run_beside_it_and_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rest_port = free_port()
    options = ("--observe-links", "--wsapi-host", "127.0.0.1", "--wsapi-port", str(rest_port))
    add_to_command(monkeypatch, *OTHERS, *options)
    plan = motivation_plan()
    with DummySwitches(plan, tmp_path) as switches, controller(switches, tmp_path, "ryu") as process:
        wait_until(lambda: sorted(answer(rest_port, "stats/switches")) == [1, 2, 3, 4], "ofctl_rest lists all switches")
        ours = build_tables(plan)
        for number, switch in enumerate(plan.topology.nodes, start=1):
            wanted = len(ours[switch].flows) + 1  # with the one for LLDP of --observe-links
            wait_until(partial(has_entries, switches, switch, wanted), f"{switch} has the entries of both")
            described = answer(rest_port, f"stats/groupdesc/{number}")
            assert len(described[str(number)]) == len(ours[switch].groups)
        switches.set_port("s2", port(switches, "s2", "s4"), "down")
        assert told(process, "s1", T1, alive=False)
        assert process.errors() == []
