"""The client of a live lab, against the real server with a network in memory, and against servers that are none."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice, pairwise
from typing import Any

import pytest
import uvicorn

import kuijia
from simulator.live.flow_model import LiveFlowModel
from simulator.live.states import LogEntry
from te_solver.model.demands import Demand
from te_solver.model.topology import Topology
from testbed.web.app import make_app
from testbed.web.backend import Description, State
from testbed.web.model_backend import ModelBackend
from tests.testbed.web.memory_backend import PLAN, MemoryBackend
from tests.testbed.web.serving import PAGE, TOKEN


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_up = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.is_up.set()


@contextmanager
def serving(backend: Any, **options: Any) -> Iterator[str]:  # noqa: ANN401  # any backend, any option
    """Serve a backend over a real socket; yield the link."""
    app: Any = make_app(backend, TOKEN, files=PAGE, **options)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = _Server(uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            assert server.is_up.wait(10)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/#token={TOKEN}"
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="module")
def link() -> Iterator[str]:
    with serving(MemoryBackend()) as found:
        yield found


@pytest.fixture
def lab(link: str) -> kuijia.Lab:
    return kuijia.connect(link)


def test_the_printed_link_or_its_parts_lead_to_the_lab(link: str) -> None:
    address, _, token = link.partition("/#token=")
    for lab in (kuijia.connect(link), kuijia.connect(address, token), kuijia.connect(f"{address}/", token=token)):
        assert lab.describe().name == "triangle"
        assert repr(lab) == f"Lab('{address}')"


def test_plan_and_topology_are_those_that_functions_take(lab: kuijia.Lab) -> None:
    plan, topology = lab.plan(), lab.topology()
    assert isinstance(plan, kuijia.Plan)
    assert (plan.topology.nodes, [tunnel.path_id for tunnel in plan.tunnels]) == (("s1", "s2", "s3"), [16, 17])
    assert isinstance(topology, kuijia.Topology)
    assert topology == plan.topology
    assert lab.verify(plan).sound


def test_links_are_cut_and_healed_by_their_ends_and_the_answer_tells_what_happened(lab: kuijia.Lab) -> None:
    known = lab.log()[-1].seq if lab.log() else 0
    done = lab.cut("s3", "s1")
    assert [entry.text for entry in done.log] == ["link s1~s3 is down"]
    assert [link.id for link in lab.liveness().links if not link.up] == ["s1~s3"]
    assert [tunnel.path_id for tunnel in lab.liveness().tunnels if not tunnel.alive] == [16]
    assert lab.state().views[0].flows[0].role == "victim"
    lab.heal("s1", "s3")
    assert all(link.up for link in lab.state().views[0].links)
    assert [entry.kind for entry in lab.log(known)] == ["cut", "heal"]


@pytest.mark.parametrize("name", ["..", ".", "/", "a/../b", "100%", "%2E%2E", "🦊"])
def test_a_node_of_any_name_is_taken_down(lab: kuijia.Lab, name: str) -> None:
    lab.stop_node(name)
    assert lab.state().views[0].nodes_down == (name,)
    lab.start_node(name)


def test_nodes_flows_schemes_and_the_clock_are_steered(lab: kuijia.Lab) -> None:
    lab.stop_node("s2")
    assert lab.state().views[0].nodes_down == ("s2",)
    lab.start_node("s2")
    flow = lab.start_flow("s1", "s2", "2500k", seconds=5)
    assert {each.id: each.wanted for each in lab.state().views[0].flows}[flow] == 2.5
    lab.stop_flow(flow)
    assert flow not in {each.id for each in lab.state().views[0].flows}
    lab.show_schemes("kuijia", "rescaling")
    assert [view.scheme for view in lab.state().views] == ["kuijia", "rescaling"]
    lab.show_schemes("kuijia")
    lab.set_clock(speed=2.0, paused=True)
    clock = lab.state().clock
    assert clock is not None
    assert (clock.speed, clock.paused) == (2.0, True)
    assert [entry.text for entry in lab.demand([("s1", "s3", 5.0, 0)]).log] == ["1 demands"]
    more = kuijia.load_demands({("s1", "s3"): "5M", ("s1", "s2"): "1M"}, lab.topology())
    assert [entry.text for entry in lab.demand(more).log] == ["2 demands"]


def test_a_plan_is_applied_withdrawn_and_refused_with_its_findings(lab: kuijia.Lab) -> None:
    plan = lab.plan()
    assert plan is not None
    lab.withdraw()
    assert lab.plan() is None
    assert [entry.text for entry in lab.apply(plan).log] == ["the plan is replaced"]
    other = kuijia.solve("fig1")
    assert not lab.verify(other).sound
    with pytest.raises(kuijia.LabError, match="the plan breaks 1 promise: another network") as refused:
        lab.apply(other)
    assert (refused.value.status, refused.value.exit_status) == (409, 1)
    assert refused.value.findings == ("another network",)
    assert json.dumps(plan.to_json()["pairs"]) == json.dumps(PLAN["pairs"])


def test_a_failure_in_the_fluid_model_and_a_plan_solved_for_it() -> None:
    plan = kuijia.solve("fig1")

    def solve(topology: Topology, demands: Sequence[Demand]) -> kuijia.Plan:
        return kuijia.solve(topology, list(demands))

    with serving(ModelBackend(LiveFlowModel(plan), solve)) as link:
        lab = kuijia.connect(link)
        in_force, topology = lab.plan(), lab.topology()
        lab.cut("s2", "s4")
        dead = [tunnel.path_id for tunnel in lab.liveness().tunnels if not tunnel.alive]
        roles = {flow.role for flow in lab.state().views[0].flows}
        lab.heal("s2", "s4")
        lighter = kuijia.solve(topology, [("s1", "s4", 500)])
        verdict = lab.verify(lighter)
        lab.apply(lighter)
        applied = lab.plan()
    assert in_force is not None
    assert in_force.pairs == plan.pairs
    assert topology == plan.topology
    assert dead == [tunnel.path_id for tunnel in plan.tunnels if ("s2", "s4") in tunnel.hops]
    assert "victim" in roles
    assert verdict.sound
    assert applied is not None
    assert [pair.demand for pair in applied.pairs] == [500]


def test_events_begin_with_what_there_is_and_go_on_with_what_changes(lab: kuijia.Lab) -> None:
    known = lab.cut("s1", "s2").log[-1].seq
    events = lab.events(known - 1)
    first = list(islice(events, 3))
    assert {type(each) for each in first} == {Description, State, LogEntry}
    lab.heal("s1", "s2")
    assert next(each for each in events if isinstance(each, LogEntry)).kind == "heal"
    states = list(islice(lab.states(), 3))
    assert all(after.seq > before.seq for before, after in pairwise(states))


def test_what_does_not_exist_is_bad_input(lab: kuijia.Lab) -> None:
    with pytest.raises(kuijia.InputError, match=r"link s1-s9: there is no such link, expected one of s1-s2"):
        lab.cut("s1", "s9")
    with pytest.raises(kuijia.LabError, match="no flow x/99") as refused:
        lab.stop_flow("x/99")
    assert (refused.value.status, refused.value.exit_status) == (404, 2)
    with pytest.raises(kuijia.LabError, match="expected more than 0") as refused:
        lab.start_flow("s1", "s2", -1)
    assert refused.value.exit_status == 2
    with pytest.raises(kuijia.InputError, match=r"^option:rate: '10 apples', expected a finite number greater than ze"):
        lab.start_flow("s1", "s2", "10 apples")
    with pytest.raises(kuijia.InputError, match=r"^demands:\[0\]: unknown node 's9'"):
        lab.demand([("s1", "s9", 1)])


def test_a_server_that_only_shows_refuses_to_act() -> None:
    with serving(MemoryBackend(), view_only=True) as link:
        lab = kuijia.connect(link)
        assert lab.describe().view_only
        with pytest.raises(kuijia.LabError, match="--view") as refused:
            lab.cut("s1", "s2")
    assert refused.value.status == 403


def test_a_wrong_token_is_refused_and_never_shown(link: str) -> None:
    address, _, _ = link.partition("/#")
    with pytest.raises(kuijia.LabError) as refused:
        kuijia.connect(address, "wrong-secret")
    assert refused.value.status == 401
    assert "wrong-secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("address", "token"),
    [
        ("127.0.0.1:8400", "t"),
        ("ftp://127.0.0.1", "t"),
        ("http://", "t"),
        ("http://127.0.0.1:99999", "t"),
        ("http://127.0.0.1/x", "t"),
        ("http://me@127.0.0.1", "t"),
        ("http://127.0.0.1:1", None),
        ("http://127.0.0.1:1", "a\r\nx: y"),
        ("http://127.0.0.1:1/#token=", None),
    ],
)
def test_an_address_that_is_none_is_bad_input(address: str, token: str | None) -> None:
    with pytest.raises(kuijia.InputError):
        kuijia.connect(address, token)


@contextmanager
def answering(*answers: bytes) -> Iterator[str]:
    """Run a server that gives these answers, each to one connection; yield its link."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            for each in answers:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(each)

        thread = threading.Thread(target=answer)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/#token=t"
        thread.join()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"", "does not answer"),
        (b"SSH-2.0-OpenSSH\r\n", "does not answer"),
        (b"HTTP/1.1 200 OK\r\n\r\n<html>", "the answer is not that of a lab"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"[" * 5000, "the answer is not that of a lab"),
        (b'HTTP/1.1 200 OK\r\n\r\n{"version": 2}', "speaks version '2' of the lab's messages, expected 1"),
        (b'HTTP/1.1 200 OK\r\n\r\n{"version": 1}', "the answer is not that of a lab"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", "the answer is not that of a lab"),
        (b"HTTP/1.1 500 No\r\n\r\n[]", "status 500 without a reason"),
    ],
)
def test_a_server_that_is_no_lab_is_one_line(answer: bytes, said: str) -> None:
    with answering(answer) as link, pytest.raises(kuijia.LabError, match=said) as refused:
        kuijia.connect(link)
    assert "\n" not in str(refused.value)


def test_a_server_that_is_gone_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(kuijia.LabError, match=f"http://127.0.0.1:{port} does not answer: Connection refused") as gone:
        kuijia.connect(f"http://127.0.0.1:{port}", "t")
    assert (gone.value.status, gone.value.exit_status) == (None, 1)
