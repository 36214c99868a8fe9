"""The interface of all schemes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

from te_solver.model.failures import Failure
from te_solver.programs.incidence import Incidence, Vector
from te_solver.schemes.models.rerouting import Rerouting, Split, proportional
from te_solver.schemes.models.traffic import PlannedTraffic


class Scheme(Protocol):
    """A scheme decides the rate and priority offered to every tunnel after a failure. It keeps no state."""

    name: ClassVar[str]
    """Name by which users select the scheme."""

    plan_objective: ClassVar[str | None]
    """Objective that plans for this scheme must have; None for any."""

    def reroute(self, traffic: PlannedTraffic, failure: Failure) -> Rerouting:
        """Return the traffic after `failure`, which strikes while all of `traffic` is sent as planned.

        Raises:
            UnsoundError: the failure is not part of the plan's topology.
            ValueError: the plan was not made for this scheme.
            SolverError: the solver gave up on a program of the scheme.
        """


class Allocated(Protocol):
    """A solver's answer; `te_solver.programs.program.Allocation` is one."""

    @property
    def rates(self) -> Vector:
        """Mbit/s of each tunnel, shape (T,)."""


class RateSolver(Protocol):
    """A solver that divides demands over tunnels, like `te_solver.programs.resolve.maximise_throughput`.

    The schemes call it with the same `Incidence` object for every failure of a plan (except `recompute` with new
    tunnels) and exclude tunnels and pairs by capacities and demands of zero: a solver may keep its compiled program.
    """

    def __call__(self, incidence: Incidence, capacity: Vector, demand: Vector, /) -> Allocated:
        """Return rates within capacities, shape (L,), and demands, shape (P,), in Mbit/s and not negative."""


@dataclass(frozen=True)
class SchemeOptions:
    """Options of the schemes that support them.

    Attributes:
        split: the division of victims by `kuijia` and `rescaling`.
        new_tunnels: True if `recompute` replaces failed tunnels by new ones.
    """

    split: Split = proportional
    new_tunnels: bool = False
