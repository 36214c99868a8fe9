"""The alert rules, the dashboard and the configuration of Prometheus fit the metrics that our programs export."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
import yaml

from kuijia_app.framework.metrics.address import PageAddress
from kuijia_app.framework.metrics.server import MetricsServer
from kuijia_app.framework.metrics.tally import Tally
from tests.kuijia_app.dummy_switches import free_port, wait_until
from tests.metrics_of_programs import PROGRAMS, series_of

DEPLOY = Path(__file__).parents[2] / "deploy"
RULES = DEPLOY / "prometheus" / "kuijia.rules.yml"
CONFIGURATION = DEPLOY / "prometheus" / "prometheus.yml"
DASHBOARD = DEPLOY / "grafana" / "kuijia.json"

STANDARD = {"process_resident_memory_bytes", "process_start_time_seconds"}
"""Metrics of every process that has a page."""

needs_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool (Debian: prometheus)")
needs_prometheus = pytest.mark.skipif(shutil.which("prometheus") is None, reason="no prometheus (Debian: prometheus)")


def alerts() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(DASHBOARD.read_text())["panels"]
    return [panel for panel in found if panel["type"] != "row"]


def expressions() -> Iterator[str]:
    """Yield what alerts and panels ask Prometheus, without Grafana's variables."""
    for alert in alerts():
        yield alert["expr"]
    for panel in panels():
        for target in panel["targets"]:
            yield target["expr"].replace("$__rate_interval", "1m").replace("$instance", ".*")


def names_in(expression: str) -> set[str]:
    return set(re.findall(r"\b(?:kuijia|process)_[a-z_]+", expression))


@pytest.mark.parametrize("expression", list(expressions()))
def test_only_exported_metrics_are_asked_for(expression: str) -> None:
    exported = set.union(STANDARD, *map(series_of, PROGRAMS.values()))
    assert names_in(expression) <= exported
    assert names_in(expression) or expression.startswith("up{")


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_dashboard_shows_every_program(program: str) -> None:
    shown = set().union(*map(names_in, expressions()))
    assert len(shown & series_of(PROGRAMS[program])) >= 5


def test_labels_that_are_asked_for_exist() -> None:
    known = {label for metrics in PROGRAMS.values() for metric in metrics for label in metric.labels}
    words = " ".join([*expressions(), RULES.read_text(), DASHBOARD.read_text()])
    asked = set(re.findall(r"\{\{ ?\$labels\.(\w+)|\{\{(\w+)\}\}", words))
    assert {name for names in asked for name in names if name} <= known | {"instance", "job"}


def test_names_follow_the_conventions() -> None:
    for metrics in PROGRAMS.values():
        assert len({metric.name for metric in metrics}) == len(metrics)
        for metric in metrics:
            assert re.fullmatch(r"kuijia_[a-z]+(_[a-z]+)+", metric.name)
            assert metric.name.endswith("_total") == (metric.kind == "counter")
            assert metric.name.endswith("_seconds") or metric.kind != "histogram"
            assert not re.search("mbit|_ms|bits|milli", metric.name)
            assert metric.help.endswith(".")


@needs_promtool
def test_prometheus_accepts_the_files_and_every_expression(tmp_path: Path) -> None:
    asked = tmp_path / "asked.yml"
    rules = [{"record": f"panel:{number}", "expr": one} for number, one in enumerate(expressions())]
    asked.write_text(yaml.safe_dump({"groups": [{"name": "asked", "rules": rules}]}))
    for check in (["rules", str(RULES), str(asked)], ["config", str(CONFIGURATION)]):
        outcome = subprocess.run(["promtool", "check", *check], capture_output=True, text=True, check=False)
        assert outcome.returncode == 0, outcome.stdout + outcome.stderr


@needs_promtool
def test_alerts_fire_when_they_should_and_are_silent_otherwise(tmp_path: Path) -> None:
    cases = yaml.safe_load((Path(__file__).parent / "alerts.yaml").read_text())
    tried = {rule["alertname"] for case in cases["tests"] for rule in case["alert_rule_test"] if rule["exp_alerts"]}
    assert tried == {alert["alert"] for alert in alerts()}
    file = tmp_path / "alerts.yaml"
    file.write_text(yaml.safe_dump({"rule_files": [str(RULES)], **cases}))
    outcome = subprocess.run(["promtool", "test", "rules", str(file)], capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


def ask(port: int, path: str, **words: str) -> Any:  # noqa: ANN401  # JSON
    with urlopen(f"http://127.0.0.1:{port}/api/v1/{path}?{urlencode(words)}", timeout=10) as answer:
        return json.load(answer)["data"]


def filled(program: str) -> Tally:
    """Return a tally of a program in which every metric has a value."""
    tally = Tally(PROGRAMS[program])
    for metric in tally.metrics:
        labels = [f"some {label}" for label in metric.labels]
        if metric.kind == "histogram":
            tally.observe(metric.name, 0.5, *labels)
        else:
            tally.set(metric.name, 1, *labels)
    return tally


@needs_prometheus
def test_prometheus_scrapes_every_metric_of_every_program(tmp_path: Path) -> None:
    configuration = yaml.safe_load(CONFIGURATION.read_text())
    configuration["global"] = {"scrape_interval": "100ms", "evaluation_interval": "100ms"}
    configuration["rule_files"] = [str(RULES)]
    port = free_port()
    with ExitStack() as stack:
        for job in configuration["scrape_configs"]:
            server = MetricsServer(PageAddress(0), filled(job["job_name"].removeprefix("kuijia-")))
            stack.callback(server.close)
            server.start()
            job["static_configs"][0]["targets"] = [f"127.0.0.1:{server.port}"]
        file = tmp_path / "prometheus.yml"
        file.write_text(yaml.safe_dump(configuration))
        log = stack.enter_context((tmp_path / "log").open("wb"))
        options = [f"--config.file={file}", f"--storage.tsdb.path={tmp_path / 'data'}"]
        options += [f"--web.listen-address=127.0.0.1:{port}"]
        prometheus = subprocess.Popen(["prometheus", *options], stdout=log, stderr=log)
        stack.callback(prometheus.wait)
        stack.callback(prometheus.kill)

        def has_scraped() -> bool:
            try:
                up = ask(port, "query", query="up")["result"]
            except (URLError, OSError):  # it is starting
                return False
            return len(up) == len(PROGRAMS) and all(each["value"][1] == "1" for each in up)

        wait_until(has_scraped, "Prometheus has scraped all programs")
        found = set(ask(port, "label/__name__/values"))
        groups = ask(port, "rules")["groups"]
        units = ask(port, "query", query="kuijia_boxes_queue_sent_bytes_total")["result"]
    assert found >= set.union(STANDARD, *map(series_of, PROGRAMS.values()))
    assert {rule["name"] for group in groups for rule in group["rules"]} == {alert["alert"] for alert in alerts()}
    assert units[0]["metric"]["queue"] == "some queue"
