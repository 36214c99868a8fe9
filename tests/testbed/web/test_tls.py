"""The live lab's server speaks HTTPS, and uses a renewed certificate without a restart."""

from __future__ import annotations

import gc
import socket
import ssl
import time
from asyncio.sslproto import SSLProtocol
from collections.abc import Callable
from pathlib import Path

import pytest

import kuijia
from kuijia_app.framework import certificate_expiry
from kuijia_app.framework.followed_tls import FollowedTls
from kuijia_app.pki.folder import Folder
from kuijia_app.pki.holders import CertificateKind, Holder
from kuijia_base.errors import InputError
from testbed.web import server
from testbed.web.server import PageLink, Serving
from testbed.web.tls import TlsPair, follow
from tests.testbed.web.serving import while_serving

DAYS = 10


def made(path: Path, days: int) -> Path:
    folder = Folder(path)
    folder.make_authority("authority", days, force=False)
    folder.make(Holder("page", CertificateKind.WEB, ("localhost", "127.0.0.1")), days, force=False)
    return path


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    return made(tmp_path, DAYS)


def pair(keys: Path) -> TlsPair:
    return TlsPair(keys / "page.key", keys / "page.pem")


def while_served(keys: Path, act: Callable[[PageLink], None]) -> None:
    while_serving(Serving(port=0, tls=pair(keys)), act)


def test_a_client_that_knows_the_authority_is_served_by_https_and_no_other(keys: Path) -> None:
    def act(link: PageLink) -> None:
        assert link.url.startswith("https://127.0.0.1:")
        assert kuijia.connect(link.url, ca=keys / "ca.pem").describe().name == "triangle"
        for address, authority in ((link.url, None), (link.url.replace("https:", "http:"), None)):
            with pytest.raises(kuijia.LabError):
                kuijia.connect(address, ca=authority).describe()

    while_served(keys, act)


def test_the_link_has_the_first_name_that_browsers_may_use_as_certificates_have_it(keys: Path) -> None:
    def act(link: PageLink) -> None:
        assert link.server == f"https://localhost:{link.port}/"
        assert kuijia.connect(link.url, ca=keys / "ca.pem").describe().name == "triangle"

    while_serving(Serving(port=0, names=("localhost", "lab.example.net"), tls=pair(keys)), act)


@pytest.mark.parametrize(("days", "said"), [(DAYS, "expires on 20"), (365, "is valid until 20")])
def test_the_day_on_which_the_certificate_expires_is_printed(
    tmp_path: Path, days: int, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    made(tmp_path, days)
    while_served(tmp_path, lambda _link: None)
    (line,) = capfd.readouterr().err.splitlines()
    assert f" web: the certificate {tmp_path / 'page.pem'} {said}" in line


def test_expiry_that_cannot_be_watched_is_printed_with_what_is_missing(
    keys: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certificate_expiry, "is_installed", lambda _module: False)
    while_served(keys, lambda _link: None)
    (line,) = capfd.readouterr().err.splitlines()
    assert " web: when certificates expire is not watched: pip install " in line


def test_a_renewed_certificate_is_shown_without_a_restart(keys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]

    def followed(files: TlsPair) -> FollowedTls:
        found = follow(files)
        found._clock, found._next = lambda: now[0], 1.0
        return found

    monkeypatch.setattr(server, "follow", followed)
    context = ssl.create_default_context(cafile=keys / "ca.pem")

    def act(link: PageLink) -> None:
        def shown(name: str) -> bytes | None:
            plain = socket.create_connection((link.address, link.port))
            with context.wrap_socket(plain, server_hostname=name) as connection:
                return connection.getpeercert(binary_form=True)

        def on_disk() -> bytes:
            return ssl.PEM_cert_to_DER_cert((keys / "page.pem").read_text())

        former = on_disk()
        assert shown("localhost") == former
        Folder(keys).renew(["page"], DAYS, DAYS, new_keys=True)
        assert shown("localhost") == former
        now[0] = 1.0
        for name in ("localhost", "127.0.0.1"):  # clients name the server only if it has a name
            assert shown(name) == on_disk() != former
        renewed = on_disk()
        (keys / "page.pem").write_text("broken")
        now[0] = 2.0
        assert shown("localhost") == renewed

    while_served(keys, act)


def test_unusable_files_are_refused_before_anything_listens(keys: Path) -> None:
    with pytest.raises(InputError, match=r"ca\.pem: not usable with the key .*page\.key"):
        follow(TlsPair(keys / "page.key", keys / "ca.pem"))


def test_connections_that_end_within_their_handshake_leave_no_buffers(keys: Path) -> None:
    def sessions() -> int:
        return sum(isinstance(each, SSLProtocol) for each in gc.get_objects())

    def act(link: PageLink) -> None:
        for number in range(600):
            with socket.create_connection(("127.0.0.1", link.port), 10) as connected:
                connected.sendall(b"\x16\x03\x01\x02\x00\x01" if number % 2 else bytes(200))
        deadline = time.monotonic() + 10
        while sessions() > 100 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert sessions() <= 100

    while_served(keys, act)
