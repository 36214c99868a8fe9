"""Reads tables of Open vSwitch's database by `ovs-vsctl`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from kuijia_base.errors import TestbedError

Vsctl = Callable[..., str]
"""Runs `ovs-vsctl` with these arguments and returns what it prints."""


def rows_of(vsctl: Vsctl, table: str, *columns: str) -> list[list[Any]]:
    """Return these columns of each row of a table, as the database encodes values in JSON (RFC 7047, 5.1)."""
    listed = json.loads(vsctl("--format=json", f"--columns={','.join(columns)}", "list", table))
    rows: list[list[Any]] = listed["data"]
    return rows


def require_port_numbers(vsctl: Vsctl, wanted: Mapping[str, int]) -> None:
    """Check that interfaces have the OpenFlow port numbers that they were created with.

    Raises:
        TestbedError: one has another number; the message has Open vSwitch's reason.
    """
    found = {name: (number, error) for name, number, error in rows_of(vsctl, "Interface", "name", "ofport", "error")}
    for interface, number in wanted.items():
        got, error = found[interface]
        if got != number:
            raise TestbedError(f"Open vSwitch gave {interface} the port {got} instead of {number}: {error}")
