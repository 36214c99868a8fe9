"""`kuijia compile`: writes a plan's tables as files for `ovs-ofctl`, and counts entries, fields, groups and buckets."""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection
from pathlib import Path

from experiments.results.text_table import text_table
from kuijia.cli.table_options import Built, add_plan_and_options, build
from kuijia_app.tables.field_counts import BITS_PER_FIELD
from kuijia_app.tables.ofctl_text import LONGEST_STEM, file_stem, flows_text, groups_text
from kuijia_app.tables.slots import cut_slots
from kuijia_app.tables.table_sizes import TableSize, table_size
from kuijia_base.errors import InputError, quoted
from kuijia_base.reading import reading, reason_of
from kuijia_base.text import require_writable, write_texts

_SUFFIXES = (".flows", ".groups")


def configure(parser: argparse.ArgumentParser) -> None:
    add_plan_and_options(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="DIR",
        help="folder for SWITCH.groups and SWITCH.flows (default: only count)",
    )


def run(args: argparse.Namespace) -> int:
    built = build(args)
    sizes = {switch: table_size(tables) for switch, tables in built.tables.items()}
    if args.output is not None:
        texts: dict[str, str] = {}
        for switch, tables in built.tables.items():
            stem = _stem(args.plan, switch)
            texts[f"{stem}.groups"] = groups_text(tables)
            texts[f"{stem}.flows"] = flows_text(tables)
        _make_folder(args.output)
        _require_usable(args.output, texts)
        write_texts(args.output, texts)
    total = TableSize.sum_of(sizes.values())
    rounding_error = _largest_rounding_error(built)
    if args.json:
        counts = {switch: size.as_json() for switch, size in sizes.items()}
        totals = {"total": total.as_json(), "bits_per_field": BITS_PER_FIELD, "rounding_error": rounding_error}
        print(json.dumps({"switches": counts, **totals}))
        return 0
    counted = [*sizes.items(), ("total", total)]
    rows = [(name, *map(str, (size.entries, size.fields, size.groups, size.buckets))) for name, size in counted]
    print("\n".join(text_table(("switch", "entries", "fields", "groups", "buckets"), rows)))
    print(f"a tunnel's share of the {built.options.slot_count} hash slots is off by {rounding_error:.2%} at most")
    if args.output is not None:
        print(f"wrote {2 * len(sizes)} files to {args.output}")
    return 0


def _largest_rounding_error(built: Built) -> float:
    """Return the largest difference between a tunnel's share of the slots and its weight."""
    weights = ([tunnel.weight for tunnel in pair.tunnels] for pair in built.plan.pairs)
    return max((cut_slots(each, built.options.slot_count).rounding_error for each in weights), default=0.0)


def _stem(plan: Path, switch: str) -> str:
    stem = file_stem(switch)
    if len(stem.encode()) > LONGEST_STEM:
        problem = f"{quoted(switch)} makes a file name too long"
        raise InputError(plan, "topology.nodes", problem, f"at most {LONGEST_STEM} bytes")
    return stem


def _require_usable(folder: Path, names: Collection[str]) -> None:
    """Raise InputError unless all files can be written and the folder has no file of another plan."""
    for name in names:
        require_writable(folder / name)
    with reading(folder, "a folder to write to"):
        others = sorted(path.name for path in folder.iterdir() if path.suffix in _SUFFIXES and path.name not in names)
    if others:
        raise InputError(folder, others[0], "is a table of another plan", "a folder without such files")


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:  # ValueError: the path has a NUL
        raise InputError(folder, "", f"cannot be made ({reason_of(error)})", "a folder to write to") from error
