"""The backend over a running lab shows what its service tells, and asks it for what the page asks for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kuijia_base.errors import InputError, KuijiaError, TestbedError
from simulator.live.states import View
from te_solver.formats.plan_file import plan_to_json
from te_solver.model.plan import Plan
from testbed.lab.shapes import to_json
from testbed.web.backend import (
    Action,
    RunCommand,
    SetClock,
    SetDemands,
    SetLink,
    SetNode,
    SetPlan,
    SetScheme,
    StartFlow,
    StopFlow,
    WithdrawPlan,
)
from testbed.web.real_lab import RealLab
from tests.kuijia_app.plans import both_ways, motivation_plan, plan_of
from tests.testbed.web.documented import documented_actions

FACTOR = 0.02


class Service:
    """A lab service that answers from what a test has set, and remembers what it was asked to do."""

    def __init__(self, plan: Plan, scheme: str = "kuijia") -> None:
        self.plan, self.scheme, self.number = plan, scheme, 1
        self.now = 100.0
        self.sent: dict[tuple[str, str, str], tuple[int, int]] = {}
        self.flows: list[dict[str, Any]] = []
        self.dead: list[int] = []
        self.down: set[frozenset[str]] = set()
        self.log: list[dict[str, Any]] = []
        self.positions: dict[str, Any] = {}
        self.members: list[dict[str, Any]] = []
        self.asked: list[dict[str, Any]] = []
        self.plans_read = 0

    def __call__(self, lab: Path, do: str, **details: Any) -> Any:  # noqa: ANN401  # JSON
        assert lab == Path("1-lab")
        match do:
            case "plan":
                self.plans_read += 1
                options = {"scheme": self.scheme, "demand_factor": FACTOR}
                positions = self.positions
                plan = plan_to_json(self.plan)
                return {"number": self.number, "plan": plan, "options": options, "positions": positions}
            case "counters":
                return self.counters()
            case "log":
                return [each for each in self.log if each["seq"] > details["after"]]
        self.asked.append({"do": do, **details})
        return {"asked": do}

    def counters(self) -> dict[str, Any]:
        topology = self.plan.topology
        return {
            "time": self.now,
            "plan": self.number,
            "links": [{"a": a, "b": b, "up": frozenset((a, b)) not in self.down} for a, b in topology.edges],
            "queues": [
                {"switch": a, "to": b, "queue": queue, "sent_bytes": sent, "dropped_packets": dropped}
                for link in topology.links
                for a, b in [link.ends]
                for queue in ("control", "normal", "victim")
                for sent, dropped in [self.sent.get((a, b, queue), (0, 0))]
            ],
            "nodes_down": [],
            "tunnels_dead": self.dead,
            "flows": self.flows,
            "controller": {
                "alive": True,
                "switches": ["s1"],
                "errors": [{"event": "failure", "reason": "a bug"}],
                **({"members": self.members} if self.members else {}),
            },
            "faults": ["a fault"],
        }

    def flow(self, name: str, path_id: int | None, traffic_class: int = 0, **changed: object) -> dict[str, Any]:
        flow = {"flow": name, "source": "s1", "target": "s4", "kind": "udp", "rate": 5.0, "seconds": 9, "priority": 0}
        return {**flow, "goodput": 4.5, "path_id": path_id, "traffic_class": traffic_class, **changed}


def backend(service: Service) -> RealLab:
    def wait(seconds: float) -> None:
        service.now += seconds

    return RealLab(Path("1-lab"), service, wait)


def view(lab: RealLab) -> View:
    (found,) = lab.state().views
    return found


@pytest.fixture
def service() -> Service:
    return Service(motivation_plan())


def test_the_network_is_described_from_the_plan_and_the_queues(service: Service) -> None:
    described = backend(service).describe()
    assert [cable.id for cable in described.links] == ["s1~s2", "s2~s4", "s1~s4", "s1~s3", "s3~s4"]
    assert [(queue.queue, queue.role, queue.priority) for queue in described.queues] == [
        (0, "control", None),
        (1, "normal", 0),
        (2, "victim", 0),
    ]
    assert [(tunnel.path_id, tunnel.nodes[1], tunnel.weight) for tunnel in described.tunnels][:2] == [
        (16, "s2", 0.5),
        (17, "s4", 0.3),
    ]
    assert (described.schemes, described.dropped_unit, described.clock) == (("kuijia",), "packets/s", "real")


def test_the_documentation_lists_its_actions(service: Service) -> None:
    actions = sorted(backend(service).describe().actions)
    assert documented_actions("lab") == documented_actions("boxes") == actions


def test_consoles_are_an_action_only_when_asked_for_and_the_lab_is_told_the_command(service: Service) -> None:
    plain, with_consoles = backend(service), RealLab(Path("1-lab"), service, consoles=True)
    assert with_consoles.describe().actions == (*plain.describe().actions, "console")
    with_consoles.act(RunCommand("s1", "ping 10.0.4.1"))
    assert service.asked == [{"do": "enter", "node": "s1", "command": "ping 10.0.4.1"}]


def test_nodes_stand_where_the_network_s_file_has_them(service: Service) -> None:
    service.positions = {"s1": [10.0, 50.0], "s2": [12.0, 53.0], "s3": [12.0, 47.0], "s4": [14.0, 50.0]}
    places = {place.name: (place.x, place.y) for place in backend(service).describe().nodes}
    assert places["s1"][0] < places["s2"][0] == places["s3"][0] < places["s4"][0]
    assert places["s2"][1] < places["s1"][1] == places["s4"][1] < places["s3"][1]


def test_the_next_lab_is_shown_when_the_first_is_down(service: Service) -> None:
    labs = {Path("1-lab"): service}
    event = {"time": 1.0, "kind": "flow", "text": "", "subject": {}}
    service.log = [{"seq": seq, **event} for seq in (1, 2, 3)]

    def ask(lab: Path, do: str, **details: Any) -> Any:  # noqa: ANN401  # JSON
        if lab not in labs:
            raise TestbedError(f"lab {lab} does not answer")
        return labs[lab](Path("1-lab"), do, **details)

    shown = RealLab(None, ask, lambda _: None, lambda: next(iter(labs), None))
    assert [entry.seq for entry in shown.events(0)] == [1, 2, 3]
    del labs[Path("1-lab")]
    with pytest.raises(TestbedError, match="1-lab does not answer"):
        shown.state()
    second = labs[Path("2-lab")] = Service(motivation_plan((0.4, 0.3, 0.3)), "rescaling")
    second.log = [{"seq": 1, **event}]
    with pytest.raises(TestbedError):
        shown.act(SetLink("s1~s2", up=False))  # nobody has seen the other lab yet
    assert view(shown).scheme == "rescaling"
    assert [entry.seq for entry in shown.events(3)] == [4]
    shown.act(SetLink("s1~s2", up=False))
    assert second.asked == [{"do": "fail", "a": "s1", "b": "s2"}]


def test_the_topology_is_that_of_the_lab_that_is_up(service: Service) -> None:
    labs = {Path("1-lab"): service}

    def ask(lab: Path, do: str, **details: Any) -> Any:  # noqa: ANN401  # JSON
        if lab not in labs:
            raise TestbedError(f"lab {lab} does not answer")
        return labs[lab](Path("1-lab"), do, **details)

    shown = RealLab(None, ask, lambda _: None, lambda: next(iter(labs), None))
    assert shown.topology()["nodes"] == ["s1", "s2", "s3", "s4"]
    labs[Path("2-lab")] = Service(plan_of(both_ways("two", "a b", "a-b"), "a-b"))
    del labs[Path("1-lab")]
    assert shown.topology()["nodes"] == ["a", "b"]
    assert shown.describe().name == "two"


def test_a_pair_of_controllers_is_told_with_the_one_that_acts_and_since_when(service: Service) -> None:
    lab = backend(service)
    alone = lab.state().controller
    assert alone is not None
    assert alone.members == ()
    service.members = [
        {"number": 1, "pid": None, "acts": False, "since": None},
        {"number": 2, "pid": 7, "acts": True, "since": 42.0},
    ]
    pair = lab.state().controller
    assert pair is not None
    assert [(each.alive, each.acts, each.since) for each in pair.members] == [(False, False, None), (True, True, 42.0)]


def test_rates_are_those_of_each_queue_and_direction_over_half_a_second(service: Service) -> None:
    lab = backend(service)
    found = view(lab)
    for step in range(1, 6):
        service.now += 0.2
        service.sent["s1", "s2", "normal"] = (50_000 * step, 0)
        service.sent["s2", "s1", "victim"] = (0, 4 * step)
        found = view(lab)
    there, back = found.links[0].directions
    assert (there.from_, there.to) == ("s1", "s2")
    assert [(load.queue, load.rate) for load in there.queues] == [(0, 0.0), (1, 2.0), (2, 0.0)]
    assert [load.dropped for load in back.queues] == [0.0, 0.0, 20.0]


def test_after_a_pause_rates_are_not_averages_over_it(service: Service) -> None:
    lab = backend(service)
    lab.state()
    service.now += 3600
    service.sent["s1", "s2", "normal"] = (10**9, 0)
    assert view(lab).links[0].directions[0].queues[1].rate == 0.0


def test_links_tunnels_controller_and_faults_are_told(service: Service) -> None:
    service.down, service.dead = {frozenset(("s1", "s4"))}, [17]
    state = backend(service).state()
    (found,) = state.views
    assert [link.id for link in found.links if not link.up] == ["s1~s4"]
    assert found.tunnels_dead == (17,)
    assert state.controller is not None
    assert (state.controller.switches, state.controller.errors) == (("s1",), ("failure: a bug",))
    assert state.faults == ("a fault",)
    assert to_json(state)["views"][0]["links"][0]["directions"][0]["from"] == "s1"


NETWORK = plan_of(both_ways("four", "s1 s2 s3 s4", "s1-s2 s2-s4 s1-s3 s3-s4"), "s1-s2-s4 s1-s3-s4", "s2-s4", "s3-s4")
"""Tunnels 16 and 17 of s1-s4, 18 over s2-s4, 19 over s3-s4."""


@pytest.mark.parametrize(("scheme", "traffic_class"), [("kuijia", 1), ("rescaling", 0)])
def test_roles_follow_from_the_tunnels_of_packets(scheme: str, traffic_class: int) -> None:
    service = Service(NETWORK, scheme)
    lab = backend(service)
    service.flows = [service.flow("f1", 16), service.flow("f2", 18), service.flow("f3", 19), service.flow("f4", None)]
    assert {flow.role for flow in view(lab).flows} == {"untouched"}
    service.dead = [16]
    service.flows[0] = service.flow("f1", 17, traffic_class)
    flows = view(lab).flows
    assert [flow.role for flow in flows] == ["victim", "untouched", "direct", "untouched"]
    assert [flow.path_ids for flow in flows] == [(17,), (18,), (19,), ()]


def test_a_tcp_flow_wants_what_its_tunnel_can_carry(service: Service) -> None:
    service.flows = [service.flow("f1", 16, kind="tcp", rate=None, goodput=None), service.flow("f2", None, rate=7.0)]
    assert [(flow.wanted, flow.goodput) for flow in view(backend(service)).flows] == [(1000.0, 0.0), (7.0, 4.5)]


def test_a_new_plan_is_read_once(service: Service) -> None:
    lab = backend(service)
    lab.state()
    lab.describe()
    assert service.plans_read == 1
    service.plan, service.number = motivation_plan((0.2, 0.3, 0.5)), 2
    lab.state()
    assert [tunnel.weight for tunnel in lab.describe().tunnels] == [0.2, 0.3, 0.5]
    assert service.plans_read == 2


def test_the_log_is_the_labs(service: Service) -> None:
    cut = {"time": 5.0, "kind": "cut", "text": "link s1-s2 is down", "subject": {"link": "s1~s2"}, "details": {}}
    service.log = [{"seq": 1, **cut}, {"seq": 2, **cut}]
    (entry,) = backend(service).events(1)
    assert (entry.seq, entry.view, entry.kind, entry.subject) == (2, "kuijia", "cut", {"link": "s1~s2"})


def test_actions_become_requests_to_the_lab(service: Service) -> None:
    lab = backend(service)
    plan = plan_to_json(service.plan)
    for action in (
        SetLink("s1~s2", up=False),
        SetLink("s1~s2", up=True),
        SetNode("s3", up=False),
        SetDemands((("s1", "s4", 3.0, 0),)),
        SetPlan(plan),
        WithdrawPlan(),
        StartFlow("s1", "s4", 5.0, "udp", 9.5),
        StartFlow("s1", "s4", 5.0, "tcp"),
        StopFlow("f1"),
        SetScheme(("kuijia",)),
    ):
        assert "asked" in lab.act(action)
    flow = {"do": "start-flow", "source": "s1", "target": "s4", "priority": 0}
    assert service.asked == [
        {"do": "fail", "a": "s1", "b": "s2"},
        {"do": "heal", "a": "s1", "b": "s2"},
        {"do": "fail", "node": "s3"},
        {"do": "update", "demands": [["s1", "s4", 150.0, 0]], "source": "request"},
        {"do": "replace", "plan": plan, "source": "plan"},
        {"do": "withdraw"},
        {**flow, "kind": "udp", "rate": 5.0, "seconds": 10},
        {**flow, "kind": "tcp", "rate": None, "seconds": 60},
        {"do": "stop-flow", "flow": "f1"},
        {"do": "scheme", "scheme": "kuijia"},
    ]


@pytest.mark.parametrize(
    ("action", "error", "words"),
    [
        (SetLink("s2~s1", up=False), InputError, "request:id: no link 's2~s1'"),
        (SetNode("s9", up=False), InputError, "request:name: no node 's9'"),
        (SetDemands((("s1", "s9", 1.0, 0),)), InputError, r"request:demands\[0\]\[1\]: no node 's9'"),
        (StartFlow("s9", "s4", 1.0), InputError, "request:source: no node 's9'"),
        (SetPlan({}), InputError, "plan: "),
        (SetScheme(("kuijia", "rescaling")), KuijiaError, "the real lab has one scheme; start it with --scheme"),
        (RunCommand("s9", "true"), InputError, "request:node: no node 's9'"),
        (SetClock(2.0), KuijiaError, "the clock of a real lab cannot be set"),
    ],
)
def test_an_action_that_names_nothing_of_the_network_asks_for_nothing(
    service: Service, action: Action, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=f"^{words}"):
        backend(service).act(action)
    assert service.asked == []


def test_scripts_get_plan_topology_and_verification(service: Service) -> None:
    lab = backend(service)
    assert lab.plan() == plan_to_json(service.plan)
    assert lab.topology() == plan_to_json(service.plan)["topology"]
    assert lab.verify(plan_to_json(service.plan)) == []
    with pytest.raises(InputError, match=r"^plan:topology\.nodes: are not those"):
        lab.verify(plan_to_json(plan_of(both_ways("two", "a b", "a-b"), "a-b")))
    service.plan, service.number = plan_of(service.plan.topology), 2
    assert lab.plan() is None
