from __future__ import annotations

import pytest

from tests.simulator.packet.steps import Parts, build_parts


@pytest.fixture(scope="session")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Parts:
    return build_parts(tmp_path_factory.mktemp("steps"))
