"""The published schemas describe what our readers take: examples of pages and of the repository, and nothing wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from kuijia_app.tables.queue_layout_file import load_layout
from kuijia_app.tables.queue_layouts import named_layout
from kuijia_app.tables.stated_wiring import Mask, StatedWiring, stated
from kuijia_app.tables.wiring import Wiring
from kuijia_app.tables.wiring_file import load_wiring, wiring_text, wiring_to_json
from kuijia_base.errors import InputError
from te_solver.formats.topology_file import load_topology
from te_solver.networks import shipped_names, shipped_network
from testbed.boxes.inventory import read_inventory
from tests.docs.schemas import SCHEMAS, validator
from tests.kuijia_app.tables.test_shared_ports import shared
from tests.kuijia_app.tables.test_tagged_hosts import tagged

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "tests" / "fuzz" / "examples"


def example_of(page: str, beginning: str) -> str:
    """Return the YAML block of a page that begins so."""
    blocks: list[str] = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / page).read_text(), re.DOTALL)
    (found,) = [block for block in blocks if block.startswith(beginning)]
    return found


def faults(name: str, text: str) -> list[str]:
    return [error.message for error in validator(name).iter_errors(yaml.safe_load(text))]


def test_each_schema_is_one_and_has_an_id_of_its_own() -> None:
    documents = [json.loads(path.read_text()) for path in SCHEMAS.glob("*.schema.json")]
    for document in documents:
        Draft202012Validator.check_schema(document)
    assert sorted(document["$id"] for document in documents) == [
        f"urn:kuijia:schema:{name}:1" for name in ("inventory", "layout", "output", "whatif", "wiring")
    ]


def test_wirings_fit_their_schema(tmp_path: Path) -> None:
    shown = example_of("wiring.md", "version: 1\nswitches:\n  s1:  ")
    (tmp_path / "wiring.yaml").write_text(shown)
    load_wiring(tmp_path / "wiring.yaml")
    assert faults("wiring", shown) == []
    assert faults("wiring", (EXAMPLES / "wiring.yaml").read_text()) == []
    for name in shipped_names():
        wiring = stated(Wiring(load_topology(shipped_network(name))))
        wiring = StatedWiring(name, wiring.switches, (Mask(7 << 60, 15 << 60),))
        assert list(validator("wiring").iter_errors(wiring_to_json(wiring))) == []
        assert yaml.safe_load(wiring_text(wiring)) == wiring_to_json(wiring)
    for wiring in (shared(gateways=True), tagged("s1")):
        assert list(validator("wiring").iter_errors(wiring_to_json(wiring))) == []


def test_inventories_fit_their_schema(tmp_path: Path) -> None:
    assert faults("inventory", (EXAMPLES / "inventory.yaml").read_text()) == []
    shown = example_of("boxes.md", "controller: {address")
    assert faults("inventory", shown) == []
    without_host = re.sub(r"    host: .*\n", "", shown)
    (tmp_path / "lab.yaml").write_text(without_host.replace("key: lab_key, ", ""))
    with pytest.raises(InputError, match="no switch 's1' has an interface to a host"):
        read_inventory(tmp_path / "lab.yaml")


def test_layouts_fit_their_schema(tmp_path: Path) -> None:
    for text in ((EXAMPLES / "layout.yaml").read_text(), example_of("data_plane.md", "name: mine")):
        (tmp_path / "layout.yaml").write_text(text)
        load_layout(tmp_path / "layout.yaml")
        assert faults("layout", text) == []


def test_layouts_with_classifiers_fit_their_schema(tmp_path: Path) -> None:
    shown = example_of("data_plane.md", "base: four")
    (tmp_path / "layout.yaml").write_text(shown)
    assert len(named_layout(str(tmp_path / "layout.yaml")).classifiers.rules) == 4
    assert faults("layout", shown) == []
    everything, too_large = "classifiers: [{class: 0}]", "classifiers: [{class: 0, dscp: 64}]"
    for wrong in ("control: high", "classifiers: []", everything, too_large):
        text = f"base: four\n{wrong}\n"
        assert faults("layout", text)
        (tmp_path / "layout.yaml").write_text(text)
        with pytest.raises(InputError):
            named_layout(str(tmp_path / "layout.yaml"))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("wiring", {"version": 2}),
        ("wiring", {"other": 1}),
        ("wiring", {"switches": {"a": {"datapath_id": "xyz", "links": {}}}}),
        ("wiring", {"switches": {"a": {"datapath_id": 1, "links": {"b": 0}}}}),
        ("wiring", {"switches": {"a": {"datapath_id": 1, "links": {}, "host": {"port": 1, "prefixes": []}}}}),
        ("inventory", {"controller": {}}),
        ("inventory", {"controller": {"address": "0::0"}}),
        ("inventory", {"ssh": {"port": 0}}),
        ("layout", {"queues": []}),
        ("layout", {"classes": [{"priority": 0, "normal": "data"}]}),
    ],
)
def test_what_readers_refuse_the_schema_refuses(name: str, change: dict[str, Any], tmp_path: Path) -> None:
    data = yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text()) | change
    assert list(validator(name).iter_errors(data))
    path = tmp_path / "changed.yaml"
    path.write_text(json.dumps(data))
    read = {"wiring": load_wiring, "inventory": read_inventory, "layout": load_layout}[name]
    with pytest.raises(InputError):
        read(path)
