"""Flows are started with a key of their own, measured over the last second, and forgotten when they end."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kuijia_app.tables.queue_layouts import LAYOUTS
from kuijia_app.tables.queues import PLAIN_LAYOUT
from kuijia_app.tables.wiring import Wiring
from kuijia_base.errors import InputError
from testbed.lab.lab_flows import MOST_FLOWS, FlowEnd, LabFlows
from testbed.lab.lab_requests import FlowWish
from testbed.links.label_observer import EgressFlowKey, IngressMark
from testbed.traffic.iperf import IperfError, IperfFlow
from tests.kuijia_app.plans import motivation_plan


class FakeRun:
    """The two programs of a flow: `rates` are what each look finds, None once the flow is over."""

    def __init__(self, flow: IperfFlow) -> None:
        self.flow = flow
        self.rates: list[float | IperfError | None] = []
        self.stopped = 0

    def start(self) -> None:
        pass

    def live_goodput(self) -> dict[str, float]:
        rate = self.rates.pop(0)
        if isinstance(rate, IperfError):
            raise rate
        return {} if rate is None else {self.flow.name: rate}

    def stop(self) -> None:
        self.stopped += 1


class Rig:
    """Flows over a network without programs, and a clock that is set by hand."""

    def __init__(self, layout: Any = PLAIN_LAYOUT) -> None:  # noqa: ANN401  # a queue layout
        wiring = Wiring(motivation_plan().topology)
        hosts = {site.name: site for site in wiring.sites}
        self.marks: dict[EgressFlowKey, IngressMark] = {}
        self.observed: list[tuple[str, ...]] = []
        self.now = 100.0
        self.runs: list[FakeRun] = []
        network: Any = SimpleNamespace(layout=layout, wiring=wiring, host=hosts.__getitem__, observe=self._observe)
        self.flows = LabFlows(network, self._run, lambda: self.now)

    def start(self, **changed: Any) -> FakeRun:  # noqa: ANN401  # members of a wish
        wish: dict[str, Any] = {"source": "s1", "target": "s4", "kind": "udp", "rate": 5.0, "seconds": 10, **changed}
        self.flows.start(FlowWish(**wish))
        return self.runs[-1]

    def _run(self, _: object, flow: IperfFlow, __: int) -> FakeRun:
        self.runs.append(FakeRun(flow))
        return self.runs[-1]

    def _observe(self, *switches: str) -> Any:  # noqa: ANN401  # a watch
        self.observed.append(switches)
        return self

    def __enter__(self) -> Rig:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def watch(self, keys: list[EgressFlowKey], _: float) -> dict[EgressFlowKey, IngressMark]:
        return {key: self.marks[key] for key in keys if key in self.marks}


def test_goodput_is_that_of_the_last_second() -> None:
    rig = Rig()
    run = rig.start()
    assert rig.flows.describe()[0]["goodput"] is None
    run.rates = [10.0, 10.0, 4.0, 4.0, 4.0]
    seen = []
    for _ in range(5):
        rig.now += 0.5
        rig.flows.measure()
        seen.append(rig.flows.describe()[0]["goodput"])
    assert seen == [10.0, 10.0, 7.0, 4.0, 4.0]


def test_udp_flows_differ_in_their_source_address_as_switches_do_not_hash_their_ports() -> None:
    rig = Rig()
    first, second = rig.start().flow, rig.start().flow
    tcp = rig.start(kind="tcp", rate=None).flow
    assert first.source_address != second.source_address
    assert tcp.source_address == str(rig.flows._network.host("s1").address)
    assert len({(each.source_port, each.server_port) for each in (first, second, tcp)}) == 3


def test_a_flow_of_a_class_is_marked_for_it() -> None:
    layout = next(each for each in LAYOUTS.values() if len(each.classes) > 1)
    wanted = layout.classes[0]
    assert Rig(layout).start(priority=wanted.priority).flow.code_point == wanted.code_points[0]


def test_flows_end_by_themselves_or_fail_or_are_stopped() -> None:
    rig = Rig()
    over, failed, stopped = rig.start(), rig.start(seconds=100), rig.start(seconds=100)
    over.rates, failed.rates, stopped.rates = [5.0, None, None], [IperfError("flow f2: gone")], [5.0] * 3
    rig.now = 105.0
    assert rig.flows.measure() == [FlowEnd("f2", "flow f2: gone")]
    rig.now = 110.0
    assert rig.flows.measure() == []
    rig.now = 110.6
    assert rig.flows.measure() == [FlowEnd("f1", None)]
    rig.flows.stop("f3")
    assert rig.flows.describe() == []
    assert [over.stopped, failed.stopped, stopped.stopped] == [1, 1, 1]
    with pytest.raises(InputError, match=r"^lab:'f3': no such flow is running, expected one that runs; there is none$"):
        rig.flows.stop("f3")


def test_so_many_flows_may_run_and_all_end_with_the_lab() -> None:
    rig = Rig()
    for _ in range(MOST_FLOWS):
        rig.start()
    with pytest.raises(InputError, match=f"{MOST_FLOWS} flows are running"):
        rig.start()
    rig.flows.stop_all()
    assert all(run.stopped == 1 for run in rig.runs)


def test_the_tunnel_of_a_flow_is_that_of_its_last_packet_seen() -> None:
    rig = Rig()
    flow = rig.start().flow
    assert flow.source_address is not None
    key = EgressFlowKey("udp", flow.source_address, flow.source_port, flow.server_port)
    rig.flows.watch_marks(0.1)
    assert rig.flows.describe()[0]["path_id"] is None
    rig.marks[key] = IngressMark(17, 1)
    rig.flows.watch_marks(0.1)
    rig.marks.clear()
    rig.flows.watch_marks(0.1)
    described = rig.flows.describe()[0]
    assert (described["path_id"], described["traffic_class"]) == (17, 1)
    assert rig.observed == [("s1",)] * 3
