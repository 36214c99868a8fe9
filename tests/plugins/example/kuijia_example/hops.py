"""The experiment `hops`: the hops of the tunnels that a plan for Gscale uses."""

from __future__ import annotations

import argparse

from kuijia.experiments.experiment import Experiment, Outcome, Settings
from kuijia.te_solver.formats.demands_file import load_demands
from kuijia.te_solver.formats.topology_file import load_topology
from kuijia.te_solver.networks import shipped_demands, shipped_network
from kuijia.te_solver.solve import solve

from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress


def run(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    """Solve the plan and count."""
    del settings, args, progress
    topology = load_topology(shipped_network("gscale"))
    plan = solve(topology, load_demands(shipped_demands("gscale"), topology))
    hops = sorted(len(tunnel.nodes) - 1 for pair in plan.pairs for tunnel in pair.tunnels)
    text = f"{len(hops)} tunnels of {hops[0]} to {hops[-1]} hops, {sum(hops) / len(hops):.2f} on average"
    output.write_text("hops.txt", f"{text}\n")
    return Outcome(text, {"hops": hops}, ())


EXPERIMENTS = {"hops": Experiment(run, without=("capacity", "repetitions", "quick", "full"))}
