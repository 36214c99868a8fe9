from __future__ import annotations

import sys

import pytest

from kuijia_base.errors import InputError
from te_solver.formats.demands_file import load_demands
from te_solver.formats.topology_file import load_topology


@pytest.mark.parametrize(
    ("key", "nodes", "edges"),
    [
        ("topozoo/Abilene", 11, 14),
        ("topozoo/TataNld", 143, 181),
        ("sndlib/polska", 12, 18),
        ("gabriel/25/0", 25, 40),
    ],
)
def test_networks_are_found_by_name(key: str, nodes: int, edges: int) -> None:
    notes: list[str] = []
    topology = load_topology(f"topohub:{key}", default_capacity=250, note=notes.append)
    assert topology.name == key.rpartition("/")[2]
    assert (len(topology.nodes), len(topology.edges)) == (nodes, edges)
    assert {link.capacity for link in topology.links} == {250}
    assert all(0 <= link.delay < 0.1 for link in topology.links)
    assert f"{edges} of {edges} edges without a capacity: 250 Mbit/s assumed" in notes


def test_a_delay_is_that_of_the_length_in_fibre() -> None:
    topology = load_topology("topohub:topozoo/Abilene")
    # About 1,150 km on the map.
    assert topology.link("New York", "Chicago").delay == pytest.approx(1150 / 200_000, rel=0.02)


def test_networks_of_sndlib_come_with_demands() -> None:
    topology = load_topology("topohub:sndlib/polska")
    demands = load_demands("topohub:sndlib/polska", topology)
    assert len(demands) == 66
    assert {demand.source for demand in demands} <= set(topology.nodes)


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("topozoo/abilen", "topohub has no network of this name, expected topozoo/Abilene"),
        ("zoo/x", "topohub has no network of this name, expected one such as topozoo/Abilene or sndlib/polska"),
        ("Abilene", "not the name of a network of topohub, expected one such as topozoo/Abilene or sndlib/polska"),
        ("../data/topozoo/Abilene", "not the name of a network of topohub, expected one such as topozoo/Abilene"),
        ("/etc/passwd", "not the name of a network of topohub, expected one such as topozoo/Abilene"),
        ("", "not the name of a network of topohub, expected one such as topozoo/Abilene"),
    ],
)
def test_another_name_is_refused(key: str, said: str) -> None:
    with pytest.raises(InputError) as raised:
        load_topology(f"topohub:{key}")
    assert str(raised.value).startswith(f"topohub:{key}: {said}")


def test_networks_without_demands_say_so() -> None:
    with pytest.raises(InputError) as raised:
        load_demands("topohub:topozoo/Abilene", load_topology("topohub:topozoo/Abilene"))
    assert str(raised.value) == (
        "topohub:topozoo/Abilene: topohub has no demands for this network, "
        "expected a network of SNDlib, or a demand file"
    )


def test_demands_of_another_network_are_refused() -> None:
    with pytest.raises(InputError) as raised:
        load_demands("topohub:sndlib/polska", load_topology("topohub:topozoo/Abilene"))
    assert "unknown node" in str(raised.value)


def test_without_the_package_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "topohub", None)
    with pytest.raises(InputError) as raised:
        load_topology("topohub:topozoo/Abilene")
    assert str(raised.value) == (
        "topohub:topozoo/Abilene: the package topohub is not installed, "
        "expected it, which `pip install 'kuijia[networks]'` brings"
    )
