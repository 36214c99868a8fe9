"""Network namespaces: the private one of a lab, and a visit to another process's.

A namespace belongs to a thread: enter it in the main thread before any other is started. Programs and threads started
afterwards inherit it; it vanishes with everything in it when its last process ends.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kuijia_base.commands import run_command
from kuijia_base.errors import InputError, TestbedError

_CLONE_NEWNET = 0x40000000  # sched.h; os.unshare and os.setns exist from Python 3.12 on
_OWN_NAMESPACE = Path("/proc/thread-self/ns/net")
NAMED = Path("/run/netns")
_libc = ctypes.CDLL(None, use_errno=True)


def enter_private_network() -> None:
    """Move the calling thread into its own network namespace, which holds only a loopback interface.

    IPv6 is disabled in it: router solicitations and multicast reports of the interfaces would be stray packets.

    Raises:
        InputError: the kernel does not permit it.
    """
    _unshare()
    run_command(["ip", "link", "set", "lo", "up"])
    disable_ipv6()


@contextmanager
def private_network() -> Iterator[None]:
    """Enter a private network namespace for a block; the calling thread then returns to its former one."""
    with _returning_to_own_namespace():
        enter_private_network()
        yield


@contextmanager
def network_of(pid: int) -> Iterator[None]:
    """Visit the network namespace of another process for a block.

    Raises:
        TestbedError: the process has ended.
    """
    with _returning_to_own_namespace():
        try:
            namespace = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError as error:
            raise TestbedError(f"process {pid}, which held a network namespace, has ended") from error
        try:
            _enter(namespace)
        finally:
            os.close(namespace)
        yield


@contextmanager
def namespace_named(name: str) -> Iterator[None]:
    """Visit a network namespace named by `ip netns` for a block.

    Raises:
        TestbedError: there is none.
    """
    with _returning_to_own_namespace():
        try:
            namespace = os.open(NAMED / name, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError as error:
            raise TestbedError(f"there is no network namespace {name}") from error
        try:
            _enter(namespace)
        finally:
            os.close(namespace)
        yield


def disable_ipv6() -> None:
    """Disable IPv6 for the present and future interfaces of the calling thread's namespace."""
    settings = Path("/proc/sys/net/ipv6/conf")  # shows the namespace of the thread that opens it
    if settings.is_dir():  # a kernel may lack IPv6
        for scope in ("all", "default"):
            (settings / scope / "disable_ipv6").write_text("1")


@contextmanager
def _returning_to_own_namespace() -> Iterator[None]:
    own = os.open(_OWN_NAMESPACE, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield
    finally:
        if not os.path.samestat(os.fstat(own), _OWN_NAMESPACE.stat()):
            _enter(own)
        os.close(own)


def _unshare() -> None:
    if _libc.unshare(_CLONE_NEWNET) != 0:
        reason = os.strerror(ctypes.get_errno())
        raise InputError("testbed", "", f"a network namespace cannot be made ({reason})", "root (CAP_SYS_ADMIN)")


def _enter(namespace: int) -> None:
    if _libc.setns(namespace, _CLONE_NEWNET) != 0:
        raise TestbedError(f"a network namespace cannot be entered: {os.strerror(ctypes.get_errno())}")
