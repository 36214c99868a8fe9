"""On switches of somebody's own: what a plan lacks is named and refused, and what carries nothing is not used."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path

import pytest

from kuijia.cli.main import main
from kuijia_app.control.findings import FindingKind
from kuijia_app.framework import event_log
from kuijia_app.tables.options import OptionWords
from kuijia_base.commands import run_command
from testbed.controllers.application_process import Event, Framework
from testbed.controllers.controller_process import ControllerProcess
from testbed.machine.network_namespace import network_of
from tests.kuijia_app.own_switches import SITES, OwnSwitches, problems

pytestmark = [pytest.mark.emulation, pytest.mark.slow]
beside = pytest.mark.beside

NAMED_WITHIN = 5.0
"""Seconds within which the controller names what becomes wrong while it runs."""

SLACK = 5.0
"""Seconds more that it may take beside other tests."""

FULL = 1472
"""Bytes of data in a ping of 1,500 bytes."""


@pytest.fixture
def switches(tmp_path: Path) -> Iterator[OwnSwitches]:
    with OwnSwitches(tmp_path) as running:
        yield running


def prepare(switches: OwnSwitches) -> None:
    switches.make_queues()
    switches.set_mtu(1504)


Kinds = AbstractSet[tuple[str, str, int | None]]
"""Kind, switch and port of problems."""


def kinds(events: list[Event]) -> Kinds:
    return {(event["kind"], event["switch"], event.get("port")) for event in problems(events)}


def wait_for_kinds(process: ControllerProcess, expected: Kinds, slack: float = SLACK) -> None:
    assert process.wait_for(lambda events: expected <= kinds(events), NAMED_WITHIN + slack), kinds(process.events())


def wait_for_none(process: ControllerProcess, patience: float = 30.0) -> None:
    assert process.wait_for(lambda events: not problems(events), patience), problems(process.events())


def is_ready(events: list[Event]) -> bool:
    return {event["switch"] for event in events if event["event"] == event_log.SWITCH_READY} == set(SITES)


def wait_until_carried(switches: OwnSwitches, pairs: list[tuple[str, str]], patience: float = 10.0) -> None:
    """Wait until full packets of these pairs, both ways, are carried."""
    deadline = time.monotonic() + patience
    while not all(switches.sends(a, b, FULL, count=3) == 1.0 for a, b in pairs):
        assert time.monotonic() < deadline, "full packets are lost"


ALL_PAIRS = [("paris", "london"), ("london", "rome"), ("rome", "paris")]


@beside
@pytest.mark.parametrize("framework", ["os-ken", "ryu"])
def test_a_plan_that_lacks_queues_and_frames_is_refused_until_they_are_there(
    switches: OwnSwitches, framework: Framework
) -> None:
    missing = {("queue-missing", site, switches.port(site, other)) for site, other in switches.link_ends()}
    missing |= {("queue-missing", site, switches.port(site, site)) for site in SITES}
    missing |= {("frames-too-large", site, switches.port(site, other)) for site, other in switches.link_ends()}
    with switches.controller(framework) as process:
        wait_for_kinds(process, missing)
        assert not any(event["event"] == event_log.SWITCH_READY for event in process.events())
        for site in SITES:
            assert "cookie=0x4b55494a49410000" not in switches.ovs.ofctl("dump-flows", switches.bridge(site))
        prepare(switches)
        assert process.wait_for(is_ready, 10.0)
        wait_for_none(process)
        wait_until_carried(switches, ALL_PAIRS)


@beside
def test_with_warnings_a_plan_that_lacks_something_is_put_on_the_switches_and_named(switches: OwnSwitches) -> None:
    with switches.controller(missing="warn") as process:
        assert process.wait_for(is_ready, 10.0)
        wait_for_kinds(process, {("queue-missing", "paris", 3), ("frames-too-large", "paris", 3)})
        assert switches.sends("paris", "london") == 1.0


@beside
@pytest.mark.parametrize("neighbours", ["static", "learned"])
def test_a_switch_that_lacks_one_of_its_sites_ports_is_programmed_and_the_port_named(
    switches: OwnSwitches, neighbours: str
) -> None:
    prepare(switches)
    text = switches.wiring_file.read_text()
    assert text.count("{port: 12,") == 1
    switches.wiring_file.write_text(text.replace("{port: 12,", "{port: [12, 30], gateway: 172.20.1.1,"))
    words = OptionWords(wiring=str(switches.wiring_file), neighbours=neighbours)
    with switches.controller(words=words) as process:
        assert process.wait_for(is_ready, 10.0), problems(process.events())
        wait_for_kinds(process, {("port-missing", "paris", 30)})
        if neighbours == "static":
            wait_until_carried(switches, ALL_PAIRS)


@beside
def test_what_a_plan_loses_while_it_runs_is_named_and_its_tables_stay_even_after_a_restart(
    switches: OwnSwitches,
) -> None:
    prepare(switches)
    with switches.controller() as process:
        assert process.wait_for(is_ready, 10.0)
        wait_for_none(process)
        switches.remove_queues("rome", "paris")
        switches.set_mtu(1500, [("paris", "london"), ("london", "paris")])
        lost = {("queue-missing", "rome", 5), ("frames-too-large", "paris", 3), ("frames-too-large", "london", 11)}
        wait_for_kinds(process, lost)
        wait_until_carried(switches, ALL_PAIRS)  # by way of rome
    with switches.controller() as process:
        wait_for_kinds(process, lost)
        assert not any(event["event"] == event_log.SWITCH_READY for event in process.events())
        assert switches.sends("paris", "rome", FULL) == 1.0
        prepare(switches)
        assert process.wait_for(is_ready, 10.0)


@beside
@pytest.mark.parametrize("liveness", ["controller", "bfd"])
def test_what_kuijia_switches_prepares_is_all_that_the_plan_lacks(switches: OwnSwitches, liveness: str) -> None:
    words = OptionWords(wiring=str(switches.wiring_file), liveness=liveness)
    lacking = {("session-port-missing", site, None) for site in SITES} if liveness == "bfd" else set()
    with switches.controller(words=words) as process:
        wait_for_kinds(process, {("queue-missing", "paris", 3), ("frames-too-large", "paris", 3), *lacking})
        options = ["--wiring", str(switches.wiring_file), "--liveness", liveness, "--ovsdb", switches.ovs.database]
        assert main(["switches", "prepare", str(switches.plan_file), *options]) == 0
        assert process.wait_for(is_ready, 15.0), problems(process.events())
        wait_for_none(process)
        wait_until_carried(switches, ALL_PAIRS)


def swap_cables(switches: OwnSwitches) -> None:
    """Swap the two cables of paris: its ports exchange their numbers."""
    london, rome = (switches.interface("paris", other) for other in ("london", "rome"))
    bridge = switches.bridge("paris")
    switches.ovs.vsctl("del-port", bridge, london, "--", "del-port", bridge, rome)
    words = []
    for interface, number in ((london, 7), (rome, 3)):
        words += ["--", "add-port", bridge, interface]
        words += ["--", "set", "Interface", interface, f"ofport_request={number}", "mtu_request=1504"]
    switches.ovs.vsctl(*words[1:])
    switches.make_queues([("paris", "london"), ("paris", "rome")])


def renumber(switches: OwnSwitches) -> None:
    interface, bridge = switches.interface("paris", "london"), switches.bridge("paris")
    request = ["set", "Interface", interface, "ofport_request=32", "mtu_request=1504"]
    switches.ovs.vsctl("del-port", bridge, interface, "--", "add-port", bridge, interface, "--", *request)


def no_forward(switches: OwnSwitches) -> None:
    switches.ovs.ofctl("mod-port", switches.bridge("paris"), "3", "no-forward")


def no_receive(switches: OwnSwitches) -> None:
    switches.ovs.ofctl("mod-port", switches.bridge("paris"), "3", "no-receive")


def lonely_bfd(switches: OwnSwitches) -> None:
    switches.ovs.vsctl("set", "Interface", switches.interface("paris", "london"), "bfd:enable=true")


def drop_one_way(switches: OwnSwitches) -> None:
    entry = "priority=65535,in_port=11,actions=drop"
    switches.ovs.ofctl("add-flow", switches.bridge("london"), entry)


def spanning_tree(switches: OwnSwitches) -> None:
    """Run spanning tree at all bridges, which blocks one end of a link of the triangle."""
    for site in SITES:
        switches.ovs.vsctl("set", "Bridge", switches.bridge(site), "stp_enable=true")


CONDITIONS: list[tuple[Callable[[OwnSwitches], None], Kinds]] = [
    (renumber, {("port-missing", "paris", 3)}),
    (swap_cables, {("link-miswired", "paris", 3), ("link-miswired", "paris", 7)}),
    (no_forward, {("port-disabled", "paris", 3)}),
    (no_receive, {("port-disabled", "paris", 3)}),
    (lonely_bfd, {("port-not-live", "paris", 3)}),
    (drop_one_way, {("link-lost", "paris", 3)}),
]


def carried_after(breaks: Callable[[OwnSwitches], None]) -> list[tuple[str, str]]:
    """Return the pairs with a path that lives: paris has none left when both of its cables are swapped."""
    return [("london", "rome")] if breaks is swap_cables else ALL_PAIRS


@pytest.mark.parametrize(("breaks", "expected"), CONDITIONS, ids=[breaks.__name__ for breaks, _ in CONDITIONS])
def test_a_link_that_carries_nothing_while_the_plan_runs_is_named_and_avoided(
    switches: OwnSwitches,
    breaks: Callable[[OwnSwitches], None],
    expected: Kinds,
) -> None:
    prepare(switches)
    with switches.controller() as process:
        assert process.wait_for(is_ready, 10.0)
        wait_until_carried(switches, ALL_PAIRS)
        breaks(switches)
        wait_for_kinds(process, expected, slack=0.0)
        wait_until_carried(switches, carried_after(breaks))


@beside
@pytest.mark.parametrize(("breaks", "expected"), CONDITIONS, ids=[breaks.__name__ for breaks, _ in CONDITIONS])
def test_a_link_that_carries_nothing_when_the_controller_starts_again_is_named_and_avoided(
    switches: OwnSwitches,
    breaks: Callable[[OwnSwitches], None],
    expected: Kinds,
) -> None:
    prepare(switches)
    with switches.controller() as process:
        assert process.wait_for(is_ready, 10.0)
    breaks(switches)
    with switches.controller() as process:
        wait_for_kinds(process, expected)
        wait_until_carried(switches, carried_after(breaks))


@beside
def test_queues_that_are_too_slow_for_their_port_are_named_once_they_drop_packets(switches: OwnSwitches) -> None:
    options = ["--wiring", str(switches.wiring_file), "--ovsdb", switches.ovs.database]
    assert main(["switches", "prepare", str(switches.plan_file), *options]) == 0
    with switches.controller() as process:
        assert process.wait_for(is_ready, 10.0)
        wait_for_none(process)
        for queue in switches.ovs.vsctl("--columns=_uuid", "--bare", "list", "Queue").split():
            switches.ovs.vsctl("set", "Queue", queue, "other-config:max-rate=700000")
        words = ["ping", "-q", "-i", "0.002", "-s", "1400", str(switches.hosts["london"].address)]
        ping = switches.hosts["paris"].start(words, stdout=subprocess.DEVNULL)
        try:

            def is_named(events: list[Event]) -> bool:
                return any((kind, switch) == ("queue-slow", "paris") for kind, switch, _ in kinds(events))

            assert process.wait_for(is_named, NAMED_WITHIN + SLACK), kinds(process.events())
        finally:
            ping.kill()
            ping.wait()


@beside
def test_a_link_that_spanning_tree_blocks_is_named(switches: OwnSwitches) -> None:
    prepare(switches)
    with switches.controller() as process:
        assert process.wait_for(is_ready, 10.0)
        spanning_tree(switches)

        def is_named(events: list[Event]) -> bool:
            return any(kind == "link-lost" for kind, _, _ in kinds(events))

        assert process.wait_for(is_named, NAMED_WITHIN + SLACK)


@beside
def test_a_pause_of_all_switches_and_of_the_controller_blames_no_link(switches: OwnSwitches) -> None:
    prepare(switches)
    with switches.controller() as process:
        assert process.wait_for(is_ready, 10.0)
        wait_for_none(process)
        known = len(process.events())
        for pid in (switches.ovs.switch_pid(), process.pid):
            run_command(["kill", "-STOP", str(pid)])
            time.sleep(3.0)  # longer than the rounds after which a link counts as lost
            run_command(["kill", "-CONT", str(pid)])
            time.sleep(3.0)
        found = [event for event in process.events()[known:] if event["event"] == event_log.PROBLEM_FOUND]
        # A switch that stood still for so long has answered no polls, which may be said.
        assert not [event for event in found if event["kind"] != FindingKind.SWITCH_UNWATCHED.value]


class OverVxlan(OwnSwitches):
    """The same switches, of which paris and london are joined by a VXLAN tunnel over a cable of its own."""

    def _make_links(self) -> None:
        super()._make_links()
        ends = self.interface("paris", "london"), self.interface("london", "paris")
        run_command(["ip", "link", "delete", ends[0]])
        holder = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; exec sleep infinity"], stdout=subprocess.PIPE)
        self.undo.callback(holder.wait)
        self.undo.callback(holder.kill)
        assert holder.stdout is not None
        self.undo.callback(holder.stdout.close)
        holder.stdout.readline()  # its namespace is there
        here, there = self.ovs.switch_pid(), holder.pid
        run_command(["ip", "link", "add", "under0", "mtu", "2000", "type", "veth", "peer", "name", "under1"])
        run_command(["ip", "link", "set", "under1", "mtu", "2000", "netns", str(there)])
        for number, name, home in ((1, ends[0], here), (2, ends[1], there)):
            with network_of(home):
                other = f"192.0.2.{3 - number}"
                run_command(["ip", "link", "set", f"under{number - 1}", "up"])
                run_command(["ip", "addr", "add", f"192.0.2.{number}/24", "dev", f"under{number - 1}"])
                tunnel = ["vxlan", "id", "7", "local", f"192.0.2.{number}", "remote", other, "dstport", "4789"]
                run_command(["ip", "link", "add", name, "type", *tunnel])
                if home == there:
                    run_command(["ip", "link", "set", name, "netns", str(here)])  # its packets stay in that namespace
            run_command(["ip", "link", "set", name, "mtu", "1504", "up"])


@beside
def test_a_vxlan_link_whose_cable_is_cut_is_named_and_avoided(tmp_path: Path) -> None:
    with OverVxlan(tmp_path) as switches:
        prepare(switches)
        with switches.controller() as process:
            assert process.wait_for(is_ready, 10.0)
            wait_until_carried(switches, ALL_PAIRS)
            run_command(["ip", "link", "set", "under0", "down"])
            assert "LOWER_UP" in run_command(["ip", "link", "show", switches.interface("paris", "london")])
            wait_for_kinds(process, {("link-lost", "paris", 3), ("link-lost", "london", 11)})
            wait_until_carried(switches, ALL_PAIRS)
