"""Kuijia for Python programs and notebooks; docs/python.md shows how to use it.

`import kuijia` imports nothing else: each name below brings its module along when it is first used.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from kuijia.rooms import find_rooms_of_clone

if TYPE_CHECKING:
    from kuijia.api.choices import networks, objectives, path_choices, schemes, transports
    from kuijia.api.demands import Demands, DemandsLike, load_demands, make_demands
    from kuijia.api.lab import Lab, LabError, connect
    from kuijia.api.packet import PacketResult, load_packet, packet
    from kuijia.api.plan import Plan, PlanLike, load_plan, plan_from_paths, solve
    from kuijia.api.table import Picture, Table, Text
    from kuijia.api.tables import Proof, Tables, Trace, trace, verify
    from kuijia.api.tables import compile_plan as compile  # noqa: A004  # kuijia.compile
    from kuijia.api.topology import Topology, TopologyLike, load_topology
    from kuijia.api.whatif import whatif
    from kuijia.api.whatif_options import Failures
    from kuijia.api.whatif_packets import WhatIfPackets
    from kuijia.api.whatif_result import WhatIf, load_whatif
    from kuijia_base.errors import InputError, KuijiaError, SolverError
    from te_solver.model.demands import Demand
    from te_solver.model.failures import Failure
    from te_solver.model.topology import Link
    from te_solver.schemes.failure_scheme import FailureScheme

    __version__: str

__all__ = [
    "Demand",
    "Demands",
    "DemandsLike",
    "Failure",
    "FailureScheme",
    "Failures",
    "InputError",
    "KuijiaError",
    "Lab",
    "LabError",
    "Link",
    "PacketResult",
    "Picture",
    "Plan",
    "PlanLike",
    "Proof",
    "SolverError",
    "Table",
    "Tables",
    "Text",
    "Topology",
    "TopologyLike",
    "Trace",
    "WhatIf",
    "WhatIfPackets",
    "compile",
    "connect",
    "load_demands",
    "load_packet",
    "load_plan",
    "load_topology",
    "load_whatif",
    "make_demands",
    "networks",
    "objectives",
    "packet",
    "path_choices",
    "plan_from_paths",
    "schemes",
    "solve",
    "trace",
    "transports",
    "verify",
    "whatif",
]

_NAMES_OF = {
    "kuijia.api.choices": "networks objectives path_choices schemes transports",
    "kuijia.api.demands": "Demands DemandsLike load_demands make_demands",
    "kuijia.api.lab": "Lab LabError connect",
    "kuijia.api.packet": "PacketResult load_packet packet",
    "kuijia.api.plan": "Plan PlanLike load_plan plan_from_paths solve",
    "kuijia.api.table": "Picture Table Text",
    "kuijia.api.tables": "Proof Tables Trace compile trace verify",
    "kuijia.api.topology": "Topology TopologyLike load_topology",
    "kuijia.api.whatif": "whatif",
    "kuijia.api.whatif_options": "Failures",
    "kuijia.api.whatif_packets": "WhatIfPackets",
    "kuijia.api.whatif_result": "WhatIf load_whatif",
    "kuijia_base.errors": "InputError KuijiaError SolverError",
    "te_solver.model.demands": "Demand",
    "te_solver.model.failures": "Failure",
    "te_solver.model.topology": "Link",
    "te_solver.schemes.failure_scheme": "FailureScheme",
}
_MODULES = {name: module for module, names in _NAMES_OF.items() for name in names.split()}
"""Modules of the names; a test compares them with the imports above."""

_NAMES_THERE = {"compile": "compile_plan"}

find_rooms_of_clone()

if not TYPE_CHECKING:  # type checkers would take any name for known

    def __getattr__(name: str) -> object:
        """Import a name on its first use."""
        import importlib  # noqa: PLC0415  # the command does not need it here

        if name == "__version__":
            from importlib.metadata import version  # noqa: PLC0415  # slow to import

            found: object = version("kuijia")
        elif name in _MODULES:
            found = getattr(importlib.import_module(_MODULES[name]), _NAMES_THERE.get(name, name))
        else:
            # By name and object the interpreter asks which name was meant.
            raise AttributeError(f"module 'kuijia' has no attribute {name!r}", name=name, obj=sys.modules[__name__])
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__, "__version__"})
