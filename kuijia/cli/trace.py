"""`kuijia trace`: follows a packet through a plan's tables, with or without failures."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from kuijia.api.table_building import followed
from kuijia.cli.parsers import add_alias
from kuijia.cli.table_options import add_plan_and_options, build
from kuijia_app.proof.trace import PACKET_SYNTAX, trace_json, walk_text


def configure(parser: argparse.ArgumentParser) -> None:
    add_plan_and_options(parser)
    parser.add_argument(
        "packet",
        metavar="PACKET",
        nargs="+",
        help=f"SOURCE TARGET, or in quotes '{PACKET_SYNTAX}'; the ingress's hash picks the slot",
    )
    parser.add_argument(
        "--failures",
        action="append",
        default=[],
        metavar="A-B",
        help="failed link or node; can be repeated",
    )
    add_alias(parser, "--fail", "--failures")


def run(args: argparse.Namespace) -> int:
    built = build(args)
    failure, walk, network = followed(built, _packet(args.packet), args.failures)
    if args.json:
        print(json.dumps(trace_json(walk, failure.name)))
    else:
        print("\n".join(walk_text(walk, network)))
    return 0


def _packet(words: Sequence[str]) -> str | tuple[str, str]:
    """Return the packet of the arguments: with an arrow they are one text, otherwise the first is the source."""
    joined = " ".join(words)
    return joined if len(words) == 1 or "->" in joined else (words[0], " ".join(words[1:]))
