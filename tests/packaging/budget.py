"""What the house may have at most: a figure falls when work allows it, and rises only by an edit here that says why."""

from __future__ import annotations

ROOMS = {
    "kuijia_base": (4_014, 30),  # bounds on what a file may make of its bytes
    "te_solver": (
        13_500,
        112,
    ),  # words of objectives of packages, bounds of foreign files, ends of searches
    "simulator": (23_650, 206),
    "kuijia_app": (29_580, 162),  # storms whose packets are dropped at once, peers that leave while they wait
    "hedera": (4_530, 36),  # routes around switches at which others' entries take packets
    "testbed": (21_220, 111),
    "experiments": (20_535, 84),  # ranges that grow on switches
    "kuijia": (10_615, 59),  # tables that are sliced, units in their CSV, a schema of `reproduce`
    "benchmarks": (4_650, 32),  # hosts that are learned, their storms, loads of drawn demands
    "docs": (690, 8),
    "tests": (112_906, 876),  # changed lines of control, Fleischer's and the demand estimation that no test noticed
}
"""Lines and files of Python and C++, blank ones and comments included."""

MODULES = {"import kuijia": 2, "kuijia --help": 18, "kuijia list": 21}
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
