"""The interface between the web server and what it shows: descriptions, states, log entries and actions as plain data.

A backend stands for one network: the real lab, boxes, a model, or a recording. The server calls `state` at most five
times a second in one thread, however many browsers look, and `act` in other threads. Rates are in Mbit/s and times in
seconds: Unix time, or the time of the model's own clock, which begins at 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol, TypeAlias

from simulator.live.states import ClockState, LogEntry, QueueInfo, View
from testbed.lab.shapes import ShapeLimits

VERSION = 1
"""Version of all messages."""

ActionKind = Literal["links", "nodes", "demands", "plan", "flows", "scheme", "clock", "network", "console"]
"""Kinds of actions; a backend lists those that it can do."""

Name = Annotated[str, ShapeLimits(longest=256)]
Rate = Annotated[float, ShapeLimits(least=0, most=1e9)]
Priority = Annotated[int, ShapeLimits(least=0, most=255)]


@dataclass(frozen=True, slots=True)
class NodePlace:
    """A node and its place in the picture, from 0 to 1; y grows downwards. A site has traffic of its own."""

    name: str
    x: float
    y: float
    site: bool = True


@dataclass(frozen=True, slots=True)
class Cable:
    """A link with the same capacity in both directions; `id` is what `link_id` returns."""

    id: str
    a: str
    b: str
    capacity: float


@dataclass(frozen=True, slots=True)
class TunnelInfo:
    """A tunnel of the plan in force."""

    path_id: int
    source: str
    target: str
    priority: int
    nodes: tuple[str, ...]
    weight: float


@dataclass(frozen=True)
class Description:
    """The parts of a network that seldom change: the event `lab` repeats it when they do.

    Attributes:
        backend: kind of the backend.
        clock: `real` if times are Unix times.
        name: name of the network.
        actions: kinds of actions that the backend can do.
        schemes: names of the views of a state, side by side.
        schemes_available: names of the schemes that can be shown.
        dropped_unit: unit of what queues drop.
        flows_left_out: number of flows that states leave out, the smallest ones, as there are too many.
        view_only: True if the server refuses all actions; the server sets it.
        version: version of all messages.
    """

    backend: Literal["lab", "boxes", "flow", "packet", "replay"]
    clock: Literal["real", "simulated"]
    name: str
    actions: tuple[ActionKind, ...]
    schemes: tuple[str, ...]
    nodes: tuple[NodePlace, ...]
    links: tuple[Cable, ...]
    queues: tuple[QueueInfo, ...]
    tunnels: tuple[TunnelInfo, ...]
    schemes_available: tuple[str, ...] = ()
    dropped_unit: Literal["Mbit/s", "packets/s"] = "Mbit/s"
    flows_left_out: int = 0
    view_only: bool = False
    version: int = VERSION


@dataclass(frozen=True, slots=True)
class ControllerMember:
    """One of a pair of controllers; `since` is when it began to act."""

    number: int
    alive: bool
    acts: bool
    since: float | None = None


@dataclass(frozen=True, slots=True)
class ControllerState:
    """The controller of a real lab, or the pair of them."""

    alive: bool
    switches: tuple[str, ...]
    errors: tuple[str, ...] = ()
    members: tuple[ControllerMember, ...] = ()


@dataclass(frozen=True, slots=True)
class State:
    """The state of now; the server numbers states by `seq`. `clock` is null for real clocks."""

    time: float
    views: tuple[View, ...]
    controller: ControllerState | None = None
    faults: tuple[str, ...] = ()
    clock: ClockState | None = None
    seq: int = 0


@dataclass(frozen=True, slots=True)
class Finding:
    """A broken promise that the verification of a plan found."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class SetLink:
    """Cut a link or restore it."""

    id: Name
    up: bool


@dataclass(frozen=True, slots=True)
class SetNode:
    """Take a node down or restore it."""

    name: Name
    up: bool


DemandRow: TypeAlias = tuple[Name, Name, Rate, Priority]


@dataclass(frozen=True, slots=True)
class SetDemands:
    """Solve for other demands, rows of source, target, rate and priority, and put the plan in force."""

    demands: Annotated[tuple[DemandRow, ...], ShapeLimits(longest=100_000)]


@dataclass(frozen=True, slots=True)
class SetPlan:
    """Put a plan in force, in its JSON form; it is verified before."""

    plan: dict[str, Any]


@dataclass(frozen=True, slots=True)
class WithdrawPlan:
    """Take the plan out of force: no tunnel carries traffic any more."""


@dataclass(frozen=True, slots=True)
class StartFlow:
    """Send traffic in addition to the demands, for some seconds."""

    source: Name
    target: Name
    rate: Annotated[float, ShapeLimits(above=0, most=1e9)]
    kind: Literal["udp", "tcp"] = "udp"
    seconds: Annotated[float, ShapeLimits(above=0, most=86_400)] = 60.0
    priority: Priority = 0


@dataclass(frozen=True, slots=True)
class StopFlow:
    """Stop a flow that `StartFlow` has started."""

    id: Name


@dataclass(frozen=True, slots=True)
class SetScheme:
    """Choose the failure schemes, of which a model shows several side by side."""

    schemes: Annotated[tuple[Name, ...], ShapeLimits(longest=4)]


@dataclass(frozen=True, slots=True)
class SetClock:
    """Set speed, as seconds of the model in a second, or hold the clock of a model or a recording; null leaves it.

    `time` is the moment to go to, for recordings.
    """

    speed: Annotated[float, ShapeLimits(above=0, most=1000)] | None = None
    paused: bool | None = None
    time: Annotated[float, ShapeLimits(least=0, most=1e12)] | None = None


@dataclass(frozen=True, slots=True)
class DrawnNode:
    """A node of a drawing and its place; y grows downwards."""

    name: Name
    x: Annotated[float, ShapeLimits(least=0, most=1)]
    y: Annotated[float, ShapeLimits(least=0, most=1)]


@dataclass(frozen=True, slots=True)
class DrawnLink:
    """A link of a drawing with the same capacity in both directions."""

    a: Name
    b: Name
    capacity: Annotated[float, ShapeLimits(above=0, most=1e9)]


@dataclass(frozen=True, slots=True)
class SetNetwork:
    """Show another network from now on, with a plan for these demands, rows as in `SetDemands`."""

    name: Name
    nodes: Annotated[tuple[DrawnNode, ...], ShapeLimits(longest=200)]
    links: Annotated[tuple[DrawnLink, ...], ShapeLimits(longest=2000)]
    demands: Annotated[tuple[DemandRow, ...], ShapeLimits(longest=100_000)]


@dataclass(frozen=True, slots=True)
class RunCommand:
    """Run a command on a host of a real lab; the backend asks the lab, and returns what the command needs there."""

    node: Name
    command: Annotated[str, ShapeLimits(longest=1000)]


Action: TypeAlias = (
    SetLink
    | SetNode
    | SetDemands
    | SetPlan
    | WithdrawPlan
    | StartFlow
    | StopFlow
    | SetScheme
    | SetClock
    | SetNetwork
    | RunCommand
)

KIND_OF: dict[type[Action], ActionKind] = {
    SetLink: "links",
    SetNode: "nodes",
    SetDemands: "demands",
    SetPlan: "plan",
    WithdrawPlan: "plan",
    StartFlow: "flows",
    StopFlow: "flows",
    SetScheme: "scheme",
    SetClock: "clock",
    SetNetwork: "network",
    RunCommand: "console",
}
"""The kind of each action."""


class Backend(Protocol):
    """A network that the web server shows. Methods may be called by several threads at once."""

    def describe(self) -> Description: ...

    def state(self) -> State:
        """Return the state of now, within a fraction of a second."""

    def act(self, action: Action) -> dict[str, Any]:
        """Carry out an action, and return what clients should know, as JSON data, when it is done.

        Raises:
            InputError: the action names what does not exist, or is otherwise wrong; nothing has changed.
            KuijiaError: it could not be carried out; the message has the reason.
        """

    def events(self, after: int) -> list[LogEntry]:
        """Return the log entries with a number above `after`, oldest first; numbers start at 1 and grow by one."""

    def plan(self) -> dict[str, Any] | None:
        """Return the plan in force in its JSON form, None after it was withdrawn."""

    def topology(self) -> dict[str, Any]:
        """Return the topology, as in a plan's JSON form."""

    def verify(self, plan: dict[str, Any]) -> list[Finding]:
        """Return the promises that a plan would break in this network; raises InputError if it is no plan for it."""

    def close(self) -> None:
        """Release everything; no other call follows."""
