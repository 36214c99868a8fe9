"""What the house may have at most: a figure falls when work allows it, and rises only by an edit here that says why."""

from __future__ import annotations

ROOMS = {
    "kuijia_base": (3_984, 41),
    "te_solver": (13_270, 128),
    "simulator": (24_010, 236),
    "kuijia_app": (28_200, 161),
    "hedera": (4_445, 39),
    "testbed": (22_065, 146),
    "experiments": (21_004, 101),
    "kuijia": (10_215, 70),
    "benchmarks": (4_055, 30),
    "docs": (800, 11),
    "tests": (102_000, 842),
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
        # Users know them as `kuijia.Lab`, `kuijia.Plan` and `kuijia.Topology`; most modules use the other ones.
        *("Lab", "Plan", "Topology"),
        # The web's is a message of its API, the other one is the option of the tables that users set.
        "Liveness",
    }
)
"""Public names of two classes at the top of modules; a new class has a name of its own."""
