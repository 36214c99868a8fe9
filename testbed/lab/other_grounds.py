"""Examines this machine's means for testbeds other than emulation: boxes over SSH, Vagrant, a user-mode kernel."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from kuijia_base.commands import find_program, run_command
from kuijia_base.errors import TestbedError
from testbed.uml.boot import KERNEL, obstacle

KVM = Path("/dev/kvm")
_LIBVIRT_PLUGIN = "vagrant-libvirt"
_DEBIAN_GEMS = Path("/usr/share/rubygems-integration/all/gems")
_VERSION = re.compile(r"\d+(?:\.\d+)+")
_SSH_VERSION = re.compile(r"OpenSSH_(\d[\w.]*)")


@dataclass(frozen=True)
class OtherGrounds:
    """Results of the examination.

    Attributes:
        ssh: version of the OpenSSH client, None if it is missing.
        sshd: True if there is a daemon, which only the tests of boxes need.
        vagrant: version, None if it is missing.
        vagrant_providers: installed providers of the Vagrantfile; libvirt counts if Vagrant has its plugin.
        hardware_virtualisation: True if this user may use the kernel's.
        user_mode_linux: version, None if it is missing.
        guest_obstacle: reason why it cannot be booted, None if it can.
    """

    ssh: str | None
    sshd: bool
    vagrant: str | None
    vagrant_providers: tuple[str, ...]
    hardware_virtualisation: bool
    user_mode_linux: str | None
    guest_obstacle: str | None

    @property
    def advice(self) -> list[str]:
        """Use of each missing part and how to get it, a sentence each."""
        found = []
        if self.ssh is None:
            found.append("Boxes (--backend boxes) cannot be reached: install the Debian package openssh-client.")
        if not self.sshd:
            found.append("Tests of boxes are skipped: they need the Debian package openssh-server.")
        if self.vagrant is None:
            found.append("`vagrant up` needs the Debian packages vagrant and vagrant-libvirt, or VirtualBox.")
        elif not self.vagrant_providers:
            found.append(
                f"Vagrant has no provider to run a machine: install {_LIBVIRT_PLUGIN} and libvirt-daemon-system, or"
                " VirtualBox."
            )
        elif not self.hardware_virtualisation:
            found.append(f"A machine of Vagrant would be slow: {KVM} cannot be used, see the BIOS or the group kvm.")
        if self.guest_obstacle is not None:
            found.append(
                "`kuijia uml` (the kernel's datapath and netem, if this kernel has none) and its tests cannot run:"
                f" {self.guest_obstacle}."
            )
        return found


def examine_other_grounds() -> OtherGrounds:
    """Return the examination; it takes about a second if Vagrant is installed."""
    return OtherGrounds(
        ssh=_ssh_version(),
        sshd=find_program("sshd") is not None,
        vagrant=_version("vagrant"),
        vagrant_providers=_providers(),
        hardware_virtualisation=os.access(KVM, os.R_OK | os.W_OK),
        user_mode_linux=_version(KERNEL),
        guest_obstacle=obstacle(),
    )


def _ssh_version() -> str | None:
    program = find_program("ssh")
    if program is None:
        return None
    told = subprocess.run([program, "-V"], capture_output=True, text=True, check=False).stderr
    found = _SSH_VERSION.search(told)
    return found[1] if found else "present"


def _providers() -> tuple[str, ...]:
    found = []
    if find_program("libvirtd") is not None and _has_libvirt_plugin(_DEBIAN_GEMS, _vagrant_home()):
        found.append("libvirt")
    if find_program("VBoxManage") is not None:
        found.append("VirtualBox")
    return tuple(found)


def _has_libvirt_plugin(gems: Path, home: Path) -> bool:
    """Return True if the plugin is installed, by Debian or by Vagrant; asking Vagrant itself would take seconds."""
    installed = home / "plugins.json"
    return any(gems.glob(f"{_LIBVIRT_PLUGIN}-*")) or (
        installed.is_file() and f'"{_LIBVIRT_PLUGIN}"' in installed.read_text(errors="replace")
    )


def _vagrant_home() -> Path:
    return Path(os.environ.get("VAGRANT_HOME") or Path.home() / ".vagrant.d")


def _version(program: str) -> str | None:
    if find_program(program) is None:
        return None
    try:
        found = _VERSION.search(run_command([program, "--version"]))
    except TestbedError:  # installed, but it prints no version
        found = None
    return found[0] if found else "present"
