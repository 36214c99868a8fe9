from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from testbed import other_grounds
from testbed.other_grounds import OtherGrounds, examine_other_grounds

ALL = OtherGrounds(
    ssh=True,
    sshd=True,
    vagrant="2.3.4",
    vagrant_providers=("libvirt",),
    hardware_virtualisation=True,
    user_mode_linux="6.1",
)


def test_nothing_is_advised_where_everything_is_there() -> None:
    assert ALL.advice == []


def test_what_is_missing_is_named_with_what_to_do() -> None:
    nothing = replace(ALL, ssh=False, sshd=False, vagrant=None, vagrant_providers=(), user_mode_linux=None)
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
