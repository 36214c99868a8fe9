"""The parts of a running lab, for those who work on it and whom the lab itself calls."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from kuijia_app.tables.bfd import BfdSession
from kuijia_app.tables.wiring import Wiring
from te_solver.model.plan import Plan
from testbed.controllers.controller_set import LabController
from testbed.lab.lab_flows import LabFlows
from testbed.lab.lab_options import LabOptions
from testbed.network.lab_network import LabNetwork


class LabParts(Protocol):
    """A running lab (`testbed.lab.lab.Lab`); plan, its number and sessions change with an update."""

    plan: Plan
    plan_number: int
    options: LabOptions
    wiring: Wiring

    @property
    def directory(self) -> Path: ...

    @property
    def network(self) -> LabNetwork: ...

    @property
    def controller(self) -> LabController: ...

    @property
    def flows(self) -> LabFlows: ...

    @property
    def sessions(self) -> tuple[BfdSession, ...]: ...

    @property
    def nodes_down(self) -> tuple[str, ...]: ...
