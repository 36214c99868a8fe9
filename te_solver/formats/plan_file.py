"""Plans as JSON: a writer, and a reader whose errors name the key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kuijia_base.errors import InputError, UnsoundError, key_path, quoted
from kuijia_base.json_document import read_json
from kuijia_base.reading import reading
from kuijia_base.text import write_text
from kuijia_base.validation import first_faults, make_validator
from te_solver.model.plan import DISJOINT, PairPlan, Plan, PlanOptions, Tunnel, require_sound_tunnels
from te_solver.model.topology import Link, Topology
from te_solver.schemas import schema

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError

FORMAT = "kuijia-plan"
VERSION = 1

_JSON_TYPES = {
    bool: "true or false",
    str: "a text",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
    type(None): "null",
}
_EXPECTED = "a plan in JSON"


def plan_to_json(plan: Plan) -> dict[str, Any]:
    """Return the plan as JSON data, as described by `te_solver/schemas/plan.schema.json`."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "topology": topology_to_json(plan.topology),
        "objective": plan.objective,
        "objective_value": plan.objective_value,
        **({} if plan.upper_bound is None else {"upper_bound": plan.upper_bound}),
        "solver": plan.solver,
        "solve_seconds": plan.solve_seconds,
        "protected_failures": plan.protected_failures,
        **({} if plan.options is None else {"options": _options_to_json(plan.options)}),
        "pairs": [
            {
                "source": pair.source,
                "target": pair.target,
                "priority": pair.priority,
                "demand": pair.demand,
                "allocated": pair.allocated,
                "tunnels": [
                    {
                        "path_id": tunnel.path_id,
                        "nodes": list(tunnel.nodes),
                        "rate": tunnel.rate,
                        "weight": tunnel.weight,
                    }
                    for tunnel in pair.tunnels
                ],
            }
            for pair in plan.pairs
        ],
    }


def topology_to_json(topology: Topology) -> dict[str, Any]:
    """Return the topology as in a plan's JSON data."""
    return {
        "name": topology.name,
        "nodes": list(topology.nodes),
        "links": [
            {"source": link.source, "target": link.target, "capacity": link.capacity, "delay": link.delay}
            for link in topology.links
        ],
        **({"down": _down_to_json(topology)} if topology.down else {}),
    }


def _down_to_json(topology: Topology) -> list[dict[str, Any]]:
    down = ((a, b, topology.down.get(frozenset((a, b)))) for a, b in topology.edges)
    return [{"a": a, "b": b, "probability": chance} for a, b, chance in down if chance is not None]


def plan_from_json(data: object, source: str | Path) -> Plan:
    """Return the plan in JSON data. Rates may exceed capacities: a plan may be tried on a smaller network.

    Raises:
        InputError: the data break the schema, or name unknown nodes, missing links, repeated path ids or pairs,
            weights that do not sum to one; its source is `source`, its place the key.
    """
    fault = _first_fault(data)
    if fault is not None:
        raise InputError(source, key_path(tuple(fault.absolute_path)), _problem(fault), _expected(fault))
    assert isinstance(data, dict), "the schema asks for an object"
    try:
        plan = _plan(data, _topology(data["topology"]))
    except UnsoundError as error:
        raise _input_error(source, ("topology", *error.where), error) from error
    except OverflowError as error:
        # JSON has whole numbers of any length.
        raise InputError(source, "", "a number of more than 308 digits", "numbers that a double can hold") from error
    try:
        require_sound_tunnels(plan)
    except UnsoundError as error:
        raise _input_error(source, error.where, error) from error
    return plan


def load_plan(path: Path) -> Plan:
    """Return the plan in a JSON file; raises InputError, whose place is a key or, if the text is no JSON, a line."""
    data = read_json(path, "a plan file", _EXPECTED)
    with reading(path, _EXPECTED):
        return plan_from_json(data, path)


def save_plan(plan: Plan, path: Path) -> None:
    """Write the plan as JSON, whole or not at all; raises InputError when the file cannot be written."""
    write_text(path, plan_text(plan))


def plan_text(plan: Plan) -> str:
    """Return the text that `save_plan` writes."""
    return json.dumps(plan_to_json(plan), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _plan(data: dict[str, Any], topology: Topology) -> Plan:
    return Plan(
        topology,
        tuple(_pair(entry) for entry in data["pairs"]),
        objective=data["objective"],
        objective_value=float(data["objective_value"]),
        solver=data["solver"],
        solve_seconds=float(data["solve_seconds"]),
        protected_failures=int(data.get("protected_failures", 0)),
        upper_bound=float(data["upper_bound"]) if "upper_bound" in data else None,
        options=_options(data["options"]) if "options" in data else None,
    )


def _topology(data: dict[str, Any]) -> Topology:
    links = tuple(
        Link(link["source"], link["target"], float(link["capacity"]), float(link.get("delay", 0)))
        for link in data["links"]
    )
    topology = Topology(data["name"], tuple(data["nodes"]), links)
    return replace(topology, down=_down(data["down"], topology)) if "down" in data else topology


def _down(data: list[dict[str, Any]], topology: Topology) -> dict[frozenset[str], float]:
    found: dict[frozenset[str], float] = {}
    edges = set(map(frozenset, topology.edges))
    for position, each in enumerate(data):
        edge = frozenset((each["a"], each["b"]))
        if edge not in edges or edge in found:
            between = f"between {quoted(each['a'])} and {quoted(each['b'])}"
            problem = f"a second probability {between}" if edge in found else f"there is no link {between}"
            raise UnsoundError(("down", position), problem, "each cable of the topology at most once")
        found[edge] = float(each["probability"])
    return found


def _options_to_json(options: PlanOptions) -> dict[str, Any]:
    found = {name: value for name, value in asdict(options).items() if value is not None}
    if options.paths == DISJOINT:
        del found["paths"]  # plans are written as before there were other choices
    return found


def _options(data: dict[str, Any]) -> PlanOptions:
    # JSON Schema counts 2.0 as an integer.
    counts: dict[str, Any] = {name: int(data[name]) for name in ("tunnels", "partitions", "seed") if name in data}
    return PlanOptions(**{**data, **counts})


def _pair(data: dict[str, Any]) -> PairPlan:
    tunnels = tuple(
        Tunnel(int(tunnel["path_id"]), tuple(tunnel["nodes"]), float(tunnel["rate"]), float(tunnel["weight"]))
        for tunnel in data["tunnels"]
    )
    priority = int(data.get("priority", 0))
    return PairPlan(data["source"], data["target"], float(data["demand"]), float(data["allocated"]), tunnels, priority)


def _first_fault(data: object) -> ValidationError | None:
    """Return the first fault by its place; a fault of the format or version comes first, as it explains the others."""

    def order(error: ValidationError) -> tuple[bool, list[str], str, str]:
        place = [str(key).rjust(12) for key in error.absolute_path]
        return error.validator != "const", place, str(error.validator), error.message

    return min(first_faults(_validator(), data), key=order, default=None)


@cache
def _validator() -> Draft202012Validator:
    return make_validator(schema("plan"))


def _problem(fault: ValidationError) -> str:
    """Describe the fault without repeating the data, which may be large."""
    value: Any = fault.instance
    if fault.validator == "required":
        missing = next(key for key in _schema_at(fault)["required"] if key not in value)
        return f"there is no {missing}"
    if fault.validator == "additionalProperties":
        return f"unknown key {quoted(min(value.keys() - _schema_at(fault)['properties'].keys()))}"
    if isinstance(value, str):
        return f"found {quoted(value)}"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"found {value!r}"
    if isinstance(value, list) and fault.validator in {"minItems", "maxItems"}:
        return f"found {len(value)} entries"
    return f"found {_JSON_TYPES.get(type(value), type(value).__name__)}"


def _expected(fault: ValidationError) -> str:
    return str(_schema_at(fault)["description"])


def _schema_at(fault: ValidationError) -> Mapping[str, Any]:
    assert isinstance(fault.schema, Mapping), "a fault is found by the part of our schema for its place"
    return fault.schema


def _input_error(source: str | Path, where: tuple[str | int, ...], error: UnsoundError) -> InputError:
    return InputError(source, key_path(where), error.problem, error.expected)
