"""A connection that has ended leaves nothing: what it held is freed at once, without a search for cyclic garbage.

The applications search for cycles among old objects rarely, so that each cycle of a connection would stay for hours.
"""

from __future__ import annotations

import gc
import socket
import ssl
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kuijia_app.framework.seam import app_manager
from kuijia_app.gate.application import GatedDatapath
from kuijia_app.gate.channels import PlainChannel, TlsChannel, server_context
from kuijia_app.gate.frames import RefusedError
from kuijia_app.gate.peer import Peer
from kuijia_app.gate.wire import ConnectionEndedError, Wire
from tests.certificates import make_certificate
from tests.kuijia_app.dummy_switches import PATIENCE, wait_until
from tests.kuijia_app.gate import imitated_switch as openflow
from tests.kuijia_app.gate.imitated_switch import features, message, multipart, port_status
from tests.kuijia_app.gate.test_loop import House

NUMBER = 20
LEFT_SECONDS = 20.0
"""The loop may be in a turn that still holds the last connection; on a busy machine that may last."""

OF_A_CONNECTION = (
    Peer,
    Wire,
    PlainChannel,
    TlsChannel,
    ssl.SSLObject,
    GatedDatapath,
    RefusedError,
    ConnectionEndedError,
)

CLIENT_HELLO_BEGUN = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
KNOWN, UNKNOWN = 1, 77

Act = Callable[[socket.socket], None]


def sends(data: bytes) -> Act:
    return lambda connected: connected.sendall(data)


def resets(before: bytes) -> Act:
    """Send something and end by a reset, perhaps while an answer is on its way."""

    def act(connected: socket.socket) -> None:
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connected.sendall(before)

    return act


def never_reads(connected: socket.socket) -> None:
    connected.sendall(message(openflow.HELLO) + features(UNKNOWN))
    for _ in range(20):
        connected.sendall(message(openflow.ECHO_REQUEST, bytes(60_000)))


def begins(context: ssl.SSLContext, *, ends: bool) -> Act:
    """Shake hands by TLS, to the end or up to its first message."""

    def act(connected: socket.socket) -> None:
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(incoming, outgoing)
        for _ in range(3 if ends else 1):
            with suppress(ssl.SSLWantReadError):
                tls.do_handshake()
                break
            connected.sendall(outgoing.read())
            incoming.write(connected.recv(1 << 16))
        if ends:
            connected.sendall(outgoing.read() + b"\x17\x03\x03\x00\x20" + bytes(32))

    return act


PLAIN: dict[str, Act] = {
    "nothing": lambda _: None,
    "zeros": sends(bytes(200)),
    "no OpenFlow": sends(b"GET / HTTP/1.1\r\n\r\n"),
    "hello and a reset": resets(message(openflow.HELLO)),
    "too many questions and a reset": resets(message(openflow.HELLO) + message(openflow.ECHO_REQUEST) * 20),
    "half a hello": sends(message(openflow.HELLO)[:4]),
    "another version": sends(message(openflow.HELLO, version=1)),
    "an unknown switch that never reads": never_reads,
    "an unknown switch and a wrong length": sends(message(0) + features(UNKNOWN) + multipart(1, bytes(56))),
    "a switch and a wrong message": sends(message(0) + features(KNOWN) + message(openflow.ROLE_REPLY, bytes(3))),
    "a switch and a reset": resets(message(0) + features(KNOWN) + port_status(1, live=True)),
    "a switch that breaks off an answer": sends(message(0) + features(KNOWN) + multipart(13, bytes(64), flags=1)),
}


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys")
    make_certificate(folder, "controller")
    make_certificate(folder, "switch")
    (folder / "foreign").mkdir()
    make_certificate(folder / "foreign", "switch")
    return folder


def tls_act(kind: str, keys: Path) -> Act:
    if kind not in ("half a handshake", "broken after the handshake", "foreign authority", "no certificate"):
        return PLAIN[kind]
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    folder = keys / "foreign" if kind == "foreign authority" else keys
    if kind != "no certificate":
        context.load_cert_chain(folder / "switch.pem", folder / "switch.key")
    return begins(context, ends=kind != "half a handshake")


@pytest.fixture
def house(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, keys: Path) -> Iterator[House]:
    context = server_context(str(keys / "controller.key"), str(keys / "controller.pem"), str(keys / "ca.pem"))
    bricks: dict[str, Any] = {}
    monkeypatch.setattr(app_manager, "SERVICE_BRICKS", bricks)
    house = House(tls=(lambda: context) if request.param == "tls" else None)
    bricks["ofp_event"] = house
    yield house
    house.close()


def _of_connections(house: House) -> list[tuple[str, int]]:
    """Return class and identity of all objects that belong to a connection of a house, or did."""
    context = None if house.tls is None else house.tls()
    found = [each for each in gc.get_objects() if isinstance(each, OF_A_CONNECTION)]
    # Peers of controllers in tests before this one may still look for each other in this process, by TLS.
    its = [each for each in found if not isinstance(each, ssl.SSLObject) or each.context is context]
    return [(type(each).__name__, id(each)) for each in its]


def left_of_connections(house: House, act: Act) -> list[str]:
    """Return the classes of what is left of connections that have come and gone, while nobody searches for cycles."""
    gc.collect()
    before = {one for _, one in _of_connections(house)}
    gc.disable()
    try:
        for _ in range(NUMBER):
            with socket.create_connection(("127.0.0.1", house.port), PATIENCE) as connected, suppress(OSError):
                act(connected)
                connected.settimeout(0.05)
                while connected.recv(1 << 16):
                    pass
        wait_until(lambda: not house._loop._reception.peers, "all are gone")
        house._loop._unfinished.clear()
        house._loop._hurry()
        house.passed.clear()

        deadline = time.monotonic() + LEFT_SECONDS
        while (
            left := [name for name, one in _of_connections(house) if one not in before]
        ) and time.monotonic() < deadline:
            time.sleep(0.05)
        return left
    finally:
        gc.enable()


@pytest.mark.parametrize("house", ["plain"], indirect=True)
@pytest.mark.parametrize("kind", PLAIN)
def test_a_plain_connection_leaves_nothing(house: House, kind: str) -> None:
    assert left_of_connections(house, PLAIN[kind]) == []


@pytest.mark.parametrize("house", ["tls"], indirect=True)
@pytest.mark.parametrize(
    "kind",
    [
        *("nothing", "zeros", "no OpenFlow", "hello and a reset"),
        *("half a handshake", "broken after the handshake", "foreign authority", "no certificate"),
    ],
)
def test_a_connection_by_tls_leaves_nothing(house: House, kind: str, keys: Path) -> None:
    assert left_of_connections(house, tls_act(kind, keys)) == []
