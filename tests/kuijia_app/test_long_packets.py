"""Packets that do not fit links of 1,500 bytes with their label: hosts hear which do, and send those; real packets."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kuijia_app.tables.neighbours import LINK_LOCAL_GATEWAY
from kuijia_app.tables.options import OptionWords
from testbed.controllers.application_process import Framework
from tests.kuijia_app.dummy_switches import wait_until
from tests.kuijia_app.own_switches import SITES, OwnSwitches

pytestmark = [pytest.mark.emulation, pytest.mark.beside, pytest.mark.slow]

FITS = 1492
"""Bytes of a packet that leave room for the two labels which packets of IPv6 have."""

HEADERS = {"-4": 28, "-6": 48}
"""Bytes before the data in a ping."""

SENT = 400_000
RECEIVES = """
import socket
with socket.create_server(("::", 7000), family=socket.AF_INET6, dualstack_ipv6=True) as server:
    print("ready", flush=True)
    for _ in range(2):
        connection, received = server.accept()[0], 0
        while part := connection.recv(65536):
            received += len(part)
        print(received, flush=True)
"""
SENDS = """
import socket, sys
with socket.create_connection((sys.argv[1], 7000), 10) as server:
    server.sendall(bytes(int(sys.argv[2])))
"""


def said(network: OwnSwitches, site: str, *words: str) -> str:
    process = network.hosts[site].start(list(words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return process.communicate(timeout=30)[0].decode()


def ping(network: OwnSwitches, target: str, size: int) -> str:
    """Return what a ping in packets of a size, which routers must not fragment, says in Paris."""
    family = "-6" if ":" in target else "-4"
    data = str(size - HEADERS[family])
    return said(network, "paris", "ping", family, "-M", "do", "-c", "1", "-W", "3", "-s", data, target)


def of_ipv6(site: str, host: int = 0x10) -> str:
    return f"2001:db8:{SITES.index(site) + 1}::{host:x}"


@pytest.fixture
def network(tmp_path: Path) -> Iterator[OwnSwitches]:
    """Yield switches whose hosts have an address and a route for each family."""
    with OwnSwitches(tmp_path) as running:
        running.make_queues()
        running.use_gateways()
        wiring = re.sub(r"172.20.(\d).0/24", r'172.20.\1.0/24, "2001:db8:\1::/64"', running.wiring_file.read_text())
        wiring = re.sub(r"address: (172.20.(\d).10)", r'address: [\1, "2001:db8:\2::10"]', wiring)
        running.wiring_file.write_text(wiring)
        for site, host in running.hosts.items():
            route = f"route add ::/0 via {LINK_LOCAL_GATEWAY} dev eth0"
            host.batch("ip", [f"addr add {of_ipv6(site)}/64 dev eth0 nodad".split(), route.split()])
        yield running


@pytest.mark.parametrize("framework", ["os-ken", "ryu"])
def test_hosts_hear_of_packets_that_do_not_fit_and_send_shorter_ones(
    network: OwnSwitches, framework: Framework
) -> None:
    words = OptionWords(wiring=str(network.wiring_file), neighbours="learned")
    with network.controller(framework, words, missing="refuse", host_mtu=FITS) as controller:
        controller.wait_until_ready(network.plan.topology.nodes)
        targets = {str(network.addresses["london"]): f"DF set (mtu = {FITS})", of_ipv6("london"): f"mtu={FITS}"}
        for target, error in targets.items():
            assert " 1 received" in ping(network, target, FITS)
            assert error in ping(network, target, FITS + 1)
        in_fragments = ("ping", "-6", "-c", "4", "-i", "0.3", "-W", "3", "-s", "3000", of_ipv6("paris"))
        assert re.search("[1-3] received", said(network, "london", *in_fragments)), "all but the first"
        server = network.hosts["rome"].start([sys.executable, "-c", RECEIVES], stdout=subprocess.PIPE)
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        for target in (str(network.addresses["rome"]), of_ipv6("rome")):
            said(network, "paris", sys.executable, "-c", SENDS, target, str(SENT))
            assert int(server.stdout.readline()) == SENT
        assert server.wait(10) == 0


def test_a_controller_that_measures_no_packets_removes_the_entries_of_one_that_did(network: OwnSwitches) -> None:
    words = OptionWords(wiring=str(network.wiring_file), neighbours="learned")

    def measuring() -> set[str]:
        dumps = {site: network.ovs.ofctl("dump-flows", network.bridge(site)) for site in SITES}
        return {site for site, dump in dumps.items() if "check_pkt_larger" in dump}

    with network.controller(words=words, host_mtu=FITS):
        wait_until(lambda: measuring() == set(SITES), "all measure")
    with network.controller(words=words, missing="ignore"):
        wait_until(lambda: not measuring(), "none measures")
        wait_until(lambda: " 1 received" in ping(network, str(network.addresses["london"]), FITS + 4), "it fits")
