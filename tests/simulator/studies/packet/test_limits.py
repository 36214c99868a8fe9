"""Links that a packet study cannot simulate are refused by file, name and the limit that holds for the transport."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from kuijia_base.errors import InputError
from simulator.flow_sizes.published import FlowSizes
from simulator.packet.credited import Credited, FlashPass
from simulator.packet.traffic.load import Reference
from simulator.packet.traffic.patterns import Stride
from simulator.packet.transports import Tcp, Transport
from simulator.packet.units import LONGEST
from simulator.studies.packet.networks import (
    MOST_IN_FLIGHT,
    Checked,
    LinkParameters,
    node_names,
    of_topology,
    require_links,
)
from simulator.studies.packet.study import Run, Study, Traffic, simulation_of
from simulator.studies.packet.transports import CREDITED
from te_solver.model.topology import Link, Topology


def pair(rate: float, delay: float = 0.0) -> Topology:
    return Topology("pair", ("a", "b"), (Link("a", "b", rate, delay), Link("b", "a", rate, delay)))


def check(topology: Topology, transports: Mapping[str, Transport | Credited], until: float = LONGEST) -> None:
    network = of_topology(topology, "pair.yaml", LinkParameters())
    require_links(Checked(network, node_names(network, topology), "pair.yaml"), transports, until)


def complaint(topology: Topology, transports: Mapping[str, Transport | Credited]) -> str:
    with pytest.raises(InputError) as told:
        check(topology, transports)
    assert str(told.value).startswith("pair.yaml: link 'a' to 'b' has ")
    return str(told.value).removeprefix("pair.yaml: link 'a' to 'b' has ")


@pytest.mark.parametrize("name", ["cubic", *CREDITED])
def test_links_slower_or_faster_than_any_transport_allows_are_refused(name: str) -> None:
    transports: Mapping[str, Transport | Credited] = {name: CREDITED.get(name, Tcp())}
    assert complaint(pair(0.005), transports) == "a rate of 0.005 Mbit/s, expected at least 0.01 Mbit/s"
    assert complaint(pair(2e6), transports) == "a rate of 2000000 Mbit/s, expected at most 1000000 Mbit/s"
    assert complaint(pair(1, 3e6), transports) == "a delay of 3000000 s, expected at most 2305843 s"


@pytest.mark.parametrize("share", [0.001, 0.0517, 0.3, 0.9])
@pytest.mark.parametrize("name", list(CREDITED))
def test_the_rate_that_a_refusal_asks_for_is_simulated_with_the_transport(name: str, share: float) -> None:
    transports = {name: replace(CREDITED[name], share=share)}
    told = complaint(pair(0.01), transports)
    assert told.endswith(f" Mbit/s with {name}")
    least = float(told.split("at least ")[1].split()[0])
    topology = pair(least)
    check(topology, transports)
    network = of_topology(topology, "pair.yaml", LinkParameters())
    traffic = Traffic(FlowSizes.of_one(1000), Stride(1), None, Reference.HOSTS, 1)
    study = Study(network, node_names(network, topology), traffic)
    simulation_of(replace(study, credits=replace(study.credits, share=share)), Run("drop-tail", name, None, 1))


def test_the_round_trips_of_flashpass_have_the_longest_time() -> None:
    told = complaint(pair(1, 2e6), {"flashpass": FlashPass()})
    assert told == "a delay of 2000000 s, expected at most 1152921 s with flashpass"


@pytest.mark.parametrize("name", list(CREDITED))
def test_more_packets_in_flight_on_a_link_than_memory_holds_are_refused_with_their_product(name: str) -> None:
    told = complaint(pair(1000, 1e6), {name: replace(CREDITED[name], share=0.05)})
    what = "emulation packets" if name.startswith("flash") else "credits"
    product = "1000 Mbit/s x 0.05 x 2e+06 s / 84 bytes"
    assert told == f"1.49e+11 {what} of {name} in flight, {product}, expected at most {MOST_IN_FLIGHT}"


def test_a_long_wait_fills_short_links_and_a_run_that_ends_sooner_does_not() -> None:
    transports: Mapping[str, Transport | Credited] = {"flashpass": FlashPass(wait=1e5)}
    assert "emulation packets of flashpass in flight" in complaint(pair(1000, 1e-3), transports)
    check(pair(1000, 1e-3), transports, until=0.1)
    check(pair(1000, 1e-3), {"flashpass": FlashPass(wait=0.1)})
