"""The dashboard has no key and no value that Grafana's own schema, of its Foundation SDK, does not know."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

REASON = "grafana-foundation-sdk is not installed"
dashboards = pytest.importorskip("grafana_foundation_sdk.models.dashboard", reason=REASON)
encoder = pytest.importorskip("grafana_foundation_sdk.cog.encoder", reason=REASON)
plugins = pytest.importorskip("grafana_foundation_sdk.cog.plugins", reason=REASON)

DASHBOARD = Path(__file__).parents[2] / "deploy" / "grafana" / "kuijia.json"


def lost(data: Any, kept: Any, place: str = "") -> Iterator[str]:  # noqa: ANN401  # any part of a document
    """Yield the places where a document has more, or something else, than what a model kept of it."""
    if isinstance(data, dict) and isinstance(kept, dict):
        for key, value in data.items():
            if key in kept:
                yield from lost(value, kept[key], f"{place}.{key}")
            else:
                yield f"{place}.{key}"
    elif isinstance(data, list) and isinstance(kept, list) and len(data) == len(kept):
        for number, (value, other) in enumerate(zip(data, kept, strict=True)):
            yield from lost(value, other, f"{place}[{number}]")
    elif data != kept:
        yield place


def read_by_grafana(data: dict[str, Any]) -> Any:  # noqa: ANN401  # JSON
    plugins.register_default_plugins()
    return json.loads(encoder.JSONEncoder().encode(dashboards.Dashboard.from_json(data)))


def test_grafana_knows_every_key_of_the_dashboard() -> None:
    data = json.loads(DASHBOARD.read_text())
    assert list(lost(data, read_by_grafana(data))) == []


def test_what_grafana_does_not_know_is_noticed() -> None:
    data = json.loads(DASHBOARD.read_text())
    data["pannels"] = []
    panel = next(panel for panel in data["panels"] if panel["type"] == "timeseries")
    panel["fieldConfig"]["defaults"]["minn"] = 0
    place = f".panels[{data['panels'].index(panel)}].fieldConfig.defaults.minn"
    assert set(lost(data, read_by_grafana(data))) == {".pannels", place}
