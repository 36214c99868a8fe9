from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from testbed.lab import other_grounds
from testbed.lab.other_grounds import OtherGrounds, examine_other_grounds
from testbed.uml import boot

ALL = OtherGrounds(
    ssh="9.2p1",
    sshd=True,
    vagrant="2.3.4",
    vagrant_providers=("libvirt",),
    hardware_virtualisation=True,
    user_mode_linux="6.1",
    guest_obstacle=None,
)


def test_nothing_is_advised_where_everything_is_there() -> None:
    assert ALL.advice == []


def test_what_is_missing_is_named_with_what_to_do() -> None:
    obstacle = "linux.uml not found (Debian package user-mode-linux)"
    nothing = replace(ALL, ssh=None, sshd=False, vagrant=None, vagrant_providers=(), guest_obstacle=obstacle)
    for package in ("openssh-client", "openssh-server", "vagrant-libvirt", "user-mode-linux"):
        assert sum(package in sentence for sentence in nothing.advice) == 1


def test_a_vagrant_that_cannot_run_a_machine_is_told_why() -> None:
    [unprovided] = replace(ALL, vagrant_providers=()).advice
    assert "no provider" in unprovided
    [slow] = replace(ALL, hardware_virtualisation=False).advice
    assert "/dev/kvm" in slow


@pytest.mark.parametrize("place", ["gems", "home", None])
def test_libvirt_is_a_provider_only_with_vagrants_plugin_for_it(
    place: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "libvirtd").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("VAGRANT_HOME", str(tmp_path))
    monkeypatch.setattr(other_grounds, "_DEBIAN_GEMS", tmp_path / "gems")
    if place == "gems":
        (tmp_path / "gems" / "vagrant-libvirt-0.11.2").mkdir(parents=True)
    elif place == "home":
        (tmp_path / "plugins.json").write_text('{"installed": {"vagrant-libvirt": {"gem_version": ""}}}')
    assert ("libvirt" in examine_other_grounds().vagrant_providers) == (place is not None)


@pytest.mark.parametrize(
    ("said", "version"),
    [("OpenSSH_9.2p1 Debian-2+deb12u10, OpenSSL 3.0.19", "9.2p1"), ("Dropbear v2022.83", "present")],
)
def test_ssh_tells_its_version_on_standard_error(
    said: str, version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "ssh"
    program.write_text(f"#!/bin/sh\necho '{said}' >&2\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert examine_other_grounds().ssh == version


def test_a_guest_without_the_module_is_no_ground(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(boot, "find_program", lambda _: "/usr/bin/linux.uml")
    monkeypatch.setattr(boot, "KERNEL_MODULES", tmp_path)
    found = examine_other_grounds()
    assert found.guest_obstacle == f"linux.uml has no openvswitch module in {tmp_path}"
    assert any("no openvswitch module" in sentence for sentence in found.advice)
