"""The backend over the packet model: counted packets show what the flow model says, and actions steer the run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from kuijia_base.errors import InputError, KuijiaError
from simulator.live.packet_model import LivePacketModel
from simulator.live.states import View
from te_solver.model.demands import Demand
from te_solver.model.plan import Plan
from te_solver.model.topology import Link, Topology
from te_solver.solve import solve
from testbed.web.backend import (
    DrawnLink,
    DrawnNode,
    SetClock,
    SetDemands,
    SetLink,
    SetNetwork,
    SetNode,
    SetScheme,
    WithdrawPlan,
)
from testbed.web.model_backend import ModelBackend
from tests.testbed.web.documented import documented_actions

CABLES = (("a", "b"), ("b", "d"), ("a", "d"), ("a", "c"), ("c", "d"))
TOPOLOGY = Topology(
    "square", ("a", "b", "c", "d"), tuple(Link(*ends, 10.0) for cable in CABLES for ends in (cable, cable[::-1]))
)
DEMANDS = (Demand("a", "d", 17.0), Demand("b", "d", 10.0))


def solved(topology: Topology, demands: Sequence[Demand]) -> Plan:
    return solve(topology, demands, 3)


@pytest.fixture(scope="module")
def plan() -> Plan:
    return solved(TOPOLOGY, DEMANDS)


@pytest.fixture
def model(plan: Plan) -> Iterator[LivePacketModel]:
    model = LivePacketModel(plan, ("kuijia", "rescaling"), runs=False)
    yield model
    model.close()


@pytest.fixture
def backend(model: LivePacketModel) -> ModelBackend:
    return ModelBackend(model, solved)


def goodput(view: View, *, victims: bool) -> float:
    return sum(flow.goodput for flow in view.flows if (flow.role == "victim") == victims)


def queue_rates(view: View, queue: int) -> float:
    return sum(
        each.rate
        for link in view.links
        for direction in link.directions
        for each in direction.queues
        if each.queue == queue
    )


def test_a_cut_hurts_only_victims_under_kuijia_and_heals(model: LivePacketModel, backend: ModelBackend) -> None:
    model.step(2.0)  # what flows may catch up with at the beginning is over
    model.step(1.0)
    for view in backend.state().views:
        assert goodput(view, victims=False) == pytest.approx(27 * 1448 / 1518, rel=0.03)
        assert queue_rates(view, 2) == 0
    before = backend.state().views
    backend.act(SetLink("a~d", up=False))
    model.step(2.0)
    kuijia, rescaling = backend.state().views
    others = sum(flow.wanted for flow in kuijia.flows if flow.role != "victim") * 1448 / 1518
    assert goodput(kuijia, victims=False) == pytest.approx(others, rel=0.03)
    assert goodput(rescaling, victims=False) < 0.9 * others
    assert queue_rates(kuijia, 2) > 1
    assert queue_rates(rescaling, 2) == 0
    assert not next(link for link in kuijia.links if link.id == "a~d").up
    assert kuijia.tunnels_dead
    backend.act(SetLink("a~d", up=True))
    model.step(3.0)
    model.step(1.0)
    for view, earlier in zip(backend.state().views, before, strict=True):
        assert goodput(view, victims=False) == pytest.approx(goodput(earlier, victims=False), rel=0.03)
    assert [entry.time for entry in backend.events(0) if entry.kind in {"cut", "heal"}] == [3.5, 5.5]


def test_other_demands_start_on_the_network_as_it_is(model: LivePacketModel, backend: ModelBackend) -> None:
    backend.act(SetNode("c", up=False))
    backend.act(SetDemands((("a", "d", 5.0, 0),)))
    model.step(1.0)
    for view in backend.state().views:
        assert view.nodes_down == ("c",)
        assert [flow.source for flow in view.flows] == ["a"]
        assert goodput(view, victims=False) == pytest.approx(5 * 1448 / 1518, rel=0.05)


def test_a_drawn_network_is_scaled_and_carries_packets(model: LivePacketModel) -> None:
    backend = ModelBackend(model, solved, largest=100.0)
    backend.act(SetLink("a~d", up=False))
    nodes = DrawnNode("x", 0.0, 0.0), DrawnNode("y", 1.0, 0.0), DrawnNode("z", 0.0, 1.0)
    links = DrawnLink("x", "y", 4000.0), DrawnLink("y", "z", 1000.0)
    backend.act(SetNetwork("drawn", nodes, links, (("x", "z", 800.0, 0),)))
    assert [cable.capacity for cable in backend.describe().links] == [100.0, 25.0]
    assert [link.id for link in backend.state().views[0].links] == ["x~y", "y~z"]
    model.step(1.0)
    model.step(1.0)
    for view in backend.state().views:
        assert goodput(view, victims=False) == pytest.approx(20 * 1448 / 1518, rel=0.05)
    crowded = tuple((a, b, 1.0, priority) for a, b in (("x", "y"), ("y", "z")) for priority in range(9))
    with pytest.raises(InputError, match="priority"):
        backend.act(SetNetwork("other", nodes, links, crowded))
    model.step(0.1)
    assert backend.describe().name == "drawn"


def test_it_describes_the_queues_of_the_ports(backend: ModelBackend) -> None:
    described = backend.describe()
    assert [(queue.queue, queue.role) for queue in described.queues] == [(0, "control"), (1, "normal"), (2, "victim")]
    assert described.dropped_unit == "packets/s"
    assert "recompute" not in described.schemes_available


def test_constant_rates_lose_packets_where_there_are_too_many(plan: Plan) -> None:
    model = LivePacketModel(plan, ["rescaling"], elastic=False, runs=False)
    backend = ModelBackend(model, solved)
    backend.act(SetLink("a~d", up=False))
    model.step(1.0)
    model.step(1.0)
    (view,) = backend.state().views
    dropped = sum(q.dropped for link in view.links for each in link.directions for q in each.queues)
    lost = sum(flow.wanted * 1448 / 1518 - flow.goodput for flow in view.flows)
    assert dropped * 1448 * 8e-6 == pytest.approx(lost, rel=0.1)
    backend.close()


def test_schemes_and_clock_are_set_and_the_rest_is_refused(model: LivePacketModel, backend: ModelBackend) -> None:
    backend.act(SetScheme(("rescaling",)))
    assert [view.scheme for view in backend.state().views] == ["kuijia", "rescaling"]  # until the next step
    model.step(0.1)
    assert [view.scheme for view in backend.state().views] == ["rescaling"]
    assert backend.act(SetClock(speed=2.0, paused=True)) == {"speed": 2.0, "paused": True}
    with pytest.raises(InputError, match="found recompute, expected one that switches can be programmed with"):
        backend.act(SetScheme(("recompute",)))
    with pytest.raises(InputError, match="cannot go to another time"):
        backend.act(SetClock(time=1.0))
    with pytest.raises(KuijiaError, match="always has a plan"):
        backend.act(WithdrawPlan())


def test_its_thread_moves_time_on_until_it_is_closed(plan: Plan) -> None:
    model = LivePacketModel(plan, ["kuijia"])
    backend = ModelBackend(model, solved)
    while backend.state().time < 0.75:  # it begins at 0.5 s; the test's own limit of time ends it otherwise
        pass
    backend.close()
    assert not model._thread.is_alive()
    assert backend.state().faults == ()


def test_the_documentation_lists_its_actions(backend: ModelBackend) -> None:
    assert documented_actions("packet") == sorted(backend.describe().actions)
