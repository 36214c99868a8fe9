"""`python -m tests.fuzz`, as `./run fuzz` runs it: hostile inputs for readers, commands and running processes."""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from kuijia_base.errors import InputError, KuijiaError
from kuijia_base.option_values import positive_number, whole_number
from kuijia_base.progress import Progress
from tests.fuzz.guided import explore, require_atheris
from tests.fuzz.pool import Pool
from tests.fuzz.registry import chosen_targets
from tests.fuzz.report import Report
from tests.fuzz.targets import CaseTarget, LiveTarget, Target

DEFAULT_MINUTES = 1.0
FOLDER = Path("results/fuzz")
EXIT_FOUND = 1


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(InputError.exit_status, f"error: {self.prog}: {message}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Fuzz; return 0 when nothing was found, 1 when something was, 2 on bad arguments."""
    args = _arguments(argv)
    progress = Progress(sys.stderr)
    report = Report(args.output, progress, args.cases)
    began = time.monotonic()
    try:
        targets = chosen_targets(args.targets)
        if args.list:
            sys.stdout.write("".join(f"{target.name}\n" for target in targets))
            return 0
        if args.coverage:
            require_atheris()
        if args.repeat is not None:
            _repeat(targets, args.repeat, report)
            sys.stderr.write("".join(failure.traceback for failure in report.failures))
        else:
            _fuzz(targets, began + 60 * args.minutes, args, report)
    except KeyboardInterrupt:
        progress.say("interrupted")
    except KuijiaError as error:
        progress.say(f"error: {error}")
        return error.exit_status
    progress.close()
    _show(report, args.seed, time.monotonic() - began, as_json=args.json)
    return EXIT_FOUND if report.failures else 0


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = _Parser(prog="fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="targets, or kinds of them (default: all)")
    parser.add_argument(
        "--minutes",
        type=positive_number,
        metavar="N",
        help=f"wall time (default: {DEFAULT_MINUTES:g}; with --cases no limit)",
    )
    parser.add_argument("--cases", type=whole_number(1, 10**12), metavar="N", help="end after so many cases")
    parser.add_argument("--seed", type=whole_number(0, 2**63), default=1, help="of all cases (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    parser.add_argument(
        "--coverage", action="store_true", help="let the coverage of readers and commands guide what is tried (atheris)"
    )
    parser.add_argument("--list", action="store_true", help="list the targets")
    parser.add_argument("--repeat", type=Path, metavar="FILE", help="run the case in a file once more")
    parser.add_argument(
        "-o", "--output", type=Path, default=FOLDER, metavar="DIR", help="for failing cases (default: %(default)s)"
    )
    args = parser.parse_args(argv)
    if args.coverage and args.cases is not None:
        parser.error("argument --coverage: not allowed with argument --cases")
    if args.minutes is None:
        args.minutes = DEFAULT_MINUTES if args.cases is None else math.inf
    return args


def _fuzz(targets: Sequence[Target], deadline: float, args: argparse.Namespace, report: Report) -> None:
    """Fuzz live targets one after the other, then all others together, each part for an equal time."""
    with_cases = [target for target in targets if isinstance(target, CaseTarget)]
    live = [target for target in targets if isinstance(target, LiveTarget)]
    parts = len(live) + bool(with_cases)
    for target in live:
        obstacle = target.obstacle()
        if obstacle is not None:
            report.progress.say(f"note: {target.name} is left out: {obstacle}")
        else:
            now = time.monotonic()
            target.run(now + (deadline - now) / parts, args.seed, report)
        parts -= 1
    if with_cases and args.coverage:
        explore(with_cases, deadline, args.seed, report)
    elif with_cases:
        Pool(with_cases, args.seed, report).run(deadline)


def _repeat(targets: Sequence[Target], file: Path, report: Report) -> None:
    if len(targets) != 1:
        raise InputError("fuzz", "--repeat", f"{len(targets)} targets are given", "one, before the case in a file")
    try:
        content = file.read_bytes()
    except OSError as error:
        raise InputError(file, "", f"cannot be read ({error.strerror})", "a case that fuzzing kept") from error
    (target,) = targets
    if isinstance(target, CaseTarget):
        Pool([target], 0, report, processes=1).repeat(target, content)
    else:
        target.repeat(content, report)


def _show(report: Report, seed: int, seconds: float, *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps({"seed": seed, "seconds": seconds, **report.as_json()}, indent=1) + "\n")
        return
    cases = sum(report.cases.values())
    lines = report.lines()
    lines += ["", f"{cases:,} cases in {seconds:.0f} s, {cases / seconds:.0f} per second, seed {seed}"]
    lines.append(f"{len(report.causes):,} kinds of failures" if report.causes else "no failure")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # worker processes are as many as there are cores
        os.environ.setdefault(name, "1")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # which ends a run with its summary, too
    sys.exit(main())
