"""Controllers reach each other, with and without TLS, also after one of them was away."""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress
from pathlib import Path
from queue import Queue

import pytest

from kuijia_app.framework.addresses import parse_address
from kuijia_app.framework.peer_links import PeerLinks
from kuijia_app.framework.tls import TlsFiles
from kuijia_app.pki.folder import Folder
from kuijia_app.pki.holders import Holder, Kind
from kuijia_base.errors import InputError
from tests.certificates import make_certificate
from tests.kuijia_app.dummy_switches import free_port

PATIENCE = 30.0


def test_the_latest_message_reaches_a_peer_that_comes_later() -> None:
    here, there = ("127.0.0.1", free_port()), ("127.0.0.1", free_port())
    got: Queue[bytes] = Queue()
    one = PeerLinks(here, [there], None, lambda _line: None)
    one.send(lambda _before: (b"early", None))
    one.send(lambda before: (b"late" if before is None else b"again", 1))
    PeerLinks(there, [here], None, got.put)
    assert got.get(timeout=PATIENCE) == b"late\n"
    one.send(lambda before: (f"after {before}".encode(), 2))
    assert got.get(timeout=PATIENCE) == b"after 1\n"


def test_by_tls_only_a_certificate_of_the_authority_makes_a_peer(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for folder in (ours, theirs):
        folder.mkdir()
        make_certificate(folder, "controller")
    files = [TlsFiles(each / "controller.key", each / "controller.pem", each / "ca.pem") for each in (ours, theirs)]
    here, there, other = (("127.0.0.1", free_port()) for _ in range(3))
    got: Queue[bytes] = Queue()
    PeerLinks(here, [], files[0], got.put)
    stranger = PeerLinks(other, [here], files[1], lambda _line: None)
    stranger.send(lambda _before: (b"stranger", None))
    peer = PeerLinks(there, [here], files[0], lambda _line: None)
    peer.send(lambda _before: (b"peer", None))
    assert got.get(timeout=PATIENCE) == b"peer\n"
    assert got.empty()


@pytest.mark.parametrize("impostor", ["switch", "web"])
def test_a_switch_is_no_peer_though_its_certificate_is_good(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, impostor: str
) -> None:
    folder = Folder(tmp_path)
    folder.make_authority("authority", 10, force=False)
    folder.make(Holder("controller", Kind.CONTROLLER, ("localhost",)), 10, force=False)
    folder.make(Holder("switch", Kind.SWITCH, datapath_ids=(1,)), 10, force=False)
    folder.make(Holder("web", Kind.WEB, ("localhost",)), 10, force=False)
    good, bad = (
        TlsFiles(tmp_path / f"{name}.key", tmp_path / f"{name}.pem", tmp_path / "ca.pem")
        for name in ("controller", impostor)
    )
    address = ("127.0.0.1", free_port())
    got: Queue[bytes] = Queue()
    PeerLinks(address, [], good, got.put)
    context = ssl.create_default_context(cafile=bad.ca)
    context.load_cert_chain(bad.certificate, bad.key)
    plain = socket.create_connection(address)
    with suppress(OSError), context.wrap_socket(plain, server_hostname="localhost") as connection:
        connection.sendall(b"take over\n")
        connection.settimeout(PATIENCE)
        assert connection.recv(1) == b""
    peer = PeerLinks(("127.0.0.1", free_port()), [address], good, lambda _line: None)
    peer.send(lambda _before: (b"peer", None))
    assert got.get(timeout=PATIENCE) == b"peer\n"
    assert got.empty()
    assert "connection of peer 127.0.0.1 ended: " in caplog.text


def test_renewed_files_hold_for_new_connections_of_peers(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.make_authority("authority", 10, force=False)
    folder.make(Holder("controller", Kind.CONTROLLER, ("localhost",)), 10, force=False)
    files = TlsFiles(tmp_path / "controller.key", tmp_path / "controller.pem", tmp_path / "ca.pem")
    address = ("127.0.0.1", free_port())
    links = PeerLinks(address, [], files, lambda _line: None)
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


def test_an_address_in_use_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = ("127.0.0.1", other.getsockname()[1])
        with pytest.raises(InputError, match="cannot listen"):
            PeerLinks(address, [], None, lambda _line: None)


@pytest.mark.parametrize("text", ["", "host", "host:", ":1", "host:0", "host:65536", "host:-1", "host:1e3"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_address(text)


def test_addresses_may_be_those_of_ipv6() -> None:
    assert parse_address("[::1]:6654") == ("::1", 6654)
