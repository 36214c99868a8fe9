"""Options of the emulated testbed, and the figures made from its measurements."""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest

from experiments.experiment import Configure
from experiments.hedera import shuffle, testbed
from experiments.hedera.lab import is_quiet
from experiments.hedera.schemes import ARRANGEMENTS, ECMP, NON_BLOCKING, one_switch, one_tree
from experiments.hedera.simulation import tcp_goodput
from experiments.hedera.testbed import MatrixOptions, MatrixRun, Record, Results, exhibits, published_goodput, summary
from experiments.reporting.exhibit_output import exhibit_figure
from experiments.results.exhibit import exhibit_text
from hedera.network.data_centre import DataCentre
from hedera.network.fat_tree import FatTree
from hedera.network.matrices import authors_matrices
from hedera.network.multi_rooted import MultiRooted
from hedera.scheduling.events import ROUND
from kuijia_base.errors import InputError
from kuijia_base.output_folder import OutputFolder
from testbed.controllers.application_process import Event
from testbed.traffic.transfers import Transfer

RESULTS = Path(__file__).resolve().parents[3] / "docs/results/hedera"


def options(*arguments: str) -> MatrixOptions:
    return testbed.options_from(parsed(*arguments), quick="--quick" in arguments)


def parsed(*arguments: str, configure: Configure = testbed.configure) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--full", action="store_true")
    configure(parser)
    return parser.parse_args(arguments)


def as_published(given: MatrixOptions, scale: float = 1.0, **changed: float) -> Results:
    """Return the authors' measurements scaled to our links, with other shares of the control for `changed` schemes."""
    results: Results = {}
    for pattern in given.patterns:
        row = published_goodput(pattern)
        for scheme, part in changed.items():
            row[scheme] = part * row[NON_BLOCKING]
        results[pattern] = {s: [MatrixRun((row[s] * scale,), 0, 0.5, ())] for s in given.schemes}
    return results


def missed_of(data: dict[str, Any]) -> list[str]:
    return [words for exhibit in exhibits(data) for words in exhibit.missed()]


def test_every_matrix_has_published_figures_for_every_scheme() -> None:
    assert published_goodput("stride8").keys() == set(ARRANGEMENTS)
    assert authors_matrices().keys() <= testbed.published()["rows"].keys()


def test_the_published_means_over_thirty_patterns_are_those_known() -> None:
    rows = testbed.published()["rows"].values()
    means = [sum(row[column] for row in rows) / len(rows) for column in range(4)]
    assert [round(mean) for mean in means] == [11412, 7052, 10663, 11151]


def test_full_is_what_the_authors_ran() -> None:
    full = options("--full")
    assert set(full.patterns) == authors_matrices().keys()
    assert (full.period, full.span.begin, full.span.end) == (5.0, 10.0, 50.0)
    assert len(options("--quick").patterns) == 2
    assert options("--patterns", "stride8", "stag0(.2,.3)", "stride8").patterns == ("stride8", "stag0(.2,.3)")


def test_flows_last_longer_in_each_attempt_and_what_is_averaged_over_stays() -> None:
    span = options().span
    assert [span.seconds_of(attempt) for attempt in (1, 2, 3)] == [15, 25, 35]
    assert (span.begin, span.end) == (4.0, 11.0)


def test_the_authors_own_figures_meet_the_bars_and_others_do_not() -> None:
    given = options("--full")
    data = summary(as_published(given, 0.005), given, seed=1)
    assert missed_of(data) == []
    assert data["mean"] == pytest.approx(data["published_mean"])
    worse = summary(as_published(given, 0.005, **{"simulated-annealing": 0.7}), given, seed=1)
    (missed,) = missed_of(worse)
    assert missed == (
        "hedera-testbed-parts (emulation): simulated-annealing of non-blocking is 0.7, expected 0.789 to 1.18"
        " (published 0.986)"
    )


def test_a_quick_run_asks_for_a_gain_over_ecmp_alone() -> None:
    given = options("--quick")
    same = summary(as_published(given, **{"ecmp": 0.6, "simulated-annealing": 0.7}), given, seed=1)
    (missed,) = missed_of(same)
    assert missed.endswith(": simulated-annealing, times what ecmp carries is 1.17, expected at least 1.2")


def test_a_run_on_a_busy_machine_is_named_in_the_text() -> None:
    given = options("--quick")
    results = as_published(given)
    results["stride8"]["ecmp"] = [MatrixRun((50.0,), 2, 0.9, ("frames were lost",))]
    made = exhibits(summary(results, given, seed=1))
    text = "".join(map(exhibit_text, made))
    assert "ecmp, stride8: frames were lost" in text
    assert "24.6" in text  # published
    for each in made:
        exhibit_figure(each)


def test_what_the_authors_measured_as_ecmp_is_what_one_tree_carries() -> None:
    """A hash that spreads flows carries more: all matrices are within 16 % of all flows using one core switch."""
    tree = FatTree(4, 1000.0)
    ratios = []
    for name, matrix in authors_matrices().items():
        paths = tree.flow_paths(matrix.source, matrix.target, np.zeros(matrix.source.size, np.int32))
        ratios.append(published_goodput(name)[ECMP] / tcp_goodput(tree.capacity, paths).sum())
    assert all(0.84 < ratio < 1.08 for ratio in ratios)
    assert fmean(abs(ratio - 1) for ratio in ratios) < 0.05


def test_the_networks_held_against_the_fat_tree_have_its_hosts_in_its_order() -> None:
    centre = DataCentre(FatTree(4, 5.0))
    names = [site.name for site in centre.wiring.sites]
    switch, tree = (DataCentre(MultiRooted(make(centre))) for make in (one_switch, one_tree))
    assert [site.name for site in switch.wiring.sites] == [site.name for site in tree.wiring.sites] == names
    assert switch.wiring.topology.nodes == ("switch",)
    assert len(tree.wiring.topology.nodes) == 8 + 4 + 1
    assert {tree.fabric.path_count(0, host) for host in range(1, 16)} == {1}


def test_a_scheduler_is_quiet_once_its_last_round_finds_no_elephants() -> None:
    def told(*elephants: int) -> list[Event]:
        return [{"event": ROUND, "elephants": each} for each in elephants] + [{"event": "port-status", "port": 1}]

    assert [is_quiet(told(*each)) for each in ((), (0,), (0, 16), (16, 32, 0))] == [False, True, False, True]


def test_a_campaign_goes_on_where_it_was_broken_off(tmp_path: Path) -> None:
    given = options("--patterns", "stride8")
    output = OutputFolder(tmp_path)
    record = Record(output, given, seed=1)
    good, bad = MatrixRun((4.0,), 1, 0.5, ()), MatrixRun((3.0,), 0, None, ("it was busy",))
    record.add("stride8", "ecmp", 0, good)
    record.add("stride8", "ecmp", 1, bad)
    again = Record(output, given, seed=1)
    assert [again.has("stride8", "ecmp", repetition) for repetition in range(3)] == [True, False, False]
    again.add("stride8", "ecmp", 1, good)
    assert Record(output, given, seed=1).has("stride8", "ecmp", 1)


def with_run(run: str) -> str:
    return f'{{"settings": {{}}, "manifest": {{}}, "patterns": {{"stride8": {{"ecmp": [{run}]}}}}}}'


def test_runs_measured_in_another_way_are_not_gone_on_with(tmp_path: Path) -> None:
    output = OutputFolder(tmp_path)
    Record(output, options(), seed=1).add("stride8", "ecmp", 0, MatrixRun((4.0,), 0, None, ()))
    with pytest.raises(InputError, match="nic_rate"):
        Record(output, options("--nic-rate", "7"), seed=1)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"settings": 3}',
        '{"settings": 3, "manifest": {}, "patterns": {}}',
        '{"settings": {}, "manifest": 3, "patterns": {}}',
        '{"settings": {}, "manifest": {}, "patterns": {"stride8": []}}',
        with_run('{"goodput": [1.0], "moved": 0, "switch": null}'),
        with_run('{"goodput": ["1"], "moved": 0, "switch": null, "disturbed": []}'),
        with_run('{"goodput": [-1], "moved": 0, "switch": null, "disturbed": []}'),
        with_run('{"goodput": [NaN], "moved": 0, "switch": null, "disturbed": []}'),
        with_run('{"goodput": [1.0], "moved": null, "switch": null, "disturbed": []}'),
        with_run('{"goodput": [1.0], "moved": 0, "switch": "busy", "disturbed": []}'),
        with_run('{"goodput": [1.0], "moved": 0, "switch": null, "disturbed": 1}'),
    ],
)
def test_a_file_that_is_no_record_of_runs_is_refused_and_left_as_it_is(tmp_path: Path, text: str) -> None:
    output = OutputFolder(tmp_path)
    output.write_text(testbed.FILE_NAME, text)
    with pytest.raises(InputError, match="is not a record of such runs"):
        Record(output, options(), seed=1)
    assert (tmp_path / testbed.FILE_NAME).read_text() == text


def transfers(seconds: float) -> list[Transfer]:
    """Return transfers among three hosts, one after the other."""
    hosts = ("h0", "h1", "h2")
    return [
        Transfer(source, target, place * seconds, (place + 1) * seconds)
        for source in hosts
        for place, target in enumerate(each for each in hosts if each != source)
    ]


def test_the_figures_of_a_shuffle_are_the_authors() -> None:
    """Their 20.9 MB/s of 7.5 GB in 358.1 s make the bisection bandwidth of 2.81 Gbit/s on the wire."""
    one = [Transfer(f"h{host}", "h0", 0.0, 358.1) for host in range(16)]
    found = shuffle.figures(one, 7_500_000_000)
    assert found["host_goodput_mbps"] / 8 == pytest.approx(20.9, abs=0.05)
    assert found["bisection_mbps"] == pytest.approx(2810, abs=5)


@pytest.mark.parametrize("option", ["--placements=ecmp", "--nic-rate=7", "--period=2"])
def test_a_shuffle_heeds_what_it_shares_with_the_testbed(option: str) -> None:
    for configure in (shuffle.configure, testbed.configure):
        parser = argparse.ArgumentParser()
        configure(parser)
        assert parser.parse_args([option]) != parser.parse_args([])


def test_a_shuffle_is_scaled_to_the_links_and_judged_by_its_gain() -> None:
    given = shuffle.options_from(
        parsed("--nic-rate", "5", "--time-scale", "0.2", configure=shuffle.configure), quick=False
    )
    assert (given.size, given.period) == (500_000, 1.0)
    for faster, is_missed in ((shuffle.GAIN * 1.01, False), (shuffle.GAIN * 0.99, True)):
        found = {
            "one-tree": {**shuffle.figures(transfers(10.0), given.size), "disturbed": ()},
            "simulated-annealing": {
                **shuffle.figures(transfers(10.0 / faster), given.size),
                "disturbed": ("it was busy",),
            },
        }
        data = shuffle.summary(found, given, seed=1, backend="emulation")
        (made,) = shuffle.exhibits(data)
        assert bool(list(made.missed())) is is_missed
        done = made.line("one-tree").at("all done (s)")
        assert done.value == 20.0
        assert done.published == pytest.approx(87.7, abs=0.05)
        assert "simulated-annealing: it was busy" in exhibit_text(made)
