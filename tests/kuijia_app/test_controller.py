"""The controller against real switches, under both frameworks."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kuijia_app.framework import event_log
from kuijia_app.tables.options import OptionWords, PipelineOptions
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.wiring_file import wiring_text
from te_solver.formats.plan_file import save_plan
from te_solver.schemes.failure_scheme import FailureScheme
from te_solver.schemes.shipped.kuijia import KUIJIA
from te_solver.schemes.shipped.rescaling import RESCALING
from te_solver.schemes.shipped.rescaling_renormalised import RENORMALISED
from testbed.controllers.application_process import ApplicationProcess, Event, Framework, Listening
from testbed.controllers.controller_process import ControllerProcess
from tests.kuijia_app.dummy_switches import PATIENCE, DummySwitches, SentPacket, wait_until
from tests.kuijia_app.plans import motivation_plan
from tests.kuijia_app.wirings import permuted

pytestmark = [pytest.mark.ovs, pytest.mark.slow]

T1, T2, T3 = 16, 17, 18
FLOWS = range(20000, 21000)

both_frameworks = pytest.mark.parametrize("framework", ["os-ken", "ryu"])


@pytest.fixture
def switches(tmp_path: Path) -> Iterator[DummySwitches]:
    with DummySwitches(motivation_plan(), tmp_path) as running:
        yield running


@contextmanager
def controller(
    switches: DummySwitches,
    directory: Path,
    framework: Framework = "os-ken",
    scheme: FailureScheme = KUIJIA,
    words: OptionWords | None = None,
) -> Iterator[ControllerProcess]:
    plan_file = directory / "plan.json"
    save_plan(switches.plan, plan_file)
    words = words or OptionWords(scheme.name)
    process = ControllerProcess(directory, plan_file, words, framework, Listening(switches.controller_port))
    process.start()
    try:
        for switch in switches.plan.topology.nodes:
            switches.connect(switch)
        process.wait_until_ready(switches.plan.topology.nodes)
        yield process
    finally:
        process.stop()


def told(process: ControllerProcess, ingress: str, label: int, *, alive: bool) -> bool:
    """Return True if this is the last state of the tunnel that the controller sent to its ingress."""

    def holds(events: list[Event]) -> bool:
        of_tunnel = [event for event in events if event["event"] == event_log.TUNNEL_LIVENESS]
        mine = [event for event in of_tunnel if (event["ingress"], event["path_id"]) == (ingress, label)]
        return bool(mine) and mine[-1]["alive"] is alive

    return process.wait_for(holds, PATIENCE)


def port(switches: DummySwitches, switch: str, neighbour: str) -> int:
    return switches.wiring.port(switch, neighbour)


def moved(before: list[SentPacket], after: list[SentPacket]) -> Counter[tuple[int, int, int]]:
    """Return the number of flows that went from (label) to (label, traffic class), without those that stayed."""
    return Counter(
        (old.label, new.label, new.traffic_class) for old, new in zip(before, after, strict=True) if old != new
    )


@both_frameworks
def test_every_switch_gets_exactly_the_tables_of_the_plan(
    switches: DummySwitches, tmp_path: Path, framework: Framework
) -> None:
    with controller(switches, tmp_path, framework) as process:
        assert {event["framework"] for event in process.events() if "framework" in event} == {framework}
        for switch, tables in build_tables(switches.plan).items():
            assert len(switches.flows(switch)) == len(tables.flows)
            assert len(switches.groups(switch)) == len(tables.groups)


def test_under_ryu_too_switches_and_ports_have_the_numbers_of_a_wiring_file(tmp_path: Path) -> None:
    plan = motivation_plan()
    stated = permuted(plan.topology, seed=1)
    file = tmp_path / "wiring.yaml"
    file.write_text(wiring_text(stated))
    with (
        DummySwitches(plan, tmp_path, stated.of(plan.topology)) as switches,
        controller(switches, tmp_path, "ryu", words=OptionWords(wiring=str(file))) as process,
    ):
        wanted = build_tables(plan, PipelineOptions(wiring=stated))
        assert all(len(switches.flows(switch)) == len(tables.flows) for switch, tables in wanted.items())
        first = {sent.label for sent in switches.send_from_host("s1", "s4", FLOWS[:100])}
        switches.set_port("s2", port(switches, "s2", "s4"), "down")
        assert told(process, "s1", T1, alive=False)
        after = {sent.label for sent in switches.send_from_host("s1", "s4", FLOWS[:100])}
        assert (first, after) == ({T1, T2, T3}, {T2, T3})


def ask_late(monkeypatch: pytest.MonkeyPatch, application: type[ApplicationProcess]) -> None:
    """Have os-ken ask a switch for its ports after the application has."""
    command = application._command
    program = [sys.executable, "-m", "tests.kuijia_app.late_framework"]
    monkeypatch.setattr(application, "_command", lambda process: [*program, *command(process)[len(program) :]])


def test_the_answer_to_the_first_question_for_ports_is_heard_when_that_is_ours(
    switches: DummySwitches, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask_late(monkeypatch, ControllerProcess)
    with controller(switches, tmp_path) as process:
        assert process.errors() == []


@both_frameworks
def test_flows_are_split_by_weight(switches: DummySwitches, tmp_path: Path, framework: Framework) -> None:
    with controller(switches, tmp_path, framework):
        sent = switches.send_from_host("s1", "s4", FLOWS)
    shares = Counter(packet.label for packet in sent)
    for label, weight in ((T1, 0.5), (T2, 0.3), (T3, 0.2)):
        assert shares[label] / len(FLOWS) == pytest.approx(weight, abs=0.06)
    assert {packet.traffic_class for packet in sent} == {0}


@both_frameworks
def test_a_remote_failure_moves_only_the_victims_and_healing_puts_everything_back(
    switches: DummySwitches, tmp_path: Path, framework: Framework
) -> None:
    with controller(switches, tmp_path, framework) as process:
        tables_before = {node: (switches.groups(node), switches.flows(node)) for node in switches.plan.topology.nodes}
        before = switches.send_from_host("s1", "s4", FLOWS)

        switches.set_port("s2", port(switches, "s2", "s4"), "down")
        assert told(process, "s1", T1, alive=False)
        during = switches.send_from_host("s1", "s4", FLOWS)

        switches.set_port("s2", port(switches, "s2", "s4"), "up")
        assert told(process, "s1", T1, alive=True)
        healed = switches.send_from_host("s1", "s4", FLOWS)
        tables_after = {node: (switches.groups(node), switches.flows(node)) for node in switches.plan.topology.nodes}

    victims = moved(before, during)
    assert {(old, tag) for old, _, tag in victims} == {(T1, 1)}
    to_t2, to_t3 = victims[T1, T2, 1], victims[T1, T3, 1]
    assert to_t2 + to_t3 == sum(packet.label == T1 for packet in before)
    assert to_t2 / (to_t2 + to_t3) == pytest.approx(0.6, abs=0.1)
    assert healed == before
    assert tables_after == tables_before


def test_a_local_failure_needs_no_controller_and_neither_does_its_healing(
    switches: DummySwitches, tmp_path: Path
) -> None:
    with controller(switches, tmp_path) as process:
        before = switches.send_from_host("s1", "s4", FLOWS)
        process.kill()
        first_link = port(switches, "s1", "s2")
        switches.set_port("s1", first_link, "down")
        during = switches.send_from_host("s1", "s4", FLOWS)
        switches.set_port("s1", first_link, "up")
        healed = switches.send_from_host("s1", "s4", FLOWS)
    victims = moved(before, during)
    assert {(old, tag) for old, _, tag in victims} == {(T1, 1)}
    assert healed == before


def test_under_rescaling_victims_keep_the_normal_tag(switches: DummySwitches, tmp_path: Path) -> None:
    with controller(switches, tmp_path, scheme=RESCALING) as process:
        before = switches.send_from_host("s1", "s4", FLOWS)
        switches.set_port("s2", port(switches, "s2", "s4"), "down")
        assert told(process, "s1", T1, alive=False)
        during = switches.send_from_host("s1", "s4", FLOWS)
    assert {(old, tag) for old, _, tag in moved(before, during)} == {(T1, 0)}


def test_under_renormalised_rescaling_the_ranges_of_live_tunnels_grow_and_other_flows_change_tunnel(
    switches: DummySwitches, tmp_path: Path
) -> None:
    with controller(switches, tmp_path, scheme=RENORMALISED):
        before = switches.send_from_host("s1", "s4", FLOWS)
        switches.set_port("s2", port(switches, "s2", "s4"), "down")

        def ways() -> set[tuple[int, int, int]]:
            return set(moved(before, switches.send_from_host("s1", "s4", FLOWS)))

        wait_until(lambda: (T2, T3, 0) in ways(), "flows of a live tunnel change to the other one")
        assert T1 not in {label for _, label, _ in ways()}
        switches.set_port("s2", port(switches, "s2", "s4"), "up")
        wait_until(lambda: not ways(), "all flows are back on their tunnels")


def test_control_traffic_takes_the_shortest_tunnel_and_its_own_class(switches: DummySwitches, tmp_path: Path) -> None:
    with controller(switches, tmp_path):
        sent = switches.send_from_host("s1", "s4", range(30000, 30050), tos=48 << 2)
    assert {(packet.label, packet.traffic_class) for packet in sent} == {(T2, 6)}


def test_a_failure_from_before_the_controller_started_is_known_to_it(switches: DummySwitches, tmp_path: Path) -> None:
    switches.set_port("s2", port(switches, "s2", "s4"), "down")
    with controller(switches, tmp_path):
        wait_until(
            lambda: T1 not in {packet.label for packet in switches.send_from_host("s1", "s4", FLOWS[:20])},
            "the ingress avoids the dead tunnel",
        )
        sent = switches.send_from_host("s1", "s4", range(22000, 22500))
    assert T1 not in {packet.label for packet in sent}


def events_of(process: ControllerProcess, kind: str, switch: str) -> int:
    return sum(event["event"] == kind and event["switch"] == switch for event in process.events())


@both_frameworks
def test_a_switch_that_goes_away_is_noticed_and_has_the_same_tables_when_it_is_back(
    switches: DummySwitches, tmp_path: Path, framework: Framework
) -> None:
    with controller(switches, tmp_path, framework) as process:
        before = switches.groups("s1"), switches.flows("s1")
        switches.disconnect("s1")
        wait_until(lambda: events_of(process, event_log.SWITCH_GONE, "s1") == 1, "s1 has gone")
        assert process.programmed_switches() == ["s2", "s3", "s4"]
        assert (switches.groups("s1"), switches.flows("s1")) == before

        switches.connect("s1")
        wait_until(lambda: events_of(process, event_log.SWITCH_READY, "s1") == 2, "s1 is programmed again")
        assert process.programmed_switches() == ["s1", "s2", "s3", "s4"]
        assert (switches.groups("s1"), switches.flows("s1")) == before


@both_frameworks
def test_an_ingress_that_comes_back_is_told_what_failed_and_what_healed_while_it_was_away(
    switches: DummySwitches, tmp_path: Path, framework: Framework
) -> None:
    with controller(switches, tmp_path, framework) as process:
        before = switches.groups("s1")
        assert labels_after_an_absence(switches, process, "down") == {T2, T3}
        assert labels_after_an_absence(switches, process, "up") == {T1, T2, T3}
        assert switches.groups("s1") == before


def labels_after_an_absence(switches: DummySwitches, process: ControllerProcess, state: str) -> set[int]:
    """Return the labels s1 uses when the link s2-s4 went down or up while s1 had no controller."""
    times = events_of(process, event_log.SWITCH_READY, "s1")
    switches.disconnect("s1")
    switches.set_port("s2", port(switches, "s2", "s4"), state)
    switches.connect("s1")
    wait_until(lambda: events_of(process, event_log.SWITCH_READY, "s1") > times, "s1 is programmed again")
    return {packet.label for packet in switches.send_from_host("s1", "s4", FLOWS[:100])}


@both_frameworks
def test_ports_that_flap_end_in_the_state_they_are_in(
    switches: DummySwitches, tmp_path: Path, framework: Framework
) -> None:
    flapping = [("s2", "s4"), ("s3", "s4"), ("s4", "s3")]
    with controller(switches, tmp_path, framework) as process:
        before = switches.groups("s1")
        for _ in range(30):
            for state in ("down", "up"):
                for switch, neighbour in flapping:
                    switches.set_port(switch, port(switches, switch, neighbour), state)
        switches.set_port("s2", port(switches, "s2", "s4"), "down")
        wait_until(
            lambda: told(process, "s1", T1, alive=False) and told(process, "s1", T3, alive=True),
            "s1 knows of T1 and T3",
        )
        sent = switches.send_from_host("s1", "s4", FLOWS)
        assert {packet.label for packet in sent} == {T2, T3}
        switches.set_port("s2", port(switches, "s2", "s4"), "up")
        assert told(process, "s1", T1, alive=True)
        assert switches.groups("s1") == before


@both_frameworks
def test_a_tunnel_that_was_dead_stays_so_until_a_new_controller_has_heard_of_its_links(
    switches: DummySwitches, tmp_path: Path, framework: Framework
) -> None:
    with controller(switches, tmp_path, framework) as process:
        alive = switches.groups("s1")
        switches.set_port("s2", port(switches, "s2", "s4"), "down")
        assert told(process, "s1", T1, alive=False)
        process.kill()
        switches.disconnect("s2")
        process.start()
        for switch in ("s1", "s3", "s4"):
            switches.disconnect(switch)  # or it would look for its controller no sooner than in some seconds
            switches.connect(switch)
        process.wait_until_ready(["s1", "s3", "s4"])
        assert {packet.label for packet in switches.send_from_host("s1", "s4", FLOWS)} == {T2, T3}

        switches.set_port("s2", port(switches, "s2", "s4"), "up")
        switches.connect("s2")
        assert told(process, "s1", T1, alive=True)
        assert switches.groups("s1") == alive
