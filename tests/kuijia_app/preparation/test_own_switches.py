"""On three bridges of a user's own: prepared, Kuijia keeps its promise to real packets; restored, nothing is left."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kuijia_app.framework.event_log import SWITCH_READY
from testbed.machine.processes import LISTENING
from testbed.machine.programs import LocalProgram
from tests.kuijia_app.dummy_switches import free_port, wait_until
from tests.kuijia_app.preparation.own_switches import OwnSwitches, own_switches

pytestmark = [pytest.mark.emulation, pytest.mark.slow]

SECONDS = 4
RATE = 16
"""Mbit/s that the plan allocates to each pair; two of them share a link of 20 after the cut."""


@pytest.fixture
def switches(tmp_path: Path) -> Iterator[OwnSwitches]:
    with own_switches(tmp_path) as found:
        yield found


@contextmanager
def controller(switches: OwnSwitches, *options: str) -> Iterator[None]:
    """Run `kuijia controller` for the bridges; return once it has programmed them."""
    port, events = free_port(), switches.folder / "events.jsonl"
    words = [str(switches.plan_file), "--wiring", str(switches.wiring_file), "--port", str(port)]
    argv = [sys.executable, "-m", "kuijia", "controller", *words, "--events", str(events), *options]
    process = subprocess.Popen(argv)
    try:
        wait_until(events.exists, "the controller starts")
        switches.controlled_by(port)
        wait_until(lambda: events.read_text().count(SWITCH_READY) >= 3, "all bridges are programmed")
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


def measure(switches: OwnSwitches, target_port: int, source: str, *options: str) -> tuple[LocalProgram, LocalProgram]:
    """Start a flow from a host to c's; return its server and its client."""
    server = switches.hosts["c"].launch(["iperf3", "-s", "-1", "-p", str(target_port), "--json"])
    wait_until(lambda: server.owns_socket(LISTENING, target_port), "iperf3 listens")
    address = str(switches.hosts["c"].address)
    words = ["iperf3", "-c", address, "-p", str(target_port), "-t", str(SECONDS), "--json", *options]
    return server, switches.hosts[source].launch(words)


def report(server: LocalProgram, client: LocalProgram) -> dict[str, Any]:
    for program in (client, server):
        program.wait(SECONDS + 30)
    found: dict[str, Any] = json.loads(server.output())["end"]
    return found


@pytest.mark.parametrize("liveness", ["controller", "bfd"])
def test_prepared_switches_protect_full_packets_after_a_cut(switches: OwnSwitches, liveness: str) -> None:
    options = ("--liveness", liveness)
    prepared = switches.kuijia("switches", "prepare", *options)
    assert (prepared.returncode, prepared.stderr) == (0, "")
    udp = ("-u", "-l", "1472", "-b", f"{RATE}M")
    with controller(switches, *options):
        if liveness == "bfd":
            wait_until(lambda: set(switches.session_states()) == {"up"}, "all sessions are up")
        switches.set_link("a", "c", "down")
        victim = measure(switches, 5201, "a", *udp)
        aboriginal = measure(switches, 5202, "b", *udp)
        lost = report(*aboriginal)["sum"]["lost_percent"]
        victim_lost = report(*victim)["sum"]["lost_percent"]
        assert lost <= 0.5
        assert victim_lost >= 20
        victim = measure(switches, 5203, "a", *udp)
        stream = measure(switches, 5204, "b", "-b", f"{RATE}M")
        rate = report(*stream)["sum_received"]["bits_per_second"]
        report(*victim)
        assert rate >= 0.95 * RATE * 1e6
