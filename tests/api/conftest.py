"""What several tests of the API use."""

from __future__ import annotations

import pytest

import kuijia


@pytest.fixture(scope="session")
def fig1() -> kuijia.Plan:
    """A plan of the network of Figure 1: 3000 Mbit/s from s1 to s4 over three tunnels."""
    return kuijia.solve("fig1")
