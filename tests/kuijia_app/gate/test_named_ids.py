"""A certificate that names datapath ids is good for these alone, and a renewed one is used without a restart."""

from __future__ import annotations

import hashlib
import logging
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kuijia_app.framework import event_log
from kuijia_app.framework.certificate_names import datapath_name
from kuijia_app.framework.followed_tls import FollowedTls, Passphrase
from kuijia_app.framework.seam import app_manager
from kuijia_app.gate.binding import Binding, may_use
from kuijia_app.gate.channels import server_context
from kuijia_app.pki.folder import Folder
from kuijia_app.pki.holders import CertificateKind, Holder
from tests.kuijia_app.dummy_switches import wait_until
from tests.kuijia_app.gate.imitated_switch import MULTIPART_REQUEST, ImitatedSwitch
from tests.kuijia_app.gate.test_loop import House

IDS = st.integers(0, 2**64 - 1)
DAYS = 10


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    folder = Folder(tmp_path)
    folder.make_authority("authority", DAYS, force=False)
    folder.make(Holder("controller", CertificateKind.CONTROLLER, ("localhost",)), DAYS, force=False)
    folder.make(Holder("s1", CertificateKind.SWITCH, datapath_ids=(1,)), DAYS, force=False)
    folder.make(Holder("s2", CertificateKind.SWITCH, datapath_ids=(2, 3)), DAYS, force=False)
    return tmp_path


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def followed(keys: Path, clock: Callable[[], float]) -> FollowedTls:
    key, certificate, authority = (str(keys / name) for name in ("controller.key", "controller.pem", "ca.pem"))

    def make(passphrase: Passphrase | None) -> ssl.SSLContext:
        return server_context(key, certificate, authority, passphrase=passphrase)

    return FollowedTls([key, certificate, authority], make, clock)


def shown(keys: Path, name: str) -> ssl.SSLContext:
    """Return the settings of a switch with this certificate."""
    context = ssl.create_default_context(cafile=keys / "ca.pem")
    context.check_hostname = False
    context.load_cert_chain(keys / f"{name}.pem", keys / f"{name}.key")
    return context


@pytest.fixture
def open_house(monkeypatch: pytest.MonkeyPatch, keys: Path) -> Callable[..., Any]:
    @contextmanager
    def opened(binding: Binding | None = None, clock: Callable[[], float] = time.monotonic) -> Iterator[House]:
        bricks: dict[str, Any] = {}
        monkeypatch.setattr(app_manager, "SERVICE_BRICKS", bricks)
        house = House(tls=followed(keys, clock), binding=binding)
        bricks["ofp_event"] = house
        try:
            yield house
        finally:
            house.close()

    return opened


def is_let_in(house: House, datapath_id: int, context: ssl.SSLContext) -> bool:
    with ImitatedSwitch(house.port, datapath_id, [1], tls=context) as switch:
        wait_until(lambda: switch.has_ended or switch.was_sent(MULTIPART_REQUEST), "the switch is let in or refused")
        return not switch.has_ended


def fingerprint(keys: Path, name: str) -> str:
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert((keys / f"{name}.pem").read_text())).hexdigest()


def test_a_switch_with_a_good_certificate_cannot_be_another_one(keys: Path, open_house: Callable[..., Any]) -> None:
    with open_house() as house:
        assert not is_let_in(house, 1, shown(keys, "s2"))
        assert not is_let_in(house, 2, shown(keys, "controller"))
        wait_until(lambda: len(house.reports) == 2, "both are told of")
        assert is_let_in(house, 1, shown(keys, "s1"))
        assert is_let_in(house, 2, shown(keys, "s2"))
    assert [(name, details["certificate"]) for name, details in house.reports] == [
        (event_log.SWITCH_UNBOUND, fingerprint(keys, "s2")),
        (event_log.SWITCH_UNBOUND, fingerprint(keys, "controller")),
    ]


def test_a_listed_id_needs_a_listed_certificate_and_its_name(keys: Path, open_house: Callable[..., Any]) -> None:
    with open_house({1: frozenset({fingerprint(keys, "s2")}), 3: frozenset({"00" * 32})}) as house:
        assert not is_let_in(house, 1, shown(keys, "s1"))
        assert not is_let_in(house, 1, shown(keys, "s2"))
        assert is_let_in(house, 2, shown(keys, "s2"))


def test_a_renewed_certificate_is_used_without_a_restart(
    keys: Path, open_house: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()

    def seen(switch: ImitatedSwitch) -> str:
        # Until then its thread may be reading session tickets, and the certificate cannot be asked for.
        assert switch.wait_for(lambda: switch.was_sent(MULTIPART_REQUEST))
        assert isinstance(switch.socket, ssl.SSLSocket)
        certificate = switch.socket.getpeercert(binary_form=True)
        assert certificate is not None
        return hashlib.sha256(certificate).hexdigest()

    with open_house(clock=clock) as house, ImitatedSwitch(house.port, 1, [1], tls=shown(keys, "s1")) as before:
        former = fingerprint(keys, "controller")
        Folder(keys).renew(["ca", "controller", "s2"], DAYS, DAYS, new_keys=False)
        Folder(keys).renew(["controller"], DAYS, DAYS, new_keys=True)
        clock.now += 1.0
        with ImitatedSwitch(house.port, 2, [1], tls=shown(keys, "s2")) as after:
            assert (seen(before), seen(after)) == (former, fingerprint(keys, "controller"))
            assert former != seen(after)
        (keys / "controller.pem").write_bytes((keys / "s1.pem").read_bytes())  # not that of the key
        clock.now += 1.0
        with caplog.at_level(logging.ERROR, "kuijia.tls"):
            assert is_let_in(house, 2, shown(keys, "s2"))
        assert "the old ones stay in use" in caplog.text
        assert not before.has_ended


@given(IDS, st.sets(IDS, max_size=4), st.none() | st.dictionaries(IDS, st.just(frozenset({"f"})), max_size=4))
def test_an_id_needs_what_is_said_of_it(used: int, named: set[int], binding: Binding | None) -> None:
    for ids in (named, named | {used}):
        uris = [datapath_name(each) for each in ids]
        for files in (binding, None if binding is None else {**binding, used: frozenset({"f"})}):
            for mark in ("f", "g", None):
                is_listed = files is not None and used in files
                expected = mark == "f" if is_listed else files is None or used in ids
                assert may_use(used, mark, uris, files) is (expected and (not ids or used in ids))
