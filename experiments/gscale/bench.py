"""Measures cases on Gscale; cases that differ only in the failing link and the protocol share a lab."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from types import TracebackType

from experiments.gscale.aggregates import aggregates_of
from experiments.gscale.case_plan import parameters_of, plan_of, with_roles_read
from experiments.gscale.cases import Case, Traffic
from experiments.gscale.private_entries import REACT_SECONDS, PrivateEntries, any_flows
from experiments.gscale.validity import disturbed, uncarried
from experiments.measuring.emulation import (
    Cut,
    MeasuredFlow,
    Reaction,
    Sending,
    Timing,
    evaluate,
    failure_of,
    record_failure,
    windows_of,
)
from experiments.measuring.flow_search import find_flows
from experiments.measuring.load import LoadWatch, load_at_rest, overload
from experiments.registry import Settings
from experiments.results.result import Result
from kuijia_app.tables.queue_layouts import PLAIN
from te_solver.failure_schemes.failure_scheme import VICTIM
from te_solver.failure_schemes.registry import failure_scheme
from testbed.lab.grounds import Ground
from testbed.lab.lab import Lab
from testbed.lab.lab_options import LabOptions
from testbed.lab.manifest import describe_run
from testbed.machine.machine import Machine
from testbed.network.network_options import NetworkOptions
from testbed.traffic.hash_probe import Protocol

EXPERIMENT = "gscale"
BUFFER_PACKETS = 50
"""Length of a queue: 30 ms of a link of 20 Mbit/s."""

SENDING = Sending(burst_seconds=0.1)
"""TCP settings; with the usual half second, flows on a full link would catch up with initial losses for ten seconds."""

_TCP = Timing(warmup=3, before=5, settle=10, after=20, interval=0.2, observe=1)
_UDP = Timing(warmup=1.5, before=3, settle=1, after=5, interval=0.2, observe=1)
_QUICK_TCP = Timing(warmup=2, before=2, settle=3, after=5, interval=0.2, observe=1)
_QUICK_UDP = Timing(warmup=1, before=1.5, settle=0.5, after=2, interval=0.2, observe=1)

_OVERHEAD_SECONDS = 10.0
"""Seconds of a run beside its traffic: calibrating, looking for flows, starting and ending them."""

LAYOUTS: dict[Traffic, str] = {"tcp": PLAIN, "udp": PLAIN, "priorities": "four"}


def timing_of(protocol: Protocol, *, quick: bool) -> Timing:
    """Return the timing of a run; TCP is watched longer, as it may need twenty seconds to settle (Table 4)."""
    if protocol == "udp":
        return _QUICK_UDP if quick else _UDP
    return _QUICK_TCP if quick else _TCP


def expected_seconds(case: Case, *, quick: bool) -> float:
    """Return the approximate duration of a case."""
    return timing_of(case.protocol, quick=quick).total + _OVERHEAD_SECONDS


@dataclass(frozen=True)
class BenchKey:
    """Parameters of a lab; cases with the same key can be measured in the same lab."""

    layout: str
    demand: float
    scheme: str
    repetition: int

    @classmethod
    def of(cls, case: Case) -> BenchKey:
        return cls(LAYOUTS[case.traffic], case.demand, case.scheme, case.repetition)


class Bench:
    """A lab with all links up, for all cases with the key of the one it is created for.

    A context manager. After an error the lab may be in any state: leave the block and open another.
    """

    def __init__(
        self,
        case: Case,
        settings: Settings,
        ground: Ground,
        machine: Machine,
        show: Callable[[str], None],
        *,
        private_entries: bool,
    ) -> None:
        """Prepare a lab.

        Args:
            case: its key is the lab's.
            settings: of the experiment.
            ground: that the lab stands on.
            machine: description for the manifests.
            show: receives progress messages.
            private_entries: True if flows have their own entries instead of being hashed.
        """
        self.case = case
        self._private_entries = private_entries
        self._settings = settings
        self._ground = ground
        self._machine = machine
        self._show = show
        self._undo = ExitStack()

    def __enter__(self) -> Bench:
        case, settings = self.case, self._settings
        plan = plan_of(case, settings.capacity, settings.seed)
        options = LabOptions(
            scheme=case.scheme,
            slot_count=settings.slots,
            layout=LAYOUTS[case.traffic],
            framework=settings.framework,
            network=NetworkOptions(buffer_packets=BUFFER_PACKETS),
        )
        self._lab = self._undo.enter_context(Lab(plan, options, self._show, self._ground))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._undo.close()

    def measure(self, case: Case) -> Result:
        """Run a case of the lab's key; an invalid result carries its reasons.

        Raises:
            TestbedError: something failed.
        """
        lab, settings, began = self._lab, self._settings, time.time()
        wanted = aggregates_of(lab.plan, case.link)
        cut = Cut(case.link)
        timing = timing_of(case.protocol, quick=settings.quick)
        self._show("checking whether the machine is busy")
        at_rest = load_at_rest(LoadWatch(lab.network.forwarding_process, lab.network.count_box_loads))
        busy = tuple(f"before the run {reason}" for reason in overload(at_rest))
        self._show("calibrating the links")
        calibration = lab.calibrate()
        if self._private_entries:
            flows = any_flows(lab, wanted, case.protocol)
            with PrivateEntries(lab, flows, demotes=failure_scheme(case.scheme).demotes(VICTIM)) as entries:
                reaction = Reaction(entries.move_victims, REACT_SECONDS)
                recording = record_failure(lab, flows, cut, timing, SENDING, self._show, reaction)
        else:
            self._show("looking for flows that are hashed to the wanted tunnels")
            keys = find_flows(lab, wanted, case.link, settings.seed, case.protocol)
            flows = [MeasuredFlow(flow, keys[flow.name]) for flow in wanted]
            recording = record_failure(lab, flows, cut, timing, SENDING, self._show)
        lab.heal(*case.link)
        results = evaluate(recording, flows, cut, lab.network.layout)
        before, after = windows_of(recording)
        return Result(
            experiment=EXPERIMENT,
            backend=settings.backend,
            scheme=case.scheme,
            seed=settings.seed,
            repetition=case.repetition,
            capacity=settings.capacity,
            started_at=recording.started_at,
            failure=failure_of(recording, cut),
            before=before,
            after=after,
            flows=with_roles_read(case, wanted, results),
            published=None,
            checks=(),
            invalid=(*busy, *overload(recording.load), *uncarried(results), *disturbed(results)),
            manifest={
                **describe_run(self._machine, lab.network, calibration, began, time.time() - began),
                "settings": asdict(settings),
                "timing": asdict(timing),
                "sending": asdict(SENDING),
                "sources": {flow.wanted.name: asdict(flow.key) for flow in flows},
                "load_at_rest": asdict(at_rest),
                "load": asdict(recording.load),
            },
            parameters=parameters_of(case, lab.plan, private_entries=self._private_entries),
        )
