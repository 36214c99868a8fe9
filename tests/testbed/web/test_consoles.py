"""Commands on hosts from the page: what they write, how they end, and what is refused; a stub stands for `mnexec`."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

for module in ("httpx", "starlette", "uvicorn"):
    pytest.importorskip(module, reason=f"no {module}, which ./run test installs")

from starlette.testclient import TestClient  # noqa: E402  # may be missing

from kuijia_base.errors import KuijiaError  # noqa: E402
from testbed.machine.processes import end_processes_with_environment, processes_with_environment  # noqa: E402
from testbed.machine.run_directory import LAB_VARIABLE  # noqa: E402
from testbed.web import consoles  # noqa: E402
from testbed.web.backend import Action, Description, RunCommand  # noqa: E402
from testbed.web.consoles import MOST_AT_ONCE, Console, words_of  # noqa: E402
from tests.testbed.web.memory_backend import MemoryBackend  # noqa: E402
from tests.testbed.web.serving import served  # noqa: E402

LAB = "7-console-test"
HOST = {"lab": LAB, "namespace_pid": 4711}
PATIENCE = 20.0
ENDLESS = "sh -c 'echo begun; sleep 1000 & setsid sleep 1000 & wait'"
"""Starts a program in a session of its own, too."""


class WithHosts(MemoryBackend):
    """Says where hosts are, and remembers the commands."""

    def __init__(self) -> None:
        super().__init__()
        self.commands: list[RunCommand] = []

    def describe(self) -> Description:
        described = super().describe()
        return replace(described, actions=(*described.actions, "console"))

    def act(self, action: Action) -> dict[str, Any]:
        if isinstance(action, RunCommand):
            self.commands.append(action)
            return HOST
        return super().act(action)


@pytest.fixture(autouse=True)
def mnexec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put a program in the place of Mininet's that does not enter a namespace."""
    stub = tmp_path / "mnexec"
    stub.write_text('#!/bin/sh\n[ "$1 $2" = "-a 4711" ] || exit 9\nshift 2\nexec "$@"\n')
    stub.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    yield
    end_processes_with_environment(f"{LAB_VARIABLE}={LAB}", 0.0)


def events_in(text: str) -> list[tuple[str, dict[str, Any]]]:
    blocks = [dict(line.split(": ", 1) for line in block.split("\n")) for block in text.strip().split("\n\n")]
    return [(block["event"], json.loads(block["data"])) for block in blocks]


def written(events: list[tuple[str, dict[str, Any]]]) -> str:
    return "".join(data["text"] for kind, data in events if kind == "output")


def run(line: str, **limits: Any) -> list[tuple[str, dict[str, Any]]]:  # noqa: ANN401  # those of `Console.start`
    async def all_of_it() -> str:
        console = await Console.start(words_of(line), HOST, **limits)
        try:
            return b"".join([chunk async for chunk in console.chunks()]).decode()
        finally:
            await console.close()

    return events_in(asyncio.run(all_of_it()))


def until_none_runs() -> None:
    deadline = time.monotonic() + PATIENCE
    while running():
        assert time.monotonic() < deadline, running()


def running() -> list[int]:
    return processes_with_environment(f"{LAB_VARIABLE}={LAB}")


@pytest.fixture
def backend() -> WithHosts:
    return WithHosts()


@pytest.fixture
def client(backend: WithHosts) -> Iterator[TestClient]:
    with served(backend) as client:
        yield client


def test_a_command_runs_on_its_host_and_its_output_is_answered(client: TestClient, backend: WithHosts) -> None:
    line = "sh -c 'echo \"a  b\"; echo wrong >&2; exit 3'"
    answer = client.post("/api/console", json={"node": "s1", "command": line})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/event-stream"
    events = events_in(answer.text)
    assert written(events) == "a  b\nwrong\n"
    assert events[-1] == ("end", {"status": 3, "reason": ""})
    assert backend.commands == [RunCommand("s1", line)]


def test_text_that_is_cut_between_reads_is_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consoles, "_CHUNK", 3)
    assert written(run("printf 'ä€ü\\377x'")) == "ä€ü\ufffdx"


def test_a_command_without_an_end_is_ended_with_all_it_has_started() -> None:
    events = run(ENDLESS, seconds=1.0)
    assert written(events) == "begun\n"
    assert events[-1] == ("end", {"status": None, "reason": "ended after 1 s"})
    until_none_runs()


def test_a_command_that_takes_its_mark_away_is_ended() -> None:
    pid = written(run("env -i sh -c 'echo $$; exec sleep 1000'", seconds=1.0)).strip()
    assert pid
    assert not Path("/proc", pid).exists()


def test_a_program_that_closes_its_output_is_ended_in_time_too() -> None:
    assert run("sh -c 'exec >&- 2>&-; sleep 1000'", seconds=0.5)[-1][1]["reason"] == "ended after 0.5 s"
    until_none_runs()


def test_endless_output_is_cut_off() -> None:
    events = run("yes", most=100_000)
    assert len(written(events)) == 100_000
    assert events[-1][1]["reason"] == "ended after 100000 bytes of output"
    until_none_runs()


def test_input_is_at_its_end() -> None:
    assert run("cat") == [("end", {"status": 0, "reason": ""})]


def test_a_reader_who_leaves_ends_the_command(backend: WithHosts) -> None:
    from tests.testbed.web.browsing import serving  # noqa: PLC0415  # needs Playwright

    request = {"node": "s1", "command": ENDLESS}
    with serving(backend) as server:
        for _ in range(MOST_AT_ONCE + 1):  # each gives its place back
            with server.client.stream("POST", "/api/console", json=request) as answer:
                lines = answer.iter_lines()
                assert next(lines) == "event: output"
                assert running()
            until_none_runs()


def test_commands_that_are_too_many_are_refused_and_end_with_the_server(backend: WithHosts) -> None:
    from tests.testbed.web.browsing import serving  # noqa: PLC0415  # needs Playwright

    request = {"node": "s1", "command": ENDLESS}
    with ExitStack() as streams, serving(backend) as server:
        answers = [
            streams.enter_context(server.client.stream("POST", "/api/console", json=request)).iter_lines()
            for _ in range(MOST_AT_ONCE)
        ]
        assert {next(lines) for lines in answers} == {"event: output"}
        refused = server.client.post("/api/console", json=request)
        assert refused.status_code == 429
        assert server.client.patch("/api/links/s1~s3", json={"up": False}).status_code == 200
    until_none_runs()


def test_the_end_of_the_lab_ends_a_command(backend: WithHosts) -> None:
    from tests.testbed.web.browsing import serving  # noqa: PLC0415  # needs Playwright

    with (
        serving(backend) as server,
        server.client.stream("POST", "/api/console", json={"node": "s1", "command": ENDLESS}) as answer,
    ):
        lines = answer.iter_lines()
        assert next(lines) == "event: output"
        end_processes_with_environment(f"{LAB_VARIABLE}={LAB}", 0.0)  # as a lab does that goes down
        assert list(lines)[-3] == "event: end"


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        ({"node": "s1", "command": ""}, 422, "request:command: no command is given, expected one, such as"),
        ({"node": "s1", "command": "echo 'a"}, 422, "request:command: a quotation without its end"),
        ({"node": "s1", "command": "no-such-program"}, 422, "lab:no-such-program: no such program"),
        ({"node": "s1", "command": "echo " + 1000 * "x"}, 422, "request:command: its length is 1005"),
        ({"node": "s1", "command": "echo a\necho b"}, 422, "request:command: found"),
        ({"node": "s1"}, 422, "request: there is no command"),
    ],
)
def test_what_is_no_command_is_refused(client: TestClient, body: dict[str, str], status: int, error: str) -> None:
    refused = client.post("/api/console", json=body)
    assert refused.status_code == status
    assert refused.json()["error"].startswith(error)
    assert running() == []


def test_what_the_lab_refuses_is_not_run(client: TestClient, backend: WithHosts) -> None:
    def act(action: Action) -> dict[str, Any]:
        raise KuijiaError(f"no host {action}")

    backend.act = act  # type: ignore[method-assign]
    for _ in range(MOST_AT_ONCE + 1):
        assert client.post("/api/console", json={"node": "s9", "command": "true"}).status_code == 409


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"authorization": "Bearer wrong"}, 401),
        ({"origin": "http://evil.example"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"host": "evil.example"}, 421),
        ({"content-type": "text/plain"}, 415),
    ],
)
def test_pages_from_elsewhere_run_nothing(
    client: TestClient, backend: WithHosts, headers: dict[str, str], status: int
) -> None:
    body = json.dumps({"node": "s1", "command": "true"}).encode()
    given = {"content-type": "application/json", **headers}
    assert client.post("/api/console", content=body, headers=given).status_code == status
    assert backend.commands == []


def test_only_backends_with_consoles_and_servers_that_act_run_commands(backend: WithHosts) -> None:
    request = {"node": "s1", "command": "true"}
    with served(MemoryBackend()) as client:
        assert client.post("/api/console", json=request).status_code == 409
    with served(backend, view_only=True) as client:
        assert client.post("/api/console", json=request).status_code == 403
    assert backend.commands == []


@pytest.mark.skipif(shutil.which("chromium") is None, reason="Chromium is not installed (Debian package chromium)")
def test_the_page_has_a_console_that_ends_its_command_when_it_is_closed(backend: WithHosts) -> None:
    from tests.testbed.web.browsing import browsing, serving, visiting  # noqa: PLC0415  # needs Playwright

    chromium = shutil.which("chromium")
    assert chromium is not None
    with browsing(chromium) as browser, serving(backend) as server, visiting(browser, server.url) as visit:
        visit.page.get_by_role("button", name="Console…", exact=True).click()
        dialog = visit.page.locator("dialog[open]")
        dialog.get_by_label("Host").select_option("s2")
        dialog.get_by_label("Command").fill("sh -c 'echo \"<b>here</b>\"; exit 4'")
        dialog.get_by_label("Command").press("Enter")
        expected = "s2$ sh -c 'echo \"<b>here</b>\"; exit 4'\n<b>here</b>\n[exit status 4]\n"
        visit.wait("text => document.querySelector('.output').textContent === text", expected)
        assert backend.commands[-1].node == "s2"
        for end in ("Stop", "Close"):
            dialog.get_by_label("Command").fill(ENDLESS)
            dialog.get_by_role("button", name="Run").click()
            visit.wait("() => document.querySelector('.output').textContent.trim().endsWith('begun')")
            dialog.get_by_role("button", name=end).click()
            until_none_runs()
        visit.page.get_by_role("button", name="Console…", exact=True).click()
        dialog.get_by_label("Command").fill("no-such-program")
        dialog.get_by_role("button", name="Run").click()
        dialog.locator(".problem", has_text="no such program").wait_for()
