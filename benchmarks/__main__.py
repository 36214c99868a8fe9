"""Benchmark runner: `python -m benchmarks [NAME...] [--json]` prints our figures and those of peers."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any, NoReturn

from benchmarks.registry import BenchmarkSetting, Comparison, benchmarks
from kuijia_base.errors import KuijiaError
from kuijia_base.option_values import whole_number
from kuijia_base.progress import Progress

EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_BAD_INPUT, f"error: {self.prog}: {message}\n")


def main() -> int:
    parser = _Parser(prog="bench", description="Compares speed and memory with named peers, all measured in this run.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="benchmarks to run (default: all)")
    parser.add_argument("--json", action="store_true", help="one JSON object per line instead of a table")
    parser.add_argument(
        "--networks",
        type=Path,
        metavar="DIR",
        help="folder with networks of the Internet Topology Zoo, Kdl.graphml and UsCarrier.graphml, to use instead of "
        "generated ones of the same size",
    )
    parser.add_argument(
        "--htsim",
        type=Path,
        metavar="DIR",
        default=os.environ.get("HTSIM") or None,
        help="folder with the source of csg-htsim (default: $HTSIM), a peer of the packet model",
    )
    parser.add_argument(
        "--reference",
        type=Path,
        metavar="DIR",
        help="te-truth: folder with clones of projects that publish optima (docs/benchmarks.md lists them)",
    )
    parser.add_argument(
        "--rows", type=whole_number(1), metavar="N", help="te-truth: most rows of each network (default: all)"
    )
    parser.add_argument(
        "--nodes", type=whole_number(2), metavar="N", help="te-truth: most nodes of POP's networks (default: any)"
    )
    parser.add_argument(
        "--source", metavar="WORDS", help='te-truth: only sets with this in their title, as "total flow" (default: all)'
    )
    parser.add_argument(
        "--kept",
        type=Path,
        metavar="FILE",
        help="te-truth: append each row to FILE once it is computed, and do not compute those that are there again",
    )
    args = parser.parse_args()
    progress = Progress(sys.stderr)
    setting = BenchmarkSetting(
        args.networks, progress, args.htsim, args.reference, args.rows, args.nodes, args.source, args.kept
    )
    try:
        for name, benchmark in benchmarks(args.names).items():
            progress.say(f"{name}:")
            for comparison in benchmark(setting):
                progress.close()
                print(json.dumps(as_json(name, comparison)) if args.json else "\n".join(as_text(name, comparison)))
                sys.stdout.flush()
    except KuijiaError as error:
        progress.close()
        print(f"error: {error}", file=sys.stderr)
        return error.exit_status
    except KeyboardInterrupt:
        progress.say("interrupted")
        return EXIT_INTERRUPTED
    return 0


def as_json(name: str, comparison: Comparison) -> dict[str, Any]:
    return {
        "name": name,
        "ours": comparison.ours,
        "peer": comparison.peer,
        "peer_name": comparison.peer_name,
        "unit": comparison.unit,
        "ratio": comparison.ratio,
        "detail": dict(comparison.detail),
    }


def as_text(name: str, comparison: Comparison) -> list[str]:
    """Return the comparison for people: the figures in one line, their details below."""
    head = f"{name}: {comparison.ours:.4g} {comparison.unit}, {comparison.ratio:.3g} times better than"
    lines = [f"{head} {comparison.peer_name} with {comparison.peer:.4g}"]
    for key, value in comparison.detail.items():
        if isinstance(value, list) and all(isinstance(row, dict) for row in value):
            lines.append(f"    {key}:")
            lines += [f"        {', '.join(f'{inner} {_short(of)}' for inner, of in row.items())}" for row in value]
        else:
            lines.append(f"    {key}: {_short(value)}")
    return lines


def _short(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return "; ".join(map(_short, value))
    if isinstance(value, tuple):
        return " and ".join(map(_short, value))
    return f"{value:.4g}" if isinstance(value, float) else f"{value}"


if __name__ == "__main__":
    sys.exit(main())
