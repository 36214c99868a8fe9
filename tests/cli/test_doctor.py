from __future__ import annotations

import json
from dataclasses import replace

import pytest

from kuijia.cli import doctor
from kuijia.cli.main import main
from tests.testbed.lab.test_other_grounds import ALL
from tests.testbed.machine.test_machine import ABLE


@pytest.fixture(autouse=True)
def other_grounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "examine_other_grounds", lambda: replace(ALL, vagrant_providers=()))


def run_doctor(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    status = main(["doctor", *arguments])
    return status, capsys.readouterr().out


def test_a_machine_that_can_emulate_is_told_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "examine_machine", lambda: ABLE)
    status, output = run_doctor(capsys)
    assert status == 0
    assert "The emulation can run here." in output
    assert "netem no" in output
    assert "Vagrant          2.3.4, providers: none" in output
    assert "Beyond the emulation:\n  Vagrant has no provider" in output


@pytest.mark.parametrize(
    ("datapath", "netem", "lacking"),
    [(False, False, "openvswitch, netem"), (False, True, "openvswitch"), (True, True, None)],
)
def test_what_the_kernel_lacks_is_offered_by_another(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    datapath: bool,  # noqa: FBT001
    netem: bool,  # noqa: FBT001
    lacking: str | None,
) -> None:
    machine = replace(ABLE, openvswitch_module=datapath, qdiscs={**ABLE.qdiscs, "netem": netem})
    monkeypatch.setattr(doctor, "examine_machine", lambda: machine)
    monkeypatch.setattr(doctor, "examine_other_grounds", lambda: ALL)
    _, output = run_doctor(capsys)
    offered = [line for line in output.splitlines() if "`kuijia uml -- COMMAND`" in line]
    assert [line.startswith(f"This kernel lacks {lacking}: ") for line in offered] == ([True] if lacking else [])


def test_a_kernel_that_cannot_be_booted_is_not_offered(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "examine_machine", lambda: ABLE)
    monkeypatch.setattr(doctor, "examine_other_grounds", lambda: replace(ALL, guest_obstacle="it has no module"))
    _, output = run_doctor(capsys)
    assert "user-mode Linux  6.1, cannot be used" in output
    assert "`kuijia uml -- COMMAND`" not in output
    assert "its tests cannot run: it has no module." in output


def test_known_faults_of_versions_are_told_with_their_source(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    faulty = replace(ABLE, programs={**ABLE.programs, "ovs-vswitchd": "3.5.1", "iperf3": "3.17.1"})
    monkeypatch.setattr(doctor, "examine_machine", lambda: faulty)
    _, output = run_doctor(capsys)
    section = output.partition("Known faults of these versions:\n")[2].partition("\n\n")[0].splitlines()
    assert [line.split(":")[0] for line in section] == ["  ovs-vswitchd 3.5.1", "  iperf3 3.17.1"]
    assert all("(https://" in line for line in section)
    _, output = run_doctor(capsys, "--json")
    assert json.loads(output)["known_faults"] == [line.strip() for line in section]


def test_a_machine_that_cannot_is_told_what_it_lacks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    poor = replace(ABLE, is_root=False, mininet=None, qdiscs={}, programs=dict.fromkeys(ABLE.programs))
    monkeypatch.setattr(doctor, "examine_machine", lambda: poor)
    status, output = run_doctor(capsys)
    assert status == 0
    assert run_doctor(capsys, "--emulation")[0] == 1
    assert "The emulation cannot run here:" in output
    assert "not running as root; it needs root, for namespaces and queues." in output
    assert "not tried: needs root" in output


def test_the_same_can_be_had_as_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(doctor, "examine_machine", lambda: replace(ABLE, is_root=False))
    status, output = run_doctor(capsys, "--json")
    report = json.loads(output)
    assert status == 0
    assert (report["format"], report["version"], report["can_emulate"]) == ("kuijia-doctor", 1, False)
    assert report["obstacles"][0]["problem"] == "not running as root"
    assert report["qdiscs"]["netem"] is False
    assert report["consequences"] == ABLE.consequences
    assert report["other_grounds"]["ssh"] == ALL.ssh
