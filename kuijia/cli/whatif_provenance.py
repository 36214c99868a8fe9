"""Provenance of a run of `kuijia whatif`: the command line with all settings that decide the answer, and versions."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence

from kuijia.api.whatif_packets import OF_FLOW, PACKET, PARSERS
from kuijia_base.manifest import python_versions
from simulator.studies.whatif.study import Provenance

_OPTIONS = {
    "topology_format": "--format",
    "default_capacity": "--default-capacity",
    "rate_unit": "--rate-unit",
    "demand_format": "--demand-format",
    "row": "--row",
    "drop_unreachable": "--drop-unreachable",
    "tunnels": "--tunnels",
    "node_disjoint": "--node-disjoint",
    "paths": "--paths",
    "objective": "--objective",
    "partitions": "--partitions",
    "plan": "--plan",
    "schemes": "--schemes",
    "failures": "--failures",
    "sample": "--sample",
    "seed": "--seed",
    "protect": "--protect",
    "split": "--split",
    "new_tunnels": "--new-tunnels",
    "udp": "--udp",
    "weighting": "--weighting",
    "probabilities": "--probabilities",
}
"""Parsed arguments that decide the answer; defaults are written out too, as they may change."""


def provenance(args: argparse.Namespace, assumptions: Sequence[str]) -> Provenance:
    return Provenance(command_of(args), python_versions(), tuple(assumptions))


def command_of(args: argparse.Namespace) -> str:
    """Return the command line that reproduces a study."""
    return shlex.join(_words(args))


def _words(args: argparse.Namespace) -> list[str]:
    words = ["kuijia", "whatif", *(str(each) for each in (args.topology, args.demands) if each is not None)]
    options = _OPTIONS
    if args.backend == PACKET:
        words += ["--backend", PACKET]
        of_packets = {name: f"--{name.replace('_', '-')}" for name in PARSERS}
        options = {name: option for name, option in _OPTIONS.items() if name not in OF_FLOW} | of_packets
    for name, option in options.items():
        value = getattr(args, name)
        if value is None or value is False or (name in ("tunnels", "paths") and args.plan is not None):
            continue
        words.append(option)
        if value is not True:
            words.append(",".join(value) if isinstance(value, tuple) else f"{value}")
    return words
