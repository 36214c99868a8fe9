"""The words of command lines and configuration files become options, or an error line with the expected values."""

from __future__ import annotations

from pathlib import Path

import pytest

from kuijia_app.tables.options import Form, Liveness, OptionWords, PipelineOptions, Tagging, pipeline_options
from kuijia_app.tables.queue_layouts import LAYOUTS
from kuijia_app.tables.wiring_file import wiring_text
from kuijia_base.errors import InputError
from te_solver.failure_schemes.rescaling import RESCALING
from tests.kuijia_app.plans import both_ways
from tests.kuijia_app.wirings import dual_stack


def test_no_words_are_the_defaults() -> None:
    assert pipeline_options(OptionWords()) == PipelineOptions()


def test_every_word_has_its_meaning() -> None:
    words = OptionWords("rescaling", 32, "four", "dscp-ecn", "decomposed", "bfd")
    expected = PipelineOptions(RESCALING, 32, LAYOUTS["four"], Tagging.DSCP_ECN, Form.DECOMPOSED, Liveness.BFD)
    assert pipeline_options(words) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (OptionWords(scheme="other"), "scheme: found 'other', expected kuijia or rescaling or rescaling-renormalised"),
        (OptionWords(tagging="other"), "tagging: found 'other', expected mpls or dscp-ecn or vlan"),
        (OptionWords(pipeline="other"), "pipeline: found 'other', expected single or decomposed"),
        (OptionWords(liveness="other"), "liveness: found 'other', expected controller or bfd"),
    ],
)
def test_a_word_that_is_none_is_refused(words: OptionWords, expected: str) -> None:
    with pytest.raises(InputError) as raised:
        pipeline_options(words)
    assert str(raised.value) == expected


@pytest.mark.parametrize(
    ("gateways", "neighbours", "is_refused"),
    [
        (False, "wiring", False),
        (False, "static", False),
        (False, "learned", True),
        (True, "wiring", True),
        (True, "static", False),
        (True, "learned", True),
    ],
)
def test_hosts_of_ipv6_are_not_learned_as_nobody_would_answer_them(
    tmp_path: Path, *, gateways: bool, neighbours: str, is_refused: bool
) -> None:
    path = tmp_path / "wiring.yaml"
    path.write_text(wiring_text(dual_stack(both_ways("two", "a b", "a-b"), gateways=gateways, ipv4="a")))
    words = OptionWords(wiring=str(path), neighbours=neighbours)
    if not is_refused:
        assert pipeline_options(words).wiring is not None
        return
    with pytest.raises(InputError) as raised:
        pipeline_options(words)
    assert str(raised.value) == (
        f"{path}:switches.b.host.prefixes: 2001:db8:0:2::/64 of a site whose hosts are learned, expected prefixes of "
        "IPv4: neighbour discovery is not answered; or no gateway, or neighbours static"
    )
