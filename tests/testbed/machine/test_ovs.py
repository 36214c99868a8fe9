from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from kuijia_base.errors import TestbedError
from testbed.machine.ovs import Datapath, PrivateOvs, allocator, require_port_numbers, rows_of


def test_a_process_that_got_the_number_of_a_dead_daemon_is_left_alone(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as innocent:
        directory = tmp_path / "ovs"
        directory.mkdir()
        (directory / "ovs-vswitchd.pid").write_text(f"{innocent.pid}\n")
        PrivateOvs(directory, Datapath.USERSPACE).stop()
        assert innocent.poll() is None
        assert not directory.exists()
        innocent.kill()


def test_a_daemon_that_forwards_gets_the_faster_allocator_where_there_is_one(tmp_path: Path) -> None:
    assert allocator(Datapath.USERSPACE, tmp_path) == []
    library = tmp_path / "x86_64-linux-gnu" / "libtcmalloc_minimal.so.4"
    library.parent.mkdir()
    library.touch()
    assert allocator(Datapath.USERSPACE, tmp_path) == [f"LD_PRELOAD={library}"]
    assert allocator(Datapath.KERNEL, tmp_path) == []


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
