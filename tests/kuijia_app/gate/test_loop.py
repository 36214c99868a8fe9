"""The loop in this process, with a stand-in for the application: what is passed on, and how connections end."""

from __future__ import annotations

import errno
import select
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from kuijia_app.framework import event_log
from kuijia_app.framework.ending import EXIT_STATUS
from kuijia_app.framework.listening import address_of, require_free
from kuijia_app.framework.seam import app_manager, handler
from kuijia_app.gate.answers import Answers, PollAnswer
from kuijia_app.gate.application import Application, EntriesRemoved, Polled
from kuijia_app.gate.binding import Binding
from kuijia_app.gate.frames import FIRST_POLL_XID, Frame, Kind, RefusedError
from kuijia_app.gate.limits import LIMITS, Limits
from kuijia_app.gate.loop import GateListener, Loop, NoRoomError, listen
from kuijia_app.gate.reception import HeldConnections
from kuijia_base.errors import InputError
from tests.kuijia_app.dummy_switches import PATIENCE, wait_until
from tests.kuijia_app.gate import imitated_switch as openflow
from tests.kuijia_app.gate.imitated_switch import ImitatedSwitch, message, port_status

KNOWN = frozenset({1, 2})


@dataclass
class House:
    """A running loop and what comes of it; it stands in for the framework's place where events are handed on."""

    limits: Limits = LIMITS
    backlog: int = 0
    tls: Callable[[], ssl.SSLContext] | None = None
    binding: Binding | None = None
    passed: list[tuple[str, Any]] = field(default_factory=list)
    reports: list[tuple[str, dict[str, object]]] = field(default_factory=list)
    removals_of: int | None = None
    sent: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        listening = listen(socket.AF_INET, ("127.0.0.1", 0))
        self.port = listening.getsockname()[1]
        application = Application(
            KNOWN.__contains__,
            lambda: self.backlog,
            lambda name, _, details: self.reports.append((name, details)),
            self.binding,
            send=self.sent.append,
            removals_of=self.removals_of,
        )
        reception = HeldConnections(application, time.monotonic(), 0.2, 10, self.limits)
        self._loop = Loop([listening], reception, self.tls, self.limits)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def send_event_to_observers(self, event: Any, state: str) -> None:  # noqa: ANN401  # the framework's own
        kind = f"{type(event).__name__} {state}" if hasattr(event, "state") else type(event).__name__
        self.passed.append((kind, event))

    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.passed]

    def datapath(self) -> Any:  # noqa: ANN401  # the framework's own
        wait_until(lambda: f"EventOFPStateChange {handler.MAIN_DISPATCHER}" in self.kinds(), "a switch is there")
        return next(event.msg.datapath for kind, event in self.passed if kind == "EventOFPSwitchFeatures")

    def close(self) -> None:
        self._stop.set()
        self._loop._hurry()
        self._thread.join(PATIENCE)
        for peer in list(self._loop._reception.peers):
            peer.wire.close()

    def _run(self) -> None:
        while not self._stop.is_set():
            self._loop.turn()


@pytest.fixture
def house(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[House]:
    given = dict(getattr(request, "param", {}))
    removals_of = given.pop("removals_of", None)
    bricks: dict[str, Any] = {}
    monkeypatch.setattr(app_manager, "SERVICE_BRICKS", bricks)
    house = House(replace(LIMITS, **given), removals_of=removals_of)
    bricks["ofp_event"] = house
    yield house
    house.close()


def test_a_switch_becomes_known_by_its_features_and_its_ports(house: House) -> None:
    with ImitatedSwitch(house.port, 1, [1, 2]):
        datapath = house.datapath()
    assert datapath.id == 1
    states = [handler.HANDSHAKE_DISPATCHER, handler.CONFIG_DISPATCHER]
    assert house.kinds()[:5] == [
        *(f"EventOFPStateChange {state}" for state in states),
        "EventOFPSwitchFeatures",
        "EventOFPPortDescStatsReply",
        f"EventOFPStateChange {handler.MAIN_DISPATCHER}",
    ]


@pytest.mark.parametrize("threads", [1, 8])
def test_the_application_may_close_a_connection_from_any_thread_and_hears_of_its_end_once(
    house: House, threads: int
) -> None:
    with ImitatedSwitch(house.port, 1) as switch:
        datapath = house.datapath()
        closing = [threading.Thread(target=datapath.close) for _ in range(threads)]
        for thread in closing:
            thread.start()
        assert switch.wait_until_ended()
        for thread in closing:
            thread.join()
    with ImitatedSwitch(house.port, 2) as other:
        assert other.wait_for(lambda: other.was_sent(openflow.MULTIPART_REQUEST))
        assert house.kinds().count(f"EventOFPStateChange {handler.DEAD_DISPATCHER}") == 1
    assert not datapath.send(message(openflow.ECHO_REQUEST))
    assert not datapath.is_active


def test_messages_that_nobody_reads_are_not_parsed(house: House) -> None:
    with ImitatedSwitch(house.port, 1) as switch:
        house.datapath()
        for kind in (4, 8, 10, 11, 23, 27):
            switch.send(message(kind, b"nonsense"))
        switch.send(openflow.multipart(openflow.TABLE, b"nonsense"))
        switch.send(port_status(1, live=True))
        wait_until(lambda: house.kinds()[-1] == "EventOFPPortStatus", "the last message has come")
        assert not switch.has_ended
        assert len(house.passed) == 6


def test_a_role_reply_of_another_length_ends_the_connection(house: House) -> None:
    with ImitatedSwitch(house.port, 1) as switch:
        house.datapath()
        switch.send(message(openflow.ROLE_REPLY, b"nonsense"))
        assert switch.wait_until_ended()


def test_what_a_parser_makes_of_a_message_ends_that_connection_alone(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise KeyError("x" * 1000)

    with ImitatedSwitch(house.port, 2) as other, ImitatedSwitch(house.port, 1) as switch:
        house.datapath()
        wait_until(lambda: house.kinds().count("EventOFPPortDescStatsReply") == 2, "both are there")
        with monkeypatch.context() as patched:
            patched.setattr("kuijia_app.gate.application.parse_message", fail)
            switch.send(port_status(1, live=True))
            assert switch.wait_until_ended()
        other.send(port_status(1, live=True))
        wait_until(lambda: house.kinds()[-1] == "EventOFPPortStatus", "the other is heard")
    (line,) = [record.getMessage() for record in caplog.records if "KeyError" in record.getMessage()]
    assert len(line) < 200
    assert (event_log.SWITCH_DROPPED, "KeyError in the framework") in [
        (name, details.get("reason")) for name, details in house.reports
    ]


def test_while_the_application_is_busy_switches_wait_and_are_not_given_up(house: House) -> None:
    with ImitatedSwitch(house.port, 1) as switch:
        house.datapath()
        house.backlog = LIMITS.backlog
        switch.send(port_status(1, live=True) * 100)
        with ImitatedSwitch(house.port, 77) as stranger:
            assert stranger.wait_for(lambda: stranger.was_sent(openflow.FEATURES_REQUEST))
        assert "EventOFPPortStatus" not in house.kinds()
        house.backlog = 0
        wait_until(lambda: house.kinds().count("EventOFPPortStatus") == 100, "it is heard then")
        assert not switch.has_ended


@pytest.mark.parametrize("house", [{"frames_rate": 200.0, "frames_burst": 240.0}], indirect=True)
def test_a_switch_that_says_more_than_its_share_waits_and_loses_nothing(house: House) -> None:
    with ImitatedSwitch(house.port, 1) as switch, ImitatedSwitch(house.port, 2) as other:
        wait_until(lambda: house.kinds().count("EventOFPPortDescStatsReply") == 2, "both are there")
        switch.send(port_status(1, live=True) * 100)
        other.send(message(openflow.ERROR, bytes(8)))
        wait_until(lambda: "EventOFPErrorMsg" in house.kinds(), "the other is heard")
        assert house.kinds().count("EventOFPPortStatus") < 100
        wait_until(lambda: house.kinds().count("EventOFPPortStatus") == 100, "all is heard in the end")
        assert not switch.has_ended


@pytest.mark.parametrize("house", [{"frames_rate": 10.0, "frames_burst": 20.0}], indirect=True)
@pytest.mark.parametrize("datapath_id", [1, 77])
def test_a_switch_that_has_gone_while_it_waits_leaves_its_place_at_once(house: House, datapath_id: int) -> None:
    """Its messages would last for minutes."""
    with ImitatedSwitch(house.port, datapath_id) as switch:
        wait_until(lambda: "EventOFPSwitchFeatures" in house.kinds(), "it is there")
        switch.send(message(openflow.ECHO_REPLY) * 5_000)
        wait_until(lambda: any(peer.is_paused for peer in list(house._loop._reception.peers)), "it waits")
        switch.socket.shutdown(socket.SHUT_WR)
        wait_until(lambda: not house._loop._reception.peers, "it is gone")


def test_a_claim_whose_switch_has_gone_is_forgotten_at_once(house: House) -> None:
    peers = house._loop._reception.peers
    with ImitatedSwitch(house.port, 1) as slow:
        house.datapath()
        slow.answers = False
        with ImitatedSwitch(house.port, 1) as claim:
            wait_until(lambda: any(peer.claim is not None for peer in list(peers)), "the claim is heard")
            claim.socket.shutdown(socket.SHUT_WR)
            wait_until(lambda: len(peers) == 1, "the claim is gone")
            assert not slow.has_ended


@pytest.mark.parametrize("house", [{"silence": 0.5}], indirect=True)
def test_the_first_of_two_switches_keeps_its_id_as_long_as_it_gives_signs_of_life(house: House) -> None:
    with ImitatedSwitch(house.port, 1) as first:
        house.datapath()
        for _ in range(3):
            with ImitatedSwitch(house.port, 1) as second:
                assert second.wait_until_ended()
        first.answers = False
        with ImitatedSwitch(house.port, 1) as second:
            assert second.wait_for(lambda: second.was_sent(openflow.MULTIPART_REQUEST))
            assert first.wait_until_ended()
            assert not second.has_ended
    assert [details["refused"] for name, details in house.reports if name == event_log.SWITCH_DUPLICATE][:1] == [1]


@pytest.mark.parametrize("house", [{"returns_rate": 0.01, "returns_burst": 3.0}], indirect=True)
def test_one_that_comes_and_goes_under_a_known_id_is_soon_not_told_of(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        with ImitatedSwitch(house.port, 1) as switch:
            assert switch.wait_for(lambda: switch.was_sent(openflow.MULTIPART_REQUEST))
        wait_until(lambda: not house._loop._reception.peers, "it is gone")
    for _ in range(3):
        with ImitatedSwitch(house.port, 1) as switch:
            assert switch.wait_until_ended()
    assert house.kinds().count("EventOFPSwitchFeatures") == 3
    assert [line for line in caplog.messages if line.endswith("its switch connects too often")]


def test_claims_that_are_withdrawn_at_once_are_counted_and_cost_a_slow_switch_nothing(house: House) -> None:
    peers = house._loop._reception.peers
    with ImitatedSwitch(house.port, 1) as slow:
        house.datapath()
        slow.answers = False
        for _ in range(30):
            with socket.create_connection(("127.0.0.1", house.port), PATIENCE) as claim:
                claim.sendall(message(openflow.HELLO) + openflow.features(1))
                wait_until(lambda: any(peer.claim is not None for peer in list(peers)), "the claim is heard")
                claim.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            wait_until(lambda: len(peers) == 1, "the claim is gone")
        slow.answers = True
        slow.send(port_status(1, live=True))
        wait_until(lambda: house.kinds()[-1] == "EventOFPPortStatus", "the slow switch is heard")
        assert not slow.has_ended
    assert [details["refused"] for name, details in house.reports if name == event_log.SWITCH_DUPLICATE][:1] == [1]


@pytest.mark.parametrize("house", [{"description": 0.3}], indirect=True)
def test_a_switch_that_never_describes_its_ports_is_dropped(house: House) -> None:
    with ImitatedSwitch(house.port, 1, greets=False) as switch:
        switch.answers = False
        switch.send(message(0) + openflow.features(1))
        assert switch.wait_until_ended()
    assert any(details.get("reason") == "it does not describe its ports" for _, details in house.reports)


def test_a_switch_that_answers_no_echo_is_dropped(house: House) -> None:
    with ImitatedSwitch(house.port, 1) as switch:
        house.datapath()
        switch.answers = False
        assert switch.wait_until_ended()
    assert any(details.get("reason") == "it does not answer echo requests" for _, details in house.reports)


@pytest.mark.parametrize("house", [{"half_open_of_address": 4}], indirect=True)
def test_those_who_are_told_why_they_are_refused_are_few_as_well(house: House) -> None:
    hello = message(openflow.HELLO, version=1)
    with ExitStack() as connections:
        for _ in range(12):
            refused = connections.enter_context(socket.create_connection(("127.0.0.1", house.port), PATIENCE))
            refused.sendall(hello)
            refused.settimeout(PATIENCE)
            assert refused.recv(8)[1] == openflow.HELLO
            assert len(house._loop._reception.peers) <= 4


def from_address(number: int, port: int) -> socket.socket:
    """Return a connection from another address for each number."""
    return socket.create_connection(("127.0.0.1", port), PATIENCE, (f"127.0.{1 + number // 250}.{1 + number % 250}", 0))


def test_a_switch_whose_address_is_far_away_is_let_in_while_many_others_connect(house: House) -> None:
    """Each of these stays silent; the switch answers only after all of them have come."""
    with ExitStack() as connections:
        with ImitatedSwitch(house.port, 1) as switch:
            assert switch.wait_for(lambda: switch.was_sent(openflow.MULTIPART_REQUEST))
        far = connections.enter_context(socket.create_connection(("127.0.0.1", house.port), PATIENCE))
        for number in range(LIMITS.half_open + 200):
            connections.enter_context(from_address(number, house.port))
        far.sendall(message(openflow.HELLO) + openflow.features(1))
        wait_until(lambda: house.kinds().count("EventOFPSwitchFeatures") == 2, "it is let in")


@pytest.mark.parametrize("house", [{"accepted_rate": 1.0, "accepted_burst": 20.0}], indirect=True)
def test_connections_that_are_too_many_are_closed_at_once(house: House, caplog: pytest.LogCaptureFixture) -> None:
    with ExitStack() as connections:
        many = [connections.enter_context(from_address(0, house.port)) for _ in range(60)]
        for each in many[-10:]:
            each.settimeout(PATIENCE)
            assert each.recv(8) == b""
        with ImitatedSwitch(house.port, 1) as switch:
            assert switch.wait_for(lambda: switch.was_sent(openflow.MULTIPART_REQUEST))
    assert [line for line in caplog.messages if line.startswith("too many connections come")]


def test_a_loop_that_fails_ends_the_process_with_a_reason() -> None:
    program = """
import logging, sys, threading
from kuijia_app.gate.loop import Loop
from kuijia_app.gate.reception import HeldConnections
from kuijia_app.gate.application import Application
logging.basicConfig()
loop = Loop([], HeldConnections(Application(lambda _: True, lambda: 0, print), 0.0, 1.0, 10))
loop._tick = lambda now: 1 / 0
threading.Thread(target=loop).start()
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert ended.returncode == EXIT_STATUS
    assert "the loop that serves switches has failed" in ended.stderr
    assert "ZeroDivisionError" in ended.stderr


def test_an_answer_to_a_poll_comes_unparsed_and_only_if_it_was_asked_for(house: House) -> None:
    with ImitatedSwitch(house.port, 1) as switch:
        datapath = house.datapath()
        switch.send(openflow.multipart(openflow.FLOW, b"never asked", FIRST_POLL_XID + 1))
        asked = datapath.ofproto_parser.OFPFlowStatsRequest(datapath)
        asked.set_xid(FIRST_POLL_XID)
        datapath.send_msg(asked)
        wait_until(lambda: bool(house.sent), "the answer")
        (event,) = house.sent
        assert isinstance(event, Polled)
        assert (event.datapath, event.answer) == (datapath, PollAnswer(FIRST_POLL_XID, (b"",)))


def test_an_answer_to_a_poll_is_whole_when_its_last_part_has_come() -> None:
    answers = Answers(replace(LIMITS, answer_entries=60))
    parts = [openflow.multipart(openflow.FLOW, body, FIRST_POLL_XID, flags) for body, flags in ((b"ab", 1), (b"c", 0))]
    frames = [Frame(4, Kind.MULTIPART_REPLY, FIRST_POLL_XID, data) for data in parts]
    assert answers.polled(frames[1]) is None
    answers.asked(message(openflow.MULTIPART_REQUEST, struct.pack("!HH4x", openflow.FLOW, 0), FIRST_POLL_XID))
    assert answers.polled(frames[0]) is None
    assert answers.polled(frames[1]) == PollAnswer(FIRST_POLL_XID, (b"ab", b"c"))
    answers.asked(message(openflow.MULTIPART_REQUEST, struct.pack("!HH4x", openflow.FLOW, 0), FIRST_POLL_XID))
    for _ in range(3):
        answers.polled(frames[0])
    with pytest.raises(RefusedError, match="more than 60 bytes"):
        answers.polled(frames[0])


@pytest.mark.parametrize("house", [{"removals_of": 7}], indirect=True)
def test_removed_entries_of_the_application_are_reported_once_in_a_while(house: House) -> None:
    with ImitatedSwitch(house.port, 1) as switch:
        datapath = house.datapath()
        theirs, ours = (message(Kind.FLOW_REMOVED, cookie.to_bytes(8, "big") + bytes(40)) for cookie in (5, 7))
        switch.send(theirs + 400 * ours)
        wait_until(lambda: bool(house.sent), "a report")
        assert all(isinstance(event, EntriesRemoved) and event.datapath is datapath for event in house.sent)
        assert len(house.sent) < 100
        switch.send(message(Kind.FLOW_REMOVED, bytes(8)))
        assert switch.wait_until_ended()


def test_parts_of_an_answer_whose_request_is_forgotten_are_forgotten_too() -> None:
    answers = Answers(replace(LIMITS, asked=2))
    begun = openflow.multipart(openflow.FLOW, b"ab", FIRST_POLL_XID, 1)
    for xid in range(FIRST_POLL_XID, FIRST_POLL_XID + 3):
        answers.asked(message(openflow.MULTIPART_REQUEST, struct.pack("!HH4x", openflow.FLOW, 0), xid))
        if xid == FIRST_POLL_XID:
            answers.polled(Frame(4, Kind.MULTIPART_REPLY, FIRST_POLL_XID, begun))
        assert len(answers._polled) == (xid < FIRST_POLL_XID + 2)


class Exhausted:
    """A listening socket whose process has no descriptor left, but for one that it gives up."""

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening
        self.refusals = 1

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # all that sockets have
        return getattr(self._listening, name)

    def accept(self) -> tuple[socket.socket, Any]:
        if self.refusals:
            self.refusals -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        return self._listening.accept()


def test_a_connection_without_a_descriptor_is_turned_away_and_the_next_is_taken() -> None:
    with listen(socket.AF_INET, ("127.0.0.1", 0)) as listening, select.epoll() as poller:
        exhausted: Any = Exhausted(listening)
        listener = GateListener(exhausted, poller)
        address = listening.getsockname()
        with socket.create_connection(address) as first, socket.create_connection(address):
            with pytest.raises(NoRoomError):
                listener.accept()
            first.settimeout(5.0)
            assert first.recv(1) == b""
            accepted = listener.accept()
            assert accepted is not None
            accepted[0].close()
            assert listener.accept() is None


@pytest.mark.parametrize("host", ["", "0", "00.0", "0x0"])
def test_an_address_that_means_all_of_them_without_saying_so_is_refused(host: str) -> None:
    with pytest.raises(InputError, match="expected an address of this machine"):
        require_free(host, 0)


def has_ipv6() -> bool:
    try:
        listen(socket.AF_INET6, ("::1", 0)).close()
    except OSError:
        return False
    return True


needs_ipv6 = pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")


@pytest.mark.parametrize(
    "host",
    [
        "0.0.0.0",  # noqa: S104
        "127.0.0.1",
        "localhost",
        pytest.param("::", marks=needs_ipv6),
        pytest.param("::1", marks=needs_ipv6),
    ],
)
def test_addresses_of_both_families_are_listened_on(host: str) -> None:
    family, address = address_of(host, 0)
    with listen(family, address) as listening, socket.create_connection((host, listening.getsockname()[1])):
        assert listening.family == family


@pytest.mark.parametrize("host", ["x" * 5000, "a b", "300.1.1.1", "\N{SNOWMAN}" * 100, "a\nb", "fe80::1%none"])
def test_what_is_no_address_is_refused_in_one_short_line(host: str) -> None:
    with pytest.raises(InputError) as refused:
        require_free(host, 0)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 300
