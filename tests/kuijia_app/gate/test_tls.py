"""By TLS, too, nobody is waited for, and a certificate speaks for its own datapath ids alone."""

from __future__ import annotations

import hashlib
import select
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from kuijia.cli.main import main
from kuijia_app.framework import event_log
from kuijia_app.framework.tls import TlsFiles
from kuijia_app.gate.channels import TlsChannel, server_context
from kuijia_app.gate.frames import RefusedError
from kuijia_app.gate.limits import LIMITS
from kuijia_app.gate.wire import Wire
from te_solver.formats.plan_file import save_plan
from testbed.controllers.application_process import Framework
from tests.certificates import make_certificate
from tests.kuijia_app.dummy_switches import free_port, wait_until
from tests.kuijia_app.gate.imitated_switch import ImitatedSwitch
from tests.kuijia_app.gate.rigs import FRAMEWORKS, BoundRig, ControllerRig, hostile, was_ended
from tests.kuijia_app.plans import motivation_plan

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys")
    for name in ("controller", "switch", "other"):
        make_certificate(folder, name)
    return folder


def files(keys: Path) -> TlsFiles:
    return TlsFiles(keys / "controller.key", keys / "controller.pem", keys / "ca.pem")


def shown(keys: Path, name: str) -> ssl.SSLContext:
    """Return the settings of a switch with this certificate."""
    context = ssl.create_default_context(cafile=keys / "ca.pem")
    context.check_hostname = False
    context.load_cert_chain(keys / f"{name}.pem", keys / f"{name}.key")
    return context


def fingerprint(keys: Path, name: str) -> str:
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert((keys / f"{name}.pem").read_text())).hexdigest()


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_handshakes_that_hang_keep_nobody_out_and_end(keys: Path, tmp_path: Path, framework: Framework) -> None:
    with ControllerRig(tmp_path, framework, files(keys)) as rig:
        hanging = [hostile(rig.port, greets=False) for _ in range(20)]
        hanging += [hostile(rig.port, b"\x16\x03\x01\x02\x00\x01", greets=False) for _ in range(20)]
        before = rig.footprint().threads
        rig.connect_all(shown(keys, "switch"))
        assert all(was_ended(each, 2 * LIMITS.tls_handshake + 5.0) for each in hanging)
        nonsense = hostile(rig.port, b"\x00" * 100, greets=False)
        assert was_ended(nonsense)
        wait_until(lambda: rig.footprint().threads <= before, "the threads of handshakes to end")
        assert not any(switch.has_ended for switch in rig.switches.values())
        for each in (*hanging, nonsense):
            each.close()


@dataclass
class Pair:
    """A wire whose handshake of TLS is done, and its switch."""

    wire: Wire
    switch: ssl.SSLObject
    outgoing: ssl.MemoryBIO
    other: socket.socket

    def say(self) -> None:
        """Have the switch send what it has to."""
        self.other.sendall(self.outgoing.read())


@pytest.fixture
def pair(keys: Path) -> Iterator[Pair]:
    ours, other = socket.socketpair()
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    switch = shown(keys, "switch").wrap_bio(incoming, outgoing)
    context = server_context(str(keys / "controller.key"), str(keys / "controller.pem"), str(keys / "ca.pem"))
    with ours, other, select.epoll() as epoll:
        ours.setblocking(False)
        other.setblocking(False)
        wire = Wire(ours, TlsChannel(context), epoll, lambda: None, time.monotonic)
        while not wire.is_open:
            with suppress(ssl.SSLWantReadError):
                switch.do_handshake()
            other.sendall(outgoing.read())
            wire.read(1 << 16)
            with suppress(BlockingIOError):
                incoming.write(other.recv(1 << 16))
        yield Pair(wire, switch, outgoing, other)
        wire.close()


def test_who_sends_on_a_connection_whose_tls_has_broken_is_told_so_and_nothing_is_raised(pair: Pair) -> None:
    """The loop and the application have a thread each, so that one may send before the other has closed."""
    assert pair.wire.send(b"message")
    pair.other.sendall(b"\x17\x03\x03\x00\x20" + bytes(32))
    with pytest.raises(RefusedError, match="TLS failed"):
        pair.wire.read(1 << 16)
    assert not pair.wire.send(b"message")
    assert isinstance(pair.wire.failure, RefusedError)


def test_nothing_is_kept_of_what_comes_after_the_end_of_tls(pair: Pair) -> None:
    """OpenSSL never reads it, so that it would stay in memory as long as the connection does."""
    pair.switch.write(b"the last message")
    with suppress(ssl.SSLWantReadError):
        pair.switch.unwrap()
    pair.say()
    assert pair.wire.read(1 << 16) == b"the last message"
    pair.other.sendall(bytes(1000))
    with pytest.raises(RefusedError, match="after the end of TLS"):
        pair.wire.read(1 << 16)


def test_a_channel_that_cannot_send_fails_its_wire_and_raises_nothing(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_arguments: object) -> bytes:
        raise RefusedError("TLS failed")

    monkeypatch.setattr(TlsChannel, "sent", refuses)
    assert not pair.wire.send(b"message")
    assert isinstance(pair.wire.failure, RefusedError)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_certificate_speaks_for_the_ids_that_it_is_bound_to_and_for_no_others(
    keys: Path, tmp_path: Path, framework: Framework
) -> None:
    binding = tmp_path / "bind.txt"
    own, other = fingerprint(keys, "switch"), fingerprint(keys, "other")
    binding.write_text(f"1 {own}\n2 {own}\n3 {own}  # and 4 is nobody's\n2 {other}\n")
    with BoundRig(tmp_path, framework, files(keys), binding) as rig:
        with ImitatedSwitch(rig.port, 1, rig.wiring.ports("s1"), tls=shown(keys, "other")) as liar:
            assert liar.wait_until_ended()
        with ImitatedSwitch(rig.port, 4, rig.wiring.ports("s4"), tls=shown(keys, "switch")) as unbound:
            assert unbound.wait_until_ended()
        for name in ("s1", "s2", "s3"):
            rig.connect(name, shown(keys, "other" if name == "s2" else "switch"))
        rig.process.wait_until_ready(["s1", "s2", "s3"])
        wait_until(lambda: len(rig.events(event_log.SWITCH_UNBOUND)) == 2, "both are told of")
        told = {event["datapath_id"]: event["certificate"] for event in rig.events(event_log.SWITCH_UNBOUND)}
    assert told == {f"{1:016x}": other, f"{4:016x}": own}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("1 12:34\n", "bind.txt:1: found '12:34', expected 64 hexadecimal digits"),
        (None, "none.txt: cannot be read (No such file or directory), expected lines"),
    ],
)
@pytest.mark.parametrize("verb", ["controller", "scheduler"])
def test_a_bad_file_of_bindings_is_refused_in_one_line(
    keys: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: str, text: str | None, complaint: str
) -> None:
    path = tmp_path / ("none.txt" if text is None else "bind.txt")
    if text is not None:
        path.write_text(text)
    tls = [f"--tls-key={keys}/controller.key", f"--tls-certificate={keys}/controller.pem", f"--tls-ca={keys}/ca.pem"]
    assert main([*verb_words(tmp_path, verb), *tls, f"--tls-bind={path}"]) == 2
    said = capsys.readouterr().err
    assert complaint in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("verb", ["controller", "scheduler"])
def test_bindings_without_tls_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: str) -> None:
    assert main([*verb_words(tmp_path, verb), "--tls-bind=bind.txt"]) == 2
    assert "error: option:--tls-bind: switches do not connect by TLS" in capsys.readouterr().err


def verb_words(folder: Path, verb: str) -> list[str]:
    save_plan(motivation_plan(), folder / "plan.json")
    return [verb, *([str(folder / "plan.json")] if verb == "controller" else []), f"--port={free_port()}"]


def test_a_handshake_may_begin_in_pieces_and_costs_no_session_before_its_first_record_is_there(keys: Path) -> None:
    context = server_context(str(keys / "controller.key"), str(keys / "controller.pem"), str(keys / "ca.pem"))
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    switch = shown(keys, "switch").wrap_bio(incoming, outgoing)
    with suppress(ssl.SSLWantReadError):
        switch.do_handshake()
    hello, channel = outgoing.read(), TlsChannel(context)
    for at in range(len(hello) - 1):
        assert channel.received(hello[at : at + 1]) == b""
    assert channel._session is None
    assert channel.sent(b"") == b""
    channel.received(hello[-1:])
    incoming.write(channel.sent(b""))
    switch.do_handshake()
    channel.received(outgoing.read())
    assert channel.is_open
    assert channel.fingerprint == fingerprint(keys, "switch")


@pytest.mark.parametrize("first", [b"\x00", b"GET / HTTP/1.1", b"\x04\x00\x00\x08", b"\x16\x03\x01\x40\x01"])
def test_what_begins_no_handshake_is_refused_by_its_first_bytes(keys: Path, first: bytes) -> None:
    channel = TlsChannel(server_context(str(keys / "controller.key"), str(keys / "controller.pem"), None))
    with pytest.raises(RefusedError, match="TLS failed"):
        channel.received(first)
