"""Compares switches with what the plans in use, or one that shall replace them, need of them; pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from kuijia_app.control import link_probes, port_states
from kuijia_app.control.findings import SwitchFinding
from kuijia_app.control.identity import are_identical
from kuijia_app.control.plan_checks import QUEUE_KINDS, Missing, PlanChecks, summary
from kuijia_app.control.probe_frames import ProbeForm
from kuijia_app.control.switches import ControlledSwitches, Runtime
from kuijia_app.tables.needs import HOST_MTU, SwitchNeeds, needs_of, port_use, session_ports
from kuijia_app.tables.neighbours import segments_of
from kuijia_app.tables.options import PipelineOptions
from kuijia_base.errors import UnsoundError
from te_solver.model.plan import Plan

_CHECKED_KINDS = frozenset((*port_states.KINDS, *link_probes.KINDS, *QUEUE_KINDS))


class PlanNeeds:
    """The needs of plans, and what switches lack for them.

    Attributes:
        checks: which switches may have the plan, and what is known of their queues.
    """

    def __init__(
        self,
        runtime: Runtime,
        switches: ControlledSwitches,
        options: PipelineOptions,
        missing: Missing,
        host_mtu: int | None,
    ) -> None:
        """Begin without plans; `missing` and `host_mtu` are options on what switches may lack."""
        self._runtime = runtime
        self._switches = switches
        self._options = options
        self._host_mtu = host_mtu
        self._plans: tuple[Plan, ...] = ()
        self._is_withheld = False
        self.checks = PlanChecks(missing, {})

    def follow(self, plans: tuple[Plan, ...]) -> None:
        """Compare switches with the needs of all plans in use from now on."""
        if are_identical(plans, self._plans):
            return
        self._plans = plans
        each = [self._of(plan) for plan in plans]
        self.checks.needs = {
            switch: replace(
                needs,
                ports={number: port for one in each for number, port in one[switch].ports.items()},
                sessions=tuple({s: None for one in each for s in one[switch].sessions}),
            )
            for switch, needs in each[0].items()
        }

    def begin_probing(self) -> None:
        """Probe all links, or none if nothing is asked for, and be the gateway of hosts that are to be learned."""
        self._switches.learn_hosts(segments_of(self._switches.wiring), self._host_mtu)
        form = ProbeForm(self._options.tagging, self._options.layout.control)
        sizes = {
            (switch, port.number): port.mtu
            for switch, needs in self.checks.needs.items()
            for port in needs.ports.values()
            if not port.is_host and self.checks.missing is not Missing.IGNORE
        }
        self._switches.probe_links(form, sizes)

    def ports_of(self, switch: str) -> set[int]:
        """Return the numbers of the ports of a switch that plans use, those of sessions too."""
        return {*self._switches.wiring.ports(switch), *session_ports(self.checks.needs[switch])}

    def admitted(self, now: float) -> list[str]:
        """State all that is wrong with switches; return those that may have the plan from now on."""
        switches = self._switches
        for switch in filter(switches.port_states.has_described, switches.connections):
            self._state_findings(switch, now)
        lacks = [finding for finding in switches.findings.lacks if finding.key.switch in switches.connections]
        ready = self.checks.admitted(now, lacks, self._are_links_judged)
        self._tell_withheld(summary(lacks) if lacks and not self.checks.is_admitted else "")
        return ready

    def require_nothing_missing(self, plan: Plan, now: float) -> None:
        """Raise UnsoundError if a plan that shall replace the one in force lacks something, and such are refused."""
        if self.checks.missing is not Missing.REFUSE:
            return
        lacks = list(self._switches.findings.lacks)
        if not lacks:
            lacks += [*self.missing_session_ports(plan, now), *self._missing_queues(plan)]
        if lacks:
            raise UnsoundError((), summary(lacks), "switches that lack nothing, or --missing warn")

    def missing_session_ports(self, plan: Plan, now: float) -> Iterator[SwitchFinding]:
        """Yield the ports of a plan's sessions that connected switches have not described."""
        for switch, needs in self._of(plan).items():
            yield from self._switches.port_states.findings(switch, {}, session_ports(needs), now)

    def _of(self, plan: Plan) -> dict[str, SwitchNeeds]:
        return needs_of(plan, self._options, self._switches.wiring, self._host_mtu or HOST_MTU)

    def _missing_queues(self, plan: Plan) -> Iterator[SwitchFinding]:
        """Yield the queues that connected switches lack for a plan."""
        for switch, needs in self._of(plan).items():
            yield from self.checks.queue_lacks(needs, partial(self._has_port, switch))

    def _state_findings(self, switch: str, now: float) -> None:
        """State all that is wrong with a switch's ports, links and queues."""
        needs, states = self.checks.needs[switch], self._switches.port_states
        uses = {port.number: port_use(port.leads_to, is_host=port.is_host) for port in needs.ports.values()}
        found = [
            *states.findings(switch, uses, session_ports(needs), now),
            *self._switches.prober.probes.findings(switch),
            *self.checks.findings(switch, partial(self._has_port, switch)),
        ]
        kinds = _CHECKED_KINDS if self.checks.knows_queues(switch) else _CHECKED_KINDS.difference(QUEUE_KINDS)
        self._switches.findings.exactly(kinds, switch, found, now)

    def _has_port(self, switch: str, port: int) -> bool:
        return self._switches.port_states.state(switch, port) is not None

    def _are_links_judged(self, switch: str) -> bool:
        return self._switches.prober.probes.is_judged(switch, self._switches.prober.may_probe)

    def _tell_withheld(self, reason: str) -> None:
        """Log that the plan is put on no switch, or on switches from now on, if that is news."""
        if bool(reason) != self._is_withheld:
            words = "the plan is put on no switch: %s" if reason else "the plan is put on switches%s"
            self._runtime.logger.warning(words, reason)
        self._is_withheld = bool(reason)
