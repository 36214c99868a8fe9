"""A controller with a key and certificates talks to switches that show one of the same authority, and to no others."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

import pytest

from kuijia.cli.main import main
from kuijia_app.framework.tls import TlsFiles
from kuijia_app.tables.options import OptionWords
from te_solver.formats.plan_file import save_plan
from testbed.controllers.application_process import Framework, Listening
from testbed.controllers.controller_process import ControllerProcess
from tests.certificates import make_certificate
from tests.kuijia_app.dummy_switches import free_port
from tests.kuijia_app.plans import motivation_plan

pytestmark = pytest.mark.slow

HELLO = 0
"""Type of the first message of either side (OpenFlow 1.3, section 7.5.1), its second byte."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys")
    for name in ("controller", "switch"):
        make_certificate(folder, name)
    stranger = folder / "stranger"
    stranger.mkdir()
    make_certificate(stranger, "switch")
    save_plan(motivation_plan(), folder / "plan.json")
    return folder


def first_message(port: int, shown: Path, authority: Path) -> bytes:
    """Return the first bytes sent to a switch that shows a certificate."""
    context = ssl.create_default_context(cafile=authority)
    context.check_hostname = False
    context.load_cert_chain(shown / "switch.pem", shown / "switch.key")
    with socket.create_connection(("127.0.0.1", port), 10) as plain, context.wrap_socket(plain) as secure:
        return secure.recv(8)


@pytest.mark.parametrize("framework", ["os-ken", "ryu"])
def test_only_switches_with_a_certificate_of_the_authority_are_talked_to(
    folder: Path, tmp_path: Path, framework: Framework
) -> None:
    tls = TlsFiles(folder / "controller.key", folder / "controller.pem", folder / "ca.pem")
    listening = Listening(free_port(), tls=tls)
    process = ControllerProcess(tmp_path, folder / "plan.json", OptionWords(), framework, listening)
    process.start()
    try:
        assert first_message(listening.port, folder, folder / "ca.pem")[1] == HELLO
        with pytest.raises((ssl.SSLError, ConnectionError)):
            first_message(listening.port, folder / "stranger", folder / "ca.pem")
        assert first_message(listening.port, folder, folder / "ca.pem")[1] == HELLO
    finally:
        process.stop()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--tls-key", "controller.key"], "option:--tls-certificate: is missing"),
        (
            ["--tls-key", "switch.key", "--tls-certificate", "controller.pem", "--tls-ca", "ca.pem"],
            "not usable with the key",
        ),
        (["--tls-key", "controller.key", "--tls-certificate", "controller.pem", "--tls-ca", "none"], "not usable"),
    ],
)
def test_files_that_do_not_go_together_are_refused(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    complaint: str,
) -> None:
    monkeypatch.chdir(folder)
    assert main(["controller", "plan.json", "--port", str(free_port()), *words]) == 2
    assert complaint in capsys.readouterr().err
