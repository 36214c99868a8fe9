from __future__ import annotations

import subprocess
from pathlib import Path

from testbed.machine.ovs import Datapath, PrivateOvs


def test_a_process_that_got_the_number_of_a_dead_daemon_is_left_alone(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as innocent:
        directory = tmp_path / "ovs"
        directory.mkdir()
        (directory / "ovs-vswitchd.pid").write_text(f"{innocent.pid}\n")
        PrivateOvs(directory, Datapath.USERSPACE).stop()
        assert innocent.poll() is None
        assert not directory.exists()
        innocent.kill()
