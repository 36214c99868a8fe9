"""An alarm costs nothing: a switch that stands still loses all its BFD sessions, and its traffic goes on."""

from __future__ import annotations

import os
import signal
import time
from functools import partial

import pytest

from experiments.recovery.report import recovery_plan
from testbed.lab.cuts import fail_link, heal_link
from testbed.lab.lab import Lab
from testbed.lab.lab_options import LabOptions
from testbed.traffic.ticks import TickFlow, TickRecord
from tests.kuijia_app.dummy_switches import wait_until

pytestmark = pytest.mark.emulation

PAUSES = (0.1, 0.1, 0.2)
"""Seconds; a session goes down after three of its intervals of 30 ms."""


def paused(lab: Lab, pauses: tuple[float, ...]) -> TickRecord:
    """Return the record of a flow from 1 to 11 during which `ovs-vswitchd` stands still this often."""
    sender, receiver = (lab.emulated_network.host(name) for name in ("1", "11"))
    sessions = lab.emulated_network.bfd.states()
    with TickFlow(sender, receiver, str(sender.address), 22000, 9, 0.001) as flow:
        flow.start()
        for seconds in pauses:
            lab.emulated_network.bfd.wait_until(sessions, up=True)
            calm = lab.emulated_network.bfd.flaps()
            switch = lab.emulated_network.ovs.switch_pid()
            os.kill(switch, signal.SIGSTOP)
            time.sleep(seconds)
            os.kill(switch, signal.SIGCONT)
            wait_until(partial(has_flapped, lab, calm), "sessions go down")
        lab.emulated_network.bfd.wait_until(sessions, up=True)
        return flow.stop()


def has_flapped(lab: Lab, calm: int) -> bool:
    return lab.emulated_network.bfd.flaps() > calm


def test_pauses_of_the_switches_cost_no_packet_though_all_sessions_go_down() -> None:
    with Lab(recovery_plan("gscale", 20.0), LabOptions(liveness="bfd", bfd_interval_ms=30), lambda _: None) as lab:
        record = paused(lab, PAUSES)
    assert len(record.sent_at) > 1000
    assert record.lost <= len(record.sent_at) // 100


def test_an_alarm_costs_no_packet_while_the_tunnel_of_the_last_resort_is_broken() -> None:
    with Lab(recovery_plan("gscale", 20.0), LabOptions(liveness="bfd", bfd_interval_ms=30), lambda _: None) as lab:
        network = lab.emulated_network
        sender, receiver = (network.host(name) for name in ("1", "11"))
        (pair,) = (each for each in lab.plan.pairs if (each.source, each.target) == ("1", "11"))
        heaviest = max(pair.tunnels, key=lambda tunnel: tunnel.weight)
        (session,) = (each for each in lab.sessions if each.nodes in (heaviest.nodes, heaviest.nodes[::-1]))
        groups = network.ovs.ofctl("dump-groups", "s1")
        with TickFlow(sender, receiver, str(sender.address), 22001, 9, 0.001) as flow:
            fail_link(network, *heaviest.nodes[1:3])
            wait_until(lambda: network.ovs.ofctl("dump-groups", "s1") != groups, "the controller leads it past the cut")
            network.bfd.wait_until([session], up=False)
            flow.start()
            network.ovs.appctl("bfd/set-forwarding", "false")  # of all sessions, as in an alarm that lasts
            time.sleep(1.0)
            record = flow.stop()
            heal_link(network, *heaviest.nodes[1:3])
    assert len(record.sent_at) > 500
    assert record.lost <= len(record.sent_at) // 100
