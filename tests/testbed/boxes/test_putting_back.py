"""A failure on one box, of any kind, keeps no other from being restored, and all failures are reported."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from kuijia_base.errors import TestbedError
from testbed.boxes import fleet as fleet_module
from testbed.boxes.fleet import Fleet
from testbed.boxes.inventory import Login, read_inventory
from testbed.boxes.ssh import BoxError, DeadBoxError

INVENTORY = """\
controller: {address: 192.0.2.1}
switches:
  - {node: a, address: 192.0.2.11, management: mgmt, links: {b: east}, host: south}
  - {node: b, address: 192.0.2.12, management: mgmt, links: {a: west}}
hosts:
  - {node: a, address: 192.0.2.21, management: mgmt, interface: north}
"""


class FakeConnection:
    """A box that fails in `ways`: its name to the error instead of a connection, or an action to its error."""

    ways: ClassVar[Mapping[str, Mapping[str, object]]] = {}
    done: ClassVar[list[tuple[str, str]]] = []

    def __init__(self, name: str, login: Login) -> None:  # noqa: ARG002 - as that of SSH
        self.name = name
        self._orders: list[str] = []
        if "connect" in self.ways.get(name, {}):
            raise DeadBoxError(f"{name} cannot be reached")

    def begin(self, action: str, /, **arguments: object) -> int:  # noqa: ARG002 - as that of SSH
        self._orders.append(action)
        return len(self._orders)

    def result(self, order: int, seconds: float) -> Any:  # noqa: ANN401, ARG002 - as that of SSH
        action = self._orders[order - 1]
        way = self.ways.get(self.name, {}).get(action)
        if isinstance(way, str):
            raise BoxError(f"{self.name}: {way}")
        self.done.append((self.name, action))
        return way if way is not None else []

    def close(self) -> None:
        """Do nothing: nothing is open."""


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    path = tmp_path / "inventory.yaml"
    path.write_text(INVENTORY)
    monkeypatch.setattr(fleet_module, "SshConnection", FakeConnection)
    monkeypatch.setattr(FakeConnection, "done", [])
    return Fleet(read_inventory(path))


def put_back_on() -> list[str]:
    return [name for name, action in FakeConnection.done if action == "put_back"]


def fail(monkeypatch: pytest.MonkeyPatch, **ways: Mapping[str, object]) -> None:
    """Make boxes fail; their names are written with an underscore."""
    monkeypatch.setattr(FakeConnection, "ways", {name.replace("_", " "): way for name, way in ways.items()})


def test_a_box_that_cannot_be_claimed_is_left_alone_and_the_others_are_put_back(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail(monkeypatch, switch_a={"claim": "Read-only file system"})
    fleet.connect()
    with pytest.raises(TestbedError, match=r"^switch a: Read-only file system$"):
        fleet.put_back()
    assert put_back_on() == ["switch b", "host a"]


def test_all_that_went_wrong_is_said_of_all_boxes(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    fail(monkeypatch, switch_a={"connect": True}, switch_b={"put_back": "gone"}, host_a={"put_back": ["mtu", "queues"]})
    fleet.connect()
    with pytest.raises(TestbedError) as caught:
        fleet.put_back()
    assert str(caught.value) == "switch a cannot be reached; switch b: gone; host a: mtu; host a: queues"


def test_after_a_run_every_box_that_is_not_put_back_is_told_of(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    fail(monkeypatch, switch_a={"put_back": "gone"}, host_a={"put_back": ["mtu"]})
    fleet.connect()
    said: list[str] = []
    fleet.put_back_what_answers(said.append)
    assert said == [
        "host a is not put back, `kuijia boxes down` does it later: mtu",
        "switch a is not put back, `kuijia boxes down` does it later: switch a: gone",
    ]
    assert put_back_on() == ["switch b", "host a"]
