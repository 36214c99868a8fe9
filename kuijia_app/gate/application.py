"""Interface of the gate to the application behind it, with the events that the application logs for the gate."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kuijia_app.framework.seam import EventBase
from kuijia_app.gate.answers import PollAnswer
from kuijia_app.gate.binding import Binding
from kuijia_app.gate.elements import PacketIn

if TYPE_CHECKING:
    from kuijia_app.gate.datapath import GatedDatapath


class GateReport(EventBase):  # type: ignore[misc]  # the base class is one of two untyped ones
    """An entry for the application's event log about a datapath id: a name from `event_log`, and details."""

    def __init__(self, name: str, datapath_id: int, details: dict[str, object]) -> None:
        super().__init__()
        self.name = name
        self.datapath_id = datapath_id
        self.details = {"datapath_id": f"{datapath_id:016x}", **details}


class PacketArrived(EventBase):  # type: ignore[misc]  # see `GateReport`
    """A switch has sent a packet that an entry of the application has sent to the controller."""

    def __init__(self, datapath: GatedDatapath, packet: PacketIn) -> None:
        super().__init__()
        self.datapath = datapath
        self.packet = packet


class Polled(EventBase):  # type: ignore[misc]  # see `GateReport`
    """The whole answer to a question of a poll, unparsed."""

    def __init__(self, datapath: GatedDatapath, answer: PollAnswer) -> None:
        super().__init__()
        self.datapath = datapath
        self.answer = answer


class EntriesRemoved(EventBase):  # type: ignore[misc]  # see `GateReport`
    """A switch has reported that it has removed entries with our cookie."""

    def __init__(self, datapath: GatedDatapath) -> None:
        super().__init__()
        self.datapath = datapath


@dataclass(frozen=True)
class Application:
    """The application to which switches are admitted.

    Attributes:
        is_known: returns True if it has a switch with this datapath id; any thread may call it.
        backlog: returns the number of events that wait for it.
        report: takes a name, a datapath id and details for its event log.
        binding: see `binding.may_use`.
        packets_of: cookies of the entries whose packets for the controller are passed on to it; others are dropped.
        send: takes an event for it.
        removals_of: cookie of the entries whose removal is reported to it; None for none.
    """

    is_known: Callable[[int], bool]
    backlog: Callable[[], int]
    report: Callable[[str, int, dict[str, object]], None]
    binding: Binding | None = field(default=None)
    packets_of: Collection[int] = ()
    send: Callable[[EventBase], None] = field(default=lambda _: None)
    removals_of: int | None = None


def application_of(
    app: Any,  # noqa: ANN401  # an application of either framework
    is_known: Callable[[int], bool],
    binding: Binding | None,
    *,
    packets_of: Collection[int] = (),
    removals_of: int | None = None,
) -> Application:
    """Return the gate's interface to a framework's application."""

    def report(name: str, datapath_id: int, details: dict[str, object]) -> None:
        send(GateReport(name, datapath_id, details))

    def send(event: EventBase) -> None:
        app.send_event(app.name, event)

    return Application(is_known, app.events.qsize, report, binding, packets_of, send, removals_of)
