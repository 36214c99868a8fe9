"""Options of a lab beyond its plan, and the order by which its starter hands both to its service."""

from __future__ import annotations

import json
import math
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from typing import Any

from kuijia_app.framework.metrics.address import EXPECTED, LAST_PORT, PageAddress, parse_page_address
from kuijia_app.preparation.sessions import DEFAULT_INTERVAL_MS
from kuijia_app.tables.options import Form, OptionWords, OtherTraffic, Tagging
from kuijia_app.tables.queue_layouts import PLAIN
from kuijia_app.tables.slots import DEFAULT_SLOT_COUNT
from kuijia_app.tables.wiring import Neighbours
from kuijia_base.errors import InputError, quoted
from te_solver.formats.plan_file import plan_from_json, plan_to_json
from te_solver.model.plan import Plan
from te_solver.model.topology import Topology
from testbed.controllers.application_process import Framework
from testbed.network.bridges import NetworkOptions


@dataclass(frozen=True)
class LabOptions:
    """Options beyond the plan.

    Attributes:
        scheme: "kuijia" or "rescaling".
        slot_count: hash slots per pair.
        layout: the queues of every port, by name or by the absolute path of a YAML file.
        tagging: where packets carry their tunnel and their queue: "mpls", "dscp-ecn" or "vlan".
        pipeline: the form of the flow entries: "single" or "decomposed".
        controllers: number of them; one acts, the others stand by.
        liveness: party that notices a failure beyond a tunnel's first link: "controller" or "bfd".
        reoptimise: True if the controller solves a plan for the links that are left after a failure, and applies it.
        bfd_interval_ms: time between two packets of a BFD session.
        tunnels_per_pair: in the plan, and in plans solved for other demands if the plan before does not say.
        demand_factor: factor for rates given by users, as applied to the network's.
        wiring: absolute path of a wiring file, empty for numbers by the topology.
        other_traffic: treatment of packets between sites without a planned pair: "drop" or "forward".
        neighbours: sites whose hosts the controller learns: "wiring", "static" or "learned", as of `Neighbours`.
        metrics: `[ADDRESS:]PORT` where the service serves the lab's metrics, empty for nowhere; those of controllers
            are at the ports that follow.
        inventory: absolute path of an inventory of boxes, empty for an emulated network.
        network: options of the emulation; its queues are those of `layout`, selected by `tagging`.
    """

    scheme: str = "kuijia"
    slot_count: int = DEFAULT_SLOT_COUNT
    layout: str = PLAIN
    tagging: str = Tagging.MPLS.value
    pipeline: str = Form.SINGLE.value
    framework: Framework = "os-ken"
    controllers: int = 1
    liveness: str = "controller"
    reoptimise: bool = False
    bfd_interval_ms: int = DEFAULT_INTERVAL_MS
    tunnels_per_pair: int = 3
    demand_factor: float = 1.0
    wiring: str = ""
    other_traffic: str = OtherTraffic.DROP.value
    neighbours: str = Neighbours.WIRING.value
    metrics: str = ""
    inventory: str = ""
    network: NetworkOptions = field(default_factory=NetworkOptions)

    @property
    def words(self) -> OptionWords:
        """Options of the controller."""
        words = (self.scheme, self.slot_count, self.layout, self.tagging, self.pipeline, self.liveness)
        return OptionWords(*words, self.wiring, self.other_traffic, self.neighbours)


def metrics_addresses(options: LabOptions) -> tuple[PageAddress, ...]:
    """Return where metrics are served: the lab's, then those of each controller at the ports that follow; or nothing.

    Raises:
        InputError: the option is no address, or there are not enough ports after it.
    """
    if not options.metrics:
        return ()
    first = parse_page_address(options.metrics)
    if first is None:
        raise InputError("option", "metrics", quoted(options.metrics), EXPECTED)
    if first.port + options.controllers > LAST_PORT:
        highest = LAST_PORT - options.controllers
        raise InputError(
            "option", "--metrics", f"port {first.port}", f"{highest} at most: controllers use those after it"
        )
    return tuple(PageAddress(first.port + place, first.host) for place in range(options.controllers + 1))


def require_possible_controllers(number: int) -> None:
    """Raise InputError if there cannot be as many controllers."""
    if number < 1:
        raise InputError("option", "controllers", f"{number}", "1 or more")


SOCKET_NAME = "lab.sock"


@dataclass(frozen=True)
class Order:
    """Order to start a service: the plan in its JSON form, the options of the lab, and where the page draws nodes."""

    plan: dict[str, Any]
    options: dict[str, Any]
    positions: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: Plan, options: dict[str, Any]) -> Order:
        """Return the order for a lab with this plan."""
        return cls(plan_to_json(plan), options, positions_to_json(plan.topology))

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    def read(self) -> tuple[Plan, LabOptions]:
        """Return the parsed order; raise InputError if it is invalid."""
        types = {each.name: type(each.default) for each in fields(LabOptions) if each.default is not MISSING}
        for name, value in self.options.items():
            wanted = types.get(name)
            if wanted is None:
                raise InputError("order", quoted(name), "unknown option", f"one of {', '.join(types)}")
            if type(value) is not wanted and not (wanted is float and type(value) is int):
                raise InputError("order", name, f"found {quoted(repr(value))}", f"a value of type {wanted.__name__}")
        return drawn_at(plan_from_json(self.plan, "plan"), self.positions), LabOptions(**self.options)


def positions_to_json(topology: Topology) -> dict[str, Any]:
    """Return the coordinates of nodes as JSON data; plans have none."""
    return {node: list(position) for node, position in topology.positions.items()}


def drawn_at(plan: Plan, positions: dict[str, Any]) -> Plan:
    """Return a plan whose topology has these coordinates; raises InputError if they are none."""
    found = {}
    for node, position in positions.items():
        match position:
            case [int() | float() as east, int() | float() as north] if math.isfinite(east) and math.isfinite(north):
                found[node] = (float(east), float(north))
            case _:
                problem = f"found {quoted(repr(position))}"
                raise InputError("order", f"positions.{quoted(node)}", problem, "two numbers")
    return replace(plan, topology=replace(plan.topology, positions=found))
