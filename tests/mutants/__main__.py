"""`python -m tests.mutants`, as `./run mutants` runs it: changes lines of a room, and lists what no test notices."""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from kuijia_base.errors import InputError, KuijiaError
from kuijia_base.option_values import positive_number, whole_number
from kuijia_base.progress import Progress
from tests.mutants.change import EQUIVALENT, Change, by_place, no_change, read_equivalents
from tests.mutants.room import Verdict, copy_clone
from tests.mutants.rooms import ROOMS

EXIT_SURVIVED = 1
SECONDS = 20.0


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(InputError.exit_status, f"error: {self.prog}: {message}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Try changes; return 0 when tests notice all of them, 1 when one survives, 2 on bad arguments."""
    args = _arguments(argv)
    room = next(room for room in ROOMS if room.name == args.room)
    equivalent = read_equivalents(EQUIVALENT.read_text())
    progress = Progress(sys.stderr)
    counts: Counter[Verdict] = Counter()
    survivors: list[Change] = []
    places = by_place(room.changes())
    changes = {place: change for place, change in places.items() if args.file is None or args.file in change.file}
    different = [change for place, change in changes.items() if place not in equivalent]
    chosen = random.Random(args.seed).sample(different, min(args.sample or len(different), len(different)))
    try:
        with tempfile.TemporaryDirectory(prefix="kuijia-mutants-") as folder:
            copy = Path(folder, "clone")
            copy_clone(copy)
            progress.show("collecting the tests")
            trials = room.prepare(copy, args.seconds, nearest_only=args.nearest)
            if chosen and trials.verdict(no_change(chosen[0].file)) is not Verdict.SURVIVED:
                raise KuijiaError(f"{chosen[0].file}: its tests fail without a change")
            for done, change in enumerate(chosen):
                progress.show(f"{change.file}:{change.line}", done, len(chosen))
                verdict = trials.verdict(change)
                counts[verdict] += 1
                if verdict is Verdict.SURVIVED:
                    survivors.append(change)
                    progress.say(str(change))
    except KeyboardInterrupt:
        progress.say("interrupted")
    except KuijiaError as error:
        progress.say(f"error: {error}")
        return error.exit_status
    progress.close()
    _show(room.name, len(changes) - len(different), counts, survivors)
    return EXIT_SURVIVED if survivors else 0


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = _Parser(prog="mutants", description=__doc__)
    parser.add_argument("room", choices=[room.name for room in ROOMS], metavar="ROOM", help="%(choices)s")
    parser.add_argument("--file", metavar="TEXT", help="only files with this in their path")
    parser.add_argument("--sample", type=whole_number(1, 10**9), metavar="N", help="only so many changes, by chance")
    parser.add_argument("--seed", type=whole_number(0, 2**63), default=1, metavar="S", help="default: %(default)s")
    parser.add_argument(
        "--seconds",
        type=positive_number,
        default=SECONDS,
        metavar="N",
        help="seconds of a processor that tests may take about a change, the nearest first (default: %(default)g)",
    )
    parser.add_argument("--nearest", action="store_true", help="ask no tests but the nearest")
    return parser.parse_args(argv)


def _show(room: str, equivalent: int, counts: Counter[Verdict], survivors: Sequence[Change]) -> None:
    tried = counts.total() - counts[Verdict.IMPOSSIBLE]
    noticed = tried - counts[Verdict.SURVIVED]
    lines = [str(change) for change in sorted(survivors, key=lambda change: (change.file, change.line))]
    lines.append(f"{room}: {tried} changes tried, {equivalent} left out as they alter nothing")
    lines.append(", ".join(f"{counts[verdict]} {verdict.value}" for verdict in Verdict))
    if tried:
        lines.append(f"{100 * noticed / tried:.1f} % noticed")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    os.nice(19)
    for number in (signal.SIGINT, signal.SIGTERM):  # a background job is started with SIGINT ignored
        signal.signal(number, signal.default_int_handler)
    sys.exit(main())
