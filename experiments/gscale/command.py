"""`kuijia run gscale`: the evaluation on Gscale (section 5), every case of it."""

from __future__ import annotations

import argparse

from experiments.gscale.choice import cases_from, configure
from experiments.output import OutputFolder
from experiments.progress import Progress
from experiments.registry import Outcome, Settings, experiment


@experiment(
    "gscale",
    title="links of Gscale fail under demands from 0.8 to 1.6 of a link: the whole evaluation",
    reproduces="Figures 10 to 14, Table 4",
    backends=("emulation",),
    configure=configure,
)
def gscale(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    # What measures takes seconds to import, which listing the experiments should not cost.
    from experiments.gscale.losses import losses_text  # noqa: PLC0415
    from experiments.gscale.measure import measure  # noqa: PLC0415

    outcome = measure(cases_from(args, ("tcp", "udp", "priorities")), settings, output, progress)
    text = losses_text(outcome.results)
    output.write_text("gscale.txt", f"{text}\n")
    missed = tuple(f"{name}: {reason}" for name, reason in outcome.given_up.items())
    summary: dict[str, object] = {
        "experiment": "gscale",
        "published": None,
        "passed": not missed,
        "measured": len(outcome.results),
        "given_up": dict(outcome.given_up),
    }
    output.write_json("gscale-summary.json", summary)
    return Outcome(text, summary, missed)
