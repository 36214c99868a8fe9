"""Tables of Open vSwitch's database are read by column, and ports without their numbers are named."""

from __future__ import annotations

import json

import pytest

from kuijia_base.errors import TestbedError
from testbed.machine.ovs_tables import require_port_numbers, rows_of

SHOWN = {"headings": ["name", "ofport", "error"], "data": [["eth1", 1, ["set", []]], ["eth2", -1, "no such device"]]}


def vsctl(*arguments: str) -> str:
    assert arguments == ("--format=json", "--columns=name,ofport,error", "list", "Interface")
    return json.dumps(SHOWN)


def test_rows_have_the_columns_that_were_asked_for() -> None:
    assert rows_of(vsctl, "Interface", "name", "ofport", "error") == SHOWN["data"]


def test_a_port_with_another_number_is_named_with_the_reason() -> None:
    require_port_numbers(vsctl, {"eth1": 1})
    with pytest.raises(TestbedError, match="gave eth2 the port -1 instead of 2: no such device"):
        require_port_numbers(vsctl, {"eth1": 1, "eth2": 2})
