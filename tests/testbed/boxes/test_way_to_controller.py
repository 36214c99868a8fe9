"""Switches call the controller's place before any change, and obstacles on the way are reported."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import pytest

from kuijia.cli.main import main
from testbed.controllers.application_process import LISTEN_PORT
from tests.testbed.boxes.rig import CONTROLLER, Rig, needs_sshd, rig
from tests.testbed.emulated import topology

pytestmark = [pytest.mark.emulation, needs_sshd, pytest.mark.beside, pytest.mark.slow]


NETWORK = topology([("a", "b")])


@pytest.fixture(scope="module")
def switches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with rig(tmp_path_factory.mktemp("rig"), NETWORK, ["a"]) as made:
        made.boxes["a"].run("ip", "link", "add", "theirs0", "type", "veth", "peer", "name", "theirs1")
        made.boxes["a"].run("ip", "link", "set", "theirs0", "up")
        yield made


@pytest.mark.parametrize(
    ("route", "problem"),
    [
        (["unreachable", CONTROLLER], "No route to host"),
        ([CONTROLLER, "dev", "theirs0"], "No route to host"),  # the route exists, but nobody is at its end
        (["local", CONTROLLER, "dev", "lo"], "Connection refused"),  # as for 127.0.0.1: to itself
    ],
)
def test_a_switch_that_does_not_reach_the_controller_is_found(
    switches: Rig, capsys: pytest.CaptureFixture[str], route: list[str], problem: str
) -> None:
    a = switches.boxes["a"]
    a.run("ip", "route", "add", *route)
    try:
        assert main(["boxes", "check", str(switches.inventory), str(switches.topology_file)]) == 1
    finally:
        a.run("ip", "route", "delete", *route)
    said = capsys.readouterr().out
    assert f"switch a: it does not reach the controller at {CONTROLLER}:{LISTEN_PORT}: {problem}" in said
    assert "switch b: it does not reach" not in said


def test_where_a_controller_listens_already_a_check_says_that_nothing_stood_in_for_it(
    switches: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server((CONTROLLER, LISTEN_PORT)):
        assert main(["boxes", "check", str(switches.inventory), str(switches.topology_file), "--json"]) == 0
    untried = f"whether switches reach the controller at {CONTROLLER}:{LISTEN_PORT}"
    assert f"{untried}: Address already in use" in json.loads(capsys.readouterr().out)["notes"]


def test_a_check_keeps_out_of_the_controllers_place_where_a_run_may_need_it_and_up_says_what_it_could_not_try(
    switches: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [str(switches.inventory), str(switches.topology_file)]
    untried = f"whether switches reach the controller at {CONTROLLER}:{LISTEN_PORT}"
    with socket.create_server((CONTROLLER, LISTEN_PORT)):
        assert main(["boxes", "up", *words]) == 0
    assert f"not checked: {untried}: Address already in use" in capsys.readouterr().err
    try:
        assert main(["boxes", "check", *words, "--json"]) == 0
        assert f"{untried}: a run may need its place" in json.loads(capsys.readouterr().out)["notes"]
    finally:
        assert main(["boxes", "down", str(switches.inventory)]) == 0
