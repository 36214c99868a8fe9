"""Compares a lab with its plan when nothing is broken: tables of switches, one master each, one plan in all files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from kuijia_app.control.probe_frames import ProbeForm
from kuijia_app.tables.identifiers import COOKIE, LINK_PROBE_COOKIE, LINK_PROBE_PRIORITY
from kuijia_app.tables.ofctl_text import flows_text, groups_text
from kuijia_app.tables.options import pipeline_options
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.rules import FlowEntry, Match, SwitchTables
from kuijia_base.errors import KuijiaError, TestbedError
from testbed.chaos.controllers import members_of
from testbed.lab.lab import Lab
from testbed.machine.ovs import rows_of

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


_MASTER = "master"


def faults_of_roles(lab: Lab) -> tuple[str, ...]:
    """Return in words which switches have not exactly one master; nothing if the lab has one controller."""
    if len(members_of(lab.controller)) == 1:
        return ()
    vsctl = lab.emulated_network.ovs.vsctl
    bridges, controllers = rows_of(vsctl, "Bridge", "name", "controller"), rows_of(vsctl, "Controller", "_uuid", "role")
    return without_one_master(bridges, controllers)


def without_one_master(bridges: Iterable[Sequence[Any]], controllers: Iterable[Sequence[Any]]) -> tuple[str, ...]:
    """Return in words which bridges have not exactly one master, from rows of the database.

    Args:
        bridges: columns `name` and `controller`.
        controllers: columns `_uuid` and `role`.
    """
    role_of = {identity: role for (_, identity), role in controllers}
    found = []
    for name, (kind, value) in bridges:
        identities = [identity for _, identity in value] if kind == "set" else [value]
        masters = sum(role_of[identity] == _MASTER for identity in identities)
        if masters != 1:
            found.append(f"{name} has {masters} masters")
    return tuple(found)


def faults_of_files(lab: Lab) -> tuple[str, ...]:
    """Return in words which controllers would start with another plan than the one in force."""
    found = []
    for number, member in enumerate(members_of(lab.controller), 1):
        try:
            if member.plan_in_file() != lab.plan:
                found.append(f"the plan file of controller {number} holds another plan than the one in force")
        except KuijiaError as error:
            found.append(f"the plan file of controller {number} cannot be read: {error}")
    return tuple(found)
