"""`kuijia whatif --backend packet`: its summary, its file, and words about options that do not fit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kuijia.cli.main import main

pytestmark = pytest.mark.usefixtures("folder")

FEW = ("--sizes", "20000", "--seconds", "0.2", "--workers", "1")


def simulated(*arguments: str) -> int:
    return main(["whatif", "fig1", "fig1", "--backend", "packet", *arguments])


def test_the_summary_says_what_was_simulated_and_names_the_worst_failures(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert simulated(*FEW, "--rate-scale", "0.05", "-o", "out") == 0
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert lines[0] == "fig1: 5 failures, 1 pair"
    assert lines[2] == "all rates, and with them the number of flows, times 0.05; queues of 1.5 MB"
    assert lines[3] == "switches notice after 10 ms; controller at s1, up to 5 ms away"
    assert [line.split()[0] for line in lines[7:10]] == ["no", "kuijia", "rescaling"]
    assert "worst failures under rescaling (share of all payload missing, of each role's)" in lines
    assert printed.err.count("precomputed, ffc, recompute left out: switches cannot be programmed with them") == 1
    assert "10 links without a delay: each gets 0.005 s (--link-delay)" in printed.err
    data = json.loads((folder / "out" / "whatif-packets.json").read_text())
    assert [each["name"] for each in data["schemes"]] == ["kuijia", "rescaling"]
    for scheme in data["schemes"]:
        assert {each["name"] for each in scheme["failures"]} == {"s1-s2", "s1-s3", "s1-s4", "s2-s4", "s3-s4"}
        shares = [each["missing"] for each in scheme["failures"]]
        assert scheme["missing"]["all"]["worst"] == max(shares)
        assert scheme["missing"]["all"]["mean"] == pytest.approx(sum(shares) / 5)
    kuijia, rescaling = (each["missing"]["aboriginal"]["mean"] for each in data["schemes"])
    assert kuijia < 0.02 < rescaling
    assert data["conditions"]["scale"] == 0.05
    assert data["conditions"]["controller"] == "s1"


def test_two_processes_find_what_one_does(capsys: pytest.CaptureFixture[str]) -> None:
    found = []
    for workers in ("1", "2"):
        few = ("--sizes", "20000", "--seconds", "0.2", "--rate-scale", "0.05", "--failures", "s2-s4,s3")
        assert simulated(*few, "--workers", workers, "--json") == 0
        found.append({**json.loads(capsys.readouterr().out), "provenance": None})
    assert found[0] == found[1]
    assert {each["name"] for each in found[1]["schemes"][0]["failures"]} == {"s2-s4", "s3"}


def test_large_networks_are_scaled_to_half_a_million_packets(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--sizes", "1000000000000", "--load", "10", "--seconds", "60")
    assert simulated(*arguments, "--schemes", "kuijia") == 2  # too few flows are left
    assert capsys.readouterr().err.startswith("error: option:--load: no flow comes")
    assert simulated("--rate-scale", "1", "--load", "10", "--seconds", "60", "--sizes", "1") == 2
    assert "data packets in a run, expected a factor that leaves at most" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--schemes kuijia,ffc", "--schemes: switches cannot be programmed with ffc, expected kuijia or rescaling"),
        ("--udp", "--udp: is of the flow model, expected --backend flow"),
        ("--probabilities table1-2min", "--probabilities: is of the flow model, expected --backend flow"),
        ("--transport reno", "--transport: 'reno' is unknown"),
        ("--sizes none-such", "none-such: there is no such file"),
        ("--controller-at s9", "--controller-at: unknown node 's9', expected a node of fig1"),
        ("--seed 9223372036854775808", "--seed: is 9223372036854775808"),
        ("--seconds 0", "--seconds: '0', expected 0.01 to 60 seconds"),
        ("--protect 2", "--protect: none of the compared schemes has this option"),
    ],
)
def test_what_cannot_be_simulated_is_said_in_a_line(
    arguments: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status: object = simulated(*arguments.split())
    except SystemExit as stop:
        status = stop.code
    printed = capsys.readouterr().err
    assert status == 2
    assert said in printed
    assert printed.startswith("error: ")
    assert printed.count("\n") == 1


def test_options_of_packets_are_refused_by_the_flow_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["whatif", "fig1", "fig1", "--buffer", "9000"]) == 2
    said = "error: option:--buffer: is of simulated packets, expected --backend packet\n"
    assert capsys.readouterr().err == said
