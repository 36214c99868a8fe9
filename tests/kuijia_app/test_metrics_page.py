"""The metrics of a running controller, under both frameworks, and ports on which they cannot be served."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kuijia_app.framework.metrics.address import PageAddress
from kuijia_app.tables.options import OptionWords
from te_solver.formats.plan_file import save_plan
from testbed.controllers.application_process import Framework, Listening
from testbed.controllers.controller_process import ControllerProcess
from tests.kuijia_app.dummy_switches import DummySwitches, free_port
from tests.kuijia_app.plans import motivation_plan
from tests.kuijia_app.test_controller import both_frameworks, told

T1 = 16
SCRAPES = 20

pytestmark = [pytest.mark.ovs, pytest.mark.slow]


@contextmanager
def controller(
    switches: DummySwitches, directory: Path, framework: Framework
) -> Iterator[tuple[ControllerProcess, int]]:
    """Run a controller whose switches are programmed; yield it and the port of its metrics."""
    plan_file = directory / "plan.json"
    save_plan(switches.plan, plan_file)
    port = free_port()
    listening = Listening(switches.controller_port)
    process = ControllerProcess(directory, plan_file, OptionWords(), framework, listening, metrics=PageAddress(port))
    process.start()
    try:
        for switch in switches.plan.topology.nodes:
            switches.connect(switch)
        process.wait_until_ready(switches.plan.topology.nodes)
        yield process, port
    finally:
        process.stop()


def scrape(port: int) -> dict[str, float]:
    """Return the values of a page, by name, without those of single switches and buckets."""
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        families = text_string_to_metric_families(answer.read().decode())
        return {sample.name: sample.value for family in families for sample in family.samples if not sample.labels}


@both_frameworks
def test_a_failure_shows_and_scraping_does_not_delay_the_controllers_clock(
    tmp_path: Path, framework: Framework
) -> None:
    with DummySwitches(motivation_plan(), tmp_path) as switches, controller(switches, tmp_path, framework) as running:
        process, port = running
        before = scrape(port)
        switches.set_port("s2", switches.wiring.port("s2", "s4"), "down")
        assert told(process, "s1", T1, alive=False)
        after = scrape(port)
        began = time.monotonic()
        for _ in range(SCRAPES):
            scrape(port)
        seconds = time.monotonic() - began
        at_last = scrape(port)
    one = "kuijia_controller_{}".format
    assert [before[one(name)] for name in ("switches", "switches_connected", "switches_ready")] == [4, 4, 4]
    assert before[one("install_seconds_count")] >= 4
    assert [before[one(name)] for name in ("tunnels_dead", "links_failed", "failovers_total")] == [0, 0, 0]
    assert [after[one(name)] for name in ("tunnels_dead", "links_failed")] == [1, 1]
    assert after[one("failovers_total")] == after[one("reaction_seconds_count")] >= 1
    assert after[one("reaction_seconds_sum")] < 1
    # Scrapes in a row, much more often than any Prometheus asks: the clock may be late by little of that time.
    late = at_last[one("tick_delay_seconds_sum")] - after[one("tick_delay_seconds_sum")]
    assert late < seconds / 2 + 0.1


def test_a_port_in_use_is_said_and_ends_the_program_before_it_listens(tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    save_plan(motivation_plan(), plan)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        page = f"127.0.0.1:{taken.getsockname()[1]}"
        command = [
            sys.executable,
            "-m",
            "kuijia",
            "controller",
            str(plan),
            f"--metrics={page}",
            f"--port={free_port()}",
        ]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    said = f"error: --metrics {page}: cannot listen: Address already in use\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, "", said)
