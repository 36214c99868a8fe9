"""What the starter of a lab and its service agree on: the order, and the name of the socket in the lab's directory."""

from __future__ import annotations

import json
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any

from kuijia_base.errors import InputError, quoted
from te_solver.plan import Plan
from te_solver.plan_file import plan_from_json
from testbed.lab.lab_options import LabOptions

SOCKET_NAME = "lab.sock"


@dataclass(frozen=True)
class Order:
    """Order to start a service: the plan in its JSON form and the options of the lab."""

    plan: dict[str, Any]
    options: dict[str, Any]

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    def read(self) -> tuple[Plan, LabOptions]:
        """Return the parsed order; raise InputError if it is invalid."""
        types = {field.name: type(field.default) for field in fields(LabOptions) if field.default is not MISSING}
        for name, value in self.options.items():
            wanted = types.get(name)
            if wanted is None:
                raise InputError("order", quoted(name), "unknown option", f"one of {', '.join(types)}")
            if type(value) is not wanted and not (wanted is float and type(value) is int):
                raise InputError("order", name, f"found {quoted(repr(value))}", f"a value of type {wanted.__name__}")
        return plan_from_json(self.plan, "plan"), LabOptions(**self.options)
