"""Discovery ends with the wiring of honest switches, and says little, whatever another switch sends."""

from __future__ import annotations

import struct
import subprocess
import time
from contextlib import suppress

import pytest
import yaml

from kuijia_app.discovery.lldp import COOKIE
from kuijia_base.commands import MODULES, kuijia_command
from tests.kuijia_app.dummy_switches import PATIENCE, free_port, wait_until
from tests.kuijia_app.gate import imitated_switch as openflow
from tests.kuijia_app.gate.imitated_switch import ImitatedSwitch, message

pytestmark = pytest.mark.slow

SECONDS = 4
PACKET_IN, PACKET_OUT = 10, 13
MOST_CHARACTERS = 2000


def packet_in(frame: bytes, field: bytes) -> bytes:
    """Return a packet-in that our entry has sent, with a match of one field."""
    match = struct.pack("!HH", 1, 4 + len(field)) + field
    match += bytes(-len(match) % 8)
    return message(PACKET_IN, struct.pack("!IHBBQ", 0xFFFFFFFF, len(frame), 0, 0, COOKIE) + match + b"\0\0" + frame)


def in_port(number: int, mask: int | None = None) -> bytes:
    if mask is None:
        return struct.pack("!HBBI", 0x8000, 0, 4, number)
    return struct.pack("!HBBII", 0x8000, 1, 8, number, mask)


def probes_of(switch: ImitatedSwitch) -> list[bytes]:
    """Return the frames that a switch has been told to send."""
    sent = [data for _, kind, data in list(switch.received) if kind == PACKET_OUT]
    return [data[24 + struct.unpack_from("!H", data, 16)[0] :] for data in sent]


def connected(port: int, datapath_id: int, ports: range) -> ImitatedSwitch:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return ImitatedSwitch(port, datapath_id, ports)
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_masked_ports_errors_without_end_and_a_thousand_ports_change_nothing_for_others() -> None:
    port = free_port()
    command = kuijia_command("wiring", "discover", "--port", str(port), "--seconds", str(SECONDS))
    with (
        subprocess.Popen(command, cwd=MODULES, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process,
        connected(port, 1, range(1, 3)) as one,
        connected(port, 2, range(1, 3)) as two,
        connected(port, 3, range(1, 1000)) as liar,
    ):
        wait_until(lambda: all(map(probes_of, (one, two, liar))), "probes are sent")
        for near, far in ((one, two), (two, one)):
            near.send(packet_in(probes_of(far)[0], in_port(1)))
        with suppress(ConnectionError):  # on a busy machine it ends before it has been sent all of them
            for number in range(2000):
                liar.send(
                    message(openflow.ERROR, struct.pack("!HH8x", number % 14, number % 17), xid=number)
                    + packet_in(probes_of(one)[0], in_port(number, 0xFFFFFFFF))
                    + packet_in(probes_of(liar)[0], in_port(1000 + number))
                )
        output, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said
    links = {name: ends["links"] for name, ends in yaml.safe_load(output)["switches"].items()}
    names = [f"switch-{number:016x}" for number in (1, 2, 3)]
    assert [links[name] for name in names] == [{names[1]: 1}, {names[0]: 1}, {}]
    assert len(said) < MOST_CHARACTERS
    assert "Traceback" not in said
    assert 1 <= said.count("refused a message") <= 2
