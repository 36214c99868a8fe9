"""ExpressPass in its paper's data centre, and the buffers that reactive transports need."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from experiments.flashpass import data_center
from experiments.flashpass.data_center import RackRun, outcome, run_queues, run_waste
from experiments.flashpass.data_center import data_center as network_of
from experiments.flashpass.fig2 import BufferRun, needed, utilisation
from experiments.flashpass.schemes import PUBLISHED
from simulator.packet.credited import EXPRESSPASS_PORTS, ExpressPass
from simulator.packet.flows import Flows
from simulator.packet.routing import Ecmp
from simulator.packet.scenario import Setting
from simulator.packet.simulation import Simulation
from tests.experiments.executions import execution_in


def test_the_data_centre_is_that_of_the_paper() -> None:
    network = network_of(10_000.0)
    assert len(network.hosts) == 192
    assert network.nodes - 192 == 8 + 16 + 32
    racks = {link.target for link in network.links if link.source < 192}
    assert len(racks) == 32
    for rack in racks:
        down = [link for link in network.links if link.source == rack and link.target < 192]
        up = [link for link in network.links if link.source == rack and link.target >= 192]
        assert (len(down), len(up)) == (6, 2)
    cores = dict.fromkeys(range(192, 200), 0)
    for link in network.links:
        if link.source in cores:
            cores[link.source] += 1
    assert set(cores.values()) == {8}


def test_the_largest_round_trip_of_the_data_centre_is_that_of_the_paper() -> None:
    network = network_of(10_000.0)
    pair = Flows.of(0, 191, ExpressPass(), size=1460)
    simulation = Simulation(EXPRESSPASS_PORTS.on(network), [pair], Setting())
    simulation.complete(1.0)
    sending = 8e-6 * 6 * (84 + 1538) / 10_000
    request = 8e-6 * 6 * 84 / 10_000
    assert float(simulation.flow_results().completion[0]) == pytest.approx(1.5 * 52e-6 + sending + request, rel=0.02)


def test_every_host_of_the_data_centre_reaches_the_others_over_both_aggregation_switches() -> None:
    choices = Ecmp(network_of(10_000.0)).choices(191)
    assert len(choices[0]) == 1
    rack = network_of(10_000.0).links[choices[0][0]].target
    assert len(choices[rack]) == 2


def test_expresspass_loses_no_data_and_keeps_queues_short() -> None:
    found = outcome(RackRun("web search", 0.6, 10_000.0, 1 / 16, 60, 1))
    assert found["dropped"] == found["unfinished"] == 0
    assert 0 < found["mean"] < found["peak"] < 60


def test_a_lower_first_rate_wastes_fewer_credits_of_short_flows() -> None:
    case = RackRun("web server", 0.6, 10_000.0, 1 / 2, 150, 1)
    fast, slow = outcome(case), outcome(replace(case, start=1 / 16))
    assert 0 < slow["unused"] / slow["credits"] < fast["unused"] / fast["credits"] < 0.6


def test_data_centre_experiments_have_published_numbers_beside_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_center, "WORKLOADS", {"web server": "web-server", "cache follower": "cache-follower"})
    monkeypatch.setattr(data_center, "LOADS", (0.2,))
    monkeypatch.setattr(data_center, "RATES", (10_000.0,))
    monkeypatch.setattr(data_center, "_QUICK_FLOWS", 10)
    queues = run_queues(execution_in(tmp_path, "expresspass-queues"))
    assert "38.5" in queues.text
    waste = run_waste(execution_in(tmp_path, "expresspass-waste"))
    exhibit = waste.summary["exhibits"][0]  # type: ignore[index]  # JSON data
    points = {line["label"]: line["points"] for line in exhibit["lines"]}["10 Gbit/s, 1/16"]
    assert {point["x"]: point["published"] for point in points} == {"web server": 19, "cache follower": 9}
    assert all(point["value"] > 0 for point in points)


def test_all_flows_of_a_shuffle_end_soon_after_what_a_link_needs_for_its_data() -> None:
    found = [data_center.shuffled(data_center.TaskCase(name, 1, 1, hosts=8)) for name in data_center.TRANSPORTS]
    for run in found:
        assert run["unfinished"] == 0
        assert run["median"] <= run["99th"] <= run["longest"]
        assert run["longest"] > 1
    assert found[0]["longest"] < 1.2


def test_a_shuffle_of_the_paper_takes_what_is_published() -> None:
    ideal = data_center.ideal(data_center.HOSTS, data_center.FULL_TASKS)
    median, *_, longest = PUBLISHED["shuffle"]["expresspass"]
    assert ideal < median < longest < 1.1 * ideal


def test_the_shuffle_has_published_numbers_beside_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = {"median": 1.0, "99th": 1.1, "longest": 1.2, "unfinished": 3}
    monkeypatch.setattr(data_center, "shuffled", lambda *_: run)
    outcome = data_center.run_shuffle(execution_in(tmp_path, "expresspass-shuffle"))
    assert outcome.broken == ()  # only sizes differ
    assert "differs" in outcome.text
    assert "A host receives 39 flows of 1 MB" in outcome.text
    assert "9 flows of all runs had not ended" in outcome.text


def test_a_tenth_of_the_buffer_by_formula_costs_throughput() -> None:
    assert needed(0.5) == 1.0
    assert needed(0.2) == pytest.approx(PUBLISHED["cubic buffer"])
    whole, tenth = (utilisation(BufferRun("NewReno", part * needed(0.5), 20.0, 1)) for part in (1.0, 0.1))
    assert whole > 0.99
    assert 0.7 < tenth < 0.97
