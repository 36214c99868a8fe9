from __future__ import annotations

import subprocess
from pathlib import Path

from testbed.machine.ovs import Datapath, PrivateOvs, allocator


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
