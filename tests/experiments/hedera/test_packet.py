"""Hedera in the packet model: ways by the tables, the scheduler in the loop, shuffles, options."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest

from experiments.hedera import large, testbed
from experiments.hedera.large import ArrivalCase, run_arrivals
from experiments.hedera.packet import Forwarding, PacketNetwork, reverse_of
from experiments.hedera.schemes import (
    ANNEALING,
    ECMP,
    FIRST_FIT,
    NON_BLOCKING,
    ONE_TREE,
    PacketOptions,
    centre_of,
    refuse_packet_options,
)
from experiments.hedera.shuffle import ShuffleCase, figures, receivers_of, run_shuffle_case, transfers_from
from experiments.hedera.shuffle_readings import published_in_packets
from experiments.hedera.testbed import MatrixCase, Span, emulated_parts, exhibits, parts_by_backend, run_case
from hedera.network.data_centre import DataCentre
from hedera.network.fat_tree import FatTree
from hedera.placement.registry import GlobalFirstFit
from hedera.scheduling.elephant_schedule import ElephantSchedule
from hedera.scheduling.polling import TCP, FiveTuple
from hedera.scheduling.tables import Routing
from kuijia.cli.main import main
from kuijia_base.errors import InputError
from kuijia_base.sweep.workers import add_workers

RESULTS = Path(__file__).resolve().parents[3] / "docs/results/hedera"
SLOW = 100.0
"""Mbit/s of cables in these tests: a tenth of the packets."""

OPTIONS = PacketOptions()


def key_between(centre: DataCentre, source: int, target: int, port: int) -> FiveTuple:
    sites = centre.wiring.sites
    return FiveTuple(sites[source].address, sites[target].address, TCP, port, 5001)


def case_of(scheme: str, pattern: str = "stride8") -> MatrixCase:
    return MatrixCase(pattern, scheme, 1, SLOW, 0.2, Span(2, 1.0, 1.5), OPTIONS)


def test_the_hash_sends_flows_by_all_paths_and_acknowledgements_back_by_the_switches_of_the_slot() -> None:
    tree = FatTree(4)
    centre = DataCentre(tree)
    forwarding = Forwarding(centre, Routing(centre), seed=1)
    by_label = [tree.path(0, 15, label) for label in range(4)]
    keys = [key_between(centre, 0, 15, port) for port in range(20000, 20400)]
    used = Counter(by_label.index(forwarding.path(key, {})) for key in keys)
    assert sorted(used) == [0, 1, 2, 3]
    assert min(used.values()) > 60
    assert all(forwarding.slot(key) == forwarding.slot(reverse_of(key)) for key in keys)
    assert {forwarding.path(reverse_of(key), {}) for key in keys} <= {tree.path(15, 0, label) for label in range(4)}


def test_another_seed_is_another_hash() -> None:
    centre = DataCentre(FatTree(4))
    routing = Routing(centre)
    one, other = (Forwarding(centre, routing, seed) for seed in (1, 2))
    keys = [key_between(centre, 0, 15, port) for port in range(20000, 20050)]
    assert [one.slot(key) for key in keys] != [other.slot(key) for key in keys]


def test_entries_of_the_schedule_lead_flows_to_the_paths_of_their_labels() -> None:
    tree = FatTree(4)
    centre = DataCentre(tree)
    routing = Routing(centre)
    forwarding = Forwarding(centre, routing, seed=1)
    schedule = ElephantSchedule(centre, GlobalFirstFit(), routing)
    # All to one pod's hosts from one pod, so that each needs a core switch of its own.
    keys = [key_between(centre, host, host + 4, 20000) for host in range(4)]
    found = schedule.run(dict.fromkeys(keys, 900.0))
    entries = {(entry.switch, entry.flow): entry for entry in found.put}
    paths = [forwarding.path(key, entries) for key in keys]
    assert sorted(paths[0]) == sorted(tree.path(0, 4, 0))
    crossed = [link for path in paths for link in path if tree.inner[link]]
    assert len(crossed) == len(set(crossed))


def test_a_flow_with_an_entry_on_one_switch_goes_by_the_hash_at_the_others() -> None:
    tree = FatTree(4)
    centre = DataCentre(tree)
    routing = Routing(centre)
    forwarding = Forwarding(centre, routing, seed=1)
    key = key_between(centre, 0, 15, 20000)
    found = ElephantSchedule(centre, GlobalFirstFit(), routing).run({key: 900.0})
    first = {(entry.switch, entry.flow): entry for entry in found.put if entry.switch == "p0e0"}
    # Labels 0 and 1 are the core switches of the first aggregation switch.
    hashed = [tree.path(0, 15, label) for label in range(4)].index(forwarding.path(key, {}))
    assert forwarding.path(key, first) == tree.path(0, 15, hashed % 2)


@pytest.mark.parametrize("scheme", [NON_BLOCKING, ONE_TREE, ECMP])
def test_host_numbers_mean_the_same_hosts_in_every_network(scheme: str) -> None:
    sites = centre_of(scheme, 4, SLOW).wiring.sites
    assert [site.name for site in sites] == [f"h{host}" for host in range(16)]


def test_schedulers_carry_nearly_all_where_one_tree_carries_a_quarter() -> None:
    found = {scheme: run_case(case_of(scheme)) for scheme in (NON_BLOCKING, ONE_TREE, ECMP, FIRST_FIT, ANNEALING)}
    goodput = {scheme: sum(run["goodput"]) for scheme, run in found.items()}
    control = goodput[NON_BLOCKING]
    assert control == pytest.approx(16 * SLOW * 1460 / 1500, rel=0.02)
    assert goodput[ONE_TREE] < 0.27 * control
    assert goodput[ECMP] < 0.8 * control
    assert goodput[FIRST_FIT] > 0.95 * control
    assert goodput[ANNEALING] > 0.9 * control  # it moves flows in every round
    assert found[ANNEALING]["rounds"] == 7
    assert found[ECMP]["rounds"] == 0
    for scheme in (ONE_TREE, ECMP):
        assert found[scheme]["flow"] / found[NON_BLOCKING]["flow"] == pytest.approx(goodput[scheme] / control, abs=0.08)


def test_a_case_has_the_same_result_again_and_another_one_with_another_seed() -> None:
    case = replace(case_of(ECMP, "rand0"), span=Span(1, 0.2, 0.4))
    assert run_case(case) == run_case(case)
    assert run_case(case) != run_case(replace(case, seed=2))


def test_what_the_scheduler_decides_takes_effect_three_messages_after_its_poll() -> None:
    options = replace(OPTIONS, message_delay=10.0)
    network = PacketNetwork(FIRST_FIT, 4, SLOW, 0.5, options, seed=1)
    tree = FatTree(4, SLOW)
    # Two flows that share a port of their first switch until the scheduler parts them.
    ports = range(20000, 20400)
    ways = [(port, network.label_of((0, 15), port, [tree.path(0, 15, label) for label in range(4)])) for port in ports]
    one = next(port for port, label in ways if label == 1)
    other = next(
        port for port in ports if network.label_of((1, 14), port, [tree.path(1, 14, label) for label in range(4)]) == 1
    )
    network.add([(0, 15), (1, 14)], [one, other], [0.0, 0.0])
    simulation = network.simulation
    shared = tree.path(0, 15, 1)[1]
    simulation.run(0.529)
    before = int(simulation.port_counters()["sent_bytes"][shared])
    assert len(network.loop.rounds if network.loop else ()) == 1
    simulation.run(0.531)
    simulation.run(0.75)
    after = int(simulation.port_counters()["sent_bytes"][shared]) - before
    rates = simulation.flow_results().goodput.astype(float)
    # Both have gone to other labels, or one has: no link carries both any more.
    simulation.run(1.0)
    later = simulation.flow_results().goodput.astype(float) - rates
    assert before > 0.9 * 0.5 * SLOW * 1e6 / 8
    assert after < 0.9 * before
    assert (later * 8e-6 / 0.25 > 0.9 * SLOW).all()


def test_a_host_begins_its_next_transfer_when_one_has_ended_and_sends_to_all_others() -> None:
    case = ShuffleCase(NON_BLOCKING, 1, 100_000, 2, "random", SLOW, 0.5, OPTIONS)
    run = run_shuffle_case(case)
    transfers = transfers_from(run)
    assert len(transfers) == 240
    assert len({(each.source, each.target) for each in transfers}) == 240
    for host in range(16):
        own = sorted((each for each in transfers if each.source == f"h{host}"), key=lambda each: each.began)
        assert [int(each.target[1:]) for each in own] == receivers_of(host, 16, 1)
        for place, each in enumerate(own[2:], start=2):
            ended = sorted(other.ended for other in own[:place])
            assert ended[place - 2] <= each.began < ended[place - 2] + 0.002
    assert figures(transfers, case.size)["host_goodput_mbps"] < SLOW


def test_hosts_that_all_begin_with_the_same_receiver_wait_for_each_other() -> None:
    case = ShuffleCase(NON_BLOCKING, 1, 100_000, 1, "same", SLOW, 0.5, OPTIONS)
    waiting = figures(transfers_from(run_shuffle_case(case)), case.size)["host_goodput_mbps"]
    in_turn = replace(case, order="rotated")
    free = figures(transfers_from(run_shuffle_case(in_turn)), case.size)["host_goodput_mbps"]
    assert waiting < 0.5 * free


def test_orders_of_receivers() -> None:
    assert receivers_of(2, 5, 1, "same") == [0, 1, 3, 4]
    assert receivers_of(2, 5, 1, "rotated") == [3, 4, 0, 1]
    assert sorted(receivers_of(2, 5, 1)) == [0, 1, 3, 4]


def test_packets_meet_the_bars_around_the_emulation() -> None:
    data: dict[str, Any] = json.loads((RESULTS / "packet" / "hedera-testbed.json").read_text())
    made = {exhibit.name: exhibit for exhibit in exhibits(data)}
    assert data["backend"] == "packet"
    assert len(data["patterns"]) == 30
    assert set(parts_by_backend(data)) == {"packet", "flow", "emulation"}
    compared = made["hedera-testbed-backends"]
    assert len(compared.checks) == 2
    assert compared.passed


def test_a_file_that_is_no_emulation_of_these_matrices_is_refused(tmp_path: Path) -> None:
    options = testbed.options_from(parsed("--full"), "packet", quick=False)
    parts = emulated_parts(RESULTS / "hedera-testbed.json", options)
    assert len(parts) == 30
    assert parts["stride8"][ANNEALING] == pytest.approx(0.98, abs=0.02)
    with pytest.raises(InputError, match="is not emulation"):
        emulated_parts(RESULTS / "packet" / "hedera-testbed.json", options)
    lacking = tmp_path / "file.json"
    lacking.write_text('{"backend": "emulation", "patterns": {}}')
    with pytest.raises(InputError, match=r"file\.json"):
        emulated_parts(lacking, options)


def parsed(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true")
    add_workers(parser)
    testbed.configure(parser)
    return parser.parse_args(arguments)


def test_the_packet_model_has_the_authors_rate_and_the_emulation_its_own() -> None:
    packet, emulation = (testbed.options_from(parsed(), name, quick=False) for name in ("packet", "emulation"))
    assert (packet.nic_rate, packet.period, packet.span) == (1000.0, 0.5, Span(3, 2.0, 3.0))
    assert (emulation.nic_rate, emulation.period) == (5.0, 1.0)
    full = testbed.options_from(parsed("--full"), "packet", quick=False)
    assert (full.period, full.span) == (5.0, Span(60, 10.0, 50.0))


@pytest.mark.parametrize("given", [("--switch-buffer", "64"), ("--tcp", "newreno"), ("--workers", "2")])
def test_options_of_packets_are_refused_elsewhere(given: tuple[str, str]) -> None:
    refuse_packet_options(parsed(), "emulation")
    with pytest.raises(InputError, match=f"{given[0]}.*changes nothing on emulation"):
        refuse_packet_options(parsed(*given), "emulation")


@pytest.mark.parametrize(
    "given",
    [("--switch-buffer", "1"), ("--cable-delay", "1e30"), ("--message-delay", "0"), ("--switch-buffer", "1e300")],
)
def test_values_that_cannot_be_simulated_are_refused(
    given: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parsed(*given)
    assert f"argument {given[0]}" in capsys.readouterr().err


def test_addresses_are_those_of_the_paper() -> None:
    network = PacketNetwork(ECMP, 4, SLOW, 1.0, OPTIONS, seed=1)
    network.add([(0, 5)], [20000], [0.0])
    assert network.keys[0].target == IPv4Address("10.1.0.3")


def arrivals(scheme: str, seed: int = 1) -> ArrivalCase:
    return ArrivalCase(scheme, 4, 0.6, "data-mining", 1.0, 0.1, seed, OPTIONS)


@pytest.mark.parametrize("scheme", [ECMP, FIRST_FIT, NON_BLOCKING])
def test_flows_come_and_go_with_the_same_goodput_as_in_the_flow_model(scheme: str) -> None:
    found = run_arrivals(arrivals(scheme))
    assert found["flows"] > 3
    # Hosts send .96 of their cable in packets, .78 or more in the flow model.
    assert 0.9 < found["packet"]["goodput"] / found["flow"]["goodput"] < 1.35
    assert abs(found["packet"]["finished"] - found["flow"]["finished"]) <= 1
    assert found == run_arrivals(arrivals(scheme))


def test_rounds_on_arrays_place_the_elephants_that_run_and_nothing_else() -> None:
    hashed, placed = (run_arrivals(arrivals(scheme, seed=3)) for scheme in (ECMP, FIRST_FIT))
    assert hashed["packet"]["elephants per round"] == 0
    assert 0 < placed["packet"]["elephants per round"] <= placed["flows"]


def test_arriving_flows_in_packets_are_told_beside_the_flow_model(tmp_path: Path) -> None:
    arguments = ["--backend", "packet", "--quick", "--seconds", "0.2", "--workers", "1"]
    assert main(["run", "hedera-8192", *arguments, "-o", str(tmp_path)]) in (0, 1)
    data = json.loads((tmp_path / "hedera-8192.json").read_text())
    (exhibit,) = large.exhibits(data)
    assert [line.label for line in exhibit.lines][:2] == ["ecmp, packet", "ecmp, flow"]
    assert exhibit.backend == "packet"


def test_a_time_in_which_no_flow_begins_is_refused() -> None:
    with pytest.raises(InputError, match="no flow begins"):
        run_arrivals(replace(arrivals(ECMP), load=1e-6))


def test_a_ramp_of_the_flow_model_is_refused_in_packets(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name in ("hedera-8192", "hedera-shuffle"):
        status = main(["run", name, "--backend", "packet", "--quick", "--ramp", "1", "-o", str(tmp_path / name)])
        assert status == 2
        assert "changes nothing where TCP has its own" in capsys.readouterr().err


def test_readings_of_the_shuffle_are_relative_to_non_blocking() -> None:
    theirs = published_in_packets()
    assert theirs["host"] == pytest.approx(0.265, abs=0.001)
    assert theirs["last"] == pytest.approx(306.4 / 226.6)
    assert theirs[ONE_TREE] == pytest.approx(226.6 / 358.1)
    assert theirs["gain"] == pytest.approx(358.1 / 262.0)
