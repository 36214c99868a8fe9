"""Controllers listen where they are told to, and nowhere else."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from kuijia.cli.main import main
from te_solver.formats.plan_file import save_plan
from tests.kuijia_app.dummy_switches import PATIENCE, free_port, wait_until
from tests.kuijia_app.gate import imitated_switch as openflow
from tests.kuijia_app.gate.imitated_switch import ImitatedSwitch
from tests.kuijia_app.gate.test_loop import needs_ipv6
from tests.kuijia_app.plans import motivation_plan


@pytest.fixture
def plan_file(tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    save_plan(motivation_plan(), path)
    return path


@pytest.mark.parametrize("host", ["", "0"])
@pytest.mark.parametrize("verb", ["controller", "scheduler"])
def test_all_addresses_are_listened_on_only_by_name(
    plan_file: Path, capsys: pytest.CaptureFixture[str], verb: str, host: str
) -> None:
    words = [verb, *([str(plan_file)] if verb == "controller" else [])]
    assert main([*words, f"--port={free_port()}", f"--host={host}"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: host: ")
    assert "expected an address of this machine, 0.0.0.0 or :: for all of them" in said


def ryu_manager(folder: Path, plan_file: Path, options: str) -> list[str]:
    configuration = folder / "ryu.conf"
    configuration.write_text(f"[DEFAULT]\n{options}[kuijia]\nplan = {plan_file}\n")
    manager = Path(sys.executable).with_name("ryu-manager")
    return [str(manager), "--config-file", str(configuration), "kuijia_app.controller"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ("ofp_listen_host =\n", "error: host: is empty, expected an address"),
        ("ofp_listen_host = 192.0.2.1\nofp_tcp_listen_port = 6653\n", "error: 192.0.2.1:6653: cannot listen: "),
        ("ctl_privkey = none\nctl_cert = none\n", "error: [DEFAULT]:ctl_cert: not usable for TLS: "),
        ("ofp_switch_address_list = 127.0.0.1:6653\n", "error: [DEFAULT]:ofp_switch_address_list: "),
    ],
)
def test_ryu_manager_is_told_in_one_line_where_it_cannot_listen(
    plan_file: Path, tmp_path: Path, options: str, complaint: str
) -> None:
    command = ryu_manager(tmp_path, plan_file, options)
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert ended.returncode == 2
    assert complaint in ended.stderr
    assert "Traceback" not in ended.stderr


@needs_ipv6
def test_switches_come_by_ipv6(plan_file: Path) -> None:
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "kuijia",
        "controller",
        str(plan_file),
        "--host=::1",
        f"--port={port}",
    ]
    running = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: is_programmed(port), "a switch is programmed")
    finally:
        running.kill()
        running.wait()


def is_programmed(port: int) -> bool:
    with suppress(OSError), ImitatedSwitch(port, 1, range(1, 5), host="::1") as switch:
        return switch.wait_for(lambda: switch.was_sent(openflow.FLOW_MOD))
    return False
