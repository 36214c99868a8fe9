"""A command asks for the paper's grid, a part of it, or the named cases."""

from __future__ import annotations

import argparse

import pytest

from experiments.compared_schemes import PAPERS_SCHEMES
from experiments.gscale.cases import DEMANDS, LINKS, REPETITIONS, Case
from experiments.gscale.command import cases_from, configure
from kuijia_base.errors import InputError

BOTH = ("tcp", "udp")


def chosen(*words: str) -> tuple[Case, ...]:
    parser = argparse.ArgumentParser()
    for flag in ("--quick", "--full"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--repetitions", type=int)
    configure(parser)
    return cases_from(parser.parse_args(words, argparse.Namespace(experiment="indirect")), ("tcp", "udp"))


def test_full_is_the_papers_grid() -> None:
    cases = chosen("--full")
    assert len(cases) == len(set(cases)) == len(BOTH) * len(DEMANDS) * len(LINKS) * len(PAPERS_SCHEMES) * REPETITIONS
    assert max(case.repetition for case in chosen("--full", "--repetitions", "1")) == 1


def test_less_is_measured_unless_all_is_asked_for() -> None:
    assert len(chosen("--quick")) < len(chosen()) < len(chosen("--full", "--repetitions", "1"))


def test_cases_can_be_named() -> None:
    cases = chosen("--traffic", "udp", "--demands", "1.0,1.6", "--links", "9-7")
    assert [case.name for case in cases] == [
        "udp-1-7-9-rescaling-1",
        "udp-1-7-9-kuijia-1",
        "udp-1.6-7-9-rescaling-1",
        "udp-1.6-7-9-kuijia-1",
    ]


def test_the_nearer_reading_is_chosen_unless_the_other_is_named() -> None:
    assert {case.reading for case in chosen()} == {case.reading for case in chosen("--reading", "shared")} == {"shared"}
    assert {case.reading for case in chosen("--reading", "directed")} == {"directed"}


def test_traffic_that_the_experiment_does_not_show_is_refused() -> None:
    with pytest.raises(InputError, match="--traffic: indirect does not show priorities, expected tcp, udp"):
        chosen("--traffic", "tcp,priorities")


@pytest.mark.parametrize(
    "words",
    [("--traffic", "sctp"), ("--demands", "0.9"), ("--demands", "1,1"), ("--links", "1-2"), ("--links", "2-3,3-2")],
)
def test_what_the_evaluation_does_not_have_is_refused(
    words: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        chosen(*words)
    assert f"{words[1]!r}, expected different ones among" in capsys.readouterr().err
