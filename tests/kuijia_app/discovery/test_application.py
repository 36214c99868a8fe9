"""Discovery leaves other events their turn, however many ports there are to probe, and says so if it fails itself."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kuijia_app.control.probe_frames import KEY_BYTES
from kuijia_app.discovery.application import PROBE_INTERVAL, PROBING, Discovery
from kuijia_app.discovery.findings import DiscoveredNetwork
from kuijia_app.framework.ending import EXIT_STATUS
from kuijia_app.framework.seam import ofproto
from kuijia_base.commands import MODULES
from tests.kuijia_app.control.fake_switch import PARSER
from tests.kuijia_app.dummy_switches import PATIENCE, free_port, wait_until
from tests.kuijia_app.failing_application import OUTCRY

PORTS = 1000
STEP = 0.001


def test_probes_of_a_large_network_are_spread_over_ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = count()
    monkeypatch.setattr(time, "monotonic", lambda: 100.0 + STEP * next(clock))
    sent: Counter[tuple[int, int]] = Counter()
    application: Any = SimpleNamespace(
        _findings=DiscoveredNetwork(), _datapaths={}, _key=bytes(KEY_BYTES), _round=None, _round_began=0.0
    )
    for switch in (1, 2):
        application._findings.described(switch, dict.fromkeys(range(1, PORTS + 1), True))
        application._datapaths[switch] = SimpleNamespace(
            ofproto=ofproto,
            ofproto_parser=PARSER,
            send_msg=lambda message, switch=switch: sent.update([(switch, message.actions[-1].port)]),
        )
    most = 0
    while sum(sent.values()) < 2 * PORTS:
        before = sum(sent.values())
        Discovery._probe(application, time.monotonic())
        most = max(most, sum(sent.values()) - before)
    assert most <= PROBING / STEP + 1
    assert set(sent.values()) == {1}
    Discovery._probe(application, time.monotonic())
    assert application._round is None
    Discovery._probe(application, application._round_began + PROBE_INTERVAL / 2)
    assert set(sent.values()) == {1}


def test_switches_that_leave_while_they_are_probed_are_left_out() -> None:
    application: Any = SimpleNamespace(
        _findings=DiscoveredNetwork(), _datapaths={1: None}, _key=bytes(KEY_BYTES), _round=None, _round_began=0.0
    )
    application._findings.described(1, {1: True})
    application._round = application._findings.to_probe([1])
    del application._datapaths[1]
    Discovery._probe(application, time.monotonic())
    assert application._round is None


@contextmanager
def discovering(manner: str, method: str, trigger: Path, port: int, patience: int) -> Iterator[subprocess.Popen[str]]:
    """Run `kuijia wiring discover` with a method made to fail; its start and its end may take so many seconds."""
    words = [manner, method, str(trigger), sys.executable, "-m", "kuijia"]
    words += ["wiring", "discover", "--port", str(port), "--seconds", "30"]
    program = f"""
from kuijia.cli import wiring
from tests.kuijia_app import failing_application

wiring.SPARE_SECONDS = {patience}
raise SystemExit(failing_application.run({words}))
"""
    streams: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    with subprocess.Popen([sys.executable, "-c", program], cwd=MODULES, **streams) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("manner", "method", "words"),
    [
        ("RAISE", "kuijia_app.discovery.application:Discovery.time_passed", "handler time_passed of DiscoveryTick"),
        ("RAISE", "kuijia_app.discovery.application:Discovery._watch_clock", "thread _watch_clock raised"),
        ("RAISE", "kuijia_app.discovery.application:Discovery.__init__", OUTCRY),
        ("RAISE", "kuijia_base.log_lines:LineFormatter.__init__", "error: kuijia has a fault: ValueError"),
        ("RAISE", "kuijia_app.gate.loop:Loop.turn", "gate has failed"),
        ("HANG", "kuijia_app.discovery.application:Discovery.time_passed", "event loop has not turned for 2 s"),
        ("HANG", "kuijia_app.gate.loop:Loop.turn", "gate has not turned for 2 s"),
        ("HANG", "kuijia_app.discovery.application:Discovery.__init__", "ended by signal 14 (Alarm clock)"),
    ],
)
def test_a_part_that_raises_or_hangs_ends_discovery_with_a_reason(
    manner: str, method: str, words: str, tmp_path: Path
) -> None:
    trigger = tmp_path / "trigger"
    trigger.touch()
    patience = 20 if (manner, method[-8:]) == ("HANG", "__init__") else int(PATIENCE)
    with discovering(manner, method, trigger, free_port(), patience) as process:
        output, said = process.communicate(timeout=2 * PATIENCE)
    assert (process.returncode, output) == (EXIT_STATUS, "")
    assert words in said
    records = [line for line in said.splitlines() if not line.startswith(" ")]
    assert len(records) == 1, said


@pytest.mark.slow
def test_discovery_that_is_asked_to_end_listens_no_longer(tmp_path: Path) -> None:
    port = free_port()

    def listens() -> bool:
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", port)) == 0

    method = "kuijia_app.discovery.application:Discovery.time_passed"
    with discovering("RAISE", method, tmp_path / "never", port, int(PATIENCE)) as process:
        wait_until(listens, "it listens")
        process.terminate()
        assert process.wait(PATIENCE) == 128 + signal.SIGTERM
        wait_until(lambda: not listens(), "it has ended")
