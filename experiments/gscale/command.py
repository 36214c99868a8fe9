"""The evaluation on Gscale (section 5) for `kuijia run`: each of its tables and figures, and all of them as `gscale`.

They share their runs: a run that the folder already holds is not measured again.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from experiments.gscale.cases import Traffic
from experiments.gscale.choice import cases_from, configure
from experiments.output import OutputFolder
from experiments.progress import Progress
from experiments.registry import Outcome, Runner, Settings, experiment

_ALL = ("emulation", "flow", "boxes")
_SINGLE: tuple[Traffic, ...] = ("tcp", "udp")
_EXPERIMENTS: tuple[tuple[str, str, str, tuple[str, ...], tuple[Traffic, ...]], ...] = (
    ("fig10", "Figure 10", "throughput loss of TCP flows that a failure affects directly", _ALL, ("tcp",)),
    ("fig11", "Figure 11", "packet loss of UDP flows that a failure affects directly", _ALL, ("udp",)),
    ("fig12", "Figure 12", "throughput loss of TCP victims", _ALL, ("tcp",)),
    ("fig13", "Figure 13", "packet loss of UDP victims", _ALL, ("udp",)),
    ("indirect", "Section 5.2", "loss of flows that a failure affects indirectly", _ALL, _SINGLE),
    ("table4", "Table 4", "how long TCP takes to settle after a failure", _ALL, ("tcp",)),
    ("fig14", "Figure 14", "throughput loss of the low class of two", _ALL, ("priorities",)),
    ("fig16", "Figure 16", "what passes a link before and after a failure, by class", _ALL, ("priorities",)),
    ("gscale", "Section 5", "all of these", _ALL, (*_SINGLE, "priorities")),
)
"""Name, reproduced figure, title, backends, and the traffic of its runs."""


def _runner(name: str, traffics: Sequence[Traffic]) -> Runner:
    def run(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
        # Measuring code takes seconds to import; listing the experiments must not need it.
        from experiments.gscale.exhibits import MAKERS  # noqa: PLC0415
        from experiments.gscale.grid_run import run_grid  # noqa: PLC0415

        names = tuple(MAKERS) if name == "gscale" else (name,)
        cases = cases_from(args, traffics)
        return run_grid(name, names, cases, settings, output, progress, private_entries=args.private_entries)

    return run


for _name, _reproduces, _title, _backends, _traffics in _EXPERIMENTS:
    experiment(
        _name, title=_title, reproduces=_reproduces, backends=_backends, configure=configure, heeds=("schemes",)
    )(_runner(_name, _traffics))
