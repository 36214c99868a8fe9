"""Each switch must have one master when nothing is broken: rows of the database's two tables."""

from __future__ import annotations

from testbed.chaos.settled_state import without_one_master


def test_a_switch_without_a_master_or_with_two_is_named() -> None:
    bridges: list[list[object]] = [
        ["s1", ["set", [["uuid", "a1"], ["uuid", "a2"]]]],
        ["s2", ["set", [["uuid", "b1"], ["uuid", "b2"]]]],
        ["s3", ["uuid", "c1"]],
        ["s4", ["set", []]],
    ]
    roles = {"a1": "master", "a2": "slave", "b1": "master", "b2": "master", "c1": "other"}
    controllers = [[["uuid", name], role] for name, role in roles.items()]
    assert without_one_master(bridges, controllers) == ("s2 has 2 masters", "s3 has 0 masters", "s4 has 0 masters")
