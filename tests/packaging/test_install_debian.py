"""requirements/install-debian installs without starting services and leaves no trace of how it kept them still."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "requirements" / "install-debian"

APT_GET = """#!/bin/sh
echo "apt-get $*" >>{log}
if [ "$1" = install ]; then
    if [ -e {policy} ]; then {policy} openvswitch-switch start; echo "policy $?" >>{log}; fi
    exit {status}
fi
"""


class Machine:
    """A directory standing for the machine: where its service policy lives and what apt-get was asked for."""

    def __init__(self, path: Path) -> None:
        self.policy = path / "policy-rc.d"
        self._log = path / "log"
        self._programs = path / "programs"
        self._programs.mkdir()
        self._script = path / "install-debian"
        self._script.write_text(SCRIPT.read_text().replace("/usr/sbin/policy-rc.d", str(self.policy)))
        self._write_program("dpkg", f'#!/bin/sh\necho "dpkg $*" >>{self._log}\n')
        self.let_apt_get_exit_with(0)

    def let_apt_get_exit_with(self, status: int) -> None:
        self._write_program("apt-get", APT_GET.format(log=self._log, policy=self.policy, status=status))

    def let_apt_get_kill_the_set_up(self) -> None:
        self._write_program("apt-get", '#!/bin/sh\n[ "$1" = update ] || kill -KILL "$PPID"\n')

    def write_policy(self, text: str) -> None:
        self.policy.write_text(text)
        self.policy.chmod(0o755)

    def install(self, *packages: str) -> int:
        search = f"{self._programs}:/usr/bin:/bin"
        return subprocess.run(
            ["bash", self._script, *packages], env={"PATH": search}, capture_output=True, check=False
        ).returncode

    @property
    def log(self) -> list[str]:
        return self._log.read_text().splitlines() if self._log.exists() else []

    def _write_program(self, name: str, text: str) -> None:
        (self._programs / name).write_text(text)
        (self._programs / name).chmod(0o755)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_an_interrupted_installation_is_finished_before_a_new_one(machine: Machine) -> None:
    assert machine.install("mininet", "iperf3") == 0
    assert machine.log[:2] == ["dpkg --configure -a", "apt-get update"]
    assert machine.log[2].startswith("apt-get install ")
    assert machine.log[2].endswith(" -- mininet iperf3")


def test_services_are_forbidden_while_installing_and_the_policy_is_gone_afterwards(machine: Machine) -> None:
    assert machine.install("openvswitch-switch") == 0
    assert machine.log[-1] == "policy 101"
    assert not machine.policy.exists()


def test_the_policy_is_gone_after_a_failure_too(machine: Machine) -> None:
    machine.let_apt_get_exit_with(100)
    assert machine.install("openvswitch-switch") == 100
    assert not machine.policy.exists()


def test_the_administrators_own_policy_is_kept(machine: Machine) -> None:
    own = "#!/bin/sh\nexit 42\n"
    machine.write_policy(own)
    assert machine.install("openvswitch-switch") == 0
    assert machine.log[-1] == "policy 42"
    assert machine.policy.read_text() == own


def test_a_policy_left_by_a_killed_set_up_forbids_nothing_and_is_replaced(machine: Machine) -> None:
    machine.let_apt_get_kill_the_set_up()
    assert machine.install("openvswitch-switch") == -signal.SIGKILL
    assert subprocess.run([machine.policy, "any-service", "start"], check=False).returncode == 0

    machine.let_apt_get_exit_with(0)
    assert machine.install("openvswitch-switch") == 0
    assert machine.log[-1] == "policy 101"
    assert not machine.policy.exists()
