"""The scheduler against real switches: where ECMP and the scheduler send packets, and what failures change."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from hedera.network.data_centre import ROUTE_TABLE, DataCentre
from hedera.network.fat_tree import FatTree
from hedera.scheduling import events
from hedera.scheduling.messages import COUNTING_COOKIE, SCHEDULED_COOKIE
from kuijia_app.framework import event_log
from kuijia_app.tables.wiring import Neighbours
from kuijia_app.tables.wiring_file import load_wiring
from testbed.controllers.application_process import START_TIMEOUT, Event, Framework, Listening
from testbed.controllers.controller_process import SchedulerProcess
from tests.hedera.dummy_fabric import DummyFabric
from tests.hedera.test_learned_hosts import wiring_text
from tests.kuijia_app.dummy_switches import free_port, wait_until
from tests.kuijia_app.gate.rigs import SchedulerRig
from tests.kuijia_app.test_controller import ask_late

SCHEDULED_PRIORITY = 100
LIMIT = 2.0

pytestmark = [pytest.mark.ovs, pytest.mark.slow]

CENTRE = DataCentre(FatTree(4, 0.001))
"""So slow that a few packets make an elephant."""

SWITCHES = CENTRE.wiring.topology.nodes
PORTS = range(30000, 30048)
PERIOD = 0.2
PATIENCE = 60.0

both_frameworks = pytest.mark.parametrize("framework", ["os-ken", "ryu"])


@pytest.fixture
def fabric(tmp_path: Path) -> Iterator[DummyFabric]:
    with DummyFabric(CENTRE, tmp_path) as running:
        yield running


@contextmanager
def scheduler(
    fabric: DummyFabric,
    directory: Path,
    framework: Framework = "os-ken",
    placement: str = "simulated-annealing",
    ready: Collection[str] = SWITCHES,
    idle_timeout: int = 10,
    given: Mapping[str, object] | None = None,
) -> Iterator[SchedulerProcess]:
    options = {"nic_rate": CENTRE.fabric.nic_rate, "placement": placement, "period": PERIOD}
    options |= {"idle_timeout": idle_timeout, **(given or {})}
    process = SchedulerProcess(directory, options, framework, Listening(fabric.controller_port))
    process.start()
    try:
        fabric.connect()
        process.wait_until_ready(ready)
        yield process
    finally:
        process.stop()


def many(source: int, target: int) -> dict[int, tuple[int, int]]:
    """Flows of one pair of hosts."""
    return dict.fromkeys(PORTS, (source, target))


def rounds(known: list[Event]) -> list[Event]:
    return [event for event in known if event["event"] == events.ROUND]


def wait_for(process: SchedulerProcess, condition: Callable[[list[Event]], bool], what: str) -> None:
    known = len(process.events())
    assert process.wait_for(lambda seen: condition(seen[known:]), PATIENCE), f"not within {PATIENCE:g} s: {what}"


def wait_for_routes(process: SchedulerProcess, failed: set[frozenset[str]]) -> None:
    """Wait until the switches have routes around these cables, and a round has passed."""

    def holds(seen: list[Event]) -> bool:
        changed = [position for position, event in enumerate(seen) if event["event"] == events.ROUTES_CHANGED]
        if not changed or {frozenset(cable) for cable in seen[changed[-1]]["failed"]} != failed:
            return False
        after = seen[changed[-1] :]
        ready = {event["switch"] for event in after if event["event"] == event_log.SWITCH_READY}
        return ready >= set(SWITCHES) and bool(rounds(after))

    assert process.wait_for(holds, PATIENCE), f"no routes around {failed}"


@both_frameworks
def test_ecmp_spreads_flows_evenly_over_all_core_switches(
    fabric: DummyFabric, tmp_path: Path, framework: Framework
) -> None:
    with scheduler(fabric, tmp_path, framework, placement="ecmp"):
        ways = fabric.ways(many(0, 15))
    assert {(way[0], way[-2], way[-1]) for way in ways.values()} == {("p0e0", "p3e1", "h15")}
    assert {len(way) for way in ways.values()} == {6}
    cores = Counter(way[2] for way in ways.values())
    assert cores.keys() == {"c0", "c1", "c2", "c3"}
    assert max(cores.values()) < len(PORTS) / 2


def test_the_answer_to_the_first_question_for_ports_is_heard_when_that_is_ours(
    fabric: DummyFabric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask_late(monkeypatch, SchedulerProcess)
    with scheduler(fabric, tmp_path) as process:
        assert not [event for event in process.events() if event["event"] == event_log.SWITCH_ERROR]


def elephants_fed(
    fabric: DummyFabric, process: SchedulerProcess, flows: dict[int, tuple[int, int]]
) -> dict[int, tuple[str, ...]]:
    """Send packets until all rounds meanwhile have had all flows for elephants and have changed nothing.

    Returns the way that each flow takes then.
    """
    deadline = time.monotonic() + PATIENCE
    with fabric.fed(flows):
        while time.monotonic() < deadline:
            known = len(rounds(process.events()))
            ways = fabric.ways(flows)
            wait_for(process, lambda seen: len(rounds(seen)) >= 1, "a round")
            since = rounds(process.events())[known:]
            if all(each["elephants"] == len(flows) and each["put"] == 0 for each in since):
                return ways
    raise AssertionError(f"the flows are not placed: {rounds(process.events())[-5:]}")


STRIDE8 = {20000 + host: (host, (host + 8) % 16) for host in range(16)}
STRIDE8_TARGETS = {port: f"h{target}" for port, (_, target) in STRIDE8.items()}


def arrived(ways: dict[int, tuple[str, ...]]) -> dict[int, str]:
    """Where the packets of each flow have come to."""
    return {port: way[-1] for port, way in ways.items()}


def shared_links(ways: dict[int, tuple[str, ...]]) -> int:
    """Return the number of links between switches that carry more than one flow."""
    used = Counter(hop for way in ways.values() for hop in pairwise(way[:-1]))
    return sum(count > 1 for count in used.values())


@both_frameworks
def test_elephants_get_paths_of_their_own_and_counting_needs_no_packet_at_the_controller(
    fabric: DummyFabric, tmp_path: Path, framework: Framework
) -> None:
    with scheduler(fabric, tmp_path, framework) as process:
        assert shared_links(fabric.ways(STRIDE8)) > 0
        ways = elephants_fed(fabric, process, STRIDE8)
        assert arrived(ways) == STRIDE8_TARGETS
        assert shared_links(ways) == 0
        flows = [line for switch in SWITCHES for line in fabric.flows(switch)]
        assert not [line for line in flows if "CONTROLLER" in line]
        assert not [event for event in process.events() if event["event"] == events.ENTRY_REFUSED]


def test_elephants_of_ipv6_get_paths_of_their_own(tmp_path: Path) -> None:
    file = tmp_path / "wiring.yaml"
    ipv6 = {"prefixes": '"2001:db8:N::/64"', "address": '"2001:db8:N::2"', "gateway": '"2001:db8:N::1"'}
    file.write_text(wiring_text(**ipv6))
    centre = DataCentre(FatTree(4, CENTRE.fabric.nic_rate), load_wiring(file), Neighbours.STATIC)
    given = {"wiring": file, "neighbours": Neighbours.STATIC.value}
    with DummyFabric(centre, tmp_path) as fabric, scheduler(fabric, tmp_path, given=given) as process:
        assert shared_links(fabric.ways(STRIDE8)) > 0
        ways = elephants_fed(fabric, process, STRIDE8)
        assert arrived(ways) == STRIDE8_TARGETS
        assert shared_links(ways) == 0
        assert [line for line in scheduled_entries(fabric, "p0e0") if "ipv6_src=" in line]


def test_counting_goes_on_after_somebody_has_deleted_what_counts(fabric: DummyFabric, tmp_path: Path) -> None:
    with scheduler(fabric, tmp_path) as process:
        elephants_fed(fabric, process, STRIDE8)
        for switch in SWITCHES:
            fabric.ovs.ofctl("del-flows", fabric.bridge(switch), f"cookie={COUNTING_COOKIE:#x}/-1")
        wait_for(process, lambda seen: len(rounds(seen)) >= 2, "two rounds")
        counting = [line for switch in SWITCHES for line in fabric.flows(switch) if f"{COUNTING_COOKIE:#x}" in line]
        assert len(counting) == 2 * len(STRIDE8), "of each host for TCP and for UDP"
        elephants_fed(fabric, process, STRIDE8)


def test_an_elephant_whose_entry_somebody_has_changed_is_routed_again_and_that_is_logged(
    fabric: DummyFabric, tmp_path: Path
) -> None:
    with scheduler(fabric, tmp_path) as process:
        elephants_fed(fabric, process, STRIDE8)
        entries = f"cookie={SCHEDULED_COOKIE:#x}/-1,table={ROUTE_TABLE}"
        switch = next(each for each in SWITCHES if fabric.ovs.ofctl("dump-flows", fabric.bridge(each), entries))

        def wrong() -> list[str]:
            return [event["switch"] for event in process.events() if event["event"] == event_log.TABLES_WRONG]

        with fabric.fed(STRIDE8):
            fabric.ovs.ofctl("mod-flows", fabric.bridge(switch), f"{entries},actions=drop")
            wait_until(lambda: wrong() == [switch], "the change is noticed")
        assert arrived(elephants_fed(fabric, process, STRIDE8)) == STRIDE8_TARGETS
        assert wrong() == [switch]


def test_failed_links_are_routed_around_by_ecmp_and_for_elephants_and_healing_brings_them_back(
    fabric: DummyFabric, tmp_path: Path
) -> None:
    with scheduler(fabric, tmp_path) as process:
        elephants_fed(fabric, process, STRIDE8)
        broken = {frozenset({"c1", "p2a0"}), frozenset({"p2a1", "p2e0"})}
        for cable in broken:
            fabric.set_link(cable, "down")
        wait_for_routes(process, broken)
        during = {**fabric.ways(STRIDE8), **fabric.ways(many(1, 8))}
        assert {way[-1] for port, way in during.items() if port not in STRIDE8} == {"h8"}
        assert all(way[-1] == f"h{STRIDE8[port][1]}" for port, way in during.items() if port in STRIDE8)
        hops = {frozenset(hop) for way in during.values() for hop in pairwise(way)}
        assert not hops & broken
        for cable in broken:
            fabric.set_link(cable, "up")
        wait_for_routes(process, set())
        assert shared_links(elephants_fed(fabric, process, STRIDE8)) == 0


def test_a_switch_that_is_gone_is_routed_around(fabric: DummyFabric, tmp_path: Path) -> None:
    with scheduler(fabric, tmp_path) as process:
        fabric.ovs.vsctl("del-controller", fabric.bridge("p2a0"))

        def without_it(seen: list[Event]) -> bool:
            failed = [event["failed"] for event in seen if event["event"] == events.ROUTES_CHANGED]
            return bool(failed) and len(failed[-1]) == 4 and bool(rounds(seen[-1:]))

        assert process.wait_for(without_it, PATIENCE)
        ways = fabric.ways(many(0, 8))
    assert {way[-1] for way in ways.values()} == {"h8"}
    assert "p2a0" not in {switch for way in ways.values() for switch in way}


def test_when_the_scheduler_is_killed_ecmp_and_elephants_stay_connected_and_local_failures_are_survived(
    fabric: DummyFabric, tmp_path: Path
) -> None:
    with scheduler(fabric, tmp_path) as process:
        before = elephants_fed(fabric, process, STRIDE8)
        process.kill()
        assert fabric.ways(STRIDE8) == before
        assert {way[-1] for way in fabric.ways(many(3, 12)).values()} == {"h12"}
        fabric.set_link(before[20000][:2], "down")
        fabric.settle()
        after = fabric.ways(STRIDE8)
        assert arrived(after) == arrived(before)
        assert after[20000][1] != before[20000][1]


def test_entries_of_elephants_are_in_edge_and_aggregation_switches_above_ecmp_which_serves_when_they_end(
    fabric: DummyFabric, tmp_path: Path
) -> None:
    with scheduler(fabric, tmp_path, idle_timeout=60) as process:
        elephants_fed(fabric, process, STRIDE8)
        process.kill()
    entries = {switch: scheduled_entries(fabric, switch) for switch in SWITCHES}
    assert {switch[2] for switch, lines in entries.items() if lines} == {"e", "a"}
    assert sum(len(lines) for lines in entries.values()) == 2 * len(STRIDE8)
    assert all(" idle_timeout=60, " in line for lines in entries.values() for line in lines)
    fabric.ovs.appctl("time/warp", "61000")
    fabric.ovs.appctl("revalidator/wait")
    assert not [line for switch in SWITCHES for line in scheduled_entries(fabric, switch)]
    assert arrived(fabric.ways(STRIDE8)) == STRIDE8_TARGETS


def scheduled_entries(fabric: DummyFabric, switch: str) -> list[str]:
    """Those above the ECMP entries of the same table."""
    return [
        line for line in fabric.flows(switch) if " table=1, " in line and f" priority={SCHEDULED_PRIORITY}," in line
    ]


def test_a_scheduler_that_starts_anew_takes_over_without_a_gap(fabric: DummyFabric, tmp_path: Path) -> None:
    with scheduler(fabric, tmp_path) as process:
        elephants_fed(fabric, process, STRIDE8)
        process.kill()
        process.start()
        deadline = time.monotonic() + START_TIMEOUT
        while set(process.programmed_switches()) != set(SWITCHES):
            assert arrived(fabric.ways(STRIDE8)) == STRIDE8_TARGETS
            assert time.monotonic() < deadline
        assert shared_links(elephants_fed(fabric, process, STRIDE8)) == 0


def test_a_switch_that_refuses_its_tables_is_routed_around_and_the_others_are_served(
    fabric: DummyFabric, tmp_path: Path
) -> None:
    limit = ["--", "--id=@full", "create", "Flow_Table", "flow_limit=3", "overflow_policy=refuse"]
    fabric.ovs.vsctl(*limit, "--", "set", "Bridge", fabric.bridge("p2a0"), "flow_tables:1=@full")
    with scheduler(fabric, tmp_path, ready=set(SWITCHES) - {"p2a0"}) as process:

        def without_it(seen: list[Event]) -> bool:
            failed = [event["failed"] for event in seen if event["event"] == events.ROUTES_CHANGED]
            return bool(failed) and len(failed[-1]) == 4 and seen[-1]["event"] == events.ROUND

        assert process.wait_for(without_it, PATIENCE)
        elephants_fed(fabric, process, {20000 + host: (host, 15 - host) for host in range(4)})
        ways = fabric.ways(many(0, 8))
        refusals = [event for event in process.events() if event["event"] == event_log.SWITCH_REFUSED]
    assert "p2a0" not in {switch for way in ways.values() for switch in way}
    assert {event["switch"] for event in refusals} == {"p2a0"}
    assert len(refusals) <= 3


def test_of_two_schedulers_the_later_one_rules_and_the_other_keeps_quiet(fabric: DummyFabric, tmp_path: Path) -> None:
    later_port = free_port()
    folder = tmp_path / "later"
    folder.mkdir()
    options = {"nic_rate": CENTRE.fabric.nic_rate, "period": PERIOD}
    with scheduler(fabric, tmp_path) as earlier:
        later = SchedulerProcess(folder, options, listening=Listening(later_port))
        later.start()
        try:
            fabric.connect(fabric.controller_port, later_port)
            later.wait_until_ready(SWITCHES)
            elephants_fed(fabric, later, STRIDE8)
            assert earlier.wait_for(lambda seen: any(event["event"] == event_log.ROLE_LOST for event in seen), PATIENCE)
            quiet_since = len(rounds(earlier.events()))
            wait_for(later, lambda seen: len(rounds(seen)) >= 3, "three rounds")
            assert len(rounds(earlier.events())) == quiet_since
        finally:
            later.stop()


@both_frameworks
def test_switches_are_heard_however_long_it_takes_to_find_routes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, framework: Framework
) -> None:
    trigger = tmp_path / "trigger"
    program = [
        sys.executable,
        "-m",
        "tests.kuijia_app.failing_application",
        "HANG",
        "hedera.scheduling.tables:Routing.tables",
    ]
    command = SchedulerProcess._command
    monkeypatch.setattr(SchedulerProcess, "_command", lambda process: [*program, str(trigger), *command(process)])
    with SchedulerRig(tmp_path, framework) as rig:
        rig.connect_all()
        trigger.touch()
        rig.reaction("c0")
        deadline = time.monotonic() + 2 * LIMIT
        wait_until(lambda: time.monotonic() > deadline or not rig.process.is_alive, "it should have been noticed")
        rig.assert_well()
        assert rig.process.is_alive
        assert rig.events(events.ROUTES_CHANGED) == []
