"""Ports of BFD sessions that follow the plan: made before a plan is rolled out, removed when no plan has them."""

from __future__ import annotations

from dataclasses import dataclass

from kuijia_app.preparation.examination import Reached, session_lacks, unused_session_changes
from kuijia_app.preparation.runner import Databases, make, require_bridges, survey
from kuijia_app.tables.needs import SwitchNeeds, needs_of
from kuijia_app.tables.options import PipelineOptions
from kuijia_app.tables.wiring import Wiring
from kuijia_base.errors import TestbedError
from te_solver.model.plan import Plan


@dataclass(frozen=True)
class SessionPorts:
    """The ports of sessions at the switches' databases; one thread uses it."""

    databases: Databases
    options: PipelineOptions
    wiring: Wiring
    interval_ms: int

    def supply(self, plan: Plan) -> None:
        """Make the ports that a plan's sessions lack.

        Raises:
            TestbedError: a database does not answer, or some ports cannot be made; the message is one line.
        """
        needs = {name: each for name, each in self._needs(plan).items() if each.sessions}
        for is_last in (False, True):
            for switch in self._survey(needs):
                for lack in session_lacks(switch, self.interval_ms):
                    if is_last or not lack.changes:
                        raise TestbedError(str(lack))
                    make(lack.changes)

    def remove_unused(self, *plans: Plan) -> None:
        """Remove the ports of sessions that none of the plans has; raises TestbedError likewise."""
        used = {session.path_id for plan in plans for each in self._needs(plan).values() for session in each.sessions}
        for switch in self._survey(self._needs(plans[0])):
            make(list(unused_session_changes(switch, used)))

    def _needs(self, plan: Plan) -> dict[str, SwitchNeeds]:
        return needs_of(plan, self.options, self.wiring)

    def _survey(self, needs: dict[str, SwitchNeeds]) -> list[Reached]:
        found = survey(needs, self.databases, with_queues=False)
        require_bridges(found)
        return found
