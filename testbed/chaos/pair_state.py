"""Looks at a pair of controllers when nothing is broken: one master for each switch, and one plan in all files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kuijia_base.errors import KuijiaError
from testbed.chaos.controllers import members_of
from testbed.lab.lab import Lab
from testbed.machine.ovs_tables import rows_of

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
