"""Detection of versions that are too old, and of those with a known fault."""

from __future__ import annotations

import pytest

from testbed.machine.versions import is_older, known_faults


@pytest.mark.parametrize(
    ("version", "older"), [("2.12.9", True), ("2.13", False), ("2.13.1", False), ("10.0", False), ("present", False)]
)
def test_a_version_is_compared_by_its_numbers(version: str, older: bool) -> None:  # noqa: FBT001
    assert is_older(version, (2, 13)) == older


@pytest.mark.parametrize(
    ("program", "version", "has_fault"),
    [
        ("iperf3", "3.15", False),
        ("iperf3", "3.16", True),
        ("iperf3", "3.17.1", True),
        ("iperf3", "3.18", False),
        ("ovs-vswitchd", "2.16.7", True),
        ("ovs-vswitchd", "2.17.0", False),
        ("ovs-vswitchd", "3.1.0", True),
        ("ovs-vswitchd", "3.1.1", False),
        ("ovs-vswitchd", "3.4.2", False),
        ("ovs-vswitchd", "3.4.3", True),
        ("ovs-vswitchd", "3.4.4", False),
        ("ovs-vswitchd", "present", False),
        ("ovs-vswitchd", None, False),
    ],
)
def test_a_fault_is_known_from_the_release_that_brought_it_to_the_one_that_mended_it(
    program: str,
    version: str | None,
    has_fault: bool,  # noqa: FBT001
) -> None:
    found = known_faults({program: version})
    assert [sentence.startswith(f"{program} {version}: ") for sentence in found] == ([True] if has_fault else [])
