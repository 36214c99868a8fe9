"""Controllers reach each other, with and without TLS, also after one of them was away."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import pytest

from kuijia_app.framework import peer_links
from kuijia_app.framework.addresses import parse_address, peer_addresses
from kuijia_app.framework.handover_request import REQUEST, NoHandoverError, answer_to_request, request_handover
from kuijia_app.framework.line_connection import connected
from kuijia_app.framework.peer_links import PeerLinks
from kuijia_app.framework.tls import TlsFiles
from kuijia_app.pki.folder import Folder
from kuijia_app.pki.holders import CertificateKind, Holder
from kuijia_base.errors import InputError
from tests.certificates import make_certificate
from tests.kuijia_app.dummy_switches import free_port, wait_until

PATIENCE = 30.0


def _nothing(_line: bytes) -> None:
    """Ignore a line."""


def _quiet(_host: str, _error: str) -> None:
    """Ignore the end of a connection."""


def _into(got: Queue[bytes]) -> Callable[[bytes], None]:
    """Return a receiver that keeps lines and answers none."""

    def received(line: bytes) -> None:
        got.put(line)

    return received


def test_the_latest_message_reaches_a_peer_that_comes_later() -> None:
    here, there = ("127.0.0.1", free_port()), ("127.0.0.1", free_port())
    got: Queue[bytes] = Queue()
    one = PeerLinks(here, [there], None, _nothing, _quiet).start()
    one.send(lambda _before: (b"early", None))
    one.send(lambda before: (b"late" if before is None else b"again", 1))
    PeerLinks(there, [here], None, _into(got), _quiet).start()
    assert got.get(timeout=PATIENCE) == b"late"
    one.send(lambda before: (f"after {before}".encode(), 2))
    assert got.get(timeout=PATIENCE) == b"after 1"


def test_by_tls_only_a_certificate_of_the_authority_makes_a_peer(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for folder in (ours, theirs):
        folder.mkdir()
        make_certificate(folder, "controller")
    files = [TlsFiles(each / "controller.key", each / "controller.pem", each / "ca.pem") for each in (ours, theirs)]
    here, there, other = (("127.0.0.1", free_port()) for _ in range(3))
    got: Queue[bytes] = Queue()
    PeerLinks(here, [], files[0], _into(got), _quiet).start()
    stranger = PeerLinks(other, [here], files[1], _nothing, _quiet).start()
    stranger.send(lambda _before: (b"stranger", None))
    peer = PeerLinks(there, [here], files[0], _nothing, _quiet).start()
    peer.send(lambda _before: (b"peer", None))
    assert got.get(timeout=PATIENCE) == b"peer"
    assert got.empty()


@pytest.mark.parametrize("impostor", ["switch", "web"])
def test_a_switch_is_no_peer_though_its_certificate_is_good(tmp_path: Path, impostor: str) -> None:
    folder = Folder(tmp_path)
    folder.make_authority("authority", 10, force=False)
    folder.make(Holder("controller", CertificateKind.CONTROLLER, ("localhost",)), 10, force=False)
    folder.make(Holder("switch", CertificateKind.SWITCH, datapath_ids=(1,)), 10, force=False)
    folder.make(Holder("web", CertificateKind.WEB, ("localhost",)), 10, force=False)
    good, bad = (
        TlsFiles(tmp_path / f"{name}.key", tmp_path / f"{name}.pem", tmp_path / "ca.pem")
        for name in ("controller", impostor)
    )
    address = ("127.0.0.1", free_port())
    got: Queue[bytes] = Queue()
    troubles: Queue[tuple[str, str]] = Queue()
    PeerLinks(address, [], good, _into(got), lambda *trouble: troubles.put(trouble)).start()
    context = ssl.create_default_context(cafile=bad.ca)
    context.load_cert_chain(bad.certificate, bad.key)
    plain = socket.create_connection(address)
    with suppress(OSError), context.wrap_socket(plain, server_hostname="localhost") as connection:
        connection.sendall(b"take over\n")
        connection.settimeout(PATIENCE)
        assert connection.recv(1) == b""
    peer = PeerLinks(("127.0.0.1", free_port()), [address], good, _nothing, _quiet).start()
    peer.send(lambda _before: (b"peer", None))
    assert got.get(timeout=PATIENCE) == b"peer"
    assert got.empty()
    host, reason = troubles.get(timeout=PATIENCE)
    assert host == "127.0.0.1"
    assert "certificate" in reason


def test_renewed_files_hold_for_new_connections_of_peers(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.make_authority("authority", 10, force=False)
    folder.make(Holder("controller", CertificateKind.CONTROLLER, ("localhost",)), 10, force=False)
    files = TlsFiles(tmp_path / "controller.key", tmp_path / "controller.pem", tmp_path / "ca.pem")
    address = ("127.0.0.1", free_port())
    links = PeerLinks(address, [], files, _nothing, _quiet).start()
    context = ssl.create_default_context(cafile=files.ca)
    context.load_cert_chain(files.certificate, files.key)

    def shown() -> bytes | None:
        plain = socket.create_connection(address)
        with context.wrap_socket(plain, server_hostname="localhost") as connection:
            return connection.getpeercert(binary_form=True)

    def on_disk() -> bytes:
        return ssl.PEM_cert_to_DER_cert(files.certificate.read_text())

    former = on_disk()
    assert shown() == former
    folder.renew(["controller"], 10, 10, new_keys=True)
    assert links._server is not None
    links._server._next = 0.0  # as if a second had passed
    assert shown() == on_disk() != former


def _refuse(line: bytes) -> None:
    if line.startswith(b"{"):
        raise ValueError("not a message of a controller")


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (b"{}\n", "not a message of a controller"),
        (b"x" * 2000, "a line of more than 1000 bytes"),
        (b"no end of the line", "timed out"),
    ],
)
def test_a_hostile_peer_is_dropped_and_does_not_keep_others_from_being_heard(
    monkeypatch: pytest.MonkeyPatch, sent: bytes, reason: str
) -> None:
    monkeypatch.setattr(peer_links, "LONGEST_LINE", 1000)
    monkeypatch.setattr(peer_links, "_IDLE", 0.2)
    address = ("127.0.0.1", free_port())
    troubles: Queue[tuple[str, str]] = Queue()
    got: Queue[bytes] = Queue()

    def received(line: bytes) -> None:
        _refuse(line)
        got.put(line)

    PeerLinks(address, [], None, received, lambda *trouble: troubles.put(trouble)).start()
    with socket.create_connection(address) as hostile:
        hostile.sendall(sent)
        hostile.settimeout(PATIENCE)
        with suppress(ConnectionResetError):
            assert hostile.recv(1) == b""
    assert troubles.get(timeout=PATIENCE) == ("127.0.0.1", reason)
    PeerLinks(("127.0.0.1", free_port()), [address], None, _nothing, _quiet).start().send(
        lambda _before: (b"peer", None)
    )
    assert got.get(timeout=PATIENCE) == b"peer"


def test_who_sends_garbage_in_place_of_a_handshake_is_dropped(tmp_path: Path) -> None:
    make_certificate(tmp_path, "controller")
    files = TlsFiles(tmp_path / "controller.key", tmp_path / "controller.pem", tmp_path / "ca.pem")
    address = ("127.0.0.1", free_port())
    troubles: Queue[tuple[str, str]] = Queue()
    PeerLinks(address, [], files, _nothing, lambda *trouble: troubles.put(trouble)).start()
    with socket.create_connection(address) as hostile:
        hostile.sendall(b'{"instance": 1, "acting": true}\n')
        host, reason = troubles.get(timeout=PATIENCE)
    assert host == "127.0.0.1"
    assert "SSL" in reason
    with socket.create_connection(address):  # says nothing
        assert troubles.get(timeout=PATIENCE) == ("127.0.0.1", "timed out")


def test_without_tls_only_the_hosts_of_peers_are_heard() -> None:
    address = ("127.0.0.2", free_port())
    troubles: Queue[tuple[str, str]] = Queue()
    got: Queue[bytes] = Queue()
    links = PeerLinks(address, [], None, _into(got), lambda *trouble: troubles.put(trouble)).start()
    stranger = PeerLinks(("127.0.0.3", free_port()), [address], None, _nothing, _quiet).start()
    stranger.send(lambda _before: (b"stranger", None))
    assert troubles.get(timeout=PATIENCE) == ("127.0.0.3", "it is no peer's address")
    links._hosts.add("127.0.0.3")  # as once a peer there has been reached
    peer = PeerLinks(("127.0.0.3", free_port()), [address], None, _nothing, _quiet).start()
    peer.send(lambda _before: (b"peer", None))
    assert got.get(timeout=PATIENCE) == b"peer"


@pytest.mark.parametrize("by_tls", [False, True])
def test_silent_connections_do_not_keep_a_peer_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, by_tls: bool
) -> None:
    make_certificate(tmp_path, "controller")
    names = tmp_path / "controller.key", tmp_path / "controller.pem", tmp_path / "ca.pem"
    files = TlsFiles(*names) if by_tls else None
    monkeypatch.setattr(peer_links, "PATIENCE", PATIENCE)
    monkeypatch.setattr(peer_links, "_IDLE", PATIENCE)
    here, there = ("127.0.0.2", free_port()), ("127.0.0.3", free_port())
    troubles: Queue[tuple[str, str]] = Queue()
    got: Queue[bytes] = Queue()
    PeerLinks(here, [there], files, _into(got), lambda *trouble: troubles.put(trouble)).start()
    with ExitStack() as stack:
        for host in ("127.0.0.1", "127.0.0.2", "127.0.0.4", "127.0.0.5"):
            for _ in range(8):
                stack.enter_context(socket.create_connection(here, PATIENCE, (host, 0)))
        peer = PeerLinks(there, [here], files, _nothing, _quiet).start()
        peer.send(lambda _before: (b"peer", None))
        assert got.get(timeout=PATIENCE / 3) == b"peer"
    assert ("127.0.0.1", "too many connections without a message") in troubles.queue


def _failing_first(real: Callable[..., Any], failure: Exception, *when: object) -> Callable[..., Any]:
    """Return a function that fails at its first call that ends with these arguments, and else does as the real one."""
    failures = [failure]

    def call(*arguments: object) -> Any:  # noqa: ANN401  # what the real one returns
        if failures and arguments[len(arguments) - len(when) :] == when:
            raise failures.pop()
        return real(*arguments)

    return call


@pytest.mark.parametrize(
    ("failing", "source"),
    # Links of other tests go on in their threads: an address of its own keeps them from taking the failure.
    [("connecting", "127.0.1.1"), ("message", "127.0.1.2"), ("receiver", "127.0.1.3"), ("thread", "127.0.1.4")],
)
def test_after_a_failure_of_any_kind_the_links_tell_it_and_go_on(
    monkeypatch: pytest.MonkeyPatch, failing: str, source: str
) -> None:
    here, there = (source, free_port()), ("127.0.0.3", free_port())
    troubles: Queue[tuple[str, str]] = Queue()
    got: Queue[bytes] = Queue()
    failure = UnicodeError("label empty") if failing == "connecting" else RuntimeError("no more of them")
    if failing == "connecting":
        monkeypatch.setattr(peer_links, "connected", _failing_first(connected, failure, source))
    if failing == "thread":
        monkeypatch.setattr(peer_links, "_start", _failing_first(peer_links._start, failure, f"peer from {source}"))
    received = _failing_first(_into(got), failure) if failing == "receiver" else _into(got)
    PeerLinks(there, [], None, received, lambda *trouble: troubles.put(trouble)).start()._hosts.add(here[0])
    sender = PeerLinks(here, [there], None, _nothing, lambda *trouble: troubles.put(trouble)).start()

    def message(_before: object) -> tuple[bytes, None]:
        return b"peer", None

    sender.send(_failing_first(message, failure) if failing == "message" else message)
    reason = "label empty" if failing == "connecting" else "RuntimeError: no more of them"
    host = there[0] if failing in ("connecting", "message") else here[0]
    assert troubles.get(timeout=PATIENCE) == (host, reason)

    def is_heard() -> bool:
        sender.send(message)  # as often as a controller does: it learns only so that a connection has ended
        with suppress(Empty):
            return got.get(timeout=0.1) == b"peer"
        return False

    wait_until(is_heard, "the links go on")


def test_long_lines_pass_in_both_directions_by_tls(tmp_path: Path) -> None:
    make_certificate(tmp_path, "controller")
    files = TlsFiles(tmp_path / "controller.key", tmp_path / "controller.pem", tmp_path / "ca.pem")
    here, there = ("127.0.0.1", free_port()), ("127.0.0.1", free_port())
    got: Queue[bytes] = Queue()
    line = bytes(range(11, 256)) * 20_000
    PeerLinks(here, [], files, _into(got), _quiet).start()
    PeerLinks(there, [here], files, _nothing, _quiet).start().send(lambda _before: (line, None))
    assert got.get(timeout=PATIENCE) == line


@pytest.mark.parametrize("by_tls", [False, True])
def test_a_controller_answers_who_asks_for_a_handover(tmp_path: Path, *, by_tls: bool) -> None:
    make_certificate(tmp_path, "controller")
    names = tmp_path / "controller.key", tmp_path / "controller.pem", tmp_path / "ca.pem"
    files = TlsFiles(*names) if by_tls else None
    address = ("127.0.0.1", free_port())
    asked: list[bytes] = []
    answers = [answer_to_request(None), answer_to_request("nobody is there"), b"[]", b"\xff"]

    def received(line: bytes) -> bytes:
        asked.append(line)
        return answers[len(asked) - 1]

    PeerLinks(address, [], files, received, _quiet).start()
    request_handover(address, files)
    with pytest.raises(NoHandoverError, match=r"^nobody is there$"):
        request_handover(address, files)
    for _ in answers[2:]:
        with pytest.raises(NoHandoverError, match=r"^the answer .* is not that of a controller$"):
            request_handover(address, files)
    assert asked == [REQUEST] * len(answers)


def test_nobody_who_could_be_asked_for_a_handover_is_told() -> None:
    address = ("127.0.0.1", free_port())
    with pytest.raises(NoHandoverError, match=rf"^127\.0\.0\.1:{address[1]}: Connection refused$"):
        request_handover(address, None)


def test_who_asks_for_a_handover_from_elsewhere_learns_who_is_heard() -> None:
    address = ("127.0.0.2", free_port())
    links = PeerLinks(address, [], None, _nothing, _quiet).start()
    links._hosts.clear()
    with pytest.raises(NoHandoverError, match=r"without an answer \(without TLS it hears only"):
        request_handover(address, None)


def test_an_address_in_use_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = ("127.0.0.1", other.getsockname()[1])
        with pytest.raises(InputError, match="cannot listen"):
            PeerLinks(address, [], None, _nothing, _quiet).start()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "host",
        "host:",
        ":1",
        "host:0",
        "host:65536",
        "host:-1",
        "host:1e3",
        "a..b:1",
        f"{'x' * 64}:1",
        "[]:1",
        "a\0b:1",
    ],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_address(text)


def test_no_controller_is_its_own_peer() -> None:
    with pytest.raises(InputError, match=r"'127.0.0.1:6654' is our own, expected that of another controller$"):
        peer_addresses("127.0.0.1:6654", ["127.0.0.1:6655", "127.0.0.1:6654"])
    assert peer_addresses("[::1]:1", ["[::1]:2"]) == (("::1", 1), [("::1", 2)])


def test_addresses_may_be_those_of_ipv6() -> None:
    assert parse_address("[::1]:6654") == ("::1", 6654)
