"""What the house may have at most: a figure falls when work allows it, and rises only by an edit here that says why."""

from __future__ import annotations

ROOMS = {
    "kuijia_base": (3_984, 41),
    "te_solver": (13_160, 128),
    "simulator": (23_982, 236),
    "kuijia_app": (27_850, 161),
    "hedera": (4_400, 39),
    "testbed": (21_743, 145),
    "experiments": (21_000, 101),
    "kuijia": (10_194, 70),
    "benchmarks": (3_750, 29),
    "docs": (800, 11),
    "tests": (100_080, 836),
}
"""Lines and files of Python and C++, blank ones and comments included."""

MODULES = {"import kuijia": 2, "kuijia --help": 20, "kuijia list": 40}
"""Modules of our own that are imported: what start-up takes, whatever the machine."""

OTHER_PACKAGES = {
    "import kuijia": frozenset[str](),
    "kuijia --help": frozenset[str](),
    "kuijia list": frozenset(),
}
"""Packages of others that are imported."""

CLASS_NAMES_USED_TWICE = frozenset(
    {
        *("Case", "Choices", "Comparison", "Conditions", "Cut", "Direction", "Experiment", "Fabric"),
        *("Failure", "Faults", "Finding", "Findings", "FlowKey"),
        *("FlowLine", "Flows", "ForwardFaultCorrection", "Frame", "Grid", "History", "Lab", "Link"),
        *("Links", "Liveness", "Load", "Log", "Look", "Measured", "Naming"),
        *("Network", "Outcome", "Outcomes", "Page", "Part", "PhaseResult", "Placement", "Plan"),
        *("Poll", "Problem", "Program", "Questions", "Random", "Ready"),
        *("Replace", "Rerouting", "RoleSum", "Room", "Row", "Run", "Scheme", "Search"),
        *("Setting", "Simulation", "Stage", "StartFlow", "StopFlow", "Study", "Summary"),
        *("Switch", "Table", "Tables", "Timing", "Topology", "Traffic", "Watch", "Workload"),
    }
)
"""Public names of several classes at the top of modules; a new class has a name of its own."""
