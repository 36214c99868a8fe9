"""`kuijia trace`: follows a packet through a plan's tables, with or without failures."""

from __future__ import annotations

import argparse
import json

from kuijia.cli.table_options import add_plan_and_options, build
from kuijia_app.proof.model.network import ModelNetwork
from kuijia_app.proof.trace import PACKET_SYNTAX, parse_failure, parse_packet, walk_json, walk_text


def configure(parser: argparse.ArgumentParser) -> None:
    add_plan_and_options(parser)
    parser.add_argument(
        "packet", metavar="PACKET", help=f"in quotes: '{PACKET_SYNTAX}'; the ingress's hash picks the slot"
    )
    parser.add_argument(
        "--fail",
        action="append",
        default=[],
        metavar="A-B",
        help="failed link or node; can be repeated",
    )


def run(args: argparse.Namespace) -> int:
    built = build(args)
    packet = parse_packet(args.packet, built.plan.topology, built.options)
    failure = parse_failure(args.fail, built.plan.topology)
    network = ModelNetwork(built.plan, built.tables, built.options.liveness)
    network.fail(failure)
    walk = network.walk(packet.source, packet.entering(network))
    if args.json:
        print(json.dumps({"failure": failure.name, **walk_json(walk)}))
    else:
        print("\n".join(walk_text(walk, network)))
    return 0
