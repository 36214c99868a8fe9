from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kuijia_base.errors import TestbedError
from testbed.machine.network_namespace import network_of, private_network
from testbed.network.leftovers import interfaces

pytestmark = pytest.mark.emulation


def own_namespace() -> Path:
    return Path("/proc/thread-self/ns/net").readlink()


def fail_in_private(home: Path) -> None:
    with private_network():
        assert own_namespace() != home
        raise ZeroDivisionError


def test_a_private_network_has_a_loopback_interface_and_no_ipv6() -> None:
    with private_network():
        assert interfaces() == {"lo"}
        assert (
            subprocess.run(["ping", "-c", "1", "-W", "5", "127.0.0.1"], capture_output=True, check=False).returncode
            == 0
        )
        assert subprocess.run(["ip", "-6", "address"], capture_output=True, check=True).stdout == b""


def test_the_caller_returns_to_where_it_was_even_from_an_error() -> None:
    before = own_namespace()
    with pytest.raises(ZeroDivisionError):
        fail_in_private(before)
    assert own_namespace() == before


def test_the_namespace_of_a_process_can_be_visited() -> None:
    with private_network():
        inner = own_namespace()
        holder = subprocess.Popen(["sleep", "60"])
    try:
        with network_of(holder.pid):
            assert own_namespace() == inner
    finally:
        holder.kill()
        holder.wait()
    with pytest.raises(TestbedError, match=rf"^process {holder.pid}, which held a network namespace, has ended$"):
        network_of(holder.pid).__enter__()


def test_without_the_right_to_make_one_the_error_says_so() -> None:
    program = "from testbed.machine.network_namespace import enter_private_network; enter_private_network()"
    without = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin", sys.executable, "-c", program]
    ended = subprocess.run(without, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[3])
    assert ended.stderr.splitlines()[-1] == (
        "kuijia_base.errors.InputError: testbed: a network namespace cannot be made (Operation not permitted), "
        "expected root (CAP_SYS_ADMIN)"
    )
