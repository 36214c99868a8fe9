"""What the house may have at most: a figure falls when work allows it, and rises only by an edit here that says why."""

from __future__ import annotations

ROOMS = {
    "kuijia_base": (4_010, 32),  # results say what made them
    "te_solver": (13_195, 112),  # scenarios that lose a pair everything stay out of programs
    "simulator": (23_850, 215),  # the report of a what-if opens with who loses what
    "kuijia_app": (29_200, 163),  # records of known hosts, fair shares of packets for the controller
    "hedera": (4_535, 39),  # routes around switches at which others' entries take packets
    "testbed": (22_152, 146),
    "experiments": (20_885, 90),  # a profile of Hermes as its public program
    "kuijia": (10_540, 59),  # `kuijia reproduce`
    "benchmarks": (4_935, 35),  # hosts that are learned, their storms, loads of drawn demands
    "docs": (800, 11),
    "tests": (105_600, 853),  # second statements of allocations, and changed lines that no test noticed
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
