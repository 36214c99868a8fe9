"""A controller without connections for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kuijia_app.controller import KuijiaController
from tests.kuijia_app.control.applications import application_of
from tests.kuijia_app.plans import motivation_plan


@pytest.fixture
def application(tmp_path: Path) -> Iterator[KuijiaController]:
    with application_of(motivation_plan(), tmp_path) as made:
        yield made
