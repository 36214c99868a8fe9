"""Listening sockets go on when descriptors run out, and are where they were told to be."""

from __future__ import annotations

import errno
import select
import socket
from typing import Any

import pytest

from kuijia_app.framework.listening import address_of, require_free
from kuijia_app.gate.listeners import GateListener, NoRoomError, listen
from kuijia_base.errors import InputError


class Exhausted:
    """A listening socket whose process has no descriptor left, but for one that it gives up."""

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening
        self.refusals = 1

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # all that sockets have
        return getattr(self._listening, name)

    def accept(self) -> tuple[socket.socket, Any]:
        if self.refusals:
            self.refusals -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        return self._listening.accept()


def test_a_connection_without_a_descriptor_is_turned_away_and_the_next_is_taken() -> None:
    with listen(socket.AF_INET, ("127.0.0.1", 0)) as listening, select.epoll() as poller:
        exhausted: Any = Exhausted(listening)
        listener = GateListener(exhausted, poller)
        address = listening.getsockname()
        with socket.create_connection(address) as first, socket.create_connection(address):
            with pytest.raises(NoRoomError):
                listener.accept()
            first.settimeout(5.0)
            assert first.recv(1) == b""
            accepted = listener.accept()
            assert accepted is not None
            accepted[0].close()
            assert listener.accept() is None


@pytest.mark.parametrize("host", ["", "0", "00.0", "0x0"])
def test_an_address_that_means_all_of_them_without_saying_so_is_refused(host: str) -> None:
    with pytest.raises(InputError, match="expected an address of this machine"):
        require_free(host, 0)


def has_ipv6() -> bool:
    try:
        listen(socket.AF_INET6, ("::1", 0)).close()
    except OSError:
        return False
    return True


needs_ipv6 = pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")


@pytest.mark.parametrize(
    "host",
    [
        "0.0.0.0",  # noqa: S104
        "127.0.0.1",
        "localhost",
        pytest.param("::", marks=needs_ipv6),
        pytest.param("::1", marks=needs_ipv6),
    ],
)
def test_addresses_of_both_families_are_listened_on(host: str) -> None:
    family, address = address_of(host, 0)
    with listen(family, address) as listening, socket.create_connection((host, listening.getsockname()[1])):
        assert listening.family == family


@pytest.mark.parametrize("host", ["x" * 5000, "a b", "300.1.1.1", "\N{SNOWMAN}" * 100, "a\nb", "fe80::1%none"])
def test_what_is_no_address_is_refused_in_one_short_line(host: str) -> None:
    with pytest.raises(InputError) as refused:
        require_free(host, 0)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 300
