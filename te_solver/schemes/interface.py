"""What a scheme is: the one interface that all of them have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

from te_solver.failures import Failure
from te_solver.programs.incidence import Incidence, Vector
from te_solver.schemes.rerouting import Rerouting
from te_solver.schemes.splits import Split, proportional
from te_solver.schemes.traffic import PlannedTraffic


class Scheme(Protocol):
    """Decides what every tunnel is offered, and how important it is, after a failure. It keeps no state."""

    name: ClassVar[str]
    """What users call it."""

    plan_objective: ClassVar[str | None]
    """The objective that a plan must have been made with for this scheme, None where any will do."""

    def reroute(self, traffic: PlannedTraffic, failure: Failure) -> Rerouting:
        """The traffic after `failure`, which strikes while all of `traffic` is sent as planned.

        Raises:
            UnsoundError: the failure is none of the plan's topology.
            ValueError: the plan was not made for this scheme.
            SolverError: a scheme that solves programs met one that was given up.
        """


class Allocated(Protocol):
    """What a solver answers; `te_solver.programs.program.Allocation` is one."""

    @property
    def rates(self) -> Vector:
        """Mbit/s of each tunnel, shape (T,)."""


class RateSolver(Protocol):
    """Divides demands over tunnels, like `te_solver.programs.max_throughput.maximise_throughput`.

    The schemes call it with the same `Incidence` object for every failure of a plan (`recompute` with new tunnels
    excepted) and leave tunnels and pairs out by capacities and demands of zero: a solver may keep what it compiled.
    """

    def __call__(self, incidence: Incidence, capacity: Vector, demand: Vector, /) -> Allocated:
        """Rates within capacities of shape (L,) and demands of shape (P,), all in Mbit/s and not negative."""


@dataclass(frozen=True)
class SchemeOptions:
    """What can be chosen for the schemes that have it.

    Attributes:
        split: how `kuijia` and `rescaling` divide victims.
        new_tunnels: whether `recompute` gives pairs new tunnels in place of failed ones.
    """

    split: Split = proportional
    new_tunnels: bool = False
