"""One of several schedulers acts; those that stand by know the links, and change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hedera.network.data_centre import DataCentre
from hedera.network.fat_tree import FatTree
from hedera.scheduling import events
from hedera.scheduling.events import ROUND
from kuijia_app.control.pair import Beat, Pair
from kuijia_app.control.peer_messages import encoded
from kuijia_app.control.roles import first_generation
from kuijia_app.framework import event_log
from kuijia_app.framework.addresses import parse_address
from kuijia_app.framework.handover_request import request_handover
from testbed.controllers.application_process import Listening
from testbed.controllers.controller_process import Peers, SchedulerProcess
from tests.hedera.dummy_fabric import DummyFabric
from tests.hedera.test_scheduler_states import SchedulerWorld
from tests.kuijia_app.control.switch_world import failed_cables
from tests.kuijia_app.dummy_switches import free_port, wait_until

BEAT, LEASE = 0.1, 0.8

OTHER = 9


@pytest.fixture
def world() -> Iterator[SchedulerWorld]:
    """Return the switches of a scheduler that has heard of a peer."""
    made = SchedulerWorld()
    made.application.roles.join(Pair(1, made.now))
    for box in made.boxes:
        made._connect(box, knows_bundles=True)
    yield made
    made.rig.close()


def let_pass(
    world: SchedulerWorld, seconds: float, *, peer_acts: bool, hands_over: bool = False, term: int = 40
) -> None:
    """Let time pass, with a sign of life of the peer in every beat."""
    reach = frozenset(box.name for box in world.boxes)
    for turn in range(round(seconds / BEAT)):
        beat = Beat(OTHER, peer_acts, first_generation(term, OTHER) + turn, reach, hands_over)
        world.application._decoded(encoded(beat, None, world.application._agreed))()
        world.everyone_answers()
        world.now += BEAT
        world._tick()


def changed(world: SchedulerWorld) -> bool:
    return any(box.groups or box.flows for box in world.boxes)


def test_one_that_stands_by_changes_nothing_and_knows_the_links(world: SchedulerWorld) -> None:
    let_pass(world, 5.0, peer_acts=True)
    world.link(0, live=False)
    let_pass(world, 8.0, peer_acts=True)
    assert not changed(world)
    assert world.application._links._told == failed_cables(world) != set()
    assert world.events[ROUND] == world.events[event_log.ROLE_TAKEN] == 0


def test_it_programs_all_switches_once_the_peer_is_silent(world: SchedulerWorld) -> None:
    let_pass(world, 5.0, peer_acts=True)
    world.link(0, live=False)
    let_pass(world, 1.0, peer_acts=True)
    world._work_aside()
    world.now += LEASE
    world._tick()
    assert not changed(world), "it stood still itself"
    world._calm_down()
    assert world.events[event_log.ROLE_TAKEN] == 1
    world._require_right()


def test_after_a_handover_the_earlier_one_schedules_nothing(world: SchedulerWorld) -> None:
    let_pass(world, 3.0, peer_acts=True)
    let_pass(world, BEAT, peer_acts=True, hands_over=True)
    assert world.events[event_log.ROLE_TAKEN] == 1
    world._calm_down()
    world._require_right()
    rounds = world.events[ROUND]
    assert rounds > 0
    answers: list[str | None] = []
    world.application._decoded(
        encoded(Beat(OTHER, False, 1, frozenset(b.name for b in world.boxes)), None, world.application._agreed)
    )()
    world.application.roles.ask_to_hand_over(answers.append)
    let_pass(world, 0.5, peer_acts=True, term=50)
    assert (answers, world.events[event_log.ROLE_YIELDED]) == ([None], 1)
    before = [len(switch.changes()) for switch in world.present.values()]
    let_pass(world, 12.0, peer_acts=True, term=50)
    assert [len(switch.changes()) for switch in world.present.values()] == before
    assert world.events[ROUND] == rounds


def test_a_peer_that_talks_without_end_does_not_keep_the_scheduler_from_its_work(world: SchedulerWorld) -> None:
    heard = world.application._heard

    def say_more() -> None:
        heard.put(say_more)

    say_more()
    world._tick()
    assert heard.qsize() == 1


TREE = DataCentre(FatTree(4, 1.0))
ALL_WAYS = {20000 + host: (host, (host + 8) % 16) for host in range(16)}


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[DummyFabric, list[SchedulerProcess]]]:
    """Run two schedulers of the same switches."""
    ports = [free_port() for _ in range(4)]
    addresses = [f"127.0.0.1:{port}" for port in ports[2:]]
    with DummyFabric(TREE, tmp_path) as fabric:
        members = []
        for number, port in enumerate(ports[:2]):
            folder = tmp_path / f"scheduler{number}"
            folder.mkdir()
            member = SchedulerProcess(folder, {"period": 0.5}, "os-ken", Listening(port))
            member.peers = Peers(addresses[number], (addresses[1 - number],))
            members.append(member)
        try:
            for member in members:
                member.start()
            fabric.connect(*ports[:2])
            wait_until(lambda: bool(acting(members)), "one of them acts")
            yield fabric, members
        finally:
            for member in members:
                member.stop()


def acting(members: list[SchedulerProcess]) -> list[SchedulerProcess]:
    kinds = (event_log.ROLE_TAKEN, event_log.ROLE_YIELDED)
    last = [next((e["event"] for e in reversed(each.events()) if e["event"] in kinds), None) for each in members]
    return [each for each, kind in zip(members, last, strict=True) if kind == event_log.ROLE_TAKEN and each.is_alive]


def programmed(fabric: DummyFabric, member: SchedulerProcess) -> bool:
    """Return True if all switches have tables since it acts, and since its routes have changed last."""
    found = member.events()
    since = [at for at, each in enumerate(found) if each["event"] in (event_log.ROLE_TAKEN, events.ROUTES_CHANGED)]
    ready = {each["switch"] for each in found[since[-1] :] if each["event"] == event_log.SWITCH_READY}
    return ready == set(fabric.wiring.topology.nodes)


@pytest.mark.ovs
@pytest.mark.slow
def test_the_other_scheduler_takes_over_by_agreement_and_when_the_first_is_killed(
    pair: tuple[DummyFabric, list[SchedulerProcess]],
) -> None:
    fabric, members = pair
    (first,) = acting(members)
    second = members[1 - members.index(first)]
    wait_until(lambda: programmed(fabric, first), "all switches are programmed")
    wait_until(lambda: any(each["event"] == event_log.SUCCESSOR_READY for each in first.events()), "another is ready")
    before = {switch: fabric.groups(switch) for switch in fabric.wiring.topology.nodes}
    assert first.peers is not None
    request_handover(parse_address(first.peers.listen), None)
    assert acting(members) == [second]
    wait_until(lambda: programmed(fabric, second), "all switches are programmed by the other")
    second.kill()
    fabric.set_link(("c0", "p0a0"), "down")
    wait_until(lambda: acting(members) == [first], "the first acts again")
    wait_until(
        lambda: any(each["event"] == events.ROUTES_CHANGED and each["failed"] for each in first.events()), "routes"
    )
    wait_until(lambda: programmed(fabric, first), "all switches are programmed again")
    ways = fabric.ways(ALL_WAYS)
    assert {port: way[-1] for port, way in ways.items()} == {port: f"h{end}" for port, (_, end) in ALL_WAYS.items()}
    assert not any({"c0", "p0a0"} <= set(way) for way in ways.values())
    fabric.set_link(("c0", "p0a0"), "up")
    wait_until(
        lambda: {switch: fabric.groups(switch) for switch in fabric.wiring.topology.nodes} == before,
        "all groups are as before",
    )
