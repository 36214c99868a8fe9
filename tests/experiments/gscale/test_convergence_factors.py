"""What Table 4 hangs on: one condition is varied at a time, and tables have what the runs gave."""

from __future__ import annotations

from dataclasses import asdict, replace

from experiments.experiment import Settings
from experiments.gscale.cases import LINKS
from experiments.gscale.table4_factors import (
    REFERENCE,
    VARIED,
    Work,
    by_condition,
    simulate,
    works,
)

SETTINGS = Settings("packet", 20.0, "os-ken", 64, 1, quick=True, seed=1)


def run_of(work: Work, seconds: float, *, restless: bool = False) -> dict[str, object]:
    case = {"demand": work.case.demand, "link": "-".join(work.case.link), "scheme": work.case.scheme}
    of_roles = {"direct-15": (2 * seconds, False), "direct-30": (seconds, restless), "victim-30": (3 * seconds, False)}
    return {"conditions": work.conditions, **case, "seconds": {**of_roles, "victim-15": (None, False)}}


def test_one_condition_differs_from_the_reference_at_a_time() -> None:
    reference = asdict(REFERENCE)
    differing = [[key for key, value in asdict(each).items() if value != reference[key]] for each in VARIED.values()]
    assert [len(keys) for keys in differing] == [0, *[1] * (len(VARIED) - 1)]


def test_every_link_fails_under_all_conditions_and_under_both_schemes() -> None:
    listed = list(works(replace(SETTINGS, quick=False)))
    assert len({(work.conditions, work.case) for work in listed}) == len(listed) == len(LINKS) * (len(VARIED) + 1)
    assert {work.conditions for work in listed if work.case.scheme == "kuijia"} == {"reference"}


def test_tables_have_times_of_runs_beside_the_published_ones() -> None:
    listed = list(works(SETTINGS))
    found = [run_of(work, float(number), restless=number == 3) for number, work in enumerate(listed)]
    strict, direct, _, victims = by_condition(found)
    line, kuijia = direct.lines
    assert [point.value for point in line.points] == [float(number) for number in range(len(VARIED))]
    assert {point.published for point in line.points} == {11.25}
    assert [point.x for point in line.points if point.at_least] == [listed[3].conditions]
    assert (kuijia.label, len(kuijia.points)) == ("kuijia, 2-3", 1)
    assert (strict.lines[0].points[1].value, victims.lines[0].points[1].value) == (2.0, 3.0)
    assert victims.published is None


def test_a_run_gives_the_seconds_of_both_roles() -> None:
    work = next(each for each in works(SETTINGS) if each.conditions == "noticed after 1 s")
    found = simulate(None, work)
    assert (found["link"], found["scheme"], found["demand"]) == ("2-3", "rescaling", 1.6)
    assert found["seconds"]["victim-30"][0] >= 2  # silent for the first second, so not stable in it
