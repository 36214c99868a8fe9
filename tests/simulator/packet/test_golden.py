"""Results of seeded scenes stay the same to the bit."""

from __future__ import annotations

import json

from tests.simulator.packet.golden import FILE, digest, scenes


def test_seeded_scenes_give_the_results_that_they_always_gave() -> None:
    expected = json.loads(FILE.read_text(encoding="utf-8"))
    assert {name: digest(simulation) for name, simulation in scenes()} == expected
