"""Tables 2 and 3 scale the paper's rates, show them beside ours, and name the missed bars."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from itertools import pairwise

import pytest

from experiments.motivation.command import configure, options_from
from experiments.motivation.report import (
    CASES,
    TABLE_2,
    TABLE_3,
    motivation_exhibit,
    motivation_plan,
    queue_checks,
    summary,
    unbelievable,
    wanted_flows,
)
from experiments.results.exhibit import exhibit_text
from experiments.results.published import published_throughput
from experiments.results.result import Result
from experiments.results.score import judge
from kuijia_base.errors import InputError
from tests.experiments.sample_results import TABLE_2_KUIJIA, TABLE_2_RESCALING, flow, result

PUBLISHED = published_throughput("table2")


def judged(scheme: str, goodput: dict[str, tuple[float, float]], repetition: int = 1) -> Result:
    flows = [flow(name, before, after) for name, (before, after) in goodput.items()]
    return result(scheme, goodput, repetition=repetition, checks=judge(TABLE_2.bars[scheme], flows))


def given(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(exit_on_error=False)
    configure(parser)
    return parser.parse_args(arguments)


def test_the_plan_has_three_tunnels_of_equal_weight_that_fill_their_links() -> None:
    plan = motivation_plan(25)
    assert [tunnel.weight for tunnel in plan.tunnels] == pytest.approx([1 / 3] * 3)
    assert [tunnel.rate for tunnel in plan.tunnels] == pytest.approx([25] * 3)
    assert {tunnel.nodes for tunnel in plan.tunnels} == {
        nodes for pair in CASES["s2-s4"].flow_tunnels.values() for nodes in pair
    }


@pytest.mark.parametrize(("table", "offered"), [(TABLE_2, [8, 8, 16, 16]), (TABLE_3, [10, 10, 20, 20])])
def test_offered_rates_are_the_papers_scaled_to_the_capacity(table: object, offered: list[float]) -> None:
    assert table in (TABLE_2, TABLE_3)
    chosen = TABLE_2 if table is TABLE_2 else TABLE_3
    flows = wanted_flows(chosen, CASES["s2-s4"].flow_tunnels, motivation_plan(20))
    assert [each.offered for each in flows] == pytest.approx(offered)
    assert published_throughput(chosen.name).offered == chosen.offered_parts


def test_the_victims_tunnel_is_crossed_by_either_cut_and_no_other_is() -> None:
    for each in wanted_flows(TABLE_2, CASES["s2-s4"].flow_tunnels, motivation_plan(20)):
        for link in (("s2", "s4"), ("s1", "s2")):
            assert each.tunnel.crosses(*link) == (each.name in ("f1", "f2"))
            assert not each.backup.crosses(*link)


def test_the_table_has_ours_in_parts_of_the_papers_link_beside_the_papers() -> None:
    results = [judged("rescaling", TABLE_2_RESCALING), judged("kuijia", TABLE_2_KUIJIA)]
    lines = [line.split() for line in exhibit_text(motivation_exhibit(results)).splitlines()]
    cells = {" ".join(line[:-4]): (line[-4:], below[-4:]) for line, below in pairwise(lines) if "here" in line}
    assert cells["offered, here"] == (["400", "400", "800", "800"], ["400", "400", "800", "800"])
    assert cells["before, here"] == (["380", "380", "765", "765"], ["380", "381", "762", "762"])
    assert cells["after, rescaling, here"] == (["380", "380", "575", "575"], ["379", "378", "584", "586"])
    assert cells["after, kuijia, here"] == (["190", "190", "765", "765"], ["177", "177", "762", "762"])


def test_small_published_figures_are_not_rounded_away() -> None:
    results = [replace(judged("kuijia", TABLE_2_KUIJIA), experiment="table3")]
    assert "0.074" in exhibit_text(motivation_exhibit(results))


def test_runs_on_a_busy_machine_do_not_count() -> None:
    busy = result("kuijia", dict.fromkeys(TABLE_2_KUIJIA, (1.0, 1.0)), repetition=2, invalid=("too busy",))
    text = exhibit_text(motivation_exhibit([judged("kuijia", TABLE_2_KUIJIA), busy]))
    assert "Not used: kuijia 2: too busy." in text
    flows = summary(TABLE_2, PUBLISHED, [judged("kuijia", TABLE_2_KUIJIA), busy])["schemes"]["kuijia"]["flows"]
    assert flows["f3"]["after"] == pytest.approx(765)


def test_a_scheme_without_a_believable_run_has_no_numbers() -> None:
    busy = result("kuijia", TABLE_2_KUIJIA, invalid=("too busy",))
    lines = exhibit_text(motivation_exhibit([busy])).splitlines()
    (at,) = [number for number, line in enumerate(lines) if line.startswith("before, here")]
    assert lines[at].split()[2:4] == ["-", "-"]
    assert lines[at + 1].split()[:2] == ["published", "380"]


def test_repeated_runs_are_averaged() -> None:
    slower = {name: (before, 0.5 * after) for name, (before, after) in TABLE_2_KUIJIA.items()}
    data = summary(TABLE_2, PUBLISHED, [judged("kuijia", TABLE_2_KUIJIA), judged("kuijia", slower, repetition=2)])
    assert data["schemes"]["kuijia"]["flows"]["f3"]["after"] == pytest.approx(0.75 * 765)
    assert [run["repetition"] for run in data["schemes"]["kuijia"]["runs"]] == [1, 2]
    assert not data["passed"]
    json.dumps(data, allow_nan=False)


def test_a_missed_bar_is_named_with_its_number() -> None:
    lost = {**TABLE_2_KUIJIA, "f3": (15.3, 14.0)}
    (said,) = motivation_exhibit([judged("rescaling", TABLE_2_RESCALING), judged("kuijia", lost)]).missed()
    assert said == "table2 (emulation): limit: kuijia 1: f3 after/before is 0.915, expected at least 0.98"


def test_a_run_that_could_not_be_believed_is_named() -> None:
    (said,) = unbelievable([result("kuijia", TABLE_2_KUIJIA, invalid=("steal", "wait"))])
    assert said == "table2 with kuijia, repetition 1: the machine was too busy in each of 3 attempts (steal; wait)"


def test_victims_belong_in_the_low_queue_under_kuijia_alone() -> None:
    flows = [flow("f1", 8, 4, low_after=True), flow("f2", 8, 4), flow("f3", 16, 16, low_after=False)]
    assert [check.passed for check in queue_checks("kuijia", flows)] == [True, True]
    assert [check.passed for check in queue_checks("rescaling", flows)] == [False, True]


def test_quick_shortens_what_is_not_given() -> None:
    quick = options_from(given("--after-seconds", "9"), quick=True)
    usual = options_from(given(), quick=False)
    assert quick.after_seconds == 9
    assert quick.before_seconds < usual.before_seconds


def test_the_controller_can_only_be_killed_when_it_is_not_needed() -> None:
    for others in (["--cut", "s1-s4"], ["--liveness", "bfd"]):
        assert options_from(given("--kill-controller", *others), quick=False).kill_controller
    with pytest.raises(InputError, match=r"option:--kill-controller: .*, expected --cut s1-s4"):
        options_from(given("--kill-controller"), quick=False)


@pytest.mark.parametrize(
    "arguments",
    [("--schemes", "ffc"), ("--schemes", "kuijia,kuijia"), ("--after-seconds", "0"), ("--warmup-seconds", "nan")],
)
def test_options_out_of_range_are_refused(arguments: tuple[str, ...]) -> None:
    with pytest.raises(argparse.ArgumentError):
        given(*arguments)
