"""The one object that the model, the switches and the experiments ask about a failure scheme; quick to import."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:  # the model takes a second to import, which switches and command lines do not need
    from te_solver.schemes.models.interface import RateSolver, Scheme, SchemeOptions

VICTIM = "victim"
"""Role of traffic whose tunnel has failed."""


class FailureScheme(ABC):
    """Treatment of traffic when a tunnel fails.

    A file of this package defines a subclass and one object of it; nothing else has to name it.

    Attributes:
        name: as users write it.
        order: place among all schemes in lists, the lowest first.
        on_switches: True if switches can be programmed with it in advance.
        renormalises: True if the controller cuts the hash range of a pair again after a failure, over live tunnels,
            so that other flows may change tunnel as well.
        demoted: roles of traffic that waits below all other traffic of its class after a failure.
    """

    name: ClassVar[str]
    order: ClassVar[int] = 1000
    on_switches: ClassVar[bool] = False
    renormalises: ClassVar[bool] = False
    demoted: ClassVar[frozenset[str]] = frozenset()

    @property
    def is_precut(self) -> bool:
        """True if the scheme is in the tables alone: no controller changes them after a failure, as in simulations."""
        return self.on_switches and not self.renormalises

    def demotes(self, role: str) -> bool:
        """Return True if traffic of this role waits below other traffic after a failure."""
        return role in self.demoted

    def failover(self, primary: int, backup: int, weights: Sequence[float]) -> list[int]:
        """Return the tunnels that a slot's traffic tries in turn once its own is dead, by position.

        Unless a scheme says otherwise: the backup that the slot was promised to, then the rest by weight.

        Args:
            primary: the slot's own tunnel.
            backup: the promised one; the own one if there is no other.
            weights: of all tunnels of the pair.
        """
        rest = [position for position in range(len(weights)) if position not in {primary, backup}]
        rest.sort(key=lambda position: (-weights[position], position))
        return rest if backup == primary else [backup, *rest]

    @abstractmethod
    def model(self, solver: RateSolver, options: SchemeOptions) -> Scheme:
        """Return the scheme's model; those that solve programs use `solver`."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"<{self.name}>"
