"""On three bridges of a user's own: prepared, Kuijia keeps its promise to real packets; restored, nothing is left."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kuijia.cli.main import main
from kuijia_app.framework.event_log import SWITCH_READY, UPDATE_DONE, UPDATE_REFUSED
from te_solver.formats.plan_file import save_plan
from te_solver.model.plan import PairPlan, Plan, Tunnel
from testbed.machine.processes import LISTENING
from testbed.machine.programs import LocalProgram
from tests.certificates import make_certificate
from tests.kuijia_app.dummy_switches import free_port, wait_until
from tests.kuijia_app.preparation.own_switches import OwnSwitches, own_switches, plan

pytestmark = [pytest.mark.emulation, pytest.mark.slow]

SECONDS = 4
RATE = 16
"""Mbit/s that the plan allocates to each pair; two of them share a link of 20 after the cut."""


@pytest.fixture
def switches(tmp_path: Path) -> Iterator[OwnSwitches]:
    with own_switches(tmp_path) as found:
        yield found


@contextmanager
def controller(switches: OwnSwitches, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run `kuijia controller` for the bridges; return once it has programmed them."""
    port, events = free_port(), switches.folder / "events.jsonl"
    words = [str(switches.plan_file), "--wiring", str(switches.wiring_file), "--port", str(port)]
    argv = [sys.executable, "-m", "kuijia", "controller", *words, "--events", str(events), *options]
    process = subprocess.Popen(argv)
    try:
        wait_until(events.exists, "the controller starts")
        switches.controlled_by(port)
        wait_until(lambda: events.read_text().count(SWITCH_READY) >= 3, "all bridges are programmed")
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


def measure(switches: OwnSwitches, target_port: int, source: str, *options: str) -> tuple[LocalProgram, LocalProgram]:
    """Start a flow from a host to c's; return its server and its client."""
    address = str(switches.hosts["c"].address)
    server = switches.hosts["c"].launch(["iperf3", "-s", "-1", "-B", address, "-p", str(target_port), "--json"])
    wait_until(lambda: server.owns_socket(LISTENING, target_port), "iperf3 listens")
    words = ["iperf3", "-c", address, "-p", str(target_port), "-t", str(SECONDS), "--json", *options]
    return server, switches.hosts[source].launch(words)


def report(server: LocalProgram, client: LocalProgram) -> dict[str, Any]:
    for program in (client, server):
        program.wait(SECONDS + 30)
    found: dict[str, Any] = json.loads(server.output())["end"]
    return found


@pytest.mark.parametrize("liveness", ["controller", "bfd"])
def test_prepared_switches_protect_full_packets_after_a_cut(switches: OwnSwitches, liveness: str) -> None:
    options = ("--liveness", liveness)
    prepared = switches.kuijia("switches", "prepare", *options)
    assert (prepared.returncode, prepared.stderr) == (0, "")
    udp = ("-u", "-l", "1472", "-b", f"{RATE}M")
    with controller(switches, *options):
        if liveness == "bfd":
            wait_until(lambda: set(switches.session_states()) == {"up"}, "all sessions are up")
        switches.set_link("a", "c", "down")
        victim = measure(switches, 5201, "a", *udp)
        aboriginal = measure(switches, 5202, "b", *udp)
        lost = report(*aboriginal)["sum"]["lost_percent"]
        victim_lost = report(*victim)["sum"]["lost_percent"]
        assert lost <= 0.5
        assert victim_lost >= 20
        victim = measure(switches, 5203, "a", *udp)
        stream = measure(switches, 5204, "b", "-b", f"{RATE}M")
        rate = report(*stream)["sum_received"]["bits_per_second"]
        report(*victim)
        assert rate >= 0.95 * RATE * 1e6


def replace_plan(switches: OwnSwitches, process: subprocess.Popen[bytes], new: Plan, outcome: str) -> dict[str, Any]:
    """Have the controller follow another plan; return the event that ends the update."""
    save_plan(new, switches.plan_file)
    process.send_signal(signal.SIGHUP)
    events = switches.folder / "events.jsonl"

    def found() -> list[dict[str, Any]]:
        return [event for event in map(json.loads, events.read_text().splitlines()) if event["event"] == outcome]

    wait_until(lambda: bool(found()), outcome)
    return found()[-1]


def test_ports_of_sessions_follow_the_plan_and_a_database_that_is_gone_refuses_it(switches: OwnSwitches) -> None:
    assert switches.kuijia("switches", "prepare").returncode == 0
    with controller(switches, "--liveness", "bfd", "--ovsdb", switches.ovs.database) as process:
        wait_until(lambda: switches.session_states() == ["up"] * 8, "four sessions are up")
        first = plan()
        direct = [replace(pair, tunnels=(replace(pair.tunnels[0], weight=1.0),)) for pair in first.pairs]
        across = PairPlan("a", "b", 4.0, 4.0, (Tunnel(40, ("a", "b"), 4.0, 1.0),))
        second = replace(first, pairs=(*direct, across))
        replace_plan(switches, process, second, UPDATE_DONE)
        wait_until(lambda: switches.session_states() == ["up"] * 6, "three sessions are left, and up")
        switches.ovs.kill_database()
        refused = replace_plan(switches, process, first, UPDATE_REFUSED)
        assert "database connection failed" in refused["reason"]
        switches.ovs.start_database()
        wait_until(lambda: switches.session_states() == ["up"] * 6, "the three sessions are up again")
        wait_until(lambda: pings(switches, "a", "c"), "packets arrive again")


def pings(switches: OwnSwitches, source: str, target: str) -> bool:
    """Return True if the target's host answers one of three pings within a second."""
    words = ["ping", "-c", "3", "-i", "0.2", "-w", "1", "-q", str(switches.hosts[target].address)]
    return switches.hosts[source].start(words, stdout=subprocess.DEVNULL).wait() == 0


def database_of(switches: OwnSwitches) -> dict[str, str]:
    """Return what preparation may change in the database."""
    found = switches.state()
    return {table: found[table] for table in ("Bridge", "Port", "Interface", "QoS", "Queue")}


def serve_database(switches: OwnSwitches, protocol: str) -> list[str]:
    """Serve the bridges' database by TCP, or by TLS to clients with a certificate, too; return options for that."""
    folder, ovs = switches.folder, switches.ovs
    for name in ("server", "client"):
        make_certificate(folder, name)
    address = f"{protocol}:127.0.0.1:{free_port()}"
    options = ["--wiring", str(switches.wiring_file), "--ovsdb", address]
    words = [f"--remote=p{ovs.database}", f"--remote=p{protocol}:{address.rpartition(':')[2]}:127.0.0.1"]
    if protocol == "ssl":
        words += [f"--private-key={folder / 'server.key'}", f"--certificate={folder / 'server.pem'}"]
        words += [f"--ca-cert={folder / 'ca.pem'}"]
        options += [f"--tls-key={folder / 'client.key'}", f"--tls-certificate={folder / 'client.pem'}"]
        options += [f"--tls-ca={folder / 'ca.pem'}"]
    ovs.kill_database()
    ovs._start_daemon("ovsdb-server", str(ovs._database_file), *words)
    wait_until(lambda: pings(switches, "a", "c"), "the switches have their database again")
    return options


@pytest.mark.parametrize("protocol", ["tcp", "ssl"])
def test_over_a_remote_database_settings_are_supplied_and_restored_and_the_rest_is_named(
    switches: OwnSwitches, protocol: str, capsys: pytest.CaptureFixture[str]
) -> None:
    switches.set_link("a", "b", "down")  # or the bridges, which flood, would form a loop
    options = serve_database(switches, protocol)
    before = database_of(switches)

    def done(action: str) -> tuple[int, str]:
        status = main(["switches", action, str(switches.plan_file), *options])
        return status, capsys.readouterr().out

    status, found = done("check")
    assert status == 1
    assert "queue" in found
    status, left = done("prepare")
    assert status == 1  # what the switch's own machine needs
    assert 0 < left.count("\n") < found.count("\n")
    assert "linux-htb" in switches.ovs.vsctl("list", "QoS")
    assert done("check") == (1, left)
    assert done("restore")[0] == 0
    assert database_of(switches) == before


def test_a_remote_database_that_does_not_trust_us_is_one_line(
    switches: OwnSwitches, capsys: pytest.CaptureFixture[str]
) -> None:
    switches.set_link("a", "b", "down")
    options = serve_database(switches, "ssl")
    other = switches.folder / "other"
    other.mkdir()
    make_certificate(other, "client")
    files = [f"--tls-key={other / 'client.key'}", f"--tls-certificate={other / 'client.pem'}"]
    status = main(["switches", "check", str(switches.plan_file), *options, *files])
    error = capsys.readouterr().err
    assert (status, error.count("\n")) == (1, 1)
    assert error.startswith("error: ssl:127.0.0.1:")


def test_a_bridge_in_user_space_forwards_nothing_while_its_database_is_gone(switches: OwnSwitches) -> None:
    """Neither controller nor plan: `ovs-vswitchd` runs no bridge while it does not hold the lock in its database."""
    switches.set_link("a", "b", "down")  # or the bridges, which flood, would form a loop
    wait_until(lambda: pings(switches, "a", "c"), "bare bridges forward")
    switches.ovs.kill_database()
    wait_until(lambda: not pings(switches, "a", "c"), "packets are lost")
    assert not pings(switches, "a", "c")
    switches.ovs.start_database()
    wait_until(lambda: pings(switches, "a", "c"), "packets arrive again")


@pytest.mark.parametrize("liveness", ["controller", "bfd"])
def test_restoring_leaves_every_setting_as_it_was(switches: OwnSwitches, liveness: str) -> None:
    before = switches.state()
    for action in ("prepare", "prepare", "restore", "restore"):
        done = switches.kuijia("switches", action, "--liveness", liveness)
        assert (done.returncode, done.stderr) == (0, "")
        assert (switches.state() == before) == (action == "restore")


def test_a_preparation_that_was_killed_is_restored(switches: OwnSwitches) -> None:
    before = switches.state()
    words = ["switches", "prepare", str(switches.plan_file), *switches.options(), "--liveness", "bfd"]
    preparing = subprocess.Popen([sys.executable, "-m", "kuijia", *words])
    wait_until(lambda: "kuijia-qos-before" in switches.ovs.vsctl("list", "Port"), "queues are being made")
    preparing.kill()
    preparing.wait()
    assert switches.kuijia("switches", "restore", "--liveness", "bfd").returncode == 0
    assert switches.state() == before
