"""`kuijia handover`: asks the controller or scheduler that acts to let its peer act."""

from __future__ import annotations

import argparse

from kuijia.cli.controller import add_tls_files, tls_files
from kuijia.cli.printing import print_json
from kuijia_app.framework.addresses import parse_address


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("address", metavar="HOST:PORT", help="address of the active one, its --peer-listen")
    add_tls_files(parser, "all three or none, as of a controller: its peers then connect by TLS")


def run(args: argparse.Namespace) -> int:
    address = parse_address(args.address)
    tls = tls_files(args)
    from kuijia_app.framework.handover_request import request_handover  # noqa: PLC0415  # needs an extra

    request_handover(address, tls)
    if args.json:
        print_json("handover", {"done": True})
    else:
        print(f"a peer of {args.address} acts now")
    return 0
