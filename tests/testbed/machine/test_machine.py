from __future__ import annotations

import os
from dataclasses import replace

import pytest

from kuijia_base.errors import InputError
from testbed.machine import machine as machine_module
from testbed.machine.machine import _QDISCS, PACKAGE_OF, Machine, examine_machine, require_emulation
from testbed.network.leftovers import interfaces

ABLE = Machine(
    kernel="Linux 6.1.0",
    python="3.11.2",
    cpu_model="some CPU",
    cpu_count=2,
    is_root=True,
    programs=dict.fromkeys(PACKAGE_OF, "3.12"),
    mininet="2.3.0",
    frameworks={"os-ken": "4.2.2", "c65ryu": None},
    openvswitch_module=False,
    system_ovs=False,
    namespace_problem=None,
    qdiscs={kind: kind not in ("prio", "netem") for kind in (*_QDISCS, "u32", "bpf")},
)


def problems(machine: Machine) -> list[str]:
    return [problem for problem, _ in machine.obstacles]


def test_a_machine_without_netem_and_prio_is_good_enough() -> None:
    assert problems(ABLE) == []


def test_missing_programs_are_named_with_their_packages() -> None:
    bare = replace(ABLE, programs={**ABLE.programs, "iperf3": None, "tc": None, "ovs-vsctl": None, "ovs-ofctl": None})
    assert bare.obstacles == [
        ("ovs-vsctl, ovs-ofctl, iperf3, tc not found", "the Debian packages iperf3, iproute2, openvswitch-switch")
    ]


def test_programs_that_are_too_old_are_named() -> None:
    old = replace(ABLE, programs={**ABLE.programs, "iperf3": "3.1.3", "ovs-vswitchd": "2.9.8"})
    assert old.obstacles == [
        ("ovs-vswitchd 2.9.8 is too old", "version 2.13 or later"),
        ("iperf3 3.1.3 is too old", "version 3.7 or later"),
    ]


def test_ebpf_is_needed_only_where_the_kernel_forwards() -> None:
    assert problems(replace(ABLE, qdiscs={**ABLE.qdiscs, "u32": False})) == ["the kernel has no u32"]
    without = replace(ABLE, qdiscs={**ABLE.qdiscs, "bpf": False})
    assert problems(without) == []
    assert problems(replace(without, openvswitch_module=True)) == ["the kernel has no bpf"]


def test_links_have_delays_only_with_netem_and_the_kernel_module() -> None:
    with_netem = replace(ABLE, qdiscs={**ABLE.qdiscs, "netem": True})
    assert "no delay" in ABLE.consequences[1]
    assert "no delay" in with_netem.consequences[1]
    assert "(netem)" in replace(with_netem, openvswitch_module=True).consequences[1]


def test_what_follows_tells_how_the_queue_is_chosen() -> None:
    assert "filters on the label" in ABLE.consequences[0]
    assert "set_queue" in replace(ABLE, openvswitch_module=True).consequences[0]


def test_a_machine_without_any_controller_is_told_so() -> None:
    alone = replace(ABLE, frameworks={"os-ken": None, "c65ryu": None}, cpu_count=1)
    assert ("neither os-ken nor c65ryu is installed", "pip install 'kuijia[controller]'") in alone.obstacles
    assert any("one CPU" in sentence for sentence in alone.consequences)


def test_all_that_keeps_the_emulation_from_running_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    poor = replace(ABLE, is_root=False, mininet=None, qdiscs={})
    monkeypatch.setattr(machine_module, "examine_machine", lambda: poor)
    with pytest.raises(InputError) as caught:
        require_emulation()
    assert str(caught.value) == (
        "testbed: Mininet is not importable by Python 3.11.2; not running as root, "
        "expected the package mininet, and a venv that sees it; root, for namespaces and queues"
    )


def test_an_able_machine_is_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_module, "examine_machine", lambda: ABLE)
    assert require_emulation() is ABLE


def test_this_machine_can_be_examined_whatever_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(machine_module, "find_program", lambda _: None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    found = examine_machine()
    assert set(found.programs.values()) == {None}
    assert found.qdiscs == {}
    assert len(found.obstacles) == 3


@pytest.mark.emulation
def test_the_probes_leave_no_interface_behind_and_find_the_queues() -> None:
    before = interfaces()
    found = examine_machine()
    assert found.obstacles == []
    assert found.qdiscs["htb"]
    assert interfaces() == before
