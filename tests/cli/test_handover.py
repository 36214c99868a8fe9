"""`kuijia handover` asks a controller by the address for its peers, and says in one line why there is no handover."""

from __future__ import annotations

import json

import pytest

from kuijia.cli.main import main
from kuijia_app.framework.handover_request import REQUEST, answer_to_request
from kuijia_app.framework.peer_links import PeerLinks
from tests.kuijia_app.dummy_switches import free_port


def answering(reason: str | None) -> str:
    """Return the address of a controller that gives this reason, None for a handover that is done."""
    address = ("127.0.0.1", free_port())
    PeerLinks(
        address, [], None, lambda line: answer_to_request(reason) if line == REQUEST else None, lambda *_trouble: None
    ).start()
    return f"{address[0]}:{address[1]}"


def test_a_handover_that_is_done_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    address = answering(None)
    assert main(["handover", address]) == 0
    assert capsys.readouterr().out == f"a peer of {address} acts now\n"
    assert main(["handover", address, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["done"] is True


def test_a_handover_that_is_refused_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["handover", answering("no peer is connected to switch s1")]) == 1
    assert capsys.readouterr() == ("", "error: no peer is connected to switch s1\n")


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (["here"], 2, "address of a controller: 'here', expected HOST:PORT"),
        (["127.0.0.1:0"], 2, "address of a controller: '127.0.0.1:0', expected a port from 1 to 65535"),
        (["a..b:1"], 2, "address of a controller: 'a..b:1', expected a name or an address before the port"),
        (["127.0.0.1:9", "--tls-key", "no.key"], 2, "option:--tls-certificate: is missing, expected --tls-key,"),
        (["127.0.0.1:9", "--tls-key=no", "--tls-certificate=no", "--tls-ca=no"], 2, "no: not usable for TLS: "),
        (["127.0.0.1:9"], 1, "127.0.0.1:9: Connection refused"),
    ],
)
def test_what_cannot_be_asked_is_told_in_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, told: str
) -> None:
    assert main(["handover", *arguments]) == status
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: {told}")
