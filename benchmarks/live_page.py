"""The live lab's page in a browser, with 100 nodes, few or many links, one or two views, at five states a second."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from benchmarks.live_lab import processor_seconds
from benchmarks.registry import BenchmarkSetting, Comparison, benchmark, goal
from kuijia_base.errors import InputError, KuijiaError

_CASES = tuple((schemes, is_dense) for is_dense in (False, True) for schemes in (("kuijia",), ("kuijia", "rescaling")))
"""Schemes that are shown, and True for many links."""

_SETTLE, _SECONDS = 3.0, 20.0
_STATES = 5.0
_PATIENCE = 300.0
_GOAL = 30.0

_COUNT_SHOWN = """
window.shown = 0;
new MutationObserver(() => { window.shown += 1; })
  .observe(document.querySelector("[data-role=untouched] dd"), { childList: true, characterData: true, subtree: true });
"""
_READ_ONLY = """
token => {
  window.shown = 0;
  fetch("/api/events", { headers: { Authorization: `Bearer ${token}` } }).then(async ({ body }) => {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (true) {
      text += (await reader.read()).value ?? "";
      const events = text.split("\\n\\n");
      text = events.pop();
      for (const event of events) {
        const data = event.split("\\n").find((line) => line.startsWith("data: "));
        if (data && JSON.parse(data.slice(6)).views) window.shown += 1;
      }
    }
  });
}
"""


@benchmark("live-page")
def live_page(setting: BenchmarkSetting) -> Iterator[Comparison]:
    for schemes, is_dense in _CASES:
        shape = "many links" if is_dense else "few links"
        setting.progress.show(f"{shape}, {len(schemes)} views")
        child = f"from benchmarks.live_lab import show; show(*{schemes!r}, is_dense={is_dense})"
        with subprocess.Popen([sys.executable, "-c", child], stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout is not None
                yield _compared(server.pid, json.loads(server.stdout.readline()), f"{shape}, views: {len(schemes)}")
            finally:
                server.terminate()


def _compared(server: int, said: dict[str, str], case: str) -> Comparison:
    page, browser, serving, states = _watched(server, said, reads_only=False)
    reading, _, _, read = _watched(server, said, reads_only=True)
    to_five = _STATES / max(states, 1e-9)  # that fewer states are shown must not help
    met = max(page, serving) * to_five < _GOAL
    detail = {
        "problem": f"100 nodes, 150 demands, every load another one in each state, {case}, {_SECONDS:g} s",
        "states a second shown": states,
        "states a second read by the peer": read,
        "% of a core of all processes of the browser": browser,
        "% of a core of the server": serving,
        "% of a core of the page for five states": page * to_five,
        "% of a core of the server for five states": serving * to_five,
        "goals": [goal(f"page and server under {_GOAL:g} % of a core each for five states a second", met=met)],
    }
    return Comparison(page, reading, "a page that reads the states and shows nothing", "% of a core", detail)


def _watched(server: int, said: dict[str, str], *, reads_only: bool) -> tuple[float, float, float, float]:
    """Return percents of a core of the page's process, of the browser and of the server, and states shown a second."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise InputError("bench", "live-page", "there is no Chromium", "the Debian package chromium")
    # Not installed everywhere.
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  # see above

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch_persistent_context(
            folder, executable_path=chromium, args=["--no-sandbox"], viewport={"width": 1280, "height": 900}
        )
        try:
            page = browser.new_page()
            page.set_default_timeout(1000 * _PATIENCE)
            if reads_only:
                _open(page, document_of(said))
                page.evaluate(_READ_ONLY, said["token"])
            else:
                _open(page, page_of(said))
                page.locator("tr[data-link] td.state:not(:empty)").first.wait_for()
                page.evaluate(_COUNT_SHOWN)
            page.wait_for_timeout(1000 * _SETTLE)
            return _measured(page, folder, server)
        finally:
            browser.close()


def page_of(said: dict[str, str]) -> str:
    """Return the address of the page, with the token, given what `show` prints."""
    return urljoin(said["server"], f"#token={said['token']}")


def document_of(said: dict[str, str]) -> str:
    """Return an address of the same origin that shows no page."""
    return urljoin(said["server"], "openapi.json")


def _open(page: Any, address: str) -> None:  # noqa: ANN401  # of Playwright
    answer = page.goto(address)
    if not answer.ok:
        raise KuijiaError(f"the server of the page answers {answer.status}")


def _measured(page: Any, folder: str, server: int) -> tuple[float, float, float, float]:  # noqa: ANN401  # of Playwright
    processes = _processes_of(folder)
    pages = [pid for pid, command in processes.items() if "--type=renderer" in command]
    before, shown, started = _used([*processes, server]), page.evaluate("window.shown"), time.perf_counter()
    page.wait_for_timeout(1000 * _SECONDS)
    after, more, seconds = _used(before), page.evaluate("window.shown"), time.perf_counter() - started
    percent = {pid: 100 * (after[pid] - before[pid]) / seconds for pid in after}
    busiest = max(percent[pid] for pid in pages)
    return busiest, sum(percent.values()) - percent[server], percent[server], (more - shown) / seconds


def _processes_of(folder: str) -> dict[int, str]:
    """Return the processes of the browser with a folder for its data, with their command lines."""
    parents: dict[int, int] = {}
    commands: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            pid = int(entry.name)
            parents[pid] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            commands[pid] = (entry / "cmdline").read_text().replace("\0", " ")
    roots = {pid for pid, command in commands.items() if f"--user-data-dir={folder}" in command}

    def is_of_browser(pid: int) -> bool:
        return pid in roots or (pid in parents and is_of_browser(parents[pid]))

    return {pid: command for pid, command in commands.items() if is_of_browser(pid)}


def _used(pids: Iterable[int]) -> dict[int, float]:
    found = {}
    for pid in pids:
        with suppress(OSError):
            found[pid] = processor_seconds(pid)
    return found
