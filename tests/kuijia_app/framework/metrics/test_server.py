"""The page of metrics over HTTP: what clients get, and that none of them keeps it from others for long."""

from __future__ import annotations

import http.client
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from ipaddress import ip_address

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families

from kuijia_app.framework.metrics import server as page
from kuijia_app.framework.metrics.address import PageAddress
from kuijia_app.framework.metrics.server import MetricsServer, PortTakenError
from kuijia_app.framework.metrics.tally import Metric, Tally
from kuijia_base.errors import KuijiaError

METRICS = (
    Metric("kuijia_work_total", "counter", "Work.", ("kind",)),
    Metric("kuijia_level", "gauge", "Level."),
    Metric("kuijia_delay_seconds", "histogram", "Delay.", buckets=(0.1, 1.0)),
)


@pytest.fixture
def tally() -> Tally:
    made = Tally(METRICS)
    made.add("kuijia_work_total", 3, 'quoted "and" \n broken')
    made.set("kuijia_level", 2.5)
    made.observe("kuijia_delay_seconds", 0.5)
    return made


@pytest.fixture
def server(tally: Tally) -> Iterator[MetricsServer]:
    with closing(MetricsServer(PageAddress(0), tally)) as made:
        made.start()
        yield made


def ask(server: MetricsServer, method: str = "GET", target: str = "/metrics", **headers: str) -> tuple[int, str, str]:
    """Return status, type and body of an answer."""
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)) as connection:
        connection.request(method, target, headers=headers)
        response = connection.getresponse()
        return response.status, response.headers["Content-Type"], response.read().decode()


def test_prometheus_gets_the_values(server: MetricsServer) -> None:
    status, content_type, text = ask(server)
    assert (status, content_type.partition(";")[0]) == (200, "text/plain")
    samples = {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert samples["kuijia_work_total", ("kind", 'quoted "and" \n broken')] == 3
    assert samples["kuijia_level",] == 2.5
    assert samples["kuijia_delay_seconds_bucket", ("le", "0.1")] == 0
    assert samples["kuijia_delay_seconds_bucket", ("le", "+Inf")] == samples["kuijia_delay_seconds_count",] == 1
    assert samples["kuijia_delay_seconds_sum",] == 0.5
    assert samples["process_resident_memory_bytes",] > 1e6


def test_openmetrics_is_spoken_to_who_knows_it(server: MetricsServer) -> None:
    _, content_type, text = ask(server, Accept="application/openmetrics-text; version=1.0.0")
    assert content_type.startswith("application/openmetrics-text")
    families = open_metrics(text)  # type: ignore[no-untyped-call]  # this part of the package has no types
    kinds = {family.name: family.type for family in families}
    assert [kinds[name] for name in ("kuijia_work", "kuijia_level", "kuijia_delay_seconds")] == [
        "counter",
        "gauge",
        "histogram",
    ]


@pytest.mark.parametrize(
    ("method", "target", "status"), [("GET", "/", 404), ("POST", "/metrics", 405), ("HEAD", "/metrics", 200)]
)
def test_nothing_but_the_page_is_there(server: MetricsServer, method: str, target: str, status: int) -> None:
    assert ask(server, method, target)[0] == status


@pytest.mark.parametrize("sent", [b"", b"\r\n\r\n", b"\x00\xff\r\n\r\n", b"GET /metrics", b"GET " + b"a" * 9000])
def test_a_client_that_speaks_no_http_does_no_harm(server: MetricsServer, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        client.settimeout(10)
        answer = client.recv(100)
    assert answer == b"" or answer.split()[1] in (b"405", b"431")
    assert ask(server)[0] == 200


def test_a_client_that_says_nothing_is_given_up(server: MetricsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "_PATIENCE", 0.05)
    with socket.create_connection(("127.0.0.1", server.port)):
        assert ask(server)[0] == 200


def connect(server: MetricsServer, number: int = 0, sent: bytes = b"") -> socket.socket:
    """Return a connection from another address for each number."""
    client = socket.create_connection(("127.0.0.1", server.port), 10, (f"127.0.2.{1 + number % 250}", 0))
    client.sendall(sent)
    return client


@pytest.mark.parametrize("sent", [b"", b"GET /metr", b"GET /metrics HTTP/1.1\r\n\r\n"])
@pytest.mark.parametrize("addresses", [1, 40])
def test_clients_that_do_not_go_on_keep_no_other_waiting(server: MetricsServer, sent: bytes, addresses: int) -> None:
    with ExitStack() as connections:
        for number in range(200):
            connections.enter_context(connect(server, number % addresses, sent))
        for _ in range(6):
            began = time.monotonic()
            assert ask(server)[0] == 200
            assert time.monotonic() - began < 2.0


def test_a_client_far_away_keeps_its_place_when_others_flood_the_port(server: MetricsServer) -> None:
    with ExitStack() as connections:
        far = connections.enter_context(connect(server))
        for number in range(1000):
            connections.enter_context(connect(server, 1 + number % 100))
        far.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
        assert far.recv(12) == b"HTTP/1.1 200"


def test_those_who_wait_for_the_page_are_few(server: MetricsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "_PATIENCE", 0.3)
    with ExitStack() as connections:
        for number in range(2 * page._ASKING):
            connections.enter_context(connect(server, number))
            assert len(server._clients) <= page._ASKING + 1
        assert ask(server)[0] == 200
        deadline = time.monotonic() + 10
        while server._clients and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not server._clients


def test_a_client_that_never_reads_a_long_page_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "_READING", 0.3)
    long = Tally([Metric("kuijia_long", "gauge", "Long.", ("name",))])
    for number in range(20):
        long.set("kuijia_long", number, f"{number}" + 400_000 * "x")
    with closing(MetricsServer(PageAddress(0), long)) as server:
        server.start()
        with closing(socket.socket()) as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.connect(("127.0.0.1", server.port))
            deaf.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
            assert len(ask(server)[2]) > 8_000_000
            deadline = time.monotonic() + 10
            while server._clients and time.monotonic() < deadline:
                time.sleep(0.01)
            assert not server._clients


def test_a_page_that_cannot_be_made_is_an_error_of_this_request_only() -> None:
    def fail(_: Tally) -> None:
        raise KeyError

    tally = Tally(METRICS, fail)
    with closing(MetricsServer(PageAddress(0), tally)) as server:
        server.start()
        assert [ask(server)[::2] for _ in range(2)] == [(500, "the metrics cannot be read: KeyError\n")] * 2


def test_two_pages_in_one_process_know_nothing_of_each_other(server: MetricsServer) -> None:
    other = Tally([Metric("kuijia_other", "gauge", "Other.")])
    with closing(MetricsServer(PageAddress(0, ip_address("127.0.0.2")), other)) as second:
        second.start()
        with closing(http.client.HTTPConnection("127.0.0.2", second.port, timeout=10)) as connection:
            connection.request("GET", "/metrics")
            text = connection.getresponse().read().decode()
    assert "kuijia_other" in text
    assert "kuijia_level" not in text
    assert "kuijia_other" not in ask(server)[2]


def test_a_port_in_use_is_an_error_before_anything_starts(server: MetricsServer, tally: Tally) -> None:
    with pytest.raises(PortTakenError, match=rf"--metrics 127.0.0.1:{server.port}: cannot listen") as error:
        MetricsServer(PageAddress(server.port), tally)
    assert isinstance(error.value, KuijiaError)
    assert error.value.exit_status == 1
