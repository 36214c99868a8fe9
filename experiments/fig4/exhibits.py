"""Makes figure 4 an exhibit from the file that its experiment wrote; pure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.results.bars import limit
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.schema_check import refuse_fault
from kuijia_base.errors import InputError
from kuijia_base.validation import make_validator

CURVES = {"kuijia": "original weights", "precomputed": "precomputed weights"}
"""Scheme to its name in the paper's figure."""

COMPARABLE = 0.02
"""Share of the throughput that original weights may lose beyond precomputed ones: "highly comparable" as a number."""

_NUMBER = {"description": "a number", "type": "number"}
_NUMBERS = {"description": "numbers", "type": "array", "minItems": 1, "items": _NUMBER}
_SCHEMA = {
    "description": "an object that `kuijia run fig4` wrote",
    "type": "object",
    "required": ["backend", "demands", "loss", "largest_gap", "published"],
    "properties": {
        "backend": {"description": "a name", "type": "string"},
        "demands": _NUMBERS,
        "loss": {
            "description": f"an object with {' and '.join(CURVES)}",
            "type": "object",
            "required": list(CURVES),
            "properties": dict.fromkeys(CURVES, _NUMBERS),
        },
        "largest_gap": _NUMBER,
        "published": {"description": "what the paper says", "type": "string"},
        "capacity": _NUMBER,
    },
}


def figure_4_from_json(data: Mapping[str, Any], source: str | Path) -> Exhibit:
    """Return the figure that JSON data holds; raises InputError with `source` and the key when the data are damaged."""
    refuse_fault(data, make_validator(_SCHEMA), source)
    demands = data["demands"]
    for name in CURVES:
        if len(data["loss"][name]) != len(demands):
            problem = f"has {len(data['loss'][name])} numbers"
            raise InputError(source, f"loss.{name}", problem, f"one for each of {len(demands)} demands")
    lines = (
        Line(label, tuple(Point.of(x, [100 * loss]) for x, loss in zip(demands, data["loss"][name], strict=True)))
        for name, label in CURVES.items()
    )
    return Exhibit(
        "fig4",
        "mean throughput lost over all single failures of random graphs",
        "Figure 4",
        data["backend"],
        "demand of each pair, in parts of a link",
        "throughput loss (%)",
        tuple(lines),
        "Zhang et al., Kuijia, section 2.3, in words",
        checks=(limit("what original weights lose more, in %", 100 * data["largest_gap"], high=100 * COMPARABLE),),
        remarks=(
            f'The paper\'s curves have no numbers that can be read; it says that "{data["published"]}".',
            f"The paper does not give the capacity of links: {_assumed(data)}. Unconnected graphs are drawn again.",
        ),
    )


def _assumed(data: Mapping[str, Any]) -> str:
    here = f", here {data['capacity']:g} Mbit/s with demands in proportion" if "capacity" in data else ""
    return f"1 Gbit/s is assumed{here}"
