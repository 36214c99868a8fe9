"""The tables of a plan: built, written, proved and followed, for `kuijia.compile` and its like, and their verbs."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from kuijia_app.proof.model.network import ModelNetwork, Walk
from kuijia_app.proof.trace import parse_failure, parse_packet
from kuijia_app.proof.verification import Verification, Verifier
from kuijia_app.tables.neighbours import with_known_hosts
from kuijia_app.tables.ofctl_text import LONGEST_STEM, file_stem, flows_text, groups_text
from kuijia_app.tables.options import PipelineOptions
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.rules import SwitchTables
from kuijia_app.tables.slots import cut_slots
from kuijia_app.tables.table_sizes import TableSize, table_size
from kuijia_base.errors import InputError, UnsoundError, key_path, quoted
from kuijia_base.reading import reading, reason_of
from kuijia_base.text import require_writable, write_texts
from te_solver.model.failures import Failure, link_pairs, single_links, single_nodes
from te_solver.model.plan import Plan

FAILURE_KINDS = {"links": single_links, "nodes": single_nodes, "pairs": link_pairs}
"""Failures that a proof examines, by name."""

_EXPECTED = ", expected "
_SUFFIXES = (".flows", ".groups")


@dataclass(frozen=True)
class Built:
    """A plan, the options of its tables, and the tables by switch."""

    plan: Plan
    options: PipelineOptions
    tables: dict[str, SwitchTables]

    def sizes(self) -> dict[str, TableSize]:
        return {switch: table_size(tables) for switch, tables in self.tables.items()}

    def rounding_error(self) -> float:
        """Return the largest difference between a tunnel's share of the slots and its weight."""
        weights = ([tunnel.weight for tunnel in pair.tunnels] for pair in self.plan.pairs)
        return max((cut_slots(each, self.options.slot_count).rounding_error for each in weights), default=0.0)


def built_tables(plan: Plan, options: PipelineOptions, source: str | Path) -> Built:
    """Return the tables of a plan; messages call it `source`. Raises InputError."""
    try:
        return Built(plan, options, build_tables(plan, options))
    except InputError:  # about the wiring
        raise
    except UnsoundError as error:
        raise InputError(source, key_path(error.where), error.problem, error.expected) from error
    except ValueError as error:
        problem, _, expected = str(error).partition(_EXPECTED)
        raise InputError(source, "", problem, expected or "another plan or other options") from error


def write_tables(built: Built, folder: Path, source: str | Path) -> int:
    """Write SWITCH.groups and SWITCH.flows in the syntax of `ovs-ofctl`; returns the number of files.

    Raises:
        InputError: a file cannot be written, or the folder has tables of another plan.
    """
    texts: dict[str, str] = {}
    for switch, tables in built.tables.items():
        stem = _stem(source, switch)
        texts[f"{stem}.groups"] = groups_text(tables)
        texts[f"{stem}.flows"] = flows_text(tables)
    _make_folder(folder)
    _require_usable(folder, texts)
    write_texts(folder, texts)
    return len(texts)


def proved(built: Built, kind: str, show: Callable[[str], None]) -> tuple[Verification, float]:
    """Return the proof for failures of a kind, and the seconds that it took; `show` receives progress."""
    started = time.monotonic()
    found = Verifier(built.plan, built.tables, built.options).run(FAILURE_KINDS[kind](built.plan.topology), show)
    return found, time.monotonic() - started


def followed(built: Built, packet: str | tuple[str, str], fail: Iterable[str]) -> tuple[Failure, Walk, ModelNetwork]:
    """Return the failure, a packet's way under it, and the network; raises InputError."""
    asked = parse_packet(packet, built.plan.topology, built.options)
    failure = parse_failure(list(fail), built.plan.topology)
    wiring = built.options.wired(built.plan.topology)
    network = ModelNetwork(built.plan, with_known_hosts(built.tables, wiring), built.options.liveness, wiring)
    network.fail(failure)
    return failure, network.walk(asked.source, asked.entering(network)), network


def _stem(plan: str | Path, switch: str) -> str:
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
