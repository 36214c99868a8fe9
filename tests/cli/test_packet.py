"""`kuijia packet` tells what comes of loads and schemes, the same for a seed however it is run."""

from __future__ import annotations

import csv
import json
import re
import signal
from pathlib import Path

import pytest

from kuijia.cli.main import main
from kuijia_base.progress import Progress
from simulator.packet.simulation import Simulation

pytestmark = pytest.mark.usefixtures("folder")

SMALL = ("leaf-spine:2,2,3", "--flows", "40", "--sizes", "web-server")
SMALL_AT_ONCE = ("leaf-spine:2,2,3", "--at-once", "--pattern", "permutation")


def packet(*arguments: str) -> int:
    return main(["packet", *arguments])


def test_the_summary_tells_completion_times_by_class_and_losses(capsys: pytest.CaptureFixture[str]) -> None:
    assert packet(*SMALL) == 0
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert lines[0] == "leaf-spine:2,2,3: 6 hosts, 4 switches"
    assert lines[1] == "flows: sizes web-server (mean 66.12 kB), random, poisson, load of hosts, seed 1"
    rows = [line.split() for line in lines if line.startswith("drop-tail")]
    assert [row[:-7] for row in rows[:-1]] == [
        ["drop-tail", "cubic", "0.5", "all", "40"],
        ["drop-tail", "cubic", "0.5", "under", "100", "kB", "34"],
        ["drop-tail", "cubic", "0.5", "100", "kB", "to", "1", "MB", "6"],
    ]
    assert printed.err == ""


def test_results_are_the_same_bytes_whatever_the_number_of_workers(folder: Path) -> None:
    sweep = (*SMALL, "--load", "0.2,0.8", "--queue", "drop-tail,cqrd", "--seeds", "2", "--details")
    for workers in ("1", "2"):
        assert packet(*sweep, "--workers", workers, "-o", f"with-{workers}") == 0
    one, two = (folder / f"with-{workers}" for workers in ("1", "2"))
    assert sorted(path.name for path in one.iterdir()) == sorted(path.name for path in two.iterdir())
    assert len(list(one.iterdir())) == 2 + 2 * 8
    for path in one.iterdir():
        assert path.read_bytes() == (two / path.name).read_bytes()


def test_results_are_the_same_whatever_the_number_of_threads(capsys: pytest.CaptureFixture[str]) -> None:
    far = (
        "dumbbell:4",
        "--flows",
        "30",
        "--load",
        "0.3",
        "--delay",
        "1e-3",
        "--own-streams",
        "--transport",
        "flashpass",
    )
    printed = []
    for threads in ("1", "2"):
        assert packet(*far, "--threads", threads, "--json") == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]


def test_a_network_of_short_links_is_not_divided_among_threads(capsys: pytest.CaptureFixture[str]) -> None:
    assert packet(*SMALL, "--threads", "2") == 2
    assert "links of less than 0.1 ms" in capsys.readouterr().err


def test_load_balancers_by_name_have_results_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for name in ("fixed", "ecmp", "round-robin"):
        assert packet(*SMALL, "--load-balancer", name, "--json") == 0
        printed.append(json.loads(capsys.readouterr().out)["runs"])
    assert printed[0] == printed[1]
    assert printed[0] != printed[2]
    with pytest.raises(SystemExit):
        packet(*SMALL, "--load-balancer", "unknown")


def test_the_pause_between_flowlets_is_an_option(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("letflow", "conga"):
        printed = []
        for gap in ((), ("--flowlet-gap", "0.00015"), ("--flowlet-gap", "0")):
            busy = ("--load", "0.9", "--sizes", "200000")
            assert packet("leaf-spine:2,2,3", "--flows", "40", *busy, "--load-balancer", name, *gap, "--json") == 0
            printed.append(json.loads(capsys.readouterr().out)["runs"])
        assert printed[0] == printed[1]
        assert printed[0] != printed[2]
    assert packet(*SMALL, "--load-balancer", "ecmp", "--flowlet-gap", "0.001") == 2
    message = "error: option:--flowlet-gap: given with --load-balancer ecmp, expected flowlets, letflow, conga\n"
    assert capsys.readouterr().err == message


def test_faults_from_a_file_leave_flows_unfinished_and_the_run_ends(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both spines lose what host 0 sends to host 3: data of one flow, acknowledgements of the one that comes back."""
    holes = [{"switch": spine, "pairs": [["h0", "h3"]]} for spine in ("s2", "s3")]
    faults = {"format": "kuijia-faults", "version": 1, "black_holes": holes}
    (folder / "faults.json").write_text(json.dumps(faults), encoding="utf-8")
    network = ("leaf-spine:2,2,3", "--at-once", "--pattern", "stride:3", "--sizes", "20000")
    for name in ("fixed", "letflow", "conga"):
        assert packet(*network, "--load-balancer", name, "--faults", "faults.json", "--json") == 0
        (run,) = json.loads(capsys.readouterr().out)["runs"]
        assert (run["classes"][0]["flows"], run["classes"][0]["finished"]) == (6, 4)
        assert run["lost"] > 0
        assert 60 <= run["seconds"] <= 121
    (folder / "faults.json").write_text('{"format": "kuijia-faults", "version": 1, "black_holes": 3}')
    assert packet(*network, "--faults", "faults.json") == 2
    assert capsys.readouterr().err == "error: faults.json:black_holes: found 3, expected a list\n"


def test_an_output_fills_more_than_its_own_buffer_where_a_switch_has_one_memory(
    capsys: pytest.CaptureFixture[str],
) -> None:
    incast = ("single-switch:8", "--pattern", "incast:7", "--at-once", "--sizes", "100000", "--buffer", "30000")
    assert packet(*incast, "--queue", "drop-tail,drop-thresholds,shared-buffer", "--json", "--workers", "1") == 0
    peaks = [run["queues"]["peak"] for run in json.loads(capsys.readouterr().out)["runs"]]
    assert peaks[0] == peaks[1] <= 30_000 < peaks[2] <= 8 * 30_000 / 2 + 1_500


def test_a_run_alone_is_that_of_a_sweep(folder: Path) -> None:
    assert packet(*SMALL, "--load", "0.5,0.8", "--workers", "1", "-o", "both") == 0
    assert packet(*SMALL, "--load", "0.8", "-o", "alone") == 0
    both, alone = (json.loads((folder / name / "packet.json").read_text())["runs"] for name in ("both", "alone"))
    assert alone == both[1:]


def test_json_and_csv_have_all_figures(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert packet(*SMALL, "--transport", "dctcp", "--mark", "20000", "--details", "--json", "-o", "out") == 0
    data = json.loads(capsys.readouterr().out)
    assert data == json.loads((folder / "out" / "packet.json").read_text())
    assert (data["format"], data["version"]) == ("kuijia-packet", 1)
    assert (data["options"]["mark"], data["options"]["transport"]) == ("20000", ["dctcp"])
    (run,) = data["runs"]
    assert [each["flows"] for each in run["classes"]] == [40, 34, 6, 0]
    rows = list(csv.DictReader((folder / "out" / "packet.csv").open()))
    assert [float(row["completion_mean"] or 0) for row in rows] == [
        each["completion"]["mean"] or 0 for each in run["classes"]
    ]
    flows = list(csv.DictReader((folder / "out" / "flows-drop-tail-dctcp-0.5-1.csv").open()))
    assert len(flows) == 40
    assert sum(float(flow["slowdown"]) for flow in flows) / 40 == pytest.approx(run["classes"][0]["slowdown"]["mean"])
    assert sum(int(flow["sent"]) for flow in flows) == run["sent"]
    links = list(csv.DictReader((folder / "out" / "links-drop-tail-dctcp-0.5-1.csv").open()))
    assert {link["source"] for link in links} == {*(f"h{host}" for host in range(6)), "s0", "s1", "s2", "s3"}
    assert max(int(link["queue_peak"]) for link in links if link["source"][0] == "s") == run["queues"]["peak"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("fat-tree:4", "--pattern", "permutation", "--at-once", "--sizes", "100000"),
        ("dumbbell:4", "--fabric-rate", "1000", "--pattern", "incast:3", "--flows", "30", "--sizes", "20000"),
        (
            "single-switch:4",
            "--pattern",
            "all-to-all",
            "--at-once",
            "--sizes",
            "5000",
            "--queue",
            "red,cq,random-drop,hcf",
        ),
        ("gscale", "--flows", "10", "--sizes", "50000", "--load-of", "network", "--arrivals", "log-normal:2"),
        ("leaf-spine:2,1,2", "--pattern", "stride:2", "--flows", "5", "--sizes", "10000", "--handshake"),
    ],
)
def test_every_network_and_pattern_runs_to_its_end(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert packet(*arguments, "--json", "--workers", "1") == 0
    for run in json.loads(capsys.readouterr().out)["runs"]:
        everything = run["classes"][0]
        assert everything["finished"] == everything["flows"] > 0
        assert everything["slowdown"]["p50"] > 1 - 1e-6


def test_a_run_that_is_interrupted_tells_what_is_done(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Progress, "show", lambda *_: signal.raise_signal(signal.SIGINT))
    assert packet("leaf-spine:2,2,4", "--flows", "300", "--load", "0.9", "-o", "out") == 130
    printed = capsys.readouterr()
    assert "stopped after" in printed.err
    assert "flows finished: the results cover these" in printed.err
    (run,) = json.loads((folder / "out" / "packet.json").read_text())["runs"]
    everything = run["classes"][0]
    assert run["stopped"]
    assert 0 < everything["finished"] < everything["flows"]
    assert f"{everything['finished']}/300" in printed.out


def test_a_run_alone_tells_how_far_it_has_come(capsys: pytest.CaptureFixture[str]) -> None:
    assert packet("leaf-spine:2,2,4", "--flows", "300", "--load", "0.9", "--json") == 0
    told = [line for line in capsys.readouterr().err.splitlines() if "simulated" in line]
    assert told
    found = re.fullmatch(r"(\d+\.\d{6}) s simulated, (\d+) of 300 flows finished", told[0])
    assert found is not None
    assert float(found[1]) > 0
    assert int(found[2]) < 300


def test_runs_of_close_loads_have_files_of_their_own(folder: Path) -> None:
    assert packet(*SMALL, "--load", "0.12345671,0.12345672", "--details", "--workers", "1", "-o", "out") == 0
    assert len(list((folder / "out").glob("flows-*.csv"))) == 2


def test_a_folder_in_the_place_of_a_result_is_found_before_anything_runs(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "packet.csv").mkdir()
    assert packet("leaf-spine:32,32,32", "--flows", "1000000", "-o", str(folder)) == 2
    assert capsys.readouterr().err == f"error: {folder}/packet.csv: is a folder, expected a file, or no such name\n"
    assert [path.name for path in folder.iterdir()] == ["packet.csv"]


def test_a_simulation_can_end_before_its_flows(capsys: pytest.CaptureFixture[str]) -> None:
    assert packet("single-switch:2", "--sizes", "1000000000", "--at-once", "--until", "0.001", "--json") == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert run["seconds"] == pytest.approx(0.001)
    assert run["classes"][0]["finished"] == 0
    assert not run["stopped"]


@pytest.mark.parametrize("part", ["__post_init__", "run"])
@pytest.mark.parametrize("seeds", ["1", "2"])
def test_a_run_that_does_not_fit_into_memory_ends_with_one_line(
    seeds: str, part: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def out_of_memory(*_: object, **__: object) -> None:
        raise MemoryError("std::bad_alloc")

    monkeypatch.setattr(Simulation, part, out_of_memory)
    assert packet(*SMALL, "--seeds", seeds, "--workers", "1") == 2
    told = capsys.readouterr().err.splitlines()[-1]
    expected = "fewer flows, lower rates, shorter delays, less to wait, or an earlier end"
    assert told.endswith(f"packet: needs more memory than is available, expected {expected}")


def test_a_load_of_one_is_allowed_with_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    assert packet(*SMALL, "--load", "1.2") == 0
    assert capsys.readouterr().err == "warning: load 1.2 leaves no spare capacity: queues grow without bound\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("leaf-spine:4,4",), "network:leaf-spine:4,4: lacks leaves, spines, hosts per leaf after its colon"),
        (("leaf-spine:0,4,4",), "network:leaf-spine:0,4,4: 0 leaves, expected 1 to 1000"),
        (("leaf-spine:999,4,999",), "network:leaf-spine:999,4,999: has 998001 hosts"),
        (("leafspine:4",), "network:leafspine:4: unknown, expected leaf-spine:LEAVES,SPINES,HOSTS, fat-tree:PORTS"),
        (("leaf:" + "x" * 300,), "network:leaf:xxxxx"),
        (("fat-tree:3",), "network:fat-tree:3: 3 ports cannot be halved"),
        (("nowhere",), "nowhere: no such file or shipped network"),
        (("apart.yaml",), "apart.yaml: no path leads from a to c"),
        (("fat-tree:4", "--fabric-rate", "5"), "option:--fabric-rate: given for 'fat-tree:4'"),
        (("gscale", "--fabric-rate", "5"), "option:--fabric-rate: given for gscale"),
        ((*SMALL_AT_ONCE, "--flows", "5"), "option:--flows: given with --at-once"),
        ((*SMALL_AT_ONCE, "--arrivals", "poisson"), "option:--arrivals: given with --at-once"),
        ((*SMALL_AT_ONCE, "--load-of", "hosts"), "option:--load-of: given with --at-once"),
        (("fat-tree:4", "--capacity", "5"), "option:--default-capacity: given for fat-tree:4"),
        (("single-switch:4", "--buffer", "1499"), "option:--buffer: 1499 bytes are less than a packet of 1500"),
        (
            ("single-switch:4", "--queue", "drop-tail,cq", "--buffer", "5999"),
            "option:--buffer: 5999 bytes, divided among 4 queues by cq, are less than a packet of 1500, expected 6000",
        ),
        (("single-switch:4", "--buffer", "0"), "kuijia packet: argument --buffer"),
        (("single-switch:4", "--sizes", "none.cdf"), "none.cdf: there is no such file"),
        (("single-switch:4", "--sizes", "bad.cdf"), "bad.cdf:2: probability 0.4 is less than that of the point before"),
        (("single-switch:4", "--sizes", "0"), "option:--sizes: '0' bytes, expected 1 to"),
        (("single-switch:4", "--load", "0"), "kuijia packet: argument --load: '0', expected loads greater than 0"),
        (("single-switch:4", "--load", "0.5,x"), "kuijia packet: argument --load"),
        (("single-switch:4", "--pattern", "ring"), "option:--pattern: 'ring' is unknown"),
        (("single-switch:4", "--pattern", "incast:4"), "option:--pattern: incast:4: 4 senders, expected 1 to 3"),
        (("single-switch:1",), "option:--pattern: random: there are 1 hosts, expected more than 1"),
        (("single-switch:4", "--arrivals", "regular"), "option:--arrivals: 'regular' is unknown"),
        (("single-switch:4", "--arrivals", "log-normal:x"), "option:--arrivals: sigma of 'log-normal:x'"),
        (("single-switch:4", "--queue", "fq"), "kuijia packet: argument --queue: 'fq' is unknown"),
        (("single-switch:4", "--mark", "140%"), "kuijia packet: argument --mark: '140%'"),
        (("single-switch:4", "--classes", "5,3"), "kuijia packet: argument --classes: '5,3', expected increasing"),
        (("single-switch:4", "--until", "-1"), "kuijia packet: argument --until: '-1', expected 0 to"),
        (
            ("single-switch:4", "--rate", "1e300"),
            "kuijia packet: argument --rate: '1e300', expected 10 kbit/s to",
        ),
        (("single-switch:4", "--delay", "nan"), "kuijia packet: argument --delay: 'nan'"),
        (("single-switch:4", "--min-timeout", "0"), "kuijia packet: argument --min-timeout: '0', expected 1e-06 to 60"),
        (("single-switch:4", "--load", "1e-15"), "option:--load: at "),
        (("single-switch:4", "--seed", f"{2**63}"), f"option:--seed: the last seed is {2**63}, expected {2**63 - 1}"),
        (("fast.yaml",), "fast.yaml: link 'a' to 'b' has a rate of 1e+200 Mbit/s, expected at most 1000000 Mbit/s"),
        (("single-switch:4", "--details"), "option:--details: given without a folder"),
        (("",), "network: an empty name, expected leaf-spine:LEAVES,SPINES,HOSTS"),
        (("single-switch:4", "--sizes", ""), "option:--sizes: an empty name, expected bytes"),
        (("single-switch:4", "-o", ""), "kuijia packet: argument -o/--output: an empty name, expected that of a file"),
        (
            ("single-switch:3164", "--pattern", "all-to-all"),
            "option:--pattern: all-to-all: there are 10,007,732 pairs of 3,164 hosts, expected at most 10,000,000",
        ),
        (("clash.yaml",), "clash.yaml: node 'h-a' has the name of the host at 'a', expected another name"),
        (
            ("far.yaml", "--transport", "flashpass", "--pattern", "stride:1"),
            "packet:flashpass.wait: in the largest round trip a host sends ",
        ),
    ],
)
def test_bad_input_ends_with_one_line(
    arguments: tuple[str, ...], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "bad.cdf").write_text("100 0.5\n200 0.4\n300 1\n")
    (folder / "fast.yaml").write_text("nodes: [a, b]\nlinks:\n- {a: a, b: b, capacity: 1.0e+200}\n")
    (folder / "clash.yaml").write_text("nodes: [a, h-a]\nlinks:\n- {a: a, b: h-a, capacity: 100}\n")
    far = "- {a: a, b: b, capacity: 100000}\n- {a: b, b: c, capacity: 1, delay: 3}\n"
    (folder / "far.yaml").write_text(f"nodes: [a, b, c]\nlinks:\n{far}")
    (folder / "apart.yaml").write_text("nodes: [a, b, c]\nlinks:\n- {a: a, b: b, capacity: 100}\n")
    try:
        status = packet(*arguments)
    except SystemExit as end:
        status = int(str(end.code))
    printed = capsys.readouterr()
    assert status == 2
    assert printed.err.startswith(f"error: {message}")
    assert printed.err.count("\n") == 1
    assert printed.out == ""


@pytest.mark.parametrize(
    ("links", "complaint"),
    [
        ([(1, 2, "5e-324")], "link '1' to '2' has a rate of 4.94066e-324 Mbit/s, expected at least 0.01 Mbit/s"),
        ([(node, node + 1, "1") for node in range(1, 2001)], "net has 2001 nodes, expected at most 2000"),
    ],
    ids=["slow", "large"],
)
def test_a_topology_that_no_simulation_ends_on_is_refused_by_its_file(
    links: list[tuple[int, int, str]], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "net.txt"
    both = "".join(f"{a} {b} {rate}\n{b} {a} {rate}\n" for a, b, rate in links)
    file.write_text(f"to_node from_node capacity\n{both}")
    assert main(["packet", str(file)]) == 2
    assert capsys.readouterr().err == f"error: {file}: {complaint}\n"
