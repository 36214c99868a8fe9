"""Changes to a switch, as pure data: commands in order."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

Words = tuple[str, ...]


@dataclass(frozen=True)
class RunProgram:
    """Run a program."""

    argv: Words


@dataclass(frozen=True)
class QueueCompletion:
    """Run `tc` with the arguments of both lists (`kuijia_app.preparation.completion`)."""

    clearing: tuple[Words, ...]
    building: tuple[Words, ...]


@dataclass(frozen=True)
class SendBuffers:
    """Set the size of the forwarding daemon's send buffers; it must have sent a frame before.

    Attributes:
        directory: of its sockets and its pid file.
        bridge, port: where to send a frame.
        size: bytes; None for the kernel's default.
    """

    directory: str
    bridge: str
    port: int
    size: int | None


Change = RunProgram | QueueCompletion | SendBuffers


def script_lines(change: Change) -> Iterator[str]:
    """Yield the lines of a shell script that makes a change by hand."""
    match change:
        case RunProgram(argv):
            yield shlex.join(argv)
        case QueueCompletion(clearing, building):
            yield from (f"{shlex.join(('tc', *words))} 2>/dev/null || true" for words in clearing)
            yield from (shlex.join(("tc", *words)) for words in building)
        case SendBuffers(size=size) if size is not None:
            yield f"sysctl -w net.core.wmem_default={size}  # before ovs-vswitchd starts"
        case SendBuffers():
            yield "# restart ovs-vswitchd for send buffers of net.core.wmem_default"
