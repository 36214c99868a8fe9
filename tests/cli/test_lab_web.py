"""`kuijia lab web` and `kuijia lab replay` as processes: the link, many browsers, hostile requests, and a clean end."""

from __future__ import annotations

import argparse
import http.client
import json
import signal
import socket
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest

from kuijia.api.solving import SolveOptions
from kuijia.cli import lab, lab_web
from kuijia.cli.lab_web import _announcement
from kuijia.cli.main import main
from kuijia_base import additions
from kuijia_base.errors import InputError
from te_solver.programs import effort
from testbed.web import real_lab
from testbed.web.server import PageLink

ROOT = Path(__file__).parents[2]
BROWSERS = 50


class Server:
    """A process of `kuijia lab`, and requests to it."""

    def __init__(self, *arguments: str, code: str = "pass") -> None:
        started = f"import sys; {code}; from kuijia.cli.main import main; sys.exit(main(sys.argv[1:]))"
        command = [sys.executable, "-c", started, "lab", *arguments, "--port", "0", "--json"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.communicate()[1]
        said = json.loads(line)
        self.url, self.token = str(said["url"]), str(said["token"])
        self.port = urlsplit(said["server"]).port or 0

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        given = {"authorization": f"Bearer {self.token}", "content-type": "application/json", **headers}
        connection.request(method, path, None if body is None else json.dumps(body), given)
        answer = connection.getresponse()
        found = answer.read()
        connection.close()
        return answer.status, json.loads(found)

    def events(self) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("GET", "/api/events", headers={"authorization": f"Bearer {self.token}"})
        answer = connection.getresponse()
        assert answer.status == 200
        return answer

    def end(self) -> tuple[int, str]:
        """Press Ctrl-C; returns the exit status and what was written to standard error."""
        self.process.send_signal(signal.SIGINT)
        _, complaints = self.process.communicate(timeout=30)
        return self.process.returncode, complaints


def following(stream: http.client.HTTPResponse, wanted: str) -> dict[str, Any]:
    """Return the data of the next event of a kind in a stream."""
    event = ""
    while True:
        line = stream.readline().decode()
        assert line, "the stream has ended"
        if line.startswith("event: "):
            event = line.removeprefix("event: ").strip()
        if line.startswith("data: ") and event == wanted:
            data: dict[str, Any] = json.loads(line.removeprefix("data: "))
            return data


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server("web", "gscale", "gscale")
    yield server
    if server.process.poll() is None:
        server.end()


def test_fifty_browsers_see_a_cut(server: Server) -> None:
    streams = [server.events() for _ in range(BROWSERS)]
    for stream in streams:
        assert following(stream, "lab")["name"] == "gscale"
        assert all(link["up"] for link in following(stream, "state")["views"][0]["links"])
    status, done = server.ask("PATCH", "/api/links/1~2", {"up": False})
    assert status == 200
    assert done["log"][0]["text"] == "link 1-2 is down"
    for stream in streams:
        assert following(stream, "log")["text"] == "link 1-2 is down"
        state = following(stream, "state")
        assert [link["id"] for link in state["views"][0]["links"] if not link["up"]] == ["1~2"]
    server.ask("PATCH", "/api/links/1~2", {"up": True})
    for stream in streams:
        stream.close()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "rebound.example"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"authorization": "Bearer wrong"}, 401),
        ({"content-type": "text/plain"}, 415),
    ],
)
def test_hostile_requests_are_refused(server: Server, headers: dict[str, str], status: int) -> None:
    found, answer = server.ask("PATCH", "/api/links/1~2", {"up": False}, **headers)
    assert (found, set(answer)) == (status, {"error"})
    assert all(each["up"] for each in server.ask("GET", "/api/liveness")[1]["links"])


def test_the_server_survives_bytes_that_are_no_requests(server: Server) -> None:
    for sent in (b"\x16\x03\x01\x02", b"GET / HTTP/9\r\n\r\n", b"A" * 100_000, b"GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", server.port), 10) as connection:
            connection.sendall(sent)
    assert server.ask("GET", "/api/state")[0] == 200


def test_another_server_on_its_port_is_refused_in_a_line(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "web", "fig1", "fig1", "--port", str(server.port)]) == 2
    complaints = capsys.readouterr().err.splitlines()
    assert len(complaints) == 1
    assert complaints[0].startswith(f"error: --port: cannot listen on 127.0.0.1:{server.port} (")


def test_ctrl_c_ends_it_cleanly_while_browsers_look_also_without_the_modules_of_unix(tmp_path: Path) -> None:
    hidden = "sys.modules.update(dict.fromkeys(('fcntl', 'grp', 'pwd', 'resource', 'syslog', 'termios')))"
    server = Server("web", "fig1", "fig1", "--record", str(tmp_path / "r"), "--view", code=hidden)
    stream = server.events()
    assert following(stream, "lab")["view_only"] is True
    following(stream, "state")
    assert server.end() == (0, "")
    replayed = Server("replay", str(tmp_path / "r"))
    assert replayed.ask("GET", "/api/lab")[1]["backend"] == "replay"
    assert replayed.ask("PATCH", "/api/clock", {"paused": True})[0] == 200
    assert replayed.end() == (0, "")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["web", "net.yaml"], "error: net.yaml: cannot be read"),
        (["web", "--backend", "flow"], "error: lab web: no network is given, expected TOPOLOGY and DEMANDS"),
        (["web", "fig1", "nothing.csv"], "error: nothing.csv: "),
        (["web", "--backend", "lab", "fig1"], "error: lab web:TOPOLOGY: found 'fig1', expected none"),
        (
            ["web", "--schemes", "kuijia"],
            "error: lab web:--schemes: is given, expected none: the running lab has its own",
        ),
        (["web", "--traffic", "udp"], "error: lab web:--traffic: is given, expected none: the running lab has its own"),
        (["web", "--demand-format", "csv"], "error: lab web:--demand-format: is given, expected none"),
        (["web", "--backend", "boxes", "--row", "2"], "error: lab web:--row: is given, expected none"),
        (["web", "--tunnels", "2"], "error: lab web:--tunnels: is given, expected none"),
        (["web", "--paths", "ksp"], "error: lab web:--paths: is given, expected none"),
        (["web", "fig1", "fig1", "--paths", "best"], "error: option:--paths: path choice 'best', expected one of"),
        (["up", "fig1", "fig1", "--paths", "ksp:a"], "error: option:--paths: ksp reads no file, and 'a' is given"),
        (["up", "fig1", "fig1", "--view"], "error: lab up:--view: is given, expected --web with it"),
        (["up", "fig1", "fig1", "--port", "0"], "error: lab up:--port: is given, expected --web with it"),
        (["up", "fig1", "fig1", "--bind", "::1"], "error: lab up:--bind: is given, expected --web with it"),
        (["up", "fig1", "fig1", "--host-name", "a"], "error: lab up:--host-name: is given, expected --web with it"),
        (["up", "fig1", "fig1", "--tls-key", "a"], "error: lab up:--tls-key: is given, expected --web with it"),
        (["web", "fig1", "fig1", "--bind", "here"], "error: kuijia lab web: argument --bind: 'here', expected an IP"),
        (["replay", ".", "--host-name", ""], "error: kuijia lab replay: argument --host-name: '', expected a name"),
        (["web", "--host-name", "https://a"], "error: kuijia lab web: argument --host-name: 'https://a', expected"),
        (["web", "--host-name", "a:443"], "error: kuijia lab web: argument --host-name: 'a:443', expected a name"),
        (["web", "fig1", "fig1", "--bind", "192.0.2.1"], "error: --port: cannot listen on 192.0.2.1:8400 ("),
        (["web", "fig1", "fig1", "--schemes", "none"], "error: kuijia lab web: argument --schemes: 'none', expected"),
        (["web", "fig1", "fig1", "--schemes", "ffc"], "error: --schemes: found ffc, expected one for plans of the"),
        (["web", "fig1", "fig1", "--tls-key", "a"], "error: option:--tls-certificate: is missing, expected --tls-key"),
        (["replay", ".", "--tls-certificate", "a"], "error: option:--tls-key: is missing, expected --tls-key and"),
        (
            ["web", "fig1", "fig1", "--tls-key=a", "--tls-certificate=b"],
            "error: b: not usable with the key a: [Errno 2]",
        ),
        (["web", "--consoles", "--bind", "192.0.2.1"], "error: lab web:--consoles: is given with --bind, expected no"),
        (["web", "--consoles", "--host-name", "a"], "error: lab web:--consoles: is given with --host-name, expected"),
        (["web", "--consoles", "fig1", "fig1"], "error: lab web:--consoles: a model has no hosts, expected the"),
        (["replay", "nothing"], "error: nothing: is no folder"),
        (["replay", "."], "error: .: no file has goodput over time"),
    ],
)
def test_bad_input_ends_in_a_line(
    arguments: list[str],
    complaint: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        status = main(["lab", *arguments])
    except SystemExit as end:
        status = int(str(end.code))
    said = capsys.readouterr()
    assert (status, said.out) == (2, "")
    assert said.err.startswith(complaint)
    assert said.err.count("\n") == 1


@pytest.mark.parametrize("kind", ["lab", "boxes"])
def test_consoles_are_for_an_emulated_lab_and_only_when_asked_for(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def running(*, consoles: bool) -> SimpleNamespace:
        asked.append(consoles)
        return SimpleNamespace(describe=lambda: SimpleNamespace(backend=kind))

    monkeypatch.setattr(real_lab, "RealLab", running)
    monkeypatch.setattr(lab_web, "show", lambda *_: 0)
    assert main(["lab", "web"]) == 0
    assert main(["lab", "web", "--consoles", "--bind", "::1"]) == (0 if kind == "lab" else 2)
    assert asked == [False, True]


def test_very_many_demands_are_planned_in_small_parts_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def planned(_topology: object, _demands: object, how: SolveOptions, *_: object, is_quick: bool) -> None:
        asked.append((how.partitions, is_quick))
        raise InputError("plan", "", "is not made", "nothing")

    monkeypatch.setattr(lab_web, "planned", planned)
    monkeypatch.setattr(lab_web, "_PAIRS_OF_A_PART", 3)
    monkeypatch.setattr(effort, "PAIRS_OF_ONE_PROGRAM", 4)
    assert main(["lab", "web", "gscale", "gscale"]) == 2
    assert asked == [(2, True)]


def test_without_the_packages_the_extra_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(additions, "is_installed", lambda module: module != "uvicorn")
    assert main(["lab", "web", "fig1", "fig1"]) == 2
    assert "pip install 'kuijia[web]'" in capsys.readouterr().err


@pytest.mark.parametrize("verb", [["up", "fig1", "fig1", "--web"], ["web"], ["replay", "."]])
def test_the_page_of_every_verb_can_be_made_to_show_only(verb: list[str]) -> None:
    parser = argparse.ArgumentParser()
    lab.configure(parser)
    assert parser.parse_args([*verb, "--view"]).view is True
    assert parser.parse_args(verb).view is False


@pytest.mark.parametrize("name", ["lab", "lab_1.example.net", "10.0.0.1", "::1", "2001:db8::1"])
def test_names_and_addresses_are_names_of_hosts(name: str) -> None:
    parser = argparse.ArgumentParser()
    lab_web.add_serving(parser)
    assert parser.parse_args(["--host-name", name]).host_name == [name]


def test_all_options_of_the_server_are_refused_where_nothing_is_served() -> None:
    parser = argparse.ArgumentParser(add_help=False)
    lab_web.add_serving(parser)
    defaults = vars(parser.parse_args([]))
    assert dict(lab_web._OF_SERVER.values()) == defaults


@pytest.mark.parametrize(("address", "warns"), [("127.0.0.1", False), ("::1", False), ("0.0.0.0", True)])  # noqa: S104  # nothing is bound
def test_an_address_that_others_reach_is_printed_with_what_it_means(
    address: str,
    warns: bool,  # noqa: FBT001  # a parameter
    capsys: pytest.CaptureFixture[str],
) -> None:
    _announcement(Namespace(json=False, bind=address), "gscale")(PageLink("127.0.0.1", 8400, "secret"))
    said = capsys.readouterr()
    assert said.out == "gscale: http://127.0.0.1:8400/#token=secret\n"
    assert ("note: --bind: anyone who can reach 0.0.0.0 and has the link" in said.err) == warns
    assert ("in clear text" in said.err) == warns
    _announcement(Namespace(json=False, bind=address), "gscale")(PageLink("127.0.0.1", 8400, "secret", "https"))
    said = capsys.readouterr()
    assert said.out == "gscale: https://127.0.0.1:8400/#token=secret\n"
    assert "in clear text" not in said.err
