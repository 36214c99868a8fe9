"""The words of command lines and configuration files become options, or an error line with the expected values."""

from __future__ import annotations

import pytest

from kuijia_app.tables.options import Form, Liveness, OptionWords, PipelineOptions, Tagging, pipeline_options
from kuijia_app.tables.queue_layouts import LAYOUTS
from kuijia_base.errors import InputError
from te_solver.schemes.shipped.rescaling import RESCALING


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
