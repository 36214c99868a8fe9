from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kuijia_base.errors import TestbedError
from testbed.links.port_status import PortObserver, PortStatus, wait_for_port_states

HELLO, ECHO_REQUEST, ECHO_REPLY, PORT_STATUS, BARRIER_REQUEST, BARRIER_REPLY = 0, 2, 3, 12, 20, 21


def message(kind: int, body: bytes = b"") -> bytes:
    return struct.pack("!BBHI", 4, kind, 8 + len(body), 7) + body


def port_status(port: int, config: int = 0, state: int = 0) -> bytes:
    """Return a message of OpenFlow 1.3.5, 7.4.3: reason MODIFY and a whole ofp_port."""
    described = struct.pack("!I4x6s2x16sII24x", port, b"\x02\0\0\0\0\1", b"s1-eth1", config, state)
    return message(PORT_STATUS, struct.pack("!B7x", 2) + described)


class FakeSwitch:
    """Answers the greeting of one observer; later messages are up to the test."""

    def __init__(self, path: Path) -> None:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self._thread = threading.Thread(target=self._greet)
        self._thread.start()
        self.observer = PortObserver(path)
        self._thread.join()

    def _greet(self) -> None:
        self.connection, _ = self._listener.accept()
        self.connection.sendall(message(HELLO))
        received = b""
        while message(BARRIER_REQUEST)[:2] not in received:
            received += self.connection.recv(1000)
        self.connection.sendall(message(BARRIER_REPLY))

    def close(self) -> None:
        self.observer.close()
        self.connection.close()
        self._listener.close()


@pytest.fixture
def switch(tmp_path: Path) -> Iterator[FakeSwitch]:
    fake = FakeSwitch(tmp_path / "s1.mgmt")
    yield fake
    fake.close()


@pytest.mark.parametrize(("config", "state"), [(0, 0), (0, 4)])
def test_a_port_with_a_carrier_is_up(switch: FakeSwitch, config: int, state: int) -> None:
    switch.connection.sendall(port_status(3, config, state))
    assert switch.observer.read() == [PortStatus(3, up=True)]


@pytest.mark.parametrize(("config", "state"), [(1, 0), (0, 1), (1, 1)])
def test_a_port_that_is_switched_off_or_has_no_carrier_is_down(switch: FakeSwitch, config: int, state: int) -> None:
    switch.connection.sendall(port_status(3, config, state))
    assert switch.observer.read() == [PortStatus(3, up=False)]


def test_messages_arrive_whole_however_they_are_cut(switch: FakeSwitch) -> None:
    said = port_status(1, state=1) + port_status(2)
    switch.connection.sendall(said[:100])
    assert switch.observer.read() == [PortStatus(1, up=False)]
    switch.connection.sendall(said[100:])
    assert switch.observer.read() == [PortStatus(2, up=True)]


def test_a_switch_that_asks_whether_we_are_there_is_answered(switch: FakeSwitch) -> None:
    switch.connection.sendall(message(ECHO_REQUEST, b"you?"))
    assert switch.observer.read() == []
    switch.connection.settimeout(5)
    said = b""
    while message(ECHO_REPLY, b"you?")[8:] not in said:
        said += switch.connection.recv(1000)


def test_the_wait_ends_with_the_state_waited_for_on_the_port_meant(switch: FakeSwitch) -> None:
    switch.connection.sendall(port_status(2, state=1) + port_status(3) + port_status(3, state=1))
    assert set(wait_for_port_states({"a": (switch.observer, 3)}, up=False, timeout=5)) == {"a"}


def test_a_switch_that_says_nothing_is_named(switch: FakeSwitch) -> None:
    switch.connection.sendall(port_status(2, state=1))
    with pytest.raises(TestbedError, match=r"^switch a did not report its port 3 down within 0.05 s$"):
        wait_for_port_states({"a": (switch.observer, 3)}, up=False, timeout=0.05)


def test_a_switch_that_dies_is_told_of(switch: FakeSwitch) -> None:
    switch.connection.close()
    with pytest.raises(TestbedError, match="has closed the connection"):
        wait_for_port_states({"a": (switch.observer, 3)}, up=False, timeout=5)


def test_a_switch_that_dies_without_having_listened_is_told_of(switch: FakeSwitch) -> None:
    switch.connection.sendall(message(ECHO_REQUEST))
    assert switch.observer.read() == []
    switch.connection.close()
    with pytest.raises(TestbedError, match=r"s1\.mgmt does not answer any more: .*Connection reset by peer$"):
        switch.observer.read()


def test_no_switch_at_all_is_an_error_with_the_place(tmp_path: Path) -> None:
    with pytest.raises(TestbedError, match=f"^no switch answers at {tmp_path}/s9.mgmt: "):
        PortObserver(tmp_path / "s9.mgmt")
