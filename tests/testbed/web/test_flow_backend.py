"""The backend over the fluid model: what it shows is what the model says, and its actions do what they are called."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kuijia_base.errors import InputError, KuijiaError
from simulator.live import fluid
from simulator.live.flow_model import LiveFlowModel
from simulator.live.fluid import FluidNetwork
from simulator.live.states import View
from te_solver.formats.plan_file import plan_to_json
from te_solver.model.demands import Demand
from te_solver.model.failures import Failure
from te_solver.model.plan import Plan
from te_solver.model.topology import Link, Topology
from te_solver.schemes.making import make_scheme
from te_solver.solve import solve
from testbed.lab.shapes import to_json
from testbed.web.backend import (
    KIND_OF,
    DrawnLink,
    DrawnNode,
    SetClock,
    SetDemands,
    SetLink,
    SetNetwork,
    SetNode,
    SetPlan,
    SetScheme,
    StartFlow,
    StopFlow,
    WithdrawPlan,
)
from testbed.web.model_backend import ModelBackend
from tests.testbed.web.documented import documented_actions

# A square with a diagonal: from a to d directly and over b, with traffic from b to d on the way.
CABLES = (("a", "b"), ("b", "d"), ("a", "d"), ("a", "c"), ("c", "d"))
TOPOLOGY = Topology(
    "square",
    ("a", "b", "c", "d"),
    tuple(Link(*ends, 10.0) for cable in CABLES for ends in (cable, cable[::-1])),
    {"a": (0.0, 0.0), "b": (10.0, 40.0), "c": (10.0, 0.0), "d": (20.0, 20.0)},
)
DEMANDS = (Demand("a", "d", 17.0), Demand("b", "d", 10.0))


class Wall:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def solved(topology: Topology, demands: Sequence[Demand]) -> Plan:
    return solve(topology, demands, 3)


PLAN = solved(TOPOLOGY, DEMANDS)

DRAWN = SetNetwork(
    "drawn",
    (DrawnNode("x", 0.2, 0.2), DrawnNode("y", 0.6, 0.2), DrawnNode("z", 0.2, 0.5)),
    (DrawnLink("x", "y", 40.0), DrawnLink("y", "z", 20.0), DrawnLink("z", "x", 40.0)),
    (("x", "y", 8.0, 0), ("y", "z", 4.0, 1)),
)


@pytest.fixture
def plan() -> Plan:
    return PLAN


@pytest.fixture
def backend(plan: Plan) -> ModelBackend:
    return ModelBackend(LiveFlowModel(plan), solved)


def views(backend: ModelBackend) -> dict[str, View]:
    return {view.scheme: view for view in backend.state().views}


def loads(view: View, link: str) -> dict[tuple[str, int], float]:
    """Return the rates of a link's queues by the node that sends."""
    state = next(each for each in view.links if each.id == link)
    return {(direction.from_, queue.queue): queue.rate for direction in state.directions for queue in direction.queues}


def test_nodes_stand_where_the_file_says_with_north_up(backend: ModelBackend) -> None:
    places = {node.name: node for node in backend.describe().nodes}
    assert (places["b"].y, places["a"].x) == (0.0, 0.0)
    assert places["a"].y == places["c"].y == 1.0
    assert all(0 <= value <= 1 for node in places.values() for value in (node.x, node.y))
    assert [name for name, node in places.items() if not node.site] == ["c"]


def test_without_a_failure_all_that_is_sent_arrives(backend: ModelBackend) -> None:
    for view in views(backend).values():
        assert sum(flow.goodput for flow in view.flows) == pytest.approx(27)
        assert {flow.role for flow in view.flows} == {"untouched"}
        assert all(flow.goodput == flow.wanted for flow in view.flows)
        assert loads(view, "a~d")["a", 1] + loads(view, "a~c")["a", 1] + loads(view, "a~b")["a", 1] == pytest.approx(17)
        assert loads(view, "a~d")["a", 2] == 0


def test_a_cut_makes_victims_that_hurt_others_only_under_rescaling(backend: ModelBackend) -> None:
    backend.act(SetLink("a~d", up=False))
    kuijia, rescaling = (views(backend)[name] for name in ("kuijia", "rescaling"))
    for view in (kuijia, rescaling):
        assert [link.id for link in view.links if not link.up] == ["a~d"]
        assert view.tunnels_dead
        assert {flow.role for flow in view.flows} >= {"victim"}

    def lost(view: View) -> float:
        return sum(flow.wanted - flow.goodput for flow in view.flows if flow.role != "victim")

    assert lost(kuijia) == pytest.approx(0, abs=1e-3)
    assert lost(rescaling) > 1
    moved = [rate for link in kuijia.links for (_, queue), rate in loads(kuijia, link.id).items() if queue == 2]
    assert sum(moved) > 1
    assert all(rate == 0 for link in rescaling.links for (_, q), rate in loads(rescaling, link.id).items() if q == 2)
    victim = next(flow for flow in kuijia.flows if flow.role == "victim")
    assert set(victim.path_ids).isdisjoint(kuijia.tunnels_dead)
    assert [entry.kind for entry in backend.events(0)] == ["cut", "group", "group"]


def test_a_healed_link_restores_all(backend: ModelBackend) -> None:
    before = backend.state().views
    backend.act(SetLink("a~d", up=False))
    assert backend.state().views != before
    backend.act(SetLink("a~d", up=True))
    assert backend.state().views == before


def test_no_queue_carries_more_than_its_link(backend: ModelBackend) -> None:
    for link in ("a~d", "b~d"):
        backend.act(SetLink(link, up=False))
        for view in views(backend).values():
            for each in view.links:
                for direction in each.directions:
                    assert sum(queue.rate for queue in direction.queues) <= 10 + 1e-3


def test_inelastic_traffic_is_dropped_where_it_is_too_much(plan: Plan) -> None:
    backend = ModelBackend(LiveFlowModel(plan, ["rescaling"], elastic=False), solved)
    backend.act(SetLink("a~d", up=False))
    (view,) = backend.state().views
    dropped = sum(queue.dropped for link in view.links for each in link.directions for queue in each.queues)
    lost = sum(flow.wanted - flow.goodput for flow in view.flows)
    assert lost > 1
    assert dropped == pytest.approx(lost, abs=1e-2)


def test_a_node_takes_its_traffic_along(backend: ModelBackend) -> None:
    backend.act(SetNode("b", up=False))
    for view in views(backend).values():
        assert view.nodes_down == ("b",)
        assert all(flow.goodput == 0 for flow in view.flows if flow.source == "b")
    backend.act(SetNode("b", up=True))
    assert [entry.kind for entry in backend.events(0) if entry.view is None] == ["node-down", "node-up"]


def test_other_demands_replace_the_plan_and_keep_the_failure(backend: ModelBackend) -> None:
    backend.act(SetLink("a~d", up=False))
    done = backend.act(SetDemands((("a", "d", 4.0, 0), ("c", "b", 2.0, 1))))
    assert done["pairs"] == 2
    described = backend.describe()
    assert {(tunnel.source, tunnel.target) for tunnel in described.tunnels} == {("a", "d"), ("c", "b")}
    assert [(queue.queue, queue.role, queue.priority) for queue in described.queues] == [
        (1, "normal", 0),
        (2, "victim", 0),
        (3, "normal", 1),
        (4, "victim", 1),
    ]
    assert not next(link for link in views(backend)["kuijia"].links if link.id == "a~d").up


def test_a_plan_is_verified_put_in_force_and_withdrawn(backend: ModelBackend) -> None:
    other = plan_to_json(solved(TOPOLOGY, DEMANDS[:1]))
    assert backend.verify(other) == []
    assert backend.act(SetPlan(other))["pairs"] == 1
    in_force = backend.plan()
    assert in_force is not None
    assert len(in_force["pairs"]) == 1
    backend.act(WithdrawPlan())
    assert backend.plan() is None
    assert backend.state().views[0].flows == ()
    backend.act(SetPlan(other))
    assert len(backend.state().views[0].flows) >= 1


def test_a_plan_for_another_network_is_refused(backend: ModelBackend) -> None:
    ring = Topology("ring", ("a", "b"), (Link("a", "b", 1.0), Link("b", "a", 1.0)))
    other = plan_to_json(solved(ring, (Demand("a", "b", 1.0),)))
    for refused in (lambda: backend.verify(other), lambda: backend.act(SetPlan(other))):
        with pytest.raises(InputError, match="the same, in the same order"):
            refused()


def test_a_started_flow_takes_its_share_and_ends_by_itself(plan: Plan) -> None:
    backend = ModelBackend(LiveFlowModel(plan, wall=(wall := Wall())), solved)
    name = backend.act(StartFlow("a", "d", 3.0, "udp", 10.0))["id"]
    started = views(backend)["kuijia"].flows[-1]
    assert (started.id, started.goodput, started.role) == (name, 3.0, "untouched")
    dead = backend.describe().tunnels[0]
    backend.act(SetLink("~".join(sorted(dead.nodes[:2])), up=False))
    wall.seconds = 9.0
    assert views(backend)["kuijia"].flows[-1].id == name
    wall.seconds = 10.5
    assert views(backend)["kuijia"].flows[-1].id != name
    assert backend.events(0)[-1].text == f"flow {name} has ended"


def test_a_started_flow_is_a_victim_when_its_tunnel_dies(backend: ModelBackend) -> None:
    name = backend.act(StartFlow("a", "d", 1.0))["id"]
    (own,) = views(backend)["kuijia"].flows[-1].path_ids
    nodes = next(tunnel.nodes for tunnel in backend.describe().tunnels if tunnel.path_id == own)
    backend.act(SetLink("~".join(nodes[:2]), up=False))
    flow = views(backend)["kuijia"].flows[-1]
    assert (flow.id, flow.role) == (name, "victim")
    assert flow.path_ids != (own,)
    backend.act(StopFlow(name))
    assert views(backend)["kuijia"].flows[-1].id != name


def test_schemes_are_chosen(backend: ModelBackend) -> None:
    backend.act(SetScheme(("recompute", "kuijia", "precomputed")))
    backend.act(SetLink("a~d", up=False))
    assert list(views(backend)) == ["recompute", "kuijia", "precomputed"]
    assert set(backend.describe().schemes) <= set(backend.describe().schemes_available)


def test_the_clock_runs_at_its_speed_and_can_be_held(plan: Plan) -> None:
    backend = ModelBackend(LiveFlowModel(plan, wall=(wall := Wall())), solved)
    wall.seconds = 2.0
    assert backend.state().time == 2.0
    backend.act(SetClock(speed=10.0))
    wall.seconds = 3.0
    assert backend.state().time == 12.0
    backend.act(SetClock(paused=True))
    wall.seconds = 9.0
    state = backend.state()
    assert (state.time, to_json(state.clock)) == (12.0, {"speed": 10.0, "paused": True})
    backend.act(SetClock(paused=False))
    wall.seconds = 10.0
    assert backend.state().time == 22.0


def test_a_drawn_network_is_shown_as_it_was_drawn_and_the_clock_goes_on(plan: Plan) -> None:
    backend = ModelBackend(LiveFlowModel(plan, wall=(wall := Wall())), solved)
    backend.act(SetLink("a~d", up=False))
    wall.seconds = 2.0
    assert backend.act(DRAWN) == {"pairs": 2, "tunnels": 4, "allocated": pytest.approx(12.0)}
    described = backend.describe()
    assert (described.name, [cable.capacity for cable in described.links]) == ("drawn", [40.0, 20.0, 40.0])
    assert [place.x for place in described.nodes] == pytest.approx([0, 1, 0], abs=1e-3)
    assert [place.y for place in described.nodes] == pytest.approx([0, 0, 0.75], abs=1e-3)
    assert backend.topology()["nodes"] == ["x", "y", "z"]
    state = backend.state()
    assert state.time == 2.0
    for view in state.views:
        assert [link.id for link in view.links if link.up] == [cable.id for cable in described.links]
        assert sum(flow.goodput for flow in view.flows) == pytest.approx(12.0)
    assert [entry.seq for entry in backend.events(0)] == [1, 2, 3, 4]
    assert backend.events(3)[0].text == "another network: drawn, 3 nodes, 3 links, 12 Mbit/s of 12 Mbit/s"
    backend.act(SetLink("y~z", up=False))
    backend.act(SetDemands((("z", "x", 1.0, 0),)))
    assert [link.id for link in backend.state().views[0].links if not link.up] == ["y~z"]


def test_a_plan_for_the_network_before_a_drawing_is_not_put_in_force(plan: Plan) -> None:
    def drawn_meanwhile(topology: Topology, demands: Sequence[Demand]) -> Plan:
        if topology == TOPOLOGY:
            steered.act(DRAWN)
        return solved(topology, demands)

    steered = ModelBackend(LiveFlowModel(plan), drawn_meanwhile)
    with pytest.raises(KuijiaError, match="the network is now drawn"):
        steered.act(SetDemands((("a", "d", 4.0, 0),)))
    assert {flow.source for flow in steered.state().views[0].flows} == {"x", "y"}


@pytest.mark.parametrize(
    ("action", "complaint"),
    [
        (replace(DRAWN, links=()), "request:links: there is no link, expected one between two nodes"),
        (replace(DRAWN, nodes=DRAWN.nodes[:2]), r"links\[1\]: link to the unknown node 'z'"),
        (replace(DRAWN, nodes=(*DRAWN.nodes, DRAWN.nodes[0])), r"nodes\[3\]: node x is given twice"),
        (replace(DRAWN, links=(*DRAWN.links, DrawnLink("y", "x", 1.0))), r"links\[3\]: link .* is given twice"),
        (replace(DRAWN, name=" "), "request:name: name ' '"),
        (replace(DRAWN, demands=(("x", "q", 1.0, 0),)), r"demands\[0\].target: unknown node 'q'"),
        (SetLink("a~x", up=False), "no link 'a~x'"),
        (SetNode("x", up=False), "no node 'x'"),
        (SetDemands((("a", "x", 1.0, 0),)), r"demands\[0\].target: unknown node 'x'"),
        (SetDemands((("a", "a", 1.0, 0),)), r"demands\[0\].target: a demand from 'a' to itself"),
        (SetPlan({}), "expected"),
        (StartFlow("d", "a", 1.0), "no tunnel of class 0 from 'd' to 'a'"),
        (StopFlow("f16"), "no flow 'f16'"),
        (SetScheme(()), "found none"),
        (SetScheme(("kuijia", "kuijia")), "expected one or more different ones"),
        (SetScheme(("nothing",)), "nothing: is unknown|nothing"),
        (SetScheme(("ffc",)), "expected one for plans of the objective max-throughput"),
        (SetClock(time=3.0), "cannot go to another time"),
    ],
)
def test_actions_that_make_no_sense_change_nothing(backend: ModelBackend, action: Any, complaint: str) -> None:  # noqa: ANN401  # any action
    before = backend.state().views
    with pytest.raises(InputError, match=complaint):
        backend.act(action)
    assert backend.state().views is before
    assert backend.events(0) == []


def test_what_is_down_cannot_be_cut(backend: ModelBackend) -> None:
    backend.act(SetLink("a~d", up=False))
    with pytest.raises(KuijiaError, match="link a~d is down already"):
        backend.act(SetLink("a~d", up=False))


def test_others_go_on_while_a_plan_is_solved(plan: Plan) -> None:
    solving, go_on = threading.Event(), threading.Event()

    def slow(topology: Topology, demands: Sequence[Demand]) -> Plan:
        solving.set()
        assert go_on.wait(20)
        return solved(topology, demands)

    backend = ModelBackend(LiveFlowModel(plan), slow)
    worker = threading.Thread(target=backend.act, args=(SetDemands((("a", "d", 4.0, 0),)),))
    worker.start()
    assert solving.wait(20)
    backend.act(SetLink("a~d", up=False))
    assert not backend.state().views[0].links[2].up
    go_on.set()
    worker.join(20)
    assert [entry.kind for entry in backend.events(0)] == ["cut", "group", "group", "plan"]


def test_it_can_do_all_kinds_of_actions_and_everything_is_json(backend: ModelBackend) -> None:
    assert set(backend.describe().actions) == set(KIND_OF.values()) - {"console"}
    assert documented_actions("flow") == sorted(backend.describe().actions)
    for message in (backend.describe(), backend.state()):
        json.dumps(to_json(message), allow_nan=False)
    assert backend.topology()["nodes"] == ["a", "b", "c", "d"]


_NODES = st.sampled_from(["a", "b", "c", "d"])
_ACTIONS = st.one_of(
    st.builds(SetLink, st.sampled_from(["a~b", "b~d", "a~d", "a~c", "c~d"]), st.booleans()),
    st.builds(SetNode, _NODES, st.booleans()),
    st.builds(StartFlow, _NODES, _NODES, st.floats(0.1, 20), st.sampled_from(["udp", "tcp"])),
    st.builds(StopFlow, st.sampled_from(["x1", "x2"])),
    st.builds(SetScheme, st.sampled_from([("kuijia", "rescaling"), ("precomputed",), ("recompute", "kuijia")])),
    st.just(WithdrawPlan()),
    st.builds(SetDemands, st.tuples(st.tuples(st.just("a"), st.just("d"), st.floats(0, 30), st.integers(0, 1)))),
)


@settings(max_examples=40, deadline=None)
@given(actions=st.lists(_ACTIONS, max_size=6))
def test_whatever_is_done_the_views_are_of_this_world(actions: list[Any]) -> None:
    backend = ModelBackend(LiveFlowModel(PLAN), solved)
    for action in actions:
        with contextlib.suppress(KuijiaError):
            backend.act(action)
    nodes = {tunnel.path_id: tunnel.nodes for tunnel in backend.describe().tunnels}
    for view in backend.state().views:
        down = {frozenset(link.id.split("~")) for link in view.links if not link.up}
        for link in view.links:
            is_dead = not link.up or not set(link.id.split("~")).isdisjoint(view.nodes_down)
            for direction in link.directions:
                carried = sum(queue.rate for queue in direction.queues)
                assert carried <= (1e-3 if is_dead else 10 + 1e-3)
        dead = {
            number
            for number, path in nodes.items()
            if not set(path).isdisjoint(view.nodes_down) or any(frozenset(hop) in down for hop in pairwise(path))
        }
        assert set(view.tunnels_dead) == dead
        for flow in view.flows:
            assert 0 <= flow.goodput <= flow.wanted + 1e-3 or view.scheme == "recompute"
            assert dead.isdisjoint(flow.path_ids)
            assert flow.role == "untouched" or dead


def test_flows_that_are_too_many_to_show_are_summed_by_role(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = FluidNetwork(plan, elastic=True)
    monkeypatch.setattr(fluid, "MOST_FLOWS", 1)
    some = FluidNetwork(plan, elastic=True)
    for edge in plan.topology.edges:
        failure = Failure("cut", (edge,))
        full = whole.effect(make_scheme("rescaling"), failure).view
        view = some.effect(make_scheme("rescaling"), failure).view
        assert full.unshown == ()
        (shown,) = view.flows
        assert shown in full.flows
        for role in ("untouched", "indirect", "direct", "victim"):
            left_out = [flow for flow in full.flows if flow.role == role and flow != shown]
            sums = [each for each in view.unshown if each.role == role]
            assert sum(each.flows for each in sums) == len(left_out)
            for key in ("wanted", "goodput"):
                expected = sum(getattr(flow, key) for flow in left_out)
                assert sum(getattr(each, key) for each in sums) == pytest.approx(expected, abs=0.001)
