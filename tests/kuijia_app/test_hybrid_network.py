"""A link that is a VLAN through somebody else's switches: it fails in their middle, and no port of ours goes down."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from kuijia.cli.main import main
from kuijia_app.framework import event_log
from kuijia_app.tables.options import OptionWords
from testbed.controllers.application_process import Event
from testbed.traffic.ticks import TickFlow
from tests.kuijia_app.dummy_switches import wait_until
from tests.kuijia_app.own_switches import FIRST_VLAN, OwnSwitches, problems, triangle_plan

pytestmark = [pytest.mark.emulation, pytest.mark.beside, pytest.mark.slow]

LEASED = (("paris", "london"), ("london", "rome"))
"""Two of the three links, in VLANs of one trunk."""


def lost_links(events: list[Event]) -> list[Event]:
    return [each for each in problems(events) if each["kind"] == "link-lost"]


@pytest.mark.parametrize(("liveness", "promised"), [("bfd", 0.5), ("controller", 5.0)])
def test_a_flow_leaves_a_leased_link_that_fails_inside_and_comes_back(
    tmp_path: Path, liveness: str, promised: float
) -> None:
    with OwnSwitches(tmp_path, triangle_plan(), LEASED) as network:
        options = ["--wiring", str(network.wiring_file), "--liveness", liveness, "--ovsdb", network.ovs.database]
        assert main(["switches", "prepare", str(network.plan_file), *options]) == 0
        words = OptionWords(wiring=str(network.wiring_file), liveness=liveness)
        with network.controller(words=words, missing="refuse") as controller:
            controller.wait_until_ready(network.plan.topology.nodes)
            if liveness == "bfd":
                wait_until(lambda: "state: down" not in network.ovs.appctl("bfd/show").lower(), "sessions are up")
            assert network.sends("paris", "london", 1472) == 1.0
            paris, london = network.hosts["paris"], network.hosts["london"]
            with TickFlow(paris, london, str(paris.address), 20000, 5000, 0.001, 200) as ticks:
                ticks.start()
                time.sleep(3)  # for sessions to have agreed on their intervals
                cut_at = time.monotonic()
                network.carry_in_trunk([FIRST_VLAN + 1])
                time.sleep(3 * promised + 1)
                record = ticks.stop()
            events = controller.events()
            assert not [each for each in events if each["event"] == event_log.PORT_STATUS and not each["live"]]
            assert controller.wait_for(lambda events: bool(lost_links(events)), 10), "the lost link is not named"
            assert network.sends("london", "rome", 1472) == 1.0
            network.carry_in_trunk([FIRST_VLAN, FIRST_VLAN + 1])
            assert controller.wait_for(lambda events: not lost_links(events), 30), lost_links(controller.events())
            assert network.sends("paris", "london", 1472) == 1.0
    arrived = {number for number, _ in record.arrivals}
    lost = [sent for number, sent in enumerate(record.sent_at[:-100]) if number not in arrived and sent >= cut_at]
    assert lost
    assert max(lost) - cut_at < 3 * promised
