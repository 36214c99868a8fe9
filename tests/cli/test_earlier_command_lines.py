"""Command lines of the documentation before options were renamed still mean the same."""

from __future__ import annotations

import argparse
import shlex

import pytest

from kuijia.cli.parsers import whole_parser
from kuijia.cli.verbs import with_default_action

LINES: dict[str, dict[str, object]] = {
    "solve topohub:sndlib/polska topohub:sndlib/polska --capacity 622": {"default_capacity": 622.0},
    "solve gscale gscale --objective ffc --protect 1 -o plan.json --plot plan.png": {"objective": "ffc", "protect": 1},
    "solve gscale all.csv --partitions 2 --reproducible": {"partitions": 2, "reproducible": True},
    "whatif gscale gscale --schemes kuijia,ffc --failures links,pairs": {
        "schemes": ("kuijia", "ffc"),
        "failures": "links,pairs",
        "topology": "gscale",
        "demands": "gscale",
    },
    "whatif fig1 fig1 --capacity 10 --probabilities table1-5min": {
        "default_capacity": 10.0,
        "probabilities": "table1-5min",
    },
    "topology describe Kdl.gml --capacity 40": {"topology": "Kdl.gml", "default_capacity": 40.0},
    "topology --json convert Kdl.gml -o kdl.yaml": {"topology": "Kdl.gml", "json": True},
    "demands gscale --capacity 5 --total 2000": {"default_capacity": 5.0, "total": 2000.0},
    "packet topohub:topozoo/Abilene --capacity 1000 --rate 10000": {"default_capacity": 1000.0, "rate": 10_000.0},
    "compile plan.json --scheme rescaling": {"scheme": "rescaling"},
    "verify plan.json --failures pairs --scheme kuijia": {"failures": "pairs", "scheme": "kuijia"},
    "trace plan.json 's1->s4 slot=3' --fail s2-s4 --fail s1": {
        "packet": ["s1->s4 slot=3"],
        "failures": ["s2-s4", "s1"],
    },
    "lab up fig1 fig1 --capacity 20 --default-capacity 1000": {"capacity": 20.0, "default_capacity": 1000.0},
    "run table2 --capacity 10 --quick --settle-seconds 8 --schemes kuijia": {
        "experiment": "table2",
        "capacity": 10.0,
        "schemes": ("kuijia",),
    },
    "run --quick fig10 --links 7-9": {"experiment": "fig10", "quick": True},
}


@pytest.fixture(scope="module")
def parser() -> argparse.ArgumentParser:
    return whole_parser()


@pytest.mark.parametrize("line", LINES)
def test_an_earlier_command_line_is_understood(line: str, parser: argparse.ArgumentParser) -> None:
    args = vars(parser.parse_args(with_default_action(shlex.split(line))))
    for name, value in LINES[line].items():
        assert args[name] == value, name
