"""The functions whose options are declared in a data class have these options, with the same defaults."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

import kuijia
from kuijia.api.packet_options import PacketStudyOptions
from kuijia.api.whatif_options import WhatIfOptions
from kuijia_base.options import declared, from_keywords

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

STUDIES = [(kuijia.packet, PacketStudyOptions), (kuijia.whatif, WhatIfOptions)]


@pytest.mark.parametrize(("function", "study"), STUDIES, ids=lambda each: each.__name__)
def test_keywords_and_their_defaults_are_those_declared(
    function: Callable[..., Any], study: type[DataclassInstance]
) -> None:
    defaults = {name: each.default for name, each in inspect.signature(function).parameters.items()}
    names = {option.keyword or field.name for field, option in declared(study)}
    assert names <= defaults.keys()
    assert from_keywords(study, defaults) == study()
    described = set(re.findall(r"^ {8}(\w+): ", function.__doc__ or "", re.MULTILINE))
    assert defaults.keys() <= described
