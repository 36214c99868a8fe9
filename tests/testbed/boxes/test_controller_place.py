"""The controller's address is tried on this machine before any box is contacted, then called by switches."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kuijia.cli.main import main
from kuijia_base.errors import InputError
from testbed.boxes.fleet import stand_in
from testbed.boxes.inventory import read_inventory
from testbed.boxes.network import BoxGround
from testbed.boxes.survey import call_controller
from tests.certificates import make_certificate
from tests.testbed.boxes.inventory_files import inventory_file

ELSEWHERE = {"address": "198.51.100.77"}
JUNK = {"address": "127.0.0.1", "tls": dict.fromkeys(("key", "certificate", "ca"), "junk.pem")}


@contextmanager
def listening() -> Iterator[socket.socket]:
    """Listen on a port of this machine."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener


@pytest.mark.parametrize(
    ("controller", "said"),
    [
        (ELSEWHERE, "inventory.yaml:controller: 198.51.100.77: cannot listen: Cannot assign requested address"),
        (JUNK, "junk.pem: not usable with the key"),
    ],
)
def test_it_is_refused_with_status_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], controller: dict[str, object], said: str
) -> None:
    inventory = str(inventory_file(tmp_path, controller))
    for action in ("check", "up"):
        assert main(["boxes", action, inventory, "fig1"]) == 2
        assert said in capsys.readouterr().err
    on_boxes = ["--backend", "boxes", "--inventory", inventory, "--schemes", "kuijia", "--quick"]
    assert main(["run", "table2", *on_boxes, "-o", str(tmp_path / "results")]) == 2
    captured = capsys.readouterr().err
    assert said in captured
    assert "starting" not in captured


def test_keys_with_a_passphrase_are_refused_without_asking_for_it(tmp_path: Path) -> None:
    make_certificate(tmp_path, "locked", "secret")
    tls = {"key": "locked.key", "certificate": "locked.pem", "ca": "ca.pem"}
    inventory = read_inventory(inventory_file(tmp_path, {"address": "127.0.0.1", "tls": tls}))
    with pytest.raises(InputError, match=r"locked\.pem: not usable with the key"):
        inventory.require_controller_here()


def test_its_port_must_be_free_for_a_run_and_need_not_be_for_a_check(tmp_path: Path) -> None:
    with listening() as other:
        port = other.getsockname()[1]
        inventory = read_inventory(inventory_file(tmp_path, {"address": "127.0.0.1", "port": port}))
        inventory.require_controller_here()
        with pytest.raises(InputError, match=f"127.0.0.1:{port}: cannot listen: Address already in use"):
            BoxGround(inventory).require(print)
    BoxGround(inventory).require(print)


def test_one_that_can_listen_by_tls_is_taken(tmp_path: Path) -> None:
    make_certificate(tmp_path, "controller")
    tls = {"key": "controller.key", "certificate": "controller.pem", "ca": "ca.pem"}
    read_inventory(inventory_file(tmp_path, {"address": "127.0.0.1", "tls": tls})).require_controller_here()


def test_whoever_comes_to_the_controllers_place_hears_its_word_as_long_as_somebody_stands_there() -> None:
    with listening() as other:
        port = other.getsockname()[1]  # free after the block
    with stand_in("127.0.0.1", port) as word:
        assert [call_controller("127.0.0.1", port, word, 5.0) for _ in range(3)] == [None] * 3
    assert call_controller("127.0.0.1", port, word, 5.0) == "Connection refused"
    with stand_in("127.0.0.1", port):  # at once again, as a controller will
        pass


def test_nobody_can_stand_where_somebody_else_does() -> None:
    with listening() as other, pytest.raises(OSError, match="in use"), stand_in(*other.getsockname()):
        pass


def test_somebody_else_at_the_controllers_place_is_told_from_it() -> None:
    with listening() as other:
        host, port = other.getsockname()
        assert call_controller(host, port, "word", 0.05) == "no answer within 0.05 s"
    with stand_in(host, port):
        assert call_controller(host, port, "another word", 5.0) == "another program answers there"


def test_a_place_where_connections_are_taken_and_closed_is_not_the_controllers() -> None:
    with listening() as other:

        def take_and_close() -> None:
            other.accept()[0].close()

        closer = threading.Thread(target=take_and_close)
        closer.start()
        host, port = other.getsockname()
        assert call_controller(host, port, "word", 5.0) == "the connection is closed without an answer"
        closer.join()
