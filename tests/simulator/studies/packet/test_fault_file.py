"""Files of faults: what they say is simulated, and every mistake in them is one line with its place."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from kuijia_base.errors import InputError
from simulator.packet.faults import BlackHole, RandomDrop, cables
from simulator.packet.queues import Fifo
from simulator.packet.scenario import Outage
from simulator.packet.topologies import LeafSpine
from simulator.studies.packet.fault_file import FaultyNetwork, read_faults
from simulator.studies.packet.networks import LinkParameters, generated, node_names

START = {"format": "kuijia-faults", "version": 1}
NETWORK = generated("leaf-spine:2,2,2", LinkParameters())
NAMES = node_names(NETWORK, None)
H0, H2, LEAF, SPINE = NAMES.index("h0"), NAMES.index("h2"), NAMES.index("s0"), NAMES.index("s3")


def read(tmp_path: Path, text: str) -> FaultyNetwork:
    path = tmp_path / "faults.json"
    path.write_text(text, encoding="utf-8")
    return read_faults(path, NETWORK, NAMES)


def test_a_file_without_faults_changes_nothing(tmp_path: Path) -> None:
    faults = read(tmp_path, json.dumps(START))
    assert (faults.outages, faults.switches) == ((), ())
    assert faults.network.links == NETWORK.links


@pytest.mark.parametrize(("rate", "mbits"), [(0.5, 0.5), ("2G", 2000), ("500 kbit/s", 0.5)])
def test_the_rate_of_a_slow_cable_may_have_a_unit(tmp_path: Path, rate: object, mbits: float) -> None:
    faults = read(tmp_path, json.dumps({**START, "slow_cables": [{"between": ["s0", "s3"], "rate": rate}]}))
    both_ways = cables(NETWORK, LEAF, SPINE)[0]
    assert [faults.network.links[link].rate for link in both_ways] == [mbits, mbits]


def test_all_kinds_of_faults_are_read(tmp_path: Path) -> None:
    data = {
        **START,
        "random_drops": [{"switch": "s3", "probability": 0.02}, {"switch": "s0", "probability": 1, "begins": 0.5}],
        "black_holes": [{"switch": "s3", "pairs": [["h0", "h2"], ["h2", "h0"]], "begins": 1, "ends": 2.5}],
        "cut_cables": [
            {"between": ["s0", "s3"]},
            {"between": ["s3", "s1"], "begins": 1, "ends": 2, "detected": 0.001},
        ],
        "slow_cables": [{"between": ["s0", "s2"], "rate": 2000}],
    }
    faults = read(tmp_path, json.dumps(data))
    assert faults.switches == (
        RandomDrop(SPINE, 0.02, 0, math.inf),
        RandomDrop(LEAF, 1, 0.5, math.inf),
        BlackHole(SPINE, ((H0, H2), (H2, H0)), 1, 2.5),
    )
    (there, back), (down, up) = cables(NETWORK, LEAF, SPINE)[0], cables(NETWORK, SPINE, NAMES.index("s1"))[0]
    assert faults.outages == (
        Outage(there, 0),
        Outage(back, 0),
        Outage(down, 1, 0.001, 2),
        Outage(up, 1, 0.001, 2),
    )
    slow = [link for link in faults.network.links if link.rate == 2000]
    assert [(NAMES[link.source], NAMES[link.target]) for link in slow] == [("s0", "s2"), ("s2", "s0")]


def test_a_cable_that_is_whole_again_may_be_cut_again(tmp_path: Path) -> None:
    between = {"between": ["s0", "s3"]}
    cuts = [{**between, "begins": 2}, {**between, "ends": 1}, {**between, "begins": 1, "ends": 2}]
    faults = read(tmp_path, json.dumps({**START, "cut_cables": cuts}))
    assert [(outage.fails, outage.heals) for outage in faults.outages[::2]] == [(2, math.inf), (0, 1), (1, 2)]


def test_one_of_parallel_cables_is_chosen_by_its_number(tmp_path: Path) -> None:
    network = LeafSpine(2, 2, 2, 1000.0, 1000.0, 0.0, cables=3).network(Fifo())
    path = tmp_path / "faults.json"
    for chosen, cut in (({}, 3), ({"cable": 2}, 1)):
        path.write_text(json.dumps({**START, "cut_cables": [{"between": ["s0", "s3"], **chosen}]}), encoding="utf-8")
        links = [outage.link for outage in read_faults(path, network, NAMES).outages]
        assert links == [link for cable in cables(network, LEAF, SPINE)[-cut:] for link in cable]


@pytest.mark.parametrize(
    ("faults", "message"),
    [
        ("[]", "faults.json: found a list of 0, expected an object"),
        ("{", "faults.json:1: malformed JSON"),
        ('{"format": "x", "version": 1}', "format: found 'x', expected \"kuijia-faults\""),
        ('{"format": "kuijia-faults"}', "there is no version"),
        ('{"format": "kuijia-faults", "version": true}', "version: found true, expected 1"),
        ({"droops": []}, "unknown key 'droops', expected one of format, version, random_drops"),
        ({"random_drops": {}}, "random_drops: found an object of 0, expected a list"),
        ({"random_drops": [{"switch": "s3"}]}, "random_drops[0]: there is no probability"),
        ({"random_drops": [{"switch": "h0", "probability": 1}]}, "switch: found 'h0', expected the name of a switch"),
        ({"random_drops": [{"switch": "s3", "probability": 1.01}]}, "random_drops[0].probability: found 1.01"),
        ({"random_drops": [{"switch": "s3", "probability": True}]}, "random_drops[0].probability: found true"),
        (
            {"random_drops": [{"switch": "s3", "probability": 1, "begins": 2, "ends": 2}]},
            "random_drops[0].ends: found 2, expected a time after the beginning, 2 s",
        ),
        ({"black_holes": [{"switch": "s3", "pairs": [["h0", "s3"]]}]}, "black_holes[0].pairs[0][1]: found 's3'"),
        ({"black_holes": [{"switch": "s3", "pairs": [["h0", "h0"]]}]}, "pairs[0]: both are the same"),
        ({"black_holes": [{"switch": "s3", "pairs": [["h0"]]}]}, "pairs[0]: found a list of 1"),
        ({"cut_cables": [{"between": ["s0", "s1"]}]}, "cut_cables[0].between: there is no cable between these nodes"),
        ({"cut_cables": [{"between": ["s0", "s3"], "cable": 1}]}, "cut_cables[0].cable: found 1, expected a whole"),
        ({"cut_cables": [{"between": ["s0", "s3"], "cable": 0.0}]}, "found 0.0, expected a whole number, 0 to 0"),
        ({"cut_cables": [{"between": ["s0", "s3"], "cable": False}]}, "cut_cables[0].cable: found false"),
        ({"cut_cables": [{"between": ["s0", "s3"], "begins": -1}]}, "cut_cables[0].begins: found -1"),
        (
            {"cut_cables": [{"between": ["s0", "s3"], "begins": 2e6, "detected": 2e6}]},
            "cut_cables[0].detected: the change is detected after 4000000 s",
        ),
        (
            {
                "cut_cables": [
                    {"between": ["s0", "s3"], "begins": 1},
                    {"between": ["s3", "s0"], "begins": 0.5, "ends": 2},
                ]
            },
            "cut_cables[1]: a cable is cut twice at 1 s, expected one cut of it at a time",
        ),
        (
            {"slow_cables": [{"between": ["s0", "s3"], "rate": 5}, {"between": ["s3", "s0"], "rate": 5, "cable": 0}]},
            "slow_cables[1].between: the cable is slow twice, expected each cable once",
        ),
        ({"slow_cables": [{"between": ["s0", "s3"], "rate": 0}]}, "slow_cables[0].rate: found 0, expected Mbit/s"),
        ({"slow_cables": [{"between": ["s0", "s3"], "rate": 1e7}]}, "slow_cables[0].rate: found 1e+07"),
        (
            {"slow_cables": [{"between": ["s0", "s3"], "rate": "10T"}]},
            "slow_cables[0].rate: found '10T', expected Mbit/s,",
        ),
        ({"slow_cables": [{"between": ["s0", "s3"], "rate": "2000"}]}, "slow_cables[0].rate: found '2000', expected"),
    ],
)
def test_every_mistake_is_named_with_its_place(tmp_path: Path, faults: str | dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, faults if isinstance(faults, str) else json.dumps({**START, **faults}))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_large_file_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is too large, expected a file of faults of at most 2 MiB$"):
        read(tmp_path, f"[{'[],' * 1_000_000}[]]")


@pytest.mark.parametrize("kind", ["random_drops", "black_holes", "cut_cables", "slow_cables"])
def test_more_faults_than_a_run_can_have_are_refused_at_once(tmp_path: Path, kind: str) -> None:
    with pytest.raises(InputError, match=rf"{kind}: found a list of 10001, expected at most 10,000 faults$"):
        read(tmp_path, json.dumps({**START, kind: [[]] * 10_001}))


def test_entries_that_cut_many_parallel_cables_each_are_limited_together(tmp_path: Path) -> None:
    network = LeafSpine(1, 1, 1, 1000.0, 1000.0, 0.0, cables=40_000).network(Fifo())
    path = tmp_path / "faults.json"
    cuts = [{"between": ["s0", "s1"], "begins": begins, "ends": begins + 0.5} for begins in range(10_000)]
    path.write_text(json.dumps({**START, "cut_cables": cuts}), encoding="utf-8")
    with pytest.raises(InputError, match=r"cut_cables\[2\]: too many cables are cut, expected at most 100,000"):
        read_faults(path, network, node_names(network, None))
