"""B4's allocation: all pairs rise alike on their most preferred tunnel that has room, then on the next."""

from __future__ import annotations

import numpy as np

from te_solver.programs.incidence import Vector
from te_solver.programs.program import Allocation, Objective, Program, total

_SOLVER = "none"

_FULL = 1e-9
"""Share of its capacity by which a link counts as full."""


class B4(Program):
    """The allocation of tunnel groups by Jain et al. (B4: experience with a globally-deployed software defined WAN,
    SIGCOMM 2013, section 5.2).

    Bandwidth is a function of the fair share, here the same for all pairs: one Mbit/s for each Mbit/s, up to the
    demand. The fair share of all pairs rises, each filling its tunnel of fewest hops, until a link is full or a demand
    met. Tunnels over full links are left; their pairs go on with the next one that has room, and stop without one.
    Splits are not rounded, as the paper's last step does for switches.
    """

    def _solve(self, room: Vector, demand: Vector, carried: Vector) -> Allocation:
        del carried  # `room` excludes it
        incidence = self.incidence
        rates, left, missing = np.zeros(incidence.hops.size), room.copy(), demand.copy()
        order = [own[np.argsort(incidence.hops[own], kind="stable")].tolist() for own in incidence.tunnels_of_pair]
        full = left <= 0
        while True:
            filling = np.zeros(incidence.hops.size)
            dead = (incidence.links.T @ np.where(full, 1.0, 0.0)) > 0
            for pair in np.flatnonzero(missing > 0).tolist():
                order[pair] = [tunnel for tunnel in order[pair] if not dead[tunnel]]
                if order[pair]:
                    filling[order[pair][0]] = 1.0
            if not filling.any():
                return Allocation(rates, np.minimum(incidence.pairs @ rates, demand), _SOLVER, 0.0)
            pull = incidence.links @ filling
            active = incidence.pairs @ filling > 0
            until_full = np.divide(left, pull, out=np.full(left.size, np.inf), where=pull > 0)
            step = max(min(float(until_full.min()), float(missing[active].min())), 0.0)
            rates += filling * step
            left = np.maximum(left - pull * step, 0.0)
            full |= (pull > 0) & ((until_full <= step) | (left <= _FULL * room))
            missing = np.where(active, missing - step, missing)
            missing[missing <= _FULL * demand] = 0.0


OBJECTIVE = Objective("b4", B4, total, compiled=False)
