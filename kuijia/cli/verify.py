"""`kuijia verify`: proves a plan's tables under every failure before any switch has them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict

from kuijia.api.table_building import FAILURE_KINDS, proved
from kuijia.cli.printing import print_json
from kuijia.cli.table_options import add_plan_and_options, build
from kuijia_app.proof.verification import Verification
from kuijia_app.tables.connected_pairs import dead_pairs
from kuijia_base.progress import progress_line
from kuijia_base.quantities import counted

_PAIRS = "pairs"

_LISTED = 20
"""Violations that are printed, unless -v asks for all."""


NOT_EXAMINED = "not examined: queues, frame sizes and ports of real switches; `kuijia switches check` does"


def configure(parser: argparse.ArgumentParser) -> None:
    add_plan_and_options(parser)
    parser.add_argument(
        "--failures",
        choices=list(FAILURE_KINDS),
        default="links",
        help="failures to examine: every link, every node, or every pair of links (default: %(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    built = build(args)
    with progress_line() as progress:
        found, seconds = proved(built, args.failures, progress.patiently())
    # After one failure nearly every pair has a tunnel left.
    drawn = FAILURE_KINDS[args.failures](built.plan.topology) if args.failures == _PAIRS else ()
    dead = dead_pairs(built.plan, built.options, drawn)
    if args.json:
        summary = asdict(found)
        summary["violations"] = [asdict(violation) for violation in found.violations]
        summary |= {"pairs": asdict(dead)} if args.failures == _PAIRS else {}
        told = {"sound": found.is_sound, "failures_kind": args.failures, "seconds": seconds}
        print_json("verification", {**told, **summary})
    else:
        print("\n".join(_text(found, args.failures, seconds, None if args.verbose else _LISTED)))
        if args.failures == _PAIRS:
            print(dead)
    return 0 if found.is_sound else 1


def _text(found: Verification, kind: str, seconds: float, listed: int | None) -> Iterator[str]:
    for violation in found.violations[:listed]:
        yield str(violation)
    if listed is not None and len(found.violations) > listed:
        yield f"and {len(found.violations) - listed:,} more (-v lists all)"
    yield (
        f"{counted(found.header_classes, 'header class', 'header classes')}, "
        f"{counted(found.failures, 'failure')} ({kind}), "
        f"{counted(found.cases, 'case')}, {counted(found.walks, 'path')} followed hop by hop, {seconds:.2f} s"
    )
    yield NOT_EXAMINED
    yield "sound: no violation" if found.is_sound else f"not sound: {counted(len(found.violations), 'violation')}"
