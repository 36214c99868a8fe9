"""`kuijia packet` runs transports by credits, and refuses what means nothing to them."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from kuijia.cli.main import main
from simulator.packet.load_balancing import LOAD_BALANCERS
from simulator.studies.packet.study import Traffic

pytestmark = pytest.mark.usefixtures("folder")

SMALL = ("leaf-spine:2,2,3", "--flows", "40", "--sizes", "web-server")
ABILENE = "topohub:topozoo/Abilene"


def packet(*arguments: str) -> int:
    return main(["packet", *arguments])


def test_transports_by_credits_run_on_a_topology_with_delays(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = (ABILENE, "--capacity", "1000", "--flows", "6", "--sizes", "200000", "--load", "0.01")
    assert packet(*arguments, "--transport", "flashpass*,expresspass,cubic", "--json") == 0
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert [run["transport"] for run in runs] == ["flashpass*", "expresspass", "cubic"]
    assert all(run["classes"][0]["finished"] == 6 for run in runs)


@pytest.mark.parametrize("transport", ["expresspass", "expresspass*"])
@pytest.mark.parametrize("balancer", [name for name, each in LOAD_BALANCERS.items() if each.several_paths])
def test_senders_do_not_balance_flows_that_keep_one_path_both_ways(
    balancer: str, transport: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert packet(*SMALL, "--transport", f"cubic,{transport}", "--load-balancer", balancer) == 2
    told = f"{balancer} is given with {transport}, whose flows keep one path, there and back"
    others = "fixed, ecmp, labels, flowlets, letflow, conga"
    assert capsys.readouterr().err == f"error: option:--load-balancer: {told}, expected {others}\n"


@pytest.mark.parametrize("balancer", ["round-robin", "random", "drb", "presto", "conga"])
def test_load_balancers_divide_packets_of_flashpass(balancer: str, capsys: pytest.CaptureFixture[str]) -> None:
    runs = []
    for name in ("fixed", balancer):
        assert packet(*SMALL, "--transport", "flashpass", "--load-balancer", name, "--json") == 0
        runs.append(json.loads(capsys.readouterr().out)["runs"])
    assert runs[0] != runs[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--wait", "1e-6"), r"packet:flashpass\.wait: 1e-06 s is less than the largest round trip, 0\.0\d+ s"),
        (("--queue", "cqrd"), "option:--queue: cqrd is given with flashpass, which has queues of its own"),
        (("--credit-share", "0"), "argument --credit-share: '0', expected 0.001 to 0.9 of a link's rate"),
    ],
)
def test_settings_that_credits_cannot_work_with_are_refused(
    options: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = packet(ABILENE, "--capacity", "1000", "--flows", "3", "--transport", "flashpass", *options)
    except SystemExit as stopped:
        status = int(str(stopped.code))
    assert status == 2
    assert re.search(message, capsys.readouterr().err)


@pytest.mark.parametrize("how", [("--at-once",), ("--flows", "10000000")])
def test_a_wait_that_is_too_short_is_refused_before_flows_are_made(
    how: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Traffic, "drawn", lambda *_: pytest.fail("flows were made"))
    network = ("leaf-spine:3,3,4", "--pattern", "stride:4", "--transport", "flashpass")
    assert packet(*network, *how, "--wait", "0") == 2
    told = "0 s is less than the largest round trip, 0.0000085376 s, expected 0.0000085376 s or more"
    assert capsys.readouterr().err == f"error: packet:flashpass.wait: {told}\n"


TCP = "newreno, cubic, dctcp, vegas, copa, bbr"
CREDITS = "flashpass, flashpass*, expresspass, expresspass*"


@pytest.mark.parametrize(
    ("transports", "option", "expected"),
    [
        ("cubic,dctcp", ("--wait", "1"), "flashpass, flashpass*"),
        ("expresspass", ("--wait", "1"), "flashpass, flashpass*"),
        ("cubic", ("--credit-share", "0.1"), CREDITS),
        ("flashpass,expresspass*", ("--mark", "20000"), TCP),
        ("flashpass", ("--handshake",), TCP),
        ("flashpass", ("--initial-window", "4"), TCP),
        ("expresspass", ("--first-timeout", "1"), TCP),
    ],
)
def test_options_that_no_transport_uses_are_refused(
    transports: str, option: tuple[str, ...], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert packet(*SMALL, "--transport", transports, *option) == 2
    told = f"given with --transport {transports}, expected {expected}"
    assert capsys.readouterr().err == f"error: option:{option[0]}: {told}\n"


@pytest.mark.parametrize(
    "option",
    [("--mark", "20000"), ("--handshake",), ("--wait", "0.001"), ("--credit-share", "0.1"), ("--min-timeout", "1")],
)
def test_options_that_one_of_several_transports_uses_are_taken(option: tuple[str, ...]) -> None:
    assert packet(*SMALL, "--transport", "dctcp,flashpass", *option, "--workers", "1") == 0


def test_transports_by_credits_have_no_marks(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert packet(*SMALL, "--transport", "dctcp,flashpass", "--details", "--workers", "1", "-o", "out") == 0
    lines = capsys.readouterr().out.splitlines()
    marked = {line.split()[1]: line.split()[-5] for line in lines[-2:]}
    assert marked["flashpass"] == "-"
    assert float(marked["dctcp"]) >= 0
    runs = json.loads((folder / "out" / "packet.json").read_text())["runs"]
    assert [run["marked"] is None for run in runs] == [False, True]
    for name, column in (("flows", "marked"), ("links", "marked_packets")):
        rows = csv.DictReader((folder / "out" / f"{name}-drop-tail-flashpass-0.5-1.csv").open())
        assert {row[column] for row in rows} == {""}


def test_a_cable_that_a_file_of_faults_makes_too_slow_is_named_by_that_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slow = [{"between": ["s0", "s3"], "rate": 0.1}]
    (folder / "faults.json").write_text(json.dumps({"format": "kuijia-faults", "version": 1, "slow_cables": slow}))
    arguments = (*SMALL, "--faults", "faults.json", "--transport", "cubic,expresspass")
    assert packet(*arguments) == 2
    told = "link 's0' to 's3' has a rate of 0.1 Mbit/s, expected at least 0.188572 Mbit/s with expresspass"
    assert capsys.readouterr().err == f"error: faults.json: {told}\n"
    assert packet(*arguments, "--credit-share", "0.2", "--until", "0.001", "--workers", "1") == 0


def test_rates_given_for_a_generated_network_are_refused_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert packet("single-switch:3", "--rate", "64k", "--transport", "flashpass") == 2
    told = "link 'h0' to 's0' has a rate of 0.064 Mbit/s, expected at least 0.188572 Mbit/s with flashpass"
    assert capsys.readouterr().err == f"error: network:single-switch:3: {told}\n"
