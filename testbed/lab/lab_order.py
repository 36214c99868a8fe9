"""What the starter of a lab and its service agree on: the order, and the name of the socket in the lab's directory."""

from __future__ import annotations

import json
import math
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from typing import Any

from kuijia_base.errors import InputError, quoted
from te_solver.formats.plan_file import plan_from_json, plan_to_json
from te_solver.model.plan import Plan
from te_solver.model.topology import Topology
from testbed.lab.lab_options import LabOptions

SOCKET_NAME = "lab.sock"


@dataclass(frozen=True)
class Order:
    """Order to start a service: the plan in its JSON form, the options of the lab, and where the page draws nodes."""

    plan: dict[str, Any]
    options: dict[str, Any]
    positions: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: Plan, options: dict[str, Any]) -> Order:
        """Return the order for a lab with this plan."""
        return cls(plan_to_json(plan), options, positions_to_json(plan.topology))

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    def read(self) -> tuple[Plan, LabOptions]:
        """Return the parsed order; raise InputError if it is invalid."""
        types = {each.name: type(each.default) for each in fields(LabOptions) if each.default is not MISSING}
        for name, value in self.options.items():
            wanted = types.get(name)
            if wanted is None:
                raise InputError("order", quoted(name), "unknown option", f"one of {', '.join(types)}")
            if type(value) is not wanted and not (wanted is float and type(value) is int):
                raise InputError("order", name, f"found {quoted(repr(value))}", f"a value of type {wanted.__name__}")
        return drawn_at(plan_from_json(self.plan, "plan"), self.positions), LabOptions(**self.options)


def positions_to_json(topology: Topology) -> dict[str, Any]:
    """Return the coordinates of nodes as JSON data; plans have none."""
    return {node: list(position) for node, position in topology.positions.items()}


def drawn_at(plan: Plan, positions: dict[str, Any]) -> Plan:
    """Return a plan whose topology has these coordinates; raises InputError if they are none."""
    found = {}
    for node, position in positions.items():
        match position:
            case [int() | float() as east, int() | float() as north] if math.isfinite(east) and math.isfinite(north):
                found[node] = (float(east), float(north))
            case _:
                problem = f"found {quoted(repr(position))}"
                raise InputError("order", f"positions.{quoted(node)}", problem, "two numbers")
    return replace(plan, topology=replace(plan.topology, positions=found))
