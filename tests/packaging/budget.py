"""What the house may have at most: a figure falls when work allows it, and rises only by an edit here that says why."""

from __future__ import annotations

ROOMS = {
    "kuijia_base": (4_001, 31),  # results say what made them
    "te_solver": (13_400, 112),  # plans recomputed on what is left, ties of NCFlow
    "simulator": (23_760, 215),  # the report of a what-if opens with who loses what
    "kuijia_app": (29_550, 162),  # storms whose packets are dropped at once, polls of hosts by themselves
    "hedera": (4_545, 37),  # routes around switches at which others' entries take packets
    "testbed": (21_565, 138),
    "experiments": (20_700, 90),  # ranges that grow on switches
    "kuijia": (10_600, 59),  # tables that select several columns, units in data frames
    "benchmarks": (4_650, 32),  # hosts that are learned, their storms, loads of drawn demands
    "docs": (690, 8),
    "tests": (110_900, 875),  # changed lines of proof, control, programs and the packet core that no test noticed
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
