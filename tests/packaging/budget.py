"""What the house may have at most: a figure falls when work allows it, and rises only by an edit here that says why."""

from __future__ import annotations

ROOMS = {
    "kuijia_base": (3_980, 32),
    "te_solver": (13_155, 112),  # a second try of what HiGHS leaves unknown
    "simulator": (23_795, 215),  # numbers of studies without their plans, for load_whatif
    "kuijia_app": (28_990, 162),  # protocols between control and its parts, which do not inherit any more
    "hedera": (4_490, 39),  # the same: the scheduler states its policy
    "testbed": (22_152, 146),
    "experiments": (20_832, 90),
    "kuijia": (10_325, 58),  # load_whatif, and the names that editors complete
    "benchmarks": (4_055, 30),
    "docs": (800, 11),
    "tests": (104_150, 848),  # changed lines that no test noticed, and half-prepared switches
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
