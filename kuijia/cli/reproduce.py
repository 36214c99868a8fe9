"""`kuijia reproduce`: runs the commands of a paper's published items and writes one report with all verdicts."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from experiments.catalog import find_entry
from kuijia.cli.printing import print_json, show
from kuijia_base.additions import require_installed
from kuijia_base.errors import InputError, KuijiaError
from kuijia_base.option_values import folder_name
from kuijia_base.output_folder import OutputFolder
from kuijia_base.picture_file import LIBRARY
from kuijia_base.progress import progress_line
from kuijia_base.reading import reading
from kuijia_base.text_table import TextTable

PAPERS = ("kuijia", "hedera", "cqrd", "flashpass", "expresspass", "hermes")
RECORD, HTML = "reproduce.json", "report.html"
STATES: Mapping[int, str] = {0: "orders and limits hold", 1: "an order or limit is missed, or it failed", 2: "refused"}
"""Meaning of the exit status of a command."""

NEEDS_ROOT = -1


@dataclass(frozen=True)
class ReproducedCommand:
    """A command that was run.

    Attributes:
        status: its exit status; `NEEDS_ROOT` if it was left out.
    """

    command: str
    status: int
    minutes: float

    @property
    def cells(self) -> tuple[str, str, str]:
        state = "left out: needs root" if self.status == NEEDS_ROOT else STATES.get(self.status, f"ended {self.status}")
        return self.command, state, f"{self.minutes:.1f}"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paper", choices=PAPERS, help="paper whose tables, figures and statements to reproduce")
    parser.add_argument(
        "-o",
        "--output",
        type=folder_name,
        metavar="DIR",
        help="folder for results and report (default: results/PAPER-TIME); commands whose results it has are skipped",
    )
    parser.add_argument("--only", nargs="+", metavar="EXPERIMENT", help="run only these experiments of the paper")
    parser.add_argument("--backend", help="backend for all experiments that have it (default: that of each row)")
    parser.add_argument("--quick", action="store_true", help="measure less and for a shorter time, less precisely")
    parser.add_argument("--list", action="store_true", help="print the commands without running them")


def run(args: argparse.Namespace) -> int:
    commands = commands_of(args.paper, args.only, args.backend, quick=args.quick)
    if args.list:
        if args.json:
            print_json("commands", {"commands": commands})
        else:
            show(commands)
        return 0
    require_installed(LIBRARY, "the pictures of reports")
    folder = args.output or Path("results") / f"{args.paper}-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    with OutputFolder(folder) as output, progress_line() as progress:
        done = {each.command: each for each in _recorded(output.path / RECORD)}
        for number, command in enumerate(commands):
            if command not in done:
                progress.show(f"{number + 1} of {len(commands)}: {command}", number, len(commands))
                done[command] = run_command(command, output.path, args.seed)
                output.write_json(RECORD, {"paper": args.paper, "commands": [asdict(each) for each in done.values()]})
    made = [done[command] for command in commands]
    counts = write_report(output, made)
    if args.json:
        print_json("reproduction", {"commands": [asdict(each) for each in made], "verdicts": counts})
    else:
        left = {0, 1}
        show([TextTable((("command", "", "minutes"), *(each.cells for each in made)), left=left), ""])
        print(f"wrote {output.path / HTML}: {', '.join(f'{number} {verdict}' for verdict, number in counts.items())}")
    failed = [each.command for each in made if each.status not in (0, 1)]
    if failed:
        raise KuijiaError(f"not run: {'; '.join(failed)}")
    return 0


def commands_of(paper: str, only: Sequence[str] | None, backend: str | None, *, quick: bool) -> list[str]:
    """Return the commands of a paper's rows, each once, in their order.

    Raises:
        InputError: `only` names an experiment that no row of the paper has.
    """
    from experiments.reporting.results_page import all_items  # noqa: PLC0415  # slow to import: jsonschema

    rows = dict.fromkeys(item.command for item in all_items() if item.paper.casefold() == paper and item.command)
    by_name = {command: command.removeprefix("sudo ").split(" ")[2] for command in rows}
    unknown = [name for name in only or () if name not in by_name.values()]
    if unknown:
        known = ", ".join(dict.fromkeys(by_name.values()))
        raise InputError("option", "--only", f"{unknown[0]} is not an experiment of this paper", f"one of {known}")
    found = []
    for command, name in by_name.items():
        if only and name not in only:
            continue
        words = command.split(" ")
        if backend is not None and backend in find_entry(name).backends:
            words = [*words, "--backend", backend]
            if backend != "emulation":
                words = [word for word in words if word != "sudo"]
        if quick:
            words = [*(word for word in words if word != "--full"), "--quick"]
        found.append(" ".join(words))
    return list(dict.fromkeys(found))


def run_command(
    command: str, folder: Path, seed: int, call: Callable[[Sequence[str]], int] | None = None
) -> ReproducedCommand:
    """Run a command into the folder and return how it ended; one with `sudo` needs root and is left out without."""
    began = time.monotonic()
    if command.startswith("sudo ") and os.geteuid() != 0:
        return ReproducedCommand(command, NEEDS_ROOT, 0.0)
    words = command.removeprefix("sudo ").split(" ")[1:]
    seeded = [] if seed == 1 else ["--seed", str(seed)]  # without it manifests have the very command of the row
    status = (call or _call)([*words, *seeded, "-o", str(folder)])
    return ReproducedCommand(command, status, round((time.monotonic() - began) / 60, 2))


def _call(words: Sequence[str]) -> int:
    return subprocess.run([sys.executable, "-m", "kuijia", *words], stdout=subprocess.DEVNULL, check=False).returncode


def _recorded(path: Path) -> list[ReproducedCommand]:
    """Return the commands that an earlier call ran; those that were refused or stopped are run again."""
    if not path.is_file():
        return []
    with reading(path, "a record that `kuijia reproduce` wrote"):
        found = [ReproducedCommand(**each) for each in json.loads(path.read_text(encoding="utf-8"))["commands"]]
    return [each for each in found if each.status in (0, 1)]


def write_report(output: OutputFolder, made: Sequence[ReproducedCommand]) -> dict[str, int]:
    """Write the report on all that the folder has and return the number of exhibits by verdict."""
    from experiments.reporting.report import html_page, pictures_of, report_of  # noqa: PLC0415  # slow to import
    from experiments.reporting.verdict import VERDICTS  # noqa: PLC0415  # slow to import: jsonschema

    report = report_of(output.path)
    output.write_text(HTML, html_page(report, pictures_of(report), [each.cells for each in made]))
    verdicts = [finding.found.verdict for finding in report.findings]
    return {verdict: verdicts.count(verdict) for verdict in VERDICTS if verdict in verdicts}
