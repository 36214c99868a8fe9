"""Options of `kuijia packet` that make no sense together, or no sense at all, are named with what was expected."""

from __future__ import annotations

import pytest

from kuijia.cli.main import main

SMALL = ("leaf-spine:2,2,3", "--flows", "40", "--sizes", "web-server")
BALANCER = "given with --load-balancer hermes, whose state the parts would share, expected 1, or --load-balancer fixed"
STREAMS = "whose flows draw from one stream of random numbers, expected 1, or --own-streams as well"


def packet(*arguments: str) -> int:
    return main(["packet", *arguments])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "--load-balancer hermes",
            BALANCER,
        ),
        (
            "--transport cubic,flashpass",
            f"given with --transport flashpass, {STREAMS}",
        ),
        (
            "--transport bbr",
            f"given with --transport bbr, {STREAMS}",
        ),
        (
            "--transport expresspass",
            (
                "the run cannot be divided among threads: queues that drop or mark at random draw from one stream of "
                "random numbers, expected 1"
            ),
        ),
    ],
)
def test_what_cannot_be_divided_among_threads_names_the_option(
    words: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert packet("dumbbell:4", "--delay", "1e-3", "--flows", "30", "--threads", "2", *words.split()) == 2
    assert capsys.readouterr().err == f"error: option:--threads: {message}\n"


@pytest.mark.parametrize(
    ("load", "message"),
    [
        ("1e-300", "option:--load: at 1e-300 the last of 40 flows begins after "),
        (
            "1e-320",
            "option:--load: at 9.99989e-321 the last of 40 flows begins after inf s, expected 2305843 s or less",
        ),
        ("0.5,1e-300", "option:--load: at 1e-300 the last of 40 flows begins after "),
    ],
)
def test_a_load_whose_flows_never_begin_is_named(load: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert packet(*SMALL, "--load", load, "--workers", "1") == 2
    assert message in capsys.readouterr().err


def test_a_load_that_is_too_large_is_refused_with_the_limit(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        packet(*SMALL, "--load", "1e300")
    assert "'1e300', expected loads greater than 0 and at most 100, separated by commas" in capsys.readouterr().err


def test_an_empty_name_of_a_file_of_faults_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert packet(*SMALL, "--faults", "") == 2
    assert capsys.readouterr().err == "error: option:--faults: an empty name, expected the name of a JSON file\n"
