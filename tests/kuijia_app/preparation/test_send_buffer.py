"""The send buffer of a process, compared with what the kernel gives a new socket."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from kuijia_app.preparation.send_buffer import enlarge_send_buffers, send_buffer_of

pytestmark = pytest.mark.emulation

DEFAULT = int(Path("/proc/sys/net/core/wmem_default").read_text())


def test_the_size_is_the_one_that_the_kernels_default_sets_and_comes_back() -> None:
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW):
        assert send_buffer_of(os.getpid()) == DEFAULT
        for size in (64 << 20, DEFAULT):
            enlarge_send_buffers(os.getpid(), size)
            assert send_buffer_of(os.getpid()) == size
