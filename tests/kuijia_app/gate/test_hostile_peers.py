"""The controller and the scheduler go on as if nothing were, whoever else connects to them, under both frameworks."""

from __future__ import annotations

import resource
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kuijia_app.framework import event_log
from kuijia_app.gate.limits import LIMITS
from testbed.controllers.application_process import Framework
from tests.kuijia_app.dummy_switches import wait_until
from tests.kuijia_app.gate import imitated_switch as openflow
from tests.kuijia_app.gate.imitated_switch import ImitatedSwitch, features, message, multipart
from tests.kuijia_app.gate.rigs import FRAMEWORKS, ControllerRig, Rig, SchedulerRig, hostile, many, was_ended

pytestmark = pytest.mark.slow

MEMORY = 20.0
"""MB that a process may grow by, whatever is sent to it here."""

ZERO_LENGTH = {
    "hello": message(0, bytes(8)),
    "flow": multipart(openflow.FLOW, bytes(56)),
    "group": multipart(openflow.GROUP, bytes(40)),
    "group description": multipart(openflow.GROUP_DESC, bytes(8)),
    "table": multipart(openflow.TABLE, bytes(64)),
    "meter": multipart(openflow.METER, bytes(40)),
    "meter configuration": multipart(10, bytes(16)),
    "table features": multipart(12, bytes(64)),
    "queue": multipart(5, bytes(40)),
    "queue configuration": message(23, bytes(8 + 16)),
}
"""Messages with an element whose length is 0."""


@pytest.fixture(
    scope="module",
    params=[(kind, framework) for kind in (ControllerRig, SchedulerRig) for framework in FRAMEWORKS],
    ids=lambda param: f"{param[0].__name__}-{param[1]}",
)
def running_rig(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    kind, framework = request.param
    with kind(tmp_path_factory.mktemp("rig"), framework) as running:
        running.connect_all()
        yield running


@pytest.fixture
def rig(running_rig: Rig) -> Rig:
    """The rig with all of its switches, also after a test that has lost one."""
    for name in [name for name, switch in running_rig.switches.items() if switch.has_ended]:
        running_rig.reconnect(name)
    return running_rig


@contextmanager
def unharmed(rig: Rig) -> Iterator[None]:
    """All switches stay and are heard, and the process holds no more afterwards than before."""
    before = rig.footprint()
    yield

    def is_flat() -> bool:
        after = rig.footprint()
        return after.threads <= before.threads and after.descriptors <= before.descriptors

    wait_until(is_flat, f"no more than {before} is held")
    assert rig.footprint().memory < before.memory + MEMORY
    rig.assert_well()


@pytest.mark.parametrize("nonsense", ZERO_LENGTH)
@pytest.mark.parametrize("greets", [True, False])
def test_a_length_of_zero_takes_neither_time_nor_memory(rig: Rig, nonsense: str, *, greets: bool) -> None:
    with unharmed(rig), many(rig.port, 10, ZERO_LENGTH[nonsense], greets=greets) as connections:
        assert all(map(was_ended, connections))


def test_a_switch_that_answers_nonsense_is_dropped_reported_and_may_come_back(rig: Rig) -> None:
    name = next(iter(rig.switches))
    asked = [
        data
        for _, kind, data in rig.switches[name].received
        if kind == openflow.MULTIPART_REQUEST and struct.unpack_from("!H", data, 8) == (openflow.FLOW,)
    ]
    dropped = len(rig.events(event_log.SWITCH_DROPPED))
    rig.switches[name].close()
    with rig.claim(name) as liar:
        liar.answers = False
        assert liar.wait_for(lambda: liar.was_sent(openflow.FEATURES_REQUEST))
        liar.send(features(liar.datapath_id))
        assert liar.wait_for(lambda: liar.was_sent(openflow.BARRIER_REQUEST))
        for _, kind, data in list(liar.received):
            if kind == openflow.MULTIPART_REQUEST and struct.unpack_from("!H", data, 8) == (openflow.FLOW,):
                liar.send(multipart(openflow.FLOW, bytes(56), xid=struct.unpack_from("!I", data, 4)[0]))
        assert liar.wait_until_ended()
    assert asked
    wait_until(lambda: len(rig.events(event_log.SWITCH_DROPPED)) > dropped, "it is reported")
    rig.reconnect(name)
    rig.assert_well()


def test_a_datapath_id_in_use_is_refused_while_the_first_lives(rig: Rig) -> None:
    name = next(iter(rig.switches))
    seen = len(rig.events(event_log.SWITCH_DUPLICATE))
    with unharmed(rig):
        for _ in range(20):
            with rig.claim(name) as liar:
                assert liar.wait_until_ended()
                assert not liar.was_sent(openflow.FLOW_MOD)
                assert not liar.was_sent(openflow.MULTIPART_REQUEST)
    told = rig.events(event_log.SWITCH_DUPLICATE)
    assert len(told) > seen
    assert told[-1]["switch"] == name
    assert told[-1]["address"] == "127.0.0.1"


def test_a_datapath_id_whose_holder_is_silent_goes_to_the_next_one(rig: Rig) -> None:
    name = list(rig.switches)[-1]
    dead = rig.switches[name]
    dead.answers = False
    began = time.monotonic()
    rig.reconnect(name)
    assert time.monotonic() - began < LIMITS.silence + 10.0
    assert dead.wait_until_ended()
    dead.close()
    rig.assert_well()


def test_connections_without_end_keep_no_real_switch_out(rig: Rig) -> None:
    pid = rig.process.pid
    assert pid is not None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    limits = resource.prlimit(pid, resource.RLIMIT_NOFILE, (80, hard))
    name = list(rig.switches)[1]
    echoes = b"".join(message(openflow.ECHO_REPLY, xid=number) for number in range(5))
    try:
        with unharmed(rig), many(rig.port, 1200, echoes):
            rig.switches[name].close()
            rig.reconnect(name)
            rig.reaction(name)
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_silent_peers_are_sent_away_in_time_and_leave_nothing(rig: Rig) -> None:
    with unharmed(rig), many(rig.port, 60, greets=False) as connections:
        began = time.monotonic()
        assert all(map(was_ended, connections))
        assert time.monotonic() - began < 2 * LIMITS.handshake + 5.0


def test_a_peer_that_never_reads_holds_nobody_up_and_is_dropped(rig: Rig) -> None:
    name, other = list(rig.switches)[:2]
    real = rig.switches[name]
    dropped = len(rig.events(event_log.SWITCH_DROPPED))
    real.close()
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect(("127.0.0.1", rig.port))
        deaf.sendall(message(0) + features(rig.wiring.datapath_id(name)))
        deaf.settimeout(1.0)
        question = message(openflow.ECHO_REQUEST, bytes(60_000))
        for _ in range(200):
            try:
                deaf.sendall(question)
            except OSError:
                break
        assert rig.reaction(other) < 5.0
        wait_until(lambda: len(rig.events(event_log.SWITCH_DROPPED)) > dropped, "it is reported")
    rig.reconnect(name)
    rig.assert_well()


def test_a_switch_of_another_network_is_left_alone_connected_but_not_so_many(rig: Rig) -> None:
    strangers = [ImitatedSwitch(rig.port, 1000 + number) for number in range(LIMITS.unknown_of_address + 8)]
    try:
        wait_until(lambda: sum(each.has_ended for each in strangers) >= 8, "those above the limit are sent away")
        wait_until(lambda: bool(rig.events(event_log.SWITCH_UNKNOWN)), "the others are told of")
        assert not any(each.was_sent(openflow.MULTIPART_REQUEST) for each in strangers)
        for each in strangers:
            if not each.has_ended:
                each.send(openflow.port_status(1, live=False) * 50)
        rig.assert_well()
    finally:
        for each in strangers:
            each.close()


@pytest.mark.parametrize(
    "first",
    [
        message(openflow.FLOW_MOD, bytes(48)),
        message(openflow.ECHO_REQUEST, b"before a hello"),
        message(0, version=1),
        message(0) + message(openflow.FLOW_MOD, bytes(48)),
        message(0) + message(openflow.FEATURES_REPLY, bytes(8)),
        message(0) + message(openflow.ECHO_REQUEST, version=6),
        message(0) + message(openflow.ECHO_REQUEST) * (LIMITS.greeting_frames + 1),
        message(0) + openflow.HEADER.pack(4, 6, 7, 0),
        message(0) + openflow.HEADER.pack(4, 2, 0xFFFF, 0),
        message(1, b"\x00\x00\x00\x00\xff\xfe no ASCII"),
        b"GET / HTTP/1.1\r\n\r\n",
    ],
)
def test_who_breaks_the_protocol_is_sent_away(rig: Rig, first: bytes) -> None:
    with unharmed(rig), hostile(rig.port, first, greets=False) as connected:
        assert was_ended(connected)


def test_the_log_shows_no_more_than_the_beginning_of_a_bad_message(rig: Rig) -> None:
    with hostile(rig.port, message(openflow.FLOW_MOD, b"\xab" * 2000)) as connected:
        assert was_ended(connected)
    log = rig.log()
    assert "abababab " * 8 not in log
    assert "Traceback" not in log
    assert max(map(len, log.splitlines())) < 400


def test_a_flood_from_a_switch_of_the_network_delays_no_other(rig: Rig) -> None:
    name, other = list(rig.switches)[:2]
    flood = message(openflow.ECHO_REPLY) * 5_000 + multipart(openflow.FLOW, bytes(56)) * 5_000
    rig.switches[name].send(flood)
    for _ in range(5):
        assert rig.reaction(other) < 5.0
    rig.assert_well()


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_port_that_goes_down_is_reacted_to_in_the_middle_of_an_attack(
    tmp_path_factory: pytest.TempPathFactory, framework: Framework
) -> None:
    folder = tmp_path_factory.mktemp("attacked")
    with ControllerRig(folder, framework) as rig:
        rig.connect_all()
        ingress, transit = rig.switches["s1"], rig.switches["s2"]
        nonsense = b"".join(ZERO_LENGTH.values())
        with many(rig.port, 400, nonsense):
            began = time.monotonic()
            transit.send(openflow.port_status(rig.wiring.port("s2", "s4"), live=False))
            assert ingress.wait_for(lambda: ingress.was_sent(openflow.GROUP_MOD, began))
        rig.assert_well()
