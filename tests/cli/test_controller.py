"""`kuijia controller` and the application under `ryu-manager` refuse what they cannot use in one line."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import socket
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from te_solver.formats.plan_file import save_plan
from tests.kuijia_app.dummy_switches import PATIENCE, free_port, wait_until
from tests.kuijia_app.plans import motivation_plan

pytestmark = pytest.mark.slow


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)


def kuijia_controller(*arguments: str) -> subprocess.CompletedProcess[str]:
    return run(sys.executable, "-m", "kuijia", "controller", *arguments)


@pytest.fixture
def plan_file(tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    save_plan(motivation_plan(), path)
    return path


def test_a_port_in_use_is_refused(plan_file: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = kuijia_controller(str(plan_file), "--port", str(port))
    expected = f"error: 127.0.0.1:{port}: cannot listen: Address already in use, expected a free port\n"
    assert (result.returncode, result.stderr) == (2, expected)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--peer=10.0.0.1:6654"], "option:--peer-listen: is missing, expected --peer and --peer-listen together"),
        (
            ["--peer=here", "--peer-listen=127.0.0.1:6654"],
            "address of a controller: 'here', expected HOST:PORT",
        ),
    ],
)
def test_peers_without_addresses_are_refused(plan_file: Path, arguments: list[str], expected: str) -> None:
    result = kuijia_controller(str(plan_file), *arguments)
    assert (result.returncode, result.stderr) == (2, f"error: {expected}\n")


@pytest.mark.parametrize("port", ["0", "-1", "65536", "of"])
def test_what_is_no_port_is_refused(plan_file: Path, port: str) -> None:
    result = kuijia_controller(str(plan_file), f"--port={port}")
    expected = f"error: kuijia controller: argument --port: {port!r}, expected a TCP port from 1 to 65535\n"
    assert (result.returncode, result.stderr) == (2, expected)


def test_a_plan_whose_path_ids_are_no_labels_is_refused(tmp_path: Path) -> None:
    plan = motivation_plan()
    (pair,) = plan.pairs
    tunnels = (dataclasses.replace(pair.tunnels[0], path_id=1 << 20), *pair.tunnels[1:])
    path = tmp_path / "plan.json"
    save_plan(dataclasses.replace(plan, pairs=(dataclasses.replace(pair, tunnels=tunnels),)), path)
    result = kuijia_controller(str(path), "--port", str(free_port()))
    expected = f"error: {path}: s1 to s4 has path id 1048576, expected an MPLS label from 16 to 1048575\n"
    assert (result.returncode, result.stderr) == (2, expected)


def test_a_plan_that_overloads_a_link_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    save_plan(motivation_plan().with_rates_times(30), path)
    result = kuijia_controller(str(path), "--port", str(free_port()))
    problem = "the plan sends 1.5 Gbit/s over link s1->s2 of 1 Gbit/s, 500 Mbit/s too much; 1 other link too"
    expected = f"error: {path}: {problem}, expected links with room for all traffic, or --missing warn\n"
    assert (result.returncode, result.stderr) == (2, expected)


def test_a_layout_that_is_none_is_refused(plan_file: Path) -> None:
    result = kuijia_controller(str(plan_file), "--layout", "fuor")
    expected = "error: layout: 'fuor' is unknown, expected plain, eight, four or a YAML file\n"
    assert (result.returncode, result.stderr) == (2, expected)


def test_ryu_manager_is_told_in_one_line_what_is_wrong_with_an_option(plan_file: Path, tmp_path: Path) -> None:
    configuration = tmp_path / "ryu.conf"
    configuration.write_text(f"[kuijia]\nplan = {plan_file}\ntagging = vxlan\n")
    manager = Path(sys.executable).with_name("ryu-manager")
    result = run(str(manager), "--config-file", str(configuration), "kuijia_app.controller")
    assert result.returncode == 2
    assert "error: tagging: found 'vxlan', expected mpls or dscp-ecn or vlan\n" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_plan_whose_classes_no_queue_serves_is_refused(tmp_path: Path) -> None:
    plan = motivation_plan()
    (pair,) = plan.pairs
    path = tmp_path / "plan.json"
    save_plan(dataclasses.replace(plan, pairs=(dataclasses.replace(pair, priority=2),)), path)
    result = kuijia_controller(str(path), "--layout", "four", "--port", str(free_port()))
    expected = f"error: {path}: pairs[0].priority: priority 2, expected one that the queue layout 'four' serves: 0, 1\n"
    assert (result.returncode, result.stderr) == (2, expected)


def said_until_interrupted(plan_file: Path, *options: str) -> str:
    """Return what a controller has said on standard error when an interrupt ends it, once it listens."""
    port = free_port()
    command = [sys.executable, "-m", "kuijia", "controller", str(plan_file), "--port", str(port), *options]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: listens(port), f"it listens on port {port}")
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=PATIENCE)
    finally:
        running.kill()
        running.communicate()
    assert running.returncode == -signal.SIGINT
    return said


def test_an_interrupt_ends_it(plan_file: Path) -> None:
    assert said_until_interrupted(plan_file) == ""


@pytest.mark.parametrize("option", ["--missing=warn", "--reoptimise"])
def test_a_plan_that_overloads_a_link_is_named_where_it_is_used_all_the_same(tmp_path: Path, option: str) -> None:
    path = tmp_path / "plan.json"
    save_plan(motivation_plan().with_rates_times(30), path)
    assert "the plan sends 1.5 Gbit/s over link s1->s2" in said_until_interrupted(path, option)


@pytest.mark.parametrize("framework", ["os-ken", "ryu"])
def test_each_line_of_the_log_is_json_where_that_is_asked_for(plan_file: Path, tmp_path: Path, framework: str) -> None:
    port = free_port()
    configuration = tmp_path / "ryu.conf"
    configuration.write_text(
        f"[DEFAULT]\nofp_listen_host = 127.0.0.1\nofp_tcp_listen_port = {port}\n"
        f"[kuijia]\nplan = {plan_file}\nlog_format = json\n"
    )
    manager = str(Path(sys.executable).with_name("ryu-manager"))
    command = {
        "os-ken": [sys.executable, "-m", "kuijia", "controller", str(plan_file), f"--port={port}", "--log-format=json"],
        "ryu": [manager, "--config-file", str(configuration), "kuijia_app.controller"],
    }[framework]
    log = tmp_path / "log"
    with log.open("w") as output:
        running = subprocess.Popen(command, stderr=output)
    try:
        wait_until(lambda: listens(port), f"it listens on port {port}")
        with socket.create_connection(("127.0.0.1", port)) as old_switch:
            old_switch.sendall(bytes([1, 0, 0, 8, 0, 0, 0, 1]))  # a hello of OpenFlow 1.0
            wait_until(lambda: "does not speak" in log.read_text(), "the switch is refused")
    finally:
        running.kill()
        running.wait()
    told = [json.loads(line) for line in log.read_text().splitlines() if "does not speak" in line]
    assert [(each["level"], each["logger"], each["message"]) for each in told] == [
        ("WARNING", "gate", "connection of 127.0.0.1 ended: it does not speak OpenFlow 1.3: it offers 1.0")
    ]
    assert all(datetime.fromisoformat(each["time"]).utcoffset() is not None for each in told)


def test_ryu_manager_is_told_in_one_line_which_levels_there_are(plan_file: Path, tmp_path: Path) -> None:
    configuration = tmp_path / "ryu.conf"
    configuration.write_text(f"[kuijia]\nplan = {plan_file}\nlog_level = loud\n")
    manager = Path(sys.executable).with_name("ryu-manager")
    result = run(str(manager), "--config-file", str(configuration), "kuijia_app.controller")
    assert result.returncode == 2
    assert "error: [kuijia]:log_level: 'loud', expected debug, info, warning, error\n" in result.stderr


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_a_missing_plan_is_refused(tmp_path: Path) -> None:
    missing = tmp_path / "none.json"
    result = kuijia_controller(str(missing))
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert result.stderr.startswith(f"error: {missing}: ")


def test_an_event_file_that_cannot_be_written_is_refused(plan_file: Path, tmp_path: Path) -> None:
    events = tmp_path / "nowhere" / "events.jsonl"
    result = kuijia_controller(str(plan_file), "--events", str(events))
    expected = (
        f"error: {events}: cannot be written: No such file or directory, expected a file in a folder that exists\n"
    )
    assert (result.returncode, result.stderr) == (2, expected)


def test_ryu_manager_is_told_in_one_line_that_the_plan_is_missing(tmp_path: Path) -> None:
    configuration = tmp_path / "ryu.conf"
    configuration.write_text("[DEFAULT]\nofp_listen_host = 127.0.0.1\n")
    manager = Path(sys.executable).with_name("ryu-manager")
    result = run(str(manager), "--config-file", str(configuration), "kuijia_app.controller")
    assert result.returncode == 2
    assert "error: [kuijia]:plan: not set, expected the path of a plan file\n" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_pipe_is_refused_in_the_place_of_a_plan_file(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    os.mkfifo(path)
    result = kuijia_controller(str(path), "--port", str(free_port()))
    expected = f"error: {path}: is not a regular file, expected a plan in JSON\n"
    assert (result.returncode, result.stderr) == (2, expected)
