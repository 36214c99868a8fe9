"""Compares the tables of real switches with those of a plan: the same entries and groups, and no others."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Protocol

from kuijia_app.control.probe_frames import ProbeForm
from kuijia_app.tables.identifiers import COOKIE, LINK_PROBE_COOKIE, LINK_PROBE_PRIORITY
from kuijia_app.tables.ofctl_text import flows_text, groups_text
from kuijia_app.tables.options import pipeline_options
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.rules import FlowEntry, Match, SwitchTables
from kuijia_base.errors import TestbedError
from testbed.lab.lab import Lab

_SILENT = re.compile(r"bucket_id:\d+,|weight:1,")
"""Parts of buckets that one of the two texts has and the other leaves out; all our buckets weigh the same."""

_GROUP_ID = re.compile(r"group_id=(\d+)")


class Ofctl(Protocol):
    """Runs `ovs-ofctl COMMAND SWITCH ARGUMENTS`; raises TestbedError if that ends with another status than 0."""

    def __call__(self, command: str, *arguments: str) -> str: ...


def faults_of_tables(lab: Lab) -> tuple[str, ...]:
    """Return in words what differs between a lab's switches and the tables of its plan; nothing may be broken."""
    options = pipeline_options(lab.options.words)
    wanted = build_tables(lab.plan, options)
    form = ProbeForm(options.tagging, options.layout.control)
    return tuple(
        line
        for switch in lab.plan.topology.nodes
        for line in faults_of_switch(
            switch,
            partial(lab.network.ofctl, switch),
            wanted[switch],
            lab.directory,
            catching_text(map(form.match, lab.wiring.link_ports(switch))),
        )
    )


def catching_text(matches: Iterable[Match]) -> str:
    """Return the entries by which the controller has probes of links sent to itself; they are no plan's."""
    entries = tuple(FlowEntry(LINK_PROBE_PRIORITY, match, ()) for match in matches)
    text = flows_text(SwitchTables((), entries)).replace(f"{COOKIE:#x}", f"{LINK_PROBE_COOKIE:#x}")
    return text.replace("actions=drop", "actions=CONTROLLER:65535")


def faults_of_switch(switch: str, ofctl: Ofctl, tables: SwitchTables, folder: Path, besides: str = "") -> list[str]:
    """Return in words what differs between a switch and its tables, and the text of entries besides.

    A file is made in `folder` meanwhile.
    """
    planned_entries = folder / "planned.flows"
    planned_entries.write_text(flows_text(tables) + besides)
    found = []
    try:
        # Ends with a status of 2 where entries differ, and lists them.
        ofctl("diff-flows", str(planned_entries))
    except TestbedError as error:
        found.append(f"{switch}: its entries cannot be read, or differ: {error}")
    finally:
        planned_entries.unlink()
    try:
        shown = ofctl("dump-groups")
    except TestbedError as error:
        return [*found, f"{switch}: its groups cannot be read: {error}"]
    present, planned = _groups(shown), _groups(groups_text(tables))
    surplus = sorted(present.keys() - planned.keys())
    found += [f"{switch} has group {number}, which its plan has not" for number in surplus]
    found += [f"{switch} lacks group {number} of its plan" for number in sorted(planned.keys() - present.keys())]
    found += [
        f"{switch} has group {number} as {present[number]}, its plan as {planned[number]}"
        for number in sorted(present.keys() & planned.keys())
        if present[number] != planned[number]
    ]
    return found


def _groups(text: str) -> dict[int, str]:
    """Return the groups by their number, from ovs-ofctl's output or the text that we give it."""
    groups = {}
    for line in text.splitlines():
        if found := _GROUP_ID.search(line):
            groups[int(found[1])] = _SILENT.sub("", line.strip().replace(" ", ""))
    return groups
