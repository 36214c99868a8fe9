"""Checks of plans against their own topology and demands; every solution and every plan file passes them."""

from __future__ import annotations

from kuijia_base.errors import UnsoundError
from te_solver.model.exposure import Exposure
from te_solver.model.plan import TOLERANCE, Plan, require_sound_tunnels
from te_solver.programs.registry import carries_all


def require_feasible(plan: Plan) -> None:
    """Run all checks below.

    Raises:
        UnsoundError: at the first fault.
    """
    require_sound_tunnels(plan)
    require_within_bounds(plan)
    require_protected(plan)


def require_within_bounds(plan: Plan) -> None:
    """Require that no rate is negative, no pair exceeds its demand or its tunnels' rates, no link its capacity.

    A plan of an objective that `carries_all` must instead carry all demand, and no link may exceed the plan's
    utilisation.

    Raises:
        UnsoundError: at the first excess of more than one part in a million.
    """
    all_carried = carries_all(plan.objective)
    for index, pair in enumerate(plan.pairs):
        for number, tunnel in enumerate(pair.tunnels):
            if not tunnel.rate >= 0:
                raise UnsoundError(
                    ("pairs", index, "tunnels", number, "rate"), f"rate {tunnel.rate:.8g}", "no less than 0"
                )
        offered = sum(tunnel.rate for tunnel in pair.tunnels)
        bound = min(pair.demand, offered)
        if not 0 <= pair.allocated <= bound * (1 + TOLERANCE):
            raise UnsoundError(
                ("pairs", index, "allocated"),
                f"{pair.allocated:.8g} Mbit/s allocated",
                f"no more than the demand, {pair.demand:.8g}, and the tunnels' rates together, {offered:.8g}",
            )
        if all_carried and pair.allocated < pair.demand * (1 - TOLERANCE):
            raise UnsoundError(
                ("pairs", index, "allocated"),
                f"{pair.allocated:.8g} Mbit/s allocated",
                f"the demand, {pair.demand:.8g}",
            )
    for position, link in enumerate(plan.topology.links):
        load = plan.link_loads[link.ends]
        bound = link.capacity * plan.objective_value if all_carried else link.capacity
        if not load <= bound * (1 + TOLERANCE):
            raise UnsoundError(
                ("topology", "links", position, "capacity"),
                f"tunnels put {load:.8g} Mbit/s on link {link.source}-{link.target}",
                f"no more than {bound:.8g}, {plan.objective_value:.8g} times its capacity"
                if all_carried
                else f"no more than its capacity, {bound:.8g}",
            )


def require_protected(plan: Plan) -> None:
    """Require that each pair's allocation fits into the rates of the tunnels left after the worst failure.

    Rescaling then sends no tunnel more than its rate, so no link gets more than its capacity.

    Raises:
        UnsoundError: at the first pair that could lose more than one part in a million.
    """
    if plan.protected_failures == 0:
        return
    for index, pair in enumerate(plan.pairs):
        rates = [tunnel.rate for tunnel in pair.tunnels]
        exposure = Exposure.of_paths([tunnel.nodes for tunnel in pair.tunnels])
        left = exposure.surviving(rates, plan.protected_failures)
        if not pair.allocated <= left * (1 + TOLERANCE):
            raise UnsoundError(
                ("pairs", index, "allocated"),
                f"{pair.allocated:.8g} Mbit/s allocated",
                f"no more than protection against {plan.protected_failures} leaves of the tunnels' rates, {left:.8g}",
            )
