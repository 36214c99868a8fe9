"""The iperf3 flows that users start in a lab; they end by themselves, when they are stopped, or with the lab."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from kuijia_app.tables.families import Prefix
from kuijia_app.tables.queues import QueueLayout
from kuijia_base.errors import InputError, TestbedError, quoted
from testbed.lab.lab_requests import FlowWish
from testbed.links.label_observer import EgressFlowKey, IngressMark
from testbed.network.lab_network import LabNetwork
from testbed.traffic.iperf import IperfFlow, IperfRun

MOST_FLOWS = 64
"""At a time; each is two programs."""

FIRST_SERVER_PORT, FIRST_SOURCE_PORT = 5300, 40000
_PORTS = 10_000
"""Flows after which ports are used again."""

_WINDOW_SECONDS = 1.0
_MARGIN = 0.5


@dataclass(frozen=True)
class FlowEnd:
    """A flow that has ended by itself, and the reason if it failed."""

    flow: str
    failure: str | None


class FlowRun(Protocol):
    """Needs of a flow from its two programs (`testbed.traffic.iperf.IperfRun`)."""

    def start(self) -> None: ...

    def live_goodput(self) -> dict[str, float]: ...

    def stop(self) -> None: ...


@dataclass
class LabFlow:
    """A running flow; `mark` is how the last packet that was watched left its ingress."""

    name: str
    wish: FlowWish
    key: EgressFlowKey
    run: FlowRun
    started_at: float
    samples: deque[tuple[float, float]] = field(default_factory=deque)
    mark: IngressMark | None = None

    @property
    def goodput(self) -> float | None:
        """Mbit/s that arrived in the last second; None before the first look."""
        if not self.samples:
            return None
        return sum(rate * seconds for seconds, rate in self.samples) / sum(seconds for seconds, _ in self.samples)


class LabFlows:
    """The flows of a lab. Any thread may start, stop and read them; one thread measures them.

    Args:
        run: makes the two programs of a flow.
    """

    def __init__(
        self,
        network: LabNetwork,
        run: Callable[[LabNetwork, IperfFlow, int], FlowRun] = lambda network, flow, seconds: IperfRun(
            network, [flow], seconds, interval=1.0
        ),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._network = network
        self._make_run = run
        self._clock = clock
        self._flows: dict[str, LabFlow] = {}
        self._started = 0
        self._changing = threading.Lock()
        self._measured_at = clock()

    def start(self, wish: FlowWish) -> LabFlow:
        """Start a flow; return when it is connected.

        Raises:
            InputError: a node does not exist or has no host, no queue serves the priority, or there are too many flows.
            TestbedError: it does not come up.
        """
        if wish.source == wish.target:
            raise InputError("lab", "target", f"a flow from {quoted(wish.source)} to itself", "two different nodes")
        source = self._network.host(wish.source)
        self._network.host(wish.target)
        code_point = _code_point(self._network.layout, wish.priority)
        with self._changing:
            if len(self._flows) >= MOST_FLOWS:
                raise InputError("lab", "", f"{MOST_FLOWS} flows are running", "one to be stopped before")
            self._started += 1
            number = self._started
        name = f"f{number}"
        address = _address(self._network.wiring.prefix(wish.source), number) if wish.kind == "udp" else source.address
        flow = IperfFlow(
            name,
            wish.source,
            wish.target,
            FIRST_SOURCE_PORT + number % _PORTS,
            FIRST_SERVER_PORT + number % _PORTS,
            protocol=wish.kind,
            rate=wish.rate,
            congestion_control="cubic" if wish.kind == "tcp" else None,
            source_address=str(address),
            code_point=code_point,
        )
        run = self._make_run(self._network, flow, wish.seconds)
        try:
            run.start()
        except BaseException:
            run.stop()
            raise
        key = EgressFlowKey(wish.kind, str(address), flow.source_port, flow.server_port, code_point)
        started = LabFlow(name, wish, key, run, self._clock())
        with self._changing:
            self._flows[name] = started
        return started

    def stop(self, name: str) -> LabFlow:
        """End a flow; raises InputError if none of this name runs."""
        with self._changing:
            flow = self._flows.pop(name, None)
            running = ", ".join(self._flows)
        if flow is None:
            expected = f"one of {running}" if running else "one that runs; there is none"
            raise InputError("lab", quoted(name), "no such flow is running", expected)
        flow.run.stop()
        return flow

    def stop_all(self) -> None:
        """End all flows."""
        for flow in list(self._flows.values()):
            self._flows.pop(flow.name, None)
            flow.run.stop()

    def measure(self) -> list[FlowEnd]:
        """Measure the goodput since the last call; return the flows that have ended since then."""
        now = self._clock()
        seconds, self._measured_at = now - self._measured_at, now
        return list(self._ends(now, seconds))

    def _ends(self, now: float, seconds: float) -> Iterator[FlowEnd]:
        for flow in list(self._flows.values()):
            try:
                found = flow.run.live_goodput()
            except TestbedError as error:
                if self._forget(flow):
                    yield FlowEnd(flow.name, str(error))
                continue
            if flow.name in found:
                flow.samples.append((seconds, found[flow.name]))
                while sum(each for each, _ in flow.samples) > _WINDOW_SECONDS + seconds / 2 and len(flow.samples) > 1:
                    flow.samples.popleft()
            elif now >= flow.started_at + flow.wish.seconds + _MARGIN and self._forget(flow):
                yield FlowEnd(flow.name, None)

    def _forget(self, flow: LabFlow) -> bool:
        """End a flow's programs; return False if somebody has stopped it meanwhile."""
        with self._changing:
            known = self._flows.pop(flow.name, None) is not None
        flow.run.stop()
        return known

    def watch_marks(self, seconds: float) -> None:
        """Look at the next packet of each flow as it leaves its ingress, for at most this many seconds."""
        flows = list(self._flows.values())
        if not flows:
            return
        with self._network.observe(*dict.fromkeys(flow.wish.source for flow in flows)) as watch:
            marks: Mapping[EgressFlowKey, IngressMark] = watch.watch([flow.key for flow in flows], seconds)
        for flow in flows:
            flow.mark = marks.get(flow.key, flow.mark)

    def describe(self) -> list[dict[str, Any]]:
        """Return the flows as JSON data; `path_id` is the tunnel that carries it, null while it is not known."""
        return [
            {
                "flow": flow.name,
                **vars(flow.wish),
                "started_at": flow.started_at,
                "goodput": flow.goodput,
                "path_id": None if flow.mark is None else flow.mark.label,
                "traffic_class": None if flow.mark is None else flow.mark.traffic_class,
            }
            for flow in list(self._flows.values())
        ]


def _code_point(layout: QueueLayout, priority: int) -> int:
    """Return the DSCP value that puts packets into a class."""
    for each in layout.classes:
        if each.priority == priority:
            return each.code_points[0] if each.code_points else 0
    served = ", ".join(str(each.priority) for each in layout.classes)
    raise InputError("lab", "priority", f"found {priority}", f"one that the queue layout serves: {served}")


def _address(prefix: Prefix, number: int) -> str:
    """Return an address of a site; switches hash UDP by addresses only, so that each flow needs its own."""
    return str(prefix[2 + number % (prefix.num_addresses - 3)])
