"""A campaign under a reading of the paper: its pairs, plans, roles and averages, and a folder for itself."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from itertools import pairwise
from pathlib import Path

import pytest

from experiments.compared_schemes import PAPERS_SCHEMES
from experiments.experiment import Settings
from experiments.gscale.campaign import Campaign
from experiments.gscale.cases import DEMANDS, LINKS, TRAFFICS, Case, case_of, grid, stored_case
from experiments.gscale.exhibits import ALL, distance_exhibit, exhibits_of
from experiments.gscale.models import compute
from experiments.gscale.plans import CAMPAIGN_READINGS, measures, pairs_of_case, plan_of
from experiments.gscale.readings import losses_of_each
from experiments.results.published import published_curves
from experiments.results.result import Result
from experiments.results.stored_files import refuse_mixture
from kuijia.cli.main import main
from kuijia_base.errors import InputError
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from tests.experiments.gscale.results import committed_texts, made_up

SETTINGS = Settings("flow", 20.0, "os-ken", 64, 1, True, 1)
ON_SWITCHES = Settings("emulation", 20.0, "os-ken", 64, 1, False, 1)
SHARED = replace(Case("udp", 1.4, LINKS[1], "rescaling", 1), reading="shared")


def test_both_directions_of_a_link_share_its_capacity_and_fill_all_of_it() -> None:
    for traffic in ("udp", "priorities"):
        plan = plan_of(replace(SHARED, traffic=traffic), 20.0, 1)
        load = dict.fromkeys((frozenset(link.ends) for link in plan.topology.links), 0.0)
        for tunnel in (tunnel for pair in plan.pairs for tunnel in pair.tunnels):
            for hop in pairwise(tunnel.nodes):
                load[frozenset(hop)] += tunnel.rate
        assert max(load.values()) == pytest.approx(20.0, rel=1e-3)


def test_no_failure_of_a_campaign_measures_nothing_and_pairs_keep_two_tunnels() -> None:
    assert len({site for pair in pairs_of_case(SHARED, 1) for site in pair}) == 10
    for demand in DEMANDS:
        plan = plan_of(replace(SHARED, demand=demand), 1.0, 1)
        assert measures(plan)
        assert not any(
            sum(tunnel.crosses(*link) for tunnel in pair.tunnels) > 1 for pair in plan.pairs for link in LINKS
        )


def test_a_run_loses_what_the_study_of_readings_has() -> None:
    found = losses_of_each([CAMPAIGN_READINGS["shared"]], 1, 1)[0]
    at, link = DEMANDS.index(SHARED.demand), LINKS.index(SHARED.link)
    for scheme in PAPERS_SCHEMES:
        made = exhibits_of([compute(replace(SHARED, scheme=scheme), SETTINGS)], ["fig11", "fig13"])
        for exhibit in made:
            value = exhibit.line(scheme).at(SHARED.demand).value
            assert value == pytest.approx(found[exhibit.name][scheme][at][link], abs=1e-4)
            assert "reading `shared`" in exhibit.remarks[-1]


def test_flows_that_share_a_link_in_the_other_direction_are_directly_affected() -> None:
    plain, read = (compute(case, SETTINGS).flows for case in (replace(SHARED, reading="directed"), SHARED))
    assert {flow.role for flow in plain} >= {"victim", "direct"}
    victims = {hop for flow in read if flow.role == "victim" for hop in pairwise(flow.tunnel_after or ())}
    for flow in read:
        hops = set(pairwise(flow.tunnel_after or ()))
        meets = bool((hops | {hop[::-1] for hop in hops}) & victims)
        assert flow.role == "victim" or (flow.role == "direct") == meets


def test_results_remember_their_reading_and_no_mean_mixes_two(tmp_path: Path) -> None:
    result = compute(SHARED, SETTINGS)
    assert case_of(result) == stored_case(result, "file") == SHARED
    other = compute(replace(SHARED, reading="directed", link=LINKS[0]), SETTINGS)
    with pytest.raises(InputError, match="planned_share"):
        refuse_mixture([(tmp_path / "one.json", result), (tmp_path / "two.json", other)])
    strange = replace(result, parameters={**result.parameters, "reading": "mine"})
    with pytest.raises(InputError, match=r"parameters\.reading"):
        stored_case(strange, "file")


def test_a_folder_of_one_reading_is_refused_to_another(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "fig13", "--backend", "flow", "--quick", "-o", str(tmp_path)]
    assert main(words) in {0, 1}
    capsys.readouterr()
    assert main([*words, "--reading", "directed"]) == 2
    assert "was measured with" in capsys.readouterr().err


def test_the_campaign_on_switches_goes_on_from_its_committed_runs(tmp_path: Path) -> None:
    texts = committed_texts("gscale-shared")
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    cases = grid(TRAFFICS, repetitions=1, reading="shared")
    campaign = Campaign(cases, ON_SWITCHES, OutputFolder(tmp_path), None, Progress(StringIO()))
    kept = {case for case in cases if f"{case.name}.json" in texts}
    assert kept
    assert set(campaign.missing()) == set(cases) - kept


def test_the_distance_covers_every_published_mean() -> None:
    runs = [_as_published(case) for case in grid(("tcp", "udp"), links=LINKS[:1], repetitions=1)]
    exact = distance_exhibit(runs).line("root mean square")
    assert {point.x: point.value for point in exact.points}[ALL] == pytest.approx(0.0, abs=1e-9)
    worse = [replace(run, flows=tuple(replace(flow, after=flow.after - 0.3) for flow in run.flows)) for run in runs]
    assert distance_exhibit(worse).line("root mean square").at(ALL).value == pytest.approx(3.0)
    assert distance_exhibit(worse).line("largest").at("fig12, kuijia").value == pytest.approx(3.0)


def _as_published(case: Case) -> Result:
    direct, victim = ("fig10", "fig12") if case.traffic == "tcp" else ("fig11", "fig13")
    kept = {
        role: 1 - (published_curves(figure).at(case.scheme, case.demand) or 0.0) / 100
        for role, figure in (("direct", direct), ("victim", victim))
    }
    return made_up(case, kept)  # type: ignore[arg-type]  # the roles are literals
