"""`kuijia compile`: writes a plan's tables as files for `ovs-ofctl`, and counts entries, fields, groups and buckets."""

from __future__ import annotations

import argparse

from kuijia.api.table_building import write_tables
from kuijia.cli.printing import print_json, show
from kuijia.cli.table_options import add_plan_and_options, build
from kuijia_app.tables.field_counts import BITS_PER_FIELD
from kuijia_app.tables.table_sizes import TableSize
from kuijia_base.option_values import folder_name
from kuijia_base.quantities import share
from kuijia_base.text_table import TextTable


def configure(parser: argparse.ArgumentParser) -> None:
    add_plan_and_options(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=folder_name,
        metavar="DIR",
        help="folder for SWITCH.groups and SWITCH.flows (default: only count)",
    )


def run(args: argparse.Namespace) -> int:
    built = build(args)
    written = 0 if args.output is None else write_tables(built, args.output, args.plan)
    sizes = built.sizes()
    total = TableSize.sum_of(sizes.values())
    rounding_error = built.rounding_error()
    if args.json:
        counts = {switch: size.as_json() for switch, size in sizes.items()}
        totals = {"total": total.as_json(), "bits_per_field": BITS_PER_FIELD, "rounding_error": rounding_error}
        print_json("tables", {"switches": counts, **totals})
        return 0
    counted = [*sizes.items(), ("total", total)]
    rows = [(name, *map(str, (size.entries, size.fields, size.groups, size.buckets))) for name, size in counted]
    show([TextTable((("switch", "entries", "fields", "groups", "buckets"), *rows))])
    print(f"a tunnel's share of the {built.options.slot_count} hash slots is off by {share(rounding_error)} at most")
    if args.output is not None:
        print(f"wrote {written} files to {args.output}")
    return 0
