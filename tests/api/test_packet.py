from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kuijia
from kuijia.cli.main import main

SMALL: dict[str, Any] = {"flows": 40, "sizes": 20_000, "seed": 3}


def test_it_finds_what_the_command_finds(capsys: pytest.CaptureFixture[str]) -> None:
    mine = kuijia.packet("single-switch:4", load=[0.3, 0.6], queue="drop-tail", workers=1, **SMALL)
    options = ["--load", "0.3,0.6", "--flows", "40", "--sizes", "20000", "--seed", "3", "--workers", "1"]
    assert main(["packet", "single-switch:4", *options]) == 0
    assert str(mine.summary()) in capsys.readouterr().out
    assert repr(mine) == "PacketResult('single-switch:4', 2 runs, 80 flows)"
    assert [(row[2], row[4], row[5]) for row in mine.table()] == [
        (0.3, "all", 40),
        (0.3, "under 100 kB", 40),
        (0.6, "all", 40),
        (0.6, "under 100 kB", 40),
    ]
    assert [row[3] for row in mine.totals()] == [3, 3]
    assert mine._repr_html_().count("<tr>") == 5


def test_flows_may_cross_a_topology_and_start_at_once() -> None:
    network = kuijia.load_topology("fig1")
    found = kuijia.packet(network, at_once=True, pattern="permutation", sizes=20_000, transport="newreno")
    assert (found.network, found.runs[0]["load"], found.runs[0]["transport"]) == ("fig1", None, "newreno")


def test_results_are_saved_with_their_details(tmp_path: Path) -> None:
    found = kuijia.packet("dumbbell:2", details=True, **SMALL)
    folder = found.save(tmp_path / "study")
    names = {path.name for path in folder.iterdir()}
    assert names == {"packet.json", "packet.csv", "flows-drop-tail-cubic-0.5-3.csv", "links-drop-tail-cubic-0.5-3.csv"}
    assert json.loads((folder / "packet.json").read_text())["runs"] == json.loads(json.dumps(found.runs))


def test_saved_results_are_read_again(tmp_path: Path) -> None:
    found = kuijia.packet(kuijia.load_topology("fig1"), details=True, **SMALL)
    folder = found.save(tmp_path / "study")
    for place in (folder, folder / "packet.json"):
        again = kuijia.load_packet(place)
        assert (repr(again), again.notes, again.files) == (repr(found), found.notes, found.files)
        assert list(again.flows()) == list(found.flows())
        assert again.to_csv() == found.to_csv()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{}", "holds something else"),
        ('{"format": "kuijia-packet", "version": 2}', "holds something else"),
        ('{"format": "kuijia-packet", "version": 1}', "cannot be read (KeyError: 'options')"),
        (
            '{"format": "kuijia-packet", "version": 1, "options": {"network": "n"}, "assumptions": [], "runs": [{}]}',
            "cannot be read (KeyError: ",
        ),
    ],
)
def test_other_files_are_refused(text: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "packet.json").write_text(text)
    with pytest.raises(kuijia.InputError) as refusal:
        kuijia.load_packet(tmp_path)
    assert str(refusal.value).startswith(f"{tmp_path / 'packet.json'}: {problem}")


@pytest.mark.parametrize(
    ("network", "options", "message"),
    [
        (
            "single-switch:4",
            {"load": 0},
            "option:load: '0', expected loads greater than 0 and at most 100, separated by commas",
        ),
        ("single-switch:4", {"queue": "fast"}, "option:queue: 'fast' is unknown, expected one or more of drop-tail"),
        ("single-switch:4", {"pattern": "star"}, "option:pattern: 'star' is unknown, expected one of random,"),
        ("single-switch:4", {"load_balancer": "x"}, "option:load_balancer: 'x' is unknown, expected one of fixed,"),
        ("single-switch:4", {"at_once": True, "flows": 5}, "option:flows: given with at_once, expected load instead"),
        (
            "leaf-spine:2,2,2",
            {"transport": ["cubic", "bbr"], "wait": 1},
            "option:wait: given with transport='cubic,bbr', expected flashpass, flashpass*",
        ),
        (
            "single-switch:4",
            {"load_balancer": "ecmp", "flowlet_gap": 0.001},
            "option:flowlet_gap: given with load_balancer='ecmp', expected flowlets, letflow, conga",
        ),
        (
            "single-switch:4",
            {"default_capacity": 5},
            "option:default_capacity: given for single-switch:4, expected a topology file",
        ),
        ("fig1", {"fabric_rate": 5}, "option:fabric_rate: given for fig1, expected leaf-spine or dumbbell"),
        ("torus:4", {}, "network:torus:4: unknown, expected leaf-spine:"),
        ("single-switch:4", {"seed": 2**63 - 1, "seeds": 2}, "option:seed: the last seed is "),
        ("single-switch:4", {"pattern": None}, "option:pattern: 'None' is unknown, expected one of random,"),
        ("single-switch:4", {"arrivals": 5}, "option:arrivals: '5' is unknown, expected one of poisson,"),
        ("single-switch:4", {"load_balancer": []}, "option:load_balancer: '[]' is unknown, expected one of fixed,"),
        ("single-switch:4", {"classes": None}, "option:classes: 'None', expected sizes in bytes, separated by commas"),
        ("single-switch:4", {"handshake": "no"}, "option:handshake: 'no', expected True or False"),
        ("single-switch:4", {"load_of": "moon"}, "option:load_of: 'moon' is unknown, expected one of hosts, network"),
    ],
)
def test_bad_options_are_refused_in_one_line(network: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(kuijia.InputError) as raised:
        kuijia.packet(network, **options)
    assert str(raised.value).startswith(message)


def test_a_class_without_a_finished_flow_has_dashes() -> None:
    found = kuijia.packet("dumbbell:2", flows=10, until=1e-6)
    cells = found.table().text().splitlines()[1].split()
    assert cells[-2:] == ["-", "-"]
    assert "<td" in found._repr_html_()


def test_bounds_of_classes_may_be_a_single_size_or_any_iterable() -> None:
    for classes in (5000, "5000", (each for each in (5000,)), np.array([5000])):
        found = kuijia.packet("dumbbell:2", flows=10, classes=classes)  # type: ignore[arg-type]
        assert found.options["classes"] == [5000]


def test_flows_of_each_run_are_a_table_if_they_were_kept() -> None:
    found = kuijia.packet("single-switch:4", load=[0.3, 0.6], details=True, workers=1, **SMALL)
    flows = found.flows()
    assert len(flows) == 80
    assert set(flows["load"]) == {0.3, 0.6}
    assert set(flows["size"]) == {20_000}
    slow = [value for load, value in zip(flows["load"], flows["slowdown"], strict=True) if load == 0.6]
    assert np.mean(slow) == pytest.approx(found.table()["slowdown_mean"][2])
    with pytest.raises(ValueError, match="keeps them"):
        kuijia.packet("single-switch:4", **SMALL).flows()


def test_slowdowns_are_drawn_over_the_load() -> None:
    found = kuijia.packet("single-switch:4", load=[0.6, 0.3], seeds=2, transport=["cubic", "dctcp"], **SMALL)
    mean, _ = found.plot().figure.axes
    lines = {line.get_label(): line for line in mean.get_lines()}
    assert set(lines) == {"drop-tail, cubic", "drop-tail, dctcp"}
    drawn = np.asarray(lines["drop-tail, cubic"].get_xydata())
    rows = [row for row in found.table().to_dicts() if (row["transport"], row["class"]) == ("cubic", "all")]
    expected = [np.mean([row["slowdown_mean"] for row in rows if row["load"] == load]) for load in (0.3, 0.6)]
    assert drawn == pytest.approx(np.array([[0.3, expected[0]], [0.6, expected[1]]]))


def test_columns_of_frames_name_their_units() -> None:
    pytest.importorskip("pandas")
    found = kuijia.packet("single-switch:4", details=True, **SMALL)
    assert {"completion_mean_seconds", "slowdown_mean", "goodput_mean_mbps"} <= set(found.to_frame())
    assert {"size_bytes", "start_seconds", "sent_packets", "timeouts"} <= set(found.flows().to_frame())
    assert {"seconds", "goodput_mbps", "lost_packets", "queue_peak_bytes"} <= set(found.totals().to_frame())


def test_tables_are_written_as_csv(tmp_path: Path) -> None:
    found = kuijia.packet("single-switch:4", **SMALL)
    table = found.table()
    assert (tmp_path / "table.csv").exists() is False
    assert table.to_csv(tmp_path / "table.csv") == (tmp_path / "table.csv").read_text()
    assert table.tail(1).rows == table.rows[-1:]
    assert found.to_csv(tmp_path / "packet.csv") == (tmp_path / "packet.csv").read_text()
    with pytest.raises(KeyError, match="did you mean slowdown_mean"):
        table["slowdown_maen"]
