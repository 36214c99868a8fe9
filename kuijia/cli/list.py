"""`kuijia list`: lists the experiments."""

from __future__ import annotations

import argparse

from experiments.catalog import all_entries
from kuijia.cli.printing import print_json, show
from kuijia_base.text_table import TextTable


def configure(parser: argparse.ArgumentParser) -> None:
    """Add nothing: there are only the common options."""
    del parser


def run(args: argparse.Namespace) -> int:
    experiments = all_entries()
    if args.json:
        entries = [
            {
                "name": each.name,
                "title": each.title,
                "reproduces": each.reproduces,
                "backends": list(each.backends),
            }
            for each in experiments
        ]
        print_json("experiments", {"experiments": entries})
        return 0
    rows = [(each.name, each.reproduces, f"{each.title}  [{', '.join(each.backends)}]") for each in experiments]
    show([TextTable(rows, headings=0, left=(0, 1, 2))])
    return 0
