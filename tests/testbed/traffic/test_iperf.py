"""Any output of iperf3 can be read, and its processes are started, measured and ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from unittest.mock import Mock

import pytest

from kuijia_base.errors import TestbedError
from testbed.machine.processes import processes_with_environment
from testbed.machine.run_directory import LAB_VARIABLE
from testbed.network.network import EmulatedNetwork
from testbed.traffic.iperf import Goodput, Interval, IperfError, IperfFlow, IperfRun, parse_report, reported_failure
from testbed.traffic.offered_rate import OfferedRate, limit_offered_rates
from tests.testbed.emulated import program_path, running_network

SECONDS = 3
RATE = 8.0


def report(*intervals: tuple[float, float, float]) -> str:
    sums = [{"streams": [], "sum": {"start": start, "end": end, "bytes": size}} for start, end, size in intervals]
    return json.dumps({"start": {"connected": []}, "intervals": sums, "end": {}})


def test_a_report_gives_its_intervals_in_order() -> None:
    intervals = parse_report(report((0, 0.1, 1000), (0.1, 0.2, 3000)), "f1")
    assert intervals == (Interval(0, 0.1, 1000), Interval(0.1, 0.2, 3000))


def test_text_around_the_json_does_not_matter() -> None:
    text = f"warning: this system is odd\n{report((0, 1, 5))}\niperf3: exiting\n{{}}"
    assert parse_report(text, "f1") == (Interval(0, 1, 5),)


@pytest.mark.parametrize("word", ["nan", "-nan", "NaN", "inf", "-inf", "Infinity"])
def test_numbers_that_are_none_do_not_spoil_the_rest(word: str) -> None:
    text = report((0, 1, 5)).replace('"end": {}', f'"end": {{"jitter_ms":\t{word}, "lost_percent": {word}}}')
    assert parse_report(text, "f1") == (Interval(0, 1, 5),)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "iperf3 printed nothing"),
        ("iperf3: command not found", "iperf3 printed 'iperf3: command not found'"),
        (report((0, 1, 5))[:-20], "is cut short or malformed"),
        ('{"intervals": [1, 2', "is cut short or malformed"),
        ("{}", "holds no intervals"),
        ('{"intervals": {}}', "holds no intervals"),
        ('{"intervals": [], "error": "unable to connect"}', "reports: unable to connect"),
        ('{"intervals": [{"streams": []}]}', "has no sum"),
        ('{"intervals": [7]}', "has no sum"),
        (report((0, 1, 5)).replace('"bytes": 5', '"bytes": -nan'), "lacks a numeric start, end or bytes"),
        (report((0, 1, 5)).replace('"bytes": 5', '"bytes": 1e999'), "lacks a numeric start, end or bytes"),
        (report((0, 1, 5)).replace('"bytes": 5', '"bytes": true'), "lacks a numeric start, end or bytes"),
        ('{"intervals": ' + "7" * 5000 + "}", "is cut short or malformed"),
        ('{"intervals": ' + "[" * 100_000 + "}", "is cut short or malformed"),
        (report((1, 0, 5)), "goes from 1 to 0 s"),
        (report((0, 1, -5)), "with -5 bytes"),
    ],
)
def test_a_report_that_cannot_be_used_is_an_error_that_names_the_flow(text: str, complaint: str) -> None:
    with pytest.raises(IperfError, match=complaint) as caught:
        parse_report(text, "f7")
    assert str(caught.value).startswith("flow f7: ")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"error": "error - unable to start listener: Address already in use"}', "unable to start listener"),
        ("mnexec: iperf3: No such file or directory\n", "mnexec: iperf3: No such file or directory"),
        ('{"end": {}}', "it gives no reason"),
        ("", "it gives no reason"),
    ],
)
def test_the_reason_of_a_failure_is_found(text: str, reason: str) -> None:
    assert reported_failure(text).startswith(reason)


def test_the_mean_counts_intervals_by_their_share() -> None:
    goodput = Goodput((Interval(10, 11, 125_000), Interval(11, 12, 250_000), Interval(12, 13, 0)))
    assert goodput.mean(10, 13) == pytest.approx(1.0)
    assert goodput.mean(11, 12) == pytest.approx(2.0)
    assert goodput.mean(10.5, 11.5) == pytest.approx(1.5)


@pytest.mark.parametrize(("start", "end"), [(9.9, 11), (10, 12.1), (11, 11), (11, 10.5)])
def test_no_mean_is_given_of_a_time_that_was_not_measured(start: float, end: float) -> None:
    with pytest.raises(ValueError, match="is not known"):
        Goodput((Interval(10, 11, 1), Interval(11, 12, 1))).mean(start, end)
    with pytest.raises(ValueError, match="is not known"):
        Goodput(()).mean(start, end)


def test_udp_needs_a_rate_and_tcp_takes_none() -> None:
    with pytest.raises(ValueError, match="flow f1"):
        IperfFlow("f1", "a", "c", 20001, 5201, protocol="udp")
    with pytest.raises(ValueError, match="flow f1"):
        IperfFlow("f1", "a", "c", 20001, 5201, rate=2)


def test_a_host_that_died_is_named_and_not_the_client_that_lost_it() -> None:
    client, server, network = Mock(), Mock(), Mock()
    client.status.return_value = server.status.return_value = None
    server.bytes_read.return_value = 0
    network.host.side_effect = lambda name: Mock(launch=Mock(return_value={"a": client, "c": server}[name]))
    run = IperfRun(network, [tcp_flow("f1", 20001, 5201)], seconds=60)
    run.start()
    client.status.return_value = 1
    server.status.side_effect = TestbedError("host c has closed the connection")
    with pytest.raises(TestbedError, match=r"^host c has closed the connection$"):
        run.live_goodput()


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatedNetwork]:
    with running_network(tmp_path_factory.mktemp("run")) as network:
        program_path(network, ["a", "b", "c"], label=16)
        program_path(network, ["c", "b", "a"], label=17)
        yield network


def tcp_flow(name: str, source_port: int, server_port: int) -> IperfFlow:
    return IperfFlow(name, "a", "c", source_port, server_port, congestion_control="reno")


def watch_to_the_end(run: IperfRun) -> None:
    while time.time() < run.connected_at + SECONDS:
        run.live_goodput()
        time.sleep(0.01)


def rates_after(run: IperfRun, seconds: float) -> dict[str, float]:
    while time.time() < run.connected_at + seconds:
        time.sleep(0.01)
    return run.live_goodput()


def iperf_processes() -> set[int]:
    found = set()
    for pid in processes_with_environment(f"{LAB_VARIABLE}={os.environ[LAB_VARIABLE]}"):
        with suppress(FileNotFoundError, ProcessLookupError):
            if Path(f"/proc/{pid}/comm").read_text() == "iperf3\n":
                found.add(pid)
    return found


@pytest.mark.emulation
def test_tcp_and_udp_flows_are_measured_at_the_receiver_on_the_common_clock(network: EmulatedNetwork) -> None:
    limit_offered_rates(network.host("a"), [OfferedRate(20001, RATE)])
    (link,) = json.loads(
        network.host("a").run(["ip", "-details", "-json", "link", "show", network.host("a").interface]).stdout
    )
    assert link["gso_max_segs"] == 1
    udp = IperfFlow("f2", "a", "c", 20002, 5202, protocol="udp", rate=2.0, source_address="10.0.1.77")
    flows = [tcp_flow("f1", 20001, 5201), udp]
    before = time.time()
    with IperfRun(network, flows, SECONDS, interval=0.1) as run:
        assert before < run.connected_at < time.time()
        rates_after(run, 1.0)  # the token bucket is empty by then
        live = rates_after(run, 2.0)
        goodput = run.finish()
    assert iperf_processes() == set()
    start, end = run.connected_at + 1.0, run.connected_at + SECONDS - 0.2
    assert goodput["f1"].mean(start, end) == pytest.approx(RATE * 1448 / 1514, rel=0.1)
    assert goodput["f2"].mean(start, end) == pytest.approx(2.0, rel=0.1)
    assert goodput["f2"].mean_sent(start, end) == pytest.approx(goodput["f2"].mean(start, end), rel=0.02)
    assert live["f1"] == pytest.approx(RATE * 1448 / 1514, rel=0.2)
    assert live["f2"] == pytest.approx(2.0, rel=0.2)


@pytest.mark.emulation
def test_time_stamps_agree_with_when_the_bytes_were_read(network: EmulatedNetwork) -> None:
    """The flow is stopped midway; the series must show the right time."""
    flow = IperfFlow("f1", "a", "c", 20003, 5203, protocol="udp", rate=4.0)
    with IperfRun(network, [flow], SECONDS, interval=0.1) as run:
        (client,) = [
            pid for pid in iperf_processes() if b"-c" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        ]
        while time.time() < run.connected_at + 1:
            time.sleep(0.01)
        os.kill(client, signal.SIGSTOP)
        stopped = time.time()
        while time.time() < stopped + 0.5:
            time.sleep(0.01)
        os.kill(client, signal.SIGCONT)
        goodput = run.finish()["f1"]
    silent = [each for each in goodput.intervals if each.carried == 0 and each.start > run.connected_at + 0.5]
    assert stopped - 0.05 < silent[0].start < stopped + 0.1 + 0.05  # at the next end of an interval


@pytest.mark.emulation
def test_a_port_in_use_is_one_clear_error_and_everything_started_is_stopped(network: EmulatedNetwork) -> None:
    squatter = network.host("c").start(
        ["python3", "-c", "import socket; s = socket.create_server(('', 5205)); print(flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert squatter.stdout is not None
        squatter.stdout.readline()
        with (
            pytest.raises(IperfError, match=r"flow f2: .*server on c, port 5205.*Address already in use"),
            IperfRun(network, [tcp_flow("f1", 20004, 5204), tcp_flow("f2", 20005, 5205)], SECONDS),
        ):
            pass
    finally:
        squatter.kill()
        squatter.communicate()
    assert iperf_processes() == set()


@pytest.mark.emulation
def test_a_server_that_dies_is_noticed_while_the_flow_runs(network: EmulatedNetwork) -> None:
    with IperfRun(network, [tcp_flow("f1", 20006, 5206)], SECONDS) as run:
        (server,) = [
            pid for pid in iperf_processes() if b"-s" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        ]
        os.kill(server, signal.SIGKILL)
        with pytest.raises(IperfError, match=r"flow f1: the iperf3 (server|client) on [ac], port 5206"):
            watch_to_the_end(run)
    assert iperf_processes() == set()
