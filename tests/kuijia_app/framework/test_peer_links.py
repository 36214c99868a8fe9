"""Controllers reach each other, with and without TLS, also after one of them was away."""

from __future__ import annotations

import socket
from pathlib import Path
from queue import Queue

import pytest

from kuijia_app.framework.addresses import parse_address
from kuijia_app.framework.peer_links import PeerLinks
from kuijia_app.framework.tls import TlsFiles
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
