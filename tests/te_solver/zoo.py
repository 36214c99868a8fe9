"""Solves every network of topohub's Topology Zoo and SNDlib by the command: `python -m tests.te_solver.zoo [KEY...]`.

Prints a line for each network: nodes, links and demands of the plan, CPU seconds of `kuijia demands` and of `kuijia
solve` with all its processes, peak memory of the latter, or why there is no plan.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import multiprocessing
import resource
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from multiprocessing.connection import Connection
from pathlib import Path

from kuijia.cli.main import main

GROUPS = ("topozoo", "sndlib")
LIMIT_SECONDS = 60.0
"""CPU time that a command may take for a network; wall time says little where other programs run."""

_PATIENCE = 10
"""Times `LIMIT_SECONDS` of wall time until a command is ended."""


@dataclass(frozen=True)
class Solved:
    """Outcome of a network.

    Attributes:
        key: of topohub.
        demands_of: `gravity` for generated demands, `own` for those that come with the network.
        nodes, links, pairs: of the plan; 0 without a plan.
        generating, solving: CPU seconds of the two commands.
        peak: memory of solving, in MB.
        fault: why there is no plan; empty when there is one.
    """

    key: str
    demands_of: str
    nodes: int = 0
    links: int = 0
    pairs: int = 0
    generating: float = 0.0
    solving: float = 0.0
    peak: int = 0
    fault: str = ""

    def __str__(self) -> str:
        end = self.fault or f"{self.peak} MB"
        return (
            f"{self.key:<28} {self.demands_of:<8} {self.nodes:>4} nodes {self.links:>5} links {self.pairs:>7} demands "
            f"{self.generating:>6.1f} s {self.solving:>6.1f} s  {end}"
        )


def keys() -> list[str]:
    """Return the keys of all networks of `GROUPS`."""
    data = files("topohub") / "data"
    return [
        f"{group}/{name.removesuffix('.json')}"
        for group in GROUPS
        for name in sorted(file.name for file in (data / group).iterdir() if file.name.endswith(".json"))
    ]


def solved(key: str, limit: float = LIMIT_SECONDS) -> Iterator[Solved]:
    """Solve a network for gravity demands and, where it has such, for its own; each command ends after `limit`."""
    network = f"topohub:{key}"
    with tempfile.TemporaryDirectory() as folder:
        csv = Path(folder, "demands.csv")
        made = _command(["demands", network, "-o", str(csv)], limit)
        if made.fault:
            yield Solved(key, "gravity", generating=made.seconds, fault=f"demands: {made.fault}")
        else:
            yield _solved(key, "gravity", str(csv), made.seconds, Path(folder, "plan.json"), limit)
        if key.startswith("sndlib/"):
            yield _solved(key, "own", network, 0.0, Path(folder, "own.json"), limit)


def _solved(key: str, demands_of: str, demands: str, generating: float, file: Path, limit: float) -> Solved:
    ended = _command(["solve", f"topohub:{key}", demands, "-o", str(file)], limit)
    if ended.fault:
        return Solved(key, demands_of, generating=generating, solving=ended.seconds, fault=ended.fault)
    plan = json.loads(file.read_text(encoding="utf-8"))
    size = (len(plan["topology"]["nodes"]), len(plan["topology"]["links"]), len(plan["pairs"]))
    return Solved(key, demands_of, *size, generating, ended.seconds, ended.peak)


@dataclass(frozen=True)
class _Ended:
    fault: str
    seconds: float
    peak: int


def _command(arguments: Sequence[str], limit: float) -> _Ended:
    """Run `kuijia` in a process of its own that is forked from this one, which has imported everything already."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(arguments, theirs))
    process.start()
    theirs.close()
    fault, seconds, peak = f"no end after {_PATIENCE * limit:g} s of wall time", 0.0, 0
    try:
        if ours.poll(_PATIENCE * limit):
            fault, seconds, peak = ours.recv()
    except EOFError:
        fault = "the process ended early"
    finally:
        process.kill()
        process.join()
    return _Ended(fault or (f"took {seconds:.0f} s" if seconds > limit else ""), seconds, peak)


def _run(arguments: Sequence[str], pipe: Connection) -> None:
    """Run `kuijia` and say how it ended: a fault in words, CPU seconds, peak memory in MB."""
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        status = main(arguments)
    lines = [line for line in said.getvalue().splitlines() if not line.startswith("note: ")]
    fault = f"exit status {status}: {' | '.join(lines[-3:])[:300]}" if status else ""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    seconds = sum(each.ru_utime + each.ru_stime for each in used)
    pipe.send((fault, seconds, max(each.ru_maxrss for each in used) // 1024))


def sweep(chosen: Sequence[str]) -> int:
    """Solve the networks of these keys and print how that went; return 1 when one has no plan."""
    importlib.import_module("te_solver.solve")
    failed = 0
    for key in chosen:
        for each in solved(key):
            failed += bool(each.fault)
            sys.stdout.write(f"{each}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{failed} without a plan\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(sweep(sys.argv[1:] or keys()))
