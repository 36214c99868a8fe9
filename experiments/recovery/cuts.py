"""The plan whose links are cut, and the links in turn; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from experiments.recovery.cases import Mode
from te_solver.demands_file import load_demands
from te_solver.networks import shipped_demands, shipped_network
from te_solver.plan import Plan, Tunnel
from te_solver.solve import solve
from te_solver.topology_file import load_topology


def recovery_plan(network: str, capacity: float) -> Plan:
    """Return the plan of a shipped network with its own demands and its largest link at `capacity` Mbit/s."""
    topology = load_topology(shipped_network(network))
    demands = load_demands(shipped_demands(network), topology)
    factor = capacity / max(link.capacity for link in topology.links)
    return solve(topology.scaled(factor), [replace(demand, rate=demand.rate * factor) for demand in demands])


def cuts_in_turn(mode: Mode, tunnels: Sequence[Tunnel], count: int) -> list[tuple[Tunnel, int]]:
    """Return the cuts, as tunnels and positions of their links: tunnel by tunnel, then link by link.

    Raises:
        ValueError: no tunnel has a link that the mode cuts.
    """
    fit = [tunnel for tunnel in tunnels if len(tunnel.hops) > min(mode.links)]
    if not fit:
        raise ValueError(f"no tunnel with traffic has the {mode.title}")
    cuts = []
    for number in range(count):
        tunnel = fit[number % len(fit)]
        positions = [position for position in mode.links if position < len(tunnel.hops)]
        cuts.append((tunnel, positions[number // len(fit) % len(positions)]))
    return cuts
